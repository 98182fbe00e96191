#include "base/text.h"

#include <gtest/gtest.h>

namespace scratchy {
namespace {

TEST(NearestName, SuggestsASlipAndNothingForAStranger) {
  const std::vector<std::string> names = {"mlp.gate_proj", "mlp.up_proj", "norm"};
  EXPECT_EQ(nearest_name("mlp.gate_porj", names), "mlp.gate_proj");
  EXPECT_EQ(nearest_name("zebra", names), std::nullopt);
}

TEST(EditDistance, CountsASwapOfNeighboursOnce) {
  EXPECT_EQ(edit_distance("norm", "nrom"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
}

TEST(EscapeForMessage, ShowsControlsAndBrokenUtf8AsHex) {
  EXPECT_EQ(escape_for_message("a\x1b[1m\xff\""), "a\\x1b[1m\\xff\\x22");
  EXPECT_EQ(escape_for_message(std::string(200, 'x'), 5), "xxxxx...");
}

TEST(IsUtf8, RefusesSurrogatesAndOverlongForms) {
  EXPECT_TRUE(is_utf8("h\xc3\xa9 \xf0\x9f\x98\x80"));
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
  EXPECT_FALSE(is_utf8("\xc0\x80"));
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));
}

TEST(FitsPattern, AStarIsAnyText) {
  EXPECT_TRUE(fits_pattern("a.*.c", "a.b.b.c"));
  EXPECT_TRUE(fits_pattern("*", ""));
  EXPECT_TRUE(fits_pattern("*bc*", "abcbcd"));
  EXPECT_FALSE(fits_pattern("a.*.c", "a.c"));
  EXPECT_FALSE(fits_pattern("a", "ab"));
}

TEST(WithThousands, GroupsByThree) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
}

}  // namespace
}  // namespace scratchy
