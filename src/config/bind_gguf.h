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

// Rotary factors that a file carries as tensors; empty = none. A frequency is the plain one divided by its factor.
struct RopeFactors {
  std::vector<float> all;                // rope_freqs: Llama 3.1's rule, or Gemma 4's turning pairs of full layers
  std::vector<float> short_set, long_set;  // rope_factors_short, rope_factors_long: LongRoPE
};

// Whether the metadata has the values that tell `arch` from others of its `general.architecture`.
bool answers_to_gguf(const GgufMetadata& metadata, const ArchDecl& arch);

// The metadata under its `general.architecture` as config keys of `arch`; `tensors` tell the vocabulary and whether the
// head is tied and which optional weights there are. Messages name metadata keys; there is no text to point at. Nothing, with diagnostics, when the tag is not
// one of `arch`, a value has a wrong type, or the file leaves to tensors what a config would say (G21-G24).
std::optional<RawConfig> raw_config_of_gguf(const GgufMetadata& metadata, const std::vector<TensorInfo>& tensors, const RopeFactors& factors,
                                            const ArchDecl& arch, Diagnostics& diagnostics);

std::optional<ModelFacts> bind_gguf(const GgufMetadata& metadata, const std::vector<TensorInfo>& tensors, const RopeFactors& factors,
                                    const ArchDecl& arch, const std::string& stem, Diagnostics& diagnostics);

}  // namespace scratchy
