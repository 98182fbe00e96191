#include "dsl/constant_math.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace scratchy {
namespace {

constexpr BuiltinInfo kBuiltins[] = {
#define BUILTIN(name, spelling, least, most, text) {spelling, least, most, text},
#include "dsl/builtin.def"
#undef BUILTIN
};

Complaint complain(DiagnosticKind kind, DiagnosticFacts facts, std::string hint = {}) { return {kind, std::move(facts), std::move(hint)}; }

Complaint wrong_kind(std::string what, std::string wanted, const Constant& got, std::string hint = {}) {
  return complain(DiagnosticKind::kWrongKind, {{"what", std::move(what)}, {"wanted", std::move(wanted)}, {"got", to_string(got, 60)}}, std::move(hint));
}

std::string expression_text(Operator op, const Constant& left, const Constant& right) {
  return to_string(left, 40) + " " + std::string(spelling(op)) + " " + to_string(right, 40);
}

Complaint no_value(std::string text, std::string why) {
  return complain(DiagnosticKind::kNoValue, {{"expression", std::move(text)}, {"why", std::move(why)}});
}

// A float result: NaN and overflow to infinity have no value.
ConstantOutcome real_result(double value, bool operands_finite, const std::string& text) {
  if (std::isnan(value)) return no_value(text, "it is not a number");
  if (std::isinf(value) && operands_finite) return no_value(text, "it is too large");
  return Constant::real(value);
}

ConstantOutcome integer_power(int64_t base, int64_t exponent, const std::string& text) {
  int64_t result = 1;
  if (base == 0 || base == 1) return Constant::integer(exponent == 0 ? 1 : base);
  if (base == -1) return Constant::integer(exponent % 2 == 0 ? 1 : -1);
  for (int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) return no_value(text, "it doesn't fit in 64 bits");
  }
  return Constant::integer(result);
}

ConstantOutcome integer_binary(Operator op, int64_t a, int64_t b, const std::string& text) {
  int64_t result = 0;
  const bool divides = op == Operator::kDiv || op == Operator::kRem;
  if (divides && b == 0) return no_value(text, "it divides by 0");
  if (divides && b == -1) {
    if (op == Operator::kRem) return Constant::integer(0);
    if (__builtin_sub_overflow(int64_t{0}, a, &result)) return no_value(text, "it doesn't fit in 64 bits");
    return Constant::integer(result);
  }
  if (op == Operator::kDiv) return a % b == 0 ? Constant::integer(a / b) : Constant::real(static_cast<double>(a) / static_cast<double>(b));
  if (op == Operator::kRem) return Constant::integer(a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b);
  if (op == Operator::kPow) {
    return b >= 0 ? integer_power(a, b, text) : real_result(std::pow(static_cast<double>(a), static_cast<double>(b)), true, text);
  }
  const bool overflows = op == Operator::kAdd   ? __builtin_add_overflow(a, b, &result)
                         : op == Operator::kSub ? __builtin_sub_overflow(a, b, &result)
                                                : __builtin_mul_overflow(a, b, &result);
  if (overflows) return no_value(text, "it doesn't fit in 64 bits");
  return Constant::integer(result);
}

ConstantOutcome real_binary(Operator op, double a, double b, const std::string& text) {
  const bool finite = std::isfinite(a) && std::isfinite(b);
  if ((op == Operator::kDiv || op == Operator::kRem) && b == 0) return no_value(text, "it divides by 0");
  if (op == Operator::kAdd) return real_result(a + b, finite, text);
  if (op == Operator::kSub) return real_result(a - b, finite, text);
  if (op == Operator::kMul) return real_result(a * b, finite, text);
  if (op == Operator::kDiv) return real_result(a / b, finite, text);
  if (op == Operator::kRem) return real_result(a - b * std::floor(a / b), finite, text);
  return real_result(std::pow(a, b), finite, text);
}

