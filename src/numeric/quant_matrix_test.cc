// The safetensors forms against worked examples, and what a matrix offers whatever its form.
#include "numeric/quant_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>

#include "numeric/quantize.h"

namespace scratchy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Bytes that live as long as the test, by element type.
template <typename T>
std::vector<std::byte> raw(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> f16s(const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (const float value : values) bits.push_back(f32_to_f16(value));
  return raw(bits);
}

std::vector<float> row_of(const QuantMatrix& matrix, uint64_t row) {
  std::vector<float> out(matrix.cols());
  matrix.dequantize_row(row, out.data());
  return out;
}

// What the integer view says the row is, in column order.
std::vector<float> row_by_view(const QuantMatrix& matrix, uint64_t row) {
  std::vector<uint8_t> codes(matrix.cols());
  std::vector<float> scale(matrix.group_count()), offset(matrix.group_count()), out(matrix.cols());
  matrix.decode_codes(row, codes.data());
  matrix.decode_groups(row, scale.data(), offset.data());
  for (uint32_t p = 0; p < matrix.cols(); ++p) {
    const uint32_t g = p / matrix.group_size();
    const uint32_t k = matrix.column_order() ? static_cast<uint32_t>(matrix.column_order()[p]) : p;
    if (matrix.affine()) out[k] = scale[g] * codes[p] + offset[g];
    else if (matrix.codebook()) out[k] = scale[g] * matrix.codebook()[codes[p]];
    else out[k] = scale[g] * e4m3_to_f32(codes[p]);
  }
  return out;
}

TEST(QuantMatrixAwq, ReadsTheWorkedExample) {
  const auto codes = raw<uint32_t>({0xc70e1f83});
  const auto zeros = raw<uint32_t>({0x8098f878});
  const auto scales = f16s({.5f, .25f, .125f, 1, 2, .5f, .25f, .0625f});
  QuantParts parts{.form = QuantForm::kAwq, .rows = 8, .cols = 1, .group_size = 1};
  parts.codes = {codes, DType::kI32};
  parts.zeros = {zeros, DType::kI32};
  parts.scales = {scales, DType::kF16};
  const QuantMatrix matrix = QuantMatrix::make(parts).value();
  const float expected[8] = {-2.5f, 1.5f, 0.125f, -9, 14, 3.5f, -3.5f, 0.25f};
  for (uint64_t n = 0; n < 8; ++n) {
    EXPECT_EQ(row_of(matrix, n)[0], expected[n]) << n;
    EXPECT_EQ(row_by_view(matrix, n)[0], expected[n]) << n;
  }
}

TEST(QuantMatrixAwq, PlacesColumnsInTheInterleavedOrder) {
  const auto codes = raw<uint32_t>({0x75316420});
  const auto zeros = raw<uint32_t>({0});
  const auto scales = f16s(std::vector<float>(8, 1.0f));
  QuantParts parts{.form = QuantForm::kAwq, .rows = 8, .cols = 1, .group_size = 1};
  parts.codes = {codes, DType::kI32};
  parts.zeros = {zeros, DType::kI32};
  parts.scales = {scales, DType::kF16};
  const QuantMatrix matrix = QuantMatrix::make(parts).value();
  for (uint64_t n = 0; n < 8; ++n) EXPECT_EQ(row_of(matrix, n)[0], static_cast<float>(n));
}

TEST(QuantMatrixGptq, SymmetricFilesHaveZeroPointEight) {
  const auto codes = raw<uint32_t>({0xc17f08e3});
  const auto scales = f16s({0.5f});
  QuantParts parts{.form = QuantForm::kGptq, .rows = 1, .cols = 8, .bits = 4, .group_size = 8};
  parts.codes = {codes, DType::kI32};
  parts.scales = {scales, DType::kF16};
  const QuantMatrix matrix = QuantMatrix::make(parts).value();
  EXPECT_THAT(row_of(matrix, 0), ElementsAre(-2.5f, 3, 0, -4, 3.5f, -0.5f, -3.5f, 2));
  EXPECT_THAT(row_by_view(matrix, 0), ElementsAre(-2.5f, 3, 0, -4, 3.5f, -0.5f, -3.5f, 2));
}

TEST(QuantMatrixGptq, VersionOneStoresTheZeroPointLessOne) {
  const auto codes = raw<uint32_t>(std::vector<uint32_t>(8, 0));
  const auto scales = f16s(std::vector<float>(8, 1.0f));
  const std::vector<float> zeros_meant = {8, 8, 7, 9, 8, 1, 15, 8};
  const auto zeros = raw<uint32_t>({0x7e078677});
  QuantParts parts{.form = QuantForm::kGptq, .rows = 8, .cols = 8, .bits = 4, .group_size = 8};
  parts.codes = {codes, DType::kI32};
  parts.zeros = {zeros, DType::kI32};
  parts.scales = {scales, DType::kF16};
  const QuantMatrix v1 = QuantMatrix::make(parts).value();
  parts.form = QuantForm::kGptqV2;
  const QuantMatrix v2 = QuantMatrix::make(parts).value();
  for (uint64_t n = 0; n < 8; ++n) {
    EXPECT_EQ(row_of(v1, n)[0], -zeros_meant[n]);
    EXPECT_EQ(row_of(v2, n)[0], 1 - zeros_meant[n]);
  }
}

TEST(QuantMatrixGptq, ActivationOrderPermutesPositionsNotColumns) {
  const auto codes = raw<uint32_t>({0x76543210});
  const auto scales = f16s({1.0f, 16.0f});
  QuantParts parts{.form = QuantForm::kGptq, .rows = 1, .cols = 8, .bits = 4, .group_size = 4};
  parts.codes = {codes, DType::kI32};
  parts.scales = {scales, DType::kF16};
  parts.column_group = {1, 0, 1, 0, 0, 1, 0, 1};
  const QuantMatrix matrix = QuantMatrix::make(parts).value();
  EXPECT_THAT(row_of(matrix, 0), ElementsAre(-128, -7, -96, -5, -4, -48, -2, -16));
  EXPECT_EQ(row_by_view(matrix, 0), row_of(matrix, 0));
  ASSERT_NE(matrix.column_order(), nullptr);
  EXPECT_THAT(std::vector<int32_t>(matrix.column_order(), matrix.column_order() + 8), ElementsAre(1, 3, 4, 6, 0, 2, 5, 7));
}

TEST(QuantMatrixGptq, RefusesGroupIndicesThatAreNoGrouping) {
  const auto codes = raw<uint32_t>({0});
  const auto scales = f16s({1.0f, 1.0f});
  QuantParts parts{.form = QuantForm::kGptq, .rows = 1, .cols = 8, .bits = 4, .group_size = 4};
  parts.codes = {codes, DType::kI32};
  parts.scales = {scales, DType::kF16};
  parts.column_group = {0, 0, 0, 0, 0, 1, 1, 1};
  EXPECT_THAT(QuantMatrix::make(parts).failure().message(), HasSubstr("group 0 has 5 columns"));
  parts.column_group = {0, 0, 0, 0, 1, 1, 1, 4000000000u};
  EXPECT_THAT(QuantMatrix::make(parts).failure().message(), HasSubstr("group index 4000000000"));
}

TEST(QuantMatrixCtInt, StoresCodesWithOffsetEight) {
  const auto codes = raw<uint32_t>({0xfea98710});
  const auto scales = f16s({0.25f});
  QuantParts parts{.form = QuantForm::kCtInt, .rows = 1, .cols = 8, .bits = 4, .group_size = 8};
  parts.codes = {codes, DType::kI32};
  parts.scales = {scales, DType::kF16};
  const QuantMatrix matrix = QuantMatrix::make(parts).value();
  EXPECT_THAT(row_of(matrix, 0), ElementsAre(-2, -1.75f, -0.25f, 0, 0.25f, 0.5f, 1.5f, 1.75f));
  EXPECT_EQ(row_by_view(matrix, 0), row_of(matrix, 0));
}

TEST(QuantMatrixCtInt, PacksZeroPointsAlongRows) {
  const auto codes = raw<uint32_t>(std::vector<uint32_t>(8, 0x88888888));
  const auto zeros = raw<uint32_t>({0x0fedcba9});
  const auto scales = f16s(std::vector<float>(8, 1.0f));
  QuantParts parts{.form = QuantForm::kCtInt, .rows = 8, .cols = 8, .bits = 4, .group_size = 8};
  parts.codes = {codes, DType::kI32};
  parts.zeros = {zeros, DType::kI32};
  parts.scales = {scales, DType::kF16};
  const QuantMatrix matrix = QuantMatrix::make(parts).value();
  const float zero_points[8] = {1, 2, 3, 4, 5, 6, 7, -8};
  for (uint64_t n = 0; n < 8; ++n) EXPECT_EQ(row_of(matrix, n)[0], -zero_points[n]);
}

const std::array<float, 16> kNf4 = {
    -1, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f, -0.28444138169288635f, -0.18477343022823334f,
    -0.09105003625154495f, 0, 0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
    0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1};

TEST(QuantMatrixNf4, ReadsHighNibblesFirstAndBlocksAcrossRows) {
  // Rows of 6 in blocks of 4: scales change inside rows, so the view has groups of gcd(6, 4) = 2.
  const auto codes = raw<uint8_t>({0xc4, 0xf7, 0x88, 0x88, 0xc4, 0xf7});
  const auto scales = raw<float>({1, 2, 4});
  QuantParts parts{.form = QuantForm::kNf4, .rows = 2, .cols = 6, .group_size = 4};
  parts.codes = {codes, DType::kU8};
  parts.scales = {scales, DType::kF32};
  parts.codebook = kNf4;
  const QuantMatrix matrix = QuantMatrix::make(parts).value();
  EXPECT_EQ(matrix.group_size(), 2u);
  EXPECT_THAT(row_of(matrix, 0), ElementsAre(kNf4[12], kNf4[4], 1, 0, 2 * kNf4[8], 2 * kNf4[8]));
  EXPECT_THAT(row_of(matrix, 1), ElementsAre(2 * kNf4[8], 2 * kNf4[8], 4 * kNf4[12], 4 * kNf4[4], 4, 0));
  EXPECT_EQ(row_by_view(matrix, 1), row_of(matrix, 1));
}

TEST(QuantMatrixFp8, ScalesByTileWithPartialEdges) {
  const auto codes = raw<uint8_t>({0x38, 0x40, 0x3c, 0xb8, 0x30, 0x00, 0x38, 0x38, 0x38});
  const auto scales = raw<float>({1, 2, 4, 8});
  QuantParts parts{.form = QuantForm::kFp8, .rows = 3, .cols = 3, .group_size = 2, .group_rows = 2};
  parts.codes = {codes, DType::kF8E4M3};
  parts.scales = {scales, DType::kF32};
  const QuantMatrix matrix = QuantMatrix::make(parts).value();
  EXPECT_THAT(row_of(matrix, 0), ElementsAre(1, 2, 3));
  EXPECT_THAT(row_of(matrix, 1), ElementsAre(-1, 0.5f, 0));
  EXPECT_THAT(row_of(matrix, 2), ElementsAre(4, 4, 8));
  EXPECT_EQ(row_by_view(matrix, 2), row_of(matrix, 2));
  EXPECT_TRUE(matrix.check_finite().ok());
}

TEST(QuantMatrixNvfp4, ReadsTheWorkedExampleInBothDialects) {
  const auto codes = raw<uint8_t>({0x10, 0x32, 0x54, 0x76, 0xa9, 0xcb, 0xed, 0x8f});
  const auto scales = raw<uint8_t>({0x3c});
  const auto times = raw<float>({0.25f});
  const auto over = raw<float>({4.0f});
  QuantParts parts{.form = QuantForm::kNvfp4, .rows = 1, .cols = 16};
  parts.codes = {codes, DType::kU8};
  parts.scales = {scales, DType::kF8E4M3};
  parts.global = {times, DType::kF32};
  const QuantMatrix modelopt = QuantMatrix::make(parts).value();
  std::vector<float> expected = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -.5f, -1, -1.5f, -2, -3, -4, -6, 0};
  for (float& value : expected) value *= 0.375f;
  EXPECT_EQ(row_of(modelopt, 0), expected);
  EXPECT_EQ(row_by_view(modelopt, 0), expected);
  parts.form = QuantForm::kNvfp4Ct;
  parts.global = {over, DType::kF32};
  EXPECT_EQ(row_of(QuantMatrix::make(parts).value(), 0), expected);
}

