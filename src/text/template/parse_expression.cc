// Expressions, loosest binding first: `if`, or, and, not, comparisons, + -, ~, * / // %, **, signs, postfix, filters.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "text/template/parser_state.h"

namespace scratchy::jinja {
namespace {

using Node = Expression::Kind;

std::optional<CompareOperator> comparison(const Token& token) {
  if (token.kind != TokenKind::kOperator) return std::nullopt;
  if (token.text == "==") return CompareOperator::kEqual;
  if (token.text == "!=") return CompareOperator::kNotEqual;
  if (token.text == "<") return CompareOperator::kLess;
  if (token.text == "<=") return CompareOperator::kLessEqual;
  if (token.text == ">") return CompareOperator::kGreater;
  if (token.text == ">=") return CompareOperator::kGreaterEqual;
  return std::nullopt;
}

std::optional<BinaryOperator> product(const Token& token) {
  if (token.is_operator("*")) return BinaryOperator::kMultiply;
  if (token.is_operator("/")) return BinaryOperator::kDivide;
  if (token.is_operator("//")) return BinaryOperator::kFloorDivide;
  if (token.is_operator("%")) return BinaryOperator::kModulo;
  return std::nullopt;
}

}  // namespace

ExpressionPtr Parser::make(Node kind, int line) const {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = line;
  return node;
}

void Parser::add_child(Expression& parent, ExpressionPtr child) const {
  if (child) parent.depth = std::max(parent.depth, child->depth + 1);
  if (parent.depth > kMaxExpressionDepth) fail("an expression chains more than 400 operations");
  parent.children.push_back(std::move(child));
}

ExpressionPtr Parser::parse_conditional() {
  const Nesting nesting(*this);
  ExpressionPtr node = parse_or();
  while (current().is_name("if")) {
    const int line = next().line;
    auto conditional = make(Node::kConditional, line);
    add_child(*conditional, parse_or());
    add_child(*conditional, std::move(node));
    if (skip_name("else")) add_child(*conditional, parse_conditional());
    node = std::move(conditional);
  }
  return node;
}

ExpressionPtr Parser::parse_or() {
  ExpressionPtr node = parse_and();
  while (current().is_name("or")) {
    auto both = make(Node::kOr, next().line);
    add_child(*both, std::move(node));
    add_child(*both, parse_and());
    node = std::move(both);
  }
  return node;
}

ExpressionPtr Parser::parse_and() {
  ExpressionPtr node = parse_not();
  while (current().is_name("and")) {
    auto both = make(Node::kAnd, next().line);
    add_child(*both, std::move(node));
    add_child(*both, parse_not());
    node = std::move(both);
  }
  return node;
}

ExpressionPtr Parser::parse_not() {
  if (!current().is_name("not")) return parse_compare();
  const Nesting nesting(*this);
  auto node = make(Node::kNot, next().line);
  add_child(*node, parse_not());
  return node;
}

ExpressionPtr Parser::parse_compare() {
  const int line = current().line;
  ExpressionPtr first = parse_sum();
  ExpressionPtr node;
  while (true) {
    std::optional<CompareOperator> op = comparison(current());
    if (op) {
      next();
    } else if (skip_name("in")) {
      op = CompareOperator::kIn;
    } else if (current().is_name("not") && look().is_name("in")) {
      next();
      next();
      op = CompareOperator::kNotIn;
    } else {
      break;
    }
    if (!node) {
      node = make(Node::kCompare, line);
      add_child(*node, std::move(first));
    }
    node->comparisons.push_back(*op);
    add_child(*node, parse_sum());
  }
  return node ? std::move(node) : std::move(first);
}

ExpressionPtr Parser::parse_sum() {
  ExpressionPtr node = parse_concat();
  while (current().is_operator("+") || current().is_operator("-")) {
    auto sum = make(Node::kBinary, current().line);
    sum->binary = next().text == "+" ? BinaryOperator::kAdd : BinaryOperator::kSubtract;
    add_child(*sum, std::move(node));
    add_child(*sum, parse_concat());
    node = std::move(sum);
  }
  return node;
}

ExpressionPtr Parser::parse_concat() {
  ExpressionPtr first = parse_product();
  if (!current().is_operator("~")) return first;
  auto node = make(Node::kConcat, current().line);
  add_child(*node, std::move(first));
  while (skip_operator("~")) add_child(*node, parse_product());
  return node;
}

ExpressionPtr Parser::parse_product() {
  ExpressionPtr node = parse_power();
  while (const auto op = product(current())) {
    auto pair = make(Node::kBinary, next().line);
    pair->binary = *op;
    add_child(*pair, std::move(node));
    add_child(*pair, parse_power());
    node = std::move(pair);
  }
  return node;
}

ExpressionPtr Parser::parse_power() {
  ExpressionPtr node = parse_unary(true);
  while (current().is_operator("**")) {
    auto power = make(Node::kBinary, next().line);
    power->binary = BinaryOperator::kPower;
    add_child(*power, std::move(node));
    add_child(*power, parse_unary(true));
    node = std::move(power);
  }
  return node;
}

ExpressionPtr Parser::parse_unary(bool with_filter) {
  ExpressionPtr node;
  if (current().is_operator("-") || current().is_operator("+")) {
    const Nesting nesting(*this);
    node = make(current().is_operator("-") ? Node::kNegate : Node::kPlus, current().line);
    next();
    add_child(*node, parse_unary(false));
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filter ? parse_filters_and_tests(std::move(node)) : std::move(node);
}

ExpressionPtr Parser::parse_name(bool as_target) {
  auto node = make(Node::kConstant, current().line);
  const std::string name = next().text;
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    node->value = Value(name[0] == 't' || name[0] == 'T');
  } else if (name == "none" || name == "None") {
    node->value = Value(None{});
  } else {
    node->kind = Node::kName;
    node->name = name;
    for (Signature* function : functions_) {
      if (as_target) break;
      function->uses_caller |= name == "caller";
      function->uses_varargs |= name == "varargs";
      function->uses_kwargs |= name == "kwargs";
    }
  }
  return node;
}

ExpressionPtr Parser::parse_primary() {
  const Token& token = current();
  switch (token.kind) {
    case TokenKind::kName: return parse_name(false);
    case TokenKind::kText: {
      auto node = make(Node::kConstant, token.line);
      std::string text;
      while (current().kind == TokenKind::kText) text += next().text;
      node->value = make_text(std::move(text));
      return node;
    }
    case TokenKind::kInteger:
    case TokenKind::kFloat: {
      auto node = make(Node::kConstant, token.line);
      node->value = next().value;
      return node;
    }
    case TokenKind::kOperator:
      if (token.text == "(") {
        next();
        ExpressionPtr node = parse_tuple({.parenthesized = true});
        expect_operator(")");
        return node;
      }
      if (token.text == "[") return parse_list();
      if (token.text == "{") return parse_dict();
      break;
    case TokenKind::kData:
    case TokenKind::kOutputBegin:
    case TokenKind::kOutputEnd:
    case TokenKind::kBlockBegin:
    case TokenKind::kBlockEnd:
    case TokenKind::kEnd: break;
  }
  fail("unexpected " + describe(token));
}

bool Parser::at_tuple_end(std::string_view end_name) const {
  const Token& token = current();
  if (token.kind == TokenKind::kOutputEnd || token.kind == TokenKind::kBlockEnd || token.is_operator(")")) return true;
  return !end_name.empty() && token.is_name(end_name);
}

ExpressionPtr Parser::parse_tuple(TupleRules rules) {
  auto tuple = make(Node::kTuple, current().line);
  bool is_tuple = false;
  while (true) {
    if (!tuple->children.empty()) expect_operator(",");
    if (at_tuple_end(rules.end_name)) break;
    add_child(*tuple, rules.conditional ? parse_expression() : parse_or());
    if (!current().is_operator(",")) break;
    is_tuple = true;
  }
  if (is_tuple) return tuple;
  if (!tuple->children.empty()) return std::move(tuple->children[0]);
  if (!rules.parenthesized) fail("expected an expression, got " + describe(current()));
  return tuple;
}

ExpressionPtr Parser::parse_list() {
  auto node = make(Node::kList, next().line);
  while (!current().is_operator("]")) {
    if (!node->children.empty()) expect_operator(",");
    if (current().is_operator("]")) break;
    add_child(*node, parse_expression());
  }
  expect_operator("]");
  return node;
}

ExpressionPtr Parser::parse_dict() {
  auto node = make(Node::kDict, next().line);
  while (!current().is_operator("}")) {
    if (!node->children.empty()) expect_operator(",");
    if (current().is_operator("}")) break;
    add_child(*node, parse_expression());
    expect_operator(":");
    add_child(*node, parse_expression());
  }
  expect_operator("}");
  return node;
}

ExpressionPtr Parser::parse_postfix(ExpressionPtr node) {
  while (true) {
    if (current().is_operator(".") || current().is_operator("[")) {
      node = parse_subscript(std::move(node));
    } else if (current().is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr Parser::parse_filters_and_tests(ExpressionPtr node) {
  while (true) {
    if (current().is_operator("|")) {
      node = parse_filter(std::move(node), false);
    } else if (current().is_name("is")) {
      node = parse_test(std::move(node));
    } else if (current().is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr Parser::parse_subscript(ExpressionPtr node) {
  const int line = current().line;
  if (skip_operator(".")) {
    if (current().kind == TokenKind::kName) {
      auto attribute = make(Node::kAttribute, line);
      attribute->name = next().text;
      add_child(*attribute, std::move(node));
      return attribute;
    }
    if (current().kind != TokenKind::kInteger) fail("expected a name or number after `.`, got " + describe(current()));
    auto index = make(Node::kConstant, line);
    index->value = next().value;
    auto item = make(Node::kItem, line);
    add_child(*item, std::move(node));
    add_child(*item, std::move(index));
    return item;
  }
  next();
  auto parts = make(Node::kTuple, line);
  while (!current().is_operator("]")) {
    if (!parts->children.empty()) expect_operator(",");
    add_child(*parts, parse_subscribed());
  }
  expect_operator("]");
  auto item = make(Node::kItem, line);
  add_child(*item, std::move(node));
  add_child(*item, parts->children.size() == 1 ? std::move(parts->children[0]) : std::move(parts));
  return item;
}

ExpressionPtr Parser::parse_subscribed() {
  auto slice = make(Node::kSlice, current().line);
  const auto at_end = [&] { return current().is_operator("]") || current().is_operator(","); };
  if (skip_operator(":")) {
    add_child(*slice, nullptr);
  } else {
    ExpressionPtr node = parse_expression();
    if (!skip_operator(":")) return node;
    add_child(*slice, std::move(node));
  }
  add_child(*slice, current().is_operator(":") || at_end() ? nullptr : parse_expression());
  add_child(*slice, !skip_operator(":") || at_end() ? nullptr : parse_expression());
  return slice;
}

CallArguments Parser::parse_call_arguments(int& depth) {
  CallArguments out;
  const auto keep = [&](ExpressionPtr node) {
    depth = std::max(depth, node->depth + 1);
    return node;
  };
  const auto require = [&](bool valid) {
    if (!valid) fail("the arguments of a call are in an order that no call takes");
  };
  expect_operator("(");
  bool first = true;
  while (!current().is_operator(")")) {
    if (!first) expect_operator(",");
    if (!first && current().is_operator(")")) break;
    first = false;
    if (skip_operator("*")) {
      require(!out.star && !out.double_star);
      out.star = keep(parse_expression());
    } else if (skip_operator("**")) {
      require(!out.double_star);
      out.double_star = keep(parse_expression());
    } else if (current().kind == TokenKind::kName && look().is_operator("=")) {
      require(!out.double_star);
      const std::string name = next().text;
      next();
      for (const auto& [other, value] : out.named) {
        if (other == name) fail("the argument `" + escape_for_message(name) + "` is given twice");
      }
      out.named.emplace_back(name, keep(parse_expression()));
    } else {
      require(!out.star && !out.double_star && out.named.empty());
      out.positional.push_back(keep(parse_expression()));
    }
  }
  expect_operator(")");
  if (depth > kMaxExpressionDepth) fail("an expression chains more than 400 operations");
  return out;
}

ExpressionPtr Parser::parse_call(ExpressionPtr node) {
  auto call = make(Node::kCall, current().line);
  add_child(*call, std::move(node));
  call->arguments = parse_call_arguments(call->depth);
  return call;
}

std::string Parser::parse_dotted_name() {
  std::string name = take_name();
  while (skip_operator(".")) name += "." + take_name();
  return name;
}

// `| name(...)`, as many as follow. `at_name`: the first stands without its bar, as in `{% filter name %}`.
ExpressionPtr Parser::parse_filter(ExpressionPtr node, bool at_name) {
  while (at_name || current().is_operator("|")) {
    if (!at_name) next();
    at_name = false;
    auto filter = make(Node::kFilter, current().line);
    filter->name = parse_dotted_name();
    add_child(*filter, std::move(node));
    if (current().is_operator("(")) filter->arguments = parse_call_arguments(filter->depth);
    node = std::move(filter);
  }
  return node;
}

// Whether the token starts the bare argument of a test, as in `is divisibleby 3`.
static bool starts_test_argument(const Token& token) {
  switch (token.kind) {
    case TokenKind::kName: return token.text != "else" && token.text != "or" && token.text != "and";
    case TokenKind::kText:
    case TokenKind::kInteger:
    case TokenKind::kFloat: return true;
    case TokenKind::kOperator: return token.text == "(" || token.text == "[" || token.text == "{";
    case TokenKind::kData:
    case TokenKind::kOutputBegin:
    case TokenKind::kOutputEnd:
    case TokenKind::kBlockBegin:
    case TokenKind::kBlockEnd:
    case TokenKind::kEnd: return false;
  }
  return false;
}

ExpressionPtr Parser::parse_test(ExpressionPtr node) {
  auto test = make(Node::kTest, next().line);
  const bool negated = skip_name("not");
  test->name = parse_dotted_name();
  add_child(*test, std::move(node));
  if (current().is_operator("(")) {
    test->arguments = parse_call_arguments(test->depth);
  } else if (starts_test_argument(current())) {
    if (current().is_name("is")) fail("tests with `is` cannot be chained");
    const Nesting nesting(*this);
    ExpressionPtr argument = parse_postfix(parse_primary());
    test->depth = std::max(test->depth, argument->depth + 1);
    test->arguments.positional.push_back(std::move(argument));
  }
  if (!negated) return test;
  auto negation = make(Node::kNot, test->line);
  add_child(*negation, std::move(test));
  return negation;
}

}  // namespace scratchy::jinja
