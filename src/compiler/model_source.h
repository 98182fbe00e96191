// Where a model to compile comes from: a checked-in config, or a config.json, GGUF file or checkpoint folder of the user.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/quant_section.h"
#include "config/model_registry.h"
#include "targets/cpu/options.h"

namespace scratchy {

struct ModelSource {
  const ArchDecl* arch;
  ModelFacts facts;
  std::string quant;     // as shown: the preset's name, "gguf", a method's name; "" = dense
  QuantSection section;  // what decides the forms
  std::vector<QuantForm> gguf_forms;  // those a GGUF file has; empty: any
};

// The files of a presets folder without their ending, sorted.
std::vector<std::string> preset_names(const std::filesystem::path& presets);

std::optional<ModelSource> checked_in_model(const ModelRegistry& registry, const ArchDecl& arch, const std::string& stem, const std::string& preset, const std::filesystem::path& presets,
                                            SourceSet& sources, Diagnostics& diagnostics);

// The architecture is found by the config's class and model type or GGUF's general.architecture; the quant form by the
// checkpoint's own description unless `preset` says otherwise. `arch` settles the architecture.
std::optional<ModelSource> model_of_file(const ModelRegistry& registry, const std::filesystem::path& path, const std::string& preset, const std::filesystem::path& presets,
                                         SourceSet& sources, Diagnostics& diagnostics, const ArchDecl* arch = nullptr);

// Layouts, activations and cache type for a model: `kv` "" means f16, but f32 where the config says float32.
cpu::Options target_options(const ModelSource& model, const cpu::Profile& profile, const std::string& kv);

}  // namespace scratchy
