// scratchyc compile: a model's sources, or what the compiler holds at one stage.

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/file.h"
#include "base/text.h"
#include "compiler/commands/model_flags.h"
#include "graph/print.h"
#include "graph/print_folded.h"
#include "passes/optimize.h"
#include "targets/null/plan_facts.h"

namespace scratchy {
namespace {

constexpr std::string_view kGraphAfter = "graph-after=";

struct CompileArguments {
  ModelFlags model;
  std::string emit;
  std::filesystem::path output;
};

bool known_emission(const std::string& emit, Diagnostics& diagnostics) {
  const auto is = [&](std::string_view name) { return emit == name; };
  if (emit.empty() || is("program") || is("graph") || is("tape") || is("sources")) return true;
  const std::vector<std::string> passes(std::begin(kPassNames), std::end(kPassNames));
  const bool after = emit.starts_with(kGraphAfter);
  if (after && std::find(passes.begin(), passes.end(), emit.substr(kGraphAfter.size())) != passes.end()) return true;
  const std::string rule = after ? "graph-after=<pass>, a pass is one of " + join(passes, ", ") : "program, graph, graph-after=<pass>, tape or sources";
  Diagnostic& diagnostic = diagnostics.add(DiagnosticKind::kBadFlag, {}, {{"flag", "--emit"}, {"value", escape_for_message(emit)}, {"rule", rule}});
  const auto nearest = after ? nearest_name(emit.substr(kGraphAfter.size()), passes) : nearest_name(emit, {"program", "graph", "tape", "sources"});
  if (nearest) diagnostic.suggest("did you mean `" + (after ? std::string(kGraphAfter) : "") + *nearest + "`?");
  return false;
}

Result<std::vector<cpu::EmittedFile>> sources_of(const CompileArguments& arguments, const CompiledModel& model, const PipelineOptions& options) {
  if (arguments.model.target == "null") {
    TRY(const null::Emission seen, null::emit(model.plan));
    (void)seen;
    return std::vector<cpu::EmittedFile>();
  }
  std::vector<cpu::EmittedFile> files = emit_model(model, options, symbol_of(model.facts, options.quant));
  files.push_back(cpu::emit_registry({symbol_of(model.facts, options.quant)}, false));
  return files;
}

Status deliver(const CompileArguments& arguments, const std::vector<cpu::EmittedFile>& files) {
  if (arguments.emit == "sources") {
    for (const cpu::EmittedFile& file : files) std::printf("// ---- %s\n%s\n", file.name.c_str(), file.text.c_str());
  }
  if (arguments.output.empty()) return Done{};
  std::error_code error;
  std::filesystem::create_directories(arguments.output, error);
  if (error) return Failure("create `" + arguments.output.string() + "`: " + error.message());
  for (const cpu::EmittedFile& file : files) TRY_STATUS(write_file_atomically(arguments.output / file.name, file.text));
  return Done{};
}

int compile(const CompileArguments& arguments) {
  SourceSet sources;
  Diagnostics diagnostics;
  const bool json = arguments.model.common.json();
  if (!known_emission(arguments.emit, diagnostics)) return report(diagnostics, json);
  const auto registry = ModelRegistry::load(arguments.model.common.models, sources, diagnostics);
  auto selected = registry ? select_model(arguments.model, *registry, sources, diagnostics) : std::nullopt;
  auto options = selected ? pipeline_options(arguments.model, selected->source, diagnostics) : std::nullopt;
  if (!options) return report(diagnostics, json);
  options->on_graph = [&](std::string_view stage, const Graph& graph) {
    if (arguments.emit == std::string(kGraphAfter) + std::string(stage) || (arguments.emit == "graph" && stage == "build")) std::fputs(print(graph).c_str(), stdout);
  };
  if (arguments.emit == "program") {
    if (const auto text = print_folded(selected->program, selected->source.facts, diagnostics)) std::fputs(text->c_str(), stdout);
  }
  const auto model = compile_model(*selected->arch, selected->program, selected->source.facts, *options, diagnostics);
  if (!model) return report(diagnostics, json);
  if (arguments.emit == "tape") std::fputs(print_plan(model->plan).c_str(), stdout);
  const auto files = sources_of(arguments, *model, *options);
  if (!files.ok()) return report(files.failure());
  const Status delivered = deliver(arguments, *files);
  return delivered.ok() ? 0 : report(delivered.failure());
}

}  // namespace

void add_compile(Command& app) {
  auto arguments = std::make_shared<CompileArguments>();
  Command* command = app.add_command("compile", "write the sources of one model");
  add_model_flags(*command, arguments->model);
  command->add_option("--config", arguments->model.config, "stem of a checked-in config, a config.json, a GGUF file or a checkpoint folder")->required();
  command->add_option("--emit", arguments->emit, "print a stage: program, graph, graph-after=<pass>, tape or sources");
  command->add_option("-o,--output", arguments->output, "folder for the sources");
  command->runs([arguments] { return compile(*arguments); });
}

}  // namespace scratchy
