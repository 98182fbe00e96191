// Attention over the paged KV cache, fused: scores, mask, softmax and weighted sum in one pass over keys and values.
//
// A row's positions are cut into fixed *segments* and those into tiles of 64, both by absolute position. A segment
// starts from nothing and runs the online softmax over its tiles; the partial results (max, sum, acc) of the segments
// are then merged in rising order by one rule. Neither depends on the batch, the threads or the chunk a prompt came in,
// and every row does exactly the arithmetic it would do alone: results are bit-identical however the work is divided.
//
// Work is cut into units: a block of rows of one sequence x a kv head (or a part of its query heads, when there are
// very many), and for small batches x one segment. Threads claim units from a counter in `scratch`, which is idle when
// there is one thread. The thread that finishes the last segment of a block merges the block, so no barrier is needed
// inside; one after the step suffices.
//
// Logits are computed in units of log 2: s * log2(e), so that weights are powers of two.
#pragma once

#include <atomic>

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

// One block of work: its copy of the queries and the state of every pair.
template <AttentionShape S>
struct AttentionBlock {
  static constexpr int kKvHeads = S.keys.heads;
  static constexpr int kGroupHeads = S.heads / kKvHeads;
  static constexpr BlockShape kBlock = block_shape(kGroupHeads);
  static constexpr int kPairs = kBlock.rows * kBlock.heads;
  static constexpr int kAccWidth = round_up(S.value_width, kGroup);
  static constexpr int kValueStride = kv_padded_width(S.values);
  static constexpr bool kTurn = S.keys.layout == KvLayout::kRows;
  static constexpr bool kScaled = S.keys.type == KvType::kI8;
  static_assert(S.heads % kKvHeads == 0 && S.values.heads == kKvHeads && S.values.layout == KvLayout::kRows);
  static_assert(S.keys.width == S.key_width && S.value_width <= S.values.width && S.keys.type == S.values.type);
  using Element = KvElement<S.keys.type>;

  const AttentionArgs& args;
  const SequenceRows& sequence;
  int first_row, row_count;    // rows of the batch
  int first_head, head_count;  // query heads, all of one kv head
  VisibleRange visible[kBlock.rows];
  float max[kPairs], sum[kPairs];
  float total_max[kPairs], total_sum[kPairs];
  alignas(64) float q[kPairs * S.key_width];
  alignas(64) float weights[kPairs * kPageTokens];
  alignas(64) float acc[kPairs * kAccWidth];
  alignas(64) float total[kPairs * kAccWidth];
  alignas(64) Element turned[kTurn ? kPageTokens * S.key_width : 1];

  AttentionBlock(const AttentionArgs& call, const BlockRows& rows, int head_block)
      : args(call), sequence(call.batch->sequences[rows.sequence]), first_row(rows.first), row_count(rows.count) {
    const int kv_head = head_block / kBlock.head_blocks;
    const int part = head_block % kBlock.head_blocks;
    first_head = kv_head * kGroupHeads + part * kBlock.heads;
    const int left = kGroupHeads - part * kBlock.heads;
    head_count = left < kBlock.heads ? left : kBlock.heads;
    const int length = call.batch->rows[sequence.first_row + sequence.row_count - 1].position + 1;
    for (int r = 0; r < row_count; ++r)
      visible[r] = visible_range(call.rule, call.batch->rows[first_row + r].position, length,
                                 call.visible_end ? call.visible_end[first_row + r] : 0);
  }

  int pair_count() const { return row_count * head_count; }
  int kv_head() const { return first_head / kGroupHeads; }

  // Copies the queries, times what makes their products logits (or the argument of the cap's tanh).
  void load_queries() {
    const float factor = args.rule.softcap != 0 ? args.rule.scale / args.rule.softcap : args.rule.scale * kLog2E;
    for (int r = 0; r < row_count; ++r) {
      const float* from = args.q + (first_row + r) * args.q_stride + static_cast<size_t>(first_head) * S.key_width;
      float* to = q + r * head_count * S.key_width;
      for (int i = 0; i < head_count * S.key_width; ++i) to[i] = from[i] * factor;
    }
  }

  // Softmax state and sums of the rows that see positions [begin, end), which is one segment or less.
  void run_segment(int begin, int end) {
    for (int pair = 0; pair < pair_count(); ++pair) {
      max[pair] = -INFINITY;
      sum[pair] = 0;
    }
    std::memset(acc, 0, sizeof(float) * kAccWidth * pair_count());
    for (int tile = begin / kPageTokens * kPageTokens; tile < end; tile += kPageTokens) run_tile(tile);
  }

  // The part of a row's visible positions in a tile, relative to it; empty: begin >= end.
  VisibleRange in_tile(int row, int tile) const {
    const int begin = visible[row].begin - tile;
    const int end = visible[row].end - tile;
    return {begin > 0 ? begin : 0, end < kPageTokens ? end : kPageTokens};
  }

