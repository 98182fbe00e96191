#include "bench/throughput.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/measure.h"

namespace scratchy {
namespace {

// Median seconds of a step that decodes one token of each of `count` sequences behind a prompt.
Result<double> time_steps_of(Model& model, int count, const ThroughputOptions& options) {
  const std::vector<int32_t> ids = spread_ids(options.prompt + options.generate + 1, model.program().vocab_size);
  std::vector<StepPart> parts;
  for (int i = 0; i < count; ++i) {
    const int32_t sequence = model.add_sequence();
    if (sequence < 0) return Failure("no sequence is free");
    TRY_STATUS(model.run(sequence, std::span(ids).first(static_cast<size_t>(options.prompt)), 0, 0, [](const float*, const float*) {}));
    parts.push_back({sequence, {}, 1});
  }
  std::vector<double> seconds;
  for (int token = 0; token <= options.generate; ++token) {  // the first warms up
    for (StepPart& part : parts) part.tokens = std::span(ids).subspan(static_cast<size_t>(options.prompt + token), 1);
    const double begin = monotonic_seconds();
    TRY([[maybe_unused]] const Executor::Output output, model.step(parts));
    if (token > 0) seconds.push_back(monotonic_seconds() - begin);
  }
  for (const StepPart& part : parts) model.remove_sequence(part.sequence);
  return median(seconds);
}

}  // namespace

Status bench_throughput(const ThroughputOptions& options) {
  TRY(BenchModel loaded, load_bench_model(options.checkpoint, options.threads, *std::max_element(options.sequences.begin(), options.sequences.end())));
  Model& model = *loaded.model;
  nlohmann::ordered_json out;
  if (!options.json) std::printf("%s / %s / %s, %d threads, behind %d tokens\n", model.program().arch, model.program().stem, model.program().quant, model.threads(), options.prompt);
  for (const int count : options.sequences) {
    if (count > model.max_tokens()) return Failure(std::to_string(count) + " sequences: a step holds " + std::to_string(model.max_tokens()) + " tokens");
    TRY(const double seconds, time_steps_of(model, count, options));
    out["decode"].push_back({{"sequences", count}, {"tokens_per_s", count / seconds}, {"step_ms", seconds * 1e3}});
    if (!options.json) std::printf("  %4d sequences: %8.1f tokens/s together, %.2f ms a step\n", count, count / seconds, seconds * 1e3);
  }
  out["rss_bytes"] = peak_rss_bytes();
  out["threads"] = model.threads();
  if (options.json) std::printf("%s\n", out.dump().c_str());
  return Done{};
}

}  // namespace scratchy
