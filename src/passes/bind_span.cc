#include "passes/bind_span.h"

#include <algorithm>

namespace scratchy {

void bind_span(Graph& graph, int64_t span) {
  for (Value& value : graph.values) {
    if (value.type.row_wise()) std::replace(value.type.dims.begin(), value.type.dims.end(), kSpan, span);
  }
}

}  // namespace scratchy
