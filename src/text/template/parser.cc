#include "text/template/parser.h"

#include <algorithm>

#include "base/text.h"
#include "text/template/parser_state.h"

namespace scratchy::jinja {
namespace {

using Tag = Statement::Kind;

std::string any_of_names(std::initializer_list<std::string_view> names) {
  std::string out;
  for (std::string_view name : names) out += (out.empty() ? "`" : " or `") + std::string(name) + "`";
  return out;
}

bool is_one_of(const Token& token, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return token.is_name(name); });
}

}  // namespace

Body parse_template(std::string_view source) { return Parser(tokenize(source)).parse(); }

Body Parser::parse() {
  Body body = parse_body({});
  if (current().kind != TokenKind::kEnd) fail("unexpected " + describe(current()));
  return body;
}

bool Parser::skip_operator(std::string_view op) {
  if (!current().is_operator(op)) return false;
  next();
  return true;
}

bool Parser::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  next();
  return true;
}

void Parser::expect_operator(std::string_view op) {
  if (!skip_operator(op)) fail("expected `" + std::string(op) + "`, got " + describe(current()));
}

void Parser::expect_name(std::string_view name) {
  if (!skip_name(name)) fail("expected `" + std::string(name) + "`, got " + describe(current()));
}

void Parser::expect(TokenKind kind) {
  if (current().kind != kind) {
    fail("expected the end of the " + std::string(kind == TokenKind::kOutputEnd ? "output `}}`" : "tag `%}`") + ", got " +
         describe(current()));
  }
  next();
}

std::string Parser::take_name() {
  if (current().kind != TokenKind::kName) fail("expected a name, got " + describe(current()));
  return next().text;
}

void Parser::fail(const std::string& message) const { raise_at(current().line, message); }

std::string Parser::describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kOutputBegin: return "the start of an output";
    case TokenKind::kOutputEnd: return "the end of the output";
    case TokenKind::kBlockBegin: return "the start of a tag";
    case TokenKind::kBlockEnd: return "the end of the tag";
    case TokenKind::kEnd: return "the end of the template";
    case TokenKind::kData: return "text";
    case TokenKind::kName:
    case TokenKind::kText:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
    case TokenKind::kOperator: return "`" + escape_for_message(token.text, 60) + "`";
  }
  return "";
}

std::unique_ptr<Statement> Parser::make_statement(Tag kind, int line) const {
  auto statement = std::make_unique<Statement>();
  statement->kind = kind;
  statement->line = line;
  return statement;
}

// Statements up to a tag that `ends` names (its name is then current), or to the end of the template.
Body Parser::parse_body(std::initializer_list<std::string_view> ends) {
  const Nesting nesting(*this);
  Body body;
  while (current().kind != TokenKind::kEnd) {
    if (current().kind == TokenKind::kData) {
      body.push_back(make_statement(Tag::kText, current().line));
      body.back()->text = next().text;
    } else if (current().kind == TokenKind::kOutputBegin) {
      next();
      body.push_back(parse_output());
    } else {
      next();
      if (is_one_of(current(), ends)) return body;
      body.push_back(parse_statement());
      expect(TokenKind::kBlockEnd);
    }
  }
  return body;
}

std::unique_ptr<Statement> Parser::parse_output() {
  auto output = make_statement(Tag::kOutput, current().line);
  output->expressions.push_back(parse_tuple({}));
  expect(TokenKind::kOutputEnd);
  return output;
}

// The body behind a tag, whose end is expected first. `drop_end` moves over the name of the closing tag.
Body Parser::parse_block(std::initializer_list<std::string_view> ends, bool drop_end) {
  skip_operator(":");
  expect(TokenKind::kBlockEnd);
  Body body = parse_body(ends);
  if (current().kind == TokenKind::kEnd) {
    fail("the template ends where " + any_of_names(ends) + " is needed to close `" + open_tags_.back() + "`");
  }
  if (drop_end) next();
  return body;
}

