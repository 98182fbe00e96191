#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

namespace scratchy {
namespace {

using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/scratchy-file-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(FileTest, APipeThatNobodyWritesIsRefusedAtOnce) {
  const std::filesystem::path pipe = folder_ / "model.gguf";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(InputFile::open(pipe).failure().message(), HasSubstr("not a regular file"));
}

TEST_F(FileTest, AFolderIsRefusedAndAMissingFileNamed) {
  EXPECT_THAT(InputFile::open(folder_).failure().message(), HasSubstr("not a regular file"));
  EXPECT_THAT(InputFile::open(folder_ / "none").failure().message(), HasSubstr("none"));
}

}  // namespace
}  // namespace scratchy
