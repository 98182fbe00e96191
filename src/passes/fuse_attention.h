// Fuses attention written in primitives into one op that never holds the scores:
//
//   s = cache_scores(q, keys) [* scale] [-> cap * tanh(s / cap)];  p = softmax(mask(s) [, sinks]);  y = cache_mix(p, values)
//
// becomes y = attention(q, keys, values [, sinks]). Legal when each step between has no other reader. Afterwards no value
// of such a chain has the span as a dim. Chains of any other form stay as they are and run unfused.
#pragma once

#include "graph/graph.h"

namespace scratchy {

void fuse_attention(Graph& graph);

}  // namespace scratchy
