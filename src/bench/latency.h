// scr bench latency: how fast one sequence runs, at several depths.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace scratchy {

struct LatencyOptions {
  std::string checkpoint;
  int prompt = 512, generate = 64, threads = 0, repeats = 3;
  std::vector<int> depths = {0};
  bool json = false;
  std::string profile;  // file for the times of steps; empty: none are taken
};

// Prints a table, or one JSON object, to standard output.
Status bench_latency(const LatencyOptions& options);

}  // namespace scratchy
