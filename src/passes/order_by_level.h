// Orders ops by level of dependence: all products, cache and state ops of a level, then the row-local ops of that level.
//
// Ops of one level share a barrier interval, and the row-local ones can become one program (fuse_rows). The order is a
// topological one, stable within a level: a permutation of the ops, nothing else changes.
#pragma once

#include "graph/graph.h"

namespace scratchy {

void order_by_level(Graph& graph);

}  // namespace scratchy
