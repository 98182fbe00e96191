// What a step of a tape costs by counting: bytes it must read from memory and multiply-adds it must do.
//
// Weights and caches are read from memory; rows of values stay in the processor's caches and are counted beside them.
// Counts are of the math, not of a kernel: a product of R rows with [O, I] does R * O * I multiply-adds whatever its
// tiles, and every other op one operation a number it makes.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace scratchy {

struct StepCost {
  double weight_bytes = 0, cache_bytes = 0, row_bytes = 0;
  double operations = 0;  // multiply-adds
};

struct CostInput {
  const Plan* plan;
  const Tape* tape;
  std::vector<double> weight_bytes;  // of each of the plan's weights, whole
  int64_t rows = 1;                  // tokens of the step, of one sequence
  int64_t depth = 0;                 // positions before them
};

StepCost step_cost(const CostInput& input, const TapeStep& step);

// What a machine does in a second, and what a step takes on it at best.
struct MachineRate {
  double bytes_per_s = 80e9;
  double multiplies_per_s = 400e9;
  // Threads that wait for each other lose about a microsecond.
  double barrier_s = 1e-6;
};

double predicted_seconds(const StepCost& cost, bool barrier, const MachineRate& rate);

}  // namespace scratchy
