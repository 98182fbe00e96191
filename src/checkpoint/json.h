// One way into JSON that others wrote: config files, tensor indexes, presets.
//
// The text is untrusted. Nesting is capped, keys may not repeat, integers are exact in 64 bits (a larger one is refused,
// never turned into a float), numbers are finite, nothing may follow the value, and there is no byte order mark. Every
// refusal says the line and column (both from 1, columns in bytes) where the offending token ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace scratchy {

using Json = nlohmann::json;

struct JsonLimits {
  uint64_t max_bytes = uint64_t{64} << 20;
  int max_depth = 128;
  // Values and keys together: bounds the memory of the parsed form, some 100 bytes each.
  uint64_t max_values = 4'000'000;
};

// The value `text` spells. A Failure reads "line 3, column 14: key `a` appears twice".
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

// As parse_json, of the file at `path`, which its Failures name.
Result<Json> read_json(const std::filesystem::path& path, const JsonLimits& limits = {});

// "line L, column C" of the byte at `offset` of `text`.
std::string line_and_column(std::string_view text, uint64_t offset);

}  // namespace scratchy
