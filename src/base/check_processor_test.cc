#include "base/check_processor.h"

#include <gtest/gtest.h>

namespace scratchy {
namespace {

TEST(CheckProcessor, UnknownProfilesPass) { EXPECT_TRUE(check_processor("armv8.2-a").ok()); }

TEST(CheckProcessor, WiderProfileNeedsWhatNarrowerNeeds) {
  EXPECT_TRUE(!check_processor("x86-64-v4").ok() || check_processor("x86-64-v3").ok());
}

}  // namespace
}  // namespace scratchy
