// Any text as a config.json of every architecture: it binds or is refused with diagnostics.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "config/bind_config.h"
#include "config/read_arch.h"

namespace {

// One architecture with every feature of the format, so that the target needs no files.
constexpr const char* kStd = R"({
  "keys": {"num_hidden_layers": {"type": "int", "min": 1, "max": 64}, "hidden_size": {"type": "int", "min": 1, "max": 65536},
    "num_attention_heads": {"type": "int", "min": 1, "max": 64}, "head_dim": {"type": "int", "min": 1, "max": 512, "null": "absent"},
    "layer_types": {"type": "texts", "null": "absent"}, "hidden_act": {"type": "text"}, "rms_norm_eps": {"type": "float", "min": 1e-30, "max": 1.0},
    "rope_parameters": {"type": "rope"}, "sliding_window": {"type": "int", "min": 0, "max": 65536, "null": 0},
    "global_head_dim": {"type": "int", "min": 1, "max": 512, "null": "absent"}, "mlp_only_layers": {"type": "ints", "null": "absent"},
    "use_bias": {"type": "bool"}, "other": {"type": "any"}},
  "defaults": {"head_dim": "hidden_size / num_attention_heads", "layer_types": "[\"full_attention\" for layer in 0..num_hidden_layers]"},
  "refused": [{"when": "len(layer_types) != num_hidden_layers", "key": "layer_types", "reason": "it lists {len(layer_types)} layers"}],
  "irrelevant": {"*_token_id": "read by the tokenizer", "architectures": "read to find the architecture"}
})";
constexpr const char* kArch = R"({
  "architectures": ["A"], "model_types": ["a"],
  "config": ["num_hidden_layers", "hidden_size", "num_attention_heads", "head_dim", "layer_types", "hidden_act", "rms_norm_eps", "rope_parameters",
    "sliding_window", "global_head_dim", "mlp_only_layers", "use_bias", "other"],
  "aliases": {"hidden_act": ["hidden_activation"]}, "defaults": {"hidden_act": "\"silu\"", "rms_norm_eps": 1e-6, "sliding_window": 0},
  "derived": {"sliding_window": "use_bias ? sliding_window : 0"}, "per_layer_config": {"head_dim": "global_head_dim"},
  "rope": {"types": ["default", "linear", "yarn", "longrope"], "kinds": {
    "full_attention": {"theta": ["rope_theta"], "scaled": true, "defaults": {"rope_theta": 10000.0, "partial_rotary_factor": 1.0}},
    "sliding_attention": {"theta": ["rope_local_base_freq"], "defaults": {"rope_theta": 10000.0, "partial_rotary_factor": 1.0}}}},
  "layer_weights": {"w": {"rows": "layer + head_dim"}}
})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace scratchy;
  SourceSet sources;
  Diagnostics declared;
  const auto shared = read_std(sources.add("std.json", kStd), declared);
  const auto arch = shared ? read_arch(sources.add("arch.json", kArch), "a", *shared, sources, declared) : std::nullopt;
  if (!arch) std::abort();
  Diagnostics diagnostics;
  const SourceFile& config = sources.add("config.json", std::string(reinterpret_cast<const char*>(data), size));
  const auto facts = bind_config(config, *arch, "fuzz", diagnostics);
  if (facts.has_value() != diagnostics.empty()) std::abort();
  (void)diagnostics.to_text();
  return 0;
}
