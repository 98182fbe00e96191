// Token ids as people write them on command lines and in files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace scratchy {

// The ids of a text: numbers between commas, spaces, newlines or brackets, at least one. `where` names the text in a
// Failure.
Result<std::vector<int32_t>> parse_token_ids(std::string_view text, const std::string& where);

// The ids of `ids` (a flag's value) where it is not empty, else of the file `ids_file`.
Result<std::vector<int32_t>> read_token_ids(const std::string& ids, const std::string& ids_file);

}  // namespace scratchy
