// The weights of a traced graph, read from a published checkpoint for the reference interpreter.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "config/plan_weights.h"
#include "graph/graph.h"

namespace scratchy {

class ModelWeights {
 public:
  // Opens the checkpoint and checks every tensor against `plan`, whose sources are those of the graph's weight resources
  // in their order. `graph` and `plan` must outlive the result.
  static Result<ModelWeights> open(const std::filesystem::path& checkpoint, const Graph& graph, const WeightPlan& plan);

  // A weight of the graph, dequantised, row-major in the order of its resource's type.
  Result<std::vector<float>> weight(ResourceId id) const;

  const Checkpoint& checkpoint() const { return checkpoint_; }

 private:
  explicit ModelWeights(Checkpoint checkpoint) : checkpoint_(std::move(checkpoint)) {}

  Checkpoint checkpoint_;
  const WeightPlan* plan_ = nullptr;
  std::vector<int> source_of_;  // per resource: index into the plan's sources, -1 for what is no weight
  std::string root_decoder_, root_outer_;
};

}  // namespace scratchy
