#include "bench/latency.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "bench/measure.h"
#include "bench/probe.h"
#include "bench/token_work.h"

namespace scratchy {
namespace {

// Seconds of one prompt into an empty sequence, logits of the last token only.
Result<double> time_prompt(Model& model, const std::vector<int32_t>& ids) {
  const int32_t sequence = model.add_sequence();
  const double begin = monotonic_seconds();
  TRY_STATUS(model.run(sequence, ids, 1, 0, [](const float*, const float*) {}));
  const double seconds = monotonic_seconds() - begin;
  model.remove_sequence(sequence);
  return seconds;
}

struct DecodeTimes {
  int depth;
  std::vector<double> seconds;  // of each token
};

// Tokens one by one behind `depth` tokens of history; the first warms up. `profile` gets the times of their steps.
Result<DecodeTimes> time_decode(Model& model, int depth, int count, std::vector<StepTime>* profile = nullptr) {
  DecodeTimes times{depth, {}};
  const int32_t sequence = model.add_sequence();
  const std::vector<int32_t> ids = spread_ids(depth + count + 1, model.program().vocab_size);
  if (depth > 0) TRY_STATUS(model.run(sequence, std::span(ids).first(static_cast<size_t>(depth)), 0, 0, [](const float*, const float*) {}));
  for (int i = 0; i <= count; ++i) {
    if (i == 1) model.time_steps(profile);
    const StepPart part{sequence, std::span(ids).subspan(static_cast<size_t>(depth + i), 1), 1};
    const double begin = monotonic_seconds();
    TRY([[maybe_unused]] const Executor::Output output, model.step({&part, 1}));
    if (i > 0) times.seconds.push_back(monotonic_seconds() - begin);
  }
  model.time_steps(nullptr);
  model.remove_sequence(sequence);
  return times;
}

// What the steps of one tape take, the mean of `runs` runs.
nlohmann::ordered_json profile_of(const std::vector<StepTime>& times, int rows, int depth, int runs) {
  nlohmann::ordered_json out = {{"rows", rows}, {"depth", depth}, {"steps", nlohmann::ordered_json::array()}};
  for (const StepTime& time : times) out["steps"].push_back({{"wait_s", time.wait_s / runs}, {"kernel_s", time.kernel_s / runs}});
  return out;
}

// One prompt's chunk and tokens behind `depth`, run again with the clock on: it costs tens of nanoseconds a step.
Status write_profile(Model& model, const std::vector<int32_t>& prompt, int depth, const LatencyOptions& options) {
  std::vector<StepTime> decode_times, prompt_times;
  TRY([[maybe_unused]] const DecodeTimes decode, time_decode(model, depth, options.generate, &decode_times));
  const auto rows = std::min(prompt.size(), static_cast<size_t>(model.max_tokens()));
  const std::vector<int32_t> chunk(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(rows));
  model.time_steps(&prompt_times);
  for (int i = 0; i < options.repeats; ++i) {
    TRY([[maybe_unused]] const double seconds, time_prompt(model, chunk));
  }
  model.time_steps(nullptr);
  nlohmann::ordered_json out = {{"arch", model.program().arch}, {"stem", model.program().stem}, {"quant", model.program().quant}, {"threads", model.threads()}};
  out["decode"] = profile_of(decode_times, 1, depth, options.generate);
  out["prompt"] = profile_of(prompt_times, static_cast<int>(rows), 0, options.repeats);
  return write_file_atomically(options.profile, out.dump(1) + "\n");
}

void print_histogram(const std::vector<double>& seconds) {
  const double low = *std::min_element(seconds.begin(), seconds.end()), high = *std::max_element(seconds.begin(), seconds.end());
  constexpr int kBins = 8;
  int bins[kBins] = {};
  for (const double s : seconds) ++bins[high > low ? std::min(kBins - 1, static_cast<int>((s - low) / (high - low) * kBins)) : 0];
  for (int b = 0; b < kBins; ++b) {
    std::printf("      %7.2f ms |%s\n", (low + (high - low) * b / kBins) * 1e3, std::string(static_cast<size_t>(bins[b] * 40) / seconds.size() + (bins[b] > 0), '#').c_str());
  }
}

}  // namespace

Status bench_latency(const LatencyOptions& options) {
  TRY(BenchModel loaded, load_bench_model(options.checkpoint, options.threads, 1));
  Model* model = loaded.model.get();
  const CompiledProgram* program = &model->program();
  const std::vector<int32_t> prompt = spread_ids(options.prompt, program->vocab_size);
  std::vector<double> prompt_seconds;
  for (int i = 0; i <= options.repeats; ++i) {
    TRY(const double seconds, time_prompt(*model, prompt));
    if (i > 0) prompt_seconds.push_back(seconds);
  }
  std::vector<DecodeTimes> decodes;
  for (const int depth : options.depths) {
    TRY(DecodeTimes times, time_decode(*model, depth, options.generate));
    decodes.push_back(std::move(times));
  }
  const size_t rss = peak_rss_bytes();
  if (!options.profile.empty()) TRY_STATUS(write_profile(*model, prompt, options.depths.front(), options));
  const double bandwidth = read_bandwidth(model->team());
  const TokenWork work = token_work(*program, model->weights());
  const MultiplyRate rate = multiply_rate(model->team(), program->profile, work.kind);
  const double bytes_a_position = static_cast<double>(program->page_bytes) / kPageTokens;
  const auto decode_fraction = [&](const DecodeTimes& times) {
    return (work.decode_bytes + times.depth * bytes_a_position) / median(times.seconds) / bandwidth;
  };
  const double prompt_rate = options.prompt / median(prompt_seconds);
  const double prompt_fraction = rate.per_s > 0 ? prompt_rate * work.prompt_multiplies / rate.per_s : 0;
  if (options.json) {
    nlohmann::ordered_json out;
    out["prompt"] = {{"tokens", options.prompt}, {"tokens_per_s", prompt_rate}, {"multiply_fraction", prompt_fraction}};
    for (const DecodeTimes& times : decodes) {
      out["decode"].push_back({{"depth", times.depth}, {"tokens_per_s", 1 / median(times.seconds)}, {"p90_ms", percentile(times.seconds, 0.9) * 1e3}, {"bandwidth_fraction", decode_fraction(times)}});
    }
    out["rss_bytes"] = rss;
    out["weight_bytes"] = model->weight_bytes();
    out["threads"] = model->threads();
    out["read_bandwidth_bytes_per_s"] = bandwidth;
    out["multiply_rate_per_s"] = rate.per_s;
    out["multiply_instruction"] = rate.instruction;
    std::printf("%s\n", out.dump().c_str());
    return Done{};
  }
  std::printf("%s / %s / %s, %d threads; this machine reads %.1f GB/s", program->arch, program->stem, program->quant, model->threads(), bandwidth / 1e9);
  if (rate.per_s > 0) std::printf(" and does %.0f G multiply-adds/s (%s)", rate.per_s / 1e9, rate.instruction);
  std::printf("\n  prompt of %d tokens: %.1f tokens/s", options.prompt, prompt_rate);
  if (rate.per_s > 0) std::printf(", %.0f %% of the multiply rate", prompt_fraction * 100);
  std::printf("\n");
  for (const DecodeTimes& times : decodes) {
    std::printf("  decode at depth %d: %.1f tokens/s (median; p10 %.2f ms, p90 %.2f ms), %.0f %% of the read bandwidth\n", times.depth, 1 / median(times.seconds),
                percentile(times.seconds, 0.1) * 1e3, percentile(times.seconds, 0.9) * 1e3, decode_fraction(times) * 100);
    print_histogram(times.seconds);
  }
  std::printf("  peak memory %.1f MB, weights %.1f MB\n", static_cast<double>(rss) / 1e6, static_cast<double>(model->weight_bytes()) / 1e6);
  return Done{};
}

}  // namespace scratchy
