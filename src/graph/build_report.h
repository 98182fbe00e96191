// How the builder reports: an error points at the line it is about, labels the calls that led there, and is shown once
// even when every layer of the unrolled text meets it again.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/diagnostic.h"

namespace scratchy {

// What an error says beside its sentence.
struct Details {
  std::vector<DiagnosticLabel> labels;
  std::vector<std::string> notes;
  std::string hint;
};

class Reporter {
 public:
  explicit Reporter(Diagnostics& diagnostics) : diagnostics_(diagnostics), before_(diagnostics.size()) {}

  void report(DiagnosticKind kind, Span span, const DiagnosticFacts& facts, Details details = {});
  bool failed() const { return failed_ || diagnostics_.size() != before_; }

  // The calls being written out, outermost first.
  void push_call(Span span, std::string callee) { calls_.push_back({span, std::move(callee)}); }
  void pop_call() { calls_.pop_back(); }
  size_t call_depth() const { return calls_.size(); }

  // The place in `file` nearest to `span`: itself, or the innermost call that stands there.
  Span place_in(const SourceFile* file, Span span) const;

  void set_layer(int layer) { diagnostics_.set_layer(layer); }

 private:
  struct Call {
    Span span;
    std::string callee;
  };
  static constexpr size_t kMaxCallsShown = 6;
  Diagnostics& diagnostics_;
  size_t before_;
  bool failed_ = false;
  std::vector<Call> calls_;
  std::set<std::tuple<DiagnosticKind, const SourceFile*, uint32_t>> seen_;
};

}  // namespace scratchy
