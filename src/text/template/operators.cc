#include "text/template/operators.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "text/template/characters.h"
#include "text/template/format.h"
#include "text/template/numbers.h"
#include "text/template/print.h"

namespace scratchy::jinja {
namespace {

std::string_view symbol(BinaryOperator op) {
  switch (op) {
    case BinaryOperator::kAdd: return "+";
    case BinaryOperator::kSubtract: return "-";
    case BinaryOperator::kMultiply: return "*";
    case BinaryOperator::kDivide: return "/";
    case BinaryOperator::kFloorDivide: return "//";
    case BinaryOperator::kModulo: return "%";
    case BinaryOperator::kPower: return "**";
  }
  SCRATCHY_UNREACHABLE("binary operator");
}

[[noreturn]] void raise_types(BinaryOperator op, const Value& a, const Value& b) {
  raise("`" + std::string(symbol(op)) + "` does not take `" + type_name(a) + "` and `" + type_name(b) + "`");
}

Value add_containers(Budget& budget, const Value& a, const Value& b) {
  if (a.is_text() && b.is_text()) {
    budget.spend_bytes(a.bytes().size() + b.bytes().size());
    if (a.text().safe || b.text().safe) return make_text(escaped(budget, a) + escaped(budget, b), true);
    return make_text(a.bytes() + b.bytes());
  }
  if (!a.is_list_or_tuple() || a.kind() != b.kind()) raise_types(BinaryOperator::kAdd, a, b);
  budget.spend(a.items().size() + b.items().size());
  std::vector<Value> items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  return a.is(Kind::kList) ? make_list(std::move(items)) : make_tuple(std::move(items));
}

Value repeat(Budget& budget, const Value& value, Integer times) {
  const size_t count = times <= 0 ? 0 : times > (Integer{1} << 62) ? size_t{1} << 62 : static_cast<size_t>(times);
  if (value.is_text()) {
    budget.spend_product(value.bytes().size(), count);
    if (value.bytes().empty()) return value;
    std::string out;
    for (size_t i = 0; i < count; ++i) out += value.bytes();
    return text_like(value, std::move(out));
  }
  budget.spend_product(value.items().size() * sizeof(Value), count);
  budget.spend(value.items().empty() ? 0 : count);
  std::vector<Value> items;
  for (size_t i = 0; i < count && !value.items().empty(); ++i) {
    budget.spend(value.items().size());
    items.insert(items.end(), value.items().begin(), value.items().end());
  }
  return value.is(Kind::kList) ? make_list(std::move(items)) : make_tuple(std::move(items));
}

Value power(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral() && b.integer() >= 0) return power_integers(a.integer(), b.integer());
  if (a.number() == 0 && b.number() < 0) raise("0.0 cannot be raised to a negative power");
  const double out = std::pow(a.number(), b.number());
  if (a.number() < 0 && std::isnan(out) && !std::isnan(b.number())) raise("a root of a negative number is complex");
  if (std::isinf(out) && std::isfinite(a.number()) && std::isfinite(b.number())) raise("the result of `**` is too large");
  return out;
}

Value arithmetic(BinaryOperator op, const Value& a, const Value& b) {
  const bool whole = a.is_integral() && b.is_integral();
  const bool divides = op == BinaryOperator::kDivide || op == BinaryOperator::kFloorDivide || op == BinaryOperator::kModulo;
  if (divides && b.number() == 0) raise("division by zero");
  switch (op) {
    case BinaryOperator::kAdd: return whole ? Value(add_integers(a.integer(), b.integer())) : Value(a.number() + b.number());
    case BinaryOperator::kSubtract:
      return whole ? Value(subtract_integers(a.integer(), b.integer())) : Value(a.number() - b.number());
    case BinaryOperator::kMultiply:
      return whole ? Value(multiply_integers(a.integer(), b.integer())) : Value(a.number() * b.number());
    case BinaryOperator::kDivide: return a.number() / b.number();
    case BinaryOperator::kFloorDivide:
      return whole ? Value(floor_divide(a.integer(), b.integer())) : Value(floor_divide(a.number(), b.number()));
    case BinaryOperator::kModulo:
      return whole ? Value(floor_modulo(a.integer(), b.integer())) : Value(floor_modulo(a.number(), b.number()));
    case BinaryOperator::kPower: return power(a, b);
  }
  SCRATCHY_UNREACHABLE("binary operator");
}

bool less_items(Budget& budget, const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!equal(budget, a[i], b[i])) return less(budget, a[i], b[i]);
  }
  return a.size() < b.size();
}

bool less_or_equal(Budget& budget, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number() && !(a.is_integral() && b.is_integral())) return a.number() <= b.number();
  return less(budget, a, b) || equal(budget, a, b);
}

bool contains_item(Budget& budget, const std::vector<Value>& items, const Value& item) {
  return std::any_of(items.begin(), items.end(), [&](const Value& candidate) { return equal(budget, candidate, item); });
}

}  // namespace

