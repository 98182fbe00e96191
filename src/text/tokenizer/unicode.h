// Characters: walking valid UTF-8, the classes that tokenizers ask about, and the byte-level alphabet.
//
// Everything here works on text already known to be UTF-8, except Utf8Step, which judges bytes of unknown worth.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace scratchy {

// The character at text[at] of valid UTF-8; moves `at` past it.
inline char32_t next_char(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  if (lead < 0x80) return text[at++];
  if (lead < 0xE0) {
    at += 2;
    return (lead & 0x1F) << 6 | (byte(at - 1) & 0x3F);
  }
  if (lead < 0xF0) {
    at += 3;
    return (lead & 0x0F) << 12 | (byte(at - 2) & 0x3F) << 6 | (byte(at - 1) & 0x3F);
  }
  at += 4;
  return (lead & 0x07) << 18 | (byte(at - 3) & 0x3F) << 12 | (byte(at - 2) & 0x3F) << 6 | (byte(at - 1) & 0x3F);
}

// Bytes of the character whose first byte is `lead`, in valid UTF-8.
inline size_t char_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// Where the character that ends at `end` > 0 starts, in valid UTF-8.
inline size_t char_before(std::string_view text, size_t end) {
  do --end;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

void append_char(std::string& out, char32_t c);

bool is_white_space(char32_t c);   // Unicode White_Space
bool is_numeric(char32_t c);       // categories Nd, Nl, No
bool is_word(char32_t c);          // alphabetic, mark, decimal digit, connector, joiner: \w of Unicode regexes
bool is_punctuation(char32_t c);   // ASCII punctuation and categories P*
bool is_mark(char32_t c);          // categories Mn, Mc, Me

// One step over bytes that may not be UTF-8: `length` bytes are a character (kWhole), never the start of one (kBroken:
// the longest part that one U+FFFD stands for), or a start that more bytes could complete (kOpen).
struct Utf8Step {
  enum Kind { kWhole, kBroken, kOpen } kind;
  size_t length;
};
Utf8Step utf8_step(std::string_view bytes);

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// The byte-level alphabet: one printable character for each byte value. 33-126, 161-172 and 174-255 stand for
// themselves, the others in order from U+0100.
namespace byte_level {

std::string_view character(unsigned char byte);      // UTF-8 of the character of a byte
std::optional<unsigned char> byte_of(char32_t c);    // the byte of a character

// Appends the bytes that `token` spells, or `token` itself when one of its characters is not of the alphabet.
void append_bytes(std::string& out, std::string_view token);
// Appends `bytes` spelled in the alphabet.
void append_text(std::string& out, std::string_view bytes);

}  // namespace byte_level
}  // namespace scratchy
