#include "testing/goldens.h"

namespace scratchy::testing {

std::filesystem::path source_dir() { return SCRATCHY_SOURCE_DIR; }

std::optional<std::filesystem::path> golden(const std::filesystem::path& relative) {
  for (const auto& root : {source_dir() / "tests/golden", source_dir() / "../shared/golden"}) {
    if (std::filesystem::exists(root / relative)) return root / relative;
  }
  return std::nullopt;
}

}  // namespace scratchy::testing