Value text_like(const Value& model, std::string text) {
  return make_text(std::move(text), model.is_text() && model.text().safe);
}

std::string escaped(Budget& budget, const Value& value) {
  if (value.is_text() && value.text().safe) return value.bytes();
  const std::string text = to_text(budget, value);
  budget.spend_bytes(text.size() * 5);
  return escape_html(text);
}

bool equal(Budget& budget, const Value& a, const Value& b) {
  budget.spend(std::min(a.weight(), b.weight()));
  return equal(a, b);
}

bool less(Budget& budget, const Value& a, const Value& b) {
  if (a.is_undefined()) raise_undefined(a);
  if (b.is_undefined()) raise_undefined(b);
  budget.spend(a.is_text() && b.is_text() ? std::min(a.weight(), b.weight()) : 1);
  if (a.is_number() && b.is_number()) {
    return a.is_integral() && b.is_integral() ? a.integer() < b.integer() : a.number() < b.number();
  }
  if (a.is_text() && b.is_text()) return a.bytes() < b.bytes();
  if (a.is_list_or_tuple() && a.kind() == b.kind()) return less_items(budget, a.items(), b.items());
  raise("`" + type_name(a) + "` and `" + type_name(b) + "` have no order");
}

void require_hashable(const Value& key) {
  if (key.is(Kind::kList) || key.is_dict() || key.is(Kind::kNamespace)) {
    raise("a value of type `" + type_name(key) + "` cannot be a key");
  }
  if (key.is(Kind::kTuple)) {
    for (const Value& item : key.items()) require_hashable(item);
  }
}

const Value* look_up(Budget& budget, const Dict& dict, const Value& key) {
  budget.spend(1 + dict.entries.size() / 8);
  if (key.is_text()) return dict.find(key.bytes());
  if (key.is(Kind::kTuple)) budget.spend(key.weight());
  return dict.find(key);
}

bool contains(Budget& budget, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kText:
      if (!item.is_text()) raise("`in` a text needs a text on its left, not `" + type_name(item) + "`");
      budget.spend(container.weight());
      return container.bytes().find(item.bytes()) != std::string::npos;
    case Kind::kList:
    case Kind::kTuple: return contains_item(budget, container.items(), item);
    case Kind::kDict:
      require_hashable(item);
      return look_up(budget, container.dict(), item) != nullptr;
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kGenerator:
    case Kind::kUndefined: return contains_item(budget, iterate(budget, container), item);
    case Kind::kNone:
    case Kind::kBoolean:
    case Kind::kInteger:
    case Kind::kFloat:
    case Kind::kBytes:
    case Kind::kNamespace:
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kLoop:
    case Kind::kCycler:
    case Kind::kJoiner: raise("`in` needs something to look into on its right, not `" + type_name(container) + "`");
  }
  SCRATCHY_UNREACHABLE("kind of value");
}

Value apply_binary(Budget& budget, BinaryOperator op, const Value& a, const Value& b) {
  if (op == BinaryOperator::kModulo && a.is_text()) return format_percent(budget, a, b);
  if (a.is_undefined()) raise_undefined(a);
  if (b.is_undefined()) raise_undefined(b);
  if (a.is_number() && b.is_number()) return arithmetic(op, a, b);
  if (op == BinaryOperator::kAdd) return add_containers(budget, a, b);
  if (op == BinaryOperator::kMultiply) {
    if (b.is_integral() && (a.is_text() || a.is_list_or_tuple())) return repeat(budget, a, b.integer());
    if (a.is_integral() && (b.is_text() || b.is_list_or_tuple())) return repeat(budget, b, a.integer());
  }
  raise_types(op, a, b);
}

bool apply_compare(Budget& budget, CompareOperator op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOperator::kEqual: return equal(budget, a, b);
    case CompareOperator::kNotEqual: return !equal(budget, a, b);
    case CompareOperator::kLess: return less(budget, a, b);
    case CompareOperator::kLessEqual: return less_or_equal(budget, a, b);
    case CompareOperator::kGreater: return less(budget, b, a);
    case CompareOperator::kGreaterEqual: return less_or_equal(budget, b, a);
    case CompareOperator::kIn: return contains(budget, b, a);
    case CompareOperator::kNotIn: return !contains(budget, b, a);
  }
  SCRATCHY_UNREACHABLE("comparison");
}

Value negate(const Value& value) {
  if (value.is_undefined()) raise_undefined(value);
  if (value.is_integral()) return subtract_integers(0, value.integer());
  if (value.is(Kind::kFloat)) return -value.number();
  raise("unary `-` does not take `" + type_name(value) + "`");
}

Value plus(const Value& value) {
  if (value.is_undefined()) raise_undefined(value);
  if (value.is_integral()) return value.integer();
  if (value.is(Kind::kFloat)) return value;
  raise("unary `+` does not take `" + type_name(value) + "`");
}

}  // namespace scratchy::jinja
