#include "passes/rewrite.h"

#include <algorithm>

#include "passes/analysis.h"

namespace scratchy {

ValueId Replacements::resolve(ValueId value) const {
  while (static_cast<size_t>(value.index) < to_.size() && to_[value.index].valid()) value = to_[value.index];
  return value;
}

void Replacements::apply(Graph& graph) const {
  for (Op& op : graph.ops) {
    for (ValueId& operand : op.operands) operand = resolve(operand);
  }
  for (GraphOutput& output : graph.outputs) output.value = resolve(output.value);
}

void remove_dead_ops(Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (const GraphOutput& output : graph.outputs) needed[output.value.index] = true;
  std::vector<bool> keep(graph.ops.size(), false);
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    keep[i] = has_effect(op.kind) ||
              std::any_of(op.results.begin(), op.results.end(), [&](ValueId v) { return needed[v.index]; });
    if (!keep[i]) continue;
    for (const ValueId operand : op.operands) needed[operand.index] = true;
  }
  std::vector<Op> kept;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (keep[i]) kept.push_back(std::move(graph.ops[i]));
  }
  graph.ops = std::move(kept);
  graph.renumber();
}

}  // namespace scratchy
