// Hand-built graphs for tests: ops are added with inferred types.
#pragma once

#include <string>
#include <vector>

#include "graph/verify.h"

namespace scratchy::testing {

class TestGraph {
 public:
  Graph graph;
  int layer = -1;

  ValueId resource(ResourceKind kind, const std::string& name, Type type, int index = -1) {
    graph.resources.push_back({kind, name, index, std::move(type), {}});
    constexpr OpKind kKinds[] = {OpKind::kInput, OpKind::kWeight, OpKind::kCache, OpKind::kState};
    Op op{.kind = kKinds[static_cast<int>(kind)]};
    op.resource = {static_cast<int32_t>(graph.resources.size() - 1)};
    return add(std::move(op))[0];
  }
  ValueId input(const std::string& name) { return resource(ResourceKind::kInput, name, {ElementType::kI32, {kTokens}}); }
  ValueId weight(const std::string& name, std::vector<int64_t> dims, int index = -1) { return resource(ResourceKind::kWeight, name, {ElementType::kF32, std::move(dims)}, index); }

  ValueId constant(std::vector<int64_t> shape, std::vector<double> values) { return op(OpKind::kConstant, {}, {.shape = std::move(shape), .values = std::move(values)}); }

  // The only or first result.
  ValueId op(OpKind kind, std::vector<ValueId> operands, Attributes attributes = {}) { return add({.kind = kind, .operands = std::move(operands), .attributes = std::move(attributes)})[0]; }

  // `type` is for arguments of bodies.
  ValueId argument(int64_t index, std::vector<int64_t> dims) {
    const ValueId value = graph.add_value({ElementType::kF32, std::move(dims)});
    graph.append({.kind = OpKind::kArgument, .results = {value}, .attributes = {.count = index}});
    return value;
  }

  std::vector<ValueId> add(Op op) {
    op.layer = layer;
    const Result<std::vector<Type>> types = infer_types(graph, op);
    for (const Type& type : types.value()) op.results.push_back(graph.add_value(type));
    std::vector<ValueId> results = op.results;
    graph.append(std::move(op));
    return results;
  }

  void output(const std::string& name, ValueId value) { graph.outputs.push_back({name, value}); }
};

}  // namespace scratchy::testing
