#include "checkpoint/load_matrix.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "checkpoint/matrix_loader.h"

namespace scratchy {
namespace {

std::string in_quotes(std::string_view name) { return "`" + escape_for_message(name) + "`"; }

// Suffixes of one matrix's tensors, in the order messages list them.
constexpr std::array<std::string_view, 26> kSuffixes = {
    "", ".weight", ".qweight", ".qzeros", ".scales", ".biases", ".g_idx", ".weight_packed", ".weight_scale",
    ".weight_scale_inv", ".weight_scale_2", ".weight_global_scale", ".weight_shape", ".weight_zero_point", ".weight_g_idx",
    ".weight.absmax", ".weight.quant_map", ".weight.nested_absmax", ".weight.nested_quant_map",
    ".weight.quant_state.bitsandbytes__nf4", ".input_scale", ".input_global_scale", ".weight__bin", ".weight__int4",
    "_blocks", "_scales"};
constexpr std::array<std::string_view, 3> kScratchSuffixes = {".weight__scale", ".weight__shape", ".weight__cols"};

bool is_dense_float(const TensorInfo& tensor) {
  return !tensor.blocks && (tensor.dtype == DType::kF32 || tensor.dtype == DType::kF16 || tensor.dtype == DType::kBF16);
}

QuantForm dense_form(DType dtype) {
  return dtype == DType::kF32 ? QuantForm::kF32 : dtype == DType::kF16 ? QuantForm::kF16 : QuantForm::kBF16;
}

class FormFinder {
 public:
  FormFinder(const Checkpoint& checkpoint, std::string_view module) : checkpoint_(checkpoint), module_(module) {}

  Result<QuantForm> find_form() {
    if (has(".qweight")) add(qweight_form());
    if (const TensorInfo* packed = get(".weight_packed")) {
      add(packed->dtype == DType::kU8 ? QuantForm::kNvfp4Ct : QuantForm::kCtInt);
    }
    if (has(".weight__bin")) add(QuantForm::kScratch1);
    if (has(".weight__int4")) add(QuantForm::kScratch4);
    if (has("_blocks")) add(has("_scales") ? std::optional(QuantForm::kMxfp4Split) : std::nullopt);
    if (const TensorInfo* weight = get(".weight")) add(weight_form(*weight));
    if (forms_.empty()) {
      if (const TensorInfo* bare = get("")) add(weight_form(*bare));
    }
    if (forms_.size() == 1 && forms_[0]) return *forms_[0];
    const auto names = weight_tensors(checkpoint_, module_);
    if (names.empty()) return Failure("no tensor of weight " + in_quotes(module_) + " is in the checkpoint");
    std::vector<std::string> listed;
    for (const std::string& name : names) listed.push_back(in_quotes(name));
    return Failure("tensors of weight " + in_quotes(module_) + " make " + (forms_.size() > 1 ? "several forms" : "no known form") +
                   ": " + join(listed, ", "));
  }

 private:
  const TensorInfo* get(std::string_view suffix) const { return find_published(checkpoint_, module_ + std::string(suffix)); }
  bool has(std::string_view suffix) const { return get(suffix) != nullptr; }
  void add(std::optional<QuantForm> form) { forms_.push_back(form); }

  // AWQ words hold eight columns of N, so its codes are narrower than its scales; GPTQ's are as wide.
  std::optional<QuantForm> qweight_form() const {
    const TensorInfo* codes = get(".qweight");
    const TensorInfo* scales = get(".scales");
    if (scales == nullptr || codes->shape.empty() || scales->shape.empty()) return std::nullopt;
    if (codes->shape.back() == scales->shape.back()) {
      return checkpoint_.quant_section().gptq_v2 ? QuantForm::kGptqV2 : QuantForm::kGptq;
    }
    if (codes->shape.back() == scales->shape.back() / 8) return QuantForm::kAwq;
    return std::nullopt;
  }