// e2m1 by its definition: sign, two bits of exponent (bias 1), one of mantissa; times 2^(scale - 127).
float mxfp4_value(int code, int scale) {
  const int exponent = (code >> 1) & 3, mantissa = code & 1;
  const double magnitude = exponent == 0 ? mantissa * 0.5 : std::ldexp(1 + mantissa * 0.5, exponent - 1);
  return static_cast<float>(std::ldexp((code & 8) != 0 ? -magnitude : magnitude, scale - 127));
}

TEST(QuantMatrixMxfp4, SplitTensorsHoldTwoCodesAByteLowNibbleFirst) {
  // Two experts of one row of two blocks; the scales reach both ends of what a byte can say.
  std::vector<uint8_t> bytes(64);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(37 * i + 11);
  const std::vector<uint8_t> exponents = {0, 120, 127, 250};
  const auto codes = raw<uint8_t>(bytes), scales = raw<uint8_t>(exponents);
  QuantParts parts{.form = QuantForm::kMxfp4Split, .experts = 2, .rows = 1, .cols = 64};
  parts.codes = {codes, DType::kU8};
  parts.scales = {scales, DType::kU8};
  const QuantMatrix matrix = QuantMatrix::make(parts).value();
  for (uint64_t row = 0; row < 2; ++row) {
    std::vector<float> expected;
    for (uint64_t k = 0; k < 64; ++k) {
      expected.push_back(mxfp4_value(bytes[32 * row + k / 2] >> 4 * (k % 2) & 15, exponents[2 * row + k / 32]));
    }
    EXPECT_EQ(row_of(matrix, row), expected);
    EXPECT_EQ(row_by_view(matrix, row), expected);
  }
  EXPECT_TRUE(matrix.check_finite().ok());
}

