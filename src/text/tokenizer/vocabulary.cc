#include "text/tokenizer/vocabulary.h"

#include "base/text.h"

namespace scratchy {

void Vocabulary::reserve(size_t count, size_t bytes) {
  arena_.reserve(bytes);
  entries_.reserve(count);
  size_t size = 64;
  while (size < 2 * count) size *= 2;
  if (slots_.empty()) slots_.assign(size, 0);
}

size_t Vocabulary::slot_of(std::string_view text, uint32_t tag) const {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = tag & mask;; slot = (slot + 1) & mask) {
    const uint64_t held = slots_[slot];
    if (held == 0) return slot;
    if (held >> 32 == tag && this->text(static_cast<int32_t>(held & UINT32_MAX) - 1) == text) return slot;
  }
}

void Vocabulary::grow() {
  std::vector<uint64_t> old(std::max<size_t>(64, 2 * slots_.size()), 0);
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const uint64_t held : old) {
    if (held == 0) continue;
    size_t slot = held >> 32 & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = held;
  }
}

Status Vocabulary::add(int32_t id, std::string_view text) {
  if (id < 0 || id > kMaxId)
    return Failure("token `" + escape_for_message(text) + "` has id " + std::to_string(id) + ", ids go from 0 to " +
                   std::to_string(kMaxId));
  if (holds(id))
    return Failure("tokens `" + escape_for_message(this->text(id)) + "` and `" + escape_for_message(text) +
                   "` both have id " + std::to_string(id));
  if (text.size() > UINT32_MAX - arena_.size() - 1) return Failure("the vocabulary holds more than 4 GiB of text");
  if (2 * (count_ + 1) > slots_.size()) grow();
  const auto tag = static_cast<uint32_t>(hash_text(text) >> 32);
  const size_t slot = slot_of(text, tag);
  if (slots_[slot] != 0)
    return Failure("token `" + escape_for_message(text) + "` appears twice, with ids " +
                   std::to_string((slots_[slot] & UINT32_MAX) - 1) + " and " + std::to_string(id));
  if (static_cast<size_t>(id) >= entries_.size()) entries_.resize(static_cast<size_t>(id) + 1);
  entries_[id] = {static_cast<uint32_t>(arena_.size()), static_cast<uint32_t>(text.size())};
  arena_.append(text);
  slots_[slot] = uint64_t{tag} << 32 | (static_cast<uint32_t>(id) + 1);
  ++count_;
  return Done{};
}

std::optional<int32_t> Vocabulary::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const uint64_t held = slots_[slot_of(text, static_cast<uint32_t>(hash_text(text) >> 32))];
  if (held == 0) return std::nullopt;
  return static_cast<int32_t>(held & UINT32_MAX) - 1;
}

}  // namespace scratchy
