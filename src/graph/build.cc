#include "graph/build.h"

#include <algorithm>

#include "graph/build_trace.h"

namespace scratchy {
namespace {

// Ops without a layer go before the layers that first needed them; the order is kept otherwise. They depend on each
// other only.
void hoist_shared(Graph& graph) {
  std::vector<bool> shared(graph.values.size(), false);
  const auto is_shared = [&](const Op& op) {
    const bool pure = op.kind != OpKind::kWeight && op.kind != OpKind::kCache && op.kind != OpKind::kState && !op.results.empty();
    return pure && op.layer < 0 && std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId id) { return shared[static_cast<size_t>(id.index)]; });
  };
  std::vector<Op> first, rest;
  for (Op& op : graph.ops) {
    const bool one = is_shared(op);
    for (const ValueId id : op.results) shared[static_cast<size_t>(id.index)] = one;
    (one ? first : rest).push_back(std::move(op));
  }
  first.insert(first.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  graph.ops = std::move(first);
  graph.renumber();
}

}  // namespace

Vocabulary vocabulary_of(const ModelFacts& facts) {
  Vocabulary out;
  out.config_keys = facts.declared_keys;
  for (const auto& [key, value] : facts.values) {
    if (std::find(out.config_keys.begin(), out.config_keys.end(), key) == out.config_keys.end()) out.config_keys.push_back(key);
  }
  out.prelude_keys = facts.shared_keys;
  for (const WeightDecl& weight : facts.weights) out.weights.push_back(weight.name);
  for (const std::string_view name : kInputNames) out.externs.emplace_back(name);
  for (const std::string_view name : kOpaqueNames) out.externs.emplace_back(name);
  for (const std::string_view name : kCacheNames) out.externs.emplace_back(name);
  for (const std::string_view name : kStateNames) out.externs.emplace_back(name);
  out.primitives = primitive_signatures();
  return out;
}

std::optional<Graph> build_graph(const Program& program, const ModelFacts& facts, Diagnostics& diagnostics) {
  if (!check_names(program, vocabulary_of(facts), diagnostics)) return std::nullopt;
  diagnostics.set_model(facts.display());
  Graph graph;
  DimTable dims;
  Reporter reporter(diagnostics);
  Tracer(program, facts, graph, dims, reporter).run();
  diagnostics.set_layer(-1);
  diagnostics.set_model("");
  if (reporter.failed()) return std::nullopt;
  hoist_shared(graph);
  return graph;
}

}  // namespace scratchy
