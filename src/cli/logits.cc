// scr logits: the logits of given token ids, for comparing anything with anything.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>

#include "base/file.h"
#include "base/text.h"
#include "base/token_ids.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "cli/commands.h"
#include "cli/open_model.h"
#include "runtime/model.h"

namespace scratchy::cli {
namespace {

struct LogitsArguments {
  std::string checkpoint, ids, ids_file, batch_with, output;
  int last = 0, chunk = 0, threads = 0;
};

// Other sequences, one a line of --batch-with.
Result<std::vector<std::vector<int32_t>>> read_companions(const std::string& path) {
  std::vector<std::vector<int32_t>> companions;
  if (path.empty()) return companions;
  TRY(const std::string text, read_file(path, uint64_t{1} << 26));
  for (const std::string& line : split(text, '\n')) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    TRY(std::vector<int32_t> ids, parse_token_ids(line, path));
    companions.push_back(std::move(ids));
  }
  if (companions.empty()) return Failure(path + ": no sequences; give one a line");
  return companions;
}

// Rows of f32 gathered for the file.
struct Rows {
  std::vector<float> logits, hidden;
  int64_t count = 0;
  void add(const float* row, const float* hidden_row, const CompiledProgram& program) {
    logits.insert(logits.end(), row, row + program.vocab_size);
    if (hidden_row != nullptr) hidden.insert(hidden.end(), hidden_row, hidden_row + program.hidden_size);
    ++count;
  }
};

// Runs the ids while other sequences run in the same batches: each step takes a share of every sequence.
Status run_batched(Model& model, const std::vector<int32_t>& ids, const std::vector<std::vector<int32_t>>& companions, int last, int chunk, Rows& rows) {
  const auto share = static_cast<int64_t>(model.max_tokens()) / (static_cast<int64_t>(companions.size()) + 1);
  const int64_t most = chunk > 0 ? std::min<int64_t>(chunk, share) : share;
  if (most < 1) return Failure("--batch-with: " + std::to_string(companions.size()) + " sequences do not fit in one step of " + std::to_string(model.max_tokens()) + " tokens");
  std::vector<std::span<const int32_t>> left;
  std::vector<int32_t> sequences;
  for (const auto& companion : companions) left.emplace_back(companion);
  left.insert(left.begin() + static_cast<std::ptrdiff_t>(left.size() / 2), ids);  // not first, so that its rows move
  const size_t own = companions.size() / 2;
  for (size_t i = 0; i < left.size(); ++i) sequences.push_back(model.add_sequence());
  while (!left[own].empty()) {
    std::vector<StepPart> parts;
    int64_t skip = 0;
    for (size_t i = 0; i < left.size(); ++i) {
      const auto count = std::min<size_t>(left[i].size(), static_cast<size_t>(model.program().whole_prompt ? share : most));
      if (count == 0) continue;
      const auto rest = static_cast<int64_t>(left[i].size() - count);
      const int64_t wanted = i == own ? std::clamp<int64_t>(last - rest, 0, static_cast<int64_t>(count)) : 1;
      if (i < own) skip += wanted;
      parts.push_back({sequences[i], left[i].first(count), static_cast<int32_t>(wanted)});
      left[i] = left[i].subspan(count);
    }
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const StepPart& p) { return p.sequence == sequences[own]; });
    TRY(const Executor::Output output, model.step(parts));
    for (int64_t row = skip; row < skip + part->output_count; ++row) {
      rows.add(output.logits + row * output.stride, output.hidden == nullptr ? nullptr : output.hidden + row * output.hidden_stride, model.program());
    }
  }
  return Done{};
}

Status logits(const LogitsArguments& arguments) {
  TRY_STATUS(check_programs());
  TRY(const std::vector<int32_t> ids, read_token_ids(arguments.ids, arguments.ids_file));
  TRY(const auto companions, read_companions(arguments.batch_with));
  TRY(const Checkpoint checkpoint, Checkpoint::open(arguments.checkpoint));
  TRY(const CompiledProgram* program, Model::select(checkpoint, static_cast<int64_t>(ids.size())));
  ModelOptions options;
  options.threads = arguments.threads;
  options.max_sequences = static_cast<int32_t>(companions.size()) + 1;
  options.weights = weight_options();
  TRY(const std::unique_ptr<Model> model, Model::load(*program, checkpoint, options));
  const int last = arguments.last > 0 ? std::min(arguments.last, static_cast<int>(ids.size())) : static_cast<int>(ids.size());
  Rows rows;
  if (companions.empty()) {
    TRY_STATUS(model->run(model->add_sequence(), ids, last, arguments.chunk, [&](const float* row, const float* hidden) { rows.add(row, hidden, *program); }));
  } else {
    TRY_STATUS(run_batched(*model, ids, companions, last, arguments.chunk, rows));
  }
  std::vector<TensorToWrite> tensors = {
      {"ids", DType::kI32, {ids.size()}, std::as_bytes(std::span(ids))},
      {"logits", DType::kF32, {static_cast<uint64_t>(rows.count), static_cast<uint64_t>(program->vocab_size)}, std::as_bytes(std::span(rows.logits))}};
  if (!rows.hidden.empty()) {
    tensors.push_back({"hidden", DType::kF32, {static_cast<uint64_t>(rows.count), static_cast<uint64_t>(program->hidden_size)}, std::as_bytes(std::span(rows.hidden))});
  }
  return write_safetensors(arguments.output, tensors);
}

}  // namespace

void add_logits(Command& app) {
  auto arguments = std::make_shared<LogitsArguments>();
  Command* command = app.add_command("logits", "write the logits of given token ids to a safetensors file");
  command->add_option("checkpoint", arguments->checkpoint, "GGUF file or Hugging Face directory")->required();
  auto* ids = command->add_option("--ids", arguments->ids, "token ids, separated by commas");
  auto* file = command->add_option("--ids-file", arguments->ids_file, "file of token ids");
  ids->excludes(file);
  command->add_option("--last", arguments->last, "logits of the last N positions only")->at_least(1);
  command->add_option("--chunk", arguments->chunk, "tokens a step")->at_least(1);
  command->add_option("--threads", arguments->threads, "threads")->range(1, 1024);
  command->add_option("--batch-with", arguments->batch_with, "file of other sequences, one a line, that run in the same batches");
  command->add_option("-o,--output", arguments->output, "safetensors file to write")->required();
  command->runs([arguments, ids, file, command] {
    if (!ids->given() && !file->given()) return command->misused("`--ids` or `--ids-file` is missing");
    const Status done = logits(*arguments);
    return done.ok() ? 0 : fail(done.failure());
  });
}

}  // namespace scratchy::cli
