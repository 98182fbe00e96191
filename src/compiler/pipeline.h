// The compiler top to bottom: a model's facts and its architecture's text in, a checked plan and its sources out.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "config/model_registry.h"
#include "config/plan_weights.h"
#include "dsl/program.h"
#include "plan/plan.h"
#include "targets/cpu/emit.h"

namespace scratchy {

struct PipelineOptions {
  cpu::Options target;
  std::string quant;            // preset or method as shown to the user, "" = dense
  int32_t max_context = 0;      // 0: what the config allows, bounded by kDefaultMaxContext
  int32_t max_tokens = 256;     // rows of the largest bucket
  bool fuse = true;
  bool verify = false;          // run the verifier after every pass
  // Facts of a target other than cpu, by the rows of the largest bucket; empty: those of cpu.
  std::function<PlanFacts(int32_t max_tokens)> plan_facts;
  // Sees the graph after "build" and after each pass.
  std::function<void(std::string_view stage, const Graph& graph)> on_graph;
};

// A model after the front end and the passes over its graph. Tapes of any target are planned from it.
struct OptimizedModel {
  ModelFacts facts;
  std::shared_ptr<const Graph> built;      // as the text says it
  std::shared_ptr<const Graph> optimized;  // fused and ordered
  WeightPlan weights;  // a source for each weight resource of `built`, in their order
  int32_t max_context, max_tokens;
};

struct CompiledModel {
  ModelFacts facts;
  std::shared_ptr<const Graph> built;  // as the text says it
  Plan plan;
  WeightPlan weights;
  int32_t max_context;
};

// Reads the texts of an architecture, once for all its models. `text` replaces its forward.fwd.
std::optional<Program> read_architecture(const ArchDecl& arch, const std::filesystem::path& models, SourceSet& sources, Diagnostics& diagnostics,
                                         const std::filesystem::path& text = {});

// Text and facts to the optimised graph.
std::optional<OptimizedModel> optimize_model(const ArchDecl& arch, const Program& program, ModelFacts facts, const PipelineOptions& options, Diagnostics& diagnostics);

// The checked plan of a target.
Plan plan_model(const OptimizedModel& model, const PipelineOptions& options);

// Text and facts to graph and plan: the two above.
std::optional<CompiledModel> compile_model(const ArchDecl& arch, const Program& program, ModelFacts facts, const PipelineOptions& options, Diagnostics& diagnostics);

// The C++ of a compiled model.
std::vector<cpu::EmittedFile> emit_model(const CompiledModel& model, const PipelineOptions& options, const std::string& symbol);

// The contexts a model needs a program for, 0 = the model's own: one, but two where positions are scaled otherwise once a
// text may pass the length the model was first trained for (longrope). A run then takes the smallest that holds it.
std::vector<int32_t> contexts_of(const ModelFacts& facts, int32_t max_context);

// A C++ identifier for a triple: "llama_smollm2_135m_gguf".
std::string symbol_of(const ModelFacts& facts, const std::string& quant);

}  // namespace scratchy
