// Lets the head run only for the rows whose logits are wanted.
//
// The tail of the graph is every row-wise op outside of the layers from which only outputs can be reached and that
// needs nothing but its own row (no cache, no state). Each value that enters the tail goes through one sample_rows.
// Afterwards the values of the tail have as many rows as the step has output rows.
#pragma once

#include "graph/graph.h"

namespace scratchy {

void sample_rows(Graph& graph);

// Which values hold output rows only: one flag a value.
std::vector<bool> sampled_values(const Graph& graph);

}  // namespace scratchy
