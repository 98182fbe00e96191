#include "compiler/step_cost.h"

#include <algorithm>
#include <cmath>

#include "tape/batch.h"

namespace scratchy {
namespace {

class Counter {
 public:
  Counter(const CostInput& input, const TapeStep& step) : input_(input), step_(step), kernel_(input.plan->kernels[static_cast<size_t>(step.kernel)]) {
    rows_ = static_cast<double>(kernel_.sampled ? 1 : input.rows);  // one row of a step is sampled
  }

  StepCost run() {
    for (size_t o = 0; o < step_.operands.size(); ++o) count_operand(step_.operands[o]);
    cost_.operations = operations();
    return cost_;
  }

 private:
  // Elements of a type a row: T counts as one row, S as the positions a row sees.
  double elements(const Type& type) const {
    double count = 1;
    for (const int64_t dim : type.dims) count *= dim == kTokens ? 1.0 : dim == kSpan ? span() : static_cast<double>(dim);
    return count;
  }

  // Positions a row sees, on average over the rows of the step.
  double span() const {
    const double all = static_cast<double>(input_.depth) + (static_cast<double>(input_.rows) + 1) / 2;
    return kernel_.attributes.window > 0 ? std::min(all, static_cast<double>(kernel_.attributes.window)) : all;
  }

  void count_operand(const TapeOperand& operand) {
    const auto index = static_cast<size_t>(operand.index);
    switch (operand.kind) {
      case TapeOperand::kNone:
      case TapeOperand::kInput: return;
      case TapeOperand::kSlot: cost_.row_bytes += rows_ * static_cast<double>(input_.tape->slots[index].row_bytes); return;
      case TapeOperand::kWeight: cost_.weight_bytes += input_.weight_bytes[index] * share_of_weight(index); return;
      case TapeOperand::kPlane: cost_.cache_bytes += plane_bytes(index) * positions_touched(); return;
      case TapeOperand::kState: cost_.cache_bytes += static_cast<double>(input_.plan->states[index].elements) * sizeof(float); return;
    }
  }

  // How much of a weight a step reads: all of a matrix, the rows of an embedding, the experts that some row picks.
  double share_of_weight(size_t index) const {
    const PlannedWeight& weight = input_.plan->weights[index];
    if (kernel_.kind == OpKind::kEmbed) return std::min(1.0, rows_ / static_cast<double>(weight.rows));
    if (kernel_.kind != OpKind::kGemmExperts) return 1;
    const double picked = static_cast<double>(kernel_.operand_types[2].dims.back()) / static_cast<double>(weight.matrices);
    return 1 - std::pow(1 - picked, rows_);
  }

  double plane_bytes(size_t index) const {
    const std::vector<Plane>& planes = input_.plan->planes;
    const int64_t end = index + 1 < planes.size() ? planes[index + 1].page_offset : input_.plan->page_bytes;
    return static_cast<double>(end - planes[index].page_offset) / kPageTokens;
  }

  // An append writes its rows; a read sees the history once for all rows of the step.
  double positions_touched() const {
    if (kernel_.kind == OpKind::kCacheAppend) return static_cast<double>(input_.rows);
    const auto all = static_cast<double>(input_.depth + input_.rows);
    const auto window = static_cast<double>(kernel_.attributes.window);
    return window > 0 ? std::min(all, window + static_cast<double>(input_.rows)) : all;
  }

  double body_operations() const {
    double count = 0;
    for (const Op& op : kernel_.body->ops) {
      if (info(op.kind).group == OpGroup::kResource || op.kind == OpKind::kArgument || op.kind == OpKind::kReshape || op.kind == OpKind::kSlice) continue;
      double most = 0;
      for (const ValueId value : op.results) most = std::max(most, elements(kernel_.body->type(value)));
      for (const ValueId value : op.operands) most = std::max(most, kernel_.body->producer(value).kind == OpKind::kArgument && !kernel_.body->type(value).row_wise() && kernel_.kind == OpKind::kRowProgram
                                                                          ? 0.0
                                                                          : elements(kernel_.body->type(value)));
      count += most;
    }
    return count;
  }

  double operations() const {
    const auto& in = kernel_.operand_types;
    const double out = kernel_.result_types.empty() ? 0 : elements(kernel_.result_types[0]);
    switch (kernel_.kind) {
      case OpKind::kGemm:
      case OpKind::kGemmHeads:
      case OpKind::kGemmExperts: return rows_ * out * static_cast<double>(in[1].dims.back());
      case OpKind::kAttention: {
        const double heads = static_cast<double>(in[0].dims[1]);
        return rows_ * heads * span() * static_cast<double>(in[0].dims[2] + kernel_.attributes.end - kernel_.attributes.begin);
      }
      case OpKind::kCacheScores: return rows_ * out * static_cast<double>(in[0].dims[2]);
      case OpKind::kCacheMix: return rows_ * out * span();
      case OpKind::kConv1d: return rows_ * out * static_cast<double>(in[1].dims.back());
      case OpKind::kScan: return rows_ * static_cast<double>(kernel_.result_types[0].dims[1]) * body_operations();
      case OpKind::kRowProgram: return rows_ * body_operations();
      case OpKind::kEmbed:
      case OpKind::kSampleRows:
      case OpKind::kPrepare: return 0;
      case OpKind::kInput:
      case OpKind::kWeight:
      case OpKind::kCache:
      case OpKind::kState:
      case OpKind::kConstant:
      case OpKind::kWeightedSum:
      case OpKind::kReshape:
      case OpKind::kSlice:
      case OpKind::kConcat:
      case OpKind::kTranspose:
      case OpKind::kNeg:
      case OpKind::kExp:
      case OpKind::kLog:
      case OpKind::kSqrt:
      case OpKind::kRsqrt:
      case OpKind::kSin:
      case OpKind::kCos:
      case OpKind::kSigmoid:
      case OpKind::kTanh:
      case OpKind::kSoftplus:
      case OpKind::kRelu:
      case OpKind::kSilu:
      case OpKind::kGelu:
      case OpKind::kGeluErf:
      case OpKind::kAdd:
      case OpKind::kSub:
      case OpKind::kMul:
      case OpKind::kDiv:
      case OpKind::kMinimum:
      case OpKind::kMaximum:
      case OpKind::kSelect:
      case OpKind::kSum:
      case OpKind::kMean:
      case OpKind::kMax:
      case OpKind::kSoftmax:
      case OpKind::kTopK:
      case OpKind::kTopKMask:
      case OpKind::kGather:
      case OpKind::kRope:
      case OpKind::kCacheAppend:
      case OpKind::kMask:
      case OpKind::kArgument:
      case OpKind::kVecMat:
      case OpKind::kOuter: return rows_ * out;
    }
    return 0;
  }

  const CostInput& input_;
  const TapeStep& step_;
  const TapeKernel& kernel_;
  double rows_ = 1;
  StepCost cost_;
};

}  // namespace

StepCost step_cost(const CostInput& input, const TapeStep& step) { return Counter(input, step).run(); }

double predicted_seconds(const StepCost& cost, bool barrier, const MachineRate& rate) {
  return std::max((cost.weight_bytes + cost.cache_bytes) / rate.bytes_per_s, cost.operations / rate.multiplies_per_s) + (barrier ? rate.barrier_s : 0);
}

}  // namespace scratchy
