// How a checkpoint wants to be sampled: generation_config.json, or `general.sampling.*` of GGUF metadata.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/load_text.h"
#include "runtime/sampler.h"

namespace scratchy {

struct GenerationDefaults {
  SamplingOptions sampling;
  bool stated = false;              // the checkpoint says how
  std::vector<std::string> unused;  // settings that would change the answer and are not supported
};

// `do_sample: false` is greedy, whatever stands beside it; a temperature without `do_sample` counts as sampling. A
// checkpoint that says nothing is greedy. A Failure names the setting of a wrong type or out of range.
Result<GenerationDefaults> generation_defaults(const TextSource& source);

}  // namespace scratchy
