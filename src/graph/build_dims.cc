#include "graph/build_dims.h"

#include <algorithm>

namespace scratchy {

int64_t DimTable::unknown() {
  const auto index = static_cast<int64_t>(nodes_.size());
  nodes_.push_back({index});
  return kFirstUnknown - index;
}

size_t DimTable::head(int64_t dim) const {
  auto at = static_cast<size_t>(kFirstUnknown - dim);
  while (nodes_[at].parent != static_cast<int64_t>(at)) at = static_cast<size_t>(nodes_[at].parent);
  return at;
}

int64_t DimTable::resolve(int64_t dim) const {
  if (!is_unknown(dim)) return dim;
  const size_t at = head(dim);
  return nodes_[at].is_known ? nodes_[at].known : kFirstUnknown - static_cast<int64_t>(at);
}

std::vector<int64_t> DimTable::resolve(const std::vector<int64_t>& dims) const {
  std::vector<int64_t> out;
  out.reserve(dims.size());
  for (const int64_t dim : dims) out.push_back(resolve(dim));
  return out;
}

bool DimTable::unify(int64_t a, int64_t b) {
  a = resolve(a);
  b = resolve(b);
  if (a == b) return true;
  if (!is_unknown(a)) std::swap(a, b);
  if (!is_unknown(a)) return false;
  Node& from = nodes_[head(a)];
  if (!is_unknown(b)) {
    from.known = b;
    from.is_known = true;
    from.fixed = place_;
    return true;
  }
  const size_t to = head(b);
  from.parent = static_cast<int64_t>(to);
  nodes_[to].reach = std::max(nodes_[to].reach, from.reach);
  return true;
}

Span DimTable::fixed_at(int64_t dim) const { return is_unknown(dim) ? nodes_[head(dim)].fixed : Span{}; }

void DimTable::reach(int64_t dim, int64_t end) {
  if (!is_unknown(resolve(dim))) return;
  Node& node = nodes_[head(dim)];
  node.reach = std::max(node.reach, end);
}

void DimTable::settle_slices() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (node.parent != static_cast<int64_t>(i) || node.is_known || node.reach == 0) continue;
    node.known = node.reach;
    node.is_known = true;
  }
}

std::string show_dims(const std::vector<int64_t>& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ", ";
    out += dims[i] == kTokens ? "T" : dims[i] == kSpan ? "S" : dims[i] < 0 ? "?" : std::to_string(dims[i]);
  }
  return out + "]";
}

}  // namespace scratchy
