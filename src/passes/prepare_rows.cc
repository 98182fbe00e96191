#include "passes/prepare_rows.h"

#include <map>

namespace scratchy {

void prepare_rows(Graph& graph) {
  std::map<ValueId, ValueId> prepared;
  std::vector<Op> ops;
  for (Op& op : graph.ops) {
    if (op.kind == OpKind::kGemm || op.kind == OpKind::kGemmExperts || op.kind == OpKind::kGemmHeads) {
      const auto [entry, fresh] = prepared.try_emplace(op.operands[0]);
      if (fresh) {
        entry->second = graph.add_value(graph.type(op.operands[0]), graph.value(op.operands[0]).name);
        ops.push_back({.kind = OpKind::kPrepare, .operands = {op.operands[0]}, .results = {entry->second}, .span = op.span, .layer = op.layer});
      }
      op.operands[0] = entry->second;
    }
    ops.push_back(std::move(op));
  }
  graph.ops = std::move(ops);
  graph.renumber();
}

}  // namespace scratchy
