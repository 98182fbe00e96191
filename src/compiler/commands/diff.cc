// scratchyc diff: two forwards side by side.
//
// Both texts are formatted, blank lines dropped, and aligned by their longest common subsequence of lines. The middle
// column says what a line is: `=` in both, `<` or `>` in one only, `|` where a line of each stands for the other.

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/file.h"
#include "base/text.h"
#include "compiler/commands/commands.h"
#include "dsl/format.h"

namespace scratchy {
namespace {

struct DiffArguments {
  CommonArguments common;
  std::string left, right;
};

using Lines = std::vector<std::string>;

// Longer texts than any forward would cost a table of this many entries squared.
constexpr size_t kMaxLines = 4000;

// An architecture's name, or the path of a text.
std::optional<Lines> lines_of(const std::string& name, const CommonArguments& common, SourceSet& sources, Diagnostics& diagnostics) {
  std::filesystem::path path = name;
  if (!name.ends_with(".fwd")) {
    const auto registry = ModelRegistry::load(common.models, sources, diagnostics);
    const ArchDecl* arch = registry ? registry->find(name, diagnostics) : nullptr;
    if (arch == nullptr) return std::nullopt;
    path = arch->directory / "forward.fwd";
  }
  Result<std::string> text = read_file(path, 1 << 20);
  if (!text.ok()) {
    diagnostics.add(DiagnosticKind::kMalformedFile, {}, {{"file", path.string()}, {"problem", text.failure().message()}});
    return std::nullopt;
  }
  const auto formatted = format(sources.add(path.string(), std::move(text).value()), diagnostics);
  if (!formatted) return std::nullopt;
  Lines lines;
  for (std::string& line : split(*formatted, '\n')) {
    if (!line.empty() && lines.size() < kMaxLines) lines.push_back(std::move(line));
  }
  return lines;
}

// common[i * (right + 1) + j]: lines that left[i..] and right[j..] share in order.
std::vector<uint16_t> common_lengths(const Lines& left, const Lines& right) {
  const size_t width = right.size() + 1;
  std::vector<uint16_t> common((left.size() + 1) * width);
  for (size_t i = left.size(); i-- > 0;) {
    for (size_t j = right.size(); j-- > 0;) {
      const uint16_t skip = std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
      common[i * width + j] = left[i] == right[j] ? static_cast<uint16_t>(common[(i + 1) * width + j + 1] + 1) : skip;
    }
  }
  return common;
}

void print_row(const std::string& left, char mark, const std::string& right, size_t width) {
  std::string cell = left;
  cell.resize(std::max(width, cell.size()), ' ');
  std::printf("%s %c %s\n", cell.c_str(), mark, right.c_str());
}

// A run of lines that only one side has, paired as far as both have some.
void print_gap(const Lines& left, const Lines& right, size_t width) {
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const char mark = i >= left.size() ? '>' : i >= right.size() ? '<' : '|';
    print_row(i < left.size() ? left[i] : "", mark, i < right.size() ? right[i] : "", width);
  }
}

void print_aligned(const Lines& left, const Lines& right) {
  const std::vector<uint16_t> common = common_lengths(left, right);
  size_t width = 0;
  for (const std::string& line : left) width = std::max(width, line.size());
  Lines left_gap, right_gap;
  size_t i = 0, j = 0, same = 0;
  while (i < left.size() || j < right.size()) {
    if (i < left.size() && j < right.size() && left[i] == right[j]) {
      print_gap(left_gap, right_gap, width);
      left_gap.clear();
      right_gap.clear();
      print_row(left[i++], '=', right[j++], width);
      ++same;
    } else if (j == right.size() || (i < left.size() && common[(i + 1) * (right.size() + 1) + j] >= common[i * (right.size() + 1) + j + 1])) {
      left_gap.push_back(left[i++]);
    } else {
      right_gap.push_back(right[j++]);
    }
  }
  print_gap(left_gap, right_gap, width);
  std::printf("\n%zu lines in both, %zu left only, %zu right only\n", same, left.size() - same, right.size() - same);
}

int diff(const DiffArguments& arguments) {
  SourceSet sources;
  Diagnostics diagnostics;
  const auto left = lines_of(arguments.left, arguments.common, sources, diagnostics);
  const auto right = lines_of(arguments.right, arguments.common, sources, diagnostics);
  if (!left || !right) return report(diagnostics, arguments.common.json());
  print_aligned(*left, *right);
  return 0;
}

}  // namespace

void add_diff(Command& app) {
  auto arguments = std::make_shared<DiffArguments>();
  Command* command = app.add_command("diff", "show two forwards side by side");
  command->add_option("left", arguments->left, "architecture, or a .fwd text")->required();
  command->add_option("right", arguments->right, "architecture, or a .fwd text")->required();
  add_common_flags(*command, arguments->common);
  command->runs([arguments] { return diff(*arguments); });
}

}  // namespace scratchy
