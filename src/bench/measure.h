// What the benchmarks share: the clock, order statistics, ids to run, a model to run them on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "runtime/model.h"

namespace scratchy {

double monotonic_seconds();

double median(std::vector<double> values);
double percentile(std::vector<double> values, double p);  // p in [0, 1)

// Ids that look like text to the caches: spread over the vocabulary, the same in every run.
std::vector<int32_t> spread_ids(int count, int32_t vocab);

// Resident bytes at most so far, as wait4(2) and getrusage(2) count them.
size_t peak_rss_bytes();

struct BenchModel {
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<Model> model;
};

// `path` loaded into the program of this binary that fits, with its pack in the user's cache.
Result<BenchModel> load_bench_model(const std::string& path, int threads, int sequences);

}  // namespace scratchy