TEST(QuantMatrixMxfp4, GgufBlocksHoldLowNibblesFirstThenHighOnes) {
  std::vector<uint8_t> bytes(34);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(37 * i + 11);
  bytes[0] = 125;
  bytes[17] = 1;
  const auto blocks = raw<uint8_t>(bytes);
  QuantParts parts{.form = QuantForm::kMxfp4, .rows = 1, .cols = 64};
  parts.codes = {blocks, DType::kU8};
  const QuantMatrix matrix = QuantMatrix::make(parts).value();
  std::vector<float> expected;
  for (size_t k = 0; k < 64; ++k) {
    const size_t block = k / 32 * 17, i = k % 32;
    expected.push_back(mxfp4_value(bytes[block + 1 + i % 16] >> 4 * (i / 16) & 15, bytes[block]));
  }
  EXPECT_EQ(row_of(matrix, 0), expected);
  EXPECT_EQ(row_by_view(matrix, 0), expected);
}

TEST(QuantMatrixMxfp4, AScaleThatIsNoNumberIsFound) {
  const auto codes = raw<uint8_t>(std::vector<uint8_t>(16)), scales = raw<uint8_t>({0xff});
  QuantParts parts{.form = QuantForm::kMxfp4Split, .rows = 1, .cols = 32};
  parts.codes = {codes, DType::kU8};
  parts.scales = {scales, DType::kU8};
  EXPECT_FALSE(QuantMatrix::make(parts).value().check_finite().ok());
  parts.cols = 48;
  EXPECT_FALSE(QuantMatrix::make(parts).ok());
}

