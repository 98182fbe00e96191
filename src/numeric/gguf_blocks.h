// The blocks of GGUF tensors as integers and scales.
//
// A block holds 32 or 256 weights of one row. Every affine type is w = scale * (code - zero) + base with unsigned codes,
// where the products are exact in f32, so that evaluating the expression rounds at most once, at the sum.
#pragma once

#include <cstddef>
#include <cstdint>

#include "numeric/quant_form.h"

namespace scratchy {

// One scale group: w = scale * (code - zero) + base; codebook forms use scale alone.
struct GroupValue {
  float scale = 0;
  float zero = 0;
  float base = 0;
};

// Weights of one scale, and bits of a code. The form is stored as blocks and is not dense.
uint32_t block_group_size(QuantForm form);
int block_code_bits(QuantForm form);

// codes: block_weights(form) places. groups: block_weights / block_group_size places. `block` may be unaligned.
void decode_block_codes(QuantForm form, const std::byte* block, uint8_t* codes);
void decode_block_groups(QuantForm form, const std::byte* block, GroupValue* groups);

// The 16 values of IQ4_NL codes, and of e2m1 codes in MXFP4 and NVFP4.
extern const float kIq4NlValues[16];
extern const float kE2m1Values[16];

}  // namespace scratchy
