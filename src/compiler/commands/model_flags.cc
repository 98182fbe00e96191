#include "compiler/commands/model_flags.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "compiler/native_profile.h"
#include "config/read_arch.h"
#include "targets/null/plan_facts.h"

namespace scratchy {
namespace {

namespace fs = std::filesystem;

const SourceFile* read_source(const fs::path& path, SourceSet& sources, Diagnostics& diagnostics) {
  Result<std::string> text = read_file(path, 16 << 20);
  if (text.ok()) return &sources.add(path.generic_string(), std::move(text).value());
  diagnostics.add(DiagnosticKind::kMalformedFile, {}, {{"file", path.generic_string()}, {"problem", text.failure().message()}});
  return nullptr;
}

// The declarations beside FILE.fwd; a folder of the registry is the registry's.
const ArchDecl* arch_beside(const fs::path& file, const ModelRegistry& registry, std::unique_ptr<const ArchDecl>& own, SourceSet& sources, Diagnostics& diagnostics) {
  std::error_code error;
  const fs::path folder = fs::absolute(file, error).lexically_normal().parent_path();
  for (const ArchDecl& arch : registry.architectures()) {
    if (fs::equivalent(arch.directory, folder, error)) return &arch;
  }
  const SourceFile* shared_file = read_source(registry.directory() / "std.json", sources, diagnostics);
  const auto shared = shared_file != nullptr ? read_std(*shared_file, diagnostics) : std::nullopt;
  const SourceFile* declared = shared ? read_source(folder / "arch.json", sources, diagnostics) : nullptr;
  auto arch = declared != nullptr ? read_arch(*declared, folder.filename().string(), *shared, sources, diagnostics) : std::nullopt;
  if (!arch) return nullptr;
  arch->directory = folder;
  for (const std::string& stem : preset_names(folder / "configs")) arch->stems.push_back(stem);
  own = std::make_unique<const ArchDecl>(std::move(*arch));
  return own.get();
}

bool is_path(const std::string& config) {
  std::error_code error;
  return config.ends_with(".json") || config.ends_with(".gguf") || config.find('/') != std::string::npos || fs::exists(config, error);
}

// The architecture that ships a config of this stem.
const ArchDecl* arch_of_stem(const std::string& stem, const ModelRegistry& registry, Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const ArchDecl& arch : registry.architectures()) {
    if (std::find(arch.stems.begin(), arch.stems.end(), stem) != arch.stems.end()) return &arch;
    known.insert(known.end(), arch.stems.begin(), arch.stems.end());
  }
  Diagnostic& diagnostic = diagnostics.add(DiagnosticKind::kUnknownModel, {}, {{"name", escape_for_message(stem)}});
  const auto nearest = nearest_name(stem, known);
  diagnostic.suggest(nearest ? "did you mean `" + *nearest + "`?" : "say the stem of a checked-in config or the path of a config.json, GGUF file or checkpoint folder");
  return nullptr;
}

bool known_preset(const ModelFlags& flags, Diagnostics& diagnostics) {
  const std::vector<std::string> presets = preset_names(flags.common.presets);
  if (flags.quant.empty() || std::find(presets.begin(), presets.end(), flags.quant) != presets.end()) return true;
  Diagnostic& diagnostic = diagnostics.add(DiagnosticKind::kUnknownPreset, {}, {{"name", escape_for_message(flags.quant)}});
  const auto nearest = nearest_name(flags.quant, presets);
  diagnostic.suggest(nearest ? "did you mean `" + *nearest + "`?" : "there are " + join(presets, ", "));
  return false;
}

}  // namespace

void add_model_flags(Command& command, ModelFlags& flags) {
  command.add_option("file", flags.file, "text to compile instead of the architecture's forward.fwd");
  command.add_option("--arch", flags.arch, "architecture, a folder of models/");
  command.add_option("--quant", flags.quant, "quant preset; none means what the config says");
  command.add_option("--target", flags.target, "cpu, or null, which computes nothing")->show_default();
  command.add_option("--profile", flags.profile, "instruction set: native or one of " + profile_names())->show_default();
  command.add_option("--kv", flags.kv, "type of the KV cache")->one_of({"f32", "f16", "bf16", "i8"});
  command.add_option("--max-context", flags.max_context, "positions a sequence may have")->at_least(1);
  command.add_flag("--plain", flags.plain, "no fusion: every op a kernel of its own");
  add_common_flags(command, flags.common);
}

std::optional<SelectedModel> select_model(const ModelFlags& flags, const ModelRegistry& registry, SourceSet& sources, Diagnostics& diagnostics) {
  std::error_code error;
  std::unique_ptr<const ArchDecl> own;
  const ArchDecl* arch = nullptr;
  const bool path = is_path(flags.config);
  if (!flags.arch.empty()) {
    arch = registry.find(flags.arch, diagnostics);
    if (arch == nullptr) return std::nullopt;
  } else if (!flags.file.empty() && fs::exists(flags.file.parent_path() / "arch.json", error)) {
    arch = arch_beside(flags.file, registry, own, sources, diagnostics);
    if (arch == nullptr) return std::nullopt;
  } else if (!path) {
    arch = arch_of_stem(flags.config, registry, diagnostics);
    if (arch == nullptr) return std::nullopt;
  }
  if (!known_preset(flags, diagnostics)) return std::nullopt;
  auto source = path ? model_of_file(registry, flags.config, flags.quant, flags.common.presets, sources, diagnostics, arch)
                     : checked_in_model(registry, *arch, flags.config, flags.quant, flags.common.presets, sources, diagnostics);
  if (!source) return std::nullopt;
  auto program = read_architecture(*source->arch, registry.directory(), sources, diagnostics, flags.file);
  if (!program) return std::nullopt;
  const ArchDecl* chosen = source->arch;
  return SelectedModel{std::move(own), chosen, std::move(*source), std::move(*program)};
}

std::optional<PipelineOptions> pipeline_options(const ModelFlags& flags, const ModelSource& source, Diagnostics& diagnostics) {
  PipelineOptions options;
  if (flags.target == "cuda" || flags.target == "metal" || flags.target == "spyre") {
    diagnostics.add(DiagnosticKind::kNoBackEnd, {}, {{"target", flags.target}}).suggest("compile for `cpu`");
    return std::nullopt;
  }
  if (flags.target == "null") options.plan_facts = null::plan_facts;
  if (flags.target != "null" && flags.target != "cpu") {
    diagnostics.add(DiagnosticKind::kBadFlag, {}, {{"flag", "--target"}, {"value", escape_for_message(flags.target)}, {"rule", "cpu, null, cuda, metal or spyre"}});
    return std::nullopt;
  }
  const cpu::Profile* profile = resolve_profile(flags.profile, diagnostics);
  if (profile == nullptr) return std::nullopt;
  options.target = target_options(source, *profile, flags.kv);
  options.quant = source.quant;
  options.fuse = !flags.plain;
  options.verify = true;
  options.max_context = flags.max_context;
  return options;
}

}  // namespace scratchy
