// The codes of a block: 16 outputs x 32 columns, unpacked into eight vectors.
//
// Vector j of a block holds columns 4j .. 4j+3: byte 4 * lane + c is column 4j + c of output `lane`, which is what an
// 8-bit dot product wants. Codes of b bits are the sum of bit planes, low bits first (5 = 4 + 1, 6 = 4 + 2, 3 = 2 + 1):
//
//   plane   bytes   byte i of vector v holds, from bit 0
//   8       512     code of vector v
//   4       256     v in 0..3: low nibble of vector v, high nibble of vector v + 4
//   2       128     v in 0..1: two bits each of vectors 4v, 4v+1, 4v+2, 4v+3
//   1       64      one bit of each of the eight vectors
//
// A plane unpacks with shifts and masks alone, at most 1.5 operations a vector of 64 codes.
#pragma once

#include "targets/cpu/kernels/pack_form.h"
#include "targets/cpu/kernels/simd.h"

namespace scratchy::cpu {

constexpr bool is_table(Coding coding) { return coding == Coding::kTableIq4Nl || coding == Coding::kTableE2m1; }

// Bits of a code as the dot product sees it: a table yields 8-bit codes.
constexpr int dot_bits(const PackTraits& form) { return is_table(form.coding) ? 8 : form.bits; }

// What unpacked codes count from; 0 when the offset is stored.
constexpr int code_middle(const PackTraits& form) {
  if (form.offset != Offset::kMiddle) return 0;
  return is_table(form.coding) ? 128 : 1 << (form.bits - 1);
}

// Field number `kIndex` of kBits bits of every byte, moved up by kPlace.
template <int kBits, int kIndex, int kPlace>
SCRATCHY_INLINE B8x64 plane_field(B8x64 plane) {
  constexpr int kShift = kIndex * kBits - kPlace;
  constexpr uint8_t kMask = static_cast<uint8_t>(((1 << kBits) - 1) << kPlace);
  if constexpr (kShift > 0) {
    return b8_and(b8_shift_right<kShift>(plane), kMask);
  } else if constexpr (kShift < 0) {
    return b8_and(b8_shift_left<-kShift>(plane), kMask);
  } else {
    return b8_and(plane, kMask);
  }
}

template <int kPlace>
SCRATCHY_INLINE void unpack_plane_4(const std::byte* p, B8x64* out) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const B8x64 plane = b8_load(p + 64 * j);
    out[j] = plane_field<4, 0, kPlace>(plane);
    out[j + 4] = plane_field<4, 1, kPlace>(plane);
  }
}

// Adds the fields of a narrower plane to codes whose lower bits are there already, or sets them when kPlace is 0.
template <int kBits, int kIndex, int kPlace>
SCRATCHY_INLINE void merge_field(B8x64 plane, B8x64* code) {
  const B8x64 field = plane_field<kBits, kIndex, kPlace>(plane);
  *code = kPlace == 0 ? field : b8_or(*code, field);
}

template <int kPlace>
SCRATCHY_INLINE void unpack_plane_2(const std::byte* p, B8x64* out) {
#pragma GCC unroll 2
  for (int j = 0; j < 2; ++j) {
    const B8x64 plane = b8_load(p + 64 * j);
    merge_field<2, 0, kPlace>(plane, &out[4 * j]);
    merge_field<2, 1, kPlace>(plane, &out[4 * j + 1]);
    merge_field<2, 2, kPlace>(plane, &out[4 * j + 2]);
    merge_field<2, 3, kPlace>(plane, &out[4 * j + 3]);
  }
}

template <int kPlace>
SCRATCHY_INLINE void unpack_plane_1(const std::byte* p, B8x64* out) {
  const B8x64 plane = b8_load(p);
  merge_field<1, 0, kPlace>(plane, &out[0]);
  merge_field<1, 1, kPlace>(plane, &out[1]);
  merge_field<1, 2, kPlace>(plane, &out[2]);
  merge_field<1, 3, kPlace>(plane, &out[3]);
  merge_field<1, 4, kPlace>(plane, &out[4]);
  merge_field<1, 5, kPlace>(plane, &out[5]);
  merge_field<1, 6, kPlace>(plane, &out[6]);
  merge_field<1, 7, kPlace>(plane, &out[7]);
}

// The codes of a block at p, out[8]; tables are applied, so that w = scale * (code - code_middle) + offset.
template <PackForm kForm>
SCRATCHY_INLINE void unpack_codes(const std::byte* p, B8x64* out) {
  constexpr PackTraits kTraits = traits_of(kForm);
  static_assert(kTraits.bits == 8 || (kTraits.bits >= 1 && kTraits.bits <= 6));
  if constexpr (kTraits.bits == 8) {
    for (int j = 0; j < 8; ++j) out[j] = b8_load(p + 64 * j);
  }
  if constexpr (kTraits.bits >= 4 && kTraits.bits <= 6) unpack_plane_4<0>(p, out);
  if constexpr (kTraits.bits == 6) unpack_plane_2<4>(p + 256, out);
  if constexpr (kTraits.bits == 5) unpack_plane_1<4>(p + 256, out);
  if constexpr (kTraits.bits == 2 || kTraits.bits == 3) unpack_plane_2<0>(p, out);
  if constexpr (kTraits.bits == 3) unpack_plane_1<2>(p + 128, out);
  if constexpr (kTraits.bits == 1) unpack_plane_1<0>(p, out);
  if constexpr (is_table(kTraits.coding)) {
    const uint8_t* table = kTraits.coding == Coding::kTableIq4Nl ? kIq4NlTable : kE2m1Table;
    for (int j = 0; j < 8; ++j) out[j] = b8_lookup(table, out[j]);
  }
}

}  // namespace scratchy::cpu
