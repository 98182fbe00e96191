// Finds native filters, tests, functions and methods by name.
#pragma once

#include <string_view>

#include "text/template/value.h"

namespace scratchy::jinja {

// Each nullptr where the name is not known.
const NativeEntry* find_filter(std::string_view name);
const NativeEntry* find_test(std::string_view name);
const NativeEntry* find_function(std::string_view name);
const NativeEntry* find_method(const Value& owner, std::string_view name);

// Whether `name` is a method by which a list or dict would change: the sandbox hides those.
bool changes_its_owner(const Value& owner, std::string_view name);

}  // namespace scratchy::jinja
