// The commands of scr, one file each. Each adds itself to the command line and sets the exit code when it runs: 0 done,
// 1 failed, 2 bad usage, 130 interrupted.
#pragma once

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace scratchy::cli {

// Parses the command line and runs one command.
int run(int argc, char** argv);

// Prints "error: <failure>" to standard error; 1.
int fail(const Failure& failure);

void add_chat(CLI::App& app, int& exit_code);
void add_logits(CLI::App& app, int& exit_code);
void add_tokenize(CLI::App& app, int& exit_code);
void add_detokenize(CLI::App& app, int& exit_code);
void add_template(CLI::App& app, int& exit_code);
void add_model(CLI::App& app, int& exit_code);

}  // namespace scratchy::cli
