// Panel products with 8-bit activations: integer dot products, one f32 multiply-add a group.
//
//   y[t, lane] = sum over groups of  scale[lane] * a[t] * dot  +  offset[lane] * a[t] * sum of codes
//   dot        = sum of (code - middle) * activation code, exact in int32
//
// `middle` is taken off by starting the dot product at -middle * (sum of activation codes), which is exact and free.
// The only order that matters is the f32 sum over groups: in the order of k, from zero, the same instructions for any
// number of tokens.
//
// Registers, AVX-512, 16 tokens: 16 sums + 8 vectors of codes + scale + a dot product in flight = 26 of 32. Codes are
// unpacked once for 16 tokens. In a block a token costs 8 dot products, a convert, a multiply and a multiply-add: on
// Zen 4, where dot products, multiplies and multiply-adds share two pipes, at most 8 / 10 of the dot product rate.
#pragma once

#include "targets/cpu/kernels/act.h"
#include "targets/cpu/kernels/gemm_codes.h"
#include "targets/cpu/kernels/gemm_scales.h"

namespace scratchy::cpu {

// -kMiddle * sum, less what dot_codes itself takes off: where a dot product starts. neg_sum is minus the sum.
template <int kMiddle, int kBits>
I32x16 dot_start(int32_t neg_sum) {
  constexpr int kLeft = kMiddle - kDotBias<kBits>;
  constexpr int kSize = kLeft < 0 ? -kLeft : kLeft;
  constexpr int kShift = __builtin_ctz(kSize == 0 ? 1 : static_cast<unsigned>(kSize));
  static_assert(kSize == 0 || kSize == 1 << kShift);
  if constexpr (kLeft == 0) return i32_zero();
  const I32x16 start = shift_left<kShift>(i32_splat(neg_sum));
  return kLeft > 0 ? start : sub(i32_zero(), start);
}

template <PackForm kForm, int kTokens>
struct Q8Tile {
  static constexpr PackTraits kTraits = traits_of(kForm);
  static constexpr int kBits = dot_bits(kTraits);
  static constexpr int kMiddle = code_middle(kTraits);
  static constexpr bool kHalves = kTraits.group == 16;

  F32x16 sum[kTokens];

  // Columns kFirst * 4 .. of the block at `at`, under one scale.
  template <int kFirst, int kCount>
  static inline __attribute__((always_inline)) F32x16 group(F32x16 total, const CodeBlock& codes, F32x16 scale,
                                                            F32x16 offset, const Q8Block& x) {
    const int32_t neg_sum = kCount == 8 ? x.neg_sum : kFirst == 0 ? x.neg_sum_low : x.neg_sum - x.neg_sum_low;
    const I32x16 start = dot_start<kMiddle, kBits>(neg_sum);
    const I32x16 dot = dot_codes<kBits, kCount>(codes.v + kFirst, x.codes + 4 * kFirst, start);
    total = fma(mul(scale, f32_splat(x.scale)), to_f32(dot), total);
    if constexpr (has_offset(kTraits)) {
      const float scale_sum = kCount == 8 ? x.scale_sum : -x.scale * static_cast<float>(neg_sum);
      total = fma(offset, f32_splat(scale_sum), total);
    }
    return total;
  }

  inline __attribute__((always_inline)) void block(const CodeBlock& codes, const GroupScales<kForm>& scales, int s,
                                                   const Q8Block* const* x, int at) {
#pragma GCC unroll 16
    for (int t = 0; t < kTokens; ++t) {
      const Q8Block& a = x[t][at];
      if constexpr (kHalves) {
        constexpr int kLast = has_offset(kTraits) ? 1 : 0;
        sum[t] = group<0, 4>(sum[t], codes, scales.scale[2 * s], scales.offset[kLast * 2 * s], a);
        sum[t] = group<4, 4>(sum[t], codes, scales.scale[2 * s + 1], scales.offset[kLast * (2 * s + 1)], a);
      } else {
        const int g = GroupScales<kForm>::kGroups > 1 ? s : 0;
        sum[t] = group<0, 8>(sum[t], codes, scales.scale[g], scales.offset[has_offset(kTraits) ? g : 0], a);
      }
    }
  }
};

// out[t, 16] = one panel times kTokens rows; x[t] are q8 rows of `blocks` blocks.
template <PackForm kForm, int kTokens>
[[gnu::noinline]] void panel_q8(const std::byte* w, const Q8Block* const* x, int blocks, float* out) {
  constexpr PackTraits kTraits = traits_of(kForm);
  static_assert(kTraits.coding == Coding::kInteger || is_table(kTraits.coding), "this form has no integer view");
  Q8Tile<kForm, kTokens> tile;
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) tile.sum[t] = f32_zero();
  const int step = blocks_per_header(kTraits, blocks);
  GroupScales<kForm> scales;
  for (int b = 0; b < blocks; b += step) {
    read_scales<kForm>(w, &scales);
    w += header_bytes(kTraits);
    const int end = blocks - b < step ? blocks - b : step;
    for (int s = 0; s < end; ++s, w += block_code_bytes(kTraits)) {
      tile.block(unpack_codes<kForm>(w), scales, s, x, b + s);
    }
  }
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) f32_store(out + kPanel * t, tile.sum[t]);
}

}  // namespace scratchy::cpu
