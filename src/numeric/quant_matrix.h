// A weight matrix in the form it was published in, and the views that kernels pack from.
//
// A QuantMatrix is [E, N, K]: E experts (1 for a plain matrix) of N rows and K columns. Rows are numbered through,
// row = e * N + n. It holds spans over bytes that somebody else owns, or that its `keeper` owns, and never changes them;
// copies share them. What it offers a row at a time:
//
//   dequantize_row   the K weights in f32, exactly as the form's formula says: the truth for kernels,
//   decode_codes     the stored integers, one a byte, in stored order,
//   decode_groups    scale and offset of each run of group_size() stored codes, such that
//                      kAffine    w = scale[g] * code + offset[g]
//                      kCodebook  w = scale[g] * codebook()[code]
//                      kFp8       w = scale[g] * e4m3(code)
//
// A stored position is a column unless column_order() says otherwise: forms with activation order sort columns by group,
// and position p then holds column column_order()[p]. The last group of a row may be short.
//
// Rows can be renumbered (a slice of a fused matrix, the undone permutation of a converter) without touching bytes.
//
// Not here: reading files and finding out the form (checkpoint/load_matrix.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "numeric/dtype.h"
#include "numeric/quant_form.h"

namespace scratchy {

// One tensor of a form: raw bytes at any alignment. Its element count is bytes / dtype_bytes.
struct QuantPart {
  std::span<const std::byte> bytes;
  DType dtype = DType::kU8;

  uint64_t count() const { return bytes.size() / dtype_bytes(dtype); }
  bool empty() const { return bytes.empty(); }
  float f32(uint64_t index) const;     // F32, F16, BF16, F8_E4M3 element, widened
  uint32_t u32(uint64_t index) const;  // little-endian word of an I32 or U32 part
};

// How a foreign scratch-packed file codes its integers; the defaults are our writer's.
struct ScratchCoding {
  bool high_bit_first = true;
  bool low_nibble_first = true;
  bool offset_8 = true;  // else two's complement nibbles
};

// What a QuantMatrix is made of. Which parts a form has, with shapes for one expert (experts lead every shape):
//
//   F32 F16 BF16      codes [N, K], or [K, N] when transposed
//   GGUF blocks       codes [N, K / block] blocks
//   kAwq              codes I32 [K, N/8], zeros I32 [K/g, N/8], scales [K/g, N]
//   kGptq, kGptqV2    codes I32 [K*bits/32, N], zeros I32 [K/g, N*bits/32] or none (symmetric), scales [K/g, N]
//   kCtInt            codes I32 [N, ceil(K*bits/32)], zeros I32 [ceil(N*bits/32), K/g] or none, scales [N, ceil(K/g)]
//   kNf4              codes U8 [N*K/2] over the flattened [E*N, K], scales F32 [blocks] (see nf4_absmax)
//   kFp8              codes F8 [N, K], scales [ceil(N/group_rows), ceil(K/group_size)]
//   kNvfp4, kNvfp4Ct  codes U8 [N, K/2], scales F8 [N, K/16], global F32 [1]
//   kMxfp4Split       codes U8 [N, K/2], scales U8 [N, K/32], E8M0
//   kMlxAffine        codes U32 [N, K*bits/32], scales, offsets [N, K/g]
//   kScratch1         codes U8 [N, ceil(K/8)], scales F16 [N]
//   kScratch4         codes U8 [N, ceil(K/2)], scales F16 [N]
struct QuantParts {
  QuantForm form = QuantForm::kF32;
  uint32_t experts = 1;
  uint32_t rows = 0;  // N
  uint32_t cols = 0;  // K
  // Width of a stored code where the form leaves it open (kGptq, kCtInt, kMlxAffine).
  int bits = 0;
  // Columns of one scale. For kNf4 the block of the flattened matrix. Ignored by forms that fix it.
  uint32_t group_size = 0;
  // Rows of one scale: kFp8 only.
  uint32_t group_rows = 1;
  bool transposed = false;
  QuantPart codes, scales, zeros, offsets, global;
  // Group of each column, empty when it is column / group_size. Every group must have group_size columns.
  std::vector<uint32_t> column_group;
  // kNf4: the 16 values.
  std::array<float, 16> codebook{};
  ScratchCoding scratch;
};

class QuantMatrix {
 public:
  // Checks every size against the shape, so that no later access can leave a part. `keeper` is kept alive with the
  // matrix. A Failure says which part has which size and what the shape asks for.
  static Result<QuantMatrix> make(QuantParts parts, std::shared_ptr<const void> keeper = nullptr);

  QuantForm form() const;
  QuantView view() const { return quant_view(form()); }
  bool affine() const { return view() == QuantView::kAffine; }
  uint32_t experts() const { return experts_; }
  uint32_t rows() const { return rows_; }  // of one expert
  uint32_t cols() const;
  uint64_t row_count() const { return uint64_t{experts_} * rows_; }

  // row in [0, row_count()); out has cols() places, in column order.
  void dequantize_row(uint64_t row, float* out) const;

  // The integer view; not for kDense. Codes are below 2^code_bits(). A group is group_size() stored positions of a row.
  int code_bits() const;
  uint32_t group_size() const;
  uint32_t group_count() const;  // ceil(cols / group_size), of one row
  void decode_codes(uint64_t row, uint8_t* codes) const;
  // `offset` is written for kAffine only and may be null otherwise.
  void decode_groups(uint64_t row, float* scale, float* offset) const;
  const int32_t* column_order() const;  // null when position == column
  const float* codebook() const;        // 16 values; kCodebook only

  // The stored bytes of a dense matrix's row, when they are contiguous and unpermuted in columns; else empty.
  std::span<const std::byte> dense_row(uint64_t row) const;
  DType dense_dtype() const;  // kDense only

  // Row r of the result is row order[r] of this matrix; the result has one expert. Every index is in range (checked).
  QuantMatrix with_rows(const std::vector<uint32_t>& order) const;
  // Rows [begin, begin + count) of every expert.
  QuantMatrix slice_rows(uint32_t begin, uint32_t count) const;
  // One expert as a matrix of its own.
  QuantMatrix expert(uint32_t index) const;
  // Column k of the result is column order[k] of this matrix; order is a permutation of all columns (checked).
  QuantMatrix with_columns(const std::vector<uint32_t>& order) const;

  // Whether all scales, offsets and, for kFp8, codes are finite numbers; the Failure says which row and group is not.
  // Zero scales are fine. Dense values are not looked at.
  Status check_finite() const;

 private:
  QuantMatrix() = default;
  uint64_t stored_row(uint64_t row) const { return row_order_ ? (*row_order_)[row] : row; }

  std::shared_ptr<const QuantParts> parts_;
  std::shared_ptr<const void> keeper_;
  std::shared_ptr<const std::vector<uint32_t>> row_order_;
  // Position -> column of the file, and position -> column of this matrix; null when equal.
  std::shared_ptr<const std::vector<uint32_t>> source_order_;
  std::shared_ptr<const std::vector<int32_t>> column_order_;
  uint32_t experts_ = 1;
  uint32_t rows_ = 0;
};

// Block scales of doubly quantised nf4: absmax[b] = map[codes[b]] * nested_absmax[b / nested_block] + offset. `map` has
// 256 values, nested_absmax ceil(codes / nested_block).
std::vector<float> nf4_absmax(std::span<const uint8_t> codes, std::span<const float> map,
                              std::span<const float> nested_absmax, uint32_t nested_block, float offset);

}  // namespace scratchy
