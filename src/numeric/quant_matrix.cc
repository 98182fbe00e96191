#include "numeric/quant_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "numeric/check_parts.h"
#include "numeric/decode_parts.h"

namespace scratchy {
namespace {

bool in_order(const std::vector<uint32_t>& column_group, uint32_t group_size) {
  for (size_t k = 0; k < column_group.size(); ++k) {
    if (column_group[k] != k / group_size) return false;
  }
  return true;
}

// Columns sorted by group, in column order within a group.
std::vector<uint32_t> sort_by_group(const std::vector<uint32_t>& column_group) {
  std::vector<uint32_t> order(column_group.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return column_group[a] < column_group[b]; });
  return order;
}

}  // namespace

float QuantPart::f32(uint64_t index) const {
  float value = 0;
  widen_to_f32(dtype, bytes.subspan(index * dtype_bytes(dtype), dtype_bytes(dtype)), {&value, 1});
  return value;
}

uint32_t QuantPart::u32(uint64_t index) const {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + 4 * index, sizeof value);
  return value;
}

Result<QuantMatrix> QuantMatrix::make(QuantParts parts, std::shared_ptr<const void> keeper) {
  TRY_STATUS(check_parts(parts));
  QuantMatrix matrix;
  matrix.experts_ = parts.experts;
  matrix.rows_ = parts.rows;
  if (!parts.column_group.empty() && !in_order(parts.column_group, parts.group_size)) {
    auto order = std::make_shared<std::vector<uint32_t>>(sort_by_group(parts.column_group));
    matrix.column_order_ = std::make_shared<const std::vector<int32_t>>(order->begin(), order->end());
    matrix.source_order_ = std::move(order);
  }
  matrix.parts_ = std::make_shared<const QuantParts>(std::move(parts));
  matrix.keeper_ = std::move(keeper);
  return matrix;
}

QuantForm QuantMatrix::form() const { return parts_->form; }
uint32_t QuantMatrix::cols() const { return parts_->cols; }
int QuantMatrix::code_bits() const { return parts_code_bits(*parts_); }
uint32_t QuantMatrix::group_size() const { return parts_group_size(*parts_); }
uint32_t QuantMatrix::group_count() const { return (cols() + group_size() - 1) / group_size(); }
const float* QuantMatrix::codebook() const { return parts_codebook(*parts_); }
const int32_t* QuantMatrix::column_order() const { return column_order_ ? column_order_->data() : nullptr; }

DType QuantMatrix::dense_dtype() const {
  SCRATCHY_CHECK(view() == QuantView::kDense, std::string(quant_form_name(form())));
  return parts_->codes.dtype;
}

std::span<const std::byte> QuantMatrix::dense_row(uint64_t row) const {
  if (view() != QuantView::kDense || parts_->transposed || column_order_) return {};
  const uint64_t row_bytes = cols() * dtype_bytes(parts_->codes.dtype);
  return parts_->codes.bytes.subspan(stored_row(row) * row_bytes, row_bytes);
}

void QuantMatrix::dequantize_row(uint64_t row, float* out) const {
  SCRATCHY_CHECK(row < row_count(), std::to_string(row));
  std::vector<float> values(cols());
  if (view() == QuantView::kDense) {
    decode_dense_row(*parts_, stored_row(row), values.data());
  } else {
    std::vector<uint8_t> codes(cols());
    std::vector<GroupValue> groups(group_count());
    decode_codes(row, codes.data());
    decode_parts_groups(*parts_, stored_row(row), groups.data());
    const float* book = codebook();
    const uint32_t size = group_size();
    for (uint32_t p = 0; p < cols(); ++p) {
      const GroupValue& group = groups[p / size];
      if (view() == QuantView::kFp8) {
        values[p] = group.scale * e4m3_to_f32(codes[p]);
      } else if (book != nullptr) {
        values[p] = group.scale * book[codes[p]];
      } else {
        values[p] = group.scale * (static_cast<float>(codes[p]) - group.zero) + group.base;
      }
    }
  }
  for (uint32_t p = 0; p < cols(); ++p) out[column_order_ ? static_cast<uint32_t>((*column_order_)[p]) : p] = values[p];
}

void QuantMatrix::decode_codes(uint64_t row, uint8_t* codes) const {
  SCRATCHY_CHECK(row < row_count(), std::to_string(row));
  if (!source_order_) return decode_parts_codes(*parts_, stored_row(row), codes);
  std::vector<uint8_t> by_column(cols());
  decode_parts_codes(*parts_, stored_row(row), by_column.data());
  for (uint32_t p = 0; p < cols(); ++p) codes[p] = by_column[(*source_order_)[p]];
}

