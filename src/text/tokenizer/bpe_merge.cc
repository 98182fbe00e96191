// The two ways to merge a word; they give the same result.
#include "text/tokenizer/bpe.h"

namespace scratchy {
namespace {

// Up to here a scan for the best pair beats the heap.
constexpr size_t kShortWord = 48;

}  // namespace

void Bpe::merge(BpeScratch& scratch, std::vector<int32_t>& out) const {
  if (scratch.word.size() > 1) {
    if (scratch.word.size() <= kShortWord) merge_short(scratch);
    else merge_long(scratch);
  }
  out.insert(out.end(), scratch.word.begin(), scratch.word.end());
}

// Keeps the rank and the product of each pair beside the word, finds the lowest, closes the gap, looks up two pairs.
void Bpe::merge_short(BpeScratch& scratch) const {
  std::vector<int32_t>& word = scratch.word;
  size_t size = word.size();
  uint32_t ranks[kShortWord];
  int32_t products[kShortWord];
  const auto look_up = [&](size_t i) {
    const Merge* merge = find_merge(word[i], word[i + 1]);
    ranks[i] = merge == nullptr ? kNoRank : merge->rank;
    products[i] = merge == nullptr ? -1 : merge->product;
  };
  for (size_t i = 0; i + 1 < size; ++i) look_up(i);
  while (size > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < size; ++i)
      if (ranks[i] < ranks[best]) best = i;
    if (ranks[best] == kNoRank) break;
    word[best] = products[best];
    --size;
    for (size_t i = best + 1; i < size; ++i) word[i] = word[i + 1];
    for (size_t i = best + 1; i + 1 < size; ++i) {
      ranks[i] = ranks[i + 1];
      products[i] = products[i + 1];
    }
    if (best > 0) look_up(best - 1);
    if (best + 1 < size) look_up(best);
  }
  word.resize(size);
}

// Positions wait in one queue per rank, lowest rank first and leftmost first within it. A trained vocabulary finds its
// pairs from left to right, so most positions are simply appended; others go through the queue's heap.
void Bpe::merge_long(BpeScratch& scratch) const {
  auto& symbols = scratch.symbols;
  const auto count = static_cast<int32_t>(scratch.word.size());
  symbols.resize(scratch.word.size());
  RankQueues& queues = scratch.queues;
  const auto look_up = [&](int32_t at) {
    BpeScratch::Symbol& symbol = symbols[at];
    const Merge* merge = symbol.next < 0 ? nullptr : find_merge(symbol.id, symbols[symbol.next].id);
    symbol.rank = merge == nullptr ? kNoRank : merge->rank;
    if (merge != nullptr) queues.push(merge->rank, static_cast<uint32_t>(at));
  };
  for (int32_t i = 0; i < count; ++i) symbols[i] = {scratch.word[i], i - 1, i + 1 < count ? i + 1 : -1, kNoRank};
  for (int32_t i = 0; i < count; ++i) look_up(i);
  uint32_t rank = 0, at = 0;
  while (queues.pop(rank, at)) {
    BpeScratch::Symbol& symbol = symbols[at];
    // The pair that waited here may be gone, or another by now.
    if (symbol.id < 0 || symbol.rank != rank) continue;
    BpeScratch::Symbol& gone = symbols[symbol.next];
    symbol.id = find_merge(symbol.id, gone.id)->product;
    symbol.next = gone.next;
    gone.id = -1;
    if (symbol.next >= 0) symbols[symbol.next].previous = static_cast<int32_t>(at);
    if (symbol.previous >= 0) look_up(symbol.previous);
    look_up(static_cast<int32_t>(at));
  }
  scratch.word.clear();
  for (int32_t i = 0; i >= 0; i = symbols[i].next) scratch.word.push_back(symbols[i].id);
}

}  // namespace scratchy
