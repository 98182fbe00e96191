#include "compiler/model_source.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/json.h"
#include "checkpoint/load_matrix.h"
#include "config/bind_config.h"
#include "config/bind_gguf.h"
#include "config/raw_config.h"

namespace scratchy {
namespace {

// The section of a preset file.
std::optional<QuantSection> read_preset(const std::string& preset, const std::filesystem::path& presets, Diagnostics& diagnostics) {
  const std::filesystem::path path = presets / (preset + ".json");
  const auto malformed = [&](const Failure& failure) {
    diagnostics.add(DiagnosticKind::kMalformedFile, {}, {{"file", path.string()}, {"problem", failure.message()}});
    return std::nullopt;
  };
  Result<std::string> text = read_file(path, 1 << 20);
  if (!text.ok()) return malformed(text.failure());
  const Result<Json> json = parse_json(*text);
  if (!json.ok()) return malformed(json.failure());
  Result<QuantSection> section = parse_quant_section(*json);
  if (!section.ok()) return malformed(section.failure());
  return std::move(section).value();
}

// The section that holds: the preset's, else what the config describes.
bool choose_section(ModelSource& model, const std::string& preset, const std::filesystem::path& presets, const QuantSection& own, Diagnostics& diagnostics) {
  if (preset.empty()) {
    model.section = own;
    model.quant = own.empty() ? "" : std::string(quant_method_name(own.method));
    return true;
  }
  auto section = read_preset(preset, presets, diagnostics);
  if (!section) return false;
  model.section = std::move(*section);
  model.quant = preset;
  return true;
}

std::optional<QuantSection> section_of_config(const SourceFile& file, Diagnostics& diagnostics) {
  const Result<Json> json = parse_json(file.text);
  Result<QuantSection> section = json.ok() ? quant_section_of_config(*json) : Result<QuantSection>(Failure(json.failure().message()));
  if (section.ok()) return std::move(section).value();
  diagnostics.add(DiagnosticKind::kMalformedFile, {}, {{"file", file.path}, {"problem", section.failure().message()}});
  return std::nullopt;
}

// A name for a file that is not checked in: its folder, or its own stem.
std::string stem_of(const std::filesystem::path& path) {
  const std::filesystem::path absolute = std::filesystem::absolute(path).lexically_normal();
  if (path.filename() == "config.json") return absolute.parent_path().filename().string();
  return absolute.has_filename() ? absolute.stem().string() : absolute.parent_path().filename().string();
}

std::optional<ModelSource> model_of_config(const ModelRegistry& registry, const std::filesystem::path& path, const std::string& preset, const std::filesystem::path& presets,
                                           SourceSet& sources, Diagnostics& diagnostics, const ArchDecl* arch) {
  Result<std::string> text = read_file(path, 16 << 20);
  if (!text.ok()) {
    diagnostics.add(DiagnosticKind::kMalformedFile, {}, {{"file", path.string()}, {"problem", text.failure().message()}});
    return std::nullopt;
  }
  const SourceFile& file = sources.add(path.string(), std::move(text).value());
  auto raw = read_raw_config(file, diagnostics);
  if (raw && arch == nullptr) arch = registry.find_for(*raw, diagnostics);
  auto facts = raw && arch != nullptr ? bind_raw_config(std::move(*raw), *arch, stem_of(path), diagnostics) : std::nullopt;
  const auto own = facts ? section_of_config(file, diagnostics) : std::nullopt;
  if (!own) return std::nullopt;
  ModelSource model{arch, std::move(*facts), {}, {}, {}};
  if (!choose_section(model, preset, presets, *own, diagnostics)) return std::nullopt;
  return model;
}

// The forms of a GGUF file's tensors, dense ones too.
std::vector<QuantForm> forms_of_tensors(const Checkpoint& checkpoint) {
  std::vector<QuantForm> forms;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    const std::optional<QuantForm> form = tensor.blocks ? tensor.blocks : parse_quant_form(dtype_name(tensor.dtype));
    if (form && std::find(forms.begin(), forms.end(), *form) == forms.end()) forms.push_back(*form);
  }
  return forms;
}

Result<RopeFactors> rope_factors_of(const Checkpoint& checkpoint) {
  constexpr uint64_t kMost = 4096;  // pairs of a head
  RopeFactors factors;
  for (const auto& [name, out] : {std::pair("rope_freqs.weight", &factors.all), std::pair("rope_factors_short.weight", &factors.short_set),
                                  std::pair("rope_factors_long.weight", &factors.long_set)}) {
    const TensorInfo* tensor = checkpoint.find(name);
    if (tensor == nullptr) continue;
    if (tensor->count() == 0 || tensor->count() > kMost) return Failure("tensor `" + std::string(name) + "` has " + std::to_string(tensor->count()) + " factors");
    TRY(*out, load_vector(checkpoint, name, tensor->count()));
  }
  return factors;
}

std::optional<ModelSource> model_of_gguf(const ModelRegistry& registry, const std::filesystem::path& path, const std::string& preset, Diagnostics& diagnostics, const ArchDecl* arch) {
  const auto wrong = [&](const std::string& problem) {
    diagnostics.add(DiagnosticKind::kMalformedFile, {}, {{"file", path.string()}, {"problem", problem}});
    return std::nullopt;
  };
  const Result<Checkpoint> checkpoint = Checkpoint::open(path);
  if (!checkpoint.ok()) return wrong(checkpoint.failure().message());
  if (!preset.empty() && preset != "gguf" && preset != "ggml") return wrong("a GGUF file states the form of each tensor; the preset can only be `gguf`, not `" + preset + "`");
  const GgufMetadata& metadata = checkpoint->gguf();
  const auto stated = metadata.text("general.architecture");
  if (!stated.ok()) return wrong(stated.failure().message());
  const std::optional<std::string>& tag = *stated;
  std::vector<const ArchDecl*> archs = tag ? registry.find_for_gguf(*tag) : std::vector<const ArchDecl*>();
  std::stable_partition(archs.begin(), archs.end(), [&](const ArchDecl* one) { return answers_to_gguf(metadata, *one); });
  if (arch == nullptr && archs.empty()) {
    return wrong("`general.architecture` is " + (tag ? "`" + escape_for_message(*tag) + "`" : "missing") + "; supported are " + join(registry.names(), ", "));
  }
  if (arch == nullptr) arch = archs.front();
  const Result<RopeFactors> factors = rope_factors_of(*checkpoint);
  if (!factors.ok()) return wrong(factors.failure().message());
  auto facts = bind_gguf(metadata, checkpoint->tensors(), *factors, *arch, stem_of(path), diagnostics);
  if (!facts) return std::nullopt;
  ModelSource model{arch, std::move(*facts), "gguf", {}, forms_of_tensors(*checkpoint)};
  model.section.method = QuantMethod::kGguf;
  return model;
}

}  // namespace

