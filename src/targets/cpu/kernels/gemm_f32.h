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
  B8x64 codes[8];
  F32x16 scale[2];
  F32x16 offset[2];
  F32x16 codebook;

  // The scales of block s under a header.
  SCRATCHY_INLINE void take_scales(const GroupScales<kForm>& scales, int s) {
    constexpr int kPerBlock = kTraits.group == 16 ? 2 : 1;
    for (int h = 0; h < kPerBlock; ++h) {
      const int g = GroupScales<kForm>::kGroups > 1 ? kPerBlock * s + h : 0;
      scale[h] = scales.scale[g];
      if constexpr (has_offset(kTraits)) offset[h] = scales.offset[g];
    }
  }

  // Column kColumn, known when compiled.
  template <int kColumn>
  SCRATCHY_INLINE F32x16 column() const {
    if constexpr (kTraits.coding == Coding::kDenseF32) {
      return f32_load(p + 64 * kColumn);
    } else if constexpr (kTraits.coding == Coding::kDenseF16) {
      return f32_load_f16(p + 32 * kColumn);
    } else if constexpr (kTraits.coding == Coding::kDenseBF16) {
      const I32x16 pair = as_i32(b8_load(p + 64 * (kColumn / 2)));
      return bits_as_f32(kColumn % 2 == 0 ? shift_left<16>(pair) : bit_and(pair, static_cast<int32_t>(0xffff0000u)));
    } else {
      constexpr int kHalf = kTraits.group == 16 ? kColumn / 16 : 0;
      const I32x16 code = bit_and(shift_right<8 * (kColumn % 4)>(as_i32(codes[kColumn / 4])), 255);
      if constexpr (kTraits.coding == Coding::kFp8) return mul(scale[0], widen_e4m3(code));
      if constexpr (kTraits.coding == Coding::kCodebook) return mul(scale[0], lookup_f32(codebook, code));
      constexpr int kMiddle = code_middle(kTraits);
      const F32x16 value = to_f32(kMiddle == 0 ? code : sub(code, i32_splat(kMiddle)));
      return has_offset(kTraits) ? fma(scale[kHalf], value, offset[kHalf]) : mul(scale[kHalf], value);
    }
  }
};

// Calls f(blocks, index) for every block of kPanels panels, `stride` bytes apart, with scales and codes in place.
template <PackForm kForm, int kPanels, class F>
SCRATCHY_INLINE void for_each_blocks(const std::byte* w, size_t stride, int blocks, F f) {
  constexpr PackTraits kTraits = traits_of(kForm);
  WeightBlock<kForm> block[kPanels] = {};
  const auto panel = [&](int p) { return w + static_cast<size_t>(p) * stride; };
  if constexpr (kTraits.coding == Coding::kCodebook) {
    for (int p = 0; p < kPanels; ++p) block[p].codebook = f32_load(panel(p));
  }
  w += codebook_bytes(kTraits);
  if constexpr (is_dense(kTraits)) {
    for (int b = 0; b < blocks; ++b, w += block_code_bytes(kTraits)) {
      for (int p = 0; p < kPanels; ++p) block[p].p = panel(p);
      f(block, b);
    }
  } else {
    const int step = blocks_per_header(kTraits, blocks);
    GroupScales<kForm> scales[kPanels];
    for (int b = 0; b < blocks; b += step) {
      for (int p = 0; p < kPanels; ++p) read_scales<kForm>(panel(p), &scales[p]);
      w += header_bytes(kTraits);
      const int end = blocks - b < step ? blocks - b : step;
      for (int s = 0; s < end; ++s, w += block_code_bytes(kTraits)) {
#pragma GCC unroll 2
        for (int p = 0; p < kPanels; ++p) {
          block[p].take_scales(scales[p], s);
          unpack_codes<kForm>(panel(p), block[p].codes);
        }
        f(block, b + s);
      }
    }
  }
}

// The same for one panel: f(block, index).
template <PackForm kForm, class F>
SCRATCHY_INLINE void for_each_weight_block(const std::byte* w, int blocks, F f) {
  for_each_blocks<kForm, 1>(w, 0, blocks, [&](const WeightBlock<kForm>* block, int b) { f(*block, b); });
}

// Adds columns kColumn .. 31 of a block to the products, sum[panel][token].
template <int kColumn, PackForm kForm, int kPanels, int kTokens>
SCRATCHY_INLINE void add_columns(const WeightBlock<kForm>* block, const float* const* x, int first,
                                 F32x16 (*sum)[kTokens]) {
  if constexpr (kColumn < kBlock) {
    F32x16 weight[kPanels];
    for (int p = 0; p < kPanels; ++p) weight[p] = block[p].template column<kColumn>();
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      const F32x16 value = f32_splat(x[t][first + kColumn]);
      for (int p = 0; p < kPanels; ++p) sum[p][t] = fma(weight[p], value, sum[p][t]);
    }
    add_columns<kColumn + 1, kForm, kPanels, kTokens>(block, x, first, sum);
  }
}

template <int kSums>
SCRATCHY_INLINE void set_zero(F32x16* sum) {
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) sum[i] = f32_zero();
}

template <int kSums>
SCRATCHY_INLINE void add_totals(const F32x16* sum, float* out) {
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) f32_store(out + kPanel * i, add(f32_load(out + kPanel * i), sum[i]));
}

// out[p, t, 16] = kPanels panels, `stride` bytes apart, times kTokens rows of floats, padded to whole blocks.
template <PackForm kForm, int kPanels, int kTokens>
[[gnu::noinline]] void panel_f32(const std::byte* w, size_t stride, const float* const* x, int blocks, float* out) {
  for (int i = 0; i < kPanels * kTokens; ++i) f32_store(out + kPanel * i, f32_zero());
  for_each_blocks<kForm, kPanels>(
      w, stride, blocks, [&](const WeightBlock<kForm>* block, int b) __attribute__((always_inline)) {
        F32x16 sum[kPanels][kTokens];
        set_zero<kPanels * kTokens>(sum[0]);
        add_columns<0, kForm, kPanels, kTokens>(block, x, b * kBlock, sum);
        add_totals<kPanels * kTokens>(sum[0], out);
      });
}

// The same with bf16 weights and activations, two columns at a time.
template <int kPanels, int kTokens>
[[gnu::noinline]] void panel_bf16(const std::byte* w, size_t stride, const uint16_t* const* x, int blocks, float* out) {
  for (int i = 0; i < kPanels * kTokens; ++i) f32_store(out + kPanel * i, f32_zero());
  for (int b = 0; b < blocks; ++b, w += block_code_bytes(traits_of(PackForm::kBF16))) {
    F32x16 sum[kPanels][kTokens];
    set_zero<kPanels * kTokens>(sum[0]);
#pragma GCC unroll 16
    for (int pair = 0; pair < kBlock / 2; ++pair) {
      B8x64 weights[kPanels];
      for (int p = 0; p < kPanels; ++p) weights[p] = b8_load(w + static_cast<size_t>(p) * stride + 64 * pair);
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) {
        for (int p = 0; p < kPanels; ++p) sum[p][t] = dot2_bf16(sum[p][t], weights[p], x[t] + b * kBlock + 2 * pair);
      }
    }
    add_totals<kPanels * kTokens>(sum[0], out);
  }
}

}  // namespace scratchy::cpu
