#include "text/template/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "text/template/characters.h"

namespace scratchy::jinja {
namespace {

constexpr Integer kMaxInteger = static_cast<Integer>(~static_cast<unsigned __int128>(0) >> 1);

[[noreturn]] void raise_overflow() { raise("an integer is past 128 bits"); }

std::string_view stripped(std::string_view text) {
  const auto space = [](char c) { return is_space(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 0x80; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

// Digits without the underscores between them; nothing when one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out.push_back(text[i]);
    } else if (i == 0 || i + 1 == text.size() || !std::isalnum(static_cast<unsigned char>(text[i - 1])) ||
               !std::isalnum(static_cast<unsigned char>(text[i + 1]))) {
      return std::nullopt;
    }
  }
  return out;
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

// Removes "0x", "0o" or "0b" where `base` is 0 or the prefix's own, and settles base 0.
void take_prefix(std::string_view& text, int& base) {
  const char mark = text.size() > 2 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : ' ';
  const int marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
  if (marked != 0 && (base == 0 || base == marked)) {
    text.remove_prefix(text[2] == '_' ? 3 : 2);
    base = marked;
  }
  if (base == 0) base = 10;
}

}  // namespace

std::string integer_text(Integer value, unsigned base) {
  unsigned __int128 rest = static_cast<unsigned __int128>(value);
  if (value < 0) rest = -rest;
  std::string out;
  do {
    out.push_back("0123456789abcdef"[static_cast<size_t>(rest % base)]);
    rest /= base;
  } while (rest != 0);
  if (value < 0) out.push_back('-');
  std::reverse(out.begin(), out.end());
  return out;
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  std::string digits;
  for (char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  std::string out = text[0] == '-' ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1) + (count > 1 ? "." + digits.substr(1) : "");
    const int size = std::abs(exponent);
    return out + (exponent < 0 ? "e-" : "e+") + (size < 10 ? "0" : "") + std::to_string(size);
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1) return out + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  return out + digits.substr(0, static_cast<size_t>(exponent) + 1) + "." + digits.substr(static_cast<size_t>(exponent) + 1);
}

std::optional<Integer> parse_integer(std::string_view source, int base) {
  std::string_view text = stripped(source);
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  take_prefix(text, base);
  const auto digits = without_underscores(text);
  if (!digits || digits->empty()) return std::nullopt;
  for (char c : *digits) {
    if (digit_value(c) >= base) return std::nullopt;
  }
  Integer value = 0;
  for (char c : *digits) value = add_integers(multiply_integers(value, base), digit_value(c));
  return negative ? -value : value;
}

std::optional<double> parse_float(std::string_view source) {
  const auto text = without_underscores(stripped(source));
  if (!text || text->empty()) return std::nullopt;
  std::string lower = lower_utf8(*text);
  const size_t sign = lower[0] == '-' || lower[0] == '+' ? 1 : 0;
  const std::string_view word = std::string_view(lower).substr(sign);
  const double factor = lower[0] == '-' ? -1.0 : 1.0;
  if (word == "inf" || word == "infinity") return factor * HUGE_VAL;
  if (word == "nan") return std::nan("");
  if (word.empty() || word.find_first_not_of("0123456789.e+-") != std::string_view::npos) return std::nullopt;
  if (word[0] == '+' || word[0] == '-') return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(lower.c_str() + sign, &end);
  if (end != lower.c_str() + lower.size()) return std::nullopt;
  return factor * value;
}

Integer truncate_float(double value) {
  if (!std::isfinite(value)) raise("cannot convert float " + float_text(value) + " to an integer");
  if (std::fabs(value) >= 0x1p126) raise_overflow();
  return static_cast<Integer>(value);
}

double round_float(double value, int digits) {
  if (!std::isfinite(value) || digits > 300) return value;
  if (digits < 0) {
    if (digits < -308) return 0.0 * value;
    const double scale = std::pow(10.0, -digits);
    return std::nearbyint(value / scale) * scale;
  }
  char buffer[800];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return std::strtod(buffer, nullptr);
}

Integer round_integer(Integer value, int digits) {
  if (digits >= 0) return value;
  if (digits < -37) return 0;
  const Integer scale = power_integers(10, -digits);
  Integer quotient = floor_divide(value, scale);
  const Integer rest = value - quotient * scale;
  if (rest * 2 > scale || (rest * 2 == scale && quotient % 2 != 0)) ++quotient;
  return multiply_integers(quotient, scale);
}

Integer add_integers(Integer a, Integer b) {
  Integer sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) raise_overflow();
  return sum;
}

Integer subtract_integers(Integer a, Integer b) {
  Integer difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) raise_overflow();
  return difference;
}

// By division: the overflow builtin on 128 bits needs a run-time library that clang does not link by default.
Integer multiply_integers(Integer a, Integer b) {
  if (a == 0 || b == 0) return 0;
  if (a < -kMaxInteger || b < -kMaxInteger) raise_overflow();
  const Integer x = a < 0 ? -a : a, y = b < 0 ? -b : b;
  if (x > kMaxInteger / y) raise_overflow();
  return a * b;
}

Integer power_integers(Integer base, Integer exponent) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  Integer out = 1;
  for (Integer i = 0; i < exponent; ++i) out = multiply_integers(out, base);
  return out;
}

Integer floor_divide(Integer a, Integer b) {
  if (b == -1) return subtract_integers(0, a);
  const Integer quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Integer floor_modulo(Integer a, Integer b) {
  if (b == -1) return 0;
  const Integer rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double floor_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double floor_divide(double a, double b) {
  const double quotient = (a - floor_modulo(a, b)) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

}  // namespace scratchy::jinja
