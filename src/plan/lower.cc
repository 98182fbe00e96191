// Graph to steps: each op but resources becomes one step; equal work becomes one kernel; weights, planes and states get
// their tables, ordered by name then layer so that the layer loop moves through them by a constant stride.

#include <algorithm>
#include <map>
#include <tuple>

#include "base/check.h"
#include "graph/structural_key.h"
#include "passes/analysis.h"
#include "passes/sample_rows.h"
#include "plan/plan.h"

namespace scratchy {
namespace {

// What makes two steps the same work, as text.
std::string kernel_key(const TapeKernel& kernel) {
  std::string key = std::string(info(kernel.kind).name) + structural_key(kernel.attributes) + (kernel.sampled ? " sampled" : "");
  for (const Type& type : kernel.operand_types) key += " " + to_string(type);
  key += " ->";
  for (const Type& type : kernel.result_types) key += " " + to_string(type);
  for (const bool role : kernel.plane_roles) key += role ? "+" : "-";
  if (kernel.body != nullptr) key += "\n" + structural_key(*kernel.body);
  return key;
}

class Lowering {
 public:
  explicit Lowering(std::shared_ptr<const Graph> graph)
      : graph_(*graph), places_(places(graph_)), sampled_(sampled_values(graph_)) {
    plan_.graph = std::move(graph);
  }

  Plan run() {
    collect_tables();
    Tape tape{};
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (places_[i] == OpPlace::kOutside || places_[i] == OpPlace::kInvariant) continue;
      tape.steps.push_back(step(graph_.ops[i]));
    }
    plan_.tapes.push_back(std::move(tape));
    for (const GraphOutput& output : graph_.outputs) {
      (output.name == "logits" ? plan_.logits_value : plan_.hidden_value) = output.value.index;
    }
    return std::move(plan_);
  }

 private:
  using WeightKey = std::tuple<std::string, int, int, std::string>;  // name, storage, layer, transforms

  // The resource behind a value made of a weight and invariant ops, and those ops in order.
  PlannedWeight trace_weight(ValueId value, PlannedWeight::Storage storage) const {
    PlannedWeight use{.storage = storage, .transforms = {}, .type = graph_.type(value)};
    const Op* op = &graph_.producer(value);
    while (op->kind != OpKind::kWeight) {
      SCRATCHY_CHECK(op->kind == OpKind::kReshape || op->kind == OpKind::kSlice || op->kind == OpKind::kTranspose,
                     "weight made by " + std::string(info(op->kind).spelling) + " at " + to_string(op->span));
      use.transforms.insert(use.transforms.begin(), *op);
      op = &graph_.producer(op->operands[0]);
    }
    use.resource = op->resource;
    const std::vector<int64_t>& dims = use.type.dims;
    if (storage == PlannedWeight::Storage::kPanels) {
      SCRATCHY_CHECK(dims.size() == 2 || dims.size() == 3, "matrix of type " + to_string(use.type));
      use.matrices = dims.size() == 3 ? dims[0] : 1;
      use.rows = dims[dims.size() - 2];
      use.columns = dims.back();
    } else {
      use.columns = use.type.row_elements();
    }
    return use;
  }

  static std::string transform_key(const PlannedWeight& use) {
    std::string key;
    for (const Op& op : use.transforms) {
      key += std::string(info(op.kind).name) + std::to_string(op.attributes.axis) + "," + std::to_string(op.attributes.begin) + "," +
             std::to_string(op.attributes.end);
      for (const int64_t d : op.attributes.shape) key += "," + std::to_string(d);
    }
    return key;
  }

  WeightKey weight_key(const PlannedWeight& use) const {
    const Resource& resource = graph_.resources[use.resource.index];
    return {resource.name, static_cast<int>(use.storage), resource.layer, transform_key(use)};
  }

  static PlannedWeight::Storage storage_for(const Op& op) {
    const bool panels = op.kind == OpKind::kGemm || op.kind == OpKind::kGemmHeads || op.kind == OpKind::kGemmExperts || op.kind == OpKind::kEmbed;
    return panels ? PlannedWeight::Storage::kPanels : PlannedWeight::Storage::kDense;
  }

  bool is_weight_like(ValueId value) const {
    const int producer = graph_.value(value).producer;
    return graph_.ops[producer].kind == OpKind::kWeight || places_[producer] == OpPlace::kInvariant;
  }

