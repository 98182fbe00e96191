// Walks the tokens of a text for the parsers: takes them, reports what stands where something else is wanted, and keeps
// quiet where an error is told already.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "dsl/ast.h"
#include "dsl/lexer.h"

namespace scratchy {

class TokenReader {
 protected:
  TokenReader(const SourceFile& file, Diagnostics& diagnostics);
  ~TokenReader() = default;

  const Token& token() const { return tokens_[next_]; }
  const Token& after() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
  bool at(TokenKind kind) const { return token().kind == kind; }
  std::string text(const Token& t) const { return std::string(t.text(file_)); }
  Span span_from(const Span& begin) const { return {&file_, begin.begin, std::max(begin.end, last_end_)}; }
  Token take();
  bool take_if(TokenKind kind);
  std::string found() const;
  // Reports once per statement; what follows is silent until the parser has recovered, and so is a line that has
  // something in it that is no token.
  Diagnostic* unexpected(const std::string& wanted);
  bool expect(TokenKind kind, const char* hint = nullptr);
  bool name(Word& out, const char* what);
  // Ends the reading: what is nested deeper than `limit` is not looked at.
  void too_deep(const Span& span, int limit);

  const SourceFile& file_;
  Diagnostics& diagnostics_;
  size_t errors_before_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  uint32_t last_end_ = 0;       // of the last token taken
  bool failed_ = false;         // the statement has an error that is told
  bool gave_up_ = false;
  std::set<int> broken_lines_;  // those with something that is no token
};

}  // namespace scratchy
