// Panel products with f32 or bf16 activations: weights are widened in registers, nothing is rounded but the sums.
//
// Every form passes through one small interface, a block of 32 columns that yields its weights a column at a time. The
// products of a block are summed from zero in the order of k (a chain of 32 multiply-adds for each output and token),
// then added to the total. Chains of successive blocks do not depend on each other, so that the processor overlaps them
// even for one token, and the order is the same for any number of tokens. Totals live in `out`: they are touched once a
// block.
//
// The weight of a stored code is fma(scale, code - middle, offset): exact but for that one rounding.
#pragma once

#include "targets/cpu/kernels/act.h"
#include "targets/cpu/kernels/gemm_codes.h"
#include "targets/cpu/kernels/gemm_scales.h"

namespace scratchy::cpu {

// e4m3 bytes to f32: exponent and mantissa move into place, 2^120 corrects the bias (127 - 7). The codes have no NaN.
inline F32x16 widen_e4m3(I32x16 code) {
  const I32x16 magnitude = shift_left<20>(bit_and(code, 0x7f));
  const I32x16 sign = shift_left<24>(bit_and(code, 0x80));
  return mul(bits_as_f32(bit_or(magnitude, sign)), f32_splat(0x1p120f));
}

template <PackForm kForm>
struct WeightBlock {
  static constexpr PackTraits kTraits = traits_of(kForm);
  const std::byte* p;
  CodeBlock codes;
  F32x16 scale[2];
  F32x16 offset[2];
  F32x16 codebook;

  // Column kColumn, known when compiled.
  template <int kColumn>
  inline __attribute__((always_inline)) F32x16 column() const {
    if constexpr (kTraits.coding == Coding::kDenseF32) {
      return f32_load(p + 64 * kColumn);
    } else if constexpr (kTraits.coding == Coding::kDenseF16) {
      return f32_load_f16(p + 32 * kColumn);
    } else if constexpr (kTraits.coding == Coding::kDenseBF16) {
      const I32x16 pair = as_i32(b8_load(p + 64 * (kColumn / 2)));
      return bits_as_f32(kColumn % 2 == 0 ? shift_left<16>(pair) : bit_and(pair, static_cast<int32_t>(0xffff0000u)));
    } else {
      constexpr int kHalf = kTraits.group == 16 ? kColumn / 16 : 0;
      const I32x16 code = bit_and(shift_right<8 * (kColumn % 4)>(as_i32(codes.v[kColumn / 4])), 255);
      if constexpr (kTraits.coding == Coding::kFp8) return mul(scale[0], widen_e4m3(code));
      if constexpr (kTraits.coding == Coding::kCodebook) return mul(scale[0], lookup_f32(codebook, code));
      constexpr int kMiddle = code_middle(kTraits);
      const F32x16 value = to_f32(kMiddle == 0 ? code : sub(code, i32_splat(kMiddle)));
      return has_offset(kTraits) ? fma(scale[kHalf], value, offset[kHalf]) : mul(scale[kHalf], value);
    }
  }
};

// Calls f(block, index) for every block of a panel, with scales and codes in place.
template <PackForm kForm, class F>
inline __attribute__((always_inline)) void for_each_weight_block(const std::byte* w, int blocks, F f) {
  constexpr PackTraits kTraits = traits_of(kForm);
  WeightBlock<kForm> block{};
  if constexpr (kTraits.coding == Coding::kCodebook) block.codebook = f32_load(w);
  w += codebook_bytes(kTraits);
  if constexpr (is_dense(kTraits)) {
    for (int b = 0; b < blocks; ++b, w += block_code_bytes(kTraits)) {
      block.p = w;
      f(block, b);
    }
  } else {
    const int step = blocks_per_header(kTraits, blocks);
    GroupScales<kForm> scales;
    for (int b = 0; b < blocks; b += step) {
      read_scales<kForm>(w, &scales);
      w += header_bytes(kTraits);
      const int end = blocks - b < step ? blocks - b : step;
      for (int s = 0; s < end; ++s, w += block_code_bytes(kTraits)) {
        constexpr int kPerBlock = kTraits.group == 16 ? 2 : 1;
        for (int h = 0; h < kPerBlock; ++h) {
          const int g = GroupScales<kForm>::kGroups > 1 ? kPerBlock * s + h : 0;
          block.scale[h] = scales.scale[g];
          if constexpr (has_offset(kTraits)) block.offset[h] = scales.offset[g];
        }
        block.codes = unpack_codes<kForm>(w);
        f(block, b + s);
      }
    }
  }
}

// Adds columns kColumn .. 31 of a block to the products of each token.
template <int kColumn, PackForm kForm, int kTokens>
inline __attribute__((always_inline)) void add_columns(const WeightBlock<kForm>& block, const float* const* x,
                                                       int first, F32x16* sum) {
  if constexpr (kColumn < kBlock) {
    const F32x16 weight = block.template column<kColumn>();
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) sum[t] = fma(weight, f32_splat(x[t][first + kColumn]), sum[t]);
    add_columns<kColumn + 1, kForm, kTokens>(block, x, first, sum);
  }
}

template <int kTokens>
inline __attribute__((always_inline)) void add_totals(const F32x16* sum, float* out) {
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) f32_store(out + kPanel * t, add(f32_load(out + kPanel * t), sum[t]));
}

// out[t, 16] = one panel times kTokens rows of floats, padded to whole blocks.
template <PackForm kForm, int kTokens>
[[gnu::noinline]] void panel_f32(const std::byte* w, const float* const* x, int blocks, float* out) {
  for (int t = 0; t < kTokens; ++t) f32_store(out + kPanel * t, f32_zero());
  for_each_weight_block<kForm>(
      w, blocks, [&](const WeightBlock<kForm>& block, int b) __attribute__((always_inline)) {
        F32x16 sum[kTokens];
#pragma GCC unroll 8
        for (int t = 0; t < kTokens; ++t) sum[t] = f32_zero();
        add_columns<0, kForm, kTokens>(block, x, b * kBlock, sum);
        add_totals<kTokens>(sum, out);
      });
}

// The same with bf16 weights and activations, two columns at a time.
template <int kTokens>
[[gnu::noinline]] void panel_bf16(const std::byte* w, const uint16_t* const* x, int blocks, float* out) {
  for (int t = 0; t < kTokens; ++t) f32_store(out + kPanel * t, f32_zero());
  for (int b = 0; b < blocks; ++b, w += 1024) {
    F32x16 sum[kTokens];
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) sum[t] = f32_zero();
#pragma GCC unroll 16
    for (int pair = 0; pair < kBlock / 2; ++pair) {
      const B8x64 weights = b8_load(w + 64 * pair);
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) sum[t] = dot2_bf16(sum[t], weights, x[t] + b * kBlock + 2 * pair);
    }
    add_totals<kTokens>(sum, out);
  }
}

}  // namespace scratchy::cpu
