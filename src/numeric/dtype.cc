#include "numeric/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/checked.h"

namespace scratchy {
namespace {

struct DTypeRow {
  std::string_view text;
  int bits;
};

constexpr DTypeRow kRows[] = {
#define DTYPE(name, text, bits) {text, bits},
#include "numeric/dtype.def"
#undef DTYPE
};

constexpr std::array<float, 8> kE2M1 = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};

uint16_t load_u16(const std::byte* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}

}  // namespace

std::string_view dtype_name(DType dtype) { return kRows[static_cast<size_t>(dtype)].text; }

int dtype_bits(DType dtype) { return kRows[static_cast<size_t>(dtype)].bits; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].text == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::string dtype_list() {
  std::string list;
  for (const DTypeRow& row : kRows) {
    if (!list.empty()) list += ", ";
    list += row.text;
  }
  return list;
}

std::optional<uint64_t> dtype_storage(DType dtype, uint64_t count) {
  const auto bits = checked_mul(count, static_cast<uint64_t>(dtype_bits(dtype)));
  if (!bits || *bits % 8 != 0) return std::nullopt;
  return *bits / 8;
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 31;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0) {
    // A subnormal is mantissa * 2^-24, which f32 holds exactly.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  if (exponent == 31) {
    const uint32_t quiet = mantissa != 0 ? 0x400000 : 0;
    return std::bit_cast<float>(sign | 0x7f800000 | quiet | (mantissa << 13));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x1ff));
  // From 65520 = 2^16 - 2^4 on, half way past the largest finite value, rounding gives infinity.
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {
    // Below 2^-14: a multiple of 2^-24. 0.5 has a unit in the last place of 2^-24, so the sum rounds as wanted.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112 << 10)));
}

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float e4m3_to_f32(uint8_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80) << 24;
  const uint32_t exponent = (bits >> 3) & 15;
  const uint32_t mantissa = bits & 7;
  if ((bits & 0x7f) == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-9f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | ((exponent + 120) << 23) | (mantissa << 20));
}

uint8_t f32_to_e4m3(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint8_t sign = static_cast<uint8_t>((bits >> 24) & 0x80);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7f;
  if (magnitude >= std::bit_cast<uint32_t>(448.0f)) return sign | 0x7e;
  if (magnitude < std::bit_cast<uint32_t>(0x1p-6f)) {
    // Below 2^-6: a multiple of 2^-9. 2^14 has a unit in the last place of 2^-9.
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
    return static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0x1p14f)));
  }
  const uint32_t rounded = magnitude + 0x7ffff + ((magnitude >> 20) & 1);
  return static_cast<uint8_t>(sign | ((rounded >> 20) - (120 << 3)));
}

float e8m0_to_f32(uint8_t bits) {
  if (bits == 0xff) return std::bit_cast<float>(0x7fc00000u);
  // 2^-127 is the one value below the normal range.
  return std::bit_cast<float>(bits == 0 ? 0x400000u : static_cast<uint32_t>(bits) << 23);
}

float e2m1_to_f32(uint8_t code) {
  const float magnitude = kE2M1[code & 7];
  return (code & 8) != 0 ? -magnitude : magnitude;
}

uint8_t f32_to_e2m1(float value) {
  const uint8_t sign = std::signbit(value) ? 8 : 0;
  const float magnitude = std::fabs(value);
  // Midpoints between neighbours; at a tie the even code wins.
  constexpr std::array<float, 7> kMidpoints = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
  uint8_t code = 0;
  for (uint8_t i = 0; i < 7; ++i) {
    const bool tie_goes_up = i % 2 == 1;
    if (magnitude > kMidpoints[i] || (tie_goes_up && magnitude == kMidpoints[i])) code = static_cast<uint8_t>(i + 1);
  }
  return sign | code;
}

bool is_narrow_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF8E4M3;
}

void widen_to_f32(DType dtype, std::span<const std::byte> bytes, std::span<float> out) {
  SCRATCHY_CHECK(is_narrow_float(dtype), std::string(dtype_name(dtype)));
  SCRATCHY_CHECK(bytes.size() == out.size() * dtype_bytes(dtype), "sizes differ");
  if (dtype == DType::kF32) {
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  } else if (dtype == DType::kF16) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = f16_to_f32(load_u16(bytes.data() + 2 * i));
  } else if (dtype == DType::kBF16) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = bf16_to_f32(load_u16(bytes.data() + 2 * i));
  } else {
    for (size_t i = 0; i < out.size(); ++i) out[i] = e4m3_to_f32(static_cast<uint8_t>(bytes[i]));
  }
}

}  // namespace scratchy