void QuantMatrix::decode_groups(uint64_t row, float* scale, float* offset) const {
  SCRATCHY_CHECK(row < row_count(), std::to_string(row));
  std::vector<GroupValue> groups(group_count());
  decode_parts_groups(*parts_, stored_row(row), groups.data());
  for (size_t g = 0; g < groups.size(); ++g) {
    scale[g] = groups[g].scale;
    if (affine()) offset[g] = groups[g].base - groups[g].scale * groups[g].zero;
  }
}

QuantMatrix QuantMatrix::with_rows(const std::vector<uint32_t>& order) const {
  auto mapped = std::make_shared<std::vector<uint32_t>>(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    SCRATCHY_CHECK(order[i] < row_count(), std::to_string(order[i]));
    (*mapped)[i] = static_cast<uint32_t>(stored_row(order[i]));
  }
  QuantMatrix result = *this;
  result.row_order_ = std::move(mapped);
  result.experts_ = 1;
  result.rows_ = static_cast<uint32_t>(order.size());
  return result;
}

QuantMatrix QuantMatrix::slice_rows(uint32_t begin, uint32_t count) const {
  SCRATCHY_CHECK(begin <= rows_ && count <= rows_ - begin, std::to_string(begin) + " + " + std::to_string(count));
  std::vector<uint32_t> order;
  order.reserve(uint64_t{experts_} * count);
  for (uint32_t e = 0; e < experts_; ++e) {
    for (uint32_t n = begin; n < begin + count; ++n) order.push_back(e * rows_ + n);
  }
  QuantMatrix result = with_rows(order);
  result.experts_ = experts_;
  result.rows_ = count;
  return result;
}

QuantMatrix QuantMatrix::expert(uint32_t index) const {
  SCRATCHY_CHECK(index < experts_, std::to_string(index));
  std::vector<uint32_t> order(rows_);
  std::iota(order.begin(), order.end(), index * rows_);
  return with_rows(order);
}

QuantMatrix QuantMatrix::with_columns(const std::vector<uint32_t>& order) const {
  SCRATCHY_CHECK(order.size() == cols(), std::to_string(order.size()));
  std::vector<int32_t> new_column(order.size(), -1);
  for (size_t k = 0; k < order.size(); ++k) {
    SCRATCHY_CHECK(order[k] < cols() && new_column[order[k]] < 0, "not a permutation");
    new_column[order[k]] = static_cast<int32_t>(k);
  }
  auto composed = std::make_shared<std::vector<int32_t>>(order.size());
  for (size_t p = 0; p < order.size(); ++p) {
    (*composed)[p] = new_column[column_order_ ? static_cast<size_t>((*column_order_)[p]) : p];
  }
  QuantMatrix result = *this;
  result.column_order_ = std::move(composed);
  return result;
}

Status QuantMatrix::check_finite() const {
  if (view() == QuantView::kDense) return Done{};
  std::vector<GroupValue> groups(group_count());
  std::vector<uint8_t> codes(view() == QuantView::kFp8 ? cols() : 0);
  for (uint64_t row = 0; row < row_count(); ++row) {
    decode_parts_groups(*parts_, stored_row(row), groups.data());
    for (size_t g = 0; g < groups.size(); ++g) {
      if (!std::isfinite(groups[g].scale) || !std::isfinite(groups[g].base)) {
        return Failure("scale of row " + std::to_string(row) + ", group " + std::to_string(g) + " is not a finite number");
      }
    }
    if (codes.empty()) continue;
    decode_codes(row, codes.data());
    for (size_t k = 0; k < codes.size(); ++k) {
      if ((codes[k] & 0x7f) == 0x7f) {
        return Failure("weight at row " + std::to_string(row) + ", column " + std::to_string(k) + " is not a number");
      }
    }
  }
  return Done{};
}

std::vector<float> nf4_absmax(std::span<const uint8_t> codes, std::span<const float> map,
                              std::span<const float> nested_absmax, uint32_t nested_block, float offset) {
  SCRATCHY_CHECK(map.size() == 256 && nested_block > 0, "nested map");
  SCRATCHY_CHECK(nested_absmax.size() * uint64_t{nested_block} >= codes.size(), "nested scales");
  std::vector<float> absmax(codes.size());
  for (size_t b = 0; b < codes.size(); ++b) absmax[b] = map[codes[b]] * nested_absmax[b / nested_block] + offset;
  return absmax;
}

}  // namespace scratchy
