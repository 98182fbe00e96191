// Gives the span of unfused attention a number: every kSpan dim becomes `span`, the longest context of the program.
//
// Fused attention has no such dim and reads as far as each row sees; only scores kept as values need a width.
#pragma once

#include "graph/graph.h"

namespace scratchy {

void bind_span(Graph& graph, int64_t span);

}  // namespace scratchy