ConstantOutcome arithmetic(Operator op, const Constant& left, const Constant& right) {
  if (op == Operator::kAdd && left.is_string() && right.is_string()) {
    if (left.as_string().size() + right.as_string().size() > kMaxElements) return no_value("a + b", "the text is too long");
    return Constant::text(left.as_string() + right.as_string());
  }
  if (op == Operator::kAdd && left.is_list() && right.is_list()) {
    Constant::List both = left.as_list();
    if (both.size() + right.as_list().size() <= kMaxElements) both.insert(both.end(), right.as_list().begin(), right.as_list().end());
    else return no_value("a + b", "the list is too long");
    return make_list(std::move(both));
  }
  const std::string text = expression_text(op, left, right);
  for (const Constant* side : {&left, &right}) {
    if (!side->is_number()) {
      return wrong_kind("operand of `" + std::string(spelling(op)) + "`", "a number", *side,
                        side->is_none() ? "the value is none here; test it first: `x != none ? .. : ..`" : "");
    }
  }
  if (!left.is_float() && !right.is_float()) return integer_binary(op, left.as_int(), right.as_int(), text);
  return real_binary(op, left.as_number(), right.as_number(), text);
}

// An integer against a fraction compares exactly enough: both as f64.
ConstantOutcome compare(Operator op, const Constant& left, const Constant& right) {
  for (const Constant* side : {&left, &right}) {
    if (!side->is_number()) {
      return wrong_kind("operand of `" + std::string(spelling(op)) + "`", "a number", *side,
                        side->is_none() ? "the value is none here; test it first: `x != none && x > 0`" : "");
    }
  }
  const bool whole = !left.is_float() && !right.is_float();
  const bool less = whole ? left.as_int() < right.as_int() : left.as_number() < right.as_number();
  const bool same = whole ? left.as_int() == right.as_int() : left.as_number() == right.as_number();
  if (op == Operator::kLess) return Constant::boolean(less);
  if (op == Operator::kLessEqual) return Constant::boolean(less || same);
  if (op == Operator::kGreater) return Constant::boolean(!less && !same);
  return Constant::boolean(!less);
}

ConstantOutcome contains(const Constant& element, const Constant& list) {
  if (!list.is_list()) return wrong_kind("right side of `in`", "a list", list);
  for (const Constant& candidate : list.as_list()) {
    if (candidate == element) return Constant::boolean(true);
  }
  return Constant::boolean(false);
}

ConstantOutcome logic(Operator op, const Constant& left, const Constant& right) {
  for (const Constant* side : {&left, &right}) {
    if (!side->is_bool()) return wrong_kind("operand of `" + std::string(spelling(op)) + "`", "true or false", *side, "compare it: `x != 0` or `x != none`");
  }
  return Constant::boolean(op == Operator::kAnd ? left.as_bool() && right.as_bool() : left.as_bool() || right.as_bool());
}

// Nearest bf16, ties to even.
double round_to_bf16(double value) {
  if (!std::isfinite(value)) return value;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u;
  return std::bit_cast<float>(rounded);
}

ConstantOutcome to_integer(double value, const std::string& text) {
  if (!(value >= -9.2e18 && value <= 9.2e18)) return no_value(text, "it doesn't fit in 64 bits");
  return Constant::integer(static_cast<int64_t>(value));
}

