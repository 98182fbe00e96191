// What a render may use, and how it ends early.
//
// A template is code from a stranger, so everything it does is paid for: each evaluated node and each list element
// costs a step, each 32 bytes of new text a step. When the steps run out, or one text grows past the cap, the render
// fails. Errors inside the engine travel as RenderError, thrown and caught within this folder: ChatTemplate turns it
// into a Failure, so that no exception leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace scratchy::jinja {

struct RenderError {
  std::string message;
  bool verbatim = false;  // raise_exception's text, shown without a line
};

[[noreturn]] inline void raise(std::string message) { throw RenderError{std::move(message)}; }

// 20 million steps render a conversation of 100,000 messages and stop a loop within a few seconds.
constexpr uint64_t kRenderSteps = 20'000'000;
constexpr uint64_t kMaxTextBytes = uint64_t{64} << 20;
constexpr uint64_t kBytesPerStep = 32;
// Native recursion: nested evaluations, and lists within lists. CPython stops a macro at about 200 calls.
constexpr int kMaxEvaluationDepth = 2400;
constexpr int kMaxMacroDepth = 220;
constexpr int kMaxValueDepth = 200;

class Budget {
 public:
  void grant(uint64_t steps) { steps_left_ += steps; }

  void spend(uint64_t steps) {
    if (steps > steps_left_) raise("the template takes too many steps; the limit keeps endless loops from hanging");
    steps_left_ -= steps;
  }

  // Pays for `bytes` of text about to be made.
  void spend_bytes(uint64_t bytes) {
    if (bytes > kMaxTextBytes) raise("the template makes a text of more than 64 MiB");
    spend(bytes / kBytesPerStep + 1);
  }

  // `count` copies of `bytes`, without forming an overflowing product.
  void spend_product(uint64_t bytes, uint64_t count) {
    uint64_t product = 0;
    spend_bytes(__builtin_mul_overflow(bytes, count, &product) ? UINT64_MAX : product);
  }

 private:
  uint64_t steps_left_ = kRenderSteps;
};

}  // namespace scratchy::jinja
