// scr bench, linked into a binary whose scope names `bench`.
#pragma once

#include <CLI/CLI.hpp>

namespace scratchy::cli {

void add_bench(CLI::App& app, int& exit_code);

}  // namespace scratchy::cli
