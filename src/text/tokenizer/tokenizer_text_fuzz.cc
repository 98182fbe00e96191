// Any bytes as text for two small tokenizers, one on bytes and one on characters: what encodes decodes to itself, all
// at once and as a stream, and untrusted text never becomes a control token.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>

#include "text/tokenizer/tokenizer.h"

namespace {

using scratchy::Tokenizer;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

std::string byte_vocabulary() {
  std::string vocab;
  char entry[24];
  for (int byte = 0; byte < 256; ++byte) {
    std::snprintf(entry, sizeof entry, "\"<0x%02X>\": %d, ", byte, byte);
    vocab += entry;
  }
  return vocab;
}

Tokenizer character_tokenizer() {
  const std::string file =
      R"({"added_tokens": [{"id": 256, "content": "<s>", "special": true, "normalized": false}],
          "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
          "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
                      {"type": "ByteFallback"}, {"type": "Fuse"}]},
          "model": {"type": "BPE", "byte_fallback": true, "vocab": {)" + byte_vocabulary() +
      R"("<s>": 256, "\u2581": 257, "a": 258, "b": 259, "\u2581a": 260, "ab": 261, "\u00e9": 262, "b\u00e9": 263},
          "merges": ["\u2581 a", "a b", "b \u00e9"]}})";
  return Tokenizer::from_json(file).value();
}

Tokenizer byte_tokenizer() {
  scratchy::GgufVocabulary vocabulary{.model = "gpt2", .pre = "llama-bpe", .tokens = {}, .token_types = {}};
  std::deque<std::string> tokens;
  const auto add = [&](std::string token, int32_t type) {
    vocabulary.tokens.push_back(tokens.emplace_back(std::move(token)));
    vocabulary.token_types.push_back(type);
  };
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    const int c = itself ? byte : next++;
    std::string text;
    if (c < 0x80) text.push_back(static_cast<char>(c));
    else (text += static_cast<char>(0xC0 | c >> 6)) += static_cast<char>(0x80 | (c & 0x3F));
    add(text, 1);
  }
  add("ab", 1);
  add("\xC4\xA0\xC4\xA0", 1);
  add("<s>", 3);
  vocabulary.merges = {"a b", "\xC4\xA0 \xC4\xA0"};
  return Tokenizer::from_gguf(vocabulary).value();
}

void check(const Tokenizer& tokenizer, std::string_view text, bool exact) {
  const auto ids = tokenizer.encode(text, false);
  if (!ids.ok()) return;
  const std::string decoded = tokenizer.decode(*ids, false).value();
  if (exact) require(decoded == text, "decode(encode(text)) == text");
  scratchy::StreamDecoder stream(tokenizer, false);
  std::string streamed;
  for (const int32_t id : *ids) streamed += stream.push(id);
  streamed += stream.finish();
  require(streamed == decoded, "streamed text == decoded text");
  const std::vector<int32_t> plain = tokenizer.encode_plain(text).value();
  for (const int32_t id : plain) require(!tokenizer.is_special(id), "untrusted text has no control tokens");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tokenizer characters = character_tokenizer(), bytes = byte_tokenizer();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(bytes, text, true);
  // U+2581 reads back as a space, and a text of byte tokens may spell them.
  check(characters, text, text.find("\xE2\x96\x81") == text.npos);
  return 0;
}
