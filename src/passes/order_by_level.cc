#include "passes/order_by_level.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "passes/analysis.h"

namespace scratchy {

void order_by_level(Graph& graph) {
  const std::vector<OpPlace> place = places(graph);
  const std::vector<int> level = levels(graph, place);
  std::vector<size_t> order(graph.ops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto key = [&](size_t i) {
    const int phase = place[i] == OpPlace::kOutside ? -2 : place[i] == OpPlace::kInvariant ? -1 : 0;
    return std::tuple(phase, level[i], place[i] == OpPlace::kRowLocal ? 1 : 0);
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  std::vector<Op> ops;
  for (const size_t i : order) ops.push_back(std::move(graph.ops[i]));
  graph.ops = std::move(ops);
  graph.renumber();
}

}  // namespace scratchy
