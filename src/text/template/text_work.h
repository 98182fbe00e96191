// Work on texts that filters and methods share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/template/value.h"

namespace scratchy::jinja {

// Without the characters of `characters` (white space when null or none) at its ends.
Value strip_text(Budget& budget, const Value& text, const Value* characters, bool left, bool right);
// The first `count` of `old` (all when negative) replaced; an empty `old` stands between all characters.
std::string replace_text(Budget& budget, std::string_view text, std::string_view old, std::string_view replacement,
                         Integer count);
std::string center_text(Budget& budget, std::string_view text, Integer width, char32_t fill);
std::vector<std::string> split_lines(Budget& budget, std::string_view text, bool keep_ends);
// Lines of at most `width` characters, broken at spaces, as textwrap does.
std::string wrap_words(Budget& budget, std::string_view text, size_t width, bool break_long_words, bool break_on_hyphens,
                       const std::string& separator);
std::vector<Value> select_attribute(Evaluator& evaluator, std::vector<Value> items, const Value& attribute);
Integer add_widths(Integer a, Integer b);
Integer subtract_widths(Integer a, Integer b);

}  // namespace scratchy::jinja
