// Attributes, items and slices, by the rules of Jinja's immutable sandbox.
//
// `x.name` tries the value's methods, then its data; `x['name']` the data first. No attribute that starts with an
// underscore exists, and the methods that would change a list or dict give an undefined value whose use says so.
#pragma once

#include <string_view>

#include "text/template/value.h"

namespace scratchy::jinja {

Value get_attribute(Evaluator& evaluator, const Value& object, std::string_view name);
Value get_item(Evaluator& evaluator, const Value& object, const Value& key);
Value get_slice(Evaluator& evaluator, const Value& object, const Value& start, const Value& stop, const Value& step);
// A dotted path such as `a.b.0`, as the filters' `attribute` takes it: each part as an item.
Value get_path(Evaluator& evaluator, const Value& object, const Value& path);

}  // namespace scratchy::jinja
