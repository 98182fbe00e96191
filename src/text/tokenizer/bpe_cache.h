// A direct-mapped cache of short words: the last word of each slot stays. Words or results that don't fit aren't kept.
#pragma once

#include <cstring>
#include <span>

#include "text/tokenizer/bpe.h"

namespace scratchy {

struct BpeScratch::Cache {
  static constexpr size_t kKeyBytes = 22, kIds = 10;
  static constexpr size_t kSlots = 8192;  // of 64 bytes each: half a megabyte, within a second-level cache

  struct Slot {
    uint8_t length = 0, count = 0;
    char key[kKeyBytes];
    int32_t ids[kIds];
  };

  // Appends the ids of `word` to `out`, or says that it is not here.
  bool copy(std::string_view word, std::vector<int32_t>& out) const {
    if (word.empty() || word.size() > kKeyBytes) return false;
    const Slot& slot = slots[hash_text(word) >> 51];
    if (slot.length != word.size() || std::memcmp(slot.key, word.data(), word.size()) != 0) return false;
    out.insert(out.end(), slot.ids, slot.ids + slot.count);
    return true;
  }

  void put(std::string_view word, std::span<const int32_t> ids) {
    if (word.empty() || word.size() > kKeyBytes || ids.size() > kIds) return;
    Slot& slot = slots[hash_text(word) >> 51];
    slot.length = static_cast<uint8_t>(word.size());
    slot.count = static_cast<uint8_t>(ids.size());
    std::memcpy(slot.key, word.data(), word.size());
    if (!ids.empty()) std::memcpy(slot.ids, ids.data(), ids.size_bytes());
  }

  std::vector<Slot> slots = std::vector<Slot>(kSlots);
};

static_assert(BpeScratch::Cache::kSlots == size_t{1} << (64 - 51));

}  // namespace scratchy
