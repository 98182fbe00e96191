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

  int32_t max_tokens() const { return program_->buckets[program_->bucket_count - 1].max_tokens; }

 private:
  Executor(const CompiledProgram& program, const WeightView* weights, Team& team) : program_(&program), weights_(weights), team_(&team) {}
  void walk(const Bucket& bucket, Frame frame) const;

  const CompiledProgram* program_;
  const WeightView* weights_;
  Team* team_;
  Memory shared_, scratch_;
  std::vector<Memory> local_;
};

}  // namespace scratchy