QuantMatrix mlx_row(int bits, uint32_t cols, const std::vector<std::byte>& codes, const std::vector<std::byte>& scales,
                    const std::vector<std::byte>& biases) {
  QuantParts parts{.form = QuantForm::kMlxAffine, .rows = 1, .cols = cols, .bits = bits, .group_size = cols};
  parts.codes = {codes, DType::kU32};
  parts.scales = {scales, DType::kF16};
  parts.offsets = {biases, DType::kF16};
  return QuantMatrix::make(parts).value();
}

TEST(QuantMatrixMlx, ReadsTheWorkedExamples) {
  const auto scale = f16s({0.5f}), bias = f16s({-1.0f});
  const std::pair<int, std::vector<uint32_t>> cases[] = {
      {2, {0xe4e4e4e4, 0xe4e4e4e4}}, {3, {0x88fac688, 0xc688fac6, 0xfac688fa}}, {4, {0x76543210, 0xfedcba98, 0x76543210, 0xfedcba98}}};
  for (const auto& [bits, words] : cases) {
    const auto codes = raw<uint32_t>(words);
    const QuantMatrix matrix = mlx_row(bits, 32, codes, scale, bias);
    const auto row = row_of(matrix, 0);
    for (int k = 0; k < 32; ++k) EXPECT_EQ(row[static_cast<size_t>(k)], 0.5f * static_cast<float>(k % (1 << bits)) - 1) << bits;
    EXPECT_EQ(row_by_view(matrix, 0), row);
  }
  const auto eight = raw<uint32_t>({0x18100800, 0x38302820});
  EXPECT_THAT(row_of(mlx_row(8, 8, eight, scale, bias), 0), ElementsAre(-1, 3, 7, 11, 15, 19, 23, 27));
}

