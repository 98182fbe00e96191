// Names with a wildcard, as lists of irrelevant config keys use them.
#pragma once

#include <string_view>

namespace scratchy {

// Whether `name` is `pattern`, where a `*` at its beginning or end stands for any text.
inline bool matches_name(std::string_view pattern, std::string_view name) {
  if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

}  // namespace scratchy
