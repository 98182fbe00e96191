#include <algorithm>

#include "base/text.h"
#include "plan/plan.h"

namespace scratchy {
namespace {

std::string_view to_string(Work work) {
  switch (work) {
    case Work::kReplicated: return "each";
    case Work::kRows: return "rows";
    case Work::kUnits: return "units";
  }
  return "";
}

std::string resource_name(const Plan& plan, ResourceId id) {
  const Resource& resource = plan.graph->resources[id.index];
  return resource.name + (resource.layer >= 0 ? "[" + std::to_string(resource.layer) + "]" : "");
}

std::string show(const Plan& plan, const Tape& tape, const TapeOperand& operand) {
  switch (operand.kind) {
    case TapeOperand::kNone: return "-";
    case TapeOperand::kInput: return operand.index == 0 ? "input_ids" : "positions";
    case TapeOperand::kWeight: return resource_name(plan, plan.weights[operand.index].resource);
    case TapeOperand::kPlane: return resource_name(plan, plan.planes[operand.index].resource);
    case TapeOperand::kState: return resource_name(plan, plan.states[operand.index].resource);
    case TapeOperand::kSlot: break;
  }
  const Slot& slot = tape.slots[operand.index];
  return (slot.local ? "local+" : "shared+") + std::to_string(slot.offset) + (slot.name.empty() ? "" : ":" + slot.name);
}

std::string show(const Plan& plan, const Tape& tape, const TapeStep& step) {
  const TapeKernel& kernel = plan.kernels[step.kernel];
  std::string line = step.barrier ? "  | " : "    ";
  std::string results;
  for (size_t o = step.operand_count; o < step.operands.size(); ++o) results += (results.empty() ? "" : ", ") + show(plan, tape, step.operands[o]);
  line += (results.empty() ? "" : results + " = ") + std::string(info(kernel.kind).spelling) + "#" + std::to_string(step.kernel) + "(";
  for (int32_t o = 0; o < step.operand_count; ++o) line += (o > 0 ? ", " : "") + show(plan, tape, step.operands[o]);
  line += ")";
  line.resize(std::max<size_t>(line.size() + 1, 100), ' ');
  return line + std::string(to_string(step.work)) + (kernel.sampled ? " sampled" : "") + "  " + scratchy::to_string(step.span) + "\n";
}

}  // namespace

std::string print_plan(const Plan& plan) {
  std::string out = "weights " + std::to_string(plan.weights.size()) + ", kernels " + std::to_string(plan.kernels.size()) + ", page " +
                    with_thousands(plan.page_bytes) + " bytes, state " + with_thousands(plan.state_bytes) + " bytes\n";
  for (const Tape& tape : plan.tapes) {
    out += "\ntape up to " + std::to_string(tape.max_tokens) + " rows: " + std::to_string(tape.steps.size()) + " steps, arena " +
           with_thousands(tape.shared_row_bytes) + " shared + " + with_thousands(tape.local_row_bytes) + " local bytes a row   (| = barrier)\n";
    for (const TapeSegment& segment : tape.segments) {
      if (segment.repeat > 1) out += "  repeat " + std::to_string(segment.repeat) + ":\n";
      for (int32_t s = 0; s < segment.step_count; ++s) out += show(plan, tape, tape.steps[segment.first_step + s]);
      if (segment.repeat > 1) out += "  end\n";
    }
  }
  return out;
}

}  // namespace scratchy
