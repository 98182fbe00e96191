// The target that computes nothing: facts, lowering and emission in the shape every target has, and not a line of code
// as the result.
//
// It keeps the contract honest: a plan is made and checked without any other target, and its emission visits every
// kernel and every operand that a real one would have to write.
#pragma once

#include "base/result.h"
#include "plan/plan.h"

namespace scratchy::null {

// Facts for make_plan: f32 rows and f32 cache planes, as wide as they are.
PlanFacts plan_facts(int32_t max_tokens);

// What an emission saw.
struct Emission {
  int64_t kernels = 0, steps = 0, operands = 0;
};

// Visits everything and writes nothing. A Failure names a kernel that no target can lower: resources are operands, never
// steps, and the ops of a scan's body stand only in one.
Result<Emission> emit(const Plan& plan);

}  // namespace scratchy::null