TEST(QuantMatrixMlx, EveryWidthReadsBackWhatTheStreamPacked) {
  const auto scale = f16s({1.0f}), bias = f16s({0.0f});
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    std::vector<uint8_t> codes(64);
    for (size_t k = 0; k < codes.size(); ++k) codes[k] = static_cast<uint8_t>((k * 37 + 11) & ((1u << bits) - 1));
    std::vector<std::byte> packed;
    pack_bit_stream(codes, bits, packed);
    std::vector<uint8_t> read(64);
    mlx_row(bits, 64, packed, scale, bias).decode_codes(0, read.data());
    EXPECT_EQ(read, codes) << bits;
  }
}

TEST(QuantMatrixMlx, QuantiserReachesTheEdgesExactly) {
  std::vector<float> group(32);
  for (int i = 0; i < 32; ++i) group[static_cast<size_t>(i)] = static_cast<float>(i - 10) / 8.0f;
  std::vector<uint8_t> codes(32);
  const AffineGroup result = quantize_mlx_group(group, 4, codes);
  EXPECT_LT(result.scale, 0);  // |max| is larger, so codes count down from it
  EXPECT_EQ(result.bias, 2.625f);
  EXPECT_EQ(codes[31], 0);
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_NEAR(result.scale * codes[i] + result.bias, group[i], -result.scale / 2 * 1.001f);
  }
}

const std::vector<float> kTen = {0.5f, -0.25f, 0.125f, -1, 0.75f, -0.5f, 0.25f, 0, -0.125f, 1};

TEST(QuantMatrixScratch, OneBitRowsMatchTheWorkedExamples) {
  std::vector<std::byte> bytes;
  const uint16_t scale = quantize_scratch1_row(kTen, bytes);
  EXPECT_EQ(scale, 0x3733);
  EXPECT_THAT(bytes, ElementsAre(std::byte{0xab}, std::byte{0x40}));
  const auto scales = raw<uint16_t>({scale});
  QuantParts parts{.form = QuantForm::kScratch1, .rows = 1, .cols = 10};
  parts.codes = {bytes, DType::kU8};
  parts.scales = {scales, DType::kF16};
  const QuantMatrix matrix = QuantMatrix::make(parts).value();
  const auto row = row_of(matrix, 0);
  for (size_t k = 0; k < kTen.size(); ++k) EXPECT_EQ(row[k], kTen[k] >= 0 ? 0.449951171875f : -0.449951171875f);
  EXPECT_EQ(row_by_view(matrix, 0), row);
  std::vector<std::byte> signs;
  quantize_scratch1_row(std::vector<float>{1, -1, 1, 1, -1, -1, -1, 1}, signs);
  EXPECT_THAT(signs, ElementsAre(std::byte{0xb1}));
}

