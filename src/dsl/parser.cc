#include "dsl/parser.h"

#include "dsl/expression_parser.h"

namespace scratchy {
namespace {

constexpr int kMaxBlockDepth = 64;

class Parser : private ExpressionParser {
 public:
  Parser(const SourceFile& file, Diagnostics& diagnostics) : ExpressionParser(file, diagnostics) {}

  Module module() {
    Module out;
    out.file = &file_;
    while (!at(TokenKind::kEnd)) {
      failed_ = false;
      item(out);
      if (failed_) skip_to_item();
    }
    return out;
  }

  ExprPtr whole_expression() {
    if (at(TokenKind::kEnd) && diagnostics_.size() > errors_before_) return nullptr;
    ExprPtr out = expression();
    if (out && !at(TokenKind::kEnd)) {
      unexpected("the end of the expression");
      return nullptr;
    }
    return out;
  }

 private:
  // --- recovery
  void skip_to_item() {
    int depth = 0;
    while (!at(TokenKind::kEnd)) {
      const TokenKind kind = token().kind;
      if (kind == TokenKind::kFn || kind == TokenKind::kForwardAttribute || (kind == TokenKind::kConst && depth <= 0)) return;
      if (kind == TokenKind::kLeftBrace) ++depth;
      if (kind == TokenKind::kRightBrace) --depth;
      take();
    }
  }

  // Behind the `;` of the broken statement, or before the `}` of its block.
  void skip_statement() {
    int depth = 0;
    while (!at(TokenKind::kEnd)) {
      const TokenKind kind = token().kind;
      if (kind == TokenKind::kFn || kind == TokenKind::kForwardAttribute || kind == TokenKind::kConst) return;
      if (kind == TokenKind::kSemicolon && depth == 0) {
        take();
        return;
      }
      if (kind == TokenKind::kRightBrace && depth-- == 0) return;
      if (kind == TokenKind::kLeftBrace) ++depth;
      take();
      if (kind == TokenKind::kRightBrace && depth == 0) return;
    }
  }

  // --- items
  void item(Module& out) {
    const Span begin = token().span;
    if (at(TokenKind::kConst)) {
      take();
      ConstItem made;
      if (!name(made.name, "the name of the constant") || !expect(TokenKind::kAssign)) return;
      made.value = expression();
      if (!made.value || !expect(TokenKind::kSemicolon)) return;
      made.span = span_from(begin);
      out.constants.push_back(std::move(made));
      return;
    }
    Function made;
    made.forward = take_if(TokenKind::kForwardAttribute);
    if (!at(TokenKind::kFn)) {
      Diagnostic* const d = unexpected("`fn`, `const` or `#[forward]`");
      if (d != nullptr && !made.forward) d->suggest("statements stand in a function; the one that is the model is marked `#[forward]`");
      if (!at(TokenKind::kEnd)) take();
      return;
    }
    take();
    if (!name(made.name, "the name of the function") || !params(made)) return;
    made.span = span_from(begin);
    if (!block(made.body, &made.close)) return;
    out.functions.push_back(std::move(made));
  }

  bool params(Function& out) {
    if (!expect(TokenKind::kLeftParen)) return false;
    while (!at(TokenKind::kRightParen)) {
      Param made;
      if (!name(made.name, "the name of a parameter")) return false;
      if (take_if(TokenKind::kAssign)) {
        made.fallback = expression();
        if (!made.fallback) return false;
      }
      out.params.push_back(std::move(made));
      if (!take_if(TokenKind::kComma)) break;
    }
    return expect(TokenKind::kRightParen);
  }

  // `{ statements }`. Broken statements are reported and skipped; false only where the block itself is not to be read.
  bool block(Block& out, Span* close) override {
    const Span open = token().span;
    if (!expect(TokenKind::kLeftBrace)) return false;
    if (++block_depth_ > kMaxBlockDepth) {
      too_deep(open, kMaxBlockDepth);
      --block_depth_;
      return false;
    }
    while (!at(TokenKind::kRightBrace) && !at(TokenKind::kEnd)) {
      if (at(TokenKind::kFn) || at(TokenKind::kForwardAttribute) || at(TokenKind::kConst)) break;
      const bool failed_before = failed_;
      failed_ = false;
      Stmt made{};
      const bool good = statement(made);
      if (good && !failed_) {
        out.push_back(std::move(made));
      } else if (!at(TokenKind::kEnd)) {
        skip_statement();
      }
      failed_ = failed_before;
    }
    --block_depth_;
    if (close != nullptr) *close = token().span;
    if (at(TokenKind::kRightBrace)) {
      take();
      return true;
    }
    if (Diagnostic* const d = unexpected("`}`"); d != nullptr) d->label(open, "this block is not closed");
    return false;
  }

  // --- statements
  bool statement(Stmt& out) {
    const Span begin = token().span;
    const bool good = at(TokenKind::kFor)      ? for_statement(out)
                      : at(TokenKind::kIf)     ? if_statement(out)
                      : at(TokenKind::kReturn) ? return_statement(out)
                      : at(TokenKind::kAssert) ? assert_statement(out)
                      : at(TokenKind::kYield)  ? yield_statement(out)
                                               : assign_or_expression(out);
    out.span = span_from(begin);
    if (out.kind == StmtKind::kFor || out.kind == StmtKind::kIf) out.span = {&file_, begin.begin, head_end_};
    return good;
  }

