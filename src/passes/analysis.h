// What passes ask about ops: where they run and what they depend on.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace scratchy {

// How an op takes part in a step.
enum class OpPlace : uint8_t {
  kOutside,    // names a resource, or a constant
  kInvariant,  // computed from weights and constants alone: the same for every row
  kRowLocal,   // one row of the result needs only the same row of the operands
  kHeavy,      // everything else: products, caches, states, row selection
};

// One entry an op of the graph.
std::vector<OpPlace> places(const Graph& graph);

// Levels of dependence, one an op: a row-local op stands on the level of its latest operand, a heavy op one above. Ops of
// one level need no order among themselves but row-local ones after heavy ones. Outside and invariant ops: 0.
std::vector<int> levels(const Graph& graph, const std::vector<OpPlace>& places);

// Whether the op changes a cache or a state, and so stays though nothing may read its result.
bool has_effect(OpKind kind);

}  // namespace scratchy
