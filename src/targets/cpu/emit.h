// Writes the C++ of one compiled program: kernels as instantiations with constant shapes, tapes as constant tables.
//
//   program_*.cc   row programs, steps, tapes, the weight plan and the program record
//   matrix_*.cc    the matrix kernels of one layout; the same for every program that uses it
//
// They include the headers of kernels/ and nothing of the compiler. Equal inputs give equal bytes.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/weight_source.h"
#include "plan/plan.h"
#include "targets/cpu/options.h"

namespace scratchy::cpu {

// A scalar of the config: what a checkpoint must agree with.
struct ConfigValue {
  std::string key;
  double number;
  std::string text;  // empty: the number counts
};

struct EmitInput {
  std::string symbol;  // C++ name of the program, unique in the binary
  std::string arch, stem, quant;
  const Plan* plan;
  WeightPlanView weights;                 // sources by (name, layer)
  std::vector<ConfigValue> config_facts;
  int32_t vocab_size, max_context;
  bool whole_prompt;
};

struct EmittedFile {
  std::string name;
  std::string text;
};

// Facts for make_plan.
PlanFacts plan_facts(const Options& options, int32_t max_tokens);

std::vector<EmittedFile> emit(const EmitInput& input, const Options& options);

// The file that lists the programs of a binary, and the commands it has beyond the ones of every scr.
EmittedFile emit_registry(const std::vector<std::string>& symbols, bool bench);

}  // namespace scratchy::cpu
