// Declares every native function of natives.def. Each takes the value before the bar or dot, and the call's arguments.
#pragma once

#include "text/template/value.h"

namespace scratchy::jinja {

#define NATIVE(name, function) Value function(Evaluator& evaluator, const Value& self, const Arguments& arguments);
#define FILTER NATIVE
#define TEST NATIVE
#define FUNCTION NATIVE
#define TEXT_METHOD NATIVE
#define LIST_METHOD NATIVE
#define TUPLE_METHOD NATIVE
#define DICT_METHOD NATIVE
#define LOOP_METHOD NATIVE
#define CYCLER_METHOD NATIVE
#define INTEGER_METHOD NATIVE
#define FLOAT_METHOD NATIVE
#define DICT_TYPE_METHOD NATIVE
#include "text/template/natives.def"
#undef NATIVE

}  // namespace scratchy::jinja
