// The C++ compiler as a tool: turns emitted sources into a binary.
//
// Sources are compiled side by side, one process a processor, and linked with the runtime's archives, which the build of
// the compiler lists in scr_link.txt. No shell is involved: arguments are passed as they are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "targets/cpu/emit.h"

namespace scratchy {

struct ToolchainInput {
  std::filesystem::path compiler = "c++";
  std::filesystem::path include_dir;  // src/ of this project
  std::filesystem::path link_list;    // scr_link.txt: archives and libraries, one a line
  std::filesystem::path work_dir;     // for sources and logs
  std::filesystem::path object_dir;   // objects kept by content (object_store.h)
  std::string_view profile_flags;
  std::vector<cpu::EmittedFile> files;
  std::filesystem::path output;  // appears whole or not at all
};

// A Failure carries what the compiler printed.
Status build_binary(const ToolchainInput& input);

}  // namespace scratchy
