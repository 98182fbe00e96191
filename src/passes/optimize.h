// The graph passes in their order, as one function.
#pragma once

#include <functional>
#include <string_view>

#include "graph/graph.h"

namespace scratchy {

struct PassOptions {
  bool fuse = true;           // false: the plain form, every op on its own
  int64_t max_context = 0;    // the span of unfused attention
  // Called after each pass with its name; the verifier and --emit=graph-after hang here.
  std::function<void(std::string_view pass, const Graph& graph)> after_pass;
};

// The names of the passes, in order.
inline constexpr std::string_view kPassNames[] = {"simplify",     "fuse_attention", "bind_span", "sample_rows",
                                                  "prepare_rows", "order_by_level", "fuse_rows"};

void optimize(Graph& graph, const PassOptions& options);

}  // namespace scratchy
