// Arguments of native functions, filters, tests and methods: matched to names, checked, read.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/template/value.h"

namespace scratchy::jinja {

// One pointer a parameter, nullptr where the call gives none. Raises for too many, unknown, doubled or missing ones.
std::vector<const Value*> bind(std::string_view what, const Arguments& arguments,
                               std::initializer_list<std::string_view> parameters, size_t required = 0);

// An integer (or boolean) argument, `fallback` when absent. Raises for other types.
Integer integer_or(const Value* argument, Integer fallback);
// The same where none counts as absent.
Integer integer_or_none(const Value* argument, Integer fallback);
bool truth_or(const Value* argument, bool fallback);
// A text argument; raises for other types.
const std::string& need_text(const Value& value, std::string_view what);
// A width or precision: at least 0 and small enough to pay for.
size_t width_of(Integer value);

}  // namespace scratchy::jinja
