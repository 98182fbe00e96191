// JSON to values.
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "text/template/value.h"

namespace scratchy::jinja {

// Refuses nesting past 128 and texts that are not UTF-8.
Result<Value> value_from_json(const nlohmann::ordered_json& json, int depth = 0);

}  // namespace scratchy::jinja