// The functions of one number.
ConstantOutcome apply_numeric(Builtin builtin, const Constant& x) {
  const std::string text = std::string(info(builtin).spelling) + "(" + to_string(x, 60) + ")";
  if (!x.is_number()) return wrong_kind("argument of `" + std::string(info(builtin).spelling) + "`", "a number", x);
  const double v = x.as_number();
  const bool finite = std::isfinite(v);
  const bool whole = !x.is_float();
  if ((builtin == Builtin::kLn || builtin == Builtin::kLog || builtin == Builtin::kLog2) && !(v > 0)) return no_value(text, "it wants a number above 0");
  if (builtin == Builtin::kSqrt && v < 0) return no_value(text, "it wants a number that is not below 0");
  switch (builtin) {
    case Builtin::kAbs: return whole && x.as_int() != std::numeric_limits<int64_t>::min() ? Constant::integer(std::abs(x.as_int())) : Constant::real(std::abs(v));
    case Builtin::kBf16: return real_result(round_to_bf16(v), finite, text);
    case Builtin::kCeil: return whole ? Constant::integer(x.as_int()) : to_integer(std::ceil(v), text);
    case Builtin::kFloor: return whole ? Constant::integer(x.as_int()) : to_integer(std::floor(v), text);
    case Builtin::kInt: return whole ? Constant::integer(x.as_int()) : to_integer(std::trunc(v), text);
    case Builtin::kRound: return whole ? Constant::integer(x.as_int()) : to_integer(std::nearbyint(v), text);
    case Builtin::kFloat: return Constant::real(v);
    case Builtin::kCos: return real_result(std::cos(v), finite, text);
    case Builtin::kSin: return real_result(std::sin(v), finite, text);
    case Builtin::kExp: return real_result(std::exp(v), finite, text);
    case Builtin::kLn:
    case Builtin::kLog: return real_result(std::log(v), finite, text);
    case Builtin::kLog2: return real_result(std::log2(v), finite, text);
    case Builtin::kSqrt: return real_result(std::sqrt(v), finite, text);
    case Builtin::kGet:
    case Builtin::kLen:
    case Builtin::kMax:
    case Builtin::kMin:
    case Builtin::kSum: break;
  }
  return no_value(text, "it is no function of one number");
}

ConstantOutcome fold(Builtin builtin, const Constant::List& elements) {
  if (elements.empty()) {
    if (builtin == Builtin::kSum) return Constant::integer(0);
    return no_value(std::string(info(builtin).spelling) + "([])", "the list is empty");
  }
  Constant best = elements[0];
  if (!best.is_number()) return wrong_kind("element of the list", "a number", best);
  for (size_t i = 1; i < elements.size(); ++i) {
    const Operator op = builtin == Builtin::kSum ? Operator::kAdd : builtin == Builtin::kMax ? Operator::kGreater : Operator::kLess;
    ConstantOutcome next = apply_binary(op, builtin == Builtin::kSum ? best : elements[i], builtin == Builtin::kSum ? elements[i] : best);
    if (std::holds_alternative<Complaint>(next)) return next;
    if (builtin == Builtin::kSum) best = std::get<Constant>(next);
    else if (std::get<Constant>(next).as_bool()) best = elements[i];
  }
  return best;
}

ConstantOutcome length(const Constant& x) {
  if (x.is_list()) return Constant::integer(static_cast<int64_t>(x.as_list().size()));
  if (x.is_record()) return Constant::integer(static_cast<int64_t>(x.as_record().size()));
  if (x.is_string()) return Constant::integer(static_cast<int64_t>(x.as_string().size()));
  return wrong_kind("argument of `len`", "a list, a record or a string", x);
}

ConstantOutcome get(const std::vector<Constant>& arguments) {
  const Constant& record = arguments[0];
  if (!record.is_record() && !record.is_none()) return wrong_kind("first argument of `get`", "a record or none", record);
  if (!arguments[1].is_string()) return wrong_kind("second argument of `get`", "the key as a string", arguments[1]);
  const Constant* const found = record.find(arguments[1].as_string());
  return found != nullptr ? *found : arguments[2];
}

}  // namespace

const BuiltinInfo& info(Builtin builtin) { return kBuiltins[static_cast<size_t>(builtin)]; }

std::optional<Builtin> find_builtin(std::string_view spelling) {
  for (size_t i = 0; i < std::size(kBuiltins); ++i) {
    if (kBuiltins[i].spelling == spelling) return static_cast<Builtin>(i);
  }
  return std::nullopt;
}

