// Byte-pair encoding: a word becomes symbols, and the pair of neighbours with the lowest rank merges until none is left.
//
// Ties go to the left. Short words are merged by scanning, long ones with queues and a linked list, so a word of n
// bytes costs O(n log n). A long text in one piece (SentencePiece models) is first cut where no merge can ever reach
// across: between two characters that no merge has at its seam. The cuts change nothing but the time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer/rank_queues.h"
#include "text/tokenizer/vocabulary.h"

namespace scratchy {

struct BpeOptions {
  bool byte_level = false;      // words are bytes, tokens spell them in the byte-level alphabet
  bool byte_fallback = false;   // characters that are no token become `<0xNN>` tokens
  bool fuse_unk = false;        // neighbouring unknown characters become one unknown token
  bool ignore_merges = false;   // a word that is a token is that token
  int32_t unk = -1;             // what other unknown characters become; -1: they vanish
  std::string continuing_prefix, word_suffix;  // added to characters but the first, to the last
};

// What encoding works on and reuses; one per thread of use.
class BpeScratch {
 public:
  BpeScratch();
  ~BpeScratch();
  BpeScratch(const BpeScratch&) = delete;
  BpeScratch& operator=(const BpeScratch&) = delete;

  // Remembers words from here on; worth its set-up for texts of several kilobytes.
  void enable_cache();

  struct Cache;

 private:
  friend class Bpe;
  struct Symbol {
    int32_t id;
    int32_t previous, next;  // positions, -1 at the ends
    uint32_t rank;           // of the merge with the next one
  };
  std::vector<int32_t> word;
  std::vector<Symbol> symbols;
  RankQueues queues;
  std::string text;
  std::unique_ptr<Cache> cache;
};

class Bpe {
 public:
  // Refuses byte fallback without its 256 tokens.
  static Result<Bpe> create(const Vocabulary& vocabulary, BpeOptions options);

  void reserve_merges(size_t count);
  // Adds the merge of two tokens into a third; of equal pairs the last added counts.
  void add_merge(int32_t left, int32_t right, uint32_t rank, int32_t product);
  // After the last merge. `hidden[id]`: tokens that no text may become by ignore_merges.
  void finish(const Vocabulary& vocabulary, const std::vector<bool>& hidden);

  // Appends the ids of `word` (bytes, or valid UTF-8 when not byte-level) to `out`.
  void encode(const Vocabulary& vocabulary, std::string_view word, BpeScratch& scratch, std::vector<int32_t>& out) const;

  const BpeOptions& options() const { return options_; }

 private:
  struct Merge {
    uint64_t pair;  // left << 32 | right
    uint32_t rank;
    int32_t product;
  };
  static constexpr uint64_t kNoPair = UINT64_MAX;
  static constexpr uint32_t kNoRank = UINT32_MAX;

  const Merge* find_merge(int32_t left, int32_t right) const {
    const uint64_t pair = uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
    for (size_t slot = slot_of(pair);; slot = (slot + 1) & (merges_.size() - 1)) {
      const Merge& merge = merges_[slot];
      if (merge.pair == pair) return &merge;
      if (merge.pair == kNoPair) return nullptr;
    }
  }
  size_t slot_of(uint64_t pair) const {
    uint64_t hash = pair * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    return (hash * 0xD6E8FEB86659FD93u) >> shift_;
  }
  void learn_seams(const Vocabulary& vocabulary);
  bool seam(int32_t left, int32_t right) const;
  int32_t char_id(const Vocabulary& vocabulary, std::string_view c) const;

  void encode_bytes(std::string_view word, BpeScratch& scratch, std::vector<int32_t>& out) const;
  void encode_chars(const Vocabulary& vocabulary, std::string_view word, BpeScratch& scratch, std::vector<int32_t>& out) const;
  void encode_affixed(const Vocabulary& vocabulary, std::string_view word, BpeScratch& scratch, std::vector<int32_t>& out) const;
  bool whole_token(const Vocabulary& vocabulary, std::string_view word, BpeScratch& scratch, std::vector<int32_t>& out) const;
  void merge(BpeScratch& scratch, std::vector<int32_t>& out) const;
  void merge_short(BpeScratch& scratch) const;
  void merge_long(BpeScratch& scratch) const;
  void flush(std::string_view text, BpeScratch& scratch, std::vector<int32_t>& out) const;

  BpeOptions options_;
  std::array<int32_t, 256> byte_ids_;   // byte-level: of each byte; else of `<0xNN>`; -1 for none
  std::array<int32_t, 128> ascii_ids_;  // of each ASCII character, -1 for none
  std::vector<Merge> merges_;           // open addressing, at most half full
  size_t merge_count_ = 0;
  int shift_ = 64;
  std::vector<bool> hidden_;
  bool has_seams_ = false;
  std::vector<uint64_t> seams_;         // open addressing: pairs of symbols at the seam of some merge
};

}  // namespace scratchy
