// Planes of the paged KV cache: how the values of 64 positions lie inside a page, and writing to them.
//
// A plane keeps `heads` vectors of `width` elements a position. Head h of a page is one block, [head_bytes], so one
// head's history of a page is read as one stream:
//   kColumns  [64/16][width][16]       16 neighbouring positions are adjacent: scores have positions in lanes
//   kRows     [64][padded_width]       a position is one row (padded to 16): weighted sums have elements in lanes
// Attention reads keys best from kColumns and values from kRows; it can read keys from kRows too (one plane that holds
// both, as in latent attention), turning each tile around first. Int8 planes hold round(x / scale), scale = max|x| /
// 127 of one position and head, as f32 scales [64] after the block's elements.
#pragma once

#include "tape/batch.h"
#include "targets/cpu/kernels/kv_simd.h"

namespace scratchy::cpu {

enum class KvType : uint8_t { kF32, kF16, kBf16, kI8 };
enum class KvLayout : uint8_t { kColumns, kRows };

inline constexpr int kGroup = 16;  // positions side by side in kColumns
inline constexpr int kTileGroups = kPageTokens / kGroup;

template <KvType T>
struct KvElementOf;
template <>
struct KvElementOf<KvType::kF32> {
  using Type = float;
};
template <>
struct KvElementOf<KvType::kF16> {
  using Type = KvF16;
};
template <>
struct KvElementOf<KvType::kBf16> {
  using Type = KvBf16;
};
template <>
struct KvElementOf<KvType::kI8> {
  using Type = int8_t;
};
template <KvType T>
using KvElement = typename KvElementOf<T>::Type;

// Shape of a plane, a template argument of the kernels.
struct KvPlane {
  KvLayout layout;
  KvType type;
  int heads;
  int width;
};

constexpr int round_up(int x, int step) { return (x + step - 1) / step * step; }

constexpr size_t kv_element_bytes(KvType type) {
  switch (type) {
    case KvType::kF32:
      return 4;
    case KvType::kF16:
    case KvType::kBf16:
      return 2;
    case KvType::kI8:
      return 1;
  }
  return 0;
}
// Elements from one position to the next in kRows.
constexpr int kv_padded_width(KvPlane plane) {
  return plane.layout == KvLayout::kRows ? round_up(plane.width, kGroup) : plane.width;
}
// Bytes of the elements of one head in one page, before the scales.
constexpr size_t kv_data_bytes(KvPlane plane) {
  return size_t{kPageTokens} * kv_padded_width(plane) * kv_element_bytes(plane.type);
}
constexpr size_t kv_head_bytes(KvPlane plane) {
  return kv_data_bytes(plane) + (plane.type == KvType::kI8 ? kPageTokens * sizeof(float) : 0);
}
// Bytes of the plane in one page, a multiple of 64.
constexpr size_t plane_page_bytes(KvPlane plane) { return kv_head_bytes(plane) * plane.heads; }

// Index of element d of position j (0 .. 63) within a head's block.
constexpr int kv_index(KvPlane plane, int j, int d) {
  return plane.layout == KvLayout::kRows ? j * kv_padded_width(plane) + d
                                         : (j / kGroup * plane.width + d) * kGroup + j % kGroup;
}

// A head's block in the page that holds `position`.
template <KvPlane P>
std::byte* kv_head_block(const KvPool& pool, size_t plane_offset, const int32_t* pages, int position, int head) {
  return pool.base + static_cast<size_t>(pages[position / kPageTokens]) * pool.page_bytes + plane_offset +
         kv_head_bytes(P) * static_cast<size_t>(head);
}
template <KvPlane P>
KvElement<P.type>* kv_elements(std::byte* block) {
  return reinterpret_cast<KvElement<P.type>*>(block);
}
// [64] scales of an int8 block; null for other types.
template <KvPlane P>
float* kv_scales(std::byte* block) {
  return P.type == KvType::kI8 ? reinterpret_cast<float*>(block + kv_data_bytes(P)) : nullptr;
}

namespace internal {

inline void store_element(float x, float* out) { *out = x; }
inline void store_element(float x, KvF16* out) { *out = to_f16(x); }
inline void store_element(float x, KvBf16* out) { *out = to_bf16(x); }
// x is already divided by the scale.
inline void store_element(float x, int8_t* out) { *out = static_cast<int8_t>(std::lrintf(x)); }

// Scale of one int8 row; a row that is next to zero or not finite is kept as zeros.
inline float int8_scale(const float* x, int count) {
  float largest = 0;
  for (int d = 0; d < count; ++d) largest = std::fabs(x[d]) > largest ? std::fabs(x[d]) : largest;
  return largest > 1e-30f && largest < 3e38f ? largest / 127 : 0;
}

// Element `column` of position `position`, as f32.
template <KvPlane P>
float kv_value(std::byte* block, int position, int column) {
  const int j = position % kPageTokens;
  const float value = to_f32(kv_elements<P>(block)[kv_index(P, j, column)]);
  if constexpr (P.type == KvType::kI8) return value * kv_scales<P>(block)[j];
  return value;
}

}  // namespace internal

// Which rows and heads a call works on.
struct KvRange {
  int row_begin, row_end;
  int head_begin, head_end;
};

// Writes x[t, head, :] of the range to the plane, at the positions of the rows. x: rows of heads * width f32,
// row_stride floats apart. Rows and heads are independent: threads may split either way.
template <KvPlane P>
void kv_append(const Batch& batch, const KvPool& pool, size_t plane_offset, const float* x, size_t row_stride,
               KvRange range) {
  for (int t = range.row_begin; t < range.row_end; ++t) {
    const int position = batch.rows[t].position;
    const int32_t* pages = batch.sequences[batch.rows[t].sequence].pages;
    for (int head = range.head_begin; head < range.head_end; ++head) {
      std::byte* block = kv_head_block<P>(pool, plane_offset, pages, position, head);
      const float* from = x + static_cast<size_t>(t) * row_stride + static_cast<size_t>(head) * P.width;
      KvElement<P.type>* to = kv_elements<P>(block) + kv_index(P, position % kPageTokens, 0);
      constexpr int kStep = P.layout == KvLayout::kRows ? 1 : kGroup;
      if constexpr (P.type == KvType::kI8) {
        const float scale = internal::int8_scale(from, P.width);
        const float inverse = scale > 0 ? 1 / scale : 0;
        kv_scales<P>(block)[position % kPageTokens] = scale;
        for (int d = 0; d < P.width; ++d) {
          const float steps = inverse > 0 ? from[d] * inverse : 0;
          internal::store_element(steps, to + d * kStep);
        }
      } else {
        for (int d = 0; d < P.width; ++d) internal::store_element(from[d], to + d * kStep);
      }
    }
  }
}

}  // namespace scratchy::cpu
