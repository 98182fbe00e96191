// The commands of scratchyc. Each adds itself to the command line; exit codes: 0 done, 1 failed, 2 bad usage.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/command_line.h"
#include "base/diagnostic.h"
#include "base/result.h"
#include "compiler/pipeline.h"

namespace scratchy {

int run_scratchyc(int argc, char** argv);

// What most commands take: where the models are, how to show diagnostics.
struct CommonArguments {
  std::filesystem::path models = "models";
  std::filesystem::path presets = "quant";
  std::string diagnostics = "text";
  bool json() const { return diagnostics == "json"; }
};

// --models, --presets and --diagnostics. `arguments` must live as long as `command`.
void add_common_flags(Command& command, CommonArguments& arguments);

// Prints what was collected to standard error, as text or JSON. Returns 1, or 0 when there is nothing.
int report(const Diagnostics& diagnostics, bool json);

// Prints a failure to standard error and returns 1.
int report(const Failure& failure);

void add_build(Command& app);
void add_check(Command& app);
void add_compile(Command& app);
void add_diff(Command& app);
void add_explain(Command& app);
void add_fmt(Command& app);
void add_interpret(Command& app);

}  // namespace scratchy
