// scratchyc interpret: the logits of given token ids by the reference interpreter, on the graph as the text says it.
//
// Slow and obviously right; what programs and passes are compared with. The file has the tensors of `scr logits`: `ids`
// i32[T], `logits` f32[N, V] of the last N positions (f64 with --f64), and `hidden` where the text has that output.

#include <cstdio>
#include <memory>

#include "base/file.h"
#include "base/text.h"
#include "base/token_ids.h"
#include "checkpoint/safetensors.h"
#include "compiler/commands/model_flags.h"
#include "compiler/model_weights.h"
#include "graph/interpret.h"

namespace scratchy {
namespace {

struct InterpretArguments {
  ModelFlags model;
  std::string weights, ids, ids_file;
  std::filesystem::path output;
  int last = 0, chunk = 0;
  bool f64 = false;
};

template <typename Real>
Status run(const InterpretArguments& arguments, const Graph& graph, const ModelWeights& weights, const std::vector<int32_t>& ids) {
  Interpreter<Real> interpreter(graph, [&](ResourceId id) -> Result<std::vector<Real>> {
    TRY(const std::vector<float> numbers, weights.weight(id));
    return std::vector<Real>(numbers.begin(), numbers.end());
  });
  Sequence<Real> sequence;
  std::map<std::string, std::vector<Real>> rows;
  const size_t step = arguments.chunk > 0 ? static_cast<size_t>(arguments.chunk) : ids.size();
  for (size_t at = 0; at < ids.size(); at += step) {
    const std::vector<int32_t> part(ids.begin() + static_cast<std::ptrdiff_t>(at), ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), at + step)));
    TRY(const auto outputs, interpreter.step(sequence, {.ids = part}));
    for (const auto& [name, tensor] : outputs) rows[name].insert(rows[name].end(), tensor.data.begin(), tensor.data.end());
  }
  const size_t last = arguments.last > 0 ? std::min(static_cast<size_t>(arguments.last), ids.size()) : ids.size();
  std::vector<TensorToWrite> tensors = {{"ids", DType::kI32, {ids.size()}, std::as_bytes(std::span(ids))}};
  for (const auto& [name, numbers] : rows) {
    const size_t width = numbers.size() / ids.size();
    tensors.push_back({name, sizeof(Real) == 8 ? DType::kF64 : DType::kF32, {last, width}, std::as_bytes(std::span(numbers).last(last * width))});
  }
  return write_safetensors(arguments.output, tensors);
}

int interpret(const InterpretArguments& arguments) {
  SourceSet sources;
  Diagnostics diagnostics;
  const bool json = arguments.model.common.json();
  ModelFlags flags = arguments.model;
  if (flags.config.empty()) flags.config = arguments.weights;
  const auto registry = ModelRegistry::load(flags.common.models, sources, diagnostics);
  auto selected = registry ? select_model(flags, *registry, sources, diagnostics) : std::nullopt;
  const auto options = selected ? pipeline_options(flags, selected->source, diagnostics) : std::nullopt;
  if (!options) return report(diagnostics, json);
  const auto model = optimize_model(*selected->arch, selected->program, selected->source.facts, *options, diagnostics);
  if (!model) return report(diagnostics, json);
  const auto done = [&]() -> Status {
    TRY(const std::vector<int32_t> ids, read_token_ids(arguments.ids, arguments.ids_file));
    TRY(const ModelWeights weights, ModelWeights::open(arguments.weights, *model->built, model->weights));
    return arguments.f64 ? run<double>(arguments, *model->built, weights, ids) : run<float>(arguments, *model->built, weights, ids);
  }();
  return done.ok() ? 0 : report(done.failure());
}

}  // namespace

void add_interpret(Command& app) {
  auto arguments = std::make_shared<InterpretArguments>();
  Command* command = app.add_command("interpret", "write the logits of given token ids by the reference interpreter");
  add_model_flags(*command, arguments->model);
  command->add_option("--config", arguments->model.config, "stem of a checked-in config, a config.json, a GGUF file or a checkpoint folder; default: the checkpoint's own");
  command->add_option("--weights", arguments->weights, "GGUF file or Hugging Face directory")->required();
  auto* ids = command->add_option("--ids", arguments->ids, "token ids, separated by commas");
  auto* file = command->add_option("--ids-file", arguments->ids_file, "file of token ids");
  ids->excludes(file);
  command->add_option("--last", arguments->last, "logits of the last N positions only")->at_least(1);
  command->add_option("--chunk", arguments->chunk, "tokens a step; default all")->at_least(1);
  command->add_flag("--f64", arguments->f64, "compute and write f64");
  command->add_option("-o,--output", arguments->output, "safetensors file to write")->required();
  command->runs([arguments, ids, file, command] {
    if (!ids->given() && !file->given()) return command->misused("`--ids` or `--ids-file` is missing");
    return interpret(*arguments);
  });
}

}  // namespace scratchy
