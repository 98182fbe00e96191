// The weight plan and the weight table of a program as constants.
#pragma once

#include <string>
#include <string_view>

#include "checkpoint/weight_source.h"
#include "plan/plan.h"

namespace scratchy::cpu {

// `constexpr WeightPlanView kWeightPlan` and what it points to.
std::string emit_weight_plan(const WeightPlanView& plan);

// A C++ string literal; anything but plain ASCII as octal, so that no text can end the literal.
std::string literal(std::string_view text);

// `constexpr WeightRecord kWeights[]`; matrices refer to `kVariants`.
std::string emit_weight_records(const Plan& plan, const WeightPlanView& weights, size_t variant_count);

}  // namespace scratchy::cpu
