// The headers of a panel: scales and offsets of 16 outputs, widened to f32 vectors.
//
//   scale                 offset kNone/kMiddle   kPaired            kZero
//   kF16, kBF16, kF32     16 scales              + 16 offsets       + 16 zero bytes      for each group
//   kSuper4   d[16] f16, dmin[16] f16, then byte[group][lane] = scale | min << 4
//   kSuper6   d[16] f16, dmin[16] f16 if paired, then 16 vectors of 16 six-bit integers: 8 scales and 8 mins, or 16
//   scales
//             counted from 32; 256 integers as a 4-bit plane of 128 bytes and a 2-bit plane of 64 (gemm_codes.h)
//   kSuper8   d[16] f16, then int8[group][lane]
//
// All products here (f16 by a small integer) are exact in f32.
#pragma once

#include "targets/cpu/kernels/gemm_codes.h"
#include "targets/cpu/kernels/pack_form.h"
#include "targets/cpu/kernels/simd.h"

namespace scratchy::cpu {

constexpr bool has_offset(const PackTraits& form) {
  return form.offset == Offset::kPaired || form.offset == Offset::kZero;
}

// Scales of the groups under one header; offset[0] alone is there, unused, when the form has none.
template <PackForm kForm>
struct GroupScales {
  static constexpr int kGroups = groups_per_header(traits_of(kForm));
  F32x16 scale[kGroups];
  F32x16 offset[has_offset(traits_of(kForm)) ? kGroups : 1];
};

template <Scale kScale>
SCRATCHY_INLINE F32x16 load_scales(const std::byte* p) {
  if constexpr (kScale == Scale::kF16) return f32_load_f16(p);
  if constexpr (kScale == Scale::kBF16) return f32_load_bf16(p);
  if constexpr (kScale == Scale::kF32) return f32_load(p);
}

template <PackForm kForm>
SCRATCHY_INLINE void read_plain_scales(const std::byte* p, GroupScales<kForm>* out) {
  constexpr PackTraits kTraits = traits_of(kForm);
  constexpr size_t kWidth = kTraits.scale == Scale::kF32 ? 64 : 32;
  constexpr size_t kStride = header_bytes(kTraits) / static_cast<size_t>(groups_per_header(kTraits));
  for (int g = 0; g < GroupScales<kForm>::kGroups; ++g, p += kStride) {
    out->scale[g] = load_scales<kTraits.scale>(p);
    if constexpr (kTraits.offset == Offset::kPaired) {
      out->offset[g] = load_scales<kTraits.scale>(p + kWidth);
    } else if constexpr (kTraits.offset == Offset::kZero) {
      const F32x16 zero = to_f32(i32_load_u8(reinterpret_cast<const uint8_t*>(p + kWidth)));
      out->offset[g] = negate(mul(out->scale[g], zero));
    }
  }
}

// The 256 six-bit integers at p, one a byte, in vectors of 16.
SCRATCHY_INLINE void unpack_six_bits(const std::byte* p, uint8_t* out) {
  const B8x64 a = b8_load(p), b = b8_load(p + 64), top = b8_load(p + 128);
  b8_store(out, b8_or(plane_field<4, 0, 0>(a), plane_field<2, 0, 4>(top)));
  b8_store(out + 64, b8_or(plane_field<4, 0, 0>(b), plane_field<2, 1, 4>(top)));
  b8_store(out + 128, b8_or(plane_field<4, 1, 0>(a), plane_field<2, 2, 4>(top)));
  b8_store(out + 192, b8_or(plane_field<4, 1, 0>(b), plane_field<2, 3, 4>(top)));
}

template <PackForm kForm>
SCRATCHY_INLINE void read_super_scales(const std::byte* p, GroupScales<kForm>* out) {
  constexpr PackTraits kTraits = traits_of(kForm);
  constexpr bool kPaired = kTraits.offset == Offset::kPaired;
  constexpr int kGroups = GroupScales<kForm>::kGroups;
  const F32x16 d = f32_load_f16(p);
  const std::byte* body = p + (kPaired ? 64 : 32);
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(body);
  [[maybe_unused]] F32x16 neg_dmin = f32_zero();
  if constexpr (kPaired) neg_dmin = negate(f32_load_f16(p + 32));
  alignas(64) uint8_t six[256];
  if constexpr (kTraits.scale == Scale::kSuper6) {
    unpack_six_bits(body, six);
    bytes = six;
  }
  for (int g = 0; g < kGroups; ++g) {
    const uint8_t* lane = bytes + 16 * g;
    if constexpr (kTraits.scale == Scale::kSuper8) {
      out->scale[g] = mul(d, to_f32(i32_load_i8(lane)));
    } else if constexpr (kTraits.scale == Scale::kSuper4) {
      const I32x16 both = i32_load_u8(lane);
      out->scale[g] = mul(d, to_f32(bit_and(both, 15)));
      out->offset[g] = mul(neg_dmin, to_f32(shift_right<4>(both)));
    } else if constexpr (kPaired) {
      out->scale[g] = mul(d, to_f32(i32_load_u8(lane)));
      out->offset[g] = mul(neg_dmin, to_f32(i32_load_u8(lane + 16 * kGroups)));
    } else {
      out->scale[g] = mul(d, to_f32(sub(i32_load_u8(lane), i32_splat(32))));
    }
  }
}

template <PackForm kForm>
SCRATCHY_INLINE void read_scales(const std::byte* p, GroupScales<kForm>* out) {
  if constexpr (is_super(traits_of(kForm))) {
    read_super_scales<kForm>(p, out);
  } else {
    read_plain_scales<kForm>(p, out);
  }
}

}  // namespace scratchy::cpu
