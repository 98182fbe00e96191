#include <memory>

#include "bench/commands.h"
#include "bench/latency.h"
#include "bench/startup.h"
#include "bench/throughput.h"
#include "cli/commands.h"

namespace scratchy::cli {

namespace {

void add_latency(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<LatencyOptions>();
  CLI::App* latency = bench.add_subcommand("latency", "one sequence: prompt and decode rates at several depths");
  latency->add_option("checkpoint", options->checkpoint, "GGUF file or Hugging Face directory")->required();
  latency->add_option("--prompt", options->prompt, "tokens of the prompt")->check(CLI::Range(1, 1 << 20));
  latency->add_option("--gen", options->generate, "tokens to decode at each depth")->check(CLI::Range(1, 1 << 16));
  latency->add_option("--depth", options->depths, "tokens of history before decoding, separated by commas")->delimiter(',')->check(CLI::NonNegativeNumber);
  latency->add_option("--threads", options->threads, "threads")->check(CLI::Range(1, 1024));
  latency->add_option("--repeats", options->repeats, "timed prompts; the median counts")->check(CLI::Range(1, 100));
  latency->add_option("--profile", options->profile, "write what each step of the prompt's and the first depth's tape takes, for `scratchyc explain --measured`");
  latency->add_flag("--json", options->json, "one JSON object");
  latency->callback([options, &exit_code] {
    const Status done = bench_latency(*options);
    exit_code = done.ok() ? 0 : fail(done.failure());
  });
}

void add_throughput(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<ThroughputOptions>();
  CLI::App* throughput = bench.add_subcommand("throughput", "several sequences that decode together");
  throughput->add_option("checkpoint", options->checkpoint, "GGUF file or Hugging Face directory")->required();
  throughput->add_option("--sequences", options->sequences, "how many, separated by commas")->delimiter(',')->check(CLI::Range(1, 1024));
  throughput->add_option("--prompt", options->prompt, "tokens of history of each")->check(CLI::Range(1, 1 << 20));
  throughput->add_option("--gen", options->generate, "tokens to decode of each")->check(CLI::Range(1, 1 << 16));
  throughput->add_option("--threads", options->threads, "threads")->check(CLI::Range(1, 1024));
  throughput->add_flag("--json", options->json, "one JSON object");
  throughput->callback([options, &exit_code] {
    const Status done = bench_throughput(*options);
    exit_code = done.ok() ? 0 : fail(done.failure());
  });
}

void add_startup(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<StartupOptions>();
  CLI::App* startup = bench.add_subcommand("startup", "exec to first token, cold and warm");
  startup->add_option("checkpoint", options->checkpoint, "GGUF file or Hugging Face directory")->required();
  startup->add_option("--prompt", options->words, "words of the prompt")->check(CLI::Range(1, 1 << 16));
  startup->add_option("--repeats", options->repeats, "warm starts; the median counts")->check(CLI::Range(1, 100));
  startup->add_option("--threads", options->threads, "threads")->check(CLI::Range(1, 1024));
  startup->add_flag("--json", options->json, "one JSON object");
  startup->callback([options, &exit_code] {
    const Status done = bench_startup(*options);
    exit_code = done.ok() ? 0 : fail(done.failure());
  });
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  CLI::App* bench = app.add_subcommand("bench", "measure speed and memory");
  bench->require_subcommand(1);
  add_latency(*bench, exit_code);
  add_throughput(*bench, exit_code);
  add_startup(*bench, exit_code);
}

}  // namespace scratchy::cli