std::vector<std::string> builtin_names() {
  std::vector<std::string> out;
  for (const BuiltinInfo& row : kBuiltins) out.emplace_back(row.spelling);
  return out;
}

std::optional<Constant> named_number(std::string_view name) {
  if (name == "pi") return Constant::real(std::numbers::pi);
  if (name == "inf") return Constant::real(std::numeric_limits<double>::infinity());
  return std::nullopt;
}

ConstantOutcome apply_unary(Operator op, const Constant& operand) {
  if (op == Operator::kNot) {
    if (!operand.is_bool()) return wrong_kind("operand of `!`", "true or false", operand, "compare it: `x == 0` or `x == none`");
    return Constant::boolean(!operand.as_bool());
  }
  if (!operand.is_number()) return wrong_kind("operand of `-`", "a number", operand);
  if (operand.is_float()) return Constant::real(-operand.as_number());
  return integer_binary(Operator::kSub, 0, operand.as_int(), "-" + to_string(operand, 40));
}

ConstantOutcome apply_binary(Operator op, const Constant& left, const Constant& right) {
  switch (op) {
    case Operator::kOr:
    case Operator::kAnd: return logic(op, left, right);
    case Operator::kEqual: return Constant::boolean(left == right);
    case Operator::kNotEqual: return Constant::boolean(!(left == right));
    case Operator::kLess:
    case Operator::kLessEqual:
    case Operator::kGreater:
    case Operator::kGreaterEqual: return compare(op, left, right);
    case Operator::kIn: return contains(left, right);
    case Operator::kAdd:
    case Operator::kSub:
    case Operator::kMul:
    case Operator::kDiv:
    case Operator::kRem:
    case Operator::kPow: return arithmetic(op, left, right);
    case Operator::kNegate:
    case Operator::kNot: break;
  }
  return no_value(expression_text(op, left, right), "the operator has one operand");
}

ConstantOutcome apply_builtin(Builtin builtin, const std::vector<Constant>& arguments) {
  if (builtin == Builtin::kGet) return get(arguments);
  if (builtin == Builtin::kLen) return length(arguments[0]);
  if (builtin == Builtin::kMax || builtin == Builtin::kMin || builtin == Builtin::kSum) {
    if (arguments.size() == 1 && !arguments[0].is_list()) return wrong_kind("argument of `" + std::string(info(builtin).spelling) + "`", "a list of numbers", arguments[0]);
    return fold(builtin, arguments.size() == 1 ? arguments[0].as_list() : arguments);
  }
  return apply_numeric(builtin, arguments[0]);
}

ConstantOutcome make_list(Constant::List elements) {
  if (elements.size() > kMaxElements) return no_value("the list", "it is too long");
  for (const Constant& element : elements) {
    if (element.depth() + 1 > Constant::kMaxDepth) return no_value("the list", "it is nested too deep");
  }
  return Constant::list(std::move(elements));
}

ConstantOutcome make_record(Constant::Record fields) {
  for (const Constant::Field& field : fields) {
    if (field.value.depth() + 1 > Constant::kMaxDepth) return no_value("the record", "it is nested too deep");
  }
  return Constant::record(std::move(fields));
}

ConstantOutcome list_element(const Constant& base, const Constant& index) {
  if (!base.is_list()) return wrong_kind("what is indexed", "a list, a weight, a cache or a state", base);
  if (!index.is_int()) return wrong_kind("index", "an integer", index);
  const auto count = static_cast<int64_t>(base.as_list().size());
  if (index.as_int() < 0 || index.as_int() >= count) {
    return complain(DiagnosticKind::kListIndex, {{"index", std::to_string(index.as_int())}, {"count", std::to_string(count)}});
  }
  return base.as_list()[static_cast<size_t>(index.as_int())];
}

}  // namespace scratchy
