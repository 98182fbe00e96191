// Who does what, and where threads must wait for each other.
//
// With few rows every thread computes row programs for itself, in its own arena: the work is far smaller than a barrier.
// With many rows each thread takes a share of the rows; a row program that reads only rows of its own share needs no
// barrier after another one. Products, caches and states are split in units of their own, so whoever reads their results
// waits once.

#include "plan/plan.h"

namespace scratchy {
namespace {

bool splits_by_row(OpKind kind) {
  return kind == OpKind::kRowProgram || kind == OpKind::kEmbed || kind == OpKind::kSampleRows;
}

// Identifies memory: slots by value, planes and states by table index.
struct Memory {
  std::vector<int> slots, planes, states;  // per entry: the step that wrote it since the last barrier, -1 for none

  std::vector<int>* table(const TapeOperand& operand) {
    switch (operand.kind) {
      case TapeOperand::kSlot: return &slots;
      case TapeOperand::kPlane: return &planes;
      case TapeOperand::kState: return &states;
      case TapeOperand::kNone:
      case TapeOperand::kInput:
      case TapeOperand::kWeight: return nullptr;
    }
    return nullptr;
  }
};

}  // namespace

void divide_work(Tape& tape, const Plan& plan, bool replicate) {
  for (TapeStep& step : tape.steps) {
    const OpKind kind = plan.kernels[step.kernel].kind;
    if (!splits_by_row(kind)) {
      step.work = Work::kUnits;
    } else {
      step.work = replicate ? Work::kReplicated : Work::kRows;
    }
  }
}

void place_barriers(Tape& tape, const Plan& plan) {
  Memory written{std::vector<int>(plan.graph->values.size(), -1), std::vector<int>(plan.planes.size(), -1),
                 std::vector<int>(plan.states.size(), -1)};
  const auto waits = [&](const TapeStep& step, const TapeOperand& operand) {
    std::vector<int>* table = written.table(operand);
    if (table == nullptr || (*table)[operand.index] < 0) return false;
    const TapeStep& writer = tape.steps[(*table)[operand.index]];
    if (writer.work == Work::kReplicated) return false;
    const bool same_rows = writer.work == Work::kRows && step.work == Work::kRows &&
                           plan.kernels[writer.kernel].sampled == plan.kernels[step.kernel].sampled;
    return !same_rows;
  };
  for (size_t i = 0; i < tape.steps.size(); ++i) {
    TapeStep& step = tape.steps[i];
    for (int32_t o = 0; o < step.operand_count; ++o) step.barrier |= waits(step, step.operands[o]);
    if (step.barrier) {
      for (std::vector<int>* table : {&written.slots, &written.planes, &written.states}) table->assign(table->size(), -1);
    }
    for (size_t o = step.operand_count; o < step.operands.size(); ++o) written.slots[step.operands[o].index] = static_cast<int>(i);
    if (plan.kernels[step.kernel].kind == OpKind::kCacheAppend) written.planes[step.operands[0].index] = static_cast<int>(i);
    for (int32_t o = 0; o < step.operand_count; ++o) {
      if (step.operands[o].kind == TapeOperand::kState) written.states[step.operands[o].index] = static_cast<int>(i);
    }
  }
}

}  // namespace scratchy
