// Binds the metadata of a GGUF file to an architecture, as bind_config does with a config.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "checkpoint/gguf.h"
#include "checkpoint/tensor_info.h"
#include "config/arch_decl.h"
#include "config/model_facts.h"
#include "config/raw_config.h"

namespace scratchy {

// The metadata under its `general.architecture` as config keys of `arch`; `tensors` tell the vocabulary and whether the
// head is tied. Messages name metadata keys; there is no text to point at. Nothing, with diagnostics, when the tag is not
// one of `arch`, a value has a wrong type, or the file leaves to tensors what a config would say (G21-G24).
std::optional<RawConfig> raw_config_of_gguf(const GgufMetadata& metadata, const std::vector<TensorInfo>& tensors, const ArchDecl& arch,
                                            Diagnostics& diagnostics);

std::optional<ModelFacts> bind_gguf(const GgufMetadata& metadata, const std::vector<TensorInfo>& tensors, const ArchDecl& arch,
                                    const std::string& stem, Diagnostics& diagnostics);

}  // namespace scratchy
