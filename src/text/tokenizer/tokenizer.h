// Tokenizers: text to token ids and back, equal to the published tokenizer.json or GGUF vocabulary they are made from.
//
// A tokenizer is immutable and may be used by several threads at once. Encoding finds added tokens, normalizes and
// pre-tokenizes the text between them, merges each piece by byte-pair encoding and puts the ids into the
// post-processor's template. Unigram, WordPiece and WordLevel models are refused by name.
//
// Text from users never becomes control tokens where it is passed as an untrusted segment.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer/gguf_vocabulary.h"

namespace scratchy {

struct TokenizerParts;

// A stretch of text to encode. In untrusted ones, spellings of control tokens are text.
struct TextSegment {
  std::string_view text;
  bool trusted = true;
};

class Tokenizer {
 public:
  // Reads a tokenizer.json. A Failure names the JSON path, what was seen and the rule. `truncation` and `padding` have
  // no effect.
  static Result<Tokenizer> from_json(std::string_view tokenizer_json);
  static Result<Tokenizer> from_gguf(const GgufVocabulary& vocabulary);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // The ids of `text`, with the post-processor's tokens around them when `add_special`. A Failure when the text is not
  // UTF-8, is too long (1 GiB), or makes a pattern of the tokenizer backtrack without end.
  Result<std::vector<int32_t>> encode(std::string_view text, bool add_special) const;
  // The same for text from outside: spellings of control tokens are text.
  Result<std::vector<int32_t>> encode_plain(std::string_view text, bool add_special = false) const;
  // The ids of all segments as one text.
  Result<std::vector<int32_t>> encode_segments(std::span<const TextSegment> segments, bool add_special) const;

  // The text of `ids`. A Failure names an id that is no token.
  Result<std::string> decode(std::span<const int32_t> ids, bool skip_special) const;

  size_t vocab_size() const;                                  // one past the largest id
  std::optional<int32_t> id_of(std::string_view token) const;
  bool is_token(int32_t id) const;
  std::string_view token_text(int32_t id) const;              // as the file spells it; empty when `id` is no token
  bool is_special(int32_t id) const;
  // The bytes that a token stands for in running text: `Ġa` of a byte-level vocabulary is " a", `<0x0A>` a newline.
  std::string token_bytes(int32_t id) const;

 private:
  friend class StreamDecoder;
  explicit Tokenizer(std::unique_ptr<const TokenizerParts> parts);
  std::unique_ptr<const TokenizerParts> parts_;
};

// Decodes ids one by one. What push() returns never has to be taken back, and all of it together is what decode() says.
class StreamDecoder {
 public:
  // `tokenizer` must outlive this.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true);
  ~StreamDecoder();
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;

  // UTF-8 that may be sent; an id that is no token adds nothing.
  std::string push(int32_t id);
  // What was held back. Afterwards the decoder starts anew.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scratchy
