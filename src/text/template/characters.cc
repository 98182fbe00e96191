#include "text/template/characters.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace scratchy::jinja {
namespace {

struct CharacterRun {
  uint32_t first, last, stride;
};
struct CharacterShift {
  uint32_t first, last, stride;
  int32_t distance;
};
struct CharacterSpread {
  uint32_t code, a, b, c;
};

#include "text/template/character_tables.inc"

template <size_t N>
bool contains(const CharacterRun (&runs)[N], char32_t c) {
  const auto* after = std::upper_bound(std::begin(runs), std::end(runs), c,
                                       [](char32_t code, const CharacterRun& run) { return code < run.first; });
  if (after == std::begin(runs)) return false;
  const CharacterRun& run = *std::prev(after);
  return c <= run.last && (c - run.first) % run.stride == 0;
}

// Appends what `c` maps to; false when neither table has it. Runs of stride 2 may interleave, hence the look back.
template <size_t N, size_t M>
bool append_mapped(std::u32string& out, char32_t c, const CharacterShift (&shifts)[N],
                   const CharacterSpread (&spreads)[M]) {
  for (const CharacterSpread& spread : spreads) {
    if (spread.code != c || c == 0) continue;
    for (uint32_t to : {spread.a, spread.b, spread.c}) {
      if (to != 0) out.push_back(to);
    }
    return true;
  }
  const auto* after = std::upper_bound(std::begin(shifts), std::end(shifts), c,
                                       [](char32_t code, const CharacterShift& shift) { return code < shift.first; });
  for (int back = 0; back < 6 && after != std::begin(shifts); ++back) {
    --after;
    if (c <= after->last && (c - after->first) % after->stride == 0) {
      out.push_back(static_cast<char32_t>(static_cast<int64_t>(c) + after->distance));
      return true;
    }
  }
  return false;
}

void append_lower(std::u32string& out, char32_t c) {
  if (!append_mapped(out, c, kToLowerOne, kToLowerSeveral)) out.push_back(c);
}
void append_upper(std::u32string& out, char32_t c) {
  if (c < 0x80) {
    out.push_back(c >= 'a' && c <= 'z' ? c - 32 : c);
  } else if (!append_mapped(out, c, kToUpperOne, kToUpperSeveral)) {
    out.push_back(c);
  }
}
void append_title(std::u32string& out, char32_t c) {
  if (!append_mapped(out, c, kToTitleOne, kToTitleSeveral)) append_upper(out, c);
}

// U+03A3 is a final sigma after a cased letter and before none, case-ignorable characters aside.
bool is_final_sigma(std::u32string_view text, size_t at) {
  size_t before = at;
  while (before > 0 && contains(kCaseIgnorable, text[before - 1])) --before;
  if (before == 0 || !contains(kCased, text[before - 1])) return false;
  size_t after = at + 1;
  while (after < text.size() && contains(kCaseIgnorable, text[after])) ++after;
  return after == text.size() || !contains(kCased, text[after]);
}

void append_lower_at(std::u32string& out, std::u32string_view text, size_t at) {
  const char32_t c = text[at];
  if (c < 0x80) {
    out.push_back(c >= 'A' && c <= 'Z' ? c + 32 : c);
  } else if (c == 0x3A3) {
    out.push_back(is_final_sigma(text, at) ? 0x3C2 : 0x3C3);
  } else {
    append_lower(out, c);
  }
}

// The code point at `at` of `text` and its length in bytes; U+FFFD of length 1 where the bytes are not UTF-8.
struct Decoded {
  char32_t character;
  size_t bytes;
};
Decoded decode_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return {0xFFFD, 1};
  char32_t c = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {0xFFFD, 1};
    c = (c << 6) | (byte(at + i) & 0x3F);
  }
  const bool overlong = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
  if (overlong || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return {0xFFFD, 1};
  return {c, length};
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Decoded next = decode_at(text, at);
    out.push_back(next.character);
    at += next.bytes;
  }
  return out;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6)), put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12)), put(0x80 | ((c >> 6) & 0x3F)), put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18)), put(0x80 | ((c >> 12) & 0x3F)), put(0x80 | ((c >> 6) & 0x3F)), put(0x80 | (c & 0x3F));
  }
}

std::string encode_utf8(std::u32string_view characters) {
  std::string out;
  out.reserve(characters.size());
  for (char32_t c : characters) append_utf8(out, c);
  return out;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) at += decode_at(text, at).bytes;
  return count;
}

bool is_alphabetic(char32_t c) { return contains(kAlphabetic, c); }
bool is_decimal(char32_t c) { return contains(kDecimal, c); }
bool is_digit(char32_t c) { return contains(kDigit, c); }
bool is_numeric(char32_t c) { return contains(kNumeric, c); }
bool is_space(char32_t c) { return contains(kSpace, c); }
bool is_upper(char32_t c) { return contains(kUpper, c); }
bool is_lower(char32_t c) { return contains(kLower, c); }
bool is_title(char32_t c) { return contains(kTitle, c); }
bool is_printable(char32_t c) { return contains(kPrintable, c); }
bool is_name_start(char32_t c) { return contains(kNameStart, c); }
bool is_name_part(char32_t c) { return contains(kNamePart, c); }
bool is_line_end(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

std::u32string to_lower(std::u32string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size(); ++i) append_lower_at(out, text, i);
  return out;
}

std::u32string to_upper(std::u32string_view text) {
  std::u32string out;
  for (char32_t c : text) append_upper(out, c);
  return out;
}

std::u32string to_folded(std::u32string_view text) {
  std::u32string out;
  for (char32_t c : text) {
    if (!append_mapped(out, c, kToFoldedOne, kToFoldedSeveral)) append_lower(out, c);
  }
  return out;
}

std::u32string to_swapped(std::u32string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_upper(text[i])) {
      append_lower_at(out, text, i);
    } else if (is_lower(text[i])) {
      append_upper(out, text[i]);
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::u32string to_capitalized(std::u32string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == 0) {
      append_title(out, text[i]);
    } else {
      append_lower_at(out, text, i);
    }
  }
  return out;
}

std::u32string to_titled(std::u32string_view text) {
  std::u32string out;
  bool in_word = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (in_word) {
      append_lower_at(out, text, i);
    } else {
      append_title(out, text[i]);
    }
    in_word = is_cased(text[i]);
  }
  return out;
}

std::string lower_utf8(std::string_view text) { return encode_utf8(to_lower(decode_utf8(text))); }
std::string upper_utf8(std::string_view text) { return encode_utf8(to_upper(decode_utf8(text))); }

}  // namespace scratchy::jinja
