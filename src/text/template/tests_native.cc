// What stands after `is`.
#include <algorithm>

#include "text/template/bind.h"
#include "text/template/characters.h"
#include "text/template/evaluate.h"
#include "text/template/natives.h"
#include "text/template/numbers.h"
#include "text/template/operators.h"
#include "text/template/print.h"
#include "text/template/registry.h"

namespace scratchy::jinja {
namespace {

Value compare(Evaluator& evaluator, const Value& self, const Arguments& arguments, CompareOperator op) {
  return apply_compare(evaluator.budget(), op, self, *bind("test", arguments, {"other"}, 1)[0]);
}

bool divides(Budget& budget, const Value& number, const Value& divisor) {
  const Value rest = apply_binary(budget, BinaryOperator::kModulo, number, divisor);
  return rest.is_number() && rest.number() == 0;
}

Value is_odd(Evaluator& evaluator, const Value& self, const Arguments& arguments, Integer wanted) {
  bind("test", arguments, {});
  return equal(apply_binary(evaluator.budget(), BinaryOperator::kModulo, self, 2), wanted);
}

// str.islower and str.isupper: some cased character, and none of the other case.
Value has_case(Evaluator& evaluator, const Value& self, bool upper) {
  const std::string text = to_text(evaluator.budget(), self);
  bool some = false;
  for (char32_t c : decode_utf8(text)) {
    if (is_title(c) || (upper ? is_lower(c) : is_upper(c))) return false;
    some |= upper ? is_upper(c) : is_lower(c);
  }
  return some;
}

}  // namespace

Value test_eq(Evaluator& e, const Value& self, const Arguments& a) { return compare(e, self, a, CompareOperator::kEqual); }
Value test_ne(Evaluator& e, const Value& self, const Arguments& a) { return compare(e, self, a, CompareOperator::kNotEqual); }
Value test_lt(Evaluator& e, const Value& self, const Arguments& a) { return compare(e, self, a, CompareOperator::kLess); }
Value test_le(Evaluator& e, const Value& self, const Arguments& a) { return compare(e, self, a, CompareOperator::kLessEqual); }
Value test_gt(Evaluator& e, const Value& self, const Arguments& a) { return compare(e, self, a, CompareOperator::kGreater); }
Value test_ge(Evaluator& e, const Value& self, const Arguments& a) { return compare(e, self, a, CompareOperator::kGreaterEqual); }
Value test_in(Evaluator& e, const Value& self, const Arguments& a) { return compare(e, self, a, CompareOperator::kIn); }

Value test_odd(Evaluator& e, const Value& self, const Arguments& a) { return is_odd(e, self, a, 1); }
Value test_even(Evaluator& e, const Value& self, const Arguments& a) { return is_odd(e, self, a, 0); }
Value test_divisibleby(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return divides(evaluator.budget(), self, *bind("divisibleby", arguments, {"num"}, 1)[0]);
}

Value test_defined(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("defined", arguments, {});
  return !self.is_undefined();
}
Value test_undefined(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("undefined", arguments, {});
  return self.is_undefined();
}
Value test_none(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("none", arguments, {});
  return self.is_none();
}
Value test_boolean(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("boolean", arguments, {});
  return self.is(Kind::kBoolean);
}
Value test_true(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("true", arguments, {});
  return self.is(Kind::kBoolean) && self.boolean();
}
Value test_false(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("false", arguments, {});
  return self.is(Kind::kBoolean) && !self.boolean();
}
Value test_integer(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("integer", arguments, {});
  return self.is(Kind::kInteger);
}
Value test_float(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("float", arguments, {});
  return self.is(Kind::kFloat);
}
Value test_number(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("number", arguments, {});
  return self.is_number();
}
Value test_string(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("string", arguments, {});
  return self.is_text();
}
Value test_mapping(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("mapping", arguments, {});
  return self.is_dict();
}
Value test_iterable(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("iterable", arguments, {});
  return is_iterable(self);
}

// What has a length and items by place or key.
Value test_sequence(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("sequence", arguments, {});
  return is_iterable(self) && !self.is(Kind::kGenerator) && !self.is(Kind::kDictView) && !self.is(Kind::kLoop);
}

Value test_callable(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("callable", arguments, {});
  switch (self.kind()) {
    case Kind::kUndefined:
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kLoop:
    case Kind::kJoiner: return true;
    case Kind::kNone:
    case Kind::kBoolean:
    case Kind::kInteger:
    case Kind::kFloat:
    case Kind::kText:
    case Kind::kBytes:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kGenerator:
    case Kind::kNamespace:
    case Kind::kCycler: return false;
  }
  return false;
}

Value test_lower(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("lower", arguments, {});
  return has_case(evaluator, self, false);
}
Value test_upper(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("upper", arguments, {});
  return has_case(evaluator, self, true);
}
Value test_escaped(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("escaped", arguments, {});
  return self.is_text() && self.text().safe;
}
Value test_filter(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("filter", arguments, {});
  return self.is_text() && find_filter(self.bytes()) != nullptr;
}
Value test_test(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("test", arguments, {});
  return self.is_text() && find_test(self.bytes()) != nullptr;
}

// Identity: of shared data by address, of small values by type and value.
Value test_sameas(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const Value& other = *bind("sameas", arguments, {"other"}, 1)[0];
  if (self.kind() != other.kind()) return false;
  if (self.is_text() || self.identity() == nullptr) return equal(evaluator.budget(), self, other);
  return self.identity() == other.identity();
}

}  // namespace scratchy::jinja
