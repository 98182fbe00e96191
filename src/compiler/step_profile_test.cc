// Profiles of scr bench: read, or refused with the file's name.
#include "compiler/step_profile.h"

#include "testing/scratch_folder.h"

namespace scratchy {
namespace {

using StepProfileTest = testing::ScratchFolder;

TEST_F(StepProfileTest, ReadsBothTapes) {
  const auto file = write("p.json", R"({"arch":"llama","stem":"x","quant":"","threads":2,
    "decode":{"rows":1,"depth":7,"steps":[{"wait_s":0.5,"kernel_s":1.5}]},"prompt":{"rows":64,"depth":0,"steps":[]}})");
  const Result<StepProfile> profile = read_step_profile(file);
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->decode.depth, 7);
  ASSERT_EQ(profile->decode.steps.size(), 1u);
  EXPECT_EQ(profile->decode.steps[0].kernel_s, 1.5);
  EXPECT_EQ(profile->prompt.rows, 64);
}

TEST_F(StepProfileTest, RefusesWhatIsNone) {
  for (const char* text : {"", "[]", "{", R"({"arch":1})", R"({"arch":"a","stem":"b","quant":"","decode":{"rows":"1","depth":0,"steps":[]},"prompt":{}})"}) {
    const Result<StepProfile> profile = read_step_profile(write("p.json", text));
    ASSERT_FALSE(profile.ok()) << text;
    EXPECT_NE(profile.failure().message().find("p.json"), std::string::npos);
  }
  EXPECT_FALSE(read_step_profile(path("absent.json")).ok());
}

}  // namespace
}  // namespace scratchy
