#include "runtime/executor.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace scratchy {

Result<Executor> Executor::make(const CompiledProgram& program, const WeightView* weights, Team& team) {
  int64_t shared = 0, local = 0;
  for (int32_t i = 0; i < program.bucket_count; ++i) {
    const Bucket& bucket = program.buckets[i];
    shared = std::max(shared, bucket.shared_row_bytes * bucket.max_tokens);
    local = std::max(local, bucket.local_row_bytes * bucket.max_tokens);
  }
  Executor executor(program, weights, team);
  TRY(executor.shared_, Memory::reserve(static_cast<size_t>(shared), Memory::Pages::kHuge));
  TRY(executor.scratch_, Memory::reserve(static_cast<size_t>(program.scratch_bytes)));
  for (int thread = 0; thread < team.size(); ++thread) {
    TRY(Memory memory, Memory::reserve(static_cast<size_t>(local)));
    executor.local_.push_back(std::move(memory));
  }
  return executor;
}

namespace {

// Calls visit(step, number of the step in the tape, frame) for every step a thread runs, in order.
template <class Visit>
void walk(const Bucket& bucket, Frame& frame, Visit visit) {
  size_t first = 0;
  for (int32_t s = 0; s < bucket.segment_count; ++s) {
    const Segment& segment = bucket.segments[s];
    for (frame.turn = 0; frame.turn < segment.repeat; ++frame.turn) {
      for (int32_t i = 0; i < segment.step_count; ++i) visit(segment.steps[i], first + static_cast<size_t>(i), frame);
    }
    first += static_cast<size_t>(segment.step_count);
  }
}

}  // namespace

void Executor::run_steps(const Bucket& bucket, Frame frame) const {
  walk(bucket, frame, [this](const StepRecord& step, size_t, const Frame& now) {
    if (step.barrier) team_->barrier().wait();
    step.kernel(now, step.operands);
  });
}

void Executor::run_timed_steps(const Bucket& bucket, Frame frame, std::vector<StepTime>& times) const {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  walk(bucket, frame, [&](const StepRecord& step, size_t number, const Frame& now) {
    if (number >= times.size()) times.resize(number + 1);
    const Clock::time_point begin = Clock::now();
    if (step.barrier) team_->barrier().wait();
    const Clock::time_point ready = Clock::now();
    step.kernel(now, step.operands);
    times[number].wait_s += seconds(ready - begin);
    times[number].kernel_s += seconds(Clock::now() - ready);
  });
}

Executor::Output Executor::run(const Batch& batch, KvPool kv, std::byte* states) {
  const Bucket* bucket = program_->buckets;
  while (bucket->max_tokens < batch.token_count) ++bucket;
  SCRATCHY_CHECK(bucket < program_->buckets + program_->bucket_count, "a batch of " + std::to_string(batch.token_count) + " tokens");
  Frame frame{};
  frame.batch = &batch;
  frame.thread_count = team_->size();
  frame.row_capacity = bucket->max_tokens;
  frame.shared = shared_.data();
  frame.scratch = scratch_.data();
  frame.weights = weights_;
  frame.kv = kv;
  frame.states = states;
  frame.state_bytes = program_->state_bytes;
  team_->run([&](int thread) {
    Frame own = frame;
    own.thread = thread;
    own.local = local_[thread].data();
    if (times_ != nullptr && thread == 0) return run_timed_steps(*bucket, own, *times_);
    run_steps(*bucket, own);
  });
  frame.local = local_[0].data();
  const auto floats = [&](const Operand& o) { return o.kind == Operand::kNone ? nullptr : frame.floats(o); };
  return {floats(bucket->logits), row_stride(program_->vocab_size), floats(bucket->hidden), row_stride(program_->hidden_size)};
}

}  // namespace scratchy
