// One answer: prompt tokens in, tokens and pieces of text out, until a token or a string ends it.
//
// Text is passed on as soon as it can no longer change: bytes of unfinished characters and what could still become a
// stop string are held back. Stop strings are found across the borders of tokens; the text is cut where the first begins.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/sampler.h"
#include "text/tokenizer/tokenizer.h"

namespace scratchy {

// What generates: one sequence of a model.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  virtual int32_t vocab_size() const = 0;
  virtual int32_t max_context() const = 0;
  virtual int32_t max_step() const = 0;  // tokens one feed() may have
  virtual int32_t length() const = 0;    // tokens fed so far
  // Forgets all but the first `length` tokens. False, and nothing changes, when the model cannot.
  virtual bool truncate(int32_t length) = 0;
  // Appends tokens; logits [V] after the last of them, valid until the next call, null unless wanted.
  virtual Result<const float*> feed(std::span<const int32_t> tokens, bool wants_logits) = 0;
};

// Holds back what may become a stop string. Without stop strings everything passes.
class StopMatcher {
 public:
  // Empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  // Appends to `out` what is settled. True when a stop string is complete: the text ends before it.
  bool push(std::string_view piece, std::string& out);
  // What was held back, at the end of an answer that no stop string ended.
  void finish(std::string& out);
  // The stop string that was found.
  const std::string& found() const { return found_; }

 private:
  std::vector<std::string> stops_;
  std::string held_, found_;
};

enum class FinishReason : uint8_t { kStop, kLength, kInterrupted };
const char* finish_reason_name(FinishReason reason);

struct GenerateOptions {
  int32_t max_tokens = 0;  // 0: the rest of the context
  std::vector<std::string> stops;
  std::vector<int32_t> end_ids;
  bool skip_special = true;                      // special tokens are no text
  const std::atomic<bool>* interrupted = nullptr;  // checked between steps
};

struct Answer {
  std::string text;
  std::vector<int32_t> ids;  // all tokens sampled, the one that ended the answer among them
  FinishReason finish = FinishReason::kLength;
  std::string stop;  // the stop string, when one ended the answer
  int32_t prompt_tokens = 0, cached_tokens = 0;
  double prompt_seconds = 0;  // from the call to the first token, without cached tokens
  double answer_seconds = 0;  // from the first token to the last
};

// Continues `source`, which holds `history`, to the whole of `prompt`: what both begin with is kept. On return `history`
// is what `source` holds. `take` gets each piece of text. A Failure when the prompt leaves no room, or a step fails.
Result<Answer> generate(TokenSource& source, std::vector<int32_t>& history, std::span<const int32_t> prompt, const Tokenizer& tokenizer, Sampler& sampler, const GenerateOptions& options,
                        const std::function<void(std::string_view)>& take);

}  // namespace scratchy
