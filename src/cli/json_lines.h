// Commands that read JSON lines: one object a line in, one a line out.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace scratchy::cli {

// All of standard input; a Failure above `limit` bytes.
Result<std::string> read_standard_input(uint64_t limit = uint64_t{1} << 30);

// Answers each line of standard input that is not blank: what `answer` gives, or {"error": its message}. Returns 1 when
// a line was no JSON object, else 0.
int answer_json_lines(const std::function<Result<nlohmann::ordered_json>(const nlohmann::ordered_json& line)>& answer);

// JSON text of a value, bytes that are not UTF-8 replaced.
std::string to_text(const nlohmann::ordered_json& value);

}  // namespace scratchy::cli
