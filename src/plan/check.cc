// Checks a planned tape without trusting the passes that made it: each works from steps, slots and segments alone.

#include <algorithm>

#include "plan/plan.h"

namespace scratchy {
namespace {

class Checker {
 public:
  Checker(const Plan& plan, const Tape& tape) : plan_(plan), tape_(tape) {}

  std::vector<std::string> run() {
    check_order();
    check_overlaps();
    check_barriers();
    check_rolled();
    return std::move(problems_);
  }

 private:
  void problem(size_t step, const std::string& what) {
    problems_.push_back("bucket " + std::to_string(tape_.max_tokens) + ", step " + std::to_string(step) + " (" +
                        std::string(info(plan_.kernels[tape_.steps[step].kernel].kind).spelling) + " at " +
                        to_string(tape_.steps[step].span) + "): " + what);
  }

  void check_order() {
    std::vector<bool> written(tape_.slots.size(), false);
    for (size_t i = 0; i < tape_.steps.size(); ++i) {
      const TapeStep& step = tape_.steps[i];
      for (size_t o = 0; o < step.operands.size(); ++o) {
        if (step.operands[o].kind != TapeOperand::kSlot) continue;
        const int32_t slot = step.operands[o].index;
        if (o < static_cast<size_t>(step.operand_count)) {
          if (!written[slot]) problem(i, "reads value " + std::to_string(slot) + " before it is written");
        } else {
          if (written[slot]) problem(i, "writes value " + std::to_string(slot) + " a second time");
          written[slot] = true;
        }
      }
    }
  }

  // Two values in one arena whose bytes overlap must not live at the same time.
  void check_overlaps() {
    std::vector<int32_t> live;
    for (int32_t v = 0; v < static_cast<int32_t>(tape_.slots.size()); ++v) {
      if (tape_.slots[v].first_step >= 0) live.push_back(v);
    }
    std::sort(live.begin(), live.end(), [&](int32_t a, int32_t b) { return tape_.slots[a].first_step < tape_.slots[b].first_step; });
    for (size_t i = 0; i < live.size(); ++i) {
      const Slot& a = tape_.slots[live[i]];
      for (size_t j = i + 1; j < live.size(); ++j) {
        const Slot& b = tape_.slots[live[j]];
        if (b.first_step > a.last_step) break;
        const bool bytes = a.local == b.local && a.offset < b.offset + b.row_bytes && b.offset < a.offset + a.row_bytes;
        if (bytes) {
          problem(b.first_step, "`" + b.name + "` [" + std::to_string(b.offset) + ", +" + std::to_string(b.row_bytes) + ") overlaps `" + a.name +
                                    "` [" + std::to_string(a.offset) + ", +" + std::to_string(a.row_bytes) + "), live from step " +
                                    std::to_string(a.first_step) + " to " + std::to_string(a.last_step));
        }
      }
    }
  }

  // A value that other threads write in parts is read only after a barrier, unless reader and writer share rows.
  void check_barriers() {
    std::vector<int> writer(tape_.slots.size(), -1);
    std::vector<int> barriers(tape_.steps.size() + 1, 0);
    for (size_t i = 0; i < tape_.steps.size(); ++i) {
      const TapeStep& step = tape_.steps[i];
      barriers[i + 1] = barriers[i] + (step.barrier ? 1 : 0);
      for (size_t o = 0; o < step.operands.size(); ++o) {
        if (step.operands[o].kind != TapeOperand::kSlot) continue;
        const int32_t slot = step.operands[o].index;
        if (o >= static_cast<size_t>(step.operand_count)) {
          writer[slot] = static_cast<int>(i);
          continue;
        }
        if (writer[slot] < 0) continue;  // the order of reads and writes is looked at above
        const TapeStep& from = tape_.steps[writer[slot]];
        const bool own = from.work == Work::kReplicated || (from.work == Work::kRows && step.work == Work::kRows &&
                                                            plan_.kernels[from.kernel].sampled == plan_.kernels[step.kernel].sampled);
        if (!own && barriers[i + 1] == barriers[writer[slot] + 1]) {
          problem(i, "reads what step " + std::to_string(writer[slot]) + " writes in parts, without a barrier between");
        }
      }
    }
  }

  // Walking the segments, with strides taken from the first two turns, gives the steps again.
  void check_rolled() {
    size_t at = 0;
    for (const TapeSegment& segment : tape_.segments) {
      for (int32_t turn = 0; turn < segment.repeat; ++turn) {
        for (int32_t s = 0; s < segment.step_count; ++s, ++at) {
          if (at >= tape_.steps.size() || !equals_turn(segment, turn, s, at)) {
            problem(std::min(at, tape_.steps.size() - 1), "the rolled tape differs in turn " + std::to_string(turn));
            return;
          }
        }
      }
    }
    if (at != tape_.steps.size()) problem(tape_.steps.size() - 1, "the rolled tape ends after " + std::to_string(at) + " steps");
  }

  bool equals_turn(const TapeSegment& segment, int32_t turn, int32_t s, size_t at) const {
    const TapeStep& base = tape_.steps[segment.first_step + s];
    const TapeStep& step = tape_.steps[at];
    if (base.kernel != step.kernel || base.work != step.work || base.barrier != step.barrier || base.operands.size() != step.operands.size()) return false;
    for (size_t o = 0; o < base.operands.size(); ++o) {
      const TapeOperand& b = base.operands[o];
      const TapeOperand& x = step.operands[o];
      if (b.kind != x.kind) return false;
      if (b.kind == TapeOperand::kSlot) {
        if (tape_.slots[b.index].offset != tape_.slots[x.index].offset || tape_.slots[b.index].local != tape_.slots[x.index].local) return false;
      } else {
        const int32_t stride = segment.repeat > 1 ? tape_.steps[segment.first_step + segment.step_count + s].operands[o].index - b.index : 0;
        if (b.index + turn * stride != x.index) return false;
      }
    }
    return true;
  }

  const Plan& plan_;
  const Tape& tape_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check_plan(const Plan& plan) {
  std::vector<std::string> problems;
  for (const Tape& tape : plan.tapes) {
    for (std::string& problem : Checker(plan, tape).run()) problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace scratchy
