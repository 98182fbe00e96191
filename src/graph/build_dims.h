// Dims that are not known yet, while a graph is built.
//
// A dim is a size, kTokens, kSpan, or an unknown: a number below kFirstUnknown that names a class of equal dims
// (union-find). A class becomes known when an op unifies it with a known dim. One that is only ever sliced is as wide as
// its farthest slice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace scratchy {

class DimTable {
 public:
  int64_t unknown();
  static bool is_unknown(int64_t dim) { return dim <= kFirstUnknown; }

  // The dim as far as it is known: a known one, or the head of its class.
  int64_t resolve(int64_t dim) const;
  std::vector<int64_t> resolve(const std::vector<int64_t>& dims) const;

  // Where the text makes dims equal from here on.
  void set_place(Span place) { place_ = place; }
  // Where an unknown became known; a span without file for others.
  Span fixed_at(int64_t dim) const;

  // Makes both equal; false when they are known and differ.
  bool unify(int64_t a, int64_t b);

  // Notes that [.., end) of an unknown dim was read.
  void reach(int64_t dim, int64_t end);
  // Gives every class that was only sliced the width of its farthest slice.
  void settle_slices();

 private:
  static constexpr int64_t kFirstUnknown = -16;
  struct Node {
    int64_t parent;     // itself for a head
    int64_t known = 0;  // of a head: the dim, once known
    bool is_known = false;
    int64_t reach = 0;  // of a head: farthest slice
    Span fixed;         // of a head: where it became known
  };
  size_t head(int64_t dim) const;
  std::vector<Node> nodes_;
  Span place_;
};

// "[T, 576, ?]"
std::string show_dims(const std::vector<int64_t>& dims);

}  // namespace scratchy
