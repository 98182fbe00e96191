#include "config/object_reader.h"

#include <algorithm>

#include "base/text.h"

namespace scratchy {
namespace {

const Json& empty_object() {
  static const Json kEmpty = Json::object();
  return kEmpty;
}

}  // namespace

ObjectReader::ObjectReader(const Json& object, std::string where, const ReaderContext& context)
    : object_(&object), where_(std::move(where)), context_(context) {
  if (!object.is_object()) {
    problem("must be an object");
    object_ = &empty_object();
  }
}

void ObjectReader::problem(const std::string& text) const {
  context_.diagnostics.add(DiagnosticKind::kBadDeclaration, Span{context_.file, 0, 0},
                           {{"where", "`" + (where_.empty() ? context_.file->path : where_) + "`"}, {"problem", text}});
}

const Json* ObjectReader::take(const std::string& key) {
  known_.push_back(key);
  const auto found = object_->find(key);
  return found == object_->end() ? nullptr : &*found;
}

std::string ObjectReader::text(const std::string& key, std::string fallback) {
  const Json* value = take(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  problem("`" + key + "` must be a string");
  return fallback;
}

bool ObjectReader::boolean(const std::string& key, bool fallback) {
  const Json* value = take(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  problem("`" + key + "` must be true or false");
  return fallback;
}

double ObjectReader::number(const std::string& key, double fallback) {
  const Json* value = take(key);
  if (value == nullptr) return fallback;
  if (value->is_number()) return value->get<double>();
  problem("`" + key + "` must be a number");
  return fallback;
}

std::vector<std::string> ObjectReader::texts(const std::string& key) {
  const Json* value = take(key);
  std::vector<std::string> out;
  if (value == nullptr) return out;
  if (value->is_string()) return {value->get<std::string>()};
  const bool fits = value->is_array() && std::all_of(value->begin(), value->end(), [](const Json& item) { return item.is_string(); });
  if (!fits) {
    problem("`" + key + "` must be a list of strings");
    return out;
  }
  for (const Json& item : *value) out.push_back(item.get<std::string>());
  return out;
}

Expression ObjectReader::make_expression(const std::string& text, const std::string& place) const {
  return &context_.sources.add(context_.file->path + " (" + place + ")", text);
}

Expression ObjectReader::expression(const std::string& key) {
  const Json* value = take(key);
  if (value == nullptr) return nullptr;
  if (value->is_string()) return make_expression(value->get<std::string>(), inside(key));
  if (value->is_number_integer()) return make_expression(value->dump(), inside(key));
  problem("`" + key + "` must be an expression");
  return nullptr;
}

std::vector<std::pair<std::string, std::string>> ObjectReader::text_pairs(const std::string& key) {
  std::vector<std::pair<std::string, std::string>> out;
  const Json* value = take(key);
  if (value == nullptr) return out;
  if (!value->is_object()) {
    problem("`" + key + "` must be an object");
    return out;
  }
  for (const auto& [name, item] : value->items()) {
    if (item.is_string()) {
      out.emplace_back(name, item.get<std::string>());
    } else {
      problem("`" + key + "." + name + "` must be a string");
    }
  }
  return out;
}

void ObjectReader::finish() {
  for (const auto& [key, value] : object_->items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    std::string text = "unknown key `" + escape_for_message(key) + "`";
    if (const auto nearest = nearest_name(key, known_)) text += "; did you mean `" + *nearest + "`";
    problem(text);
  }
}

}  // namespace scratchy
