// Python's two ways of formatting: `'%5.2f' % x` and `'{:>5}'.format(x)`. Widths are paid for before they are filled and
// precisions end at 300 digits; attributes in fields go through the sandbox.
#pragma once

#include <string>

#include "text/template/value.h"

namespace scratchy::jinja {

// `format % arguments`: a tuple is several, a dict is looked up by name, all else is one.
Value format_percent(Budget& budget, const Value& format, const Value& arguments);

// format.format(...); `mapping`, if not nullptr, is what names refer to (format_map).
Value format_braces(Evaluator& evaluator, const Value& format, const Arguments& arguments, const Dict* mapping);

// A parsed `[[fill]align][sign][#][0][width][,][.precision][type]`; `%` formats fill the same fields.
struct FormatSpec {
  char32_t fill = ' ';
  char align = 0;  // '<', '>', '^', '=' or none
  char sign = '-';
  bool alternate = false;
  char group = 0;
  Integer width = 0;
  int precision = -1;
  char type = 0;
};
constexpr int kMaxPrecision = 300;

// The digits of a number by spec.type (d, b, o, x, X, c, e, f, g, %, none), without width; `negative` is its sign.
std::string format_magnitude(const Value& number, const FormatSpec& spec, bool& negative);
// Sign, prefix, digits and padding.
std::string format_number(Budget& budget, const Value& number, const FormatSpec& spec);
std::string pad(Budget& budget, const std::string& text, const FormatSpec& spec, char default_align);

}  // namespace scratchy::jinja
