// Pre-tokenizers: text in, the pieces that the model may not merge across.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "text/tokenizer/components.h"

namespace scratchy {

// What pre-tokenization works on and reuses; one per thread of use.
struct PreTokenizeScratch {
  RegexScratch regex;
  std::vector<TextRange> pieces, next, matches;
};

// Cuts `text` (valid UTF-8, not empty) into scratch.pieces, ranges of `text`, none empty; stages may rewrite `text`.
// `starts_text`: whether it is the start of what the user wrote. With `keep_bytes`, a ByteLevel stage leaves bytes as
// they are instead of spelling them in its alphabet.
Status pre_tokenize(std::span<const PreTokenizer> stages, bool starts_text, bool keep_bytes, std::string& text,
                    PreTokenizeScratch& scratch);

// The pattern of GPT-2 that ByteLevel splits by.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace scratchy
