// Attention of a few query rows against one tile: 64 aligned positions of one kv head.
//
// A *pair* is one query row and one query head; the pairs of a block share the loaded keys and values. Three steps:
//   score_tile     s[pair, j] = q[pair] . k[j]     lanes = positions, one multiply-add chain over d = 0, 1, ..
//   softmax_tile   p[pair, j] = 2^(s - max), with the running maximum and sum of the pair
//   mix_tile       acc[pair] += sum_j p[pair, j] v[j]     lanes = elements, one multiply-add chain over rising j
// Each number of a pair comes from the same chain however many pairs or positions a register block holds, and positions
// a pair does not see never enter its sums. That is what makes a row's result independent of its neighbours.
#pragma once

#include "targets/cpu/kernels/kv_cache.h"

namespace scratchy::cpu::internal {

// Pairs in a register block of scores and of mixes. 6 x 4 (AVX-512) or 6 x 2 vectors of sums, the inputs of one step
// and one broadcast fit the registers; 24 or 12 independent chains cover latency 4 x 2 multiply-adds a cycle.
inline constexpr int kPairBlock = 6;

// Vectors of sums beside `pairs` such that sums + inputs fit the registers; a power of two, at most `most`.
constexpr int vectors_beside(int pairs, int most) {
  int vectors = most;
  while (vectors > 1 && pairs * vectors + (pairs < vectors ? pairs : vectors) + 1 > kVectorRegisters) vectors /= 2;
  return vectors;
}

// f(integral_constant<M>, first) for blocks of kPairBlock pairs and one smaller rest, over [begin, end).
template <typename F>
SCRATCHY_INLINE void for_pair_blocks(int begin, int end, F&& f) {
  for (; end - begin >= kPairBlock; begin += kPairBlock) f(std::integral_constant<int, kPairBlock>{}, begin);
  switch (end - begin) {
    case 1:
      return f(std::integral_constant<int, 1>{}, begin);
    case 2:
      return f(std::integral_constant<int, 2>{}, begin);
    case 3:
      return f(std::integral_constant<int, 3>{}, begin);
    case 4:
      return f(std::integral_constant<int, 4>{}, begin);
    case 5:
      return f(std::integral_constant<int, 5>{}, begin);
  }
}

// sums[m][v] += broadcast a[m] * vector b(v), the side with fewer values held in registers.
template <int M, int V, typename Broadcast, typename Load>
SCRATCHY_INLINE void outer_product(Vec (&sums)[M][V], Broadcast&& broadcast, Load&& load) {
  if constexpr (V <= M) {
    Vec b[V];
    unroll<V>([&](auto v) SCRATCHY_INLINE_LAMBDA { b[v] = load(v); });
    unroll<M>([&](auto m) SCRATCHY_INLINE_LAMBDA {
      const Vec a = broadcast(m);
      unroll<V>([&](auto v) SCRATCHY_INLINE_LAMBDA { sums[m][v] = vfma(a, b[v], sums[m][v]); });
    });
  } else {
    Vec a[M];
    unroll<M>([&](auto m) SCRATCHY_INLINE_LAMBDA { a[m] = broadcast(m); });
    unroll<V>([&](auto v) SCRATCHY_INLINE_LAMBDA {
      const Vec b = load(v);
      unroll<M>([&](auto m) SCRATCHY_INLINE_LAMBDA { sums[m][v] = vfma(a[m], b, sums[m][v]); });
    });
  }
}

// Asks for the cache lines of what is read next, kLines at each step of a loop. A history jumps from page to page, in
// pieces too short for the prefetchers of the CPU: without this, decode at depth 4,096 (N = 9, K = 3, D = 64, f16) read
// 13 GB/s on one Zen 4 thread, with it 21, near the 23 of a history in cache. `from` null: nothing to ask for.
template <int kLines>
SCRATCHY_INLINE void prefetch_lines(const std::byte* from, int step) {
  if (from == nullptr) return;
  unroll<kLines>([&](auto i) SCRATCHY_INLINE_LAMBDA { prefetch_l2(from + (step * kLines + i) * 64); });
}
constexpr int lines_a_step(size_t bytes, int steps) { return static_cast<int>((bytes / 64 + steps - 1) / steps); }

// Scores of M pairs with G groups of 16 positions. q: [M][D]; keys: [G][D][16]; s: [M] rows of kPageTokens.
template <int M, int G, int D, int kLines, typename E>
SCRATCHY_INLINE void score_groups(const float* q, const E* keys, float* s, const std::byte* ahead) {
  constexpr int kVectors = kGroup / kLanes;
  Vec sums[M][G * kVectors];
  unroll<M>([&](auto m) SCRATCHY_INLINE_LAMBDA {
    unroll<G * kVectors>([&](auto v) SCRATCHY_INLINE_LAMBDA { sums[m][v] = vzero(); });
  });
  for (int d = 0; d < D; ++d) {
    prefetch_lines<kLines>(ahead, d);
    outer_product(
        sums, [&](auto m) SCRATCHY_INLINE_LAMBDA { return vset(q[m * D + d]); },
        [&](auto v)
            SCRATCHY_INLINE_LAMBDA { return load_kv(keys + (v / kVectors * D + d) * kGroup + v % kVectors * kLanes); });
  }
  unroll<M>([&](auto m) SCRATCHY_INLINE_LAMBDA {
    unroll<G * kVectors>([&](auto v) SCRATCHY_INLINE_LAMBDA { vstore(s + m * kPageTokens + v * kLanes, sums[m][v]); });
  });
}

// Scores of pairs [begin, end) with groups [group_begin, group_end) of a tile. q: [pairs][D], s: [pairs][64]. Meanwhile
// fetches kAheadBytes at `ahead`.
template <int D, size_t kAheadBytes, typename E>
void score_tile(const float* q, const E* keys, float* s, int begin, int end, int group_begin, int group_end,
                const std::byte* ahead) {
  for_pair_blocks(begin, end, [&](auto pairs, int first) SCRATCHY_INLINE_LAMBDA {
    constexpr int kPairs = decltype(pairs)::value;
    constexpr int kFitting = vectors_beside(kPairs, kPageTokens / kLanes) * kLanes / kGroup;
    constexpr int kStep = kFitting > 0 ? kFitting : 1;
    constexpr int kLines = lines_a_step(kAheadBytes, D * kTileGroups / kStep);
    const float* block_q = q + first * D;
    float* block_s = s + first * kPageTokens;
    int group = group_begin;
    for (; group + kStep <= group_end; group += kStep) {
      const bool fetch = first == begin && ahead != nullptr;
      score_groups<kPairs, kStep, D, kLines>(block_q, keys + group * D * kGroup, block_s + group * kGroup,
                                             fetch ? ahead + group / kStep * D * kLines * 64 : nullptr);
    }
    if constexpr (kStep > 1) {
      for (; group < group_end; ++group)
        score_groups<kPairs, 1, D, 0>(block_q, keys + group * D * kGroup, block_s + group * kGroup, nullptr);
    }
  });
}

// A tile of kRows elements turned into the order of kColumns: to[64/16][D][16].
template <int D, typename E>
void turn_tile(const E* from, int row_stride, E* to) {
  for (int j = 0; j < kPageTokens; ++j) {
    for (int d = 0; d < D; ++d) to[(j / kGroup * D + d) * kGroup + j % kGroup] = from[j * row_stride + d];
  }
}

// What turns raw products into logits in units of log 2 (q already holds the first factor).
struct LogitRule {
  float softcap = 0;                    // in units of log 2; 0: none
  const float* key_scales = nullptr;    // [64], int8 planes only
  const float* value_scales = nullptr;  // [64], folded into p
};

// Turns the scores of one pair into weights. s: [64], only positions [lo, hi) are visible; those in the touched vectors
// outside become 0. Updates the running maximum and sum; returns the factor for what was summed before.
template <bool kScaled>
SCRATCHY_INLINE float softmax_tile(float* s, int lo, int hi, const LogitRule& rule, float& max, float& sum) {
  const int first = lo / kLanes * kLanes;
  Vec most = vset(-INFINITY);
  for (int j = first; j < hi; j += kLanes) {
    Vec x = vload(s + j);
    if constexpr (kScaled) x = vmul(x, vload(rule.key_scales + j));
    if (rule.softcap != 0) x = vmul(vset(rule.softcap), vtanh(x));
    if (j < lo || j + kLanes > hi) {
      x = vselect_range(x, lo > j ? lo - j : 0, hi - j < kLanes ? hi - j : kLanes, vset(-INFINITY));
    }
    vstore(s + j, x);
    most = vmax(most, x);
  }
  const float tile_max = vreduce_max(most);
  const float new_max = tile_max > max ? tile_max : max;
  const Vec shift = vset(new_max);
  Vec total = vzero();
  for (int j = first; j < hi; j += kLanes) {
    Vec p = vexp2(vsub(vload(s + j), shift));
    if (j < lo || j + kLanes > hi) {
      p = vselect_range(p, lo > j ? lo - j : 0, hi - j < kLanes ? hi - j : kLanes, vzero());
    }
    total = vadd(total, p);
    if constexpr (kScaled) p = vmul(p, vload(rule.value_scales + j));
    vstore(s + j, p);
  }
  const float factor = new_max == max ? 1.0f : exp2_f32(max - new_max);
  sum = sum * factor + vreduce_add(total);
  max = new_max;
  return factor;
}

// acc[m][0 .. V lanes) += sum over j in [begin, end) of p[m][j] * values[j]. p: [M] rows of 64; acc: [M] rows of
// stride.
template <int M, int V, int kLines, typename E>
SCRATCHY_INLINE void mix_columns(const float* p, const E* values, int row_stride, int begin, int end, float* acc,
                                 int acc_stride, const std::byte* ahead) {
  Vec sums[M][V];
  unroll<M>([&](auto m) SCRATCHY_INLINE_LAMBDA {
    unroll<V>([&](auto v) SCRATCHY_INLINE_LAMBDA { sums[m][v] = vload(acc + m * acc_stride + v * kLanes); });
  });
  for (int j = begin; j < end; ++j) {
    prefetch_lines<kLines>(ahead, j);
    outer_product(
        sums, [&](auto m) SCRATCHY_INLINE_LAMBDA { return vset(p[m * kPageTokens + j]); },
        [&](auto v) SCRATCHY_INLINE_LAMBDA { return load_kv(values + j * row_stride + v * kLanes); });
  }
  unroll<M>([&](auto m) SCRATCHY_INLINE_LAMBDA {
    unroll<V>([&](auto v) SCRATCHY_INLINE_LAMBDA { vstore(acc + m * acc_stride + v * kLanes, sums[m][v]); });
  });
}

// Pairs [pair_begin, pair_end) take the values of positions [begin, end) of a tile. kWidth: padded to 16; p:
// [pairs][64]; acc: [pairs][kWidth]. Meanwhile fetches kAheadBytes at `ahead`.
template <int kWidth, int kRowStride, size_t kAheadBytes, typename E>
void mix_tile(const float* p, const E* values, int pair_begin, int pair_end, int begin, int end, float* acc,
              const std::byte* ahead) {
  if (begin >= end) return;
  for_pair_blocks(pair_begin, pair_end, [&](auto pairs, int first) SCRATCHY_INLINE_LAMBDA {
    constexpr int kPairs = decltype(pairs)::value;
    constexpr int kVectors = kWidth / kLanes;
    constexpr int kStep = vectors_beside(kPairs, kVectors >= 8 ? 8 : kVectors >= 4 ? 4 : kVectors >= 2 ? 2 : 1);
    constexpr int kRest = kVectors % kStep;
    constexpr int kLines = lines_a_step(kAheadBytes, kPageTokens * (kVectors / kStep));
    const float* block_p = p + first * kPageTokens;
    float* block_acc = acc + first * kWidth;
    int column = 0;
    for (; column + kStep * kLanes <= kWidth; column += kStep * kLanes) {
      const bool fetch = first == pair_begin && ahead != nullptr;
      mix_columns<kPairs, kStep, kLines>(
          block_p, values + column, kRowStride, begin, end, block_acc + column, kWidth,
          fetch ? ahead + column / (kStep * kLanes) * kPageTokens * kLines * 64 : nullptr);
    }
    if constexpr (kRest > 0)
      mix_columns<kPairs, kRest, 0>(block_p, values + column, kRowStride, begin, end, block_acc + column, kWidth,
                                    nullptr);
  });
}

}  // namespace scratchy::cpu::internal