  void collect_tables() {
    std::map<WeightKey, PlannedWeight> weights;
    std::map<std::tuple<int, std::string>, ResourceId> caches, states;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (op.kind == OpKind::kCache || op.kind == OpKind::kState) {
        const Resource& resource = graph_.resources[op.resource.index];
        (op.kind == OpKind::kCache ? caches : states)[{resource.layer, resource.name}] = op.resource;
      }
      if (places_[i] == OpPlace::kOutside || places_[i] == OpPlace::kInvariant) continue;
      for (const ValueId operand : op.operands) {
        if (!is_weight_like(operand)) continue;
        PlannedWeight use = trace_weight(operand, storage_for(op));
        weights.emplace(weight_key(use), std::move(use));
      }
    }
    for (auto& [key, use] : weights) {
      weight_index_[key] = static_cast<int32_t>(plan_.weights.size());
      plan_.weights.push_back(std::move(use));
    }
    for (const auto& [key, resource] : caches) {
      const std::vector<int64_t>& dims = graph_.resources[resource.index].type.dims;
      plane_index_[resource] = static_cast<int32_t>(plan_.planes.size());
      plan_.planes.push_back({.resource = resource, .kv_heads = dims[1], .width = dims[2]});
    }
    find_plane_roles();
    for (const auto& [key, resource] : states) {
      state_index_[resource] = static_cast<int32_t>(plan_.states.size());
      plan_.states.push_back({resource, graph_.resources[resource.index].type.row_elements()});
    }
  }

  void find_plane_roles() {
    for (const Op& op : graph_.ops) {
      const auto plane = [&](size_t at) -> Plane& { return plan_.planes[plane_index_.at(resource_of(op.operands[at]))]; };
      if (op.kind == OpKind::kCacheScores || op.kind == OpKind::kAttention) plane(1).keys = true;
      if (op.kind == OpKind::kCacheMix) plane(1).values = true;
      if (op.kind == OpKind::kAttention) plane(2).values = true;
    }
  }

  // The cache or state a version of it belongs to.
  ResourceId resource_of(ValueId value) const {
    const Op* op = &graph_.producer(value);
    while (op->kind == OpKind::kCacheAppend) op = &graph_.producer(op->operands[0]);
    return op->resource;
  }

  TapeOperand operand(const Op& op, size_t at) {
    const ValueId value = op.operands[at];
    const Op& producer = graph_.producer(value);
    if (producer.kind == OpKind::kInput) {
      return {TapeOperand::kInput, graph_.resources[producer.resource.index].name == "positions" ? 1 : 0};
    }
    if (is_weight_like(value)) return {TapeOperand::kWeight, weight_index_.at(weight_key(trace_weight(value, storage_for(op))))};
    if (producer.kind == OpKind::kCache || producer.kind == OpKind::kCacheAppend) {
      return {TapeOperand::kPlane, plane_index_.at(resource_of(value))};
    }
    if (producer.kind == OpKind::kState) return {TapeOperand::kState, state_index_.at(producer.resource)};
    return {TapeOperand::kSlot, value.index};
  }

  TapeStep step(const Op& op) {
    TapeKernel kernel{.kind = op.kind, .attributes = op.attributes, .operand_types = {}, .result_types = {}, .body = op.body};
    TapeStep made{.span = op.span, .layer = op.layer};
    for (size_t i = 0; i < op.operands.size(); ++i) {
      kernel.operand_types.push_back(graph_.type(op.operands[i]));
      made.operands.push_back(operand(op, i));
      if (graph_.type(op.operands[i]).row_wise()) kernel.sampled |= sampled_[op.operands[i].index];
    }
    if (op.kind == OpKind::kSampleRows) kernel.sampled = true;
    for (const TapeOperand& operand : made.operands) {
      if (operand.kind != TapeOperand::kPlane) continue;
      kernel.plane_roles.push_back(plan_.planes[operand.index].keys);
      kernel.plane_roles.push_back(plan_.planes[operand.index].values);
    }
    made.operand_count = static_cast<int32_t>(made.operands.size());
    for (const ValueId result : op.results) {
      if (!graph_.type(result).row_wise()) continue;  // the next version of a cache or state is the same memory
      kernel.result_types.push_back(graph_.type(result));
      made.operands.push_back({TapeOperand::kSlot, result.index});
    }
    const auto [entry, fresh] = kernel_index_.try_emplace(kernel_key(kernel), static_cast<int32_t>(plan_.kernels.size()));
    if (fresh) plan_.kernels.push_back(std::move(kernel));
    made.kernel = entry->second;
    return made;
  }

  const Graph& graph_;
  std::vector<OpPlace> places_;
  std::vector<bool> sampled_;
  Plan plan_;
  std::map<WeightKey, int32_t> weight_index_;
  std::map<ResourceId, int32_t> plane_index_, state_index_;
  std::map<std::string, int32_t> kernel_index_;
};

}  // namespace

Plan lower(std::shared_ptr<const Graph> graph) { return Lowering(std::move(graph)).run(); }

}  // namespace scratchy
