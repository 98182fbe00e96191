// Characters as Python's str sees them: code points, their classes and their case mappings (Unicode 14).
//
// Text is UTF-8 outside and code points where a method needs positions. Tables are probed from CPython by
// make_character_tables.py. Not here: grapheme clusters and normal forms, which str knows nothing of either.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scratchy::jinja {

// Code points of well-formed UTF-8; a byte that is not well-formed counts as one U+FFFD.
std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view characters);
void append_utf8(std::string& out, char32_t character);
size_t count_characters(std::string_view text);

// Classes, named as the methods of str.
bool is_alphabetic(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_space(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);
bool is_printable(char32_t c);
bool is_name_start(char32_t c);
bool is_name_part(char32_t c);
bool is_line_end(char32_t c);
inline bool is_cased(char32_t c) { return is_upper(c) || is_lower(c) || is_title(c); }
inline bool is_alphanumeric(char32_t c) { return is_alphabetic(c) || is_decimal(c) || is_digit(c) || is_numeric(c); }

// Full case mappings of whole texts; lower case knows the final sigma.
std::u32string to_lower(std::u32string_view text);
std::u32string to_upper(std::u32string_view text);
std::u32string to_folded(std::u32string_view text);
std::u32string to_swapped(std::u32string_view text);
std::u32string to_capitalized(std::u32string_view text);
std::u32string to_titled(std::u32string_view text);

// The same on UTF-8.
std::string lower_utf8(std::string_view text);
std::string upper_utf8(std::string_view text);

}  // namespace scratchy::jinja
