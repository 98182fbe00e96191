#include "base/token_ids.h"

#include "testing/scratch_folder.h"

namespace scratchy {
namespace {

using Ids = std::vector<int32_t>;

std::string refusal(std::string_view text) {
  const auto ids = parse_token_ids(text, "--ids");
  return ids.ok() ? "accepted" : ids.failure().message();
}

TEST(TokenIds, AreReadHoweverTheyAreSeparated) {
  EXPECT_EQ(parse_token_ids("1,2,3", "").value(), (Ids{1, 2, 3}));
  EXPECT_EQ(parse_token_ids(" [1, 2,\n 3]\r\n", "").value(), (Ids{1, 2, 3}));
  EXPECT_EQ(parse_token_ids("0\t2147483647", "").value(), (Ids{0, INT32_MAX}));
}

// Whether a vocabulary has an id is for the model to say, also of ids below 0.
TEST(TokenIds, MayBeNegative) { EXPECT_EQ(parse_token_ids("-1", "").value(), (Ids{-1})); }

TEST(TokenIds, WhatIsNoNumberIsRefusedWithWhatWasSeen) {
  EXPECT_EQ(refusal("1,two,3"), "--ids: `two,3` is no token id");
  EXPECT_EQ(refusal("1;2"), "--ids: `;2` is no token id");
  EXPECT_EQ(refusal("0x10"), "--ids: `x10` is no token id");
  EXPECT_EQ(refusal("1.5"), "--ids: `.5` is no token id");
  EXPECT_EQ(refusal("+1"), "--ids: `+1` is no token id");
}

TEST(TokenIds, NumbersThatDoNotFitAreRefused) {
  EXPECT_EQ(refusal("2147483648"), "--ids: `2147483648` is no token id");
  EXPECT_EQ(refusal("99999999999999999999999999"), "--ids: `99999999999999999999` is no token id");
}

TEST(TokenIds, NoIdsAtAllAreRefused) {
  EXPECT_EQ(refusal(""), "--ids: no token ids; give at least one");
  EXPECT_EQ(refusal("[ , ]"), "--ids: no token ids; give at least one");
}

TEST(TokenIds, ControlCharactersAreEscaped) { EXPECT_EQ(refusal("\x1b[2J"), "--ids: `\\x1b[2J` is no token id"); }

class TokenIdsFile : public testing::ScratchFolder {};

TEST_F(TokenIdsFile, IsReadWhereNoIdsAreGiven) {
  const std::string file = write("ids.json", "[5, 6]\n").string();
  EXPECT_EQ(read_token_ids("", file).value(), (Ids{5, 6}));
  EXPECT_EQ(read_token_ids("7", file).value(), (Ids{7}));
}

TEST_F(TokenIdsFile, IsNamedWhenItIsWrongOrMissing) {
  const std::string wrong = write("wrong.txt", "1\nx").string();
  EXPECT_EQ(read_token_ids("", wrong).failure().message(), wrong + ": `x` is no token id");
  const std::string missing = path("missing.txt").string();
  EXPECT_NE(read_token_ids("", missing).failure().message().find(missing), std::string::npos);
  EXPECT_NE(read_token_ids("", folder().string()).failure().message().find("not a regular file"), std::string::npos);
}

}  // namespace
}  // namespace scratchy
