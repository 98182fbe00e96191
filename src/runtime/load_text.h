// The text side of a checkpoint: tokenizer, chat template and special tokens, from whatever file states them.
//
// A path is a folder (tokenizer.json, tokenizer_config.json, chat_template.jinja; or the one GGUF file in it), a
// tokenizer.json, or a GGUF file. No weights are needed.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "text/template/chat_template.h"
#include "text/tokenizer/tokenizer.h"

namespace scratchy {

// Files that hold the text side, found but not yet read.
class TextSource {
 public:
  static Result<TextSource> open(const std::filesystem::path& path);
  // Of an open checkpoint, which must outlive this.
  static Result<TextSource> of(const Checkpoint& checkpoint);

  Result<Tokenizer> tokenizer() const;
  // The template's text: GGUF metadata, chat_template.jinja, tokenizer_config.json (a string, or the one called
  // "default" of a list); a Failure names where was looked.
  Result<std::string> template_text() const;
  // Named special tokens as templates see them: {"bos_token": "<s>", ...}. An empty object when none is stated.
  Result<nlohmann::ordered_json> special_tokens() const;
  // Spellings or ids of all tokens that end an answer, as far as the files state them.
  Result<std::vector<int32_t>> end_ids(const Tokenizer& tokenizer) const;

  const GgufMetadata* gguf() const { return gguf_; }
  // A file beside the tokenizer as JSON; null when absent.
  Result<Json> companion(const char* name) const;

 private:
  std::filesystem::path folder_;          // empty for a GGUF file
  std::filesystem::path tokenizer_file_;  // empty for a GGUF file
  std::shared_ptr<const GgufMetadata> own_gguf_;
  const GgufMetadata* gguf_ = nullptr;
  std::string shown_;  // for messages
};

// The vocabulary of GGUF metadata. A Failure names the key that is missing or of a wrong type.
Result<GgufVocabulary> gguf_vocabulary(const GgufMetadata& metadata);

}  // namespace scratchy
