// A GGUF file of any bytes is read or refused, and every typed getter answers for every key.
#include "checkpoint/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto header = scratchy::parse_gguf_header(bytes, size);
  if (!header.ok()) return 0;
  for (const auto& tensor : header->tensors) {
    if (tensor.offset > size || tensor.bytes > size - tensor.offset) __builtin_trap();
  }
  const auto& metadata = header->metadata;
  for (const auto& [key, value] : metadata.values()) {
    (void)metadata.unsigned_integer(key).ok();
    (void)metadata.integer(key).ok();
    (void)metadata.real(key).ok();
    (void)metadata.boolean(key).ok();
    (void)metadata.text(key).ok();
    (void)metadata.texts(key).ok();
    (void)metadata.integers(key).ok();
    (void)metadata.reals(key).ok();
    (void)metadata.booleans(key).ok();
  }
  return 0;
}