std::vector<std::string> preset_names(const std::filesystem::path& presets) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(presets, error)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<ModelSource> checked_in_model(const ModelRegistry& registry, const ArchDecl& arch, const std::string& stem, const std::string& preset, const std::filesystem::path& presets,
                                            SourceSet& sources, Diagnostics& diagnostics) {
  auto facts = registry.bind(arch, stem, sources, diagnostics);
  if (!facts) return std::nullopt;
  QuantSection own;
  if (preset.empty() && facts->config_file != nullptr) {
    const auto section = section_of_config(*facts->config_file, diagnostics);
    if (!section) return std::nullopt;
    own = *section;
  }
  ModelSource model{&arch, std::move(*facts), {}, {}, {}};
  if (!choose_section(model, preset, presets, own, diagnostics)) return std::nullopt;
  return model;
}

std::optional<ModelSource> model_of_file(const ModelRegistry& registry, const std::filesystem::path& path, const std::string& preset, const std::filesystem::path& presets,
                                         SourceSet& sources, Diagnostics& diagnostics, const ArchDecl* arch) {
  if (path.extension() == ".gguf") return model_of_gguf(registry, path, preset, diagnostics, arch);
  const bool folder = std::filesystem::is_directory(path);
  return model_of_config(registry, folder ? path / "config.json" : path, preset, presets, sources, diagnostics, arch);
}

cpu::Options target_options(const ModelSource& model, const cpu::Profile& profile, const std::string& kv) {
  cpu::Options options;
  options.profile = &profile;
  options.variants = cpu::variants_for(model.section, model.gguf_forms, profile);
  const bool exact = model.facts.weight_dtype == DType::kF32 && model.section.method != QuantMethod::kGguf;
  options.kv = kv == "f32" || (kv.empty() && exact) ? cpu::KvType::kF32 : kv == "bf16" ? cpu::KvType::kBf16 : kv == "i8" ? cpu::KvType::kI8 : cpu::KvType::kF16;
  return options;
}

}  // namespace scratchy