  std::optional<QuantForm> weight_form(const TensorInfo& weight) const {
    if (weight.blocks) return weight.blocks;
    const bool has_other_parts = has(".scales") || has(".biases") || has(".weight_scale") || has(".weight_scale_inv") ||
                                 has(".weight.absmax");
    if (is_dense_float(weight) && !has_other_parts) return dense_form(weight.dtype);
    if (weight.dtype == DType::kF8E4M3) return QuantForm::kFp8;
    if (weight.dtype == DType::kU8 && has(".weight_scale_2")) return QuantForm::kNvfp4;
    if (weight.dtype == DType::kU8 && has(".weight.absmax")) return QuantForm::kNf4;
    if (weight.dtype == DType::kU32 && has(".scales")) return QuantForm::kMlxAffine;
    return std::nullopt;
  }

  const Checkpoint& checkpoint_;
  const std::string module_;
  std::vector<std::optional<QuantForm>> forms_;
};

QuantMethod method_of(QuantForm form) {
  switch (form) {
    case QuantForm::kAwq: return QuantMethod::kAwq;
    case QuantForm::kGptq: case QuantForm::kGptqV2: return QuantMethod::kGptq;
    case QuantForm::kCtInt: return QuantMethod::kCtInt;
    case QuantForm::kNf4: return QuantMethod::kBnbNf4;
    case QuantForm::kFp8: return QuantMethod::kFp8;
    case QuantForm::kNvfp4: return QuantMethod::kNvfp4;
    case QuantForm::kNvfp4Ct: return QuantMethod::kNvfp4Ct;
    case QuantForm::kMxfp4Split: return QuantMethod::kMxfp4;
    case QuantForm::kMlxAffine: return QuantMethod::kMlxAffine;
    case QuantForm::kF32: case QuantForm::kF16: case QuantForm::kBF16: case QuantForm::kQ4_0: case QuantForm::kQ4_1:
    case QuantForm::kQ5_0: case QuantForm::kQ5_1: case QuantForm::kQ8_0: case QuantForm::kQ2_K: case QuantForm::kQ3_K:
    case QuantForm::kQ4_K: case QuantForm::kQ5_K: case QuantForm::kQ6_K: case QuantForm::kIQ4_NL: case QuantForm::kMxfp4:
    case QuantForm::kScratch1: case QuantForm::kScratch4: return QuantMethod::kNone;
  }
  SCRATCHY_UNREACHABLE("form out of range");
}

std::vector<uint64_t> without_ones(const std::vector<uint64_t>& shape) {
  std::vector<uint64_t> dims;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(dims), [](uint64_t dim) { return dim != 1; });
  return dims;
}

}  // namespace

const TensorInfo* find_published(const Checkpoint& checkpoint, const std::string& name) {
  if (const TensorInfo* tensor = checkpoint.find(name)) return tensor;
  std::string slashed = name;
  std::replace(slashed.begin(), slashed.end(), '.', '/');
  return checkpoint.find(slashed);
}

Result<QuantForm> find_form(const Checkpoint& checkpoint, std::string_view module) {
  return FormFinder(checkpoint, module).find_form();
}

std::vector<std::string> weight_tensors(const Checkpoint& checkpoint, std::string_view module) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view suffix) {
    const TensorInfo* tensor = find_published(checkpoint, std::string(module) + std::string(suffix));
    if (tensor != nullptr) names.push_back(tensor->name);
  };
  for (const std::string_view suffix : kSuffixes) add(suffix);
  for (const std::string_view suffix : kScratchSuffixes) add(suffix);
  return names;
}

bool is_unneeded_tensor(std::string_view name) {
  for (const std::string_view suffix : {".k_scale", ".v_scale", ".rotary_emb.inv_freq", ".attn.masked_bias"}) {
    if (name.ends_with(suffix)) return true;
  }
  return false;
}

