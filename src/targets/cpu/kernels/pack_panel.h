// Writes panels of packed weights (pack_form.h) from the integers, scales and offsets of up to 16 rows.
//
// Packing moves values and changes none: where a value does not fit the form exactly (a scale that is no f16, an offset
// that is not -middle * scale) the panel is refused, and the caller takes a wider form. The K-quants' compact scales
// are found again from the products d * s that a source gives (factor_scales).
//
// Plain code, run when weights are packed; not tuned beyond one pass over the codes.
#pragma once

#include <cmath>
#include <cstring>
#include <numeric>

#include "numeric/dtype.h"
#include "targets/cpu/kernels/pack_form.h"

namespace scratchy::cpu {

// Rows of a matrix: `values` for dense forms, else codes with scale and, for affine forms, offset of each group:
// w = scale * code + offset, scale * table[code] or scale * e4m3(code). Codes are below 2^bits.
struct PanelSource {
  int rows = 0;  // 1..16
  const float* values[kPanel] = {};
  const uint8_t* codes[kPanel] = {};
  const float* scales[kPanel] = {};
  const float* offsets[kPanel] = {};
  const float* codebook = nullptr;  // 16 values
};

namespace pack {

inline bool put_f16(float value, std::byte* out) {
  const uint16_t bits = f32_to_f16(value);
  std::memcpy(out, &bits, 2);
  return f16_to_f32(bits) == value;
}

inline bool put_bf16(float value, std::byte* out) {
  const uint16_t bits = f32_to_bf16(value);
  std::memcpy(out, &bits, 2);
  return bf16_to_f32(bits) == value;
}

inline bool put_scale(Scale scale, float value, std::byte* lanes, int lane) {
  if (scale == Scale::kF16) return put_f16(value, lanes + 2 * lane);
  if (scale == Scale::kBF16) return put_bf16(value, lanes + 2 * lane);
  std::memcpy(lanes + 4 * lane, &value, 4);
  return true;
}

// The planes of gemm_codes.h: codes of one lane, 32 columns, or-ed into zeroed memory.
inline void put_codes(int bits, const uint8_t* codes, int lane, std::byte* out) {
  uint8_t* p = reinterpret_cast<uint8_t*>(out) + 4 * lane;
  const int four = bits >= 4 ? 256 : 0;  // bytes of the 4-bit plane
  const int two = bits == 6 || bits == 2 || bits == 3 ? 128 : 0;
  const bool one = bits == 1 || bits == 3 || bits == 5;
  for (int k = 0; k < kBlock; ++k) {
    const int j = k / 4, c = k % 4;
    unsigned code = codes[k];
    if (bits == 8) {
      p[64 * j + c] = static_cast<uint8_t>(code);
      continue;
    }
    if (four != 0) {
      p[64 * (j % 4) + c] = static_cast<uint8_t>(p[64 * (j % 4) + c] | (code & 15u) << (4 * (j / 4)));
      code >>= 4;
    }
    if (two != 0) {
      uint8_t& place = p[four + 64 * (j / 4) + c];
      place = static_cast<uint8_t>(place | (code & 3u) << (2 * (j % 4)));
      code >>= 2;
    }
    if (one) p[four + two + c] = static_cast<uint8_t>(p[four + two + c] | (code & 1u) << j);
  }
}

// Finds an f16 `d` and integers n[i] in [low, high] with d * n[i] == products[i] exactly; false when there are none.
//
// Every product is an integer multiple of one power of two. d must divide the greatest common divisor g of these
// integers, and the n[i] that belong to d = g / t are products / g * t: the smallest t that makes d an f16 is taken.
inline bool factor_scales(const float* products, int count, int low, int high, float* d, int* n) {
  int exponent = 1 << 20;
  for (int i = 0; i < count; ++i) {
    if (!std::isfinite(products[i])) return false;
    int e = 0;
    if (products[i] != 0) std::frexp(products[i], &e), exponent = e < exponent ? e : exponent;
  }
  *d = 0;
  for (int i = 0; i < count; ++i) n[i] = 0;
  if (exponent == 1 << 20) return true;
  int64_t whole[16], divisor = 0;
  for (int i = 0; i < count; ++i) {
    const double scaled = std::ldexp(static_cast<double>(products[i]), 24 - exponent);
    if (std::fabs(scaled) > 0x1p52) return false;
    whole[i] = static_cast<int64_t>(scaled);
    divisor = std::gcd(divisor, whole[i]);
  }
  for (int t = 1; t <= 128; ++t) {
    for (const int sign : {1, -1}) {
      const float trial =
          static_cast<float>(std::ldexp(static_cast<double>(divisor) / t, exponent - 24)) * static_cast<float>(sign);
      std::byte ignored[2];
      if (!put_f16(trial, ignored) || trial == 0) continue;
      bool fits = true;
      for (int i = 0; i < count && fits; ++i) {
        const int64_t m = whole[i] / divisor * t * sign;
        fits = m >= low && m <= high && trial * static_cast<float>(m) == products[i];
        n[i] = static_cast<int>(m);
      }
      *d = trial;
      if (fits) return true;
    }
  }
  return false;
}

// Six-bit integers, 16 vectors of 16 lanes, or-ed into zeroed memory: the inverse of unpack_six_bits.
inline void put_six_bits(int vector, int lane, int value, std::byte* out) {
  uint8_t* p = reinterpret_cast<uint8_t*>(out);
  const int index = 16 * vector + lane, part = index / 64, place = index % 64;
  uint8_t& low = p[64 * (part % 2) + place];
  low = static_cast<uint8_t>(low | (value & 15) << (4 * (part / 2)));
  uint8_t& high = p[128 + place];
  high = static_cast<uint8_t>(high | ((value >> 4) & 3) << (2 * part));
}

// The compact scales of one lane for 256 columns: `scale` and `offset` are those of the super-block's groups.
inline bool put_super(const PackTraits& form, const float* scale, const float* offset, int lane, std::byte* header) {
  const int groups = groups_per_header(form);
  const bool paired = form.offset == Offset::kPaired;
  int high = 63, low = 0, bias = 0;
  if (form.scale == Scale::kSuper4) high = 15;
  if (form.scale == Scale::kSuper8) high = 127, low = -128;
  if (form.scale == Scale::kSuper6 && !paired) high = 31, low = -32, bias = 32;
  float d = 0, dmin = 0, mins[16] = {};
  int n[16], m[16] = {};
  if (!factor_scales(scale, groups, low, high, &d, n)) return false;
  bool exact = put_f16(d, header + 2 * lane);
  std::byte* body = header + (paired ? 64 : 32);
  if (paired) {
    for (int g = 0; g < groups; ++g) mins[g] = offset[g] == 0 ? 0.0f : -offset[g];
    if (!factor_scales(mins, groups, 0, high, &dmin, m)) return false;
    exact = put_f16(dmin, header + 32 + 2 * lane) && exact;
  }
  for (int g = 0; g < groups; ++g) {
    const int byte = form.scale == Scale::kSuper4 ? n[g] | m[g] << 4 : n[g] + bias;
    if (form.scale != Scale::kSuper6) {
      body[16 * g + lane] = static_cast<std::byte>(byte);
    } else {
      put_six_bits(g, lane, byte, body);
      if (paired) put_six_bits(groups + g, lane, m[g], body);
    }
  }
  return exact;
}

// The header of one lane: its groups are scale[0 .. groups), of which `there` are in the row.
inline bool put_header(const PackTraits& form, const float* scale, const float* offset, int there, int lane,
                       std::byte* header) {
  if (is_super(form)) return put_super(form, scale, offset, lane, header);
  const int groups = groups_per_header(form);
  const size_t stride = header_bytes(form) / static_cast<size_t>(groups);
  const size_t width = form.scale == Scale::kF32 ? 64 : 32;
  const float halving = form.coding == Coding::kTableE2m1 ? 0.5f : 1.0f;
  bool exact = true;
  for (int g = 0; g < groups && g < there; ++g, header += stride) {
    exact = put_scale(form.scale, scale[g] * halving, header, lane) && exact;
    if (form.offset == Offset::kPaired) {
      exact = put_scale(form.scale, offset[g], header + width, lane) && exact;
    } else if (form.offset == Offset::kZero) {
      const float zero = scale[g] == 0 ? 0.0f : std::nearbyint(-offset[g] / scale[g]);
      const bool fits = zero >= 0 && zero <= 255 && scale[g] * zero == -offset[g];
      header[width + static_cast<size_t>(lane)] = static_cast<std::byte>(fits ? static_cast<int>(zero) : 0);
      exact = fits && exact;
    }
  }
  return exact;
}

// kMiddle forms store no offset: it must be -middle * scale.
inline bool offsets_are_middle(const PackTraits& form, const float* scale, const float* offset, int groups) {
  if (form.offset != Offset::kMiddle || form.coding != Coding::kInteger) return true;
  const float middle = static_cast<float>(1 << (form.bits - 1));
  for (int g = 0; g < groups; ++g) {
    if (offset[g] != -middle * scale[g]) return false;
  }
  return true;
}

inline bool put_dense_lane(const PackTraits& form, const float* values, int I, int lane, std::byte* out) {
  bool exact = true;
  for (int k = 0; k < I; ++k) {
    const float value = values[k];
    if (form.coding == Coding::kDenseF32) {
      std::memcpy(out + (16 * static_cast<size_t>(k) + static_cast<size_t>(lane)) * 4, &value, 4);
    } else if (form.coding == Coding::kDenseF16) {
      exact = put_f16(value, out + (16 * static_cast<size_t>(k) + static_cast<size_t>(lane)) * 2) && exact;
    } else {
      const size_t pair = static_cast<size_t>(k / 2) * 64;
      exact = put_bf16(value, out + pair + static_cast<size_t>(4 * lane + 2 * (k % 2))) && exact;
    }
  }
  return exact;
}

inline bool put_code_lane(const PackTraits& form, const PanelSource& source, int I, int lane, std::byte* out) {
  const int blocks = blocks_of(I), step = blocks_per_header(form, blocks);
  const int group = form.group == 0 ? I : form.group;
  const int all_groups = (I + group - 1) / group;
  const float *scale = source.scales[lane], *offset = source.offsets[lane];
  bool exact = offsets_are_middle(form, scale, offset, all_groups);
  for (int b = 0; b < blocks; ++b) {
    if (b % step == 0) {
      const int first = form.group == 0 ? 0 : b * kBlock / group;
      const float* offsets = offset == nullptr ? nullptr : offset + first;
      exact = put_header(form, scale + first, offsets, all_groups - first, lane, out) && exact;
      out += header_bytes(form);
    }
    uint8_t codes[kBlock] = {};
    const int there = I - b * kBlock < kBlock ? I - b * kBlock : kBlock;
    std::memcpy(codes, source.codes[lane] + b * kBlock, static_cast<size_t>(there));
    put_codes(form.bits, codes, lane, out);
    out += block_code_bytes(form);
  }
  return exact;
}

}  // namespace pack

// Writes panel_bytes(form, I) bytes at `out` from rows of I columns. False when a value does not fit the form exactly;
// the panel is then not usable. K-quants want I to be a multiple of 256 (false otherwise).
inline bool pack_panel(PackForm pack_form, const PanelSource& source, int I, std::byte* out) {
  const PackTraits& form = traits_of(pack_form);
  if (is_super(form) && I % 256 != 0) return false;
  std::memset(out, 0, panel_bytes(pack_form, I));
  if (form.coding == Coding::kCodebook) std::memcpy(out, source.codebook, 64);
  bool exact = true;
  for (int lane = 0; lane < source.rows; ++lane) {
    exact = (is_dense(form) ? pack::put_dense_lane(form, source.values[lane], I, lane, out)
                            : pack::put_code_lane(form, source, I, lane, out + codebook_bytes(form))) &&
            exact;
  }
  return exact;
}

}  // namespace scratchy::cpu
