// The flags that name one model, and what they select: the declarations, the text, the config and the quant form.
//
//   [FILE.fwd] [--arch A] --config C [--quant P] [--target T] [--profile X] [--kv K] [--max-context N] [--plain]
//
// FILE.fwd is the text to compile instead of models/<arch>/forward.fwd; its declarations are the arch.json beside it, or
// those of --arch, or those of the architecture that the config names. C is the stem of a checked-in config, or the path
// of a config.json, a GGUF file or a checkpoint folder.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compiler/commands/commands.h"
#include "compiler/model_source.h"

namespace scratchy {

struct ModelFlags {
  CommonArguments common;
  std::filesystem::path file;
  std::string arch, config, quant, target = "cpu", profile = "x86-64-v3", kv;
  int max_context = 0;
  bool plain = false;
};

// All of the above but --config, which commands word for themselves.
void add_model_flags(Command& command, ModelFlags& flags);

struct SelectedModel {
  std::unique_ptr<const ArchDecl> own_arch;  // of an arch.json outside of the models folder
  const ArchDecl* arch;
  ModelSource source;
  Program program;
};

// The registry must outlive the selection. Nothing, with diagnostics, when a flag or a file is wrong.
std::optional<SelectedModel> select_model(const ModelFlags& flags, const ModelRegistry& registry, SourceSet& sources, Diagnostics& diagnostics);

// Options of the pipeline for a selected model. Nothing, with a diagnostic, for an unknown target or profile.
std::optional<PipelineOptions> pipeline_options(const ModelFlags& flags, const ModelSource& source, Diagnostics& diagnostics);

}  // namespace scratchy
