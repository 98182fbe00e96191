// Codes and group values of one stored row, of any form, from checked parts (check_parts.h). Columns are in file order.
#pragma once

#include <cstdint>

#include "numeric/gguf_blocks.h"
#include "numeric/quant_matrix.h"

namespace scratchy {

// Columns of one scale within a row, and bits of a code. Not for dense forms.
uint32_t parts_group_size(const QuantParts& parts);
int parts_code_bits(const QuantParts& parts);

// row in [0, experts * rows). codes: cols places; groups: ceil(cols / parts_group_size) places.
void decode_parts_codes(const QuantParts& parts, uint64_t row, uint8_t* codes);
void decode_parts_groups(const QuantParts& parts, uint64_t row, GroupValue* groups);

// The cols values of a dense form's row.
void decode_dense_row(const QuantParts& parts, uint64_t row, float* out);

// 16 values for codebook forms, null for others.
const float* parts_codebook(const QuantParts& parts);

}  // namespace scratchy
