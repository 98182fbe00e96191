// Whether a checkpoint's config says what a program was compiled for.
//
// Tensor names and shapes do not tell two models apart that differ in a rotary base or a multiplier; these numbers do. A
// key is looked for at the top level of config.json, under `text_config`, and among the rotary parameters of either; what
// the config does not say is not compared. GGUF files are compared by their metadata (check_tensors.h).
#pragma once

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "tape/program.h"

namespace scratchy {

// A Failure names the key with both values.
Status check_config(const Checkpoint& checkpoint, const CompiledProgram& program);

}  // namespace scratchy
