// Attention over the paged KV cache, fused: scores, mask, softmax and weighted sum in one pass over keys and values.
//
// A row's positions are cut into fixed *segments* and those into tiles of 64, both by absolute position. A segment
// starts from nothing and runs the online softmax over its tiles; the partial results (max, sum, acc) of the segments
// are then merged in rising order by one rule. Neither depends on the batch, the threads or the chunk a prompt came in,
// and every row does exactly the arithmetic it would do alone: results are bit-identical however the work is divided.
//
// Work is cut into units: a block of rows of one sequence x heads, and for small batches x one segment. Threads claim
// units from a counter in `scratch` (one thread alone leaves it untouched). The thread that finishes the last unit of a
// block of rows merges its segments, so no barrier is needed inside; one after the step suffices.
//
// Logits are computed in units of log 2: s * log2(e), so that weights are powers of two.
#pragma once

#include "targets/cpu/kernels/attention_block.h"

namespace scratchy::cpu {

namespace internal {

template <AttentionShape S>
constexpr int split_rows() {
  return max_split_rows(sizeof(float) * S.heads * AttentionBlock<S>::kPartialFloats);
}

// The units of one block of rows whose segments several threads share: all heads of one segment, and for the last
// segments, where threads would wait for each other, single heads.
template <AttentionShape S>
void attend_split(const AttentionArgs& args, int thread_count, int index, const BlockRows& rows, UnitClaims& claims) {
  using Block = AttentionBlock<S>;
  const Block block(args, rows, 0, false);
  const int begin = block.first_segment();
  const int end = block.end_segment();
  const int narrow = 2 * thread_count < end - begin && Block::fits_wide(rows.count) ? end - 2 * thread_count : begin;
  const int unit_count = narrow - begin + (end - narrow) * Block::kHeadBlocks;
  int done = 0;
  for (int segment = begin; segment < narrow; ++segment) {
    if (!claims.mine()) continue;
    Block(args, rows, 0, true).run_partial(segment);
    ++done;
  }
  for (int segment = narrow; segment < end; ++segment) {
    for (int head_block = 0; head_block < Block::kHeadBlocks; ++head_block) {
      if (!claims.mine()) continue;
      Block(args, rows, head_block, false).run_partial(segment);
      ++done;
    }
  }
  if (done == 0 || !claims.completes(index, done, unit_count)) return;
  for (int head_block = 0; head_block < Block::kHeadBlocks; ++head_block)
    Block(args, rows, head_block, false).merge_partials();
}

}  // namespace internal

// Bytes of the scratch a call needs; calls that follow each other may share it. The counters at its start must be zero
// before the first call; every call leaves them zero.
template <AttentionShape S>
constexpr size_t attention_scratch_bytes(int max_span) {
  return kAttentionCounterBytes + sizeof(float) * internal::split_rows<S>() * S.heads * segment_count(max_span) *
                                      internal::AttentionBlock<S>::kPartialFloats;
}

// This thread's part of the attention of a batch. All `thread_count` threads must make the call; results are complete
// when all have returned.
template <AttentionShape S>
void attention(const AttentionArgs& args, int thread_count) {
  using Block = internal::AttentionBlock<S>;
  const bool few_rows = thread_count > 1 && args.batch->token_count <= internal::split_rows<S>();
  internal::UnitClaims claims(args.scratch, thread_count);
  internal::for_row_blocks(*args.batch, Block::kShape.rows, [&](int index, const internal::BlockRows& rows) {
    const Block block(args, rows, 0, false);
    if (few_rows && block.end_segment() - block.first_segment() > 1) {
      internal::attend_split<S>(args, thread_count, index, rows, claims);
    } else if (!few_rows && Block::fits_wide(rows.count)) {
      if (claims.mine()) Block(args, rows, 0, true).run_all();
    } else {
      for (int head_block = 0; head_block < Block::kHeadBlocks; ++head_block) {
        if (claims.mine()) Block(args, rows, head_block, false).run_all();
      }
    }
  });
}

}  // namespace scratchy::cpu
