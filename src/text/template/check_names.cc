// Filters and tests that do not exist are errors of the template, found before any render. Jinja lets them stand
// directly within an `if` (statement or expression), where a template may ask first whether they exist.
#include "base/text.h"
#include "text/template/lexer.h"
#include "text/template/parser.h"
#include "text/template/registry.h"

namespace scratchy::jinja {
namespace {

void check_expression(const Expression* node, bool lenient);

void check_arguments(const CallArguments& arguments, bool lenient) {
  for (const auto& argument : arguments.positional) check_expression(argument.get(), lenient);
  for (const auto& [name, argument] : arguments.named) check_expression(argument.get(), lenient);
  check_expression(arguments.star.get(), lenient);
  check_expression(arguments.double_star.get(), lenient);
}

void check_expression(const Expression* node, bool lenient) {
  if (node == nullptr) return;
  lenient = lenient || node->kind == Expression::Kind::kConditional;
  const bool filter = node->kind == Expression::Kind::kFilter, test = node->kind == Expression::Kind::kTest;
  if (!lenient && filter && find_filter(node->name) == nullptr) {
    raise_at(node->line, "no filter is named `" + escape_for_message(node->name) + "`");
  }
  if (!lenient && test && find_test(node->name) == nullptr) {
    raise_at(node->line, "no test is named `" + escape_for_message(node->name) + "`");
  }
  for (const ExpressionPtr& child : node->children) check_expression(child.get(), lenient);
  check_arguments(node->arguments, lenient);
}

void check_body(const Body& body, bool lenient) {
  for (const auto& statement : body) {
    const bool branches = statement->kind == Statement::Kind::kIf;
    const bool inside = branches || lenient;
    for (const auto& expression : statement->expressions) check_expression(expression.get(), inside);
    for (const auto& fallback : statement->signature.defaults) check_expression(fallback.get(), false);
    for (const Body& inner : statement->bodies) check_body(inner, branches);
  }
}

}  // namespace

void check_names(const Body& body) { check_body(body, false); }

}  // namespace scratchy::jinja
