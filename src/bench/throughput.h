// scr bench throughput: tokens a second of several sequences that decode in the same steps.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace scratchy {

struct ThroughputOptions {
  std::string checkpoint;
  std::vector<int> sequences = {1, 2, 4, 8, 16};
  int prompt = 64, generate = 32, threads = 0;
  bool json = false;
};

// Prints a table, or one JSON object, to standard output.
Status bench_throughput(const ThroughputOptions& options);

}  // namespace scratchy
