#include "passes/fuse_rows.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "passes/analysis.h"
#include "passes/rewrite.h"
#include "passes/sample_rows.h"

namespace scratchy {
namespace {

// Builds one row program from the ops of a group.
class ProgramBuilder {
 public:
  ProgramBuilder(const Graph& graph, const std::vector<OpPlace>& places) : graph_(graph), places_(places) {}

  Op build(const std::vector<size_t>& group, const std::vector<bool>& read_outside) {
    program_ = Op{.kind = OpKind::kRowProgram};
    program_.body = std::make_shared<Graph>();
    inner_.clear();
    program_.span = graph_.ops[group.front()].span;
    program_.layer = graph_.ops[group.front()].layer;
    for (const size_t i : group) copy(graph_.ops[i]);
    for (const size_t i : group) {
      for (const ValueId result : graph_.ops[i].results) {
        if (!read_outside[result.index]) continue;
        program_.results.push_back(result);
        program_.body->outputs.push_back({graph_.value(result).name, inner_.at(result)});
      }
    }
    return std::move(program_);
  }

 private:
  // The body's value for a value of the graph: copied in when cheap and the same for every row, else an argument.
  ValueId inside(ValueId outer) {
    if (const auto found = inner_.find(outer); found != inner_.end()) return found->second;
    const int producer = graph_.value(outer).producer;
    const Op& op = graph_.ops[producer];
    if (op.kind == OpKind::kConstant || places_[producer] == OpPlace::kInvariant) {
      copy(op);
      return inner_.at(outer);
    }
    const ValueId value = program_.body->add_value(graph_.type(outer), graph_.value(outer).name);
    Op argument{.kind = OpKind::kArgument, .results = {value}, .span = op.span, .layer = op.layer};
    argument.attributes.count = static_cast<int64_t>(program_.operands.size());
    program_.body->append(std::move(argument));
    program_.operands.push_back(outer);
    inner_[outer] = value;
    return value;
  }

  void copy(const Op& op) {
    Op copied = op;
    for (ValueId& operand : copied.operands) operand = inside(operand);
    for (ValueId& result : copied.results) {
      const ValueId value = program_.body->add_value(graph_.type(result), graph_.value(result).name);
      inner_[result] = value;
      result = value;
    }
    program_.body->append(std::move(copied));
  }

  const Graph& graph_;
  const std::vector<OpPlace>& places_;
  Op program_;
  std::map<ValueId, ValueId> inner_;
};

// Which values are read by an op outside of the group, or are outputs.
std::vector<bool> read_outside_groups(const Graph& graph, const std::vector<int>& group_of) {
  std::vector<bool> read(graph.values.size(), false);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    for (const ValueId operand : graph.ops[i].operands) {
      const int producer = graph.value(operand).producer;
      if (group_of[i] < 0 || group_of[producer] != group_of[i]) read[operand.index] = true;
    }
  }
  for (const GraphOutput& output : graph.outputs) read[output.value.index] = true;
  return read;
}

}  // namespace

void fuse_rows(Graph& graph, bool merge) {
  const std::vector<OpPlace> place = places(graph);
  const std::vector<int> level = levels(graph, place);
  const std::vector<bool> sampled = sampled_values(graph);
  std::vector<int> group_of(graph.ops.size(), -1);
  std::vector<std::vector<size_t>> groups;
  std::map<std::pair<int, bool>, int> open;  // (level, sampled) -> group
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (place[i] != OpPlace::kRowLocal) continue;
    const std::pair key(level[i], static_cast<bool>(sampled[graph.ops[i].results[0].index]));
    const auto [entry, fresh] = open.try_emplace(key, static_cast<int>(groups.size()));
    if (fresh || !merge) {
      entry->second = static_cast<int>(groups.size());
      groups.emplace_back();
    }
    group_of[i] = entry->second;
    groups[entry->second].push_back(i);
  }
  const std::vector<bool> read = read_outside_groups(graph, group_of);
  ProgramBuilder builder(graph, place);
  std::vector<Op> ops;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (group_of[i] < 0) {
      ops.push_back(graph.ops[i]);
    } else if (groups[group_of[i]].front() == i) {
      ops.push_back(builder.build(groups[group_of[i]], read));
    }
  }
  graph.ops = std::move(ops);
  graph.renumber();
  remove_dead_ops(graph);
}

}  // namespace scratchy
