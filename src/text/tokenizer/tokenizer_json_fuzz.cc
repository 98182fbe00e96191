// Any bytes as a tokenizer.json: refused, or a tokenizer that encodes and decodes without harm.
#include <cstdint>

#include "text/tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = scratchy::Tokenizer::from_json(text);
  if (!tokenizer.ok()) return 0;
  constexpr std::string_view kText = "abc cab <bos>x \xE2\x96\x81 12\xC3\xA9\n";
  for (const bool special : {false, true}) {
    const auto ids = tokenizer->encode(kText, special);
    if (!ids.ok()) continue;
    (void)tokenizer->decode(*ids, special).ok();
    scratchy::StreamDecoder stream(*tokenizer, special);
    for (const int32_t id : *ids) (void)stream.push(id);
    (void)stream.finish();
  }
  (void)tokenizer->encode_plain(kText).ok();
  return 0;
}
