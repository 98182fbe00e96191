// Numbers by a format specification.
#include <cmath>
#include <cstdio>

#include "text/template/bind.h"
#include "text/template/characters.h"
#include "text/template/format.h"
#include "text/template/numbers.h"

namespace scratchy::jinja {
namespace {

std::string print_double(double value, char type, int precision, bool alternate) {
  const char format[] = {'%', alternate ? '#' : '0', '.', '*', type, 0};
  std::string plain = std::string("%.*") + type;
  char buffer[1024];
  std::snprintf(buffer, sizeof buffer, alternate ? format : plain.c_str(), precision, value);
  return buffer;
}

std::string float_magnitude(double value, const FormatSpec& spec) {
  const char type = spec.type;
  if (!std::isfinite(value)) {
    const std::string word = std::isnan(value) ? "nan" : "inf";
    return type == 'E' || type == 'F' || type == 'G' ? upper_utf8(word) : word + (type == '%' ? "%" : "");
  }
  if (type == 0 && spec.precision < 0) return float_text(value);
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  if (type == '%') return print_double(value * 100, 'f', precision, spec.alternate) + "%";
  if (type == 0) {
    std::string text = print_double(value, 'g', precision == 0 ? 1 : precision, false);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }
  return print_double(value, type == 'n' ? 'g' : type, precision, spec.alternate);
}

std::string grouped(const std::string& digits, char mark, size_t size) {
  const size_t whole = std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  std::string out;
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % size == 0) out.push_back(mark);
    out.push_back(digits[i]);
  }
  return out + digits.substr(whole);
}

bool is_float_type(char type) { return std::string_view("eEfFgG%").find(type) != std::string_view::npos && type != 0; }

}  // namespace

std::string format_magnitude(const Value& number, const FormatSpec& spec, bool& negative) {
  if (number.is(Kind::kFloat) || is_float_type(spec.type)) {
    if (spec.type != 0 && spec.type != 'n' && !is_float_type(spec.type)) {
      raise(std::string("the format `") + spec.type + "` does not take a float");
    }
    negative = std::signbit(number.number()) && !std::isnan(number.number());
    return float_magnitude(std::fabs(number.number()), spec);
  }
  const Integer value = number.integer();
  negative = value < 0;
  const std::string_view type(&spec.type, spec.type == 0 ? 0 : 1);
  if (type == "c") {
    if (value < 0 || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) raise("`c` needs the code of a character");
    std::string out;
    append_utf8(out, static_cast<char32_t>(value));
    return out;
  }
  const unsigned base = type == "b" ? 2 : type == "o" ? 8 : type == "x" || type == "X" ? 16 : 10;
  if (base == 10 && !type.empty() && type != "d" && type != "n" && type != "i" && type != "u") {
    raise(std::string("the format `") + spec.type + "` does not take an integer");
  }
  std::string digits = integer_text(value, base);
  if (negative) digits.erase(0, 1);
  return type == "X" ? upper_utf8(digits) : digits;
}

std::string pad(Budget& budget, const std::string& text, const FormatSpec& spec, char default_align) {
  const size_t width = width_of(spec.width), length = count_characters(text);
  if (length >= width) return text;
  budget.spend_product(width, 4);
  const size_t missing = width - length;
  const char align = spec.align == 0 ? default_align : spec.align;
  const size_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string out;
  for (size_t i = 0; i < left; ++i) append_utf8(out, spec.fill);
  out += text;
  for (size_t i = left; i < missing; ++i) append_utf8(out, spec.fill);
  return out;
}

std::string format_number(Budget& budget, const Value& number, const FormatSpec& spec) {
  bool negative = false;
  std::string digits = format_magnitude(number, spec, negative);
  if (spec.group != 0) digits = grouped(digits, spec.group, spec.type == 'x' || spec.type == 'b' || spec.type == 'o' ? 4 : 3);
  std::string front = negative ? "-" : spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
  if (spec.alternate && !number.is(Kind::kFloat)) {
    if (spec.type == 'x' || spec.type == 'X' || spec.type == 'o' || spec.type == 'b') front += std::string("0") + spec.type;
  }
  if (spec.align != '=') return pad(budget, front + digits, spec, '>');
  FormatSpec rest = spec;
  rest.width -= static_cast<Integer>(front.size());
  rest.align = '>';
  return front + pad(budget, digits, rest, '>');
}

}  // namespace scratchy::jinja
