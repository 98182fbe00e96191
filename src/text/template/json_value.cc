#include "text/template/json_value.h"

#include "base/text.h"

namespace scratchy::jinja {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kMaxJsonDepth = 128;

Result<Value> text_from(const std::string& text) {
  if (!is_utf8(text)) return Failure("the text `" + escape_for_message(text, 40) + "` is not UTF-8");
  return make_text(text);
}

Result<Value> list_from(const Json& json, int depth) {
  std::vector<Value> items;
  items.reserve(json.size());
  for (const Json& item : json) {
    TRY(Value value, value_from_json(item, depth + 1));
    items.push_back(std::move(value));
  }
  return make_list(std::move(items));
}

Result<Value> dict_from(const Json& json, int depth) {
  std::vector<std::pair<Value, Value>> entries;
  entries.reserve(json.size());
  for (const auto& [name, item] : json.items()) {
    TRY(Value key, text_from(name));
    TRY(Value value, value_from_json(item, depth + 1));
    entries.emplace_back(std::move(key), std::move(value));
  }
  return make_dict(std::move(entries));
}

}  // namespace

Result<Value> value_from_json(const Json& json, int depth) {
  if (depth > kMaxJsonDepth) return Failure("JSON nests more than 128 deep");
  switch (json.type()) {
    case Json::value_t::null: return Value(None{});
    case Json::value_t::boolean: return Value(json.get<bool>());
    case Json::value_t::number_integer: return Value(static_cast<Integer>(json.get<int64_t>()));
    case Json::value_t::number_unsigned: return Value(static_cast<Integer>(json.get<uint64_t>()));
    case Json::value_t::number_float: return Value(json.get<double>());
    case Json::value_t::string: return text_from(json.get_ref<const std::string&>());
    case Json::value_t::array: return list_from(json, depth);
    case Json::value_t::object: return dict_from(json, depth);
    case Json::value_t::binary:
    case Json::value_t::discarded: break;
  }
  return Failure("a value that is not JSON");
}

}  // namespace scratchy::jinja
