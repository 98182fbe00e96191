// The closed set of published weight forms and what is fixed about each. The layouts themselves are in quant_matrix.h,
// the arithmetic in decode_parts.cc and gguf_blocks.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace scratchy {

enum class QuantForm : uint8_t {
#define QUANT_FORM(name, text, view, gguf, block, bytes) name,
#include "numeric/quant_form.def"
#undef QUANT_FORM
};

// What a kernel may rely on when it packs a matrix of this form.
enum class QuantView : uint8_t {
  kDense,     // floats as stored
  kAffine,    // w = scale[group] * code + offset[group], unsigned codes
  kCodebook,  // w = scale[group] * codebook[code], 16 entries
  kFp8,       // w = scale[group] * e4m3(code)
};

std::string_view quant_form_name(QuantForm form);
QuantView quant_view(QuantForm form);

// Weights and bytes of one block; 0 for forms that are not stored as blocks of a row.
int block_weights(QuantForm form);
int block_bytes(QuantForm form);

std::optional<QuantForm> parse_quant_form(std::string_view text);

// The form of a GGUF tensor type number; nothing when we do not read that type.
std::optional<QuantForm> quant_form_of_gguf(uint32_t type);

}  // namespace scratchy
