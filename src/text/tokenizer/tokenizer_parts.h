// What a tokenizer is made of, in the order its text goes through.
#pragma once

#include <vector>

#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/bpe.h"
#include "text/tokenizer/components.h"
#include "text/tokenizer/vocabulary.h"

namespace scratchy {

struct TokenizerParts {
  Vocabulary vocabulary;                     // the model's tokens and the added ones
  AddedTokens added;
  std::vector<bool> special;                 // by id
  std::vector<Normalizer> normalizers;
  std::vector<PreTokenizer> pre_tokenizers;
  Bpe bpe;
  std::vector<IdTemplate> templates;         // each is put around the result of those before
  std::vector<DecoderStage> decoders;

  // Whether the model can work on bytes: ByteLevel is the last pre-tokenizer and the only one of its kind, and nothing
  // in the model looks at characters.
  static bool can_keep_bytes(const std::vector<PreTokenizer>& stages, const BpeOptions& options);
};

// Adds `tokens` to what must already hold the vocabulary and the normalizers.
Status set_added_tokens(TokenizerParts& parts, std::vector<AddedToken> tokens);

}  // namespace scratchy
