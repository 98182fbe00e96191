#include "passes/sample_rows.h"

#include <algorithm>
#include <map>

#include "passes/analysis.h"

namespace scratchy {
namespace {

// Ops of the tail: found from the end, an op belongs when every reader of its results does and it can.
std::vector<bool> find_tail(const Graph& graph) {
  const std::vector<OpPlace> place = places(graph);
  std::vector<bool> read_outside(graph.values.size(), false);
  std::vector<bool> tail(graph.ops.size(), false);
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    const bool row_wise = !op.results.empty() && graph.type(op.results[0]).row_wise();
    const bool movable = place[i] == OpPlace::kRowLocal || op.kind == OpKind::kGemm;
    const bool enclosed = std::none_of(op.results.begin(), op.results.end(), [&](ValueId v) { return read_outside[v.index]; });
    tail[i] = row_wise && movable && enclosed && op.layer < 0 && !has_effect(op.kind);
    if (tail[i]) continue;
    for (const ValueId operand : op.operands) read_outside[operand.index] = true;
  }
  return tail;
}

}  // namespace

void sample_rows(Graph& graph) {
  const std::vector<bool> tail = find_tail(graph);
  std::map<ValueId, ValueId> sampled;
  std::vector<Op> ops;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    Op op = std::move(graph.ops[i]);
    for (ValueId& operand : op.operands) {
      const int producer = graph.value(operand).producer;
      if (!tail[i] || !graph.type(operand).row_wise() || tail[producer]) continue;
      const auto [entry, fresh] = sampled.try_emplace(operand);
      if (fresh) {
        entry->second = graph.add_value(graph.type(operand), graph.value(operand).name);
        ops.push_back({.kind = OpKind::kSampleRows, .operands = {operand}, .results = {entry->second}, .span = op.span});
      }
      operand = entry->second;
    }
    ops.push_back(std::move(op));
  }
  graph.ops = std::move(ops);
  graph.renumber();
}

std::vector<bool> sampled_values(const Graph& graph) {
  std::vector<bool> sampled(graph.values.size(), false);
  for (const Op& op : graph.ops) {
    const bool is_sampled = op.kind == OpKind::kSampleRows ||
                            std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId v) { return sampled[v.index]; });
    for (const ValueId result : op.results) sampled[result.index] = is_sampled;
  }
  return sampled;
}

}  // namespace scratchy
