#include "dsl/parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/text.h"
#include "dsl/lexer.h"

namespace scratchy {
namespace {

constexpr int kMaxBlockDepth = 64;
constexpr size_t kMaxErrors = 100;

// What each token stands for between two expressions; kNot where it is no such operator.
Operator binary_operator(TokenKind kind) {
  switch (kind) {
    case TokenKind::kOrOr: return Operator::kOr;
    case TokenKind::kAndAnd: return Operator::kAnd;
    case TokenKind::kEqualEqual: return Operator::kEqual;
    case TokenKind::kNotEqual: return Operator::kNotEqual;
    case TokenKind::kLess: return Operator::kLess;
    case TokenKind::kLessEqual: return Operator::kLessEqual;
    case TokenKind::kGreater: return Operator::kGreater;
    case TokenKind::kGreaterEqual: return Operator::kGreaterEqual;
    case TokenKind::kIn: return Operator::kIn;
    case TokenKind::kPlus: return Operator::kAdd;
    case TokenKind::kMinus: return Operator::kSub;
    case TokenKind::kStar: return Operator::kMul;
    case TokenKind::kSlash: return Operator::kDiv;
    case TokenKind::kPercent: return Operator::kRem;
    case TokenKind::kStarStar: return Operator::kPow;
    default: return Operator::kNot;
  }
}

class Parser {
 public:
  Parser(const SourceFile& file, Diagnostics& diagnostics)
      : file_(file), diagnostics_(diagnostics), errors_before_(diagnostics.size()), tokens_(lex(file, false, diagnostics)) {
    for (size_t i = errors_before_; i < diagnostics.size() && i < diagnostics.items().size(); ++i) broken_lines_.insert(file.place(diagnostics.items()[i].span.begin).line);
  }

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
  // --- tokens
  const Token& token() const { return tokens_[next_]; }
  const Token& after() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
  bool at(TokenKind kind) const { return token().kind == kind; }
  std::string text(const Token& t) const { return std::string(t.text(file_)); }
  Span span_from(const Span& begin) const { return {&file_, begin.begin, std::max(begin.end, last_end_)}; }

  Token take() {
    const Token taken = token();
    if (taken.kind != TokenKind::kEnd) ++next_;
    last_end_ = taken.span.end;
    return taken;
  }

  bool take_if(TokenKind kind) {
    if (!at(kind)) return false;
    take();
    return true;
  }

  std::string found() const {
    if (at(TokenKind::kEnd)) return describe(TokenKind::kEnd);
    return (is_keyword(token().kind) ? "the keyword `" : "`") + escape_for_message(token().text(file_), 40) + "`";
  }

  // Reports once per statement; what follows is silent until the parser has recovered, and so is a line that has
  // something in it that is no token.
  Diagnostic* unexpected(const std::string& wanted) {
    if (failed_) return nullptr;
    failed_ = true;
    if (gave_up_ || broken_lines_.count(file_.place(token().span.begin).line) != 0 || broken_lines_.count(file_.place(last_end_).line) != 0) return nullptr;
    Diagnostic& made = diagnostics_.add(DiagnosticKind::kUnexpectedToken, token().span, {{"wanted", wanted}, {"found", found()}});
    if (diagnostics_.size() - errors_before_ > kMaxErrors) next_ = tokens_.size() - 1;
    return &made;
  }

  bool expect(TokenKind kind, const char* hint = nullptr) {
    if (take_if(kind)) return true;
    Diagnostic* const made = unexpected(describe(kind));
    if (made != nullptr && hint != nullptr) made->suggest(hint);
    return false;
  }

  bool name(Word& out, const char* what) {
    if (at(TokenKind::kName)) {
      const Token taken = take();
      out = {text(taken), taken.span};
      return true;
    }
    Diagnostic* const made = unexpected(what);
    if (made != nullptr && is_keyword(token().kind)) made->suggest("`" + text(token()) + "` is a word of the language; take another name");
    return false;
  }

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

