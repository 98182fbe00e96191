// The player: walks the tape that fits a batch, with every thread of a team.
//
// It owns the arenas, one per thread and one shared, and knows nothing of sequences or pages: the batch says where
// things lie. Nothing is allocated by run().
#pragma once

#include <functional>
#include <vector>

#include "runtime/memory.h"
#include "runtime/team.h"
#include "tape/program.h"

namespace scratchy {

// What thread 0 spent at one step, all turns of its segment: until the others had come, then in the kernel.
struct StepTime {
  double wait_s = 0, kernel_s = 0;
};

class Executor {
 public:
  // Everything but the executor itself must outlive it.
  static Result<Executor> make(const CompiledProgram& program, const WeightView* weights, Team& team);

  struct Output {
    const float* logits;  // [output_count] rows, `stride` floats apart; valid until the next run
    int64_t stride;
    const float* hidden;  // null without a second output
    int64_t hidden_stride;
  };

  // 1 <= batch.token_count <= max_tokens(). Pages and state slots of the batch must be within `kv` and `states`.
  Output run(const Batch& batch, KvPool kv, std::byte* states);

  // Adds what every later run takes to `times`, one entry a step of its tape in order, until called with null. Runs of one
  // bucket at a time.
  void time_steps(std::vector<StepTime>* times) { times_ = times; }

  int32_t max_tokens() const { return program_->buckets[program_->bucket_count - 1].max_tokens; }

 private:
  Executor(const CompiledProgram& program, const WeightView* weights, Team& team) : program_(&program), weights_(weights), team_(&team) {}
  void run_steps(const Bucket& bucket, Frame frame) const;
  void run_timed_steps(const Bucket& bucket, Frame frame, std::vector<StepTime>& times) const;

  const CompiledProgram* program_;
  const WeightView* weights_;
  Team* team_;
  Memory shared_, scratch_;
  std::vector<Memory> local_;
  std::vector<StepTime>* times_ = nullptr;
};

}  // namespace scratchy
