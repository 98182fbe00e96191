// How each quantised safetensors form is put together: which tensors, which shapes, what the section adds.
#include <algorithm>
#include <limits>

#include "base/text.h"
#include "checkpoint/matrix_loader.h"

namespace scratchy {
namespace {

constexpr uint64_t kMaxStateBytes = 65'536;

uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// The last dimension, or 0 for a scalar.
uint64_t last_dim(const TensorInfo& tensor) { return tensor.shape.empty() ? 0 : tensor.shape.back(); }
uint64_t dim_from_end(const TensorInfo& tensor, size_t i) {
  return tensor.shape.size() < i ? 0 : tensor.shape[tensor.shape.size() - i];
}

}  // namespace

Status MatrixLoader::load_parts() {
  switch (parts_.form) {
    case QuantForm::kF32: case QuantForm::kF16: case QuantForm::kBF16: return load_dense();
    case QuantForm::kQ4_0: case QuantForm::kQ4_1: case QuantForm::kQ5_0: case QuantForm::kQ5_1: case QuantForm::kQ8_0:
    case QuantForm::kQ2_K: case QuantForm::kQ3_K: case QuantForm::kQ4_K: case QuantForm::kQ5_K: case QuantForm::kQ6_K:
    case QuantForm::kIQ4_NL: case QuantForm::kMxfp4: return load_blocks();
    case QuantForm::kAwq: return load_awq();
    case QuantForm::kGptq: case QuantForm::kGptqV2: return load_gptq();
    case QuantForm::kCtInt: return load_ct();
    case QuantForm::kNf4: return load_nf4();
    case QuantForm::kFp8: return load_fp8();
    case QuantForm::kNvfp4: case QuantForm::kNvfp4Ct: return load_nvfp4();
    case QuantForm::kMxfp4Split: return load_mxfp4();
    case QuantForm::kMlxAffine: return load_mlx();
    case QuantForm::kScratch1: case QuantForm::kScratch4: return load_scratch();
  }
  SCRATCHY_UNREACHABLE("form out of range");
}

// Groups of equal size: `groups` must divide the columns.
Status MatrixLoader::set_group_size(const TensorInfo& scales, uint64_t groups) {
  if (groups == 0 || shape_.cols % groups != 0) {
    return wrong(scales, std::to_string(groups) + " groups do not divide " + std::to_string(shape_.cols) + " columns");
  }
  parts_.group_size = static_cast<uint32_t>(shape_.cols / groups);
  return Done{};
}

Result<std::vector<int64_t>> MatrixLoader::read_integers(const TensorInfo& tensor) const {
  if (tensor.dtype != DType::kI32 && tensor.dtype != DType::kI64) {
    return wrong(tensor, "type " + std::string(dtype_name(tensor.dtype)) + "; I32 or I64 is expected");
  }
  std::vector<std::byte> bytes(tensor.bytes);
  TRY_STATUS(checkpoint_.read(tensor, bytes));
  std::vector<int64_t> values(tensor.count());
  for (size_t i = 0; i < values.size(); ++i) {
    int32_t narrow = 0;
    if (tensor.dtype == DType::kI64) std::copy_n(bytes.data() + 8 * i, 8, reinterpret_cast<std::byte*>(&values[i]));
    else std::copy_n(bytes.data() + 4 * i, 4, reinterpret_cast<std::byte*>(&narrow)), values[i] = narrow;
  }
  return values;
}

// A group index that is -1 throughout was never filled in and means nothing.
Status MatrixLoader::load_column_groups(const TensorInfo& tensor) {
  if (tensor.shape != std::vector<uint64_t>{shape_.cols}) {
    return wrong(tensor, "shape " + shape_text(tensor.shape) + "; " + std::to_string(shape_.cols) + " columns ask for as many entries");
  }
  TRY(const std::vector<int64_t> groups, read_integers(tensor));
  if (std::all_of(groups.begin(), groups.end(), [](int64_t group) { return group == -1; })) return Done{};
  const uint64_t count = ceil_div(shape_.cols, parts_.group_size);
  for (const int64_t group : groups) {
    if (group < 0 || static_cast<uint64_t>(group) >= count) {
      return wrong(tensor, "entry " + std::to_string(group) + " is not in 0 .. " + std::to_string(count - 1));
    }
  }
  parts_.column_group.assign(groups.begin(), groups.end());
  return Done{};
}

Status MatrixLoader::load_awq() {
  TRY(const TensorInfo* codes, require(".qweight"));
  TRY(const TensorInfo* scales, require(".scales"));
  TRY_STATUS(check_section(*codes));
  const uint64_t groups = dim_from_end(*scales, 2);
  TRY_STATUS(set_group_size(*scales, groups));
  parts_.bits = 4;
  TRY_STATUS(check_width(*codes));
  TRY(parts_.codes, read(".qweight", {shape_.cols, shape_.rows / 8}));
  TRY(parts_.zeros, read(".qzeros", {groups, shape_.rows / 8}));
  TRY(parts_.scales, read(".scales", {groups, shape_.rows}));
  return Done{};
}

Status MatrixLoader::load_gptq() {
  const QuantSection& section = checkpoint_.quant_section();
  TRY(const TensorInfo* codes, require(".qweight"));
  TRY(const TensorInfo* scales, require(".scales"));
  TRY_STATUS(check_section(*codes));
  const uint64_t groups = dim_from_end(*scales, 2);
  TRY_STATUS(set_group_size(*scales, groups));
  const uint64_t words = dim_from_end(*codes, 2);
  if (words > shape_.cols || words * 32 % shape_.cols != 0) {
    return wrong(*codes, std::to_string(words) + " words a row do not hold " + std::to_string(shape_.cols) + " codes");
  }
  parts_.bits = static_cast<int>(words * 32 / shape_.cols);
  TRY_STATUS(check_width(*codes));
  if (parts_.bits != 2 && parts_.bits != 4 && parts_.bits != 8) {
    return wrong(*codes, std::to_string(parts_.bits) + "-bit codes; 2, 4 and 8 are read");
  }
  TRY(parts_.codes, read(".qweight", {words, shape_.rows}));
  TRY(parts_.scales, read(".scales", {groups, shape_.rows}));
  if (!section.symmetric) {
    const uint64_t per_word = 32 / static_cast<uint64_t>(parts_.bits);
    TRY(parts_.zeros, read(".qzeros", {groups, shape_.rows / per_word}));
    TRY_STATUS(check_gptq_zeros());
  }
  const TensorInfo* index = find(".g_idx");
  if (index == nullptr) return Done{};
  TRY_STATUS(load_column_groups(*index));
  const bool ordered = std::is_sorted(parts_.column_group.begin(), parts_.column_group.end());
  if (!ordered && !section.desc_act && section.method == QuantMethod::kGptq) {
    return wrong(*index, "columns are not in order of groups; the config's section says `desc_act` false");
  }
  return Done{};
}

// Version 1 stores zero - 1, which cannot spell a zero point of 0: writers leave all bits set there.
Status MatrixLoader::check_gptq_zeros() const {
  if (parts_.form != QuantForm::kGptq) return Done{};
  const uint32_t mask = (1u << parts_.bits) - 1;
  for (uint64_t i = 0; i < parts_.zeros.count(); ++i) {
    uint32_t word = parts_.zeros.u32(i);
    for (int at = 0; at < 32; at += parts_.bits, word >>= parts_.bits) {
      if ((word & mask) != mask) continue;
      return Failure("tensor " + ("`" + escape_for_message(module_ + ".qzeros") + "`") + ": word " + std::to_string(i) +
                     " holds a zero point of 0, which version 1 of the format cannot store");
    }
  }
  return Done{};
}

Status MatrixLoader::load_ct() {
  TRY(const TensorInfo* codes, require(".weight_packed"));
  TRY(const TensorInfo* scales, require(".weight_scale"));
  TRY_STATUS(check_section(*codes));
  const uint64_t words = last_dim(*codes);
  const uint64_t groups = last_dim(*scales);
  const auto width = width_of(checkpoint_.quant_section(), module_);
  parts_.bits = width ? width->bits : static_cast<int>(std::min<uint64_t>(words * 32 / shape_.cols, 9));
  if (groups == 0 || groups > shape_.cols) return wrong(*scales, "shape " + shape_text(scales->shape));
  const bool sized = width && width->group_size > 0;
  const uint64_t size = sized ? static_cast<uint64_t>(width->group_size) : ceil_div(shape_.cols, groups);
  parts_.group_size = static_cast<uint32_t>(std::min<uint64_t>(size, shape_.cols));
  TRY_STATUS(check_width(*codes));
  TRY(parts_.codes, read(".weight_packed", {shape_.rows, ceil_div(uint64_t{shape_.cols} * static_cast<uint64_t>(parts_.bits), 32)}));
  TRY(parts_.scales, read(".weight_scale", {shape_.rows, ceil_div(shape_.cols, parts_.group_size)}));
  if (find(".weight_zero_point") != nullptr) {
    TRY(parts_.zeros, read(".weight_zero_point", {ceil_div(uint64_t{shape_.rows} * static_cast<uint64_t>(parts_.bits), 32), groups}));
  } else if (checkpoint_.quant_section().method == QuantMethod::kCtInt && !checkpoint_.quant_section().symmetric) {
    return wrong(*codes, "has no `weight_zero_point`; the config's section says it is not symmetric");
  }
  if (const TensorInfo* declared = find(".weight_shape")) {
    TRY(const std::vector<int64_t> dims, read_integers(*declared));
    if (dims.size() < 2 || dims[dims.size() - 2] != shape_.rows || dims.back() != shape_.cols) {
      return wrong(*declared, "does not say " + std::to_string(shape_.rows) + " x " + std::to_string(shape_.cols));
    }
  }
  if (const TensorInfo* index = find(".weight_g_idx")) return load_column_groups(*index);
  return Done{};
}

Status MatrixLoader::load_fp8() {
  const QuantSection& section = checkpoint_.quant_section();
  const bool inverse = find(".weight_scale_inv") != nullptr;
  TRY(const TensorInfo* scales, require(inverse ? ".weight_scale_inv" : ".weight_scale"));
  TRY(const TensorInfo* codes, require(".weight"));
  TRY_STATUS(check_section(*codes));
  TRY(parts_.codes, read(".weight", {shape_.rows, shape_.cols}));
  const uint64_t per_expert = scales->count() / experts();
  const bool whole = per_expert * experts() == scales->count();
  const auto set_tile = [&](uint64_t rows, uint64_t cols) {
    parts_.group_rows = static_cast<uint32_t>(std::min<uint64_t>(rows, shape_.rows));
    parts_.group_size = static_cast<uint32_t>(std::min<uint64_t>(cols, shape_.cols));
  };
  if (section.block_rows != 0) set_tile(section.block_rows, section.block_cols);
  else if (whole && per_expert == 1) set_tile(shape_.rows, shape_.cols);
  else if (whole && per_expert == shape_.rows && (last_dim(*scales) == 1 || last_dim(*scales) == shape_.rows)) set_tile(1, shape_.cols);
  else return wrong(*scales, "shape " + shape_text(scales->shape) + " is neither one scale, one a row, nor has the config a `weight_block_size`");
  const uint64_t grid = ceil_div(shape_.rows, parts_.group_rows) * ceil_div(shape_.cols, parts_.group_size);
  if (!whole || per_expert != grid) {
    return wrong(*scales, "shape " + shape_text(scales->shape) + "; tiles of " + std::to_string(parts_.group_rows) + " x " +
                              std::to_string(parts_.group_size) + " ask for " + std::to_string(grid) + " scales a matrix");
  }
  if (section.block_rows != 0 && last_dim(*scales) != ceil_div(shape_.cols, parts_.group_size)) {
    return wrong(*scales, "shape " + shape_text(scales->shape) + " is not a grid of tiles");
  }
  TRY(parts_.scales, read(*scales));
  return Done{};
}

Status MatrixLoader::load_nvfp4() {
  const bool modelopt = parts_.form == QuantForm::kNvfp4;
  const std::string_view codes_suffix = modelopt ? ".weight" : ".weight_packed";
  TRY(const TensorInfo* codes, require(codes_suffix));
  TRY(const TensorInfo* global, require(modelopt ? ".weight_scale_2" : ".weight_global_scale"));
  TRY_STATUS(check_section(*codes));
  if (global->count() != 1 && global->count() != experts()) {
    return wrong(*global, "shape " + shape_text(global->shape) + "; one value, or one an expert, is expected");
  }
  TRY(parts_.codes, read(codes_suffix, {shape_.rows, shape_.cols / 2}));
  TRY(parts_.scales, read(".weight_scale", {shape_.rows, shape_.cols / 16}));
  TRY(parts_.global, read(*global));
  return Done{};
}

// The columns of a row are stored as blocks of 16 bytes: [N, K/32, 16].
Status MatrixLoader::load_mxfp4() {
  TRY(const TensorInfo* codes, require("_blocks"));
  TRY_STATUS(check_section(*codes));
  TRY(parts_.codes, read("_blocks", {shape_.rows, shape_.cols / 32, 16}));
  TRY(parts_.scales, read("_scales", {shape_.rows, shape_.cols / 32}));
  return Done{};
}

Status MatrixLoader::load_mlx() {
  TRY(const TensorInfo* codes, require(".weight"));
  TRY(const TensorInfo* scales, require(".scales"));
  TRY_STATUS(check_section(*codes));
  const uint64_t words = last_dim(*codes);
  if (words > shape_.cols || words * 32 % shape_.cols != 0) {
    return wrong(*codes, std::to_string(words) + " words a row do not hold " + std::to_string(shape_.cols) + " codes");
  }
  parts_.bits = static_cast<int>(words * 32 / shape_.cols);
  const uint64_t groups = last_dim(*scales);
  TRY_STATUS(set_group_size(*scales, groups));
  TRY_STATUS(check_width(*codes));
  TRY(parts_.codes, read(".weight", {shape_.rows, words}));
  TRY(parts_.scales, read(".scales", {shape_.rows, groups}));
  TRY(parts_.offsets, read(".biases", {shape_.rows, groups}));
  return Done{};
}

Result<std::vector<float>> MatrixLoader::read_floats(std::string_view suffix, uint64_t least, uint64_t most) {
  TRY(const TensorInfo* tensor, require(suffix));
  if (tensor->dtype != DType::kF32 || tensor->count() < least || tensor->count() > most) {
    return wrong(*tensor, std::string(dtype_name(tensor->dtype)) + " " + shape_text(tensor->shape) + "; F32 with " +
                              std::to_string(least) + " values is expected");
  }
  return load_vector(checkpoint_, tensor->name, tensor->count());
}

Status MatrixLoader::load_nf4() {
  TRY(const TensorInfo* codes, require(".weight"));
  TRY(const TensorInfo* state_tensor, require(".weight.quant_state.bitsandbytes__nf4"));
  TRY_STATUS(check_section(*codes));
  if (state_tensor->bytes > kMaxStateBytes) return wrong(*state_tensor, "has more than " + with_thousands(kMaxStateBytes) + " bytes");
  std::string text(state_tensor->bytes, '\0');
  TRY_STATUS(checkpoint_.read(*state_tensor, std::as_writable_bytes(std::span(text))));
  auto parsed = parse_json(text);
  if (!parsed.ok()) return wrong(*state_tensor, parsed.failure().message());
  const Json& state = *parsed;
  const auto is_size = [](const Json& value) {
    return value.is_number_unsigned() && value.get<uint64_t>() >= 1 && value.get<uint64_t>() <= (uint64_t{1} << 30);
  };
  if (!state.is_object() || !state.contains("blocksize") || !is_size(state["blocksize"])) {
    return wrong(*state_tensor, "has no `blocksize` of at least 1");
  }
  if (!state.contains("shape") || state["shape"] != Json({shape_.rows, shape_.cols}) || shape_.experts != 0) {
    return wrong(*state_tensor, "does not say shape [" + std::to_string(shape_.rows) + ", " + std::to_string(shape_.cols) + "]");
  }
  parts_.group_size = state["blocksize"].get<uint32_t>();
  TRY(const std::vector<float> map, read_floats(".weight.quant_map", 16, 16));
  std::copy(map.begin(), map.end(), parts_.codebook.begin());
  TRY(parts_.codes, read(*codes));
  TRY(const std::vector<float> scales, nf4_scales(state));
  parts_.scales = own_floats(scales);
  return Done{};
}

// Block scales, unfolded where they are quantised themselves.
Result<std::vector<float>> MatrixLoader::nf4_scales(const Json& state) {
  TRY(const TensorInfo* absmax, require(".weight.absmax"));
  const uint64_t blocks = ceil_div(uint64_t{shape_.rows} * shape_.cols, parts_.group_size);
  if (absmax->dtype != DType::kU8) return read_floats(".weight.absmax", blocks, blocks);
  if (absmax->count() != blocks) return wrong(*absmax, "shape " + shape_text(absmax->shape) + "; there are " + std::to_string(blocks) + " blocks");
  const bool sized = state.contains("nested_blocksize") && state["nested_blocksize"].is_number_unsigned();
  const uint64_t nested_block = sized ? state["nested_blocksize"].get<uint64_t>() : 0;
  if (nested_block == 0 || nested_block > (uint64_t{1} << 30) || !state.contains("nested_offset") || !state["nested_offset"].is_number()) {
    return wrong(*absmax, "is quantised, but the quantisation state lacks `nested_blocksize` or `nested_offset`");
  }
  const uint64_t nested = ceil_div(blocks, nested_block);
  TRY(const std::vector<float> map, read_floats(".weight.nested_quant_map", 256, 256));
  TRY(const std::vector<float> nested_absmax, read_floats(".weight.nested_absmax", nested, nested));
  std::vector<std::byte> codes(absmax->bytes);
  TRY_STATUS(checkpoint_.read(*absmax, codes));
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(codes.data()), codes.size());
  return nf4_absmax(bytes, map, nested_absmax, static_cast<uint32_t>(nested_block), state["nested_offset"].get<float>());
}

// Codings of foreign files are declared in `__metadata__`; what is absent means our writer's.
Status MatrixLoader::load_scratch() {
  const bool one_bit = parts_.form == QuantForm::kScratch1;
  const auto& metadata = checkpoint_.metadata();
  const auto declared = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  parts_.scratch.high_bit_first = declared("bitorder") != "little";
  const std::string int4 = declared("int4");
  parts_.scratch.low_nibble_first = int4.find("high-nibble-first") == std::string::npos;
  parts_.scratch.offset_8 = int4.find("twos-complement") == std::string::npos;
  TRY(parts_.codes, read(one_bit ? ".weight__bin" : ".weight__int4", {shape_.rows, ceil_div(shape_.cols, one_bit ? 8 : 2)}));
  TRY(parts_.scales, read(".weight__scale", {shape_.rows}));
  if (const TensorInfo* shape = find(".weight__shape")) {
    TRY(const std::vector<int64_t> dims, read_integers(*shape));
    if (dims != std::vector<int64_t>{shape_.rows, shape_.cols}) {
      return wrong(*shape, "does not say " + std::to_string(shape_.rows) + " x " + std::to_string(shape_.cols));
    }
  }
  return Done{};
}

}  // namespace scratchy
