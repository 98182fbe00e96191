#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "testing/scratch_folder.h"

namespace scratchy {
namespace {

using ::testing::HasSubstr;

class FileTest : public testing::ScratchFolder {};

TEST_F(FileTest, APipeThatNobodyWritesIsRefusedAtOnce) {
  const std::filesystem::path pipe = path("model.gguf");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(InputFile::open(pipe).failure().message(), HasSubstr("not a regular file"));
}

TEST_F(FileTest, AFolderIsRefusedAndAMissingFileNamed) {
  EXPECT_THAT(InputFile::open(folder()).failure().message(), HasSubstr("not a regular file"));
  EXPECT_THAT(InputFile::open(path("none")).failure().message(), HasSubstr("none"));
}

}  // namespace
}  // namespace scratchy
