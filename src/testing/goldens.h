// Where tests find their files: the golden data checked in under tests/golden, and, where a checkout lies beside the
// project's shared/ folder, the larger sets there.
#pragma once

#include <filesystem>
#include <optional>

namespace scratchy::testing {

// The root of this source tree.
std::filesystem::path source_dir();

// `relative` (e.g. "tokenizers/gpt2") under tests/golden, else under ../shared/golden; nothing when neither has it.
// A test that gets nothing skips and says so.
std::optional<std::filesystem::path> golden(const std::filesystem::path& relative);

}  // namespace scratchy::testing