  void too_deep(const Span& span, int limit) {
    if (!failed_) diagnostics_.add(DiagnosticKind::kTooDeep, span, {{"limit", std::to_string(limit)}}).suggest("give parts of it names of their own");
    failed_ = true;
    gave_up_ = true;
    next_ = tokens_.size() - 1;
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
  bool block(Block& out, Span* close = nullptr) {
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
    bool good = false;
    switch (token().kind) {
      case TokenKind::kFor: good = for_statement(out); break;
      case TokenKind::kIf: good = if_statement(out); break;
      case TokenKind::kReturn: good = return_statement(out); break;
      case TokenKind::kAssert: good = assert_statement(out); break;
      case TokenKind::kYield: good = yield_statement(out); break;
      default: good = assign_or_expression(out); break;
    }
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
    const bool good = block(out.body);
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
    bool good = block(out.body);
    if (good && take_if(TokenKind::kElse)) {
      if (!at(TokenKind::kIf)) {
        good = block(out.otherwise);
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

  bool one_target(std::vector<Word>& out) {
    out.emplace_back();
    return name(out.back(), "a name");
  }

  bool target_list(std::vector<Word>& out) {
    take();
    do {
      if (!one_target(out)) return false;
    } while (take_if(TokenKind::kComma));
    return expect(TokenKind::kRightParen);
  }

  // --- expressions
  ExprPtr make(ExprKind kind, const Span& begin) {
    auto out = std::make_unique<Expr>();
    out->kind = kind;
    out->span = span_from(begin);
    return out;
  }

  // Closes a node: its span and its height, null when it is too high.
  ExprPtr finish(ExprPtr node, const Span& begin) {
    if (!node) return nullptr;
    int below = 0;
    const auto see = [&](const ExprPtr& child) { below = child ? std::max(below, child->height) : below; };
    for (const ExprPtr& child : node->children) see(child);
    for (const NamedExpr& argument : node->arguments) see(argument.value);
    for (const SliceRange& range : node->ranges) see(range.begin), see(range.end);
    node->height = below + 1;
    node->span = span_from(begin);
    if (node->height > Expr::kMaxHeight) {
      too_deep(node->span, Expr::kMaxHeight);
      return nullptr;
    }
    return node;
  }

  ExprPtr expression() {
    if (++depth_ > Expr::kMaxHeight) {
      too_deep(token().span, Expr::kMaxHeight);
      --depth_;
      return nullptr;
    }
    const Span begin = token().span;
    ExprPtr out = binary(1);
    if (out && take_if(TokenKind::kQuestion)) {
      ExprPtr node = make(ExprKind::kChoice, begin);
      node->children.push_back(std::move(out));
      ExprPtr then = expression();
      ExprPtr otherwise = then && expect(TokenKind::kColon) ? expression() : nullptr;
      if (otherwise) {
        node->children.push_back(std::move(then));
        node->children.push_back(std::move(otherwise));
        out = finish(std::move(node), begin);
      }
    }
    --depth_;
    return out;
  }

  // Operators that bind at least as tight as `least`, left to right (`**` right to left).
  ExprPtr binary(int least) {
    const Span begin = token().span;
    ExprPtr left = unary();
    while (left) {
      const Operator op = binary_operator(token().kind);
      if (op == Operator::kNot || binding(op) < least) break;
      ExprPtr node = make(ExprKind::kBinary, begin);
      node->op = op;
      node->op_span = take().span;
      ExprPtr right = op == Operator::kPow ? nested_unary() : binary(binding(op) + 1);
      if (!right) return nullptr;
      const bool compares = binding(op) == binding(Operator::kEqual);
      node->children.push_back(std::move(left));
      node->children.push_back(std::move(right));
      left = finish(std::move(node), begin);
      if (left && compares && binding(binary_operator(token().kind)) == binding(Operator::kEqual)) {
        Diagnostic* const d = unexpected("an end of the comparison");
        if (d != nullptr) d->suggest("comparisons don't chain: write `a < b && b < c`");
        return nullptr;
      }
    }
    return left;
  }

  ExprPtr nested_unary() {
    if (++depth_ > Expr::kMaxHeight) {
      too_deep(token().span, Expr::kMaxHeight);
      --depth_;
      return nullptr;
    }
    ExprPtr out = unary();
    // `a ** b ** c` is a ** (b ** c).
    if (out && at(TokenKind::kStarStar)) {
      const Span begin = out->span;
      ExprPtr node = make(ExprKind::kBinary, begin);
      node->op = Operator::kPow;
      node->op_span = take().span;
      ExprPtr right = nested_unary();
      if (right) {
        node->children.push_back(std::move(out));
        node->children.push_back(std::move(right));
        out = finish(std::move(node), begin);
      } else {
        out = nullptr;
      }
    }
    --depth_;
    return out;
  }

  ExprPtr unary() {
    const Span begin = token().span;
    if (!at(TokenKind::kMinus) && !at(TokenKind::kNot)) return postfix();
    ExprPtr node = make(ExprKind::kUnary, begin);
    node->op = at(TokenKind::kMinus) ? Operator::kNegate : Operator::kNot;
    node->op_span = take().span;
    if (++depth_ > Expr::kMaxHeight) {
      too_deep(begin, Expr::kMaxHeight);
      --depth_;
      return nullptr;
    }
    ExprPtr operand = binary(binding(Operator::kNegate) + 1);
    --depth_;
    if (!operand) return nullptr;
    node->children.push_back(std::move(operand));
    return finish(std::move(node), begin);
  }

  ExprPtr postfix() {
    const Span begin = token().span;
    ExprPtr out = primary();
    while (out) {
      if (take_if(TokenKind::kDot)) {
        ExprPtr node = make(ExprKind::kField, begin);
        if (!at(TokenKind::kName) && !is_keyword(token().kind)) {
          unexpected("the name of a field");
          return nullptr;
        }
        const Token field = take();
        node->name = {text(field), field.span};
        node->children.push_back(std::move(out));
        out = finish(std::move(node), begin);
      } else if (at(TokenKind::kLeftBracket)) {
        take();
        ExprPtr node = make(ExprKind::kIndex, begin);
        node->children.push_back(std::move(out));
        if (!ranges(node->ranges)) return nullptr;
        out = finish(std::move(node), begin);
      } else if (at(TokenKind::kLeftParen)) {
        if (out->kind != ExprKind::kName) {
          unexpected("an operator or `;`");
          return nullptr;
        }
        ExprPtr node = make(ExprKind::kCall, begin);
        node->name = out->name;
        if (!arguments(node->arguments)) return nullptr;
        out = finish(std::move(node), begin);
      } else {
        break;
      }
    }
    return out;
  }

  bool ranges(std::vector<SliceRange>& out) {
    do {
      SliceRange range;
      const Span begin = token().span;
      const auto ends = [&] { return at(TokenKind::kComma) || at(TokenKind::kRightBracket); };
      if (!at(TokenKind::kDotDot)) {
        range.begin = expression();
        if (!range.begin) return false;
      }
      range.dots = take_if(TokenKind::kDotDot);
      if (range.dots && !ends()) {
        range.end = expression();
        if (!range.end) return false;
      }
      range.span = span_from(begin);
      out.push_back(std::move(range));
    } while (take_if(TokenKind::kComma));
    return expect(TokenKind::kRightBracket);
  }

  bool arguments(std::vector<NamedExpr>& out) {
    take();
    while (!at(TokenKind::kRightParen)) {
      NamedExpr made;
      if (at(TokenKind::kName) && after().kind == TokenKind::kAssign) {
        name(made.name, "the name of an argument");
        take();
      } else if (!out.empty() && !out.back().name.text.empty()) {
        Diagnostic* const d = unexpected("a named argument");
        if (d != nullptr) d->suggest("arguments without a name stand before those with one");
        return false;
      }
      made.value = argument();
      if (!made.value) return false;
      out.push_back(std::move(made));
      if (!take_if(TokenKind::kComma)) break;
    }
    return expect(TokenKind::kRightParen);
  }

  // An expression, or a range `a..b`, which is the list [a, b].
  ExprPtr argument() {
    const Span begin = token().span;
    ExprPtr out = expression();
    if (!out || !take_if(TokenKind::kDotDot)) return out;
    ExprPtr end = expression();
    if (!end) return nullptr;
    ExprPtr node = make(ExprKind::kList, begin);
    node->children.push_back(std::move(out));
    node->children.push_back(std::move(end));
    return finish(std::move(node), begin);
  }

  ExprPtr primary() {
    const Span begin = token().span;
    switch (token().kind) {
      case TokenKind::kInt:
      case TokenKind::kFloat: return number();
      case TokenKind::kString: return literal(Constant::text(unquote(token())));
      case TokenKind::kTrue: return literal(Constant::boolean(true));
      case TokenKind::kFalse: return literal(Constant::boolean(false));
      case TokenKind::kNone: return literal(Constant());
      case TokenKind::kLeftBracket: return list();
      case TokenKind::kLeftBrace: return record();
      case TokenKind::kScan: return scan();
      case TokenKind::kName: {
        const Token taken = take();
        ExprPtr node = make(ExprKind::kName, begin);
        node->name = {text(taken), taken.span};
        return node;
      }
      case TokenKind::kLeftParen: {
        take();
        ExprPtr inner = expression();
        if (!inner) return nullptr;
        if (at(TokenKind::kComma)) {
          Diagnostic* const d = unexpected("`)`");
          if (d != nullptr) d->suggest("several values stand only left of `=` and behind `return`");
          return nullptr;
        }
        return expect(TokenKind::kRightParen) ? std::move(inner) : nullptr;
      }
      default: unexpected("an expression"); return nullptr;
    }
  }

  ExprPtr literal(Constant value) {
    const Span begin = take().span;
    ExprPtr node = make(ExprKind::kConstant, begin);
    node->constant = std::move(value);
    return node;
  }

  ExprPtr number() {
    const std::string_view digits = token().text(file_);
    const char* const end = digits.data() + digits.size();
    if (at(TokenKind::kInt)) {
      int64_t value = 0;
      const auto read = std::from_chars(digits.data(), end, value);
      if (read.ec == std::errc::result_out_of_range) {
        diagnostics_.add(DiagnosticKind::kNumberRange, token().span, {{"text", escape_for_message(digits, 60)}}).suggest("integers have 64 bits");
      }
      return literal(Constant::integer(read.ec == std::errc() ? value : 0));
    }
    double value = 0;
    const auto read = std::from_chars(digits.data(), end, value);
    if (read.ec == std::errc::result_out_of_range || !std::isfinite(value)) {
      diagnostics_.add(DiagnosticKind::kNumberRange, token().span, {{"text", escape_for_message(digits, 60)}}).suggest("numbers lie between 1e-300 and 1e300");
      value = 0;
    }
    return literal(Constant::real(value));
  }

  std::string unquote(const Token& t) const {
    std::string out;
    std::string_view quoted = t.text(file_);
    if (quoted.size() >= 2 && quoted.back() == '"') quoted.remove_suffix(1);
    for (size_t i = 1; i < quoted.size(); ++i) {
      if (quoted[i] == '\\' && i + 1 < quoted.size() && (quoted[i + 1] == '"' || quoted[i + 1] == '\\')) ++i;
      out += quoted[i];
    }
    return out;
  }

  ExprPtr list() {
    const Span begin = take().span;
    ExprPtr node = make(ExprKind::kList, begin);
    while (!at(TokenKind::kRightBracket)) {
      ExprPtr element = expression();
      if (!element) return nullptr;
      node->children.push_back(std::move(element));
      if (node->children.size() == 1 && take_if(TokenKind::kFor)) return comprehension(std::move(node), begin);
      if (!take_if(TokenKind::kComma)) break;
    }
    return expect(TokenKind::kRightBracket) ? finish(std::move(node), begin) : nullptr;
  }

  ExprPtr comprehension(ExprPtr node, const Span& begin) {
    node->kind = ExprKind::kComprehension;
    if (!name(node->name, "the name of the variable") || !expect(TokenKind::kIn)) return nullptr;
    ExprPtr from = expression();
    if (!from || !expect(TokenKind::kDotDot, "a list is built over a range: `[i * i for i in 0..n]`")) return nullptr;
    ExprPtr to = expression();
    if (!to || !expect(TokenKind::kRightBracket)) return nullptr;
    node->children.push_back(std::move(from));
    node->children.push_back(std::move(to));
    return finish(std::move(node), begin);
  }

  ExprPtr record() {
    const Span begin = take().span;
    ExprPtr node = make(ExprKind::kRecord, begin);
    while (!at(TokenKind::kRightBrace)) {
      NamedExpr field;
      if (!at(TokenKind::kName) && !is_keyword(token().kind)) {
        unexpected("the name of a field");
        return nullptr;
      }
      const Token key = take();
      field.name = {text(key), key.span};
      if (!expect(TokenKind::kColon)) return nullptr;
      field.value = expression();
      if (!field.value) return nullptr;
      for (const NamedExpr& earlier : node->arguments) {
        if (earlier.name.text != field.name.text) continue;
        diagnostics_.add(DiagnosticKind::kDuplicateField, field.name.span, {{"name", field.name.text}}).label(earlier.name.span, "first here");
        break;
      }
      node->arguments.push_back(std::move(field));
      if (!take_if(TokenKind::kComma)) break;
    }
    return expect(TokenKind::kRightBrace) ? finish(std::move(node), begin) : nullptr;
  }

  ExprPtr scan() {
    const Span begin = take().span;
    ExprPtr node = make(ExprKind::kScan, begin);
    node->scan = std::make_unique<ScanExpr>();
    ScanExpr& out = *node->scan;
    if (!at(TokenKind::kLeftParen)) {
      unexpected("`(`");
      return nullptr;
    }
    if (!target_list(out.names) || !expect(TokenKind::kOver) || !expect(TokenKind::kLeftParen)) return nullptr;
    do {
      ExprPtr operand = expression();
      if (!operand) return nullptr;
      out.operands.push_back(std::move(operand));
    } while (take_if(TokenKind::kComma));
    if (!expect(TokenKind::kRightParen) || !expect(TokenKind::kWith) || !name(out.state_name, "the name of the state") ||
        !expect(TokenKind::kAssign)) {
      return nullptr;
    }
    out.state = postfix();
    if (!out.state || !expect(TokenKind::kAs) || !expect(TokenKind::kLeftBracket)) return nullptr;
    while (!at(TokenKind::kRightBracket)) {
      ExprPtr dim = expression();
      if (!dim) return nullptr;
      out.shape.push_back(std::move(dim));
      if (!take_if(TokenKind::kComma)) break;
    }
    if (!expect(TokenKind::kRightBracket)) return nullptr;
    node->op_span = span_from(begin);
    ++scan_depth_;
    const bool good = block(out.body);
    --scan_depth_;
    return good ? finish(std::move(node), begin) : nullptr;
  }

  const SourceFile& file_;
  Diagnostics& diagnostics_;
  size_t errors_before_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  uint32_t last_end_ = 0;
  uint32_t head_end_ = 0;
  int depth_ = 0, block_depth_ = 0, scan_depth_ = 0;
  bool failed_ = false;
  bool gave_up_ = false;
  std::set<int> broken_lines_;
};

}  // namespace

Module parse(const SourceFile& file, Diagnostics& diagnostics) { return Parser(file, diagnostics).module(); }

ExprPtr parse_expression(const SourceFile& file, Diagnostics& diagnostics) {
  const size_t before = diagnostics.size();
  ExprPtr out = Parser(file, diagnostics).whole_expression();
  return diagnostics.size() == before ? std::move(out) : nullptr;
}

}  // namespace scratchy
