// scratchyc fmt: .fwd texts in the one layout there is (dsl/format.h).

#include <cstdio>
#include <memory>

#include "base/file.h"
#include "compiler/commands/commands.h"
#include "dsl/format.h"

namespace scratchy {
namespace {

struct FmtArguments {
  CommonArguments common;
  std::vector<std::string> files;
  bool check = false;
};

// Files that would change are named; without --check they are rewritten. One file's mistake does not keep the others back.
int fmt(const FmtArguments& arguments) {
  SourceSet sources;
  Diagnostics diagnostics;
  int exit_code = 0;
  for (const std::string& path : arguments.files) {
    Result<std::string> text = read_file(path, 16 << 20);
    if (!text.ok()) {
      exit_code = report(text.failure());
      continue;
    }
    const SourceFile& file = sources.add(path, std::move(text).value());
    const auto formatted = format(file, diagnostics);
    if (!formatted || *formatted == file.text) continue;
    std::printf("%s\n", path.c_str());
    if (arguments.check) {
      exit_code = 1;
    } else if (const Status written = write_file_atomically(path, *formatted); !written.ok()) {
      exit_code = report(written.failure());
    }
  }
  return report(diagnostics, arguments.common.json()) | exit_code;
}

}  // namespace

void add_fmt(Command& app) {
  auto arguments = std::make_shared<FmtArguments>();
  Command* command = app.add_command("fmt", "lay out .fwd texts; names the files that change");
  command->add_option("files", arguments->files, ".fwd texts")->required();
  command->add_flag("--check", arguments->check, "change nothing, fail if something would change");
  add_common_flags(*command, arguments->common);
  command->runs([arguments] { return fmt(*arguments); });
}

}  // namespace scratchy
