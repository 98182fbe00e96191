// scratchyc compile: a model's sources, or what the compiler holds at one stage.

#include <cstdio>
#include <memory>

#include "base/file.h"
#include "compiler/commands/commands.h"
#include "graph/print.h"

namespace scratchy {
namespace {

struct CompileArguments {
  CommonArguments common;
  std::string arch, stem, quant, emit, profile = "x86-64-v3", kv = "f16";
  std::filesystem::path output;
  int max_context = 0;
  bool plain = false;
};

int compile(const CompileArguments& arguments) {
  SourceSet sources;
  Diagnostics diagnostics;
  const auto registry = ModelRegistry::load(arguments.common.models, sources, diagnostics);
  const ArchDecl* arch = registry ? registry->find(arguments.arch, diagnostics) : nullptr;
  auto facts = arch != nullptr ? registry->bind(*arch, arguments.stem, sources, diagnostics) : std::nullopt;
  auto program = facts ? read_architecture(*arch, arguments.common.models, sources, diagnostics) : std::nullopt;
  if (!program) return report(diagnostics, arguments.common.json_diagnostics);
  PipelineOptions options;
  options.target.profile = cpu::find_profile(arguments.profile);
  options.target.kv = arguments.kv == "f32" ? cpu::KvType::kF32 : arguments.kv == "bf16" ? cpu::KvType::kBf16 : arguments.kv == "i8" ? cpu::KvType::kI8 : cpu::KvType::kF16;
  QuantSection section;
  if (arguments.quant == "gguf") section.method = QuantMethod::kGguf;
  options.target.variants = cpu::variants_for(section, {}, *options.target.profile);
  options.quant = arguments.quant;
  options.fuse = !arguments.plain;
  options.verify = true;
  options.max_context = arguments.max_context;
  options.on_graph = [&](std::string_view stage, const Graph& graph) {
    if (arguments.emit == "graph-after=" + std::string(stage) || (arguments.emit == "graph" && stage == "build")) std::fputs(print(graph).c_str(), stdout);
  };
  const auto model = compile_model(*arch, *program, std::move(*facts), options, diagnostics);
  if (!model) return report(diagnostics, arguments.common.json_diagnostics);
  if (arguments.emit == "tape") std::fputs(print_plan(model->plan).c_str(), stdout);
  if (arguments.output.empty()) return 0;
  auto files = emit_model(*model, options);
  std::filesystem::create_directories(arguments.output);
  files->push_back(cpu::emit_registry({symbol_of(model->facts, options.quant)}));
  for (const cpu::EmittedFile& file : *files) {
    if (const Status written = write_file_atomically(arguments.output / file.name, file.text); !written.ok()) {
      std::fprintf(stderr, "error: %s\n", written.failure().message().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace

void add_compile(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App* command = app.add_subcommand("compile", "write the sources of one model");
  command->add_option("--arch", arguments->arch, "architecture, a folder of models/")->required();
  command->add_option("--config", arguments->stem, "stem of a checked-in config, or a config.json")->required();
  command->add_option("--quant", arguments->quant, "quant preset");
  command->add_option("--profile", arguments->profile, "instruction set");
  command->add_option("--kv", arguments->kv, "type of the KV cache: f32, f16, bf16, i8");
  command->add_option("--max-context", arguments->max_context, "positions");
  command->add_option("--emit", arguments->emit, "print a stage: graph, graph-after=<pass>, tape");
  command->add_flag("--plain", arguments->plain, "no fusion");
  command->add_option("--models", arguments->common.models, "folder of models");
  command->add_option("-o,--output", arguments->output, "folder for the sources");
  command->callback([arguments, &exit_code] { exit_code = compile(*arguments); });
}

}  // namespace scratchy
