#include <memory>

#include "bench/commands.h"
#include "bench/latency.h"
#include "cli/commands.h"

namespace scratchy::cli {

void add_bench(CLI::App& app, int& exit_code) {
  CLI::App* bench = app.add_subcommand("bench", "measure speed and memory");
  bench->require_subcommand(1);
  auto options = std::make_shared<LatencyOptions>();
  CLI::App* latency = bench->add_subcommand("latency", "one sequence: prompt and decode rates at several depths");
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

}  // namespace scratchy::cli
