// How attention is cut: which positions a row sees, segments of positions, blocks of rows, and who does which unit.
// Nothing here depends on the element types or widths; the arithmetic is in attention_tile.h and attention.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tape/batch.h"

namespace scratchy::cpu {

inline constexpr float kLog2E = 1.44269504f;

// What is constant in one attention besides its shape. Causal: row i sees (i - window, i]. Otherwise it sees all
// positions of its sequence up to the last row of the step, |i - j| <= window / 2. Window 0: no limit.
struct AttentionRule {
  float scale = 1;
  float softcap = 0;  // logits become softcap * tanh(logits / softcap); 0: none
  int window = 0;
  bool causal = true;
};

// Positions [begin, end).
struct VisibleRange {
  int begin, end;
};

// What the row at `position` sees of a sequence of `length` positions; `visible_end` extends a causal row's view.
constexpr VisibleRange visible_range(const AttentionRule& rule, int position, int length, int visible_end) {
  const int behind = rule.window == 0 ? position : rule.causal ? rule.window - 1 : rule.window / 2;
  int end = rule.causal ? position + 1 : length;
  if (rule.causal && visible_end > end) end = visible_end;
  if (!rule.causal && rule.window != 0 && position + behind + 1 < end) end = position + behind + 1;
  return {position > behind ? position - behind : 0, end < length ? end : length};
}

// Segments, by absolute position: 32 of 256 positions, then 24 of 1024, 24 of 4096, .. So their number, and with it the
// scratch, grows with the logarithm of the context, while the last one stays a small part of all. 256 positions of one
// kv head are 64 KiB in f16 (D = 64): a few microseconds, enough to pay for a claim and a merge.
inline constexpr int kShortSegments = 32;
inline constexpr int kSegmentsALevel = 24;
inline constexpr int kSegmentPositions = 256;

constexpr int segment_begin(int segment) {
  if (segment <= kShortSegments) return segment * kSegmentPositions;
  int base = kShortSegments * kSegmentPositions;
  int size = kSegmentPositions * 4;
  for (segment -= kShortSegments; segment > kSegmentsALevel; segment -= kSegmentsALevel, size *= 4) base *= 4;
  return base + segment * size;
}
constexpr int segment_of(int position) {
  int base = 0;
  int first = 0;
  int size = kSegmentPositions;
  for (int end = kShortSegments * kSegmentPositions; position >= end; end *= 4, size *= 4) {
    first += (end - base) / size;
    base = end;
  }
  return first + (position - base) / size;
}
constexpr int segment_count(int span) { return span > 0 ? segment_of(span - 1) + 1 : 0; }

// The scratch begins with counters: units claimed, threads done, and finished units of each block of rows.
inline constexpr size_t kAttentionCounterBytes = 256;

namespace internal {

// Query rows and heads that share loaded keys and values. 24 pairs are four register blocks; their queries, weights and
// sums (18 KiB at D = 64) leave room in the L1 for a tile of keys or values.
inline constexpr int kMaxPairs = 24;

struct BlockShape {
  int rows;
  int heads;        // query heads of one kv head
  int head_blocks;  // blocks that make up the query heads of one kv head
};
constexpr BlockShape block_shape(int group_heads) {
  const int blocks = (group_heads + kMaxPairs - 1) / kMaxPairs;
  const int heads = (group_heads + blocks - 1) / blocks;
  return {kMaxPairs / heads, heads, blocks};
}

// Consecutive rows of one sequence.
struct BlockRows {
  int sequence;
  int first, count;
};

// f(index, rows) for every block of at most `rows_a_block` rows, in order.
template <typename F>
void for_row_blocks(const Batch& batch, int rows_a_block, F&& f) {
  int index = 0;
  for (int s = 0; s < batch.sequence_count; ++s) {
    const SequenceRows& rows = batch.sequences[s];
    for (int done = 0; done < rows.row_count; done += rows_a_block) {
      const int left = rows.row_count - done;
      f(index++, BlockRows{s, rows.first_row + done, left < rows_a_block ? left : rows_a_block});
    }
  }
}

inline constexpr size_t kDoneCounter = 64;  // byte offsets; counters all threads touch have lines of their own
inline constexpr size_t kFinishedCounters = 128;

// Batches of at most this many rows are split by segments too: larger ones have units enough. Bounded so that the
// counters suffice and the partial results of a long context (56 segments reach 32 Ki positions) stay below 16 MiB.
constexpr int max_split_rows(size_t partial_bytes_a_row) {
  int rows = 16;
  while (rows > 1 && rows * partial_bytes_a_row * 56 > (16u << 20)) --rows;
  return rows;
}
static_assert(kFinishedCounters + 16 * sizeof(uint32_t) <= kAttentionCounterBytes);

// Hands out units to threads that all walk the same list of units. One thread alone owns every unit and needs no
// scratch.
class UnitClaims {
 public:
  UnitClaims(std::byte* scratch, int thread_count) : scratch_(scratch), thread_count_(thread_count) {
    if (thread_count_ > 1) claimed_ = counter(0).fetch_add(1, std::memory_order_relaxed);
  }
  // The last thread to come here resets the counters: by then no thread claims any more.
  ~UnitClaims() {
    if (thread_count_ == 1) return;
    if (counter(kDoneCounter).fetch_add(1, std::memory_order_acq_rel) + 1 != static_cast<uint32_t>(thread_count_))
      return;
    counter(0).store(0, std::memory_order_relaxed);
    counter(kDoneCounter).store(0, std::memory_order_relaxed);
  }
  UnitClaims(const UnitClaims&) = delete;
  UnitClaims& operator=(const UnitClaims&) = delete;

  // Whether the next unit of the list is this thread's.
  bool mine() {
    if (thread_count_ == 1) return true;
    if (unit_++ != claimed_) return false;
    claimed_ = counter(0).fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  // Reports `done` finished units of block `index`; true for the thread that completes its `unit_count`.
  bool completes(int index, int done, int unit_count) {
    std::atomic_ref<uint32_t> finished = counter(kFinishedCounters + index * sizeof(uint32_t));
    const auto units = static_cast<uint32_t>(done);
    if (finished.fetch_add(units, std::memory_order_acq_rel) + units != static_cast<uint32_t>(unit_count)) return false;
    finished.store(0, std::memory_order_relaxed);
    return true;
  }

 private:
  std::atomic_ref<uint32_t> counter(size_t offset) {
    return std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(scratch_ + offset));
  }

  std::byte* scratch_;
  int thread_count_;
  uint32_t unit_ = 0;
  uint32_t claimed_ = 0;
};

}  // namespace internal

}  // namespace scratchy::cpu
