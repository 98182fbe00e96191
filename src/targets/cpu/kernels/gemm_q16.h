// Panel products with 16-bit activations: integer dot products, one f32 multiply-add a group.
//
//   y[t, lane] = sum over groups of  scale[lane] * a[t] * dot  +  offset[lane] * a[t] * sum of codes
//   dot        = sum of (code - middle) * activation code, exact in int32: below 2^27
//
// `middle` is taken off by starting the dot product at -middle * (sum of activation codes), which is exact and free.
// The only order that matters is the f32 sum over groups: in the order of k, from zero, the same instructions for any
// number of tokens.
//
// A tile is kPanels panels by kTokens tokens. AVX-512, 2 x 4: 8 sums + 16 vectors of codes + 2 scales + 2 dot products
// and one spread of activations in flight = 29 of 32 registers. Two panels share each spread, because a Zen 4 core
// loads one 512-bit vector a cycle and issues one dot product a cycle. The multiply pipes take 18 operations a panel, token
// and block, 16 of them dot products of bytes: at most 89 % of the dot product rate.
#pragma once

#include "targets/cpu/kernels/act.h"
#include "targets/cpu/kernels/gemm_codes.h"
#include "targets/cpu/kernels/gemm_scales.h"

namespace scratchy::cpu {

// -kMiddle * sum, where a dot product starts. neg_sum is minus the sum.
template <int kMiddle>
SCRATCHY_INLINE I32x16 dot_start(int32_t neg_sum) {
  constexpr int kShift = __builtin_ctz(kMiddle == 0 ? 1 : static_cast<unsigned>(kMiddle));
  static_assert(kMiddle == 0 || kMiddle == 1 << kShift);
  if constexpr (kMiddle == 0) return i32_zero();
  return shift_left<kShift>(i32_splat(neg_sum));
}

// One token, the 32 columns of a block under the scales of group g: adds to sum[panel].
template <PackForm kForm, int kPanels>
SCRATCHY_INLINE void add_block(const DotWeights<dot_bits(traits_of(kForm))> (*codes)[8], const GroupScales<kForm>* scales, int g, const Q16Block& x,
                               F32x16* sum) {
  constexpr PackTraits kTraits = traits_of(kForm);
  I32x16 dot[kPanels];
  dot_codes<dot_bits(kTraits), 0, 8, kPanels>(codes, x.codes, dot_start<code_middle(kTraits)>(x.neg_sum), dot);
  for (int p = 0; p < kPanels; ++p) {
    sum[p] = fma(mul(scales[p].scale[g], f32_splat(x.scale)), to_f32(dot[p]), sum[p]);
    if constexpr (has_offset(kTraits)) sum[p] = fma(scales[p].offset[g], f32_splat(x.scale_sum), sum[p]);
  }
}

// One token, two groups of 16 columns: their products are added before the activations' scale.
template <PackForm kForm, int kPanels>
SCRATCHY_INLINE void add_halves(const DotWeights<dot_bits(traits_of(kForm))> (*codes)[8], const GroupScales<kForm>* scales, int g, const Q16Block& x,
                                F32x16* sum) {
  constexpr PackTraits kTraits = traits_of(kForm);
  constexpr int kMiddle = code_middle(kTraits);
  I32x16 first[kPanels], second[kPanels];
  const int32_t neg_sum_second = x.neg_sum - x.neg_sum_first;
  dot_codes<dot_bits(kTraits), 0, 4, kPanels>(codes, x.codes, dot_start<kMiddle>(x.neg_sum_first), first);
  dot_codes<dot_bits(kTraits), 4, 4, kPanels>(codes, x.codes, dot_start<kMiddle>(neg_sum_second), second);
  for (int p = 0; p < kPanels; ++p) {
    F32x16 both = mul(scales[p].scale[g], to_f32(first[p]));
    both = fma(scales[p].scale[g + 1], to_f32(second[p]), both);
    if constexpr (has_offset(kTraits)) {
      both = fma(scales[p].offset[g], f32_splat(-static_cast<float>(x.neg_sum_first)), both);
      both = fma(scales[p].offset[g + 1], f32_splat(-static_cast<float>(neg_sum_second)), both);
    }
    sum[p] = fma(f32_splat(x.scale), both, sum[p]);
  }
}

// out[p, t, 16] = kPanels panels, `stride` bytes apart, times kTokens rows; x[t] are q16 rows of `blocks` blocks.
template <PackForm kForm, int kPanels, int kTokens>
[[gnu::noinline]] void panel_q16(const std::byte* w, size_t stride, const Q16Block* const* x, int blocks, float* out) {
  constexpr PackTraits kTraits = traits_of(kForm);
  static_assert(kTraits.coding == Coding::kInteger || is_table(kTraits.coding), "this form has no integer view");
  F32x16 sum[kTokens][kPanels];
  DotWeights<dot_bits(kTraits)> codes[kPanels][8];
  GroupScales<kForm> scales[kPanels];
  for (int t = 0; t < kTokens; ++t) {
    for (int p = 0; p < kPanels; ++p) sum[t][p] = f32_zero();
  }
  const int step = blocks_per_header(kTraits, blocks);
  for (int b = 0; b < blocks; b += step) {
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) read_scales<kForm>(w + static_cast<size_t>(p) * stride, &scales[p]);
    w += header_bytes(kTraits);
    const int end = blocks - b < step ? blocks - b : step;
    for (int s = 0; s < end; ++s, w += block_code_bytes(kTraits)) {
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) {
        B8x64 bytes[8];
        unpack_codes<kForm>(w + static_cast<size_t>(p) * stride, bytes);
#pragma GCC unroll 8
        for (int j = 0; j < 8; ++j) codes[p][j] = dot_weights<dot_bits(kTraits)>(bytes[j]);
      }
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) {
        if constexpr (kTraits.group == 16) {
          add_halves<kForm, kPanels>(codes, scales, 2 * s, x[t][b + s], sum[t]);
        } else {
          const int g = GroupScales<kForm>::kGroups > 1 ? s : 0;
          add_block<kForm, kPanels>(codes, scales, g, x[t][b + s], sum[t]);
        }
      }
    }
  }
  for (int p = 0; p < kPanels; ++p) {
    for (int t = 0; t < kTokens; ++t) f32_store(out + kPanel * (p * kTokens + t), sum[t][p]);
  }
}

}  // namespace scratchy::cpu
