// The commands of scr, one file each. Each adds itself to the command line; exit codes: 0 done, 1 failed, 2 bad usage,
// 130 interrupted.
#pragma once

#include "base/command_line.h"
#include "base/result.h"

namespace scratchy::cli {

// Parses the command line and runs one command.
int run(int argc, char** argv);

// Prints "error: <failure>" to standard error; 1.
int fail(const Failure& failure);

void add_chat(Command& app);
void add_logits(Command& app);
void add_tokenize(Command& app);
void add_detokenize(Command& app);
void add_template(Command& app);
void add_model(Command& app);

}  // namespace scratchy::cli
