// A temporary folder for tests that read files of their own, hostile ones too.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace scratchy::testing {

class ScratchFolder : public ::testing::Test {
 protected:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "scratchy_test.XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ScratchFolder() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  std::filesystem::path write(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace scratchy::testing
