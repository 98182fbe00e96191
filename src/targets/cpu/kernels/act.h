// Rows of activations as the matrix kernels read them.
//
//   kF32    floats: weights are widened in registers and nothing is rounded but the sums
//   kBF16   bf16, nearest even: for bf16 weights where the processor multiplies pairs of them
//   kQ16    16-bit codes, one scale for every 32 columns: integer dot products
//
// A row is padded with zeros to whole blocks of 32 columns, so that odd widths need no tails in the kernels. A q16 row
// is
//
//   | 32 codes | scale | scale * sum | -sum | -sum of the first 16 |   `sum` that of the codes
//
// Codes of 8 bits would halve the products of a prompt, but on SmolLM2-135M in Q4_1 they bring the KL divergence to the
// f32 reference from 0.000006 to 0.0051; decode waits for memory with either.
// The sums serve weights with an offset: sum of (s c + m) x = s * sum of c x + m * sum of x.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tape/program.h"
#include "targets/cpu/kernels/pack_form.h"
#include "targets/cpu/kernels/simd.h"

namespace scratchy::cpu {

using Act = ActivationKind;

struct Q16Block {
  DotCodes codes;
  float scale;
  float scale_sum;
  int32_t neg_sum;
  int32_t neg_sum_first;
};

// Bytes of a row of I activations; rows of a batch follow each other at this distance.
constexpr size_t act_row_bytes(Act act, int I) {
  const size_t blocks = static_cast<size_t>(blocks_of(I));
  switch (act) {
    case Act::kF32:
      return blocks * kBlock * 4;
    case Act::kBF16:
      return blocks * kBlock * 2;
    case Act::kQ16:
      return blocks * sizeof(Q16Block);
  }
  return 0;
}

// 127 * 128: a code is also two bytes, see simd_avx512.h.
inline constexpr int kQ16Largest = 16256;

// out = 32 floats at x: scale = max|x| / 16256, code = x * (16256 / max|x|) rounded to nearest, ties to even. The rounding
// error of a value is at most scale / 2 and has no mean. A block with max|x| < 1e-30 is zero.
inline void quantize_block_q16(const float* x, Q16Block* out) {
  const F32x16 first = f32_load(x), second = f32_load(x + 16);
  const float largest = reduce_max(max_abs(first, second));
  const bool empty = largest < 1e-30f;
  const F32x16 inverse = f32_splat(empty ? 0.0f : kQ16Largest / largest);
  const I32x16 first_codes = round_to_i32(mul(first, inverse));
  const I32x16 second_codes = round_to_i32(mul(second, inverse));
  store_codes(first_codes, second_codes, &out->codes);
  const int32_t first_sum = reduce_add(first_codes);
  const int32_t sum = first_sum + reduce_add(second_codes);
  out->scale = empty ? 0.0f : largest / static_cast<float>(kQ16Largest);
  out->scale_sum = out->scale * static_cast<float>(sum);
  out->neg_sum = -sum;
  out->neg_sum_first = -first_sum;
}

// Calls f(32 floats, block index) for every block of x[I], the last one padded with zeros.
template <class F>
void for_each_block(const float* x, int I, F f) {
  const int whole = I / kBlock;
  for (int b = 0; b < whole; ++b) f(x + b * kBlock, b);
  if (const int rest = I % kBlock; rest > 0) {
    float tail[kBlock] = {};
    std::memcpy(tail, x + whole * kBlock, static_cast<size_t>(rest) * sizeof(float));
    f(tail, whole);
  }
}

// Rounds 32 floats to bf16, nearest even; NaN stays NaN.
inline void narrow_block_bf16(const float* x, uint16_t* out) {
  for (int i = 0; i < kBlock; ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + i, 4);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    out[i] = static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : rounded);
  }
}

inline void quantize_row_q16(const float* x, int I, Q16Block* row) {
  for_each_block(x, I, [&](const float* block, int b) { quantize_block_q16(block, row + b); });
}

// Writes x[I] as one activation row of act_row_bytes(kAct, I) bytes, 4-byte aligned.
template <Act kAct>
void write_act_row(const float* x, int I, std::byte* row) {
  if constexpr (kAct == Act::kQ16) {
    quantize_row_q16(x, I, reinterpret_cast<Q16Block*>(row));
  } else if constexpr (kAct == Act::kBF16) {
    for_each_block(x, I, [&](const float* block, int b) {
      narrow_block_bf16(block, reinterpret_cast<uint16_t*>(row) + b * kBlock);
    });
  } else {
    for_each_block(x, I, [&](const float* block, int b) {
      std::memcpy(row + static_cast<size_t>(b) * kBlock * 4, block, kBlock * sizeof(float));
    });
  }
}

}  // namespace scratchy::cpu
