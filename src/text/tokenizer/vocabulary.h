// Tokens and their ids, both ways, in one arena of text and one open-addressed table.
//
// Ids may have holes. A text belongs to one id and an id to one text; what breaks that is refused when it is added.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace scratchy {

class Vocabulary {
 public:
  // Makes room for `count` tokens of `bytes` bytes of text in all.
  void reserve(size_t count, size_t bytes);

  // Adds a token; refuses a text or an id that is taken, and an id beyond what `kMaxId` allows.
  Status add(int32_t id, std::string_view text);

  std::optional<int32_t> find(std::string_view text) const;
  bool holds(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < entries_.size() && entries_[id].offset != kAbsent;
  }
  // The text of a token; `id` is held.
  std::string_view text(int32_t id) const {
    return std::string_view(arena_).substr(entries_[id].offset, entries_[id].length);
  }

  size_t count() const { return count_; }          // tokens
  size_t id_bound() const { return entries_.size(); }   // one past the largest id

  // Larger than any published vocabulary by a factor of ten; keeps tables by id small on hostile input.
  static constexpr int32_t kMaxId = 4 << 20;

 private:
  struct Entry {
    uint32_t offset = kAbsent;
    uint32_t length = 0;
  };
  static constexpr uint32_t kAbsent = UINT32_MAX;
  void grow();
  size_t slot_of(std::string_view text, uint32_t tag) const;

  std::string arena_;
  std::vector<Entry> entries_;      // by id
  std::vector<uint64_t> slots_;     // tag << 32 | id + 1, 0 when free; a power of two, at most half full
  size_t count_ = 0;
};

// A 64-bit hash of `text`, good enough for tables of a power of two.
inline uint64_t hash_text(std::string_view text) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15u;
  uint64_t hash = text.size() * kOdd;
  const char* at = text.data();
  size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    __builtin_memcpy(&word, at, 8);
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 29;
  }
  uint64_t word = 0;
  for (; left > 0; --left) word = word << 8 | static_cast<unsigned char>(at[left - 1]);
  hash = (hash ^ word) * kOdd;
  hash ^= hash >> 32;
  return hash * kOdd;
}

}  // namespace scratchy