std::unique_ptr<Statement> Parser::parse_statement() {
  if (current().kind != TokenKind::kName) fail("expected the name of a tag, got " + describe(current()));
  const int line = current().line;
  const std::string tag = next().text;
  open_tags_.push_back(tag);
  std::unique_ptr<Statement> statement;
  if (tag == "if") statement = parse_if(line);
  else if (tag == "for") statement = parse_for(line);
  else if (tag == "set") statement = parse_set(line);
  else if (tag == "macro") statement = parse_macro(line);
  else if (tag == "call") statement = parse_call_block(line);
  else if (tag == "filter") statement = parse_filter_block(line);
  else if (tag == "with") statement = parse_with(line);
  else if (tag == "block") statement = parse_named_block(line);
  else if (tag == "generation") statement = parse_scoped(Tag::kScope, "endgeneration", line);
  else if (tag == "autoescape") statement = parse_scoped(Tag::kAutoescape, "endautoescape", line);
  else if (tag == "break") statement = parse_jump(Tag::kBreak, line);
  else if (tag == "continue") statement = parse_jump(Tag::kContinue, line);
  else if (tag == "print") {
    statement = make_statement(Tag::kOutput, line);
    statement->expressions.push_back(parse_tuple({}));
  } else {
    open_tags_.pop_back();
    fail_unknown_tag(tag);
  }
  open_tags_.pop_back();
  return statement;
}

void Parser::fail_unknown_tag(const std::string& name) const {
  if (name == "include" || name == "import" || name == "from" || name == "extends") {
    fail("the tag `" + name + "` is refused; a chat template cannot load another");
  }
  std::string message = "unknown tag `" + escape_for_message(name, 60) + "`";
  if (!open_tags_.empty()) message += "; the innermost open tag is `" + open_tags_.back() + "`";
  fail(message);
}

std::unique_ptr<Statement> Parser::parse_if(int line) {
  auto statement = make_statement(Tag::kIf, line);
  while (true) {
    statement->expressions.push_back(parse_tuple({.conditional = false}));
    statement->bodies.push_back(parse_block({"elif", "else", "endif"}, false));
    if (skip_name("elif")) continue;
    if (skip_name("else")) {
      statement->bodies.push_back(parse_block({"endif"}, true));
    } else {
      next();
    }
    return statement;
  }
}

std::unique_ptr<Statement> Parser::parse_for(int line) {
  auto statement = make_statement(Tag::kFor, line);
  statement->target = parse_target("in", false);
  expect_name("in");
  statement->expressions.push_back(parse_tuple({.conditional = false, .end_name = "recursive"}));
  if (skip_name("if")) statement->expressions.push_back(parse_expression());
  statement->recursive = skip_name("recursive");
  ++loops_;
  statement->bodies.push_back(parse_block({"endfor", "else"}, false));
  --loops_;
  const bool has_else = current().is_name("else");
  next();
  statement->bodies.push_back(has_else ? parse_block({"endfor"}, true) : Body());
  return statement;
}

std::unique_ptr<Statement> Parser::parse_set(int line) {
  auto statement = make_statement(Tag::kSet, line);
  statement->target = parse_target("", true);
  if (skip_operator("=")) {
    statement->expressions.push_back(parse_tuple({}));
    return statement;
  }
  statement->kind = Tag::kSetBlock;
  if (current().is_operator("|")) statement->expressions.push_back(parse_filter(nullptr, false));
  statement->bodies.push_back(parse_block({"endset"}, true));
  return statement;
}

ExpressionPtr Parser::parse_target_item(bool with_attribute) {
  if (with_attribute && current().kind == TokenKind::kName && look().is_operator(".")) {
    auto target = make(Expression::Kind::kAttributeTarget, current().line);
    target->name = next().text;
    next();
    target->value = make_text(take_name());
    return target;
  }
  if (skip_operator("(")) {
    const Nesting nesting(*this);
    ExpressionPtr inner = parse_target(")", with_attribute);
    expect_operator(")");
    return inner;
  }
  if (current().kind != TokenKind::kName) fail("cannot assign to " + describe(current()));
  ExpressionPtr node = parse_name(true);
  if (node->kind != Expression::Kind::kName) fail("cannot assign to a constant");
  return node;
}

