#include "graph/graph.h"

#include "base/check.h"

namespace scratchy {
namespace {

constexpr OpInfo kInfos[] = {
#define GRAPH_OP(name, spelling, group, operands, result, attributes, formula) \
  {#name, spelling, OpGroup::group, operands, result, attributes, formula},
#include "graph/op.def"
#undef GRAPH_OP
};

}  // namespace

const OpInfo& info(OpKind kind) { return kInfos[static_cast<size_t>(kind)]; }

int64_t Type::row_elements() const {
  int64_t product = 1;
  for (size_t i = row_wise() ? 1 : 0; i < dims.size(); ++i) {
    SCRATCHY_CHECK(dims[i] >= 0, "symbolic dim in " + to_string(*this));
    product *= dims[i];
  }
  return product;
}

std::string to_string(const Type& type) {
  std::string out = type.element == ElementType::kI32 ? "i32[" : "[";
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (i > 0) out += ", ";
    out += type.dims[i] == kTokens ? "T" : type.dims[i] == kSpan ? "S" : std::to_string(type.dims[i]);
  }
  return out + "]";
}

ValueId Graph::add_value(Type type, std::string name) {
  values.push_back({std::move(type), -1, std::move(name)});
  return {static_cast<int32_t>(values.size() - 1)};
}

void Graph::append(Op op) {
  for (const ValueId result : op.results) values[result.index].producer = static_cast<int>(ops.size());
  ops.push_back(std::move(op));
}

void Graph::renumber() {
  for (Value& value : values) value.producer = -1;
  for (size_t i = 0; i < ops.size(); ++i) {
    for (const ValueId result : ops[i].results) values[result.index].producer = static_cast<int>(i);
  }
}

std::vector<int> Graph::use_counts() const {
  std::vector<int> counts(values.size(), 0);
  for (const Op& op : ops) {
    for (const ValueId operand : op.operands) ++counts[operand.index];
  }
  for (const GraphOutput& output : outputs) ++counts[output.value.index];
  return counts;
}

}  // namespace scratchy
