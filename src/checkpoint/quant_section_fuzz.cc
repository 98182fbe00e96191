// Any text as the section of a config or as a preset: it is read or refused, and what was read answers for any module.
#include "checkpoint/json.h"
#include "checkpoint/quant_section.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace scratchy;
  const auto json = parse_json({reinterpret_cast<const char*>(data), size});
  if (!json.ok()) return 0;
  for (const auto& section : {parse_quant_section(*json), quant_section_of_config(*json)}) {
    if (!section.ok()) continue;
    for (const char* module : {"", "lm_head", "model.layers.0.self_attn.q_proj", "model.layers.11.mlp.experts.3.down_proj"}) {
      (void)is_ignored(*section, module);
      (void)width_of(*section, module);
    }
  }
  return 0;
}
