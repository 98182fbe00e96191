// Removes arithmetic that changes no bit: x * 1, x / 1, x + 0, x - 0, a reshape to the same shape, a reshape of a
// reshape, a slice of everything, and ops nothing needs.
//
// Texts state defaults as numbers (a norm's offset of 0, a residual multiplier of 1), so that one function serves every
// family; here the defaults cost nothing. Adding 0 turns -0 into 0, which no later op can tell apart.
#pragma once

#include "graph/graph.h"

namespace scratchy {

void simplify(Graph& graph);

}  // namespace scratchy
