// Prepared rows: activations in every form that some variant of a program's matrices reads, made once.
//
// For a bucket of C rows a prepared value is planar: C rows of f32, then C rows of bf16, then C rows of q16, each part only
// if the program uses it. A value [T, k, I] has k such rows a token. Which kinds a program prepares is one constant.
#pragma once

#include "targets/cpu/kernels/act.h"

namespace scratchy::cpu {

// Kinds a program prepares besides f32.
struct PreparedKinds {
  bool bf16 = false, q16 = false;
};

// Bytes of one token's rows in the part of `act`, for `groups` rows of `width` values.
constexpr int64_t prepared_part_bytes(Act act, int width, int groups) { return static_cast<int64_t>(act_row_bytes(act, width)) * groups; }

// Bytes a token in front of the part of `act`.
constexpr int64_t prepared_part_offset(PreparedKinds kinds, Act act, int width, int groups) {
  int64_t offset = 0;
  if (act != Act::kF32) offset += prepared_part_bytes(Act::kF32, width, groups);
  if (act == Act::kQ16 && kinds.bf16) offset += prepared_part_bytes(Act::kBF16, width, groups);
  return offset;
}

// Bytes a token of the whole, where a block of q16 takes so many.
constexpr int64_t prepared_row_bytes(PreparedKinds kinds, int width, int groups, int q16_block_bytes) {
  return prepared_part_bytes(Act::kF32, width, groups) +
         (kinds.bf16 ? prepared_part_bytes(Act::kBF16, width, groups) : 0) +
         (kinds.q16 ? int64_t{blocks_of(width)} * q16_block_bytes * groups : 0);
}

// The part of `act` of a prepared value that begins at `base` in a bucket of `capacity` tokens.
constexpr int64_t prepared_part(PreparedKinds kinds, Act act, int width, int groups, int64_t capacity) {
  return prepared_part_offset(kinds, act, width, groups) * capacity;
}

// Writes x[groups, width] of token `row` into the prepared value at `base`.
template <PreparedKinds kKinds, int kWidth, int kGroups>
inline void prepare_rows(const float* x, std::byte* base, int row, int64_t capacity) {
  for (int g = 0; g < kGroups; ++g) {
    const float* from = x + static_cast<int64_t>(g) * kWidth;
    const int64_t at = static_cast<int64_t>(row) * kGroups + g;
    write_act_row<Act::kF32>(from, kWidth, base + at * static_cast<int64_t>(act_row_bytes(Act::kF32, kWidth)));
    if constexpr (kKinds.bf16) {
      write_act_row<Act::kBF16>(from, kWidth, base + prepared_part(kKinds, Act::kBF16, kWidth, kGroups, capacity) +
                                                  at * static_cast<int64_t>(act_row_bytes(Act::kBF16, kWidth)));
    }
    if constexpr (kKinds.q16) {
      write_act_row<Act::kQ16>(from, kWidth, base + prepared_part(kKinds, Act::kQ16, kWidth, kGroups, capacity) +
                                                 at * static_cast<int64_t>(act_row_bytes(Act::kQ16, kWidth)));
    }
  }
}

}  // namespace scratchy::cpu
