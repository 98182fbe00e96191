#include "targets/cpu/pack_matrix.h"

#include <algorithm>
#include <vector>

#include "numeric/gguf_blocks.h"
#include "targets/cpu/kernels/pack_panel.h"

namespace scratchy::cpu {
namespace {

PackForm form_of(const GemmVariant& variant) { return static_cast<PackForm>(variant.pack_form); }

bool coding_suits(Coding coding, const QuantMatrix& matrix) {
  switch (coding) {
    case Coding::kInteger: return matrix.affine();
    case Coding::kTableIq4Nl: return matrix.form() == QuantForm::kIQ4_NL;
    case Coding::kTableE2m1: return matrix.codebook() == kE2m1Values;
    case Coding::kCodebook: return matrix.view() == QuantView::kCodebook;
    case Coding::kFp8: return matrix.view() == QuantView::kFp8;
    case Coding::kDenseF32:
    case Coding::kDenseF16:
    case Coding::kDenseBF16: return false;
  }
  return false;
}

// The rows of one panel, taken from a matrix.
class PanelReader {
 public:
  PanelReader(const QuantMatrix& matrix, const PackTraits& form)
      : matrix_(matrix), form_(form), codes_(size_t{kPanel} * matrix.cols()), values_(size_t{kPanel} * matrix.cols()) {
    const uint32_t groups = matrix.view() == QuantView::kDense ? 0 : matrix.group_count();
    repeat_ = form.group == 0 || groups == 0 ? 1 : matrix.group_size() / static_cast<uint32_t>(form.group);
    groups_ = size_t{groups} * repeat_;
    scales_.resize(kPanel * groups_);
    offsets_.resize(kPanel * groups_);
  }

  PanelSource read(uint64_t first_row, int rows) {
    PanelSource source;
    source.rows = rows;
    for (int lane = 0; lane < rows; ++lane) {
      const size_t at = static_cast<size_t>(lane);
      if (is_dense(form_)) {
        matrix_.dequantize_row(first_row + at, values_.data() + at * matrix_.cols());
        source.values[lane] = values_.data() + at * matrix_.cols();
        continue;
      }
      matrix_.decode_codes(first_row + at, codes_.data() + at * matrix_.cols());
      read_groups(first_row + at, at);
      source.codes[lane] = codes_.data() + at * matrix_.cols();
      source.scales[lane] = scales_.data() + at * groups_;
      if (matrix_.affine()) source.offsets[lane] = offsets_.data() + at * groups_;
    }
    if (form_.coding == Coding::kCodebook) source.codebook = matrix_.codebook();
    return source;
  }

 private:
  // A layout with narrower groups repeats each scale.
  void read_groups(uint64_t row, size_t lane) {
    float* scales = scales_.data() + lane * groups_;
    float* offsets = offsets_.data() + lane * groups_;
    matrix_.decode_groups(row, scales, matrix_.affine() ? offsets : nullptr);
    for (size_t g = groups_; repeat_ > 1 && g-- > 0;) {
      scales[g] = scales[g / repeat_];
      offsets[g] = offsets[g / repeat_];
    }
  }

  const QuantMatrix& matrix_;
  const PackTraits& form_;
  uint32_t repeat_ = 1;
  size_t groups_ = 0;
  std::vector<uint8_t> codes_;
  std::vector<float> values_, scales_, offsets_;
};

// Outputs up to which a dense matrix reads f32 activations: routers and gates, where rounding would change picks and
// nothing is gained.
constexpr int32_t kExactRows = 256;

int next_variant(const WeightRecord& record, const QuantMatrix& matrix, int after) {
  for (int v = after + 1; v < record.variant_count; ++v) {
    const GemmVariant& variant = record.variants[v];
    if (variant.activation == ActivationKind::kBF16 && record.rows <= kExactRows) continue;
    if (suits(form_of(variant), matrix)) return v;
  }
  return -1;
}

size_t variant_bytes(const GemmVariant& variant, int32_t rows, int32_t columns) { return packed_bytes(form_of(variant), rows, columns); }

bool pack_rows(const GemmVariant& variant, const QuantMatrix& matrix, std::byte* out) {
  const PackForm form = form_of(variant);
  const auto rows = static_cast<int>(matrix.row_count()), columns = static_cast<int>(matrix.cols());
  PanelReader reader(matrix, traits_of(form));
  for (int row = 0; row < rows; row += kPanel) {
    if (!pack_panel(form, reader.read(static_cast<uint64_t>(row), std::min(kPanel, rows - row)), columns, out)) return false;
    out += panel_bytes(form, columns);
  }
  return true;
}

bool pack_f32(const GemmVariant& variant, const float* values, int32_t rows, int32_t columns, std::byte* out) {
  const PackForm form = form_of(variant);
  if (!is_dense(traits_of(form))) return false;
  for (int row = 0; row < rows; row += kPanel) {
    PanelSource source;
    source.rows = std::min(kPanel, rows - row);
    for (int lane = 0; lane < source.rows; ++lane) source.values[lane] = values + static_cast<int64_t>(row + lane) * columns;
    if (!pack_panel(form, source, columns, out)) return false;
    out += panel_bytes(form, columns);
  }
  return true;
}

}  // namespace

bool suits(PackForm form, const QuantMatrix& matrix) {
  const PackTraits& traits = traits_of(form);
  if (form == PackForm::kF32) return true;
  if (matrix.view() == QuantView::kDense) {
    return (form == PackForm::kF16 && matrix.form() == QuantForm::kF16) || (form == PackForm::kBF16 && matrix.form() == QuantForm::kBF16);
  }
  if (!coding_suits(traits.coding, matrix) || matrix.column_order() != nullptr) return false;
  if (matrix.view() != QuantView::kFp8 && matrix.code_bits() != traits.bits) return false;
  if (traits.group == 0) return matrix.group_count() == 1;
  const auto group = static_cast<uint32_t>(traits.group);
  const bool whole_row = matrix.group_count() == 1 && matrix.cols() < group;
  return group == matrix.group_size() || (!is_super(traits) && !whole_row && matrix.group_size() % group == 0 && matrix.cols() % group == 0);
}

const WeightPacker kWeightPacker = {&next_variant, &variant_bytes, &pack_rows, &pack_f32};

}  // namespace scratchy::cpu
