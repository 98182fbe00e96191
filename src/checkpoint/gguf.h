// Reading GGUF files: typed metadata and the list of tensors.
//
// Layout (versions 2 and 3, little-endian): "GGUF", u32 version, u64 tensor count, u64 key count, the keys with their
// values, the tensor infos, padding to general.alignment, the tensors' bytes. Everything is untrusted: no count is used
// before it is compared with the bytes left. Arrays stay raw bytes of the header until asked for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "checkpoint/tensor_info.h"

namespace scratchy {

enum class GgufType : uint32_t {
  kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64,
};
std::string_view gguf_type_name(GgufType type);

// One metadata value: a scalar, or an array of scalars or strings (arrays of arrays are refused).
struct GgufValue {
  GgufType type = GgufType::kU32;      // of the value, or of the items of an array
  bool is_array = false;
  uint64_t count = 1;                  // items
  std::string bytes;                   // items as stored: fixed-size scalars, or u64 length + bytes for each string
};

// Metadata with typed access. Getters answer nothing when the key is absent, and a Failure that names key, what is there
// and what was asked for when the type or range does not fit. Integers convert between widths and signs when the value
// fits; floats do not become integers.
class GgufMetadata {
 public:
  const std::map<std::string, GgufValue>& values() const { return values_; }
  bool has(std::string_view key) const { return find(key) != nullptr; }

  Result<std::optional<uint64_t>> unsigned_integer(std::string_view key) const;
  Result<std::optional<int64_t>> integer(std::string_view key) const;
  Result<std::optional<double>> real(std::string_view key) const;  // f32, f64 or any integer
  Result<std::optional<bool>> boolean(std::string_view key) const;
  Result<std::optional<std::string>> text(std::string_view key) const;
  Result<std::optional<std::vector<std::string_view>>> texts(std::string_view key) const;  // views of what is held here
  // Arrays; a scalar counts as an array of one.
  Result<std::optional<std::vector<int64_t>>> integers(std::string_view key) const;
  Result<std::optional<std::vector<double>>> reals(std::string_view key) const;
  Result<std::optional<std::vector<bool>>> booleans(std::string_view key) const;

  // False when the key was there already.
  bool insert(std::string key, GgufValue value) { return values_.emplace(std::move(key), std::move(value)).second; }

 private:
  const GgufValue* find(std::string_view key) const;
  std::map<std::string, GgufValue> values_;
};

struct GgufHeader {
  uint32_t version = 0;
  GgufMetadata metadata;
  std::vector<TensorInfo> tensors;  // sorted by name; offsets count from the start of the file
};

// The header at the start of `bytes`, of a file of `file_bytes` bytes in all. `bytes` is the whole file, or a beginning
// that holds the header whole; a header that ends past `bytes` is refused as truncated.
Result<GgufHeader> parse_gguf_header(std::span<const std::byte> bytes, uint64_t file_bytes);

// Reads and checks the header of an open file. Failures name the file.
Result<GgufHeader> read_gguf_header(const InputFile& file);

}  // namespace scratchy
