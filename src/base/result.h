// Failures: errors caused by the world (files, memory, devices, requests), carried as values.
//
// A Failure is a sentence plus the chain of places it came through, outermost first, so that what the user reads is
// "load model.gguf: tensor `blk.0.attn_q.weight`: offset 96 is past the end of the file (64 bytes)". Not here: mistakes
// in an author's text (diagnostic.h) and bugs of ours (check.h).
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace scratchy {

class [[nodiscard]] Failure {
 public:
  explicit Failure(std::string message) : message_(std::move(message)) {}

  // Puts `context` in front: Failure("no such file").in("open a.gguf") reads "open a.gguf: no such file".
  Failure in(const std::string& context) && {
    message_ = context + ": " + message_;
    return std::move(*this);
  }

  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

// A value or the Failure that kept it from being made.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}              // NOLINT: a value is a result
  Result(Failure failure) : state_(std::move(failure)) {}    // NOLINT: and so is a failure

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    SCRATCHY_CHECK(ok(), failure_text());
    return std::get<0>(state_);
  }
  const T& value() const& {
    SCRATCHY_CHECK(ok(), failure_text());
    return std::get<0>(state_);
  }
  T&& value() && {
    SCRATCHY_CHECK(ok(), failure_text());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Failure& failure() const& { return std::get<1>(state_); }
  Failure&& failure() && { return std::get<1>(std::move(state_)); }

 private:
  std::string failure_text() const { return ok() ? std::string() : std::get<1>(state_).message(); }
  std::variant<T, Failure> state_;
};

// Success without a value.
struct Done {};
using Status = Result<Done>;

}  // namespace scratchy

#define SCRATCHY_CONCAT_INNER(a, b) a##b
#define SCRATCHY_CONCAT(a, b) SCRATCHY_CONCAT_INNER(a, b)

// TRY(auto x, f()): x = value of f(), or return f's Failure from this function.
#define TRY(declaration, ...)                                                                      \
  auto SCRATCHY_CONCAT(try_, __LINE__) = (__VA_ARGS__);                                            \
  if (!SCRATCHY_CONCAT(try_, __LINE__).ok()) return std::move(SCRATCHY_CONCAT(try_, __LINE__)).failure(); \
  declaration = std::move(SCRATCHY_CONCAT(try_, __LINE__)).value()

// TRY_STATUS(f()): return f's Failure from this function, or go on.
#define TRY_STATUS(...)                                                                            \
  do {                                                                                             \
    auto try_status = (__VA_ARGS__);                                                               \
    if (!try_status.ok()) return std::move(try_status).failure();                                  \
  } while (false)
