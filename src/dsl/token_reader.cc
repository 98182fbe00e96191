#include "dsl/token_reader.h"

#include "base/text.h"

namespace scratchy {
namespace {

constexpr size_t kMaxErrors = 100;

}  // namespace

TokenReader::TokenReader(const SourceFile& file, Diagnostics& diagnostics)
    : file_(file), diagnostics_(diagnostics), errors_before_(diagnostics.size()), tokens_(lex(file, false, diagnostics)) {
  for (size_t i = errors_before_; i < diagnostics.size() && i < diagnostics.items().size(); ++i) broken_lines_.insert(file.place(diagnostics.items()[i].span.begin).line);
}

Token TokenReader::take() {
  const Token taken = token();
  if (taken.kind != TokenKind::kEnd) ++next_;
  last_end_ = taken.span.end;
  return taken;
}

bool TokenReader::take_if(TokenKind kind) {
  if (!at(kind)) return false;
  take();
  return true;
}

std::string TokenReader::found() const {
  if (at(TokenKind::kEnd)) return describe(TokenKind::kEnd);
  return (is_keyword(token().kind) ? "the keyword `" : "`") + escape_for_message(token().text(file_), 40) + "`";
}

Diagnostic* TokenReader::unexpected(const std::string& wanted) {
  if (failed_) return nullptr;
  failed_ = true;
  if (gave_up_ || broken_lines_.count(file_.place(token().span.begin).line) != 0 || broken_lines_.count(file_.place(last_end_).line) != 0) return nullptr;
  Diagnostic& made = diagnostics_.add(DiagnosticKind::kUnexpectedToken, token().span, {{"wanted", wanted}, {"found", found()}});
  if (diagnostics_.size() - errors_before_ > kMaxErrors) next_ = tokens_.size() - 1;
  return &made;
}

bool TokenReader::expect(TokenKind kind, const char* hint) {
  if (take_if(kind)) return true;
  Diagnostic* const made = unexpected(describe(kind));
  if (made != nullptr && hint != nullptr) made->suggest(hint);
  return false;
}

bool TokenReader::name(Word& out, const char* what) {
  if (at(TokenKind::kName)) {
    const Token taken = take();
    out = {text(taken), taken.span};
    return true;
  }
  Diagnostic* const made = unexpected(what);
  if (made != nullptr && is_keyword(token().kind)) made->suggest("`" + text(token()) + "` is a word of the language; take another name");
  return false;
}

void TokenReader::too_deep(const Span& span, int limit) {
  if (!failed_) diagnostics_.add(DiagnosticKind::kTooDeep, span, {{"limit", std::to_string(limit)}}).suggest("give parts of it names of their own");
  failed_ = true;
  gave_up_ = true;
  next_ = tokens_.size() - 1;
}

}  // namespace scratchy
