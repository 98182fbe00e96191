// What this machine can do, measured in the same minute as a benchmark: the rate at which its threads read memory, and the
// rate of multiply instructions that wait for nothing.
//
// The best of several rounds counts, since anything else on the machine only slows a round down.
#pragma once

#include <string>

#include "runtime/team.h"

namespace scratchy {

// Bytes a second that all threads of the team read together, each its own part of one buffer far larger than the caches.
double read_bandwidth(Team& team);

// Multiply-adds a second of all threads together, operands in registers.
struct MultiplyRate {
  const char* instruction = "";
  double per_s = 0;
};

// Of the instruction that kernels of `profile` multiply 8-bit, bf16 or f32 activations with.
enum class Multiply { kBytes, kBF16, kF32 };
MultiplyRate multiply_rate(Team& team, const std::string& profile, Multiply kind);

}  // namespace scratchy
