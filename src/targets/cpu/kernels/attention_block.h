// The state of one unit of attention: some query rows of a sequence and some heads, walking over tiles of positions.
//
// Pairs (row x query head) are ordered by kv head, then row, then head within the group. A *narrow* block has several
// rows of one kv head and is bound by arithmetic. A *wide* one has a row or two of all kv heads and reads the keys of a
// page as one stream, then its values: plain reads that jump every 8 KiB ran at 11 GB/s on one Zen 4 thread, every
// 24 KiB at 25.
#pragma once

#include "targets/cpu/kernels/attention_plan.h"
#include "targets/cpu/kernels/attention_tile.h"

namespace scratchy::cpu {

// Shape of one attention, a template argument. Query head n uses kv head n / (heads / keys.heads).
struct AttentionShape {
  int heads;
  int key_width;    // D; keys.width == D
  int value_width;  // Dv; the first Dv elements of a row of `values` (values.width >= Dv)
  KvPlane keys;
  KvPlane values;  // kRows
};

// All pointers but sinks and visible_end are required.
struct AttentionArgs {
  const Batch* batch;
  KvPool pool;
  size_t keys_offset, values_offset;  // of the planes inside a page; equal when one plane serves as both
  const float* q;                     // [T] rows of N * D f32, rotated
  size_t q_stride;                    // floats between rows
  float* out;                         // [T] rows of N * Dv f32
  size_t out_stride;
  const float* sinks = nullptr;          // [N] extra logit of each head, or null
  const int32_t* visible_end = nullptr;  // [T] a row also sees positions below this one (image runs), or null
  AttentionRule rule;
  int max_span;        // no row of this call sees a position at or beyond it
  std::byte* scratch;  // attention_scratch_bytes<Shape>(max_span); its first kAttentionCounterBytes were zeroed once
};

namespace internal {

template <AttentionShape S>
class AttentionBlock {
 public:
  static constexpr int kKvHeads = S.keys.heads;
  static constexpr int kGroupHeads = S.heads / kKvHeads;
  static constexpr BlockShape kShape = block_shape(kGroupHeads);
  static constexpr int kHeadBlocks = kKvHeads * kShape.head_blocks;  // narrow blocks that make up all heads
  static constexpr int kNarrowPairs = kShape.rows * kShape.heads;
  static constexpr bool kCanBeWide = kKvHeads > 1 && kShape.head_blocks == 1;
  static constexpr int kPairs = kCanBeWide && S.heads > kNarrowPairs ? S.heads : kNarrowPairs;
  static constexpr int kAccWidth = round_up(S.value_width, kGroup);
  static constexpr int kPartialFloats = kAccWidth + 2;  // acc, max, sum
  static_assert(S.heads % kKvHeads == 0 && S.values.heads == kKvHeads && S.values.layout == KvLayout::kRows);
  static_assert(S.keys.width == S.key_width && S.value_width <= S.values.width && S.keys.type == S.values.type);

  // Whether all heads of that many rows fit one block.
  static constexpr bool fits_wide(int row_count) { return kCanBeWide && row_count * S.heads <= kPairs; }

  // The narrow block `head_block` (0 .. kHeadBlocks - 1) of the rows, or all heads when wide.
  AttentionBlock(const AttentionArgs& args, const BlockRows& rows, int head_block, bool wide)
      : args_(args),
        sequence_(args.batch->sequences[rows.sequence]),
        first_row_(rows.first),
        row_count_(rows.count),
        first_kv_(wide ? 0 : head_block / kShape.head_blocks),
        kv_count_(wide ? kKvHeads : 1),
        first_in_group_(wide ? 0 : head_block % kShape.head_blocks * kShape.heads) {
    const int left = kGroupHeads - first_in_group_;
    head_count_ = left < kShape.heads ? left : kShape.heads;
    const int length = args.batch->rows[sequence_.first_row + sequence_.row_count - 1].position + 1;
    for (int r = 0; r < row_count_; ++r) {
      visible_[r] = visible_range(args.rule, args.batch->rows[first_row_ + r].position, length,
                                  args.visible_end ? args.visible_end[first_row_ + r] : 0);
    }
  }

  int first_segment() const { return segment_of(visible_[0].begin); }
  int end_segment() const { return segment_of(visible_[row_count_ - 1].end - 1) + 1; }

  // All segments, one after the other, and the outputs.
  void run_all() {
    load_queries();
    for (int segment = first_segment(); segment < end_segment(); ++segment) {
      run_segment(segment);
      for (int pair = 0; pair < pair_count(); ++pair) {
        if (sees(row_of(pair), segment)) merge(pair, segment, max_[pair], sum_[pair], acc_ + pair * kAccWidth);
      }
    }
    for (int pair = 0; pair < pair_count(); ++pair) finish(pair);
  }

  // One segment into the scratch.
  void run_partial(int segment) {
    load_queries();
    run_segment(segment);
    for (int pair = 0; pair < pair_count(); ++pair) {
      if (!sees(row_of(pair), segment)) continue;
      float* to = partial(pair, segment);
      std::memcpy(to, acc_ + pair * kAccWidth, sizeof(float) * kAccWidth);
      to[kAccWidth] = max_[pair];
      to[kAccWidth + 1] = sum_[pair];
    }
  }

