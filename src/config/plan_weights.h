// Plans where each weight of a traced program is read from.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "checkpoint/weight_source.h"
#include "config/arch_decl.h"
#include "config/model_facts.h"

namespace scratchy {

// One weight the program uses: its name, its layer (-1 = none), and its shape [rows], [rows, columns] or
// [experts, rows, columns].
struct WeightUse {
  std::string name;
  int layer = -1;
  std::vector<int64_t> shape;
};

// The plan and the storage its views point into. Movable, not copyable.
struct WeightPlan {
  std::vector<WeightSource> sources;  // one for each use, in the same order
  std::vector<WeightRoot> roots;
  std::vector<IgnoredTensor> ignored;
  std::vector<std::string_view> gguf_tags;
  std::vector<MetadataExpectation> metadata;
  int32_t layers = 0;

  WeightPlanView view() const { return {roots, sources, ignored, gguf_tags, metadata, layers}; }

  WeightPlan() = default;
  WeightPlan(WeightPlan&&) = default;
  WeightPlan& operator=(WeightPlan&&) = default;
  WeightPlan(const WeightPlan&) = delete;
  WeightPlan& operator=(const WeightPlan&) = delete;

  std::deque<std::string> texts;
  std::deque<std::vector<WeightForm>> forms;  // shared by the layers of a weight
};

// The plan of `uses` for the model `facts` of `arch`. `config` must outlive nothing; texts are copied. Nothing, with
// diagnostics, when a use is of no declared weight or a form's numbers cannot be.
std::optional<WeightPlan> plan_weights(const ArchDecl& arch, const ModelFacts& facts, const std::vector<WeightUse>& uses, Diagnostics& diagnostics);

}  // namespace scratchy
