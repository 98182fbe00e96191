#include "compiler/model_weights.h"

#include "checkpoint/check_tensors.h"
#include "checkpoint/load_weight.h"

namespace scratchy {

Result<ModelWeights> ModelWeights::open(const std::filesystem::path& path, const Graph& graph, const WeightPlan& plan) {
  TRY(Checkpoint checkpoint, Checkpoint::open(path));
  ModelWeights weights(std::move(checkpoint));
  TRY(const WeightRoot root, check_tensors(weights.checkpoint_, plan.view()));
  TRY_STATUS(check_copies(weights.checkpoint_, plan.view(), root));
  weights.root_decoder_ = root.decoder;
  weights.root_outer_ = root.outer;
  weights.plan_ = &plan;
  int next = 0;
  for (const Resource& resource : graph.resources) weights.source_of_.push_back(resource.kind == ResourceKind::kWeight ? next++ : -1);
  return weights;
}

Result<std::vector<float>> ModelWeights::weight(ResourceId id) const {
  const WeightSource& source = plan_->sources[static_cast<size_t>(source_of_[static_cast<size_t>(id.index)])];
  TRY(LoadedWeight loaded, load_weight(checkpoint_, {root_decoder_, root_outer_}, source));
  return dequantize(std::move(loaded));
}

}  // namespace scratchy
