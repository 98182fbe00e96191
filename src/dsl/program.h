// A program: the prelude (models/std.fwd) and one architecture's text, put together.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "dsl/ast.h"

namespace scratchy {

// The lookups point into the modules; moving a program keeps them valid.
struct Program {
  Module prelude, arch;
  std::map<std::string, const Function*, std::less<>> functions;
  std::map<std::string, const ConstItem*, std::less<>> constants;
  const Function* forward = nullptr;

  const Function* find_function(std::string_view name) const {
    const auto found = functions.find(name);
    return found == functions.end() ? nullptr : found->second;
  }
  const ConstItem* find_constant(std::string_view name) const {
    const auto found = constants.find(name);
    return found == constants.end() ? nullptr : found->second;
  }
};

// Parses both texts and joins them. Nothing when either has errors, a name is defined twice, or the architecture doesn't
// have exactly one #[forward].
std::optional<Program> read_program(const SourceFile& prelude, const SourceFile& arch, Diagnostics& diagnostics);

}  // namespace scratchy
