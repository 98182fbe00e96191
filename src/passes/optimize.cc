#include "passes/optimize.h"

#include "passes/bind_span.h"
#include "passes/fuse_attention.h"
#include "passes/fuse_rows.h"
#include "passes/order_by_level.h"
#include "passes/prepare_rows.h"
#include "passes/sample_rows.h"
#include "passes/simplify.h"

namespace scratchy {

void optimize(Graph& graph, const PassOptions& options) {
  const auto done = [&](std::string_view pass) {
    if (options.after_pass) options.after_pass(pass, graph);
  };
  simplify(graph);
  done("simplify");
  if (options.fuse) fuse_attention(graph);
  done("fuse_attention");
  bind_span(graph, options.max_context);
  done("bind_span");
  sample_rows(graph);
  done("sample_rows");
  prepare_rows(graph);
  done("prepare_rows");
  order_by_level(graph);
  done("order_by_level");
  fuse_rows(graph, options.fuse);
  done("fuse_rows");
}

}  // namespace scratchy
