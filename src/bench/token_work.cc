#include "bench/token_work.h"

#include <algorithm>

namespace scratchy {

TokenWork token_work(const CompiledProgram& program, const WeightView* weights) {
  TokenWork work;
  double multiplies[3] = {};  // by Multiply
  for (int32_t i = 0; i < program.weight_count; ++i) {
    const WeightRecord& record = program.weights[i];
    const double all = record.token_matrices + record.sampled_matrices;
    if (weights[i].variant == nullptr || all == 0) continue;
    work.decode_bytes += all * static_cast<double>(weights[i].expert_bytes);
    const ActivationKind activation = weights[i].variant->activation;
    const Multiply kind = activation == ActivationKind::kQ16 ? Multiply::kBytes : activation == ActivationKind::kBF16 ? Multiply::kBF16 : Multiply::kF32;
    multiplies[static_cast<int>(kind)] += (kind == Multiply::kBytes ? 2.0 : 1.0) * record.token_matrices * record.rows * record.columns;
  }
  const auto* most = std::max_element(std::begin(multiplies), std::end(multiplies));
  work.kind = static_cast<Multiply>(most - multiplies);
  for (const double count : multiplies) work.prompt_multiplies += count;
  return work;
}

}  // namespace scratchy