TEST(QuantMatrixScratch, FourBitRowsMatchTheWorkedExamples) {
  std::vector<std::byte> bytes;
  EXPECT_EQ(quantize_scratch4_row(std::vector<float>{0.7f, -0.7f, 0.1f, -0.05f}, bytes), 0x2e66);
  EXPECT_THAT(bytes, ElementsAre(std::byte{0x1f}, std::byte{0x79}));
  bytes.clear();
  const uint16_t scale = quantize_scratch4_row(kTen, bytes);
  EXPECT_EQ(scale, 0x3092);
  EXPECT_THAT(bytes, ElementsAre(std::byte{0x6c}, std::byte{0x19}, std::byte{0x4d}, std::byte{0x8a}, std::byte{0xf7}));
  const auto scales = raw<uint16_t>({scale});
  QuantParts parts{.form = QuantForm::kScratch4, .rows = 1, .cols = 10};
  parts.codes = {bytes, DType::kU8};
  parts.scales = {scales, DType::kF16};
  const auto row = row_of(QuantMatrix::make(parts).value(), 0);
  const int q[10] = {4, -2, 1, -7, 5, -4, 2, 0, -1, 7};
  for (size_t k = 0; k < 10; ++k) EXPECT_EQ(row[k], static_cast<float>(q[k]) * 0.142822265625f);
}

TEST(QuantMatrixScratch, ZeroRowsHaveScaleZeroAndSmallOnesTheLeastScale) {
  std::vector<std::byte> bytes;
  EXPECT_EQ(quantize_scratch1_row(std::vector<float>(8, 0.0f), bytes), 0);
  EXPECT_THAT(bytes, ElementsAre(std::byte{0xff}));
  EXPECT_EQ(quantize_scratch1_row(std::vector<float>(8, 1e-30f), bytes), 1);
  bytes.clear();
  EXPECT_EQ(quantize_scratch4_row(std::vector<float>(2, 0.0f), bytes), 0);
  EXPECT_THAT(bytes, ElementsAre(std::byte{0x88}));
}

class DenseMatrix : public ::testing::Test {
 protected:
  DenseMatrix() {
    std::vector<float> values(24);
    std::iota(values.begin(), values.end(), 0.0f);
    bytes_ = raw(values);
    parts_ = {.form = QuantForm::kF32, .experts = 2, .rows = 4, .cols = 3};
    parts_.codes = {bytes_, DType::kF32};
  }
  std::vector<std::byte> bytes_;
  QuantParts parts_;
};

TEST_F(DenseMatrix, RowsAreNumberedThroughExperts) {
  const QuantMatrix matrix = QuantMatrix::make(parts_).value();
  EXPECT_EQ(matrix.row_count(), 8u);
  EXPECT_THAT(row_of(matrix, 5), ElementsAre(15, 16, 17));
  EXPECT_THAT(row_of(matrix.expert(1), 1), ElementsAre(15, 16, 17));
  EXPECT_EQ(matrix.dense_row(5).size(), 12u);
}

TEST_F(DenseMatrix, SlicesKeepExpertsAndRowMapsCompose) {
  const QuantMatrix matrix = QuantMatrix::make(parts_).value();
  const QuantMatrix slice = matrix.slice_rows(1, 2);
  EXPECT_EQ(slice.experts(), 2u);
  EXPECT_THAT(row_of(slice, 3), ElementsAre(18, 19, 20));
  const QuantMatrix reversed = slice.with_rows({3, 2, 1, 0});
  EXPECT_EQ(reversed.experts(), 1u);
  EXPECT_THAT(row_of(reversed, 0), ElementsAre(18, 19, 20));
}

TEST_F(DenseMatrix, TransposedStorageReadsColumnsAsRows) {
  parts_.rows = 3;
  parts_.cols = 4;
  parts_.transposed = true;
  const QuantMatrix matrix = QuantMatrix::make(parts_).value();
  EXPECT_THAT(row_of(matrix, 1), ElementsAre(1, 4, 7, 10));
  EXPECT_THAT(row_of(matrix, 3), ElementsAre(12, 15, 18, 21));
  EXPECT_TRUE(matrix.dense_row(0).empty());
}

