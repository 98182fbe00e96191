#include "compiler/pipeline.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/check.h"
#include "base/file.h"
#include "base/text.h"
#include "graph/build.h"
#include "graph/verify.h"
#include "passes/optimize.h"

namespace scratchy {
namespace {

// Positions a program is compiled for when the model allows more: 32 Ki positions of a small model's cache are gigabytes
// of address space, committed only as they are used.
constexpr int64_t kDefaultMaxContext = 32768;

int64_t integer_fact(const ModelFacts& facts, const char* key, int64_t fallback) {
  const Constant* value = facts.find(key);
  return value != nullptr && value->is_int() ? value->as_int() : fallback;
}

// The shapes the graph gives each weight resource, once a (name, layer).
std::vector<WeightUse> weight_uses(const Graph& graph) {
  std::vector<WeightUse> uses;
  for (const Resource& resource : graph.resources) {
    if (resource.kind == ResourceKind::kWeight) uses.push_back({resource.name, resource.layer, resource.type.dims});
  }
  return uses;
}

bool is_encoder(const Graph& graph) {
  return std::any_of(graph.ops.begin(), graph.ops.end(), [](const Op& op) {
    return (op.kind == OpKind::kMask || op.kind == OpKind::kAttention) && !op.attributes.causal;
  });
}

// A graph a pass of ours broke is our bug, whatever the author wrote.
void expect_sound(const Graph& graph, const std::string& pass) {
  const std::vector<std::string> complaints = verify(graph, pass);
  SCRATCHY_CHECK(complaints.empty(), join(complaints, "\n"));
}

// Cache planes and states that no op of the optimised graph touches take no memory: the plan looks at ops, not resources.
std::shared_ptr<const Graph> optimized(const Graph& built, const PipelineOptions& options, int32_t max_context) {
  auto graph = std::make_shared<Graph>(built);
  PassOptions passes;
  passes.fuse = options.fuse;
  passes.max_context = max_context;
  passes.after_pass = [&](std::string_view pass, const Graph& after) {
    if (options.verify) expect_sound(after, std::string(pass));
    if (options.on_graph) options.on_graph(pass, after);
  };
  optimize(*graph, passes);
  return graph;
}

}  // namespace

std::optional<Program> read_architecture(const ArchDecl& arch, const std::filesystem::path& models, SourceSet& sources, Diagnostics& diagnostics,
                                         const std::filesystem::path& text_path) {
  const SourceFile* files[2] = {};
  const std::filesystem::path paths[2] = {models / "std.fwd", text_path.empty() ? arch.directory / "forward.fwd" : text_path};
  for (int i = 0; i < 2; ++i) {
    Result<std::string> text = read_file(paths[i], 1 << 20);
    if (!text.ok()) {
      diagnostics.add(DiagnosticKind::kMalformedFile, {}, {{"file", paths[i].string()}, {"problem", text.failure().message()}});
      return std::nullopt;
    }
    files[i] = &sources.add(paths[i].string(), std::move(text).value());
  }
  return read_program(*files[0], *files[1], diagnostics);
}

std::optional<OptimizedModel> optimize_model(const ArchDecl& arch, const Program& program, ModelFacts facts, const PipelineOptions& options, Diagnostics& diagnostics) {
  diagnostics.set_model(facts.display());
  const int64_t positions = integer_fact(facts, "max_position_embeddings", kDefaultMaxContext);
  const auto max_context = static_cast<int32_t>(options.max_context > 0 ? options.max_context : std::min(positions, kDefaultMaxContext));
  // What a text that scales with the context must know; the model's own limit, not ours, when nobody chose one.
  facts.values["context_length"] = Constant::integer(options.max_context > 0 ? int64_t{max_context} : positions);
  std::optional<Graph> graph = build_graph(program, facts, diagnostics);
  if (!graph) return std::nullopt;
  std::optional<WeightPlan> weights = plan_weights(arch, facts, weight_uses(*graph), diagnostics);
  if (!weights) return std::nullopt;
  if (options.verify) expect_sound(*graph, "build");
  if (options.on_graph) options.on_graph("build", *graph);
  const int32_t max_tokens = is_encoder(*graph) ? std::min<int32_t>(max_context, 8192) : options.max_tokens;
  auto built = std::make_shared<Graph>(std::move(*graph));
  auto optimized_graph = optimized(*built, options, max_context);
  return OptimizedModel{std::move(facts), std::move(built), std::move(optimized_graph), std::move(*weights), max_context, max_tokens};
}

Plan plan_model(const OptimizedModel& model, const PipelineOptions& options) {
  Plan plan = make_plan(model.optimized, options.plan_facts ? options.plan_facts(model.max_tokens) : cpu::plan_facts(options.target, model.max_tokens));
  if (const std::vector<std::string> problems = check_plan(plan); !problems.empty()) {
    SCRATCHY_UNREACHABLE("the plan of " + model.facts.display() + " is wrong: " + problems.front());
  }
  return plan;
}

std::optional<CompiledModel> compile_model(const ArchDecl& arch, const Program& program, ModelFacts facts, const PipelineOptions& options, Diagnostics& diagnostics) {
  std::optional<OptimizedModel> model = optimize_model(arch, program, std::move(facts), options, diagnostics);
  if (!model) return std::nullopt;
  Plan plan = plan_model(*model, options);
  return CompiledModel{std::move(model->facts), std::move(model->built), std::move(plan), std::move(model->weights), model->max_context};
}

std::vector<int32_t> contexts_of(const ModelFacts& facts, int32_t max_context) {
  if (max_context > 0) return {max_context};
  const Constant* scaling = facts.find("rope_scaling");
  if (scaling == nullptr || !scaling->is_record()) return {0};
  const Constant* original = scaling->find("original_max_position_embeddings");
  const Constant* type = scaling->find("rope_type");
  const bool switches = type != nullptr && type->is_string() && type->as_string() == "longrope" && original != nullptr && original->is_int() &&
                        original->as_int() < integer_fact(facts, "max_position_embeddings", 0);
  if (!switches) return {0};
  return {static_cast<int32_t>(original->as_int()), 0};
}

std::string symbol_of(const ModelFacts& facts, const std::string& quant) {
  std::string symbol = "program_" + facts.arch + "_" + facts.stem + (quant.empty() ? "" : "_" + quant);
  for (char& c : symbol) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return symbol;
}

// The scalars a published config states, as it states them (a text may read a derived value). Not its element type and its
// longest context: repacks change them freely.
std::vector<cpu::ConfigValue> stated_scalars(const ModelFacts& facts) {
  std::vector<cpu::ConfigValue> scalars;
  for (const auto& [key, span] : facts.spans) {
    if (span.file == nullptr || key == "weight_dtype" || key == "max_position_embeddings") continue;
    const std::string text = span.file->text.substr(span.begin, span.end - span.begin);
    if (text == "true" || text == "false") {
      scalars.push_back({key, text == "true" ? 1.0 : 0.0, ""});
    } else if (text.size() > 2 && text.front() == '"' && text.find('\\') == std::string::npos) {
      scalars.push_back({key, 0, text.substr(1, text.size() - 2)});
    } else if (!text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '-')) {
      scalars.push_back({key, std::strtod(text.c_str(), nullptr), ""});
    }
  }
  return scalars;
}

std::vector<cpu::EmittedFile> emit_model(const CompiledModel& model, const PipelineOptions& options, const std::string& symbol) {
  cpu::EmitInput input;
  input.symbol = symbol;
  input.arch = model.facts.arch;
  input.stem = model.facts.stem;
  input.quant = options.quant.empty() ? "dense" : options.quant;
  input.plan = &model.plan;
  input.weights = model.weights.view();
  input.config_facts = stated_scalars(model.facts);
  const int32_t logits = model.plan.logits_value;
  input.vocab_size = static_cast<int32_t>(model.plan.graph->type({logits}).row_elements());
  input.max_context = model.max_context;
  input.whole_prompt = is_encoder(*model.built);
  return cpu::emit(input, options.target);
}

}  // namespace scratchy
