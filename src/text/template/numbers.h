// Numbers as Python reads, computes and writes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/template/value.h"

namespace scratchy::jinja {

std::string integer_text(Integer value, unsigned base = 10);
// repr(float): the shortest digits that read back equal; an exponent below 1e-4 and from 1e16 on.
std::string float_text(double value);
// int(text, base): white space around, a sign, underscores between digits, a prefix where `base` is 0 or fits it.
// Nothing when Python would refuse; raises past 128 bits.
std::optional<Integer> parse_integer(std::string_view text, int base);
// float(text), "inf" and "nan" included.
std::optional<double> parse_float(std::string_view text);
// Truncation; raises for infinities, NaN and past 128 bits.
Integer truncate_float(double value);
// round(value, digits) to even on the decimal expansion.
double round_float(double value, int digits);
Integer round_integer(Integer value, int digits);

// Checked arithmetic; each raises past 128 bits.
Integer add_integers(Integer a, Integer b);
Integer subtract_integers(Integer a, Integer b);
Integer multiply_integers(Integer a, Integer b);
Integer power_integers(Integer base, Integer exponent);  // exponent >= 0
// Floor division and its remainder; the divisor is not 0.
Integer floor_divide(Integer a, Integer b);
Integer floor_modulo(Integer a, Integer b);
double floor_divide(double a, double b);
double floor_modulo(double a, double b);

}  // namespace scratchy::jinja
