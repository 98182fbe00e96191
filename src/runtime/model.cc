#include "runtime/model.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "checkpoint/check_tensors.h"
#include "runtime/check_config.h"

namespace scratchy {

Result<const CompiledProgram*> Model::select(const Checkpoint& checkpoint, int64_t positions) {
  std::string reasons;
  const CompiledProgram* chosen = nullptr;
  const auto holds = [&](const CompiledProgram* program) { return positions > 0 && program->max_context >= positions; };
  for (int i = 0; i < kProgramCount; ++i) {
    const CompiledProgram* program = kPrograms[i];
    const Result<WeightRoot> tensors = check_tensors(checkpoint, *program->weight_plan);
    const Status fits = tensors.ok() ? check_config(checkpoint, *program) : Status(Failure(tensors.failure().message()));
    if (!fits.ok()) {
      reasons += "\n  " + std::string(program->arch) + " x " + program->stem + " x " + program->quant + ": " + fits.failure().message();
      continue;
    }
    const bool better = chosen == nullptr || (holds(chosen) ? holds(program) && program->max_context < chosen->max_context : program->max_context > chosen->max_context);
    if (better) chosen = program;
  }
  if (chosen != nullptr) return chosen;
  return Failure("no program of this binary fits `" + checkpoint.path().string() + "`:" + reasons);
}

Result<std::unique_ptr<Model>> Model::load(const CompiledProgram& program, const Checkpoint& checkpoint, const ModelOptions& options) {
  std::unique_ptr<Model> model(new Model());
  model->program_ = &program;
  model->max_context_ = options.max_context > 0 ? std::min(options.max_context, program.max_context) : program.max_context;
  model->team_ = std::make_unique<Team>(options.threads > 0 ? options.threads : default_thread_count());
  TRY(model->weights_, WeightStore::open(program, checkpoint, options.weights));
  TRY(Executor executor, Executor::make(program, model->weights_.views(), *model->team_));
  model->executor_ = std::make_unique<Executor>(std::move(executor));
  const int32_t pages_each = (model->max_context_ + kPageTokens - 1) / kPageTokens;
  const int32_t page_count = pages_each * options.max_sequences;
  TRY(model->pages_, Memory::reserve(static_cast<size_t>(page_count) * static_cast<size_t>(program.page_bytes), Memory::Pages::kHuge));
  TRY(model->states_, Memory::reserve(static_cast<size_t>(options.max_sequences) * static_cast<size_t>(program.state_bytes)));
  for (int32_t page = page_count; page-- > 0;) model->free_pages_.push_back(page);
  model->sequences_.resize(static_cast<size_t>(options.max_sequences));
  for (SequenceState& sequence : model->sequences_) sequence.pages.reserve(static_cast<size_t>(pages_each));
  model->rows_.reserve(static_cast<size_t>(model->max_tokens()));
  model->output_rows_.reserve(static_cast<size_t>(model->max_tokens()));
  model->sequence_rows_.reserve(static_cast<size_t>(options.max_sequences));
  return model;
}

int32_t Model::add_sequence() {
  for (size_t i = 0; i < sequences_.size(); ++i) {
    if (sequences_[i].used) continue;
    sequences_[i].used = true;
    sequences_[i].length = 0;
    if (states_.size() > 0) std::memset(states_.data() + i * static_cast<size_t>(program_->state_bytes), 0, static_cast<size_t>(program_->state_bytes));
    return static_cast<int32_t>(i);
  }
  return -1;
}

void Model::remove_sequence(int32_t sequence) {
  truncate(sequence, 0);
  sequences_[sequence].used = false;
}

bool Model::truncate(int32_t sequence, int32_t length) {
  SequenceState& state = sequences_[sequence];
  if (length > 0 && length < state.length && program_->state_bytes > 0) return false;
  state.length = std::min(length, state.length);
  const auto keep = static_cast<size_t>((state.length + kPageTokens - 1) / kPageTokens);
  while (state.pages.size() > keep) {
    free_pages_.push_back(state.pages.back());
    state.pages.pop_back();
  }
  if (state.length == 0 && states_.size() > 0) {
    std::memset(states_.data() + static_cast<size_t>(sequence) * static_cast<size_t>(program_->state_bytes), 0, static_cast<size_t>(program_->state_bytes));
  }
  return true;
}

bool Model::reserve_pages(SequenceState& sequence, int32_t length) {
  const auto wanted = static_cast<size_t>((length + kPageTokens - 1) / kPageTokens);
  while (sequence.pages.size() < wanted) {
    if (free_pages_.empty()) return false;
    sequence.pages.push_back(free_pages_.back());
    free_pages_.pop_back();
  }
  return true;
}

Status Model::check(std::span<const StepPart> parts) const {
  size_t total = 0;
  for (const StepPart& part : parts) {
    total += part.tokens.size();
    const int64_t length = int64_t{sequences_[part.sequence].length} + static_cast<int64_t>(part.tokens.size());
    if (length > max_context_) {
      return Failure("a sequence of " + std::to_string(length) + " tokens: the context holds " + std::to_string(max_context_));
    }
    for (const int32_t token : part.tokens) {
      if (token < 0 || token >= program_->vocab_size) {
        return Failure("token id " + std::to_string(token) + ": the vocabulary has ids 0 to " + std::to_string(program_->vocab_size - 1));
      }
    }
  }
  if (total == 0 || total > static_cast<size_t>(max_tokens())) {
    return Failure("a step of " + std::to_string(total) + " tokens: 1 to " + std::to_string(max_tokens()) + " are possible");
  }
  return Done{};
}

void Model::fill_batch(std::span<const StepPart> parts) {
  rows_.clear();
  sequence_rows_.clear();
  output_rows_.clear();
  for (const StepPart& part : parts) {
    SequenceState& state = sequences_[part.sequence];
    const auto index = static_cast<int32_t>(sequence_rows_.size());
    const auto first = static_cast<int32_t>(rows_.size());
    const auto count = static_cast<int32_t>(part.tokens.size());
    sequence_rows_.push_back({first, count, part.sequence, state.pages.data()});
    for (int32_t i = 0; i < count; ++i) rows_.push_back({part.tokens[i], state.length + i, index});
    for (int32_t i = std::max(0, count - part.output_count); i < count; ++i) output_rows_.push_back(first + i);
    state.length += count;
  }
  batch_ = {static_cast<int32_t>(rows_.size()), rows_.data(), static_cast<int32_t>(sequence_rows_.size()), sequence_rows_.data(),
            static_cast<int32_t>(output_rows_.size()), output_rows_.data()};
}

Result<Executor::Output> Model::step(std::span<const StepPart> parts) {
  TRY_STATUS(check(parts));
  for (const StepPart& part : parts) {
    SequenceState& state = sequences_[part.sequence];
    if (!reserve_pages(state, state.length + static_cast<int32_t>(part.tokens.size()))) return Failure("no free KV pages are left");
  }
  fill_batch(parts);
  return executor_->run(batch_, {pages_.data(), static_cast<size_t>(program_->page_bytes)}, states_.data());
}

Status Model::run(int32_t sequence, std::span<const int32_t> tokens, int32_t output_count, int32_t chunk,
                  const std::function<void(const float* logits, const float* hidden)>& take) {
  const auto total = static_cast<int64_t>(tokens.size());
  const int64_t most = program_->whole_prompt || chunk <= 0 ? max_tokens() : std::min<int64_t>(chunk, max_tokens());
  if (program_->whole_prompt && total > most) {
    return Failure("a text of " + std::to_string(total) + " tokens: this encoder reads at most " + std::to_string(most) + " at once");
  }
  for (int64_t done = 0; done < total;) {
    const int64_t count = std::min(most, total - done);
    const int64_t wanted = std::clamp<int64_t>(done + count - (total - output_count), 0, count);
    const StepPart part{sequence, tokens.subspan(static_cast<size_t>(done), static_cast<size_t>(count)), static_cast<int32_t>(wanted)};
    TRY(const Executor::Output output, step({&part, 1}));
    for (int64_t row = 0; row < wanted; ++row) {
      take(output.logits + row * output.stride, output.hidden == nullptr ? nullptr : output.hidden + row * output.hidden_stride);
    }
    done += count;
  }
  return Done{};
}

}  // namespace scratchy
