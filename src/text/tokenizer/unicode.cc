#include "text/tokenizer/unicode.h"

#include <utf8proc.h>

namespace scratchy {

void append_char(std::string& out, char32_t c) {
  const auto add = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xC0 | c >> 6);
    add(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    add(0xE0 | c >> 12);
    add(0x80 | (c >> 6 & 0x3F));
    add(0x80 | (c & 0x3F));
  } else {
    add(0xF0 | c >> 18);
    add(0x80 | (c >> 12 & 0x3F));
    add(0x80 | (c >> 6 & 0x3F));
    add(0x80 | (c & 0x3F));
  }
}

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool is_letter_like(utf8proc_category_t kind) {
  return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO) || kind == UTF8PROC_CATEGORY_NL;
}

}  // namespace

bool is_numeric(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

bool is_mark(char32_t c) {
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_MC || kind == UTF8PROC_CATEGORY_ME;
}

bool is_word(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  const auto kind = category(c);
  if (is_letter_like(kind) || is_mark(c)) return true;
  if (kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_PC) return true;
  // Joiners, and the enclosed letters, which are alphabetic symbols.
  return c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) return c > 32 && c < 127 && !(is_word(c) && c != '_');
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

Utf8Step utf8_step(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {Utf8Step::kWhole, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Utf8Step::kBroken, 1};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {Utf8Step::kOpen, i};
    // The second byte's range rules out overlong forms, surrogates and values past U+10FFFF.
    const unsigned low = i > 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = i > 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(i) < low || byte(i) > high) return {Utf8Step::kBroken, i};
  }
  return {Utf8Step::kWhole, length};
}

namespace byte_level {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

struct Alphabet {
  char text[256][2];          // UTF-8; the second byte is 0 when there is one
  int16_t byte[0x100 + 68];   // by character, -1 for none
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet{};
  for (auto& entry : alphabet.byte) entry = -1;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const unsigned c = stands_for_itself(byte) ? byte : next++;
    alphabet.byte[c] = static_cast<int16_t>(byte);
    alphabet.text[byte][0] = static_cast<char>(c < 0x80 ? c : 0xC0 | c >> 6);
    alphabet.text[byte][1] = static_cast<char>(c < 0x80 ? 0 : 0x80 | (c & 0x3F));
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string_view character(unsigned char byte) {
  return {kAlphabet.text[byte], kAlphabet.text[byte][1] == 0 ? size_t{1} : size_t{2}};
}

std::optional<unsigned char> byte_of(char32_t c) {
  if (c >= std::size(kAlphabet.byte) || kAlphabet.byte[c] < 0) return std::nullopt;
  return static_cast<unsigned char>(kAlphabet.byte[c]);
}

void append_bytes(std::string& out, std::string_view token) {
  const size_t before = out.size();
  for (size_t at = 0; at < token.size();) {
    const auto byte = byte_of(next_char(token, at));
    if (!byte) {
      out.resize(before);
      out.append(token);
      return;
    }
    out.push_back(static_cast<char>(*byte));
  }
}

void append_text(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) out.append(character(static_cast<unsigned char>(byte)));
}

}  // namespace byte_level
}  // namespace scratchy
