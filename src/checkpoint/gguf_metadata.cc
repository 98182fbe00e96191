// Typed access to GGUF metadata. Values are raw little-endian bytes whose layout the reader has checked.
#include <bit>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "checkpoint/gguf.h"

namespace scratchy {
namespace {

template <typename T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

size_t item_bytes(GgufType type) {
  switch (type) {
    case GgufType::kU8: case GgufType::kI8: case GgufType::kBool: return 1;
    case GgufType::kU16: case GgufType::kI16: return 2;
    case GgufType::kU32: case GgufType::kI32: case GgufType::kF32: return 4;
    case GgufType::kU64: case GgufType::kI64: case GgufType::kF64: return 8;
    case GgufType::kString: case GgufType::kArray: return 0;
  }
  SCRATCHY_UNREACHABLE("value type out of range");
}

// Item i as a signed integer; nothing for other types and for values above 2^63 - 1.
std::optional<int64_t> integer_item(const GgufValue& value, uint64_t i) {
  const char* at = value.bytes.data() + i * item_bytes(value.type);
  switch (value.type) {
    case GgufType::kU8: return load<uint8_t>(at);
    case GgufType::kI8: return load<int8_t>(at);
    case GgufType::kU16: return load<uint16_t>(at);
    case GgufType::kI16: return load<int16_t>(at);
    case GgufType::kU32: return load<uint32_t>(at);
    case GgufType::kI32: return load<int32_t>(at);
    case GgufType::kI64: return load<int64_t>(at);
    case GgufType::kU64: {
      const uint64_t wide = load<uint64_t>(at);
      if (wide > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
      return static_cast<int64_t>(wide);
    }
    case GgufType::kF32: case GgufType::kF64: case GgufType::kBool: case GgufType::kString: case GgufType::kArray: break;
  }
  return std::nullopt;
}

std::optional<double> real_item(const GgufValue& value, uint64_t i) {
  const char* at = value.bytes.data() + i * item_bytes(value.type);
  if (value.type == GgufType::kF32) return load<float>(at);
  if (value.type == GgufType::kF64) return load<double>(at);
  const auto whole = integer_item(value, i);
  if (!whole) return std::nullopt;
  return static_cast<double>(*whole);
}

std::string described(const GgufValue& value) {
  const std::string type(gguf_type_name(value.type));
  return value.is_array ? "an array of " + with_thousands(value.count) + " " + type : type;
}

Failure wrong(std::string_view key, const GgufValue& value, const char* wanted) {
  return Failure("metadata `" + escape_for_message(key) + "` is " + described(value) + "; it must be " + wanted);
}

}  // namespace

std::string_view gguf_type_name(GgufType type) {
  switch (type) {
    case GgufType::kU8: return "u8";
    case GgufType::kI8: return "i8";
    case GgufType::kU16: return "u16";
    case GgufType::kI16: return "i16";
    case GgufType::kU32: return "u32";
    case GgufType::kI32: return "i32";
    case GgufType::kF32: return "f32";
    case GgufType::kBool: return "bool";
    case GgufType::kString: return "string";
    case GgufType::kArray: return "array";
    case GgufType::kU64: return "u64";
    case GgufType::kI64: return "i64";
    case GgufType::kF64: return "f64";
  }
  SCRATCHY_UNREACHABLE("value type out of range");
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto found = values_.find(std::string(key));
  return found == values_.end() ? nullptr : &found->second;
}

Result<std::optional<uint64_t>> GgufMetadata::unsigned_integer(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<uint64_t>();
  if (!value->is_array && value->type == GgufType::kU64) return std::optional(load<uint64_t>(value->bytes.data()));
  const auto number = value->is_array ? std::nullopt : integer_item(*value, 0);
  if (!number || *number < 0) return wrong(key, *value, "an integer of at least 0");
  return std::optional(static_cast<uint64_t>(*number));
}

Result<std::optional<int64_t>> GgufMetadata::integer(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<int64_t>();
  const auto number = value->is_array ? std::nullopt : integer_item(*value, 0);
  if (!number) return wrong(key, *value, "an integer below 2^63");
  return std::optional(*number);
}

Result<std::optional<double>> GgufMetadata::real(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<double>();
  const auto number = value->is_array ? std::nullopt : real_item(*value, 0);
  if (!number || !std::isfinite(*number)) return wrong(key, *value, "a finite number");
  return std::optional(*number);
}

Result<std::optional<bool>> GgufMetadata::boolean(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  if (value->is_array || value->type != GgufType::kBool) return wrong(key, *value, "a bool");
  return std::optional(value->bytes[0] != 0);
}

Result<std::optional<std::string>> GgufMetadata::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  if (value->is_array || value->type != GgufType::kString) return wrong(key, *value, "a string");
  return std::optional(value->bytes.substr(8));
}

Result<std::optional<std::vector<std::string_view>>> GgufMetadata::texts(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::vector<std::string_view>>();
  if (value->type != GgufType::kString) return wrong(key, *value, "an array of strings");
  std::vector<std::string_view> items;
  items.reserve(value->count);
  for (size_t at = 0; items.size() < value->count;) {
    const uint64_t length = load<uint64_t>(value->bytes.data() + at);
    items.emplace_back(value->bytes.data() + at + 8, length);
    at += 8 + length;
  }
  return std::optional(std::move(items));
}

Result<std::optional<std::vector<int64_t>>> GgufMetadata::integers(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::vector<int64_t>>();
  std::vector<int64_t> items;
  items.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    const auto number = integer_item(*value, i);
    if (!number) return wrong(key, *value, "an array of integers below 2^63");
    items.push_back(*number);
  }
  return std::optional(std::move(items));
}

Result<std::optional<std::vector<double>>> GgufMetadata::reals(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::vector<double>>();
  std::vector<double> items;
  items.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    const auto number = real_item(*value, i);
    if (!number) return wrong(key, *value, "an array of numbers");
    items.push_back(*number);
  }
  return std::optional(std::move(items));
}

Result<std::optional<std::vector<bool>>> GgufMetadata::booleans(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::vector<bool>>();
  if (value->type != GgufType::kBool) return wrong(key, *value, "an array of bools");
  std::vector<bool> items(value->count);
  for (uint64_t i = 0; i < value->count; ++i) items[i] = value->bytes[i] != 0;
  return std::optional(std::move(items));
}

}  // namespace scratchy