  // The outputs, from the segments in the scratch.
  void merge_partials() {
    for (int pair = 0; pair < pair_count(); ++pair) {
      for (int segment = first_segment(); segment < end_segment(); ++segment) {
        if (!sees(row_of(pair), segment)) continue;
        const float* part = partial(pair, segment);
        merge(pair, segment, part[kAccWidth], part[kAccWidth + 1], part);
      }
      finish(pair);
    }
  }

 private:
  using Element = KvElement<S.keys.type>;
  static constexpr bool kTurn = S.keys.layout == KvLayout::kRows;

  int pairs_of_kv() const { return row_count_ * head_count_; }
  int pair_count() const { return kv_count_ * pairs_of_kv(); }
  int row_of(int pair) const { return pair % pairs_of_kv() / head_count_; }
  int head_of(int pair) const {
    return (first_kv_ + pair / pairs_of_kv()) * kGroupHeads + first_in_group_ + pair % head_count_;
  }

  // Copies the queries, times what makes their products logits (or the argument of the cap's tanh).
  void load_queries() {
    const float cap = args_.rule.softcap;
    const float factor = cap != 0 ? args_.rule.scale / cap : args_.rule.scale * kLog2E;
    for (int pair = 0; pair < pair_count(); ++pair) {
      const float* from = args_.q + (first_row_ + row_of(pair)) * args_.q_stride;
      from += static_cast<size_t>(head_of(pair)) * S.key_width;
      for (int d = 0; d < S.key_width; ++d) q_[pair * S.key_width + d] = from[d] * factor;
    }
  }

  bool sees(int row, int segment) const {
    return visible_[row].begin < segment_begin(segment + 1) && visible_[row].end > segment_begin(segment);
  }

  // Maximum, sum and acc of every pair over what it sees of a segment.
  void run_segment(int segment) {
    for (int pair = 0; pair < pair_count(); ++pair) {
      max_[pair] = -INFINITY;
      sum_[pair] = 0;
    }
    std::memset(acc_, 0, sizeof(float) * kAccWidth * pair_count());
    const int first = visible_[0].begin / kPageTokens * kPageTokens;
    const int last = visible_[row_count_ - 1].end;
    const int begin = segment_begin(segment) > first ? segment_begin(segment) : first;
    const int end = segment_begin(segment + 1) < last ? segment_begin(segment + 1) : last;
    for (int tile = begin; tile < end; tile += kPageTokens) run_tile(tile);
  }

  // The part of a row's visible positions in a tile, relative to it; empty: begin >= end.
  VisibleRange in_tile(int row, int tile) const {
    const int begin = visible_[row].begin - tile;
    const int end = visible_[row].end - tile;
    return {begin > 0 ? begin : 0, end < kPageTokens ? end : kPageTokens};
  }

  std::byte* keys_at(int tile, int kv) const {
    return kv_head_block<S.keys>(args_.pool, args_.keys_offset, sequence_.pages, tile, first_kv_ + kv);
  }
  std::byte* values_at(int tile, int kv) const {
    return kv_head_block<S.values>(args_.pool, args_.values_offset, sequence_.pages, tile, first_kv_ + kv);
  }

  void run_tile(int tile) {
    // Both ends of the visible ranges rise with the row, so the rows that see the tile are consecutive.
    int row_begin = 0;
    while (row_begin < row_count_ && visible_[row_begin].end <= tile) ++row_begin;
    int row_end = row_count_;
    while (row_end > row_begin && visible_[row_end - 1].begin >= tile + kPageTokens) --row_end;
    if (row_begin == row_end) return;
    for (int kv = 0; kv < kv_count_; ++kv) score_rows(tile, kv, row_begin, row_end);
    for (int kv = 0; kv < kv_count_; ++kv) weigh_rows(tile, kv, row_begin, row_end);
    for (int kv = 0; kv < kv_count_; ++kv) mix_rows(tile, kv, row_begin, row_end);
  }

  void score_rows(int tile, int kv, int row_begin, int row_end) {
    const Element* columns = kv_elements<S.keys>(keys_at(tile, kv));
    if constexpr (kTurn) {
      turn_tile<S.key_width>(columns, kv_padded_width(S.keys), turned_);
      columns = turned_;
    }
    const int group_begin = in_tile(row_begin, tile).begin / kGroup;
    const int group_end = (in_tile(row_end - 1, tile).end + kGroup - 1) / kGroup;
    const int first = kv * pairs_of_kv();
    score_tile<S.key_width, kv_head_bytes(S.values)>(q_, columns, weights_, first + row_begin * head_count_,
                                                     first + row_end * head_count_, group_begin, group_end,
                                                     values_at(tile, kv));
  }

