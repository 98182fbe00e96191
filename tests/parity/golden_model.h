// A golden checkpoint as a graph with weights: config bound, text traced, checkpoint opened. For tests that need a whole
// model of some architecture.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/model_weights.h"
#include "config/model_registry.h"
#include "config/plan_weights.h"
#include "graph/graph.h"

namespace scratchy::parity {

// Spans of the graph point into `sources`, so the model stays where it was made.
struct GoldenModel {
  SourceSet sources;
  std::optional<ModelRegistry> registry;
  Graph graph;  // as the text says it, verified
  WeightPlan plan;
  std::optional<ModelWeights> weights;
};

// The model of `folder` by one of its config files. `context_length` > 0 replaces the config's (longrope's choice).
// A Failure holds all diagnostics.
Result<std::unique_ptr<GoldenModel>> load_golden_model(const std::filesystem::path& folder, const std::string& arch, const std::string& config_name, int64_t context_length = 0);

// A tensor of expected.safetensors.
Result<std::vector<float>> read_expected(const std::filesystem::path& file, const std::string& name);
Result<std::vector<int32_t>> read_expected_ids(const std::filesystem::path& file, const std::string& name);

}  // namespace scratchy::parity
