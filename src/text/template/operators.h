// Operators on values, with Python's rules of types.
#pragma once

#include "text/template/value.h"

namespace scratchy::jinja {

enum class BinaryOperator { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };
enum class CompareOperator { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };

Value apply_binary(Budget& budget, BinaryOperator op, const Value& a, const Value& b);
bool apply_compare(Budget& budget, CompareOperator op, const Value& a, const Value& b);
Value negate(const Value& value);
Value plus(const Value& value);

// a < b; raises for types without an order between them.
bool less(Budget& budget, const Value& a, const Value& b);
// `equal`, paid for.
bool equal(Budget& budget, const Value& a, const Value& b);
bool contains(Budget& budget, const Value& container, const Value& item);
// The value under `key`, or nullptr; raises nothing for keys that cannot be keys.
const Value* look_up(Budget& budget, const Dict& dict, const Value& key);
// Raises when `key` cannot be a key of a dict.
void require_hashable(const Value& key);

// Every element, in order: of lists, tuples, texts (characters), dicts (keys), views, ranges, generators (used up) and
// undefined values (none). Raises for the rest.
std::vector<Value> iterate(Budget& budget, const Value& value);
bool is_iterable(const Value& value);
// len(); raises for what has none.
size_t length_of(const Value& value);

// `text` as plain text or Markup, like `model`.
Value text_like(const Value& model, std::string text);
// A text for a place inside Markup: escaped unless it is Markup itself.
std::string escaped(Budget& budget, const Value& value);

}  // namespace scratchy::jinja
