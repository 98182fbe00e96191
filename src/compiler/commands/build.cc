// scratchyc build: a scope to a binary.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "base/file.h"
#include "base/text.h"
#include "compiler/commands/commands.h"
#include "compiler/model_source.h"
#include "compiler/native_profile.h"
#include "compiler/scope.h"
#include "compiler/toolchain.h"

namespace scratchy {
namespace {

struct BuildArguments {
  CommonArguments common;
  std::string scope, profile = "native", kv, work_dir = "build/programs", object_dir;
  std::vector<std::string> configs;
  std::string output = "target/scr", link_list = "build/scr_link.txt", include_dir = "src";
  int max_context = 0;
  bool plain = false;
};

// Compiles one model and adds its sources.
bool add_program(const ModelRegistry& registry, ModelSource model, const BuildArguments& arguments, const cpu::Profile& profile, SourceSet& sources, Diagnostics& diagnostics,
                 std::vector<cpu::EmittedFile>& files, std::vector<std::string>& symbols, std::string& triples) {
  auto program = read_architecture(*model.arch, registry.directory(), sources, diagnostics);
  if (!program) return false;
  PipelineOptions options;
  options.target = target_options(model, profile, arguments.kv);
  options.quant = model.quant;
  options.fuse = !arguments.plain;
  for (const int32_t context : contexts_of(model.facts, arguments.max_context)) {
    options.max_context = context;
    const auto compiled = compile_model(*model.arch, *program, model.facts, options, diagnostics);
    if (!compiled) return false;
    std::string symbol = symbol_of(compiled->facts, options.quant);
    while (std::find(symbols.begin(), symbols.end(), symbol) != symbols.end()) symbol += "_next";
    for (cpu::EmittedFile& file : emit_model(*compiled, options, symbol)) {
      // Programs share the kernels of matrices: equal names are equal texts.
      const bool there = std::any_of(files.begin(), files.end(), [&](const cpu::EmittedFile& other) { return other.name == file.name; });
      if (!there) files.push_back(std::move(file));
    }
    symbols.push_back(symbol);
  }
  triples += (triples.empty() ? "" : ", ") + model.facts.arch + " / " + model.facts.stem + " / " + (options.quant.empty() ? "dense" : options.quant);
  return true;
}

int build(const BuildArguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  SourceSet sources;
  Diagnostics diagnostics;
  const auto failed = [&] { return report(diagnostics, arguments.common.json()); };
  const auto registry = ModelRegistry::load(arguments.common.models, sources, diagnostics);
  if (!registry) return failed();
  const auto scope = parse_scope(arguments.scope, *registry, preset_names(arguments.common.presets), !arguments.configs.empty(), diagnostics);
  const cpu::Profile* profile = resolve_profile(arguments.profile, diagnostics);
  if (scope && scope->serve) diagnostics.add(DiagnosticKind::kNoServer, {}).suggest("leave `serve` out; `scr chat` is always there");
  if (!diagnostics.empty()) return failed();
  std::vector<cpu::EmittedFile> files;
  std::vector<std::string> symbols;
  std::string triples;
  std::vector<ModelSource> models;
  for (const ScopeModel& model : scope->models) {
    if (auto source = checked_in_model(*registry, *model.arch, model.stem, scope->quant, arguments.common.presets, sources, diagnostics)) models.push_back(std::move(*source));
  }
  for (const std::string& config : arguments.configs) {
    if (auto source = model_of_file(*registry, config, scope->quant, arguments.common.presets, sources, diagnostics)) models.push_back(std::move(*source));
  }
  if (!diagnostics.empty()) return failed();
  for (ModelSource& model : models) {
    add_program(*registry, std::move(model), arguments, *profile, sources, diagnostics, files, symbols, triples);
  }
  if (!diagnostics.empty()) return failed();
  files.push_back(cpu::emit_registry(symbols, scope->bench));
  ToolchainInput input;
  input.include_dir = arguments.include_dir;
  input.link_list = arguments.link_list;
  input.work_dir = std::filesystem::path(arguments.work_dir) / symbols.front();
  input.object_dir = arguments.object_dir.empty() ? std::filesystem::path(arguments.work_dir) / "objects" : std::filesystem::path(arguments.object_dir);
  input.profile_flags = profile->flags;
  input.files = std::move(files);
  input.output = arguments.output;
  if (const Status built = build_binary(input); !built.ok()) {
    std::fprintf(stderr, "error: %s\n", built.failure().message().c_str());
    return 1;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::error_code error;
  std::printf("%s: %s, %s bytes, %.1f s\n", arguments.output.c_str(), triples.c_str(), with_thousands(std::filesystem::file_size(arguments.output, error)).c_str(), seconds);
  return 0;
}

}  // namespace

void add_build(Command& app) {
  auto arguments = std::make_shared<BuildArguments>();
  Command* command = app.add_command("build", "build a binary for a scope");
  command->add_option("-F,--features", arguments->scope, "scope: cpu,model/<stem>[,quant/<preset>][,serve][,bench]")->required();
  command->add_option("-o,--output", arguments->output, "the binary")->show_default();
  command->add_option("--config", arguments->configs, "a config.json, a GGUF file or a checkpoint folder that is not checked in");
  command->add_option("--profile", arguments->profile, "instruction set: native or one of " + profile_names())->show_default();
  command->add_option("--kv", arguments->kv, "type of the KV cache")->one_of({"f32", "f16", "bf16", "i8"});
  command->add_option("--max-context", arguments->max_context, "positions a sequence may have")->at_least(1);
  command->add_flag("--plain", arguments->plain, "no fusion: every op a kernel of its own");
  command->add_option("--link-list", arguments->link_list, "what programs are linked with")->show_default();
  command->add_option("--include", arguments->include_dir, "headers of kernels and runtime")->show_default();
  command->add_option("--work-dir", arguments->work_dir, "folder for sources and logs")->show_default();
  command->add_option("--object-dir", arguments->object_dir, "folder of compiled objects, shared by builds; default: objects in the work folder");
  add_common_flags(*command, arguments->common);
  command->runs([arguments] { return build(*arguments); });
}

}  // namespace scratchy
