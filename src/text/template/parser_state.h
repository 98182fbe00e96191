// The parser's class, shared by its two halves: expressions (parse_expression.cc) and statements (parser.cc).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/template/ast.h"
#include "text/template/lexer.h"

namespace scratchy::jinja {

// Native recursion of the parser, and of what later walks the tree.
constexpr int kMaxNesting = 150;
constexpr int kMaxExpressionDepth = 400;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  Body parse();

 private:
  // Counts nested calls on the way down.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kMaxNesting) parser_.fail("the template nests more than 150 deep");
    }
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  // Tokens.
  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  const Token& next() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }
  bool skip_operator(std::string_view op);
  bool skip_name(std::string_view name);
  void expect_operator(std::string_view op);
  void expect_name(std::string_view name);
  void expect(TokenKind kind);
  std::string take_name();
  [[noreturn]] void fail(const std::string& message) const;
  static std::string describe(const Token& token);

  // Expressions.
  ExpressionPtr make(Expression::Kind kind, int line) const;
  void add_child(Expression& parent, ExpressionPtr child) const;
  ExpressionPtr parse_expression() { return parse_conditional(); }
  ExpressionPtr parse_conditional();
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filter);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_name(bool as_target);
  ExpressionPtr parse_postfix(ExpressionPtr node);
  ExpressionPtr parse_filters_and_tests(ExpressionPtr node);
  ExpressionPtr parse_subscript(ExpressionPtr node);
  ExpressionPtr parse_subscribed();
  ExpressionPtr parse_call(ExpressionPtr node);
  CallArguments parse_call_arguments(int& depth);
  ExpressionPtr parse_filter(ExpressionPtr node, bool at_name);
  ExpressionPtr parse_test(ExpressionPtr node);
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  struct TupleRules {
    bool conditional = true;     // elements may be `a if b`
    bool parenthesized = false;  // () is an empty tuple
    std::string_view end_name;   // a name that ends it
  };
  ExpressionPtr parse_tuple(TupleRules rules);
  bool at_tuple_end(std::string_view end_name) const;
  std::string parse_dotted_name();

  // Statements.
  Body parse_body(std::initializer_list<std::string_view> ends);
  Body parse_block(std::initializer_list<std::string_view> ends, bool drop_end);
  std::unique_ptr<Statement> parse_statement();
  std::unique_ptr<Statement> parse_output();
  std::unique_ptr<Statement> parse_if(int line);
  std::unique_ptr<Statement> parse_for(int line);
  std::unique_ptr<Statement> parse_set(int line);
  std::unique_ptr<Statement> parse_macro(int line);
  std::unique_ptr<Statement> parse_call_block(int line);
  std::unique_ptr<Statement> parse_filter_block(int line);
  std::unique_ptr<Statement> parse_with(int line);
  std::unique_ptr<Statement> parse_named_block(int line);
  std::unique_ptr<Statement> parse_scoped(Statement::Kind kind, std::string_view end, int line);
  std::unique_ptr<Statement> parse_jump(Statement::Kind kind, int line);
  std::unique_ptr<Statement> make_statement(Statement::Kind kind, int line) const;
  Body parse_function_body(Signature& signature, std::string_view end);
  void parse_signature(Signature& signature);
  ExpressionPtr parse_target(std::string_view end_name, bool with_attribute);
  ExpressionPtr parse_target_item(bool with_attribute);
  [[noreturn]] void fail_unknown_tag(const std::string& name) const;

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  int loops_ = 0;                            // loops around this place, within the function
  std::vector<Signature*> functions_;        // macros and call blocks around this place
  std::vector<std::string> open_tags_;
};

}  // namespace scratchy::jinja
