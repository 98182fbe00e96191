#include "plan/plan.h"

namespace scratchy {
namespace {

constexpr int64_t kAlignment = 64;  // a cache line

int64_t align(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void lay_out_pages(Plan& plan, const PlanFacts& facts) {
  for (Plane& plane : plan.planes) {
    plane.page_offset = plan.page_bytes;
    plan.page_bytes += align(facts.plane_page_bytes(plane));
  }
  for (StatePlan& state : plan.states) {
    state.offset = plan.state_bytes;
    plan.state_bytes += align(state.elements * static_cast<int64_t>(sizeof(float)));
  }
}

Plan make_plan(std::shared_ptr<const Graph> graph, const PlanFacts& facts) {
  Plan plan = lower(std::move(graph));
  lay_out_pages(plan, facts);
  const Tape unplanned = std::move(plan.tapes.front());
  plan.tapes.clear();
  for (const int32_t tokens : facts.bucket_tokens) {
    Tape tape = unplanned;
    tape.max_tokens = tokens;
    divide_work(tape, plan, tokens <= facts.replicate_up_to);
    place_barriers(tape, plan);
    assign_slots(tape, plan, facts);
    reroll(tape);
    plan.tapes.push_back(std::move(tape));
  }
  return plan;
}

}  // namespace scratchy
