// JSON values as constants of the language.
#pragma once

#include <optional>

#include "checkpoint/json.h"
#include "dsl/constant.h"

namespace scratchy {

// The same value: null is none, objects are records in key order. Nothing when an integer needs more than 63 bits or the
// nesting passes Constant::kMaxDepth.
std::optional<Constant> constant_of(const Json& value);

}  // namespace scratchy
