#include "numeric/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace scratchy {
namespace {

TEST(DType, NamesParseBackAndSizesAreOfWholeBytes) {
  for (const char* name : {"F64", "F32", "F16", "BF16", "F8_E4M3", "F4", "I64", "U32", "I16", "U8", "BOOL"}) {
    const auto dtype = parse_dtype(name);
    ASSERT_TRUE(dtype) << name;
    EXPECT_EQ(dtype_name(*dtype), name);
  }
  EXPECT_FALSE(parse_dtype("f32"));
  EXPECT_EQ(dtype_storage(DType::kF32, 3), 12u);
  EXPECT_EQ(dtype_storage(DType::kF4, 4), 2u);
  EXPECT_FALSE(dtype_storage(DType::kF4, 3));
  EXPECT_FALSE(dtype_storage(DType::kF32, (uint64_t{1} << 62) + 2));
}

TEST(F16, EveryBitPatternSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = f16_to_f32(static_cast<uint16_t>(bits));
    const uint16_t back = f32_to_f16(value);
    if (std::isnan(value)) EXPECT_TRUE(std::isnan(f16_to_f32(back)));
    else EXPECT_EQ(back, bits);
  }
}

TEST(F16, HalfwayValuesGoToTheEvenNeighbour) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = f16_to_f32(static_cast<uint16_t>(bits));
    const float high = f16_to_f32(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    EXPECT_EQ(f32_to_f16(middle), bits + bits % 2);
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), bits);
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, 1e9f)), bits + 1);
  }
  EXPECT_EQ(f32_to_f16(65519.99f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::infinity()), 0xfc00);
}

TEST(F16, ReadsTheExamples) {
  EXPECT_EQ(f32_to_f16(1.0f), 0x3c00);
  EXPECT_EQ(f32_to_f16(-2.5f), 0xc100);
  EXPECT_EQ(f32_to_f16(3.140625f), 0x4248);
  EXPECT_EQ(f32_to_f16(0.1f), 0x2e66);
}

TEST(BF16, RoundsToNearestEven) {
  EXPECT_EQ(f32_to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(-2.5f), 0xc020);
  EXPECT_EQ(f32_to_bf16(3.140625f), 0x4049);
  EXPECT_EQ(f32_to_bf16(0.1f), 0x3dcd);
  EXPECT_EQ(f32_to_bf16(1.00390625f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(1.01171875f), 0x3f82);
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(bf16_to_f32(0xc020), -2.5f);
}

TEST(E4M3, ReadsTheExamples) {
  EXPECT_EQ(e4m3_to_f32(0x00), 0.0f);
  EXPECT_EQ(e4m3_to_f32(0x01), 0.001953125f);
  EXPECT_EQ(e4m3_to_f32(0x07), 0.013671875f);
  EXPECT_EQ(e4m3_to_f32(0x08), 0.015625f);
  EXPECT_EQ(e4m3_to_f32(0x30), 0.5f);
  EXPECT_EQ(e4m3_to_f32(0x38), 1.0f);
  EXPECT_EQ(e4m3_to_f32(0x3c), 1.5f);
  EXPECT_EQ(e4m3_to_f32(0x40), 2.0f);
  EXPECT_EQ(e4m3_to_f32(0x7e), 448.0f);
  EXPECT_TRUE(std::signbit(e4m3_to_f32(0x80)));
  EXPECT_EQ(e4m3_to_f32(0xb8), -1.0f);
  EXPECT_TRUE(std::isnan(e4m3_to_f32(0x7f)));
  EXPECT_TRUE(std::isnan(e4m3_to_f32(0xff)));
}

TEST(E4M3, EncodesTheExamples) {
  EXPECT_EQ(f32_to_e4m3(0x1p-10f), 0x00);
  EXPECT_EQ(f32_to_e4m3(1.0625f), 0x38);
  EXPECT_EQ(f32_to_e4m3(1.1875f), 0x3a);
  EXPECT_EQ(f32_to_e4m3(17.0f), 0x58);
  EXPECT_EQ(f32_to_e4m3(19.0f), 0x5a);
  EXPECT_EQ(f32_to_e4m3(1e9f), 0x7e);
  EXPECT_EQ(f32_to_e4m3(-460.0f), 0xfe);
  EXPECT_EQ(f32_to_e4m3(std::numeric_limits<float>::quiet_NaN()) & 0x7f, 0x7f);
}

TEST(E4M3, EveryFiniteByteSurvivesTheRoundTripAndTiesGoToEven) {
  for (uint32_t bits = 0; bits < 256; ++bits) {
    if ((bits & 0x7f) == 0x7f) continue;
    EXPECT_EQ(f32_to_e4m3(e4m3_to_f32(static_cast<uint8_t>(bits))), bits);
  }
  for (uint32_t bits = 0; bits < 0x7e; ++bits) {
    const float low = e4m3_to_f32(static_cast<uint8_t>(bits));
    const float middle = low + (e4m3_to_f32(static_cast<uint8_t>(bits + 1)) - low) / 2;
    EXPECT_EQ(f32_to_e4m3(middle), bits + bits % 2) << bits;
  }
}

TEST(E8M0, IsAPowerOfTwo) {
  for (int bits = 0; bits < 255; ++bits) EXPECT_EQ(e8m0_to_f32(static_cast<uint8_t>(bits)), std::ldexp(1.0f, bits - 127)) << bits;
  EXPECT_TRUE(std::isnan(e8m0_to_f32(0xff)));
}

TEST(E2M1, EveryCodeSurvivesTheRoundTripAndTiesGoToEven) {
  for (uint8_t code = 0; code < 16; ++code) EXPECT_EQ(f32_to_e2m1(e2m1_to_f32(code)), code);
  EXPECT_EQ(f32_to_e2m1(0.25f), 0);
  EXPECT_EQ(f32_to_e2m1(0.75f), 2);
  EXPECT_EQ(f32_to_e2m1(2.5f), 4);
  EXPECT_EQ(f32_to_e2m1(5.0f), 6);
  EXPECT_EQ(f32_to_e2m1(-100.0f), 15);
}

}  // namespace
}  // namespace scratchy
