// What `scr bench latency --profile` wrote: the measured times of a program's steps.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace scratchy {

// One step, all turns of its segment: thread 0 waiting for the others, then in the kernel.
struct MeasuredStep {
  double wait_s = 0, kernel_s = 0;
};

struct MeasuredTape {
  int64_t rows = 0, depth = 0;
  std::vector<MeasuredStep> steps;  // in the order of the tape
};

struct StepProfile {
  std::string arch, stem, quant;
  MeasuredTape decode, prompt;
};

// The Failure names the file and what is wrong with it.
Result<StepProfile> read_step_profile(const std::filesystem::path& path);

}  // namespace scratchy