  bool for_statement(Stmt& out) {
    take();
    out.kind = StmtKind::kFor;
    Word variable;
    if (!name(variable, "the name of the loop's variable") || !expect(TokenKind::kIn)) return false;
    out.targets.push_back(std::move(variable));
    ExprPtr from = expression();
    if (!from || !expect(TokenKind::kDotDot, "a loop runs over a range: `for i in 0..n`")) return false;
    ExprPtr to = expression();
    if (!to) return false;
    out.values.push_back(std::move(from));
    out.values.push_back(std::move(to));
    const uint32_t head = last_end_;
    const bool good = block(out.body, nullptr);
    head_end_ = head;
    return good;
  }

  bool if_statement(Stmt& out) {
    const Span begin = take().span;
    out.kind = StmtKind::kIf;
    ExprPtr condition = expression();
    if (!condition) return false;
    out.values.push_back(std::move(condition));
    const uint32_t head = last_end_;
    bool good = block(out.body, nullptr);
    if (good && take_if(TokenKind::kElse)) {
      if (!at(TokenKind::kIf)) {
        good = block(out.otherwise, nullptr);
      } else if (block_depth_ >= kMaxBlockDepth) {
        too_deep(begin, kMaxBlockDepth);
        good = false;
      } else {
        ++block_depth_;
        Stmt rest{};
        good = statement(rest);
        if (good) out.otherwise.push_back(std::move(rest));
        --block_depth_;
      }
    }
    head_end_ = head;
    return good;
  }

  bool return_statement(Stmt& out) {
    take();
    out.kind = StmtKind::kReturn;
    if (at(TokenKind::kLeftParen) && closes_before_semicolon()) {
      take();
      while (!at(TokenKind::kRightParen)) {
        ExprPtr value = expression();
        if (!value) return false;
        out.values.push_back(std::move(value));
        if (!take_if(TokenKind::kComma)) break;
      }
      return expect(TokenKind::kRightParen) && expect(TokenKind::kSemicolon);
    }
    if (!at(TokenKind::kSemicolon)) {
      ExprPtr value = expression();
      if (!value) return false;
      out.values.push_back(std::move(value));
    }
    return expect(TokenKind::kSemicolon);
  }

  // Whether the parenthesis here closes right before a `;`, as in `return (a, b);` but not `return (a + b) * c;`.
  bool closes_before_semicolon() const {
    int depth = 0;
    for (size_t i = next_; i < tokens_.size(); ++i) {
      const TokenKind kind = tokens_[i].kind;
      if (kind == TokenKind::kLeftParen || kind == TokenKind::kLeftBracket || kind == TokenKind::kLeftBrace) ++depth;
      if (kind == TokenKind::kRightParen || kind == TokenKind::kRightBracket || kind == TokenKind::kRightBrace) --depth;
      if (depth == 0) return tokens_[i + 1 < tokens_.size() ? i + 1 : i].kind == TokenKind::kSemicolon;
      if (kind == TokenKind::kSemicolon) return false;
    }
    return false;
  }

  bool assert_statement(Stmt& out) {
    take();
    out.kind = StmtKind::kAssert;
    if (!expect(TokenKind::kLeftParen)) return false;
    ExprPtr condition = expression();
    if (!condition) return false;
    out.values.push_back(std::move(condition));
    if (!expect(TokenKind::kComma, "say what is wrong when it doesn't hold: `assert(a == b, \"a differs from b\")`")) return false;
    if (!at(TokenKind::kString)) {
      unexpected("the message, a string");
      return false;
    }
    out.message = unquote(take());
    return expect(TokenKind::kRightParen) && expect(TokenKind::kSemicolon);
  }

  bool yield_statement(Stmt& out) {
    const Span at_yield = take().span;
    out.kind = StmtKind::kYield;
    if (scan_depth_ == 0) {
      failed_ = true;
      diagnostics_.add(DiagnosticKind::kYieldOutsideScan, at_yield);
      return false;
    }
    ExprPtr value = expression();
    if (!value) return false;
    out.values.push_back(std::move(value));
    return expect(TokenKind::kSemicolon);
  }

  bool assign_or_expression(Stmt& out) {
    const bool several = at(TokenKind::kLeftParen);
    if (several || (at(TokenKind::kName) && after().kind == TokenKind::kAssign)) {
      out.kind = StmtKind::kAssign;
      if (!(several ? target_list(out.targets) : one_target(out.targets)) || !expect(TokenKind::kAssign)) return false;
    } else {
      out.kind = StmtKind::kExpression;
    }
    ExprPtr value = expression();
    if (!value) return false;
    if (out.kind == StmtKind::kExpression && at(TokenKind::kAssign)) {
      if (!failed_) {
        failed_ = true;
        diagnostics_.add(DiagnosticKind::kBadTarget, value->span).suggest("assign to a plain name, or to several in parentheses: `(a, b) = f(x);`");
      }
      return false;
    }
    out.values.push_back(std::move(value));
    return expect(TokenKind::kSemicolon);
  }

  uint32_t head_end_ = 0;  // of the last `for` or `if`, without its block
  int block_depth_ = 0;
};

}  // namespace

Module parse(const SourceFile& file, Diagnostics& diagnostics) { return Parser(file, diagnostics).module(); }

ExprPtr parse_expression(const SourceFile& file, Diagnostics& diagnostics) {
  const size_t before = diagnostics.size();
  ExprPtr out = Parser(file, diagnostics).whole_expression();
  return diagnostics.size() == before ? std::move(out) : nullptr;
}

}  // namespace scratchy
