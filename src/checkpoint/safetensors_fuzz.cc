// A safetensors header of any bytes is read or refused; the first eight bytes say how large the file pretends to be.
#include <cstring>

#include "checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t data_bytes = 0;
  if (size < sizeof data_bytes) return 0;
  std::memcpy(&data_bytes, data, sizeof data_bytes);
  data_bytes %= uint64_t{1} << 40;
  const std::string_view json(reinterpret_cast<const char*>(data) + 8, size - 8);
  const auto header = scratchy::parse_safetensors_header(json, size, size + data_bytes);
  if (!header.ok()) return 0;
  for (const auto& tensor : header->tensors) {
    if (tensor.offset < size || tensor.bytes > size + data_bytes - tensor.offset) __builtin_trap();
  }
  return 0;
}
