#include "graph/build_report.h"

namespace scratchy {

void Reporter::report(DiagnosticKind kind, Span span, const DiagnosticFacts& facts, Details details) {
  failed_ = true;
  if (!seen_.emplace(kind, span.file, span.begin).second) return;
  Diagnostic& made = diagnostics_.add(kind, span, facts);
  made.labels = std::move(details.labels);
  made.notes = std::move(details.notes);
  made.hint = std::move(details.hint);
  for (size_t i = 0; i < calls_.size() && i < kMaxCallsShown; ++i) {
    const Call& call = calls_[calls_.size() - 1 - i];
    made.label(call.span, "in this call of `" + call.callee + "`");
  }
}

Span Reporter::place_in(const SourceFile* file, Span span) const {
  if (span.file == file) return span;
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    if (call->span.file == file) return call->span;
  }
  return span;
}

}  // namespace scratchy
