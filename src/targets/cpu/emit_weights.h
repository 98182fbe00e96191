// The weight plan and the weight table of a program as constants.
#pragma once

#include <string>

#include "checkpoint/weight_source.h"
#include "plan/plan.h"

namespace scratchy::cpu {

// `constexpr WeightPlanView kWeightPlan` and what it points to.
std::string emit_weight_plan(const WeightPlanView& plan);

// `constexpr WeightRecord kWeights[]`.
std::string emit_weight_records(const Plan& plan, const WeightPlanView& weights, const std::string& symbol, size_t variant_count);

}  // namespace scratchy::cpu
