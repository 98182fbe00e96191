// Merges row-local ops of one level into one row program: a body that runs on each row without leaving the core.
//
// Norms, residual adds, rotary, activations, routers and the preparation of rows for products are all row-local, so
// between two rounds of products one program remains. Invariant ops (a gain plus an offset) and constants are copied into each body that
// reads them. Values no other op reads vanish into the body. Input: ops ordered by level. With `merge` false every op gets
// a program of its own, which is the plain form that every target must run.
#pragma once

#include "graph/graph.h"

namespace scratchy {

void fuse_rows(Graph& graph, bool merge);

}  // namespace scratchy
