// Element types of tensors in files and in programs: names, sizes, and exact conversions of the narrow floats.
//
// The conversions are plain integer code, so that every host gives the same bits: widening is exact, narrowing rounds to
// nearest, ties to even. A NaN stays a quiet NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace scratchy {

enum class DType : uint8_t {
#define DTYPE(name, text, bits) name,
#include "numeric/dtype.def"
#undef DTYPE
};

std::string_view dtype_name(DType dtype);
int dtype_bits(DType dtype);

// Bytes of one element; 0 for types narrower than a byte.
inline size_t dtype_bytes(DType dtype) { return static_cast<size_t>(dtype_bits(dtype)) / 8; }

// The type called `text` (exact spelling), and all spellings for a message: "F64, F32, ...".
std::optional<DType> parse_dtype(std::string_view text);
std::string dtype_list();

// Bytes of `count` elements; nothing when the product overflows or the elements do not fill whole bytes.
std::optional<uint64_t> dtype_storage(DType dtype, uint64_t count);

// IEEE binary16.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);

// bfloat16: the upper half of a binary32.
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);

// fp8 e4m3fn: 1 sign, 4 exponent (bias 7), 3 mantissa bits; no infinity, 0x7f and 0xff are NaN, largest 448. Narrowing
// clamps to +-448.
float e4m3_to_f32(uint8_t bits);
uint8_t f32_to_e4m3(float value);

// E8M0, the scale of microscaling forms: 2^(bits - 127); 0xff is NaN.
float e8m0_to_f32(uint8_t bits);

// fp4 e2m1: codes 0..7 are 0, 0.5, 1, 1.5, 2, 3, 4, 6; bit 3 is the sign. Narrowing clamps to +-6.
float e2m1_to_f32(uint8_t code);
uint8_t f32_to_e2m1(float value);

// Whether values of this type widen exactly to f32 by `widen_to_f32`.
bool is_narrow_float(DType dtype);

// out[i] = element i of `bytes`, exactly. `dtype` is F32, F16, BF16 or F8_E4M3; `bytes` holds out.size() elements at any
// alignment.
void widen_to_f32(DType dtype, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace scratchy
