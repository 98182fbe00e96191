#include "graph/structural_key.h"

#include <bit>

namespace scratchy {

std::string structural_key(const Attributes& a) {
  std::string key;
  const auto number = [&](int64_t n) { key += "," + std::to_string(n); };
  for (const int64_t n : {a.axis, a.begin, a.end, a.count, a.window, int64_t{a.causal}, int64_t{a.adjacent}}) number(n);
  number(static_cast<int64_t>(std::bit_cast<uint64_t>(a.scale)));
  number(static_cast<int64_t>(std::bit_cast<uint64_t>(a.softcap)));
  key += ";";
  for (const int64_t n : a.shape) number(n);
  key += ";";
  for (const double v : a.values) number(static_cast<int64_t>(std::bit_cast<uint64_t>(v)));
  return key;
}

std::string structural_key(const Graph& graph) {
  std::string key;
  for (const Op& op : graph.ops) {
    key += std::string(info(op.kind).name) + structural_key(op.attributes) + "(";
    for (const ValueId operand : op.operands) key += std::to_string(operand.index) + " ";
    key += ")";
    for (const ValueId result : op.results) key += " " + std::to_string(result.index) + to_string(graph.type(result));
    if (op.body != nullptr) key += "{" + structural_key(*op.body) + "}";
    key += "\n";
  }
  for (const GraphOutput& output : graph.outputs) key += "=" + std::to_string(output.value.index);
  return key;
}

}  // namespace scratchy
