// Typed ids: a handle into one table cannot be used on another.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace scratchy {

template <typename Tag>
struct Id {
  int32_t index = -1;

  bool valid() const { return index >= 0; }
  auto operator<=>(const Id&) const = default;
};

}  // namespace scratchy

template <typename Tag>
struct std::hash<scratchy::Id<Tag>> {
  size_t operator()(scratchy::Id<Tag> id) const { return std::hash<int32_t>()(id.index); }
};
