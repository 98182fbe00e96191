// scratchyc explain: each step of a model's tapes with its bytes, operations and predicted time.

#include <cstdio>
#include <memory>

#include "base/file.h"
#include "compiler/commands/model_flags.h"
#include "compiler/explain.h"
#include "compiler/model_size.h"
#include "compiler/scope.h"

namespace scratchy {
namespace {

struct ExplainArguments {
  ModelFlags model;
  std::string scope;
  std::filesystem::path html, measured;
  double bandwidth = 80, multiply_rate = 400;
  int depth = 1024, prompt = 256;
};

// The model a scope names; a page is about one.
bool apply_scope(const ExplainArguments& arguments, const ModelRegistry& registry, ModelFlags& flags, Diagnostics& diagnostics) {
  if (arguments.scope.empty()) return true;
  const auto scope = parse_scope(arguments.scope, registry, preset_names(flags.common.presets), !flags.config.empty(), diagnostics);
  if (!scope) return false;
  flags.target = scope->target;
  flags.quant = scope->quant;
  if (scope->models.size() > 1) {
    diagnostics.add(DiagnosticKind::kBadFlag, {}, {{"flag", "-F"}, {"value", arguments.scope}, {"rule", "a scope of one model"}}).suggest("say `model/<stem>`");
    return false;
  }
  if (scope->models.empty()) return true;
  flags.arch = scope->models[0].arch->name;
  flags.config = scope->models[0].stem;
  return true;
}

ExplainedTape decode_tape(const Plan& plan, const std::vector<double>& bytes, int64_t depth) {
  return {"decode, 1 row after " + std::to_string(depth) + " positions", {&plan, &plan.tapes.front(), bytes, 1, depth}, {}};
}

// The tape that serves so many rows.
ExplainedTape prompt_tape(const Plan& plan, const std::vector<double>& bytes, int64_t rows) {
  const Tape* tape = plan.tapes.data();
  while (tape->max_tokens < rows && tape != &plan.tapes.back()) ++tape;
  rows = std::min<int64_t>(rows, tape->max_tokens);
  return {"prompt, " + std::to_string(rows) + " rows", {&plan, tape, bytes, rows, 0}, {}};
}

// A Failure when the profile is of another tape.
Status add_measured(ExplainedTape& tape, const MeasuredTape& measured) {
  size_t count = 0;
  for (const TapeSegment& segment : tape.input.tape->segments) count += static_cast<size_t>(segment.step_count);
  if (measured.steps.size() != count) {
    return Failure("the profile has " + std::to_string(measured.steps.size()) + " steps where this model's tape has " + std::to_string(count) +
                   ": it was measured on another program; give explain the flags that `scr` was built with");
  }
  tape.measured = measured.steps;
  return Done{};
}

Explanation explanation_of(const ExplainArguments& arguments, const OptimizedModel& model, const Plan& plan, const ModelSource& source) {
  const ModelSize size = model_size(model, source.section);
  std::vector<double> bytes;
  for (const PlannedWeight& weight : plan.weights) {
    const Type& whole = plan.graph->resources[static_cast<size_t>(weight.resource.index)].type;
    double all = 1;
    for (const int64_t dim : whole.dims) all *= static_cast<double>(dim);
    bytes.push_back(size.bytes_of_resource[static_cast<size_t>(weight.resource.index)] * static_cast<double>(weight.matrices * weight.rows * weight.columns) / all);
  }
  Explanation out;
  out.model = model.facts.display() + ", " + (source.quant.empty() ? "dense" : source.quant);
  out.rate.bytes_per_s = arguments.bandwidth * 1e9;
  out.rate.multiplies_per_s = arguments.multiply_rate * 1e9;
  out.tapes.push_back(decode_tape(plan, bytes, arguments.depth));
  out.tapes.push_back(prompt_tape(plan, bytes, arguments.prompt));
  return out;
}

int explain(ExplainArguments arguments) {
  std::optional<StepProfile> profile;
  if (!arguments.measured.empty()) {
    Result<StepProfile> read = read_step_profile(arguments.measured);
    if (!read.ok()) return report(read.failure());
    profile = std::move(read.value());
    arguments.depth = static_cast<int>(profile->decode.depth);
    arguments.prompt = static_cast<int>(profile->prompt.rows);
  }
  SourceSet sources;
  Diagnostics diagnostics;
  ModelFlags flags = arguments.model;
  const auto registry = ModelRegistry::load(flags.common.models, sources, diagnostics);
  if (!registry || !apply_scope(arguments, *registry, flags, diagnostics)) return report(diagnostics, flags.common.json());
  const auto selected = select_model(flags, *registry, sources, diagnostics);
  const auto options = selected ? pipeline_options(flags, selected->source, diagnostics) : std::nullopt;
  const auto model = options ? optimize_model(*selected->arch, selected->program, selected->source.facts, *options, diagnostics) : std::nullopt;
  if (!model) return report(diagnostics, flags.common.json());
  const Plan plan = plan_model(*model, *options);
  Explanation explanation = explanation_of(arguments, *model, plan, selected->source);
  if (profile) {
    for (const auto& [tape, measured] : {std::pair(&explanation.tapes[0], &profile->decode), std::pair(&explanation.tapes[1], &profile->prompt)}) {
      const Status added = add_measured(*tape, *measured);
      if (!added.ok()) return report(added.failure());
    }
  }
  std::fputs(explain_text(explanation).c_str(), stdout);
  if (arguments.html.empty()) return 0;
  const Status written = write_file_atomically(arguments.html, explain_html(explanation));
  return written.ok() ? 0 : report(written.failure());
}

}  // namespace

void add_explain(Command& app) {
  auto arguments = std::make_shared<ExplainArguments>();
  Command* command = app.add_command("explain", "show each step with its bytes, operations and predicted time");
  add_model_flags(*command, arguments->model);
  command->add_option("--config", arguments->model.config, "stem of a checked-in config, a config.json, a GGUF file or a checkpoint folder");
  command->add_option("-F,--features", arguments->scope, "scope of one model: cpu,model/<stem>[,quant/<preset>]");
  command->add_option("--bandwidth", arguments->bandwidth, "bytes read from memory, GB/s")->at_least(1)->show_default();
  command->add_option("--multiply-rate", arguments->multiply_rate, "1e9 multiply-adds a second")->at_least(1)->show_default();
  command->add_option("--depth", arguments->depth, "positions before a decoded token")->range(0, 1 << 30)->show_default();
  command->add_option("--prompt", arguments->prompt, "rows of the prompt, at most the largest bucket")->at_least(1)->show_default();
  command->add_option("--measured", arguments->measured, "a file of `scr bench latency --profile`: measured times beside the predicted, of its depth and prompt");
  command->add_option("--html", arguments->html, "write a self-contained page with the memory map");
  command->runs([arguments, command] {
    if (arguments->scope.empty() && arguments->model.config.empty()) return command->misused("`-F` or `--config` is missing");
    return explain(*arguments);
  });
}

}  // namespace scratchy
