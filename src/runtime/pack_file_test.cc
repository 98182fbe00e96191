// Packs appear whole or not at all, whatever the order they are written in.
#include "runtime/pack_file.h"

#include "base/file.h"
#include "testing/scratch_folder.h"

namespace scratchy {
namespace {

using PackFileTest = testing::ScratchFolder;

std::vector<std::byte> bytes(size_t count, int value) { return std::vector<std::byte>(count, static_cast<std::byte>(value)); }

size_t files_in(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

TEST_F(PackFileTest, KeepsWhatIsWrittenInAnyOrderAcrossChunks) {
  constexpr size_t kChunk = size_t{2} << 20;
  Result<PackFile> file = PackFile::create(path("sub/a.pack"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write(kChunk - 3, bytes(10, 1)).ok());        // over the end of a chunk
  ASSERT_TRUE(file->write(3 * kChunk + 5, bytes(2, 2)).ok());     // past a chunk that nothing is written to
  ASSERT_TRUE(file->write(kChunk - 1, bytes(4, 3)).ok());         // behind, over what is in the file already
  ASSERT_TRUE(file->write(0, bytes(2, 4)).ok());
  EXPECT_FALSE(std::filesystem::exists(path("sub/a.pack")));
  ASSERT_TRUE(file->keep(3 * kChunk + 9).ok());
  const Result<std::string> read = read_file(path("sub/a.pack"));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), 3 * kChunk + 9);
  std::string expected(3 * kChunk + 9, '\0');
  expected.replace(0, 2, 2, '\4');
  expected.replace(kChunk - 3, 10, 10, '\1');
  expected.replace(kChunk - 1, 4, 4, '\3');
  expected.replace(3 * kChunk + 5, 2, 2, '\2');
  EXPECT_TRUE(*read == expected);
  EXPECT_EQ(files_in(path("sub")), 1u);
}

TEST_F(PackFileTest, LeavesNothingBehindWhenItIsNotKept) {
  {
    Result<PackFile> file = PackFile::create(path("a.pack"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write(size_t{5} << 20, bytes(1, 1)).ok());
  }
  EXPECT_EQ(files_in(folder()), 0u);
}

TEST_F(PackFileTest, NamesThePlaceThatCannotBeWritten) {
  write("file", "");
  const Result<PackFile> file = PackFile::create(path("file/a.pack"));
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.failure().message().find("file/a.pack"), std::string::npos);
}

}  // namespace
}  // namespace scratchy