// `a`, `a, (b, c)`, and where `with_attribute` `ns.a`.
ExpressionPtr Parser::parse_target(std::string_view end_name, bool with_attribute) {
  auto tuple = make(Expression::Kind::kTuple, current().line);
  bool is_tuple = false;
  while (true) {
    if (!tuple->children.empty()) expect_operator(",");
    if (!tuple->children.empty() && (at_tuple_end(end_name) || current().is_operator("="))) break;
    add_child(*tuple, parse_target_item(with_attribute));
    if (!current().is_operator(",")) break;
    is_tuple = true;
  }
  return is_tuple ? std::move(tuple) : std::move(tuple->children[0]);
}

void Parser::parse_signature(Signature& signature) {
  expect_operator("(");
  while (!current().is_operator(")")) {
    if (!signature.parameters.empty()) expect_operator(",");
    std::string name = take_name();
    if (std::count(signature.parameters.begin(), signature.parameters.end(), name) != 0) {
      fail("the parameter `" + escape_for_message(name) + "` is there twice");
    }
    signature.parameters.push_back(std::move(name));
    if (skip_operator("=")) {
      signature.defaults.push_back(parse_expression());
    } else if (!signature.defaults.empty()) {
      fail("a parameter without a default follows one with a default");
    }
  }
  expect_operator(")");
}

// The body of a macro or call block: its own function, so loops around it do not count.
Body Parser::parse_function_body(Signature& signature, std::string_view end) {
  const int loops = loops_;
  loops_ = 0;
  functions_.push_back(&signature);
  Body body = parse_block({end}, true);
  functions_.pop_back();
  loops_ = loops;
  return body;
}

std::unique_ptr<Statement> Parser::parse_macro(int line) {
  auto statement = make_statement(Tag::kMacro, line);
  statement->signature.name = take_name();
  functions_.push_back(&statement->signature);
  parse_signature(statement->signature);
  functions_.pop_back();
  statement->bodies.push_back(parse_function_body(statement->signature, "endmacro"));
  return statement;
}

std::unique_ptr<Statement> Parser::parse_call_block(int line) {
  auto statement = make_statement(Tag::kCallBlock, line);
  statement->signature.name = "caller";
  if (current().is_operator("(")) parse_signature(statement->signature);
  ExpressionPtr call = parse_expression();
  if (call->kind != Expression::Kind::kCall) fail("a call block needs a call, as in `{% call name() %}`");
  statement->expressions.push_back(std::move(call));
  statement->bodies.push_back(parse_function_body(statement->signature, "endcall"));
  return statement;
}

std::unique_ptr<Statement> Parser::parse_filter_block(int line) {
  auto statement = make_statement(Tag::kFilterBlock, line);
  statement->expressions.push_back(parse_filter(nullptr, true));
  statement->bodies.push_back(parse_block({"endfilter"}, true));
  return statement;
}

std::unique_ptr<Statement> Parser::parse_with(int line) {
  auto statement = make_statement(Tag::kWith, line);
  while (current().kind != TokenKind::kBlockEnd) {
    if (!statement->targets.empty()) expect_operator(",");
    statement->targets.push_back(parse_target("", false));
    expect_operator("=");
    statement->expressions.push_back(parse_expression());
  }
  statement->bodies.push_back(parse_block({"endwith"}, true));
  return statement;
}

std::unique_ptr<Statement> Parser::parse_named_block(int line) {
  auto statement = make_statement(Tag::kScope, line);
  const std::string name = take_name();
  skip_name("scoped");
  skip_name("required");
  statement->bodies.push_back(parse_block({"endblock"}, true));
  skip_name(name);
  return statement;
}

std::unique_ptr<Statement> Parser::parse_scoped(Tag kind, std::string_view end, int line) {
  auto statement = make_statement(kind, line);
  if (kind == Tag::kAutoescape) statement->expressions.push_back(parse_expression());
  const int loops = loops_;
  if (kind == Tag::kScope) loops_ = 0;
  statement->bodies.push_back(parse_block({end}, true));
  loops_ = loops;
  return statement;
}

std::unique_ptr<Statement> Parser::parse_jump(Tag kind, int line) {
  if (loops_ == 0) fail("`break` and `continue` belong inside a loop");
  return make_statement(kind, line);
}

}  // namespace scratchy::jinja