  void run_tile(int tile) {
    // Both ends of the visible ranges rise with the row, so the rows that see the tile are consecutive.
    int row_begin = 0;
    while (row_begin < row_count && visible[row_begin].end <= tile) ++row_begin;
    int row_end = row_count;
    while (row_end > row_begin && visible[row_end - 1].begin >= tile + kPageTokens) --row_end;
    if (row_begin == row_end) return;

    std::byte* keys = kv_head_block<S.keys>(args.pool, args.keys_offset, sequence.pages, tile, kv_head());
    std::byte* values = kv_head_block<S.values>(args.pool, args.values_offset, sequence.pages, tile, kv_head());
    const Element* columns = kv_elements<S.keys>(keys);
    if constexpr (kTurn) {
      turn_tile<S.key_width>(columns, kv_padded_width(S.keys), turned);
      columns = turned;
    }
    const int group_begin = in_tile(row_begin, tile).begin / kGroup;
    const int group_end = (in_tile(row_end - 1, tile).end + kGroup - 1) / kGroup;
    score_tile<S.key_width>(q, columns, weights, row_begin * head_count, row_end * head_count, group_begin, group_end);
    weigh_tile(tile, row_begin, row_end, kv_scales<S.keys>(keys), kv_scales<S.values>(values));
    mix_rows(tile, row_begin, row_end, kv_elements<S.values>(values));
  }

  void weigh_tile(int tile, int row_begin, int row_end, const float* key_scales, const float* value_scales) {
    const LogitRule rule{args.rule.softcap * kLog2E, key_scales, value_scales};
    for (int row = row_begin; row < row_end; ++row) {
      const VisibleRange part = in_tile(row, tile);
      for (int pair = row * head_count; pair < (row + 1) * head_count; ++pair) {
        const float factor =
            softmax_tile<kScaled>(weights + pair * kPageTokens, part.begin, part.end, rule, max[pair], sum[pair]);
        if (factor == 1.0f) continue;
        for (int i = 0; i < kAccWidth; i += kLanes)
          vstore(acc + pair * kAccWidth + i, vmul(vload(acc + pair * kAccWidth + i), vset(factor)));
      }
    }
  }

  // Positions that all rows see are mixed for all pairs together; those before and after, row by row.
  void mix_rows(int tile, int row_begin, int row_end, const Element* values) {
    const int common_begin = in_tile(row_end - 1, tile).begin;
    const int common_end = in_tile(row_begin, tile).end;
    const bool shared = common_begin < common_end;
    const auto mix = [&](int rows_from, int rows_to, int begin, int end) {
      mix_tile<kAccWidth, kValueStride>(weights, values, rows_from * head_count, rows_to * head_count, begin, end, acc);
    };
    for (int row = row_begin; row < row_end; ++row) {
      const VisibleRange part = in_tile(row, tile);
      mix(row, row + 1, part.begin, shared ? common_begin : part.end);
    }
    if (!shared) return;
    mix(row_begin, row_end, common_begin, common_end);
    for (int row = row_begin; row < row_end; ++row) mix(row, row + 1, common_end, in_tile(row, tile).end);
  }

  // total = total merged with (max, sum, acc) of a later segment. The first segment of a pair is taken as it is.
  void merge(int pair, float part_max, float part_sum, const float* part, bool first) {
    float* to = total + pair * kAccWidth;
    if (first) {
      total_max[pair] = part_max;
      total_sum[pair] = part_sum;
      std::memcpy(to, part, sizeof(float) * kAccWidth);
      return;
    }
    const float most = part_max > total_max[pair] ? part_max : total_max[pair];
    const float a = exp2_f32(total_max[pair] - most);
    const float b = exp2_f32(part_max - most);
    total_max[pair] = most;
    total_sum[pair] = total_sum[pair] * a + part_sum * b;
    for (int i = 0; i < kAccWidth; i += kLanes)
      vstore(to + i, vfma(vload(part + i), vset(b), vmul(vload(to + i), vset(a))));
  }

  // Writes the outputs of a pair from its merged state.
  void finish(int pair) {
    const int row = pair / head_count;
    const int head = first_head + pair % head_count;
    float factor = 1;
    float denominator = total_sum[pair];
    if (args.sinks) {
      const float sink = args.sinks[head] * kLog2E;
      const float most = sink > total_max[pair] ? sink : total_max[pair];
      factor = exp2_f32(total_max[pair] - most);
      denominator = denominator * factor + exp2_f32(sink - most);
    }
    factor = factor / denominator;
    float* out = args.out + (first_row + row) * args.out_stride + static_cast<size_t>(head) * S.value_width;
    for (int i = 0; i < S.value_width; ++i) out[i] = total[pair * kAccWidth + i] * factor;
  }