TEST_F(DenseMatrix, ColumnOrderMovesColumns) {
  const QuantMatrix matrix = QuantMatrix::make(parts_).value().with_columns({2, 0, 1});
  EXPECT_THAT(row_of(matrix, 0), ElementsAre(2, 0, 1));
  EXPECT_THAT(row_of(matrix.with_columns({2, 0, 1}), 0), ElementsAre(1, 2, 0));
}

TEST_F(DenseMatrix, RefusesSizesThatDoNotFitTheShape) {
  parts_.rows = 5;
  EXPECT_THAT(QuantMatrix::make(parts_).failure().message(), HasSubstr("have 96 bytes; the shape asks for 120"));
  parts_.rows = 0;
  EXPECT_THAT(QuantMatrix::make(parts_).failure().message(), HasSubstr("has no elements"));
  parts_.rows = 4000000000u;
  EXPECT_THAT(QuantMatrix::make(parts_).failure().message(), HasSubstr("rows; at most"));
  parts_.rows = 4;
  parts_.codes.dtype = DType::kI32;
  EXPECT_THAT(QuantMatrix::make(parts_).failure().message(), HasSubstr("values are I32; this form has F32"));
}

TEST(QuantMatrixColumns, GroupedFormsReportWhereColumnsWent) {
  const auto codes = raw<uint32_t>({0x76543210});
  const auto scales = f16s({1.0f, 16.0f});
  QuantParts parts{.form = QuantForm::kGptq, .rows = 1, .cols = 8, .bits = 4, .group_size = 4};
  parts.codes = {codes, DType::kI32};
  parts.scales = {scales, DType::kF16};
  parts.column_group = {1, 0, 1, 0, 0, 1, 0, 1};
  const QuantMatrix matrix = QuantMatrix::make(parts).value();
  const QuantMatrix moved = matrix.with_columns({7, 6, 5, 4, 3, 2, 1, 0});
  EXPECT_THAT(row_of(moved, 0), ElementsAre(-16, -2, -48, -4, -5, -96, -7, -128));
  EXPECT_EQ(row_by_view(moved, 0), row_of(moved, 0));
}

TEST(QuantMatrixFinite, NamesTheScaleThatIsNotANumber_S31) {
  const auto codes = raw<uint32_t>({0, 0});
  const auto scales = f16s({1.0f, std::numeric_limits<float>::infinity()});
  QuantParts parts{.form = QuantForm::kCtInt, .rows = 2, .cols = 8, .bits = 4, .group_size = 8};
  parts.codes = {codes, DType::kI32};
  parts.scales = {scales, DType::kF16};
  EXPECT_THAT(QuantMatrix::make(parts).value().check_finite().failure().message(), HasSubstr("row 1, group 0"));
}

TEST(QuantMatrixFinite, AcceptsScaleZeroAndNamesFp8NotANumber_S31) {
  const auto codes = raw<uint8_t>({0x38, 0x7f});
  const auto scales = raw<float>({0.0f});
  QuantParts parts{.form = QuantForm::kFp8, .rows = 1, .cols = 2, .group_size = 2, .group_rows = 1};
  parts.codes = {codes, DType::kF8E4M3};
  parts.scales = {scales, DType::kF32};
  EXPECT_THAT(QuantMatrix::make(parts).value().check_finite().failure().message(), HasSubstr("row 0, column 1"));
}

TEST(Nf4Absmax, UnfoldsDoubleQuantisation) {
  std::vector<float> map(256, 0.0f);
  map[3] = 0.5f;
  map[200] = -1.0f;
  const std::vector<uint8_t> codes = {3, 200, 3};
  const std::vector<float> nested = {2.0f, 4.0f};
  EXPECT_THAT(nf4_absmax(codes, map, nested, 2, 10.0f), ElementsAre(11, 8, 12));
}

}  // namespace
}  // namespace scratchy