const TensorInfo* MatrixLoader::find(std::string_view suffix) const {
  return find_published(checkpoint_, module_ + std::string(suffix));
}

Result<const TensorInfo*> MatrixLoader::require(std::string_view suffix) const {
  const TensorInfo* tensor = find(suffix);
  if (tensor == nullptr) return Failure("tensor " + in_quotes(module_ + std::string(suffix)) + " is missing");
  return tensor;
}

Failure MatrixLoader::wrong(const TensorInfo& tensor, const std::string& what) const {
  return Failure("tensor " + in_quotes(tensor.name) + ": " + what);
}

Status MatrixLoader::expect_shape(const TensorInfo& tensor, std::vector<uint64_t> dims) const {
  if (shape_.experts != 0) dims.insert(dims.begin(), shape_.experts);
  if (tensor.shape == dims) return Done{};
  return wrong(tensor, "shape " + shape_text(tensor.shape) + "; a weight of " + std::to_string(shape_.rows) + " x " +
                           std::to_string(shape_.cols) + (shape_.experts != 0 ? " and " + std::to_string(shape_.experts) + " experts" : "") +
                           " asks for " + shape_text(dims));
}

Result<QuantPart> MatrixLoader::read(const TensorInfo& tensor) {
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(tensor.bytes);
  const std::span<std::byte> span(bytes.get(), tensor.bytes);
  TRY_STATUS(checkpoint_.read(tensor, span));
  storage_->blocks.push_back(std::move(bytes));
  return QuantPart{span, tensor.dtype};
}

Result<QuantPart> MatrixLoader::read(std::string_view suffix, std::vector<uint64_t> dims) {
  TRY(const TensorInfo* tensor, require(suffix));
  TRY_STATUS(expect_shape(*tensor, std::move(dims)));
  return read(*tensor);
}

QuantPart MatrixLoader::own_floats(const std::vector<float>& values) {
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(values.size() * sizeof(float));
  std::copy_n(reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float), bytes.get());
  const QuantPart part{{bytes.get(), values.size() * sizeof(float)}, DType::kF32};
  storage_->blocks.push_back(std::move(bytes));
  return part;
}

// The section never decides, but a contradiction is refused.
Status MatrixLoader::check_section(const TensorInfo& tensor) const {
  const QuantSection& section = checkpoint_.quant_section();
  const QuantMethod method = method_of(parts_.form);
  const auto entry = section.modules.find(module_);
  if (method == QuantMethod::kNone) {
    const bool dense = quant_view(parts_.form) == QuantView::kDense;
    if (dense && entry != section.modules.end() && entry->second) {
      return wrong(tensor, "is dense; the config's section gives `" + module_ + "` " + std::to_string(entry->second->bits) + " bits");
    }
    return Done{};
  }
  if (section.method != QuantMethod::kNone && section.method != method) {
    return wrong(tensor, "is " + std::string(quant_method_name(method)) + "; the config's section says " +
                             std::string(quant_method_name(section.method)));
  }
  if (is_ignored(section, module_) || (entry != section.modules.end() && !entry->second)) {
    return wrong(tensor, "is quantised; the config's section leaves " + in_quotes(module_) + " dense");
  }
  return Done{};
}

Status MatrixLoader::check_width(const TensorInfo& tensor) const {
  const QuantSection& section = checkpoint_.quant_section();
  std::vector<QuantSection::Width> allowed = section.widths;
  if (const auto own = width_of(section, module_)) allowed = {*own};
  if (allowed.empty()) return Done{};
  std::string listed;
  for (const auto& width : allowed) {
    const int64_t group = width.group_size < 0 ? shape_.cols : width.group_size;
    if (width.bits == parts_.bits && std::min<int64_t>(group, shape_.cols) == parts_.group_size) return Done{};
    listed += (listed.empty() ? "" : " or ") + std::to_string(width.bits) + " bits in groups of " + std::to_string(group);
  }
  return wrong(tensor, "has " + std::to_string(parts_.bits) + " bits in groups of " + std::to_string(parts_.group_size) +
                           "; the config's section says " + listed);
}

