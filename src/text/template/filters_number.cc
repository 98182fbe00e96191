// Filters on numbers.
#include <cmath>

#include "text/template/bind.h"
#include "text/template/evaluate.h"
#include "text/template/natives.h"
#include "text/template/numbers.h"
#include "text/template/operators.h"

namespace scratchy::jinja {
namespace {

const Value& need_number(const Value& value, std::string_view what) {
  if (value.is_undefined()) raise_undefined(value);
  if (!value.is_number()) raise("`" + std::string(what) + "` needs a number, not `" + type_name(value) + "`");
  return value;
}

// int(float(text)): what is left when a text is no integer.
Value integer_by_float(const Value& input, const Value& fallback) {
  const auto number = input.is_text() ? parse_float(input.bytes()) : std::nullopt;
  return number && std::isfinite(*number) ? Value(truncate_float(*number)) : fallback;
}

}  // namespace

Value filter_abs(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("abs", arguments, {});
  const Value& number = need_number(self, "abs");
  if (number.is_integral()) return number.integer() < 0 ? negate(number) : Value(number.integer());
  return std::fabs(number.number());
}

Value filter_int(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("int", arguments, {"default", "base"});
  if (self.is_undefined()) raise_undefined(self);
  const Value fallback = bound[0] != nullptr ? *bound[0] : Value(0);
  if (self.is_integral()) return self.integer();
  if (self.is(Kind::kFloat)) return std::isnan(self.number()) ? fallback : Value(truncate_float(self.number()));
  if (!self.is_text()) return fallback;
  evaluator.budget().spend_bytes(self.bytes().size());
  const Integer base = integer_or(bound[1], 10);
  if (base == 0 || (base >= 2 && base <= 36)) {
    if (const auto value = parse_integer(self.bytes(), static_cast<int>(base))) return *value;
  }
  return integer_by_float(self, fallback);
}

Value filter_float(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("float", arguments, {"default"});
  if (self.is_undefined()) raise_undefined(self);
  if (self.is_number()) return self.number();
  if (self.is_text()) {
    evaluator.budget().spend_bytes(self.bytes().size());
    if (const auto value = parse_float(self.bytes())) return *value;
  }
  return bound[0] != nullptr ? *bound[0] : Value(0.0);
}

Value filter_round(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("round", arguments, {"precision", "method"});
  const std::string method = bound[1] != nullptr ? need_text(*bound[1], "round") : "common";
  if (method != "common" && method != "ceil" && method != "floor") raise("`round` goes by common, ceil or floor");
  const Value& number = need_number(self, "round");
  const Integer wanted = integer_or(bound[0], 0);
  const int precision = wanted > 400 ? 400 : wanted < -400 ? -400 : static_cast<int>(wanted);
  if (method == "common") {
    if (number.is_integral()) return round_integer(number.integer(), precision);
    return round_float(number.number(), precision);
  }
  Budget& budget = evaluator.budget();
  const Value scale = apply_binary(budget, BinaryOperator::kPower, 10, precision);
  const double scaled = apply_binary(budget, BinaryOperator::kMultiply, number, scale).number();
  const Integer whole = truncate_float(method == "ceil" ? std::ceil(scaled) : std::floor(scaled));
  return apply_binary(budget, BinaryOperator::kDivide, whole, scale);
}

Value filter_filesizeformat(Evaluator&, const Value& self, const Arguments& arguments) {
  const auto bound = bind("filesizeformat", arguments, {"binary"});
  const bool binary = truth_or(bound[0], false);
  const double bytes = self.is_text() ? parse_float(self.bytes()).value_or(NAN) : need_number(self, "filesizeformat").number();
  if (std::isnan(bytes)) raise("`filesizeformat` needs a number");
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return make_text("1 Byte");
  if (bytes < base) return make_text(integer_text(truncate_float(bytes)) + " Bytes");
  static constexpr std::string_view kLetters = "kMGTPEZY";
  double unit = base;
  size_t at = 0;
  while (at + 1 < kLetters.size() && bytes >= unit * base) unit *= base, ++at;
  char text[400];
  std::snprintf(text, sizeof text, "%.1f ", bytes / unit);
  const char letter = binary && at == 0 ? 'K' : kLetters[at];
  return make_text(std::string(text) + letter + (binary ? "iB" : "B"));
}

}  // namespace scratchy::jinja
