#include "numeric/check_parts.h"

#include <initializer_list>
#include <string>

#include "base/checked.h"

namespace scratchy {
namespace {

using Types = std::initializer_list<DType>;

const Types kFloats = {DType::kF32, DType::kF16, DType::kBF16};
const Types kWords = {DType::kI32, DType::kU32};

uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

std::string text(uint64_t value) { return std::to_string(value); }

Status expect(const QuantPart& part, const char* what, Types types, uint64_t count) {
  bool known = false;
  std::string list;
  for (const DType type : types) {
    known = known || type == part.dtype;
    list += (list.empty() ? "" : " or ") + std::string(dtype_name(type));
  }
  if (!known) return Failure(std::string(what) + " are " + std::string(dtype_name(part.dtype)) + "; this form has " + list);
  const auto bytes = dtype_storage(part.dtype, count);
  if (!bytes || part.bytes.size() != *bytes) {
    return Failure(std::string(what) + " have " + text(part.bytes.size()) + " bytes; the shape asks for " +
                   (bytes ? text(*bytes) : "more than 64 bits can count"));
  }
  return Done{};
}

Status expect_divides(const char* what, uint64_t size, uint64_t by) {
  if (by != 0 && size % by == 0) return Done{};
  return Failure(std::string(what) + " " + text(size) + " is not a multiple of " + text(by));
}

Status expect_bits(const QuantParts& p, std::initializer_list<int> allowed) {
  for (const int bits : allowed) {
    if (p.bits == bits) return Done{};
  }
  return Failure(std::to_string(p.bits) + "-bit codes are not known in form `" + std::string(quant_form_name(p.form)) + "`");
}

Status check_group_size(const QuantParts& p) {
  if (p.group_size == 0 || p.group_size > p.cols) {
    return Failure("group size " + text(p.group_size) + " is not in 1 .. " + text(p.cols) + " (columns)");
  }
  return Done{};
}

Status check_awq(const QuantParts& p, uint64_t all_rows) {
  TRY_STATUS(expect_divides("row count", p.rows, 8));
  TRY_STATUS(expect_divides("column count", p.cols, p.group_size));
  const uint64_t groups = p.cols / p.group_size;
  TRY_STATUS(expect(p.codes, "codes", kWords, all_rows / 8 * p.cols));
  TRY_STATUS(expect(p.zeros, "zero points", kWords, all_rows / 8 * groups));
  return expect(p.scales, "scales", kFloats, all_rows * groups);
}

Status check_gptq(const QuantParts& p, uint64_t all_rows) {
  TRY_STATUS(expect_bits(p, {2, 4, 8}));
  const uint64_t per_word = 32 / static_cast<uint64_t>(p.bits);
  TRY_STATUS(expect_divides("column count", p.cols, per_word));
  TRY_STATUS(expect_divides("column count", p.cols, p.group_size));
  const uint64_t groups = p.cols / p.group_size;
  TRY_STATUS(expect(p.codes, "codes", kWords, all_rows * (p.cols / per_word)));
  if (!p.zeros.empty()) {
    TRY_STATUS(expect_divides("row count", p.rows, per_word));
    TRY_STATUS(expect(p.zeros, "zero points", kWords, all_rows / per_word * groups));
  }
  return expect(p.scales, "scales", kFloats, all_rows * groups);
}

Status check_ct(const QuantParts& p, uint64_t all_rows) {
  TRY_STATUS(expect_bits(p, {2, 3, 4, 5, 6, 7, 8}));
  const uint64_t bits = static_cast<uint64_t>(p.bits);
  const uint64_t groups = ceil_div(p.cols, p.group_size);
  TRY_STATUS(expect(p.codes, "codes", kWords, all_rows * ceil_div(p.cols * bits, 32)));
  if (!p.zeros.empty()) {
    TRY_STATUS(expect(p.zeros, "zero points", kWords, p.experts * ceil_div(p.rows * bits, 32) * groups));
  }
  return expect(p.scales, "scales", kFloats, all_rows * groups);
}

Status check_nf4(const QuantParts& p, uint64_t elements) {
  TRY_STATUS(expect(p.codes, "codes", {DType::kU8}, ceil_div(elements, 2)));
  return expect(p.scales, "block scales", {DType::kF32}, ceil_div(elements, p.group_size));
}

Status check_fp8(const QuantParts& p, uint64_t elements) {
  if (p.group_rows == 0 || p.group_rows > p.rows) {
    return Failure("scale tile of " + text(p.group_rows) + " rows is not in 1 .. " + text(p.rows) + " (rows)");
  }
  TRY_STATUS(expect(p.codes, "codes", {DType::kF8E4M3}, elements));
  const uint64_t grid = ceil_div(p.rows, p.group_rows) * ceil_div(p.cols, p.group_size);
  return expect(p.scales, "scales", kFloats, p.experts * grid);
}

Status check_nvfp4(const QuantParts& p, uint64_t elements) {
  TRY_STATUS(expect_divides("column count", p.cols, 16));
  TRY_STATUS(expect(p.codes, "codes", {DType::kU8}, elements / 2));
  TRY_STATUS(expect(p.scales, "scales", {DType::kF8E4M3}, elements / 16));
  return expect(p.global, "global scales", {DType::kF32}, p.global.count() == 1 ? 1 : p.experts);
}

Status check_mxfp4(const QuantParts& p, uint64_t elements) {
  TRY_STATUS(expect_divides("column count", p.cols, 32));
  TRY_STATUS(expect(p.codes, "codes", {DType::kU8}, elements / 2));
  return expect(p.scales, "scales", {DType::kU8, DType::kF8E8M0}, elements / 32);
}

Status check_mlx(const QuantParts& p, uint64_t all_rows) {
  TRY_STATUS(expect_bits(p, {2, 3, 4, 5, 6, 8}));
  TRY_STATUS(expect_divides("column count", p.cols, p.group_size));
  TRY_STATUS(expect_divides("bits of a row", uint64_t{p.cols} * static_cast<uint64_t>(p.bits), 32));
  TRY_STATUS(expect(p.codes, "codes", kWords, all_rows * (uint64_t{p.cols} * static_cast<uint64_t>(p.bits) / 32)));
  TRY_STATUS(expect(p.scales, "scales", kFloats, all_rows * (p.cols / p.group_size)));
  return expect(p.offsets, "biases", kFloats, all_rows * (p.cols / p.group_size));
}

Status check_scratch(const QuantParts& p, uint64_t all_rows, uint64_t codes_a_byte) {
  TRY_STATUS(expect(p.codes, "codes", {DType::kU8}, all_rows * ceil_div(p.cols, codes_a_byte)));
  return expect(p.scales, "scales", {DType::kF16}, all_rows);
}

Status check_column_groups(const QuantParts& p) {
  if (p.column_group.empty()) return Done{};
  if (p.column_group.size() != p.cols) {
    return Failure("group index has " + text(p.column_group.size()) + " entries for " + text(p.cols) + " columns");
  }
  TRY_STATUS(expect_divides("column count", p.cols, p.group_size));
  std::vector<uint32_t> sizes(p.cols / p.group_size, 0);
  for (const uint32_t group : p.column_group) {
    if (group >= sizes.size()) return Failure("group index " + text(group) + " is not below " + text(sizes.size()));
    ++sizes[group];
  }
  for (size_t g = 0; g < sizes.size(); ++g) {
    if (sizes[g] != p.group_size) {
      return Failure("group " + text(g) + " has " + text(sizes[g]) + " columns; every group has " + text(p.group_size));
    }
  }
  return Done{};
}

Status check_form(const QuantParts& p, uint64_t all_rows, uint64_t elements) {
  switch (p.form) {
    case QuantForm::kF32: return expect(p.codes, "values", {DType::kF32}, elements);
    case QuantForm::kF16: return expect(p.codes, "values", {DType::kF16}, elements);
    case QuantForm::kBF16: return expect(p.codes, "values", {DType::kBF16}, elements);
    case QuantForm::kQ4_0: case QuantForm::kQ4_1: case QuantForm::kQ5_0: case QuantForm::kQ5_1: case QuantForm::kQ8_0:
    case QuantForm::kQ2_K: case QuantForm::kQ3_K: case QuantForm::kQ4_K: case QuantForm::kQ5_K: case QuantForm::kQ6_K:
    case QuantForm::kIQ4_NL: case QuantForm::kMxfp4: {
      const uint64_t weights = static_cast<uint64_t>(block_weights(p.form));
      TRY_STATUS(expect_divides("column count", p.cols, weights));
      return expect(p.codes, "blocks", {DType::kU8}, elements / weights * static_cast<uint64_t>(block_bytes(p.form)));
    }
    case QuantForm::kAwq: return check_awq(p, all_rows);
    case QuantForm::kGptq: case QuantForm::kGptqV2: return check_gptq(p, all_rows);
    case QuantForm::kCtInt: return check_ct(p, all_rows);
    case QuantForm::kNf4: return check_nf4(p, elements);
    case QuantForm::kFp8: return check_fp8(p, elements);
    case QuantForm::kNvfp4: case QuantForm::kNvfp4Ct: return check_nvfp4(p, elements);
    case QuantForm::kMxfp4Split: return check_mxfp4(p, elements);
    case QuantForm::kMlxAffine: return check_mlx(p, all_rows);
    case QuantForm::kScratch1: return check_scratch(p, all_rows, 8);
    case QuantForm::kScratch4: return check_scratch(p, all_rows, 2);
  }
  SCRATCHY_UNREACHABLE("form out of range");
}

bool has_free_group_size(QuantForm form) {
  return form == QuantForm::kAwq || form == QuantForm::kGptq || form == QuantForm::kGptqV2 || form == QuantForm::kCtInt ||
         form == QuantForm::kFp8 || form == QuantForm::kMlxAffine;
}

}  // namespace

Status check_parts(const QuantParts& p) {
  if (p.experts == 0 || p.rows == 0 || p.cols == 0) {
    return Failure("matrix of " + text(p.experts) + " x " + text(p.rows) + " x " + text(p.cols) + " has no elements");
  }
  const uint64_t all_rows = uint64_t{p.experts} * p.rows;
  if (all_rows > UINT32_MAX) return Failure("matrix of " + text(all_rows) + " rows; at most 4294967295 are read");
  const auto elements = checked_mul(all_rows, p.cols);
  if (!elements || *elements > uint64_t{1} << 60) return Failure("matrix has more than 2^60 elements");
  if (p.transposed && quant_view(p.form) != QuantView::kDense) return Failure("a quantised matrix is stored transposed");
  if (has_free_group_size(p.form)) TRY_STATUS(check_group_size(p));
  if (p.form == QuantForm::kNf4 && p.group_size == 0) return Failure("block size 0");
  TRY_STATUS(check_form(p, all_rows, *elements));
  return check_column_groups(p);
}

}  // namespace scratchy
