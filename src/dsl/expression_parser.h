// Reads expressions, by precedence (operator.def). Heights are bounded, so neither reading nor walking a tree recurses
// deeper than that; what is deeper ends the reading.
#pragma once

#include "dsl/token_reader.h"

namespace scratchy {

class ExpressionParser : protected TokenReader {
 protected:
  using TokenReader::TokenReader;

  // `{ statements }` of a scan; false when it is not to be used.
  virtual bool block(Block& out, Span* close) = 0;
  virtual ~ExpressionParser() = default;

  ExprPtr make(ExprKind kind, const Span& begin);
  ExprPtr finish(ExprPtr node, const Span& begin);
  ExprPtr expression();
  ExprPtr binary(int least);
  ExprPtr nested_unary();
  ExprPtr unary();
  ExprPtr postfix();
  bool ranges(std::vector<SliceRange>& out);
  bool arguments(std::vector<NamedExpr>& out);
  ExprPtr argument();
  ExprPtr primary();
  ExprPtr parenthesis();
  ExprPtr literal(Constant value);
  ExprPtr number();
  std::string unquote(const Token& t) const;
  ExprPtr list();
  ExprPtr comprehension(ExprPtr node, const Span& begin);
  ExprPtr record();
  ExprPtr scan();
  bool target_list(std::vector<Word>& out);
  bool one_target(std::vector<Word>& out);

  int depth_ = 0;
  int scan_depth_ = 0;
};

}  // namespace scratchy
