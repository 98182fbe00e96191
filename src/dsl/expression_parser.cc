#include "dsl/expression_parser.h"

#include <charconv>
#include <cmath>

#include "base/text.h"

namespace scratchy {
namespace {

struct BinaryToken {
  TokenKind kind;
  Operator op;
};

constexpr BinaryToken kBinaryTokens[] = {
    {TokenKind::kOrOr, Operator::kOr},
    {TokenKind::kAndAnd, Operator::kAnd},
    {TokenKind::kEqualEqual, Operator::kEqual},
    {TokenKind::kNotEqual, Operator::kNotEqual},
    {TokenKind::kLess, Operator::kLess},
    {TokenKind::kLessEqual, Operator::kLessEqual},
    {TokenKind::kGreater, Operator::kGreater},
    {TokenKind::kGreaterEqual, Operator::kGreaterEqual},
    {TokenKind::kIn, Operator::kIn},
    {TokenKind::kPlus, Operator::kAdd},
    {TokenKind::kMinus, Operator::kSub},
    {TokenKind::kStar, Operator::kMul},
    {TokenKind::kSlash, Operator::kDiv},
    {TokenKind::kPercent, Operator::kRem},
    {TokenKind::kStarStar, Operator::kPow},
};

// What a token stands for between two expressions; kNot where it is no such operator.
Operator binary_operator(TokenKind kind) {
  const auto row = std::find_if(std::begin(kBinaryTokens), std::end(kBinaryTokens), [&](const BinaryToken& one) { return one.kind == kind; });
  return row != std::end(kBinaryTokens) ? row->op : Operator::kNot;
}

}  // namespace

ExprPtr ExpressionParser::make(ExprKind kind, const Span& begin) {
  auto out = std::make_unique<Expr>();
  out->kind = kind;
  out->span = span_from(begin);
  return out;
}

// Closes a node: its span and its height, null when it is too high.
ExprPtr ExpressionParser::finish(ExprPtr node, const Span& begin) {
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

ExprPtr ExpressionParser::expression() {
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
ExprPtr ExpressionParser::binary(int least) {
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

ExprPtr ExpressionParser::nested_unary() {
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

ExprPtr ExpressionParser::unary() {
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

ExprPtr ExpressionParser::postfix() {
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

bool ExpressionParser::ranges(std::vector<SliceRange>& out) {
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

bool ExpressionParser::arguments(std::vector<NamedExpr>& out) {
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
ExprPtr ExpressionParser::argument() {
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

ExprPtr ExpressionParser::primary() {
  const Span begin = token().span;
  if (at(TokenKind::kInt) || at(TokenKind::kFloat)) return number();
  if (at(TokenKind::kString)) return literal(Constant::text(unquote(token())));
  if (at(TokenKind::kTrue) || at(TokenKind::kFalse)) return literal(Constant::boolean(at(TokenKind::kTrue)));
  if (at(TokenKind::kNone)) return literal(Constant());
  if (at(TokenKind::kLeftBracket)) return list();
  if (at(TokenKind::kLeftBrace)) return record();
  if (at(TokenKind::kScan)) return scan();
  if (at(TokenKind::kLeftParen)) return parenthesis();
  if (at(TokenKind::kName)) {
    const Token taken = take();
    ExprPtr node = make(ExprKind::kName, begin);
    node->name = {text(taken), taken.span};
    return node;
  }
  unexpected("an expression");
  return nullptr;
}

ExprPtr ExpressionParser::parenthesis() {
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

ExprPtr ExpressionParser::literal(Constant value) {
  const Span begin = take().span;
  ExprPtr node = make(ExprKind::kConstant, begin);
  node->constant = std::move(value);
  return node;
}

ExprPtr ExpressionParser::number() {
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

std::string ExpressionParser::unquote(const Token& t) const {
  std::string out;
  std::string_view quoted = t.text(file_);
  if (quoted.size() >= 2 && quoted.back() == '"') quoted.remove_suffix(1);
  for (size_t i = 1; i < quoted.size(); ++i) {
    if (quoted[i] == '\\' && i + 1 < quoted.size() && (quoted[i + 1] == '"' || quoted[i + 1] == '\\')) ++i;
    out += quoted[i];
  }
  return out;
}

ExprPtr ExpressionParser::list() {
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

ExprPtr ExpressionParser::comprehension(ExprPtr node, const Span& begin) {
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

ExprPtr ExpressionParser::record() {
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

ExprPtr ExpressionParser::scan() {
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
  const bool good = block(out.body, nullptr);
  --scan_depth_;
  return good ? finish(std::move(node), begin) : nullptr;
}

bool ExpressionParser::target_list(std::vector<Word>& out) {
  take();
  do {
    if (!one_target(out)) return false;
  } while (take_if(TokenKind::kComma));
  return expect(TokenKind::kRightParen);
}

bool ExpressionParser::one_target(std::vector<Word>& out) {
  out.emplace_back();
  return name(out.back(), "a name");
}

}  // namespace scratchy