  int first_segment() const { return segment_of(visible[0].begin); }
  int end_segment() const { return segment_of(visible[row_count - 1].end - 1) + 1; }
  bool sees(int row, int segment) const {
    return visible[row].begin < segment_begin(segment + 1) && visible[row].end > segment_begin(segment);
  }
  bool begins_in(int row, int segment) const { return segment_of(visible[row].begin) == segment; }
  void run_segment(int segment) {
    const int begin = segment_begin(segment);
    const int end = segment_begin(segment + 1);
    const int first = visible[0].begin;
    const int last = visible[row_count - 1].end;
    run_segment(begin > first ? begin : first, end < last ? end : last);
  }

  // All segments, one after the other.
  void run_all() {
    load_queries();
    for (int segment = first_segment(); segment < end_segment(); ++segment) {
      run_segment(segment);
      for (int pair = 0; pair < pair_count(); ++pair) {
        const int row = pair / head_count;
        if (sees(row, segment)) merge(pair, max[pair], sum[pair], acc + pair * kAccWidth, begins_in(row, segment));
      }
    }
    for (int pair = 0; pair < pair_count(); ++pair) finish(pair);
  }

  // Partial result of a pair and segment in the scratch: [kAccWidth] acc, max, sum.
  float* partial(int pair, int segment) const {
    const size_t row = static_cast<size_t>(first_row + pair / head_count);
    const size_t head = static_cast<size_t>(first_head + pair % head_count);
    const size_t slot = (row * S.heads + head) * segment_count(args.max_span) + segment;
    return reinterpret_cast<float*>(args.scratch + kAttentionCounterBytes) + slot * (kAccWidth + 2);
  }

  // One segment into the scratch. The caller that completes the block merges it.
  void run_split(int segment, std::atomic_ref<uint32_t> finished) {
    load_queries();
    run_segment(segment);
    for (int pair = 0; pair < pair_count(); ++pair) {
      if (!sees(pair / head_count, segment)) continue;
      float* to = partial(pair, segment);
      std::memcpy(to, acc + pair * kAccWidth, sizeof(float) * kAccWidth);
      to[kAccWidth] = max[pair];
      to[kAccWidth + 1] = sum[pair];
    }
    const auto segments = static_cast<uint32_t>(end_segment() - first_segment());
    if (finished.fetch_add(1, std::memory_order_acq_rel) + 1 != segments) return;
    finished.store(0, std::memory_order_relaxed);
    for (int pair = 0; pair < pair_count(); ++pair) {
      const int row = pair / head_count;
      for (int seg = first_segment(); seg < end_segment(); ++seg) {
        if (!sees(row, seg)) continue;
        const float* part = partial(pair, seg);
        merge(pair, part[kAccWidth], part[kAccWidth + 1], part, begins_in(row, seg));
      }
      finish(pair);
    }
  }
};

template <AttentionShape S>
constexpr int split_rows() {
  using Block = AttentionBlock<S>;
  return max_split_rows(Block::kKvHeads * Block::kBlock.head_blocks,
                        size_t{S.heads} * (Block::kAccWidth + 2) * sizeof(float));
}

}  // namespace internal

// Bytes of the scratch one call needs; calls that follow each other may share it. The counters at its start must be
// zero before the first call; every call leaves them zero.
template <AttentionShape S>
constexpr size_t attention_scratch_bytes(int max_span) {
  return kAttentionCounterBytes + size_t(internal::split_rows<S>()) * S.heads * segment_count(max_span) *
                                      (internal::AttentionBlock<S>::kAccWidth + 2) * sizeof(float);
}

// This thread's part of the attention of a batch. All `thread_count` threads must make the call; results are complete
// when all have returned.
template <AttentionShape S>
void attention(const AttentionArgs& args, int thread_count) {
  using Block = internal::AttentionBlock<S>;
  constexpr int kHeadBlocks = Block::kKvHeads * Block::kBlock.head_blocks;
  const bool split = thread_count > 1 && args.batch->token_count <= internal::split_rows<S>();
  internal::UnitClaims claims(args.scratch, thread_count);
  internal::for_row_blocks(*args.batch, Block::kBlock.rows, [&](int index, const internal::BlockRows& rows) {
    for (int head_block = 0; head_block < kHeadBlocks; ++head_block) {
      Block block(args, rows, head_block);
      if (!split || block.end_segment() - block.first_segment() == 1) {
        if (claims.mine()) block.run_all();
        continue;
      }
      for (int segment = block.first_segment(); segment < block.end_segment(); ++segment) {
        if (claims.mine()) block.run_split(segment, claims.finished(index * kHeadBlocks + head_block));
      }
    }
  });
}

}  // namespace scratchy::cpu
