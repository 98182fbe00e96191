// scratchyc check: every model to a verified tape, without weights and without sources.
//
// A model is traced and optimised once; its tapes are planned once for each layout of prepared rows that a preset asks
// for, since nothing else of a preset reaches a tape. Models are independent of each other: threads take them from one
// list, each with its own sources and diagnostics, and the table is printed in the order of the list.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <thread>

#include "base/text.h"
#include "compiler/commands/model_flags.h"
#include "compiler/model_size.h"
#include "tape/batch.h"

namespace scratchy {
namespace {

struct CheckArguments {
  ModelFlags model;
  bool all = false;
  int threads = 0;
};

// A row of the table.
struct Row {
  std::string model, quant;
  ModelSize size;
  int64_t kv_bytes_a_token = 0, state_bytes = 0, arena_bytes = 0;
  size_t steps = 0, rolled_steps = 0;
};

struct Task {
  std::string arch, config;
  std::vector<std::string> presets;  // "" is what the config says
};

struct Outcome {
  std::vector<Row> rows;
  SourceSet sources;  // diagnostics point into it
  Diagnostics diagnostics;
};

Row row_of(const OptimizedModel& model, const Plan& plan, const ModelSource& source) {
  Row row{.model = model.facts.display(), .quant = source.quant.empty() ? "dense" : source.quant, .size = model_size(model, source.section)};
  const Tape& prompt = plan.tapes.back();
  row.kv_bytes_a_token = plan.page_bytes / kPageTokens;
  row.state_bytes = plan.state_bytes;
  row.arena_bytes = (prompt.shared_row_bytes + prompt.local_row_bytes) * prompt.max_tokens;
  row.steps = prompt.steps.size();
  for (const TapeSegment& segment : prompt.segments) row.rolled_steps += static_cast<size_t>(segment.step_count);
  return row;
}

// What of the options reaches a tape.
std::string plan_key(const PipelineOptions& options) {
  const cpu::PreparedKinds kinds = cpu::prepared_kinds(options.target.variants);
  return std::to_string(kinds.bf16) + std::to_string(kinds.q16) + std::to_string(static_cast<int>(options.target.kv));
}

void check_model(const CheckArguments& arguments, const ModelRegistry& registry, const Task& task, Outcome& outcome) {
  ModelFlags flags = arguments.model;
  flags.arch = task.arch;
  flags.config = task.config;
  std::optional<OptimizedModel> model;
  std::map<std::string, Plan> plans;
  for (const std::string& preset : task.presets) {
    flags.quant = preset;
    auto selected = select_model(flags, registry, outcome.sources, outcome.diagnostics);
    const auto options = selected ? pipeline_options(flags, selected->source, outcome.diagnostics) : std::nullopt;
    if (!options) continue;
    if (!model) model = optimize_model(*selected->arch, selected->program, selected->source.facts, *options, outcome.diagnostics);
    if (!model) return;
    const auto [plan, fresh] = plans.try_emplace(plan_key(*options));
    if (fresh) plan->second = plan_model(*model, *options);
    outcome.rows.push_back(row_of(*model, plan->second, selected->source));
  }
}

std::string human(double bytes) {
  char text[32];
  const char* units[] = {"B", "KB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", bytes, units[unit]);
  return text;
}

std::string cells(const Row& row) {
  const std::string picks = row.size.experts > 0 ? " (" + std::to_string(row.size.picks) + " of " + std::to_string(row.size.experts) + ")" : "";
  char text[400];
  std::snprintf(text, sizeof text, "%-54s %-38s %17s %30s %11s %11s %11s %11s %6zu %6zu\n", row.model.c_str(), row.quant.c_str(), with_thousands(static_cast<uint64_t>(row.size.parameters)).c_str(),
                (with_thousands(static_cast<uint64_t>(row.size.active_parameters)) + picks).c_str(), human(row.size.weight_bytes).c_str(), human(static_cast<double>(row.kv_bytes_a_token)).c_str(),
                human(static_cast<double>(row.state_bytes)).c_str(), human(static_cast<double>(row.arena_bytes)).c_str(), row.steps, row.rolled_steps);
  return text;
}

std::string heading() {
  char text[400];
  std::snprintf(text, sizeof text, "%-54s %-38s %17s %30s %11s %11s %11s %11s %6s %6s\n", "model", "quant", "parameters", "active", "weights", "KV a token", "state", "arena", "steps", "rolled");
  return text;
}

std::vector<Task> tasks_of(const CheckArguments& arguments, const ModelRegistry& registry, Diagnostics& diagnostics) {
  const ModelFlags& flags = arguments.model;
  std::vector<std::string> presets = {flags.quant};
  if (flags.quant.empty()) {
    for (const std::string& preset : preset_names(flags.common.presets)) presets.push_back(preset);
  }
  if (!flags.config.empty()) return {{flags.arch, flags.config, presets}};
  std::vector<Task> tasks;
  const ArchDecl* only = flags.arch.empty() ? nullptr : registry.find(flags.arch, diagnostics);
  if (!flags.arch.empty() && only == nullptr) return tasks;
  for (const ArchDecl& arch : registry.architectures()) {
    if (only != nullptr && only != &arch) continue;
    for (const std::string& stem : arch.stems) tasks.push_back({arch.name, stem, presets});
  }
  return tasks;
}

// Runs every task, `width` at a time.
std::vector<std::unique_ptr<Outcome>> run_all(const CheckArguments& arguments, const ModelRegistry& registry, const std::vector<Task>& tasks, size_t width) {
  std::vector<std::unique_ptr<Outcome>> outcomes;
  for (size_t i = 0; i < tasks.size(); ++i) outcomes.push_back(std::make_unique<Outcome>());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < tasks.size(); i = next++) check_model(arguments, registry, tasks[i], *outcomes[i]);
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(width, tasks.size()); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

int check(const CheckArguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  SourceSet sources;
  Diagnostics diagnostics;
  const bool json = arguments.model.common.json();
  const auto registry = ModelRegistry::load(arguments.model.common.models, sources, diagnostics);
  if (!registry) return report(diagnostics, json);
  const std::vector<Task> tasks = tasks_of(arguments, *registry, diagnostics);
  if (!diagnostics.empty()) return report(diagnostics, json);
  const auto width = static_cast<size_t>(arguments.threads > 0 ? arguments.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  const auto outcomes = run_all(arguments, *registry, tasks, width);
  int exit_code = 0;
  size_t rows = 0;
  std::fputs(heading().c_str(), stdout);
  for (const auto& outcome : outcomes) {
    for (const Row& row : outcome->rows) std::fputs(cells(row).c_str(), stdout);
    rows += outcome->rows.size();
    exit_code |= report(outcome->diagnostics, json);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::fprintf(stderr, "%zu models, %zu combinations, %.1f s\n", tasks.size(), rows, seconds);
  return exit_code;
}

}  // namespace

void add_check(Command& app) {
  auto arguments = std::make_shared<CheckArguments>();
  Command* command = app.add_command("check", "compile to verified tapes only: one model, an architecture's, or all");
  add_model_flags(*command, arguments->model);
  command->add_option("--config", arguments->model.config, "stem of a checked-in config, a config.json, a GGUF file or a checkpoint folder; none means every config of the architecture");
  command->add_flag("--all", arguments->all, "every architecture, config and preset");
  command->add_option("--threads", arguments->threads, "models at a time; default the processors")->range(1, 256);
  command->runs([arguments, command] {
    const ModelFlags& flags = arguments->model;
    const bool named = !flags.arch.empty() || !flags.config.empty();
    if (!arguments->all && !named) return command->misused("`--all`, `--arch` or `--config` is missing");
    if (arguments->all && named) return command->misused("`--all` excludes `--arch` and `--config`");
    if (!flags.file.empty() && flags.config.empty() && flags.arch.empty()) return command->misused("`--config` is missing");
    return check(*arguments);
  });
}

}  // namespace scratchy
