// Decoders: token texts in, text out, as it comes.
//
// Decoding all tokens at once and one by one is the same code: each stage takes tokens, passes on what can no longer
// change and holds back the rest until it can or until the end. Stages that cannot know before the end hold everything.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/components.h"

namespace scratchy {

// The byte that `<0xNN>` names, -1 for any other token.
int byte_token(std::string_view token);
// Replaces every `from`, not empty, in `text` by `to`.
void replace_all(std::string& text, std::string_view from, std::string_view to);

class DecodeRun {
 public:
  // `stages` must outlive this.
  explicit DecodeRun(std::span<const DecoderStage> stages);

  // Feeds one token; appends to `out` what is settled. A Failure when a pattern fails.
  Status push(std::string_view token, std::string& out);
  // Appends what was held back. Nothing may be pushed afterwards.
  Status finish(std::string& out);

 private:
  struct State {
    std::string held;     // bytes, or text, that later tokens may change
    size_t tokens = 0;    // seen so far
    size_t stripped = 0;  // Strip over fused text: characters taken off the start; SIZE_MAX once text began
    bool fused = false;   // its tokens are pieces of one text
  };
  Status feed(size_t stage, std::string_view token);
  Status close(size_t stage);
  Status close_bytes(size_t stage);
  Status emit_settled_bytes(size_t stage, bool final);
  Status replace(size_t stage, std::string_view token);
  Status strip_stream(size_t stage, std::string_view token);
  bool waits_for_all(size_t stage) const;
  Status whole(size_t stage, std::string_view token, size_t index, bool last);

  std::span<const DecoderStage> stages_;
  std::vector<State> states_;
  RegexScratch regex_;
  std::vector<TextRange> matches_;
  std::string* out_ = nullptr;
};

}  // namespace scratchy
