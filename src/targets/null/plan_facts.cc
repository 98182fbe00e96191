#include "targets/null/plan_facts.h"

#include "tape/batch.h"

namespace scratchy::null {
namespace {

constexpr int64_t kAlignment = 64;  // a cache line

int64_t align(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Whether a step may be made of this op.
bool can_be_a_step(OpKind kind) {
  switch (info(kind).group) {
    case OpGroup::kResource:
    case OpGroup::kScan: return false;
    case OpGroup::kTensor:
    case OpGroup::kUnary:
    case OpGroup::kBinary:
    case OpGroup::kReduce:
    case OpGroup::kIndex:
    case OpGroup::kCache:
    case OpGroup::kState:
    case OpGroup::kFused: return true;
  }
  return false;
}

}  // namespace

PlanFacts plan_facts(int32_t max_tokens) {
  PlanFacts facts;
  facts.row_bytes = [](const Type& type, bool) { return align(type.row_elements() * static_cast<int64_t>(sizeof(float))); };
  facts.plane_page_bytes = [](const Plane& plane) { return kPageTokens * plane.kv_heads * plane.width * static_cast<int64_t>(sizeof(float)); };
  facts.replicate_up_to = 4;
  facts.bucket_tokens = {4, max_tokens};
  return facts;
}

Result<Emission> emit(const Plan& plan) {
  Emission seen;
  for (const TapeKernel& kernel : plan.kernels) {
    if (!can_be_a_step(kernel.kind)) return Failure("a step is made of `" + std::string(info(kernel.kind).spelling) + "`, which is no work of its own");
    ++seen.kernels;
  }
  for (const Tape& tape : plan.tapes) {
    for (const TapeSegment& segment : tape.segments) {
      for (int32_t s = 0; s < segment.step_count; ++s) {
        ++seen.steps;
        seen.operands += static_cast<int64_t>(tape.steps[static_cast<size_t>(segment.first_step + s)].operands.size());
      }
    }
  }
  return seen;
}

}  // namespace scratchy::null
