#include "passes/simplify.h"

#include <algorithm>

#include "passes/rewrite.h"

namespace scratchy {
namespace {

bool is_constant(const Graph& graph, ValueId value, double number) {
  const Op& op = graph.producer(value);
  return op.kind == OpKind::kConstant && std::all_of(op.attributes.values.begin(), op.attributes.values.end(),
                                                     [&](double v) { return v == number; });
}

// The operand that equals the op's result bit for bit, invalid when none does.
ValueId same_as(const Graph& graph, const Op& op) {
  const Type& result = graph.type(op.results.empty() ? ValueId{0} : op.results[0]);
  const auto keeps_shape = [&](ValueId v) { return graph.type(v) == result; };
  switch (op.kind) {
    case OpKind::kMul:
      if (is_constant(graph, op.operands[1], 1) && keeps_shape(op.operands[0])) return op.operands[0];
      if (is_constant(graph, op.operands[0], 1) && keeps_shape(op.operands[1])) return op.operands[1];
      return {};
    case OpKind::kAdd:
      if (is_constant(graph, op.operands[1], 0) && keeps_shape(op.operands[0])) return op.operands[0];
      if (is_constant(graph, op.operands[0], 0) && keeps_shape(op.operands[1])) return op.operands[1];
      return {};
    case OpKind::kSub:
      return is_constant(graph, op.operands[1], 0) && keeps_shape(op.operands[0]) ? op.operands[0] : ValueId{};
    case OpKind::kDiv:
      return is_constant(graph, op.operands[1], 1) && keeps_shape(op.operands[0]) ? op.operands[0] : ValueId{};
    case OpKind::kReshape:
    case OpKind::kSlice: return keeps_shape(op.operands[0]) ? op.operands[0] : ValueId{};
    default: return {};  // NOLINT: only these kinds can be the identity
  }
}

}  // namespace

void simplify(Graph& graph) {
  Replacements replacements(graph);
  for (Op& op : graph.ops) {
    for (ValueId& operand : op.operands) operand = replacements.resolve(operand);
    if (op.kind == OpKind::kReshape) {
      const Op& inner = graph.producer(op.operands[0]);
      if (inner.kind == OpKind::kReshape) op.operands[0] = inner.operands[0];
    }
    if (const ValueId same = same_as(graph, op); same.valid()) replacements.replace(op.results[0], same);
  }
  replacements.apply(graph);
  remove_dead_ops(graph);
}

}  // namespace scratchy
