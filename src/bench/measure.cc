#include "bench/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

namespace scratchy {

double monotonic_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double percentile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(p * static_cast<double>(values.size())))];
}

std::vector<int32_t> spread_ids(int count, int32_t vocab) {
  std::vector<int32_t> ids;
  uint64_t state = 1;
  for (int i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ids.push_back(static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(vocab)));
  }
  return ids;
}

size_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

Result<BenchModel> load_bench_model(const std::string& path, int threads, int sequences) {
  BenchModel out;
  TRY(Checkpoint checkpoint, Checkpoint::open(path));
  out.checkpoint = std::make_unique<Checkpoint>(std::move(checkpoint));
  TRY(const CompiledProgram* program, Model::select(*out.checkpoint, 0));
  ModelOptions options;
  options.threads = threads;
  options.max_sequences = sequences;
  options.weights.cache_dir = user_pack_dir();
  TRY(out.model, Model::load(*program, *out.checkpoint, options));
  return out;
}

}  // namespace scratchy
