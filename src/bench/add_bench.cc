#include <memory>

#include "bench/commands.h"
#include "bench/latency.h"
#include "bench/startup.h"
#include "bench/throughput.h"
#include "cli/commands.h"

namespace scratchy::cli {

namespace {

void add_latency(Command& bench) {
  auto options = std::make_shared<LatencyOptions>();
  Command* latency = bench.add_command("latency", "one sequence: prompt and decode rates at several depths");
  latency->add_option("checkpoint", options->checkpoint, "GGUF file or Hugging Face directory")->required();
  latency->add_option("--prompt", options->prompt, "tokens of the prompt")->range(1, 1 << 20);
  latency->add_option("--gen", options->generate, "tokens to decode at each depth")->range(1, 1 << 16);
  latency->add_option("--depth", options->depths, "tokens of history before decoding, separated by commas")->comma_separated()->at_least(0);
  latency->add_option("--threads", options->threads, "threads")->range(1, 1024);
  latency->add_option("--repeats", options->repeats, "timed prompts; the median counts")->range(1, 100);
  latency->add_option("--profile", options->profile, "write what each step of the prompt's and the first depth's tape takes, for `scratchyc explain --measured`");
  latency->add_flag("--json", options->json, "one JSON object");
  latency->runs([options] {
    const Status done = bench_latency(*options);
    return done.ok() ? 0 : fail(done.failure());
  });
}

void add_throughput(Command& bench) {
  auto options = std::make_shared<ThroughputOptions>();
  Command* throughput = bench.add_command("throughput", "several sequences that decode together");
  throughput->add_option("checkpoint", options->checkpoint, "GGUF file or Hugging Face directory")->required();
  throughput->add_option("--sequences", options->sequences, "how many, separated by commas")->comma_separated()->range(1, 1024);
  throughput->add_option("--prompt", options->prompt, "tokens of history of each")->range(1, 1 << 20);
  throughput->add_option("--gen", options->generate, "tokens to decode of each")->range(1, 1 << 16);
  throughput->add_option("--threads", options->threads, "threads")->range(1, 1024);
  throughput->add_flag("--json", options->json, "one JSON object");
  throughput->runs([options] {
    const Status done = bench_throughput(*options);
    return done.ok() ? 0 : fail(done.failure());
  });
}

void add_startup(Command& bench) {
  auto options = std::make_shared<StartupOptions>();
  Command* startup = bench.add_command("startup", "exec to first token, cold and warm");
  startup->add_option("checkpoint", options->checkpoint, "GGUF file or Hugging Face directory")->required();
  startup->add_option("--prompt", options->words, "words of the prompt")->range(1, 1 << 16);
  startup->add_option("--repeats", options->repeats, "warm starts; the median counts")->range(1, 100);
  startup->add_option("--threads", options->threads, "threads")->range(1, 1024);
  startup->add_flag("--json", options->json, "one JSON object");
  startup->runs([options] {
    const Status done = bench_startup(*options);
    return done.ok() ? 0 : fail(done.failure());
  });
}

}  // namespace

void add_bench(Command& app) {
  Command* bench = app.add_command("bench", "measure speed and memory");
  add_latency(*bench);
  add_throughput(*bench);
  add_startup(*bench);
}

}  // namespace scratchy::cli
