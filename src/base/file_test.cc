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

// As root a rename would replace even a device.
TEST_F(FileTest, OnlyRegularFilesAreReplaced) {
  const std::filesystem::path pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::filesystem::path& place : {pipe, folder()}) {
    EXPECT_THAT(write_file_atomically(place, "x").failure().message(), HasSubstr("no regular file and is not replaced"));
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_TRUE(write_file_atomically(path("file"), "first").ok());
  EXPECT_TRUE(write_file_atomically(path("file"), "second").ok());
  EXPECT_EQ(read_file(path("file")).value(), "second");
}

}  // namespace
}  // namespace scratchy
