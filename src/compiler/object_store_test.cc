#include "compiler/object_store.h"

#include <gtest/gtest.h>

#include "testing/scratch_folder.h"

namespace scratchy {
namespace {

class ObjectStoreTest : public testing::ScratchFolder {
 protected:
  ObjectStoreTest() {
    std::filesystem::create_directories(headers() / "deep");
    write("include/deep/kernel.h", "int f();");
  }
  std::filesystem::path headers() const { return path("include"); }

  std::filesystem::path place(const std::string& version, const std::vector<std::string>& flags, const std::string& source) {
    const auto store = ObjectStore::open(path("objects"), headers(), version);
    EXPECT_TRUE(store.ok());
    return store->place_of(flags, source);
  }
};

TEST_F(ObjectStoreTest, ThePlaceDependsOnSourceFlagsAndCompiler) {
  const auto first = place("c++ 12", {"-O3"}, "int x;");
  EXPECT_EQ(place("c++ 12", {"-O3"}, "int x;"), first);
  EXPECT_NE(place("c++ 12", {"-O3"}, "int y;"), first);
  EXPECT_NE(place("c++ 12", {"-O2"}, "int x;"), first);
  EXPECT_NE(place("c++ 13", {"-O3"}, "int x;"), first);
  EXPECT_NE(place("c++ 12", {"-O", "3"}, "int x;"), place("c++ 12", {"-O3"}, "int x;"));
}

TEST_F(ObjectStoreTest, AnEditedOrAddedHeaderMovesEveryObject) {
  const auto first = place("c++", {}, "");
  write("include/deep/kernel.h", "int g();");
  const auto edited = place("c++", {}, "");
  EXPECT_NE(edited, first);
  write("include/forms.def", "");
  EXPECT_NE(place("c++", {}, ""), edited);
}

TEST_F(ObjectStoreTest, OtherFilesBesideHeadersDoNotMatter) {
  const auto first = place("c++", {}, "");
  write("include/notes.txt", "x");
  EXPECT_EQ(place("c++", {}, ""), first);
}

TEST_F(ObjectStoreTest, AFolderThatCannotBeMadeIsAFailure) {
  write("file", "x");
  const auto store = ObjectStore::open(path("file") / "objects", headers(), "c++");
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.failure().message().find("objects"), std::string::npos);
}

}  // namespace
}  // namespace scratchy