  void weigh_rows(int tile, int kv, int row_begin, int row_end) {
    const LogitRule rule{args_.rule.softcap * kLog2E, kv_scales<S.keys>(keys_at(tile, kv)),
                         kv_scales<S.values>(values_at(tile, kv))};
    for (int row = row_begin; row < row_end; ++row) {
      const VisibleRange part = in_tile(row, tile);
      const int first = kv * pairs_of_kv() + row * head_count_;
      for (int pair = first; pair < first + head_count_; ++pair) {
        const float factor = softmax_tile<S.keys.type == KvType::kI8>(weights_ + pair * kPageTokens, part.begin,
                                                                      part.end, rule, max_[pair], sum_[pair]);
        if (factor == 1.0f) continue;
        for (int i = 0; i < kAccWidth; i += kLanes)
          vstore(acc_ + pair * kAccWidth + i, vmul(vload(acc_ + pair * kAccWidth + i), vset(factor)));
      }
    }
  }

  // Positions that all rows see are mixed for all pairs together; those before and after, row by row.
  void mix_rows(int tile, int kv, int row_begin, int row_end) {
    const Element* values = kv_elements<S.values>(values_at(tile, kv));
    const int first = kv * pairs_of_kv();
    const auto mix = [&](int rows_from, int rows_to, int begin, int end, const std::byte* ahead) {
      mix_tile<kAccWidth, kv_padded_width(S.values), kv_head_bytes(S.keys)>(
          weights_, values, first + rows_from * head_count_, first + rows_to * head_count_, begin, end, acc_, ahead);
    };
    const int common_begin = in_tile(row_end - 1, tile).begin;
    const int common_end = in_tile(row_begin, tile).end;
    const bool shared = common_begin < common_end;
    for (int row = row_begin; row < row_end; ++row) {
      const VisibleRange part = in_tile(row, tile);
      mix(row, row + 1, part.begin, shared ? common_begin : part.end, nullptr);
    }
    if (!shared) return;
    const int next = tile + kPageTokens;
    mix(row_begin, row_end, common_begin, common_end,
        next < visible_[row_count_ - 1].end ? keys_at(next, kv) : nullptr);
    for (int row = row_begin; row < row_end; ++row) mix(row, row + 1, common_end, in_tile(row, tile).end, nullptr);
  }

  // Merges (max, sum, acc) of a segment into the total of a pair; its first segment is taken as it is.
  void merge(int pair, int segment, float part_max, float part_sum, const float* part) {
    float* to = total_ + pair * kAccWidth;
    if (segment_of(visible_[row_of(pair)].begin) == segment) {
      total_max_[pair] = part_max;
      total_sum_[pair] = part_sum;
      std::memcpy(to, part, sizeof(float) * kAccWidth);
      return;
    }
    const float most = part_max > total_max_[pair] ? part_max : total_max_[pair];
    const float a = exp2_f32(total_max_[pair] - most);
    const float b = exp2_f32(part_max - most);
    total_max_[pair] = most;
    total_sum_[pair] = total_sum_[pair] * a + part_sum * b;
    for (int i = 0; i < kAccWidth; i += kLanes)
      vstore(to + i, vfma(vload(part + i), vset(b), vmul(vload(to + i), vset(a))));
  }

  // Writes the outputs of a pair from its total.
  void finish(int pair) {
    const int head = head_of(pair);
    float factor = 1;
    float denominator = total_sum_[pair];
    if (args_.sinks) {
      const float sink = args_.sinks[head] * kLog2E;
      const float most = sink > total_max_[pair] ? sink : total_max_[pair];
      factor = exp2_f32(total_max_[pair] - most);
      denominator = denominator * factor + exp2_f32(sink - most);
    }
    factor = factor / denominator;
    float* out = args_.out + (first_row_ + row_of(pair)) * args_.out_stride + static_cast<size_t>(head) * S.value_width;
    for (int i = 0; i < S.value_width; ++i) out[i] = total_[pair * kAccWidth + i] * factor;
  }

  // Result of a pair and segment in the scratch, [kPartialFloats].
  float* partial(int pair, int segment) const {
    const size_t row = static_cast<size_t>(first_row_ + row_of(pair));
    const size_t slot = (row * S.heads + head_of(pair)) * segment_count(args_.max_span) + segment;
    return reinterpret_cast<float*>(args_.scratch + kAttentionCounterBytes) + slot * kPartialFloats;
  }

  const AttentionArgs& args_;
  const SequenceRows& sequence_;
  int first_row_, row_count_;  // rows of the batch
  int first_kv_, kv_count_;
  int first_in_group_, head_count_;  // query heads of each kv head
  VisibleRange visible_[kShape.rows] = {};
  float max_[kPairs], sum_[kPairs];
  float total_max_[kPairs], total_sum_[kPairs];
  alignas(64) float q_[kPairs * S.key_width];
  alignas(64) float weights_[kPairs * kPageTokens];
  alignas(64) float acc_[kPairs * kAccWidth];
  alignas(64) float total_[kPairs * kAccWidth];
  alignas(64) Element turned_[kTurn ? kPageTokens * S.key_width : 1];
};

}  // namespace internal

}  // namespace scratchy::cpu
