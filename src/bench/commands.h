// scr bench, linked into a binary whose scope names `bench`.
#pragma once

#include "base/command_line.h"

namespace scratchy::cli {

void add_bench(Command& app);

}  // namespace scratchy::cli
