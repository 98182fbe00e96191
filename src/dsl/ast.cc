#include "dsl/ast.h"

namespace scratchy {
namespace {

struct OperatorRow {
  std::string_view spelling;
  int binding;
};

constexpr OperatorRow kOperators[] = {
#define OPERATOR(name, spelling, binding) {spelling, binding},
#include "dsl/operator.def"
#undef OPERATOR
};

}  // namespace

std::string_view spelling(Operator op) { return kOperators[static_cast<size_t>(op)].spelling; }
int binding(Operator op) { return kOperators[static_cast<size_t>(op)].binding; }

std::string dotted_path(const Expr& expr) {
  std::string path;
  const Expr* at = &expr;
  while (at->kind == ExprKind::kField) {
    path = "." + at->name.text + path;
    at = at->children[0].get();
  }
  return at->kind == ExprKind::kName ? at->name.text + path : std::string();
}

}  // namespace scratchy
