// Plans of a small decoder: barriers, slots and the layer loop are as their files say, and check_plan finds each planted
// fault.

#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "passes/optimize.h"
#include "passes/test_layers.h"

namespace scratchy {
namespace {

using ::testing::HasSubstr;

constexpr int kLayers = 5;

PlanFacts test_facts() {
  PlanFacts facts;
  facts.row_bytes = [](const Type& type, bool) { return type.row_elements() * 4; };
  facts.plane_page_bytes = [](const Plane& plane) { return plane.kv_heads * plane.width * 4 * 16; };
  facts.replicate_up_to = 2;
  facts.bucket_tokens = {2, 16};
  return facts;
}

Plan test_plan(bool fuse = true) {
  auto graph = std::make_shared<Graph>(testing::test_layers(kLayers));
  optimize(*graph, {.fuse = fuse, .max_context = 16});
  return make_plan(graph, test_facts());
}

// The first problem after `spoil` has changed the largest tape; empty when there is none.
template <typename Spoil>
std::string first_problem(Spoil spoil) {
  Plan plan = test_plan();
  spoil(plan, plan.tapes.back());
  const std::vector<std::string> problems = check_plan(plan);
  return problems.empty() ? "" : problems.front();
}

const TapeKernel& kernel_of(const Plan& plan, const TapeStep& step) { return plan.kernels[static_cast<size_t>(step.kernel)]; }

TEST(Plan, OfASoundGraphHasNoProblemFusedOrPlain) {
  for (const bool fuse : {true, false}) {
    const Plan plan = test_plan(fuse);
    EXPECT_EQ(plan.tapes.size(), 2U);
    EXPECT_THAT(check_plan(plan), ::testing::IsEmpty());
  }
}

TEST(Plan, TwiceOfOneGraphIsTheSameText) { EXPECT_EQ(print_plan(test_plan()), print_plan(test_plan())); }

TEST(Plan, LaysPlanesAndStatesSideBySideWithoutOverlap) {
  const Plan plan = test_plan();
  EXPECT_EQ(plan.planes.size(), 2U * kLayers);
  int64_t end = 0;
  for (const Plane& plane : plan.planes) {
    EXPECT_EQ(plane.page_offset, end);
    EXPECT_EQ(plane.page_offset % 64, 0);
    end += (test_facts().plane_page_bytes(plane) + 63) / 64 * 64;
  }
  EXPECT_EQ(plan.page_bytes, end);
}

TEST(Barriers, SmallBucketsReplicateRowProgramsAndLargeOnesShareTheirRows) {
  const Plan plan = test_plan();
  for (const Tape& tape : plan.tapes) {
    for (const TapeStep& step : tape.steps) {
      if (kernel_of(plan, step).kind != OpKind::kRowProgram) continue;
      EXPECT_EQ(step.work, tape.max_tokens <= 2 ? Work::kReplicated : Work::kRows);
    }
  }
}

TEST(Barriers, ARowProgramWaitsForProductsAndNotForItsOwnRows) {
  const Plan plan = test_plan();
  const Tape& tape = plan.tapes.back();
  EXPECT_FALSE(tape.steps.front().barrier);
  const auto barriers = std::count_if(tape.steps.begin(), tape.steps.end(), [](const TapeStep& step) { return step.barrier; });
  EXPECT_GE(barriers, 4 * kLayers);
  EXPECT_LT(barriers, static_cast<std::ptrdiff_t>(tape.steps.size()));
}

TEST(Slots, AreReusedSoThatTheArenaDoesNotGrowWithTheLayers) {
  auto deep = std::make_shared<Graph>(testing::test_layers(4 * kLayers));
  optimize(*deep, {.max_context = 16});
  const Plan plan = make_plan(deep, test_facts());
  EXPECT_EQ(plan.tapes.back().shared_row_bytes, test_plan().tapes.back().shared_row_bytes);
  EXPECT_EQ(plan.tapes.front().local_row_bytes, test_plan().tapes.front().local_row_bytes);
}

TEST(Reroll, FindsTheLayerLoop) {
  for (const Tape& tape : test_plan().tapes) {
    const auto loop = std::max_element(tape.segments.begin(), tape.segments.end(), [](const TapeSegment& a, const TapeSegment& b) { return a.repeat < b.repeat; });
    EXPECT_GE(loop->repeat, kLayers - 2);
    int32_t steps = 0;
    for (const TapeSegment& segment : tape.segments) steps += segment.step_count * segment.repeat;
    EXPECT_EQ(steps, static_cast<int32_t>(tape.steps.size()));
  }
}

TEST(CheckPlan, FindsOverlappingSlots) {
  EXPECT_THAT(first_problem([](Plan&, Tape& tape) {
                for (Slot& slot : tape.slots) slot.offset = 0;
              }),
              HasSubstr("overlaps"));
}

TEST(CheckPlan, FindsAMissingBarrier) {
  EXPECT_THAT(first_problem([](Plan&, Tape& tape) {
                for (TapeStep& step : tape.steps) step.barrier = false;
              }),
              HasSubstr("without a barrier"));
}

TEST(CheckPlan, FindsAStrideThatIsNotConstant) {
  EXPECT_THAT(first_problem([](Plan&, Tape& tape) {
                for (auto step = tape.steps.rbegin(); step != tape.steps.rend(); ++step) {
                  for (TapeOperand& operand : step->operands) {
                    // The last layer's keys move to the first layer's place.
                    if (operand.kind == TapeOperand::kPlane) {
                      operand.index = 0;
                      return;
                    }
                  }
                }
              }),
              HasSubstr("the rolled tape differs"));
}

TEST(CheckPlan, FindsALoopWithATurnTooFew) {
  EXPECT_THAT(first_problem([](Plan&, Tape& tape) {
                for (TapeSegment& segment : tape.segments) {
                  if (segment.repeat > 1) --segment.repeat;
                }
              }),
              HasSubstr("the rolled tape"));
}

TEST(CheckPlan, FindsAReadBeforeTheWrite) {
  EXPECT_THAT(first_problem([](Plan&, Tape& tape) { std::rotate(tape.steps.begin(), tape.steps.end() - 1, tape.steps.end()); }), HasSubstr("before it is written"));
}

TEST(CheckPlan, FindsASecondWrite) {
  EXPECT_THAT(first_problem([](Plan&, Tape& tape) { tape.steps.insert(tape.steps.begin(), tape.steps.front()); }), HasSubstr("a second time"));
}

}  // namespace
}  // namespace scratchy
