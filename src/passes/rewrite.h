// Editing a graph: collect replacements, then apply them once.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace scratchy {

// Value-for-value replacements over one graph. Chains are followed, so a may become b and b become c.
class Replacements {
 public:
  explicit Replacements(const Graph& graph) : to_(graph.values.size()) {}

  void replace(ValueId from, ValueId to) { to_[from.index] = to; }
  ValueId resolve(ValueId value) const;

  // Rewrites every operand and output of the graph.
  void apply(Graph& graph) const;

 private:
  std::vector<ValueId> to_;
};

// Removes ops nothing needs: those from which neither an output nor a cache or state can be reached.
void remove_dead_ops(Graph& graph);

}  // namespace scratchy
