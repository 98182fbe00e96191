#include "checkpoint/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scratchy {
namespace {

using ::testing::HasSubstr;

std::string refusal(std::string_view text, const JsonLimits& limits = {}) {
  const auto value = parse_json(text, limits);
  return value.ok() ? "accepted" : value.failure().message();
}

TEST(ParseJson, ReadsEveryKindOfValue) {
  const auto value = parse_json(R"({"a": [1, -2, 2.5, true, null, "x"], "b": {"c": {}}, "d": []})");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ((*value)["a"][0].get<uint64_t>(), 1u);
  EXPECT_EQ((*value)["a"][1].get<int64_t>(), -2);
  EXPECT_EQ((*value)["a"][2].get<double>(), 2.5);
  EXPECT_TRUE((*value)["a"][4].is_null());
  EXPECT_TRUE((*value)["b"]["c"].is_object());
  EXPECT_TRUE((*value)["d"].is_array());
}

TEST(ParseJson, KeepsSixtyFourBitIntegersExact) {
  const auto value = parse_json("[18446744073709551615, -9223372036854775808, 9007199254740993]");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ((*value)[0].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ((*value)[1].get<int64_t>(), INT64_MIN);
  EXPECT_EQ((*value)[2].get<uint64_t>(), 9007199254740993u);
}

TEST(ParseJson, RefusesIntegersBeyondSixtyFourBits_C01) {
  EXPECT_THAT(refusal("[1180591620717411303424]"), HasSubstr("does not fit in 64 bits"));
  EXPECT_THAT(refusal("[-9223372036854775809]"), HasSubstr("does not fit in 64 bits"));
}

TEST(ParseJson, RefusesMalformedTextWithLineAndColumn_C01) {
  EXPECT_THAT(refusal("{\"a\": 1,\n }"), HasSubstr("line 2, column 2"));
  EXPECT_THAT(refusal("{\"a\": 1, \"a\": 2}"), HasSubstr("key `a` appears twice"));
  EXPECT_THAT(refusal("{\"a\": 1,\n\"a\": 2}"), HasSubstr("line 2, column 3: key"));
  EXPECT_THAT(refusal("\xef\xbb\xbf{}"), HasSubstr("byte order mark"));
  EXPECT_THAT(refusal("{\"a\": NaN}"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("{} // comment"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("{} {}"), HasSubstr("line 1"));
  EXPECT_THAT(refusal(""), HasSubstr("line 1, column 1"));
  EXPECT_THAT(refusal("{\"a\""), HasSubstr("line 1"));
  EXPECT_THAT(refusal("[1e400]"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("[\"\\ud800\"]"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("[\"\xff\"]"), HasSubstr("line 1"));
}

TEST(ParseJson, RefusesDeepNesting) {
  EXPECT_EQ(refusal(std::string(128, '[') + std::string(128, ']')), "accepted");
  EXPECT_THAT(refusal(std::string(129, '[') + std::string(129, ']')), HasSubstr("nested deeper than 128"));
  EXPECT_THAT(refusal(std::string(1'000'000, '[')), HasSubstr("nested deeper than 128"));
}

TEST(ParseJson, RefusesMoreThanItsLimits) {
  EXPECT_THAT(refusal("[1,2,3,4]", {.max_values = 4}), HasSubstr("more than 4 values"));
  EXPECT_THAT(refusal("[1,2,3,4]", {.max_bytes = 4}), HasSubstr("at most 4"));
}

}  // namespace
}  // namespace scratchy
