#include "config/json_constant.h"

#include <cstdint>
#include <limits>
#include <utility>

namespace scratchy {
namespace {

std::optional<Constant> convert(const Json& value, int depth);

std::optional<Constant> convert_list(const Json& value, int depth) {
  Constant::List items;
  items.reserve(value.size());
  for (const Json& item : value) {
    std::optional<Constant> converted = convert(item, depth + 1);
    if (!converted) return std::nullopt;
    items.push_back(std::move(*converted));
  }
  return Constant::list(std::move(items));
}

std::optional<Constant> convert_record(const Json& value, int depth) {
  Constant::Record fields;
  for (const auto& [key, item] : value.items()) {
    std::optional<Constant> converted = convert(item, depth + 1);
    if (!converted) return std::nullopt;
    fields.push_back({key, std::move(*converted)});
  }
  return Constant::record(std::move(fields));
}

// Recursion ends at Constant::kMaxDepth.
std::optional<Constant> convert(const Json& value, int depth) {
  if (depth >= Constant::kMaxDepth) return std::nullopt;
  switch (value.type()) {
    case Json::value_t::null: return Constant();
    case Json::value_t::boolean: return Constant::boolean(value.get<bool>());
    case Json::value_t::string: return Constant::text(value.get<std::string>());
    case Json::value_t::number_float: return Constant::real(value.get<double>());
    case Json::value_t::number_integer: return Constant::integer(value.get<int64_t>());
    case Json::value_t::number_unsigned: {
      const uint64_t number = value.get<uint64_t>();
      if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return Constant::integer(static_cast<int64_t>(number));
    }
    case Json::value_t::array: return convert_list(value, depth);
    case Json::value_t::object: return convert_record(value, depth);
    case Json::value_t::binary:
    case Json::value_t::discarded: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Constant> constant_of(const Json& value) { return convert(value, 0); }

}  // namespace scratchy
