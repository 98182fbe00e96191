// A loaded model: a compiled program with its weights, KV pages, states and threads, ready to run steps.
//
// Sequences are rows of history inside; a step runs new tokens of one or more of them and gives logits of the rows asked
// for. All memory a step needs is there before it: pages come from a pool reserved for the stated context and committed by the
// system as they are first touched.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "runtime/executor.h"
#include "runtime/weight_store.h"
#include "tape/program.h"

namespace scratchy {

struct ModelOptions {
  int threads = 0;            // 0: default_thread_count()
  int32_t max_context = 0;    // positions a sequence may have; 0: what the program was compiled for
  int32_t max_sequences = 1;
  WeightStore::Options weights;
};

// New tokens of one sequence in a step.
struct StepPart {
  int32_t sequence;
  std::span<const int32_t> tokens;
  int32_t output_count;  // logits of so many of its last tokens
};

class Model {
 public:
  // The program of this binary whose weights the checkpoint has (weight names and shapes, GGUF tag and metadata). Of
  // several for different contexts the smallest that holds `positions`; 0 or too many: the largest. The Failure says for
  // each program why not.
  static Result<const CompiledProgram*> select(const Checkpoint& checkpoint, int64_t positions);

  static Result<std::unique_ptr<Model>> load(const CompiledProgram& program, const Checkpoint& checkpoint, const ModelOptions& options);

  const CompiledProgram& program() const { return *program_; }
  int32_t max_context() const { return max_context_; }
  int32_t max_tokens() const { return executor_->max_tokens(); }  // of one step, all parts together
  int threads() const { return team_->size(); }
  Team& team() { return *team_; }  // idle between steps
  size_t weight_bytes() const { return weights_.bytes(); }
  const WeightView* weights() const { return weights_.views(); }  // of each of the program's weights

  // An empty sequence; -1 when all are in use.
  int32_t add_sequence();
  void remove_sequence(int32_t sequence);
  int32_t length(int32_t sequence) const { return sequences_[sequence].length; }
  // Forgets everything after the first `length` tokens. False for a model with recurrent states unless length is 0: they
  // cannot go back.
  bool truncate(int32_t sequence, int32_t length);

  // Runs the parts as one batch. The rows of logits come part by part. A Failure when a token is not in the vocabulary,
  // a sequence would pass max_context, or there are more tokens than max_tokens; nothing has changed then.
  Result<Executor::Output> step(std::span<const StepPart> parts);

  // Executor::time_steps.
  void time_steps(std::vector<StepTime>* times) { executor_->time_steps(times); }

  // Runs a prompt in chunks (of at most `chunk` tokens, 0 = max_tokens), and gives each row of the logits of its last
  // `output_count` tokens to `take`, in order. The other sequences are not touched.
  Status run(int32_t sequence, std::span<const int32_t> tokens, int32_t output_count, int32_t chunk,
             const std::function<void(const float* logits, const float* hidden)>& take);

 private:
  struct SequenceState {
    bool used = false;
    int32_t length = 0;
    std::vector<int32_t> pages;  // capacity for max_context from the start
  };

  Model() = default;
  bool reserve_pages(SequenceState& sequence, int32_t length);
  Status check(std::span<const StepPart> parts) const;
  void fill_batch(std::span<const StepPart> parts);

  const CompiledProgram* program_ = nullptr;
  int32_t max_context_ = 0;
  std::unique_ptr<Team> team_;
  WeightStore weights_;
  std::unique_ptr<Executor> executor_;
  Memory pages_, states_;
  std::vector<int32_t> free_pages_;
  std::vector<SequenceState> sequences_;
  std::vector<TokenRow> rows_;
  std::vector<SequenceRows> sequence_rows_;
  std::vector<int32_t> output_rows_;
  Batch batch_{};
};

}  // namespace scratchy
