// The vocabulary of a GGUF file, as its metadata states it (`tokenizer.ggml.*`), whoever reads the file and
// keeps its texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scratchy {

// Values of `token_type`.
enum class GgufTokenType : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

struct GgufVocabulary {
  std::string model;                   // "gpt2": merges, byte-level; "llama": scores, SentencePiece
  std::string pre;                     // the name of the pre-tokenizer; "gpt2" only
  std::vector<std::string_view> tokens;
  std::vector<int32_t> token_types;    // as many as tokens, or none
  std::vector<float> scores;           // as many as tokens for "llama", else none needed
  std::vector<std::string_view> merges;  // "left right", by rank
  int64_t bos_id = -1, eos_id = -1, unk_id = -1;  // -1: unset
  std::optional<bool> add_bos, add_eos, add_space_prefix;
};

}  // namespace scratchy
