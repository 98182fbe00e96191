// Lifetimes and slots: each value gets bytes of an arena for as long as a step may still read it.
//
// A linear scan over steps. Shared values: memory is free again only in a later barrier interval than its last reader's,
// since within one interval threads run ahead of each other. Local values belong to one thread, so a later step is
// enough; a result never takes the place of an operand of its own step. First fit, lowest offset.

#include <algorithm>
#include <map>

#include "base/check.h"
#include "plan/plan.h"

namespace scratchy {
namespace {

// Free ranges of one arena over time.
class Arena {
 public:
  int64_t take(int64_t bytes) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < bytes) continue;
      const int64_t offset = it->first;
      const int64_t rest = it->second - bytes;
      free_.erase(it);
      if (rest > 0) free_[offset + bytes] = rest;
      return offset;
    }
    return grow(bytes);
  }

  void give(int64_t offset, int64_t bytes) {
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && next->first == offset + bytes) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    free_[offset] = bytes;
  }

  int64_t size() const { return size_; }

 private:
  int64_t grow(int64_t bytes) {
    if (!free_.empty() && std::prev(free_.end())->first + std::prev(free_.end())->second == size_) {
      const int64_t offset = std::prev(free_.end())->first;
      free_.erase(std::prev(free_.end()));
      size_ = offset + bytes;
      return offset;
    }
    const int64_t offset = size_;
    size_ += bytes;
    return offset;
  }

  std::map<int64_t, int64_t> free_;  // offset -> bytes
  int64_t size_ = 0;
};

struct Release {
  int64_t offset, bytes;
  int at;  // interval (shared) or step (local) of the last reader
};

// Gives back what was last read before `now`.
void collect(std::vector<Release>& pending, Arena& arena, int now) {
  std::erase_if(pending, [&](const Release& r) {
    if (r.at >= now) return false;
    arena.give(r.offset, r.bytes);
    return true;
  });
}

std::vector<int> barrier_intervals(const Tape& tape) {
  std::vector<int> interval(tape.steps.size());
  int current = 0;
  for (size_t i = 0; i < tape.steps.size(); ++i) interval[i] = current += tape.steps[i].barrier ? 1 : 0;
  return interval;
}

void find_lifetimes(Tape& tape, const Plan& plan, const PlanFacts& facts) {
  tape.slots.assign(plan.graph->values.size(), Slot{});
  for (size_t i = 0; i < tape.steps.size(); ++i) {
    const TapeStep& step = tape.steps[i];
    for (size_t o = 0; o < step.operands.size(); ++o) {
      if (step.operands[o].kind != TapeOperand::kSlot) continue;
      Slot& slot = tape.slots[step.operands[o].index];
      if (slot.first_step < 0) {
        SCRATCHY_CHECK(o >= static_cast<size_t>(step.operand_count), "step " + std::to_string(i) + " reads a value before it is written");
        const ValueId value{step.operands[o].index};
        const Op& producer = plan.graph->producer(value);
        bool prepared = producer.kind == OpKind::kPrepare;
        if (producer.kind == OpKind::kRowProgram) {
          const size_t at = std::find(producer.results.begin(), producer.results.end(), value) - producer.results.begin();
          prepared = producer.body->producer(producer.body->outputs[at].value).kind == OpKind::kPrepare;
        }
        slot.first_step = static_cast<int>(i);
        slot.local = step.work == Work::kReplicated;
        slot.row_bytes = facts.row_bytes(plan.graph->type(value), prepared);
        slot.name = plan.graph->value(value).name;
      }
      slot.last_step = static_cast<int>(i);
    }
  }
  for (const int32_t output : {plan.logits_value, plan.hidden_value}) {
    if (output >= 0) tape.slots[output].last_step = static_cast<int>(tape.steps.size());
  }
}

}  // namespace

void assign_slots(Tape& tape, const Plan& plan, const PlanFacts& facts) {
  find_lifetimes(tape, plan, facts);
  const std::vector<int> interval = barrier_intervals(tape);
  Arena shared, local;
  std::vector<Release> shared_pending, local_pending;
  for (size_t i = 0; i < tape.steps.size(); ++i) {
    collect(shared_pending, shared, interval[i]);
    collect(local_pending, local, static_cast<int>(i));
    const TapeStep& step = tape.steps[i];
    for (size_t o = step.operand_count; o < step.operands.size(); ++o) {
      Slot& slot = tape.slots[step.operands[o].index];
      slot.offset = (slot.local ? local : shared).take(slot.row_bytes);
      const bool lives_on = slot.last_step >= static_cast<int>(tape.steps.size());
      if (lives_on) continue;
      if (slot.local) {
        local_pending.push_back({slot.offset, slot.row_bytes, slot.last_step});
      } else {
        shared_pending.push_back({slot.offset, slot.row_bytes, interval[slot.last_step]});
      }
    }
  }
  tape.shared_row_bytes = shared.size();
  tape.local_row_bytes = local.size();
}

}  // namespace scratchy
