// Reference quantisers, written from the formats' definitions, for tests and for the packed scratch format.
//
// All arithmetic is f32 in the order the definitions give; results are equal bit for bit to the formats' own writers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numeric/quant_form.h"

namespace scratchy {

// One row of 32-value blocks: kQ4_0, kQ4_1, kQ5_0, kQ5_1 or kQ8_0. row.size() is a multiple of 32. Appends to `out`.
void quantize_gguf_row(QuantForm form, std::span<const float> row, std::vector<std::byte>& out);

// One group of MLX affine: codes of `bits` bits with w ~ scale * code + bias. codes.size() == group.size().
struct AffineGroup {
  float scale = 0;
  float bias = 0;
};
AffineGroup quantize_mlx_group(std::span<const float> group, int bits, std::span<uint8_t> codes);

// Appends the codes as one bit stream, least significant first, filled up to a whole byte.
void pack_bit_stream(std::span<const uint8_t> codes, int bits, std::vector<std::byte>& out);

// One row of the scratch-packed format: appends ceil(cols / 8) or ceil(cols / 2) bytes and returns the f16 scale.
//
// 1 bit: s = f16(mean|w|), at least 2^-24 when any w is not 0; bit = (w >= 0). 4 bits: s = f16(max|w| / 7),
// q = clamp(round(w / s), -7, 7), 0 when s is 0.
uint16_t quantize_scratch1_row(std::span<const float> row, std::vector<std::byte>& out);
uint16_t quantize_scratch4_row(std::span<const float> row, std::vector<std::byte>& out);

}  // namespace scratchy