Result<QuantMatrix> MatrixLoader::load() {
  TRY(parts_.form, find_form(checkpoint_, module_));
  if (shape_.rows == 0 || shape_.cols == 0) return Failure("a weight of no rows or columns is asked for");
  parts_.experts = static_cast<uint32_t>(experts());
  parts_.rows = shape_.rows;
  parts_.cols = shape_.cols;
  TRY_STATUS(load_parts());
  auto matrix = QuantMatrix::make(std::move(parts_), storage_);
  if (!matrix.ok()) return std::move(matrix).failure().in("weight " + in_quotes(module_));
  auto finite = matrix->check_finite();
  if (!finite.ok()) return std::move(finite).failure().in("weight " + in_quotes(module_));
  return matrix;
}

Status MatrixLoader::load_dense() {
  const TensorInfo* tensor = find(".weight");
  if (tensor == nullptr) tensor = find("");
  TRY_STATUS(check_section(*tensor));
  std::vector<uint64_t> dims = {shape_.rows, shape_.cols};
  if (shape_.transposed) std::swap(dims[0], dims[1]);
  std::vector<uint64_t> whole = dims;
  if (shape_.experts != 0) whole.insert(whole.begin(), shape_.experts);
  // A dimension of 1 says nothing: [C, 1, W] is [C, W].
  if (without_ones(tensor->shape) != without_ones(whole)) TRY_STATUS(expect_shape(*tensor, dims));
  parts_.transposed = shape_.transposed;
  TRY(parts_.codes, read(*tensor));
  return Done{};
}

Status MatrixLoader::load_blocks() {
  const TensorInfo* tensor = find(".weight");
  if (tensor == nullptr) tensor = find("");
  TRY_STATUS(expect_shape(*tensor, {shape_.rows, shape_.cols}));
  TRY(parts_.codes, read(*tensor));
  return Done{};
}

Result<QuantMatrix> load_matrix(const Checkpoint& checkpoint, std::string_view module, const MatrixShape& shape) {
  return MatrixLoader(checkpoint, module, shape).load();
}

Result<std::vector<float>> load_vector(const Checkpoint& checkpoint, std::string_view name, uint64_t count) {
  const TensorInfo* tensor = find_published(checkpoint, std::string(name));
  if (tensor == nullptr) return Failure("tensor " + in_quotes(name) + " is missing");
  const auto wrong = [&](const std::string& what) { return Failure("tensor " + in_quotes(tensor->name) + ": " + what); };
  if (tensor->count() != count || count == 0 || count > UINT32_MAX) {
    return wrong("shape " + shape_text(tensor->shape) + "; " + std::to_string(count) + " elements are expected");
  }
  if (!tensor->blocks && !is_dense_float(*tensor)) {
    return wrong("type " + std::string(dtype_name(tensor->dtype)) + "; F32, F16 or BF16 is expected");
  }
  std::vector<std::byte> bytes(tensor->bytes);
  TRY_STATUS(checkpoint.read(*tensor, bytes));
  QuantParts parts;
  parts.form = tensor->blocks.value_or(dense_form(tensor->dtype));
  parts.rows = static_cast<uint32_t>(tensor->blocks ? count / tensor->shape.back() : 1);
  parts.cols = static_cast<uint32_t>(count / parts.rows);
  parts.codes = {bytes, tensor->dtype};
  auto matrix = QuantMatrix::make(std::move(parts));
  if (!matrix.ok()) return wrong(matrix.failure().message());
  std::vector<float> values(count);
  for (uint64_t row = 0; row < matrix->row_count(); ++row) matrix->dequantize_row(row, values.data() + row * matrix->cols());
  return values;
}

}  // namespace scratchy
