// Whether every name of a program means something, in all its functions, reached or not.
//
// A name is, in this order: a local or parameter; a constant of the texts; something outside (inputs, caches, states); a
// declared weight (the longest dotted path wins); a config key. Called names are functions of the texts, primitives of
// the graph, or functions of compile-time values. Also checked here: names bound on some paths only, functions that
// return on some paths only, calls with arguments that do not fit, and recursion.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "dsl/program.h"

namespace scratchy {

// A callable that the texts don't define.
struct Signature {
  std::string name;
  std::vector<std::string> params;
  size_t least = 0;       // params that must be given
  bool variadic = false;  // any number of positional arguments
};
const Signature* find_signature(const std::vector<Signature>& signatures, std::string_view name);

// The names a program may use without defining them.
struct Vocabulary {
  std::vector<std::string> config_keys;  // first parts; what is below a record shows only with a config
  std::vector<std::string> prelude_keys;  // those that only the prelude may name: config keys of other architectures
  std::vector<std::string> weights;      // dotted
  std::vector<std::string> externs;
  std::vector<Signature> primitives;
};

// The name of the row dimension, legal as the first dim of a reshape.
inline constexpr std::string_view kRowsName = "T";

// False, with diagnostics, when something is wrong. A program that passes has no recursion.
bool check_names(const Program& program, const Vocabulary& vocabulary, Diagnostics& diagnostics);

}  // namespace scratchy
