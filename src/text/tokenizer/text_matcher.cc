#include "text/tokenizer/added_tokens.h"

namespace scratchy {
namespace {

uint64_t edge_key(uint32_t node, unsigned char byte) { return uint64_t{node} << 8 | byte; }

size_t edge_slot(uint64_t key, size_t size) { return (key * 0x9E3779B97F4A7C15u) >> 32 & (size - 1); }

}  // namespace

uint32_t TextMatcher::child(uint32_t node, unsigned char byte) const {
  if (node == 0) return roots_[byte];
  const uint64_t key = edge_key(node, byte);
  for (size_t slot = edge_slot(key, edges_.size());; slot = (slot + 1) & (edges_.size() - 1)) {
    if (edges_[slot] == 0) return 0;
    const auto to = static_cast<uint32_t>(edges_[slot]);
    if (nodes_[to].parent == node && nodes_[to].byte == byte) return to;
  }
}

void TextMatcher::grow_edges() {
  if (2 * nodes_.size() < edges_.size()) return;
  size_t size = 64;
  while (size < 4 * nodes_.size()) size *= 2;
  edges_.assign(size, 0);
  for (uint32_t node = 1; node < nodes_.size(); ++node) {
    size_t slot = edge_slot(edge_key(nodes_[node].parent, nodes_[node].byte), size);
    while (edges_[slot] != 0) slot = (slot + 1) & (size - 1);
    edges_[slot] = node;
  }
}

void TextMatcher::add(std::string_view text, int32_t value) {
  uint32_t node = 0;
  for (size_t i = text.size(); i-- > 0;) {
    const auto byte = static_cast<unsigned char>(text[i]);
    grow_edges();
    uint32_t next = child(node, byte);
    if (next == 0) {
      next = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({.depth = nodes_[node].depth + 1, .parent = node, .byte = byte});
      if (node == 0) roots_[byte] = next;
      size_t slot = edge_slot(edge_key(node, byte), edges_.size());
      while (edges_[slot] != 0) slot = (slot + 1) & (edges_.size() - 1);
      edges_[slot] = next;
    }
    node = next;
  }
  nodes_[node].value = value;
}

// Failures by breadth: those of a depth need only those of smaller depths. Children are always added after their
// parents, but not by depth, so the nodes are sorted by it first.
void TextMatcher::finish() {
  std::vector<uint32_t> count_at, order(nodes_.size());
  for (const Node& node : nodes_) {
    if (node.depth + 2 > count_at.size()) count_at.resize(node.depth + 2, 0);
    ++count_at[node.depth + 1];
  }
  for (size_t depth = 1; depth < count_at.size(); ++depth) count_at[depth] += count_at[depth - 1];
  for (uint32_t node = 0; node < nodes_.size(); ++node) order[count_at[nodes_[node].depth]++] = node;
  for (const uint32_t index : order) {
    Node& node = nodes_[index];
    if (index == 0) continue;
    uint32_t failure = 0;
    if (node.depth > 1) {
      uint32_t from = nodes_[node.parent].failure;
      while ((failure = child(from, node.byte)) == 0 && from != 0) from = nodes_[from].failure;
    }
    node.failure = failure;
    node.output = node.value >= 0 ? index : nodes_[failure].output;
  }
}

void TextMatcher::find_longest(std::string_view text, std::vector<Match>& out) const {
  out.clear();
  if (empty()) return;
  uint32_t node = 0;
  for (size_t at = text.size(); at-- > 0;) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (node == 0) {
      node = roots_[byte];
    } else {
      uint32_t next = 0;
      while ((next = child(node, byte)) == 0 && node != 0) node = nodes_[node].failure;
      node = next;
    }
    if (node == 0) continue;
    if (const Node& found = nodes_[nodes_[node].output]; found.value >= 0)
      out.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + found.depth), found.value});
  }
}

}  // namespace scratchy
