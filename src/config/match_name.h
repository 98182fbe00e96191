// Names of config keys: patterns with a wildcard, and the nearest known one for a hint.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/text.h"

namespace scratchy {

// Whether `name` is `pattern`, where a `*` at its beginning or end stands for any text.
inline bool matches_name(std::string_view pattern, std::string_view name) {
  if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

// Adds "did you mean `x`?" when a known name is near. Names too long to be a slip get none, so that a hostile file cannot
// buy long searches.
inline void suggest_nearest(Diagnostic& diagnostic, const std::string& name, const std::vector<std::string>& known) {
  constexpr size_t kLongestSlip = 64;
  if (name.size() > kLongestSlip) return;
  if (const auto nearest = nearest_name(name, known)) diagnostic.suggest("did you mean `" + *nearest + "`?");
}

}  // namespace scratchy
