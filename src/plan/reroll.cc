// Finds the layer loop again: a run of steps that repeats with every weight, plane and state moved by a constant stride.
//
// Step i + period must have the kernel, work, barrier and slots of step i, and each table operand must move by the same
// amount each turn. The run that saves most steps becomes a segment with repeat > 1; what lies before and after it is
// searched again. check_plan proves the result equal to the unrolled tape, step for step.

#include <algorithm>
#include <optional>

#include "plan/plan.h"

namespace scratchy {
namespace {

bool is_table(TapeOperand::Kind kind) {
  return kind == TapeOperand::kWeight || kind == TapeOperand::kPlane || kind == TapeOperand::kState;
}

class LoopFinder {
 public:
  explicit LoopFinder(const Tape& tape) : tape_(tape) {}

  // Segments of steps [begin, end), in order.
  void split(int32_t begin, int32_t end, std::vector<TapeSegment>& segments) const {
    if (begin >= end) return;
    const std::optional<TapeSegment> loop = best_loop(begin, end);
    if (!loop) {
      segments.push_back({begin, end - begin, 1});
      return;
    }
    split(begin, loop->first_step, segments);
    segments.push_back(*loop);
    split(loop->first_step + loop->step_count * loop->repeat, end, segments);
  }

 private:
  // Whether step b continues step a: equal but for table operands, which may differ.
  bool continues(const TapeStep& a, const TapeStep& b) const {
    if (a.kernel != b.kernel || a.work != b.work || a.barrier != b.barrier || a.operands.size() != b.operands.size()) return false;
    for (size_t o = 0; o < a.operands.size(); ++o) {
      if (a.operands[o].kind != b.operands[o].kind) return false;
      if (a.operands[o].kind == TapeOperand::kSlot) {
        const Slot& x = tape_.slots[a.operands[o].index];
        const Slot& y = tape_.slots[b.operands[o].index];
        if (x.local != y.local || x.offset != y.offset) return false;
      } else if (!is_table(a.operands[o].kind) && a.operands[o] != b.operands[o]) {
        return false;
      }
    }
    return true;
  }

  // Whether every table operand moves from b to c as it did from a to b.
  static bool same_stride(const TapeStep& a, const TapeStep& b, const TapeStep& c) {
    for (size_t o = 0; o < a.operands.size(); ++o) {
      if (!is_table(a.operands[o].kind)) continue;
      if (b.operands[o].index - a.operands[o].index != c.operands[o].index - b.operands[o].index) return false;
    }
    return true;
  }

  // How many turns of `period` steps beginning at `first` fit before `end`.
  int32_t turns(int32_t first, int32_t period, int32_t end) const {
    int32_t count = 1;
    while (first + (count + 1) * period <= end) {
      for (int32_t i = first + (count - 1) * period; i < first + count * period; ++i) {
        if (!continues(tape_.steps[i], tape_.steps[i + period])) return count;
        if (count > 1 && !same_stride(tape_.steps[i - period], tape_.steps[i], tape_.steps[i + period])) return count;
      }
      ++count;
    }
    return count;
  }

  std::optional<TapeSegment> best_loop(int32_t begin, int32_t end) const {
    std::optional<TapeSegment> best;
    int32_t best_saved = 0;
    for (int32_t period = 2; period <= (end - begin) / 2; ++period) {
      for (int32_t first = begin; first + 2 * period <= end; ++first) {
        if (!continues(tape_.steps[first], tape_.steps[first + period])) continue;
        if ((end - first) - period <= best_saved) break;
        const int32_t count = turns(first, period, end);
        const int32_t saved = (count - 1) * period;
        if (count > 1 && saved > best_saved) {
          best = TapeSegment{first, period, count};
          best_saved = saved;
        }
        if (count > 1) first += saved - 1;
      }
    }
    return best;
  }

  const Tape& tape_;
};

}  // namespace

void reroll(Tape& tape) {
  tape.segments.clear();
  LoopFinder(tape).split(0, static_cast<int32_t>(tape.steps.size()), tape.segments);
}

}  // namespace scratchy
