// Small text helpers that messages and parsers share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scratchy {

// `text` fit for a message: control characters, quotes, backslashes and bytes that are not UTF-8 as \xNN, cut after
// `limit` bytes with "...".
std::string escape_for_message(std::string_view text, size_t limit = 120);

// Damerau-Levenshtein distance (insert, delete, substitute, swap of neighbours), in bytes.
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name`, nothing when none is near enough to be a likely slip (distance over a third of the
// length, at least 2). Ties go to the first.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// 1234567 -> "1,234,567".
std::string with_thousands(uint64_t value);

std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// Whether `text` is well-formed UTF-8 (no overlong forms, no surrogates, at most U+10FFFF).
bool is_utf8(std::string_view text);

// Whether `text` fits `pattern`, where `*` stands for any text.
bool fits_pattern(std::string_view pattern, std::string_view text);

}  // namespace scratchy
