// Whether a checkpoint is one of the program's model: every weight is there, every tensor is wanted, and a GGUF file's
// metadata says the numbers the program was built for.
#pragma once

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/weight_source.h"

namespace scratchy {

// The prefix under which every weight is found. A Failure lists the missing weights (all at once) of the prefix that fits
// best, or names two prefixes that both fit.
Result<WeightRoot> choose_root(const Checkpoint& checkpoint, const WeightPlanView& plan);

// choose_root, and every tensor is read by some weight or ignored for a stated reason; the others are listed all at once.
// GGUF metadata is compared with the plan's expectations.
Result<WeightRoot> check_tensors(const Checkpoint& checkpoint, const WeightPlanView& plan);

// Whether tensors that repeat a weight, the stored head of a tied model, hold the same bytes. Reads both.
Status check_copies(const Checkpoint& checkpoint, const WeightPlanView& plan, const WeightRoot& root);

}  // namespace scratchy
