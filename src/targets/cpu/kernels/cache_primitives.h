// Attention in separate steps, unfused: products with a cache plane, the mask, and weighted sums of a plane. Softmax
// between them is the general one. Simple loops, each sum one chain over rising d or j in f32, so a row depends on
// nothing but itself; attention.h is the fast form.
//
// `span` is the constant width of the score rows. The length of a sequence is the position of its last row plus one;
// columns at or beyond it are 0 in scores, -inf after the mask, and never read by the mix.
#pragma once

#include "targets/cpu/kernels/attention_plan.h"
#include "targets/cpu/kernels/kv_cache.h"

namespace scratchy::cpu {

namespace internal {

// Positions of the sequence of row t, at most span.
inline int columns_of(const Batch& batch, int t, int span) {
  const SequenceRows& sequence = batch.sequences[batch.rows[t].sequence];
  const int length = batch.rows[sequence.first_row + sequence.row_count - 1].position + 1;
  return length < span ? length : span;
}

}  // namespace internal

// s[t, n, j] = q[t, n] . plane[j, n / (N / K)] for rows [row_begin, row_end). q: [T, N, width], s: [T, N, span].
template <KvPlane P, int N>
void cache_scores(const Batch& batch, const KvPool& pool, size_t plane_offset, const float* q, float* s, int span,
                  int row_begin, int row_end) {
  for (int t = row_begin; t < row_end; ++t) {
    const int32_t* pages = batch.sequences[batch.rows[t].sequence].pages;
    const int columns = internal::columns_of(batch, t, span);
    for (int n = 0; n < N; ++n) {
      const float* query = q + (static_cast<size_t>(t) * N + n) * P.width;
      float* row = s + (static_cast<size_t>(t) * N + n) * span;
      for (int j = 0; j < columns; ++j) {
        std::byte* block = kv_head_block<P>(pool, plane_offset, pages, j, n / (N / P.heads));
        float sum = 0;
        for (int d = 0; d < P.width; ++d) sum += query[d] * internal::kv_value<P>(block, j, d);
        row[j] = sum;
      }
      for (int j = columns; j < span; ++j) row[j] = 0;
    }
  }
}

// out[t, n, c] = sum over j of p[t, n, j] * plane[j, n / (N / K), first_column + c], zero weights skipped.
// p: [T, N, span], out: [T, N, column_count].
template <KvPlane P, int N>
void cache_mix(const Batch& batch, const KvPool& pool, size_t plane_offset, const float* p, float* out, int span,
               int first_column, int column_count, int row_begin, int row_end) {
  for (int t = row_begin; t < row_end; ++t) {
    const int32_t* pages = batch.sequences[batch.rows[t].sequence].pages;
    const int columns = internal::columns_of(batch, t, span);
    for (int n = 0; n < N; ++n) {
      const float* weights = p + (static_cast<size_t>(t) * N + n) * span;
      float* row = out + (static_cast<size_t>(t) * N + n) * column_count;
      for (int c = 0; c < column_count; ++c) row[c] = 0;
      for (int j = 0; j < columns; ++j) {
        if (weights[j] == 0) continue;
        std::byte* block = kv_head_block<P>(pool, plane_offset, pages, j, n / (N / P.heads));
        for (int c = 0; c < column_count; ++c) row[c] += weights[j] * internal::kv_value<P>(block, j, first_column + c);
      }
    }
  }
}

// y[t, n, j] = s[t, n, j] where row t sees position j by `rule` (window, causal) and visible_end ([T] or null), else
// -inf.
inline void cache_mask(const Batch& batch, const AttentionRule& rule, const int32_t* visible_end, const float* s,
                       float* y, int heads, int span, int row_begin, int row_end) {
  for (int t = row_begin; t < row_end; ++t) {
    const VisibleRange seen = visible_range(rule, batch.rows[t].position, internal::columns_of(batch, t, span),
                                            visible_end ? visible_end[t] : 0);
    for (int n = 0; n < heads; ++n) {
      const size_t row = (static_cast<size_t>(t) * heads + n) * span;
      for (int j = 0; j < span; ++j) y[row + j] = j >= seen.begin && j < seen.end ? s[row + j] : -INFINITY;
    }
  }
}

}  // namespace scratchy::cpu
