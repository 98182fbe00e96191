// scr bench startup: from exec of this binary to the first byte of an answer.
#pragma once

#include <string>

#include "base/result.h"

namespace scratchy {

struct StartupOptions {
  std::string checkpoint;
  int words = 32, repeats = 5, threads = 0;
  bool json = false;
};

// Runs `scr chat` as a child: cold, with its files evicted from the page cache, which is verified, then warm. Prints a
// table, or one JSON object, to standard output.
Status bench_startup(const StartupOptions& options);

}  // namespace scratchy
