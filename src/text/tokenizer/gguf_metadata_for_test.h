// Reads the vocabulary of a trusted GGUF file, for tests only: no bounds are checked.
#pragma once

#include <cstring>
#include <string>

#include "text/tokenizer/gguf_vocabulary.h"

namespace scratchy {

class GgufForTest {
 public:
  explicit GgufForTest(const std::string& bytes) : bytes_(bytes) {}

  GgufVocabulary vocabulary() {
    take<uint64_t>();  // magic and version
    take<uint64_t>();  // tensors
    const auto count = take<uint64_t>();
    for (uint64_t i = 0; i < count; ++i) {
      const std::string key(text());
      value(key, take<uint32_t>());
    }
    return std::move(out_);
  }

 private:
  template <typename T>
  T take() {
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string_view text() {
    const auto size = take<uint64_t>();
    at_ += size;
    return std::string_view(bytes_).substr(at_ - size, size);
  }
  void value(const std::string& key, uint32_t type) {
    constexpr size_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    const std::string name = key.starts_with("tokenizer.ggml.") ? key.substr(15) : "";
    if (type == 8) {
      const std::string_view seen = text();
      if (name == "model") out_.model = seen;
      if (name == "pre") out_.pre = seen;
    } else if (type == 9) {
      const auto element = take<uint32_t>();
      const auto count = take<uint64_t>();
      for (uint64_t i = 0; i < count; ++i) {
        if (element == 8) {
          const std::string_view seen = text();
          if (name == "tokens") out_.tokens.push_back(seen);
          if (name == "merges") out_.merges.push_back(seen);
        }
        else if (name == "scores") out_.scores.push_back(take<float>());
        else if (name == "token_type") out_.token_types.push_back(take<int32_t>());
        else at_ += kSizes[element];
      }
    } else {
      int64_t seen = 0;
      std::memcpy(&seen, bytes_.data() + at_, kSizes[type]);
      at_ += kSizes[type];
      if (name == "bos_token_id") out_.bos_id = seen;
      if (name == "eos_token_id") out_.eos_id = seen;
      if (name == "unknown_token_id") out_.unk_id = seen;
      if (name == "add_bos_token") out_.add_bos = seen != 0;
      if (name == "add_eos_token") out_.add_eos = seen != 0;
      if (name == "add_space_prefix") out_.add_space_prefix = seen != 0;
    }
  }

  const std::string& bytes_;
  size_t at_ = 0;
  GgufVocabulary out_;
};

inline GgufVocabulary gguf_vocabulary_for_test(const std::string& bytes) { return GgufForTest(bytes).vocabulary(); }

}  // namespace scratchy
