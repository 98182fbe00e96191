// The reference interpreter: runs any graph, fused or not, slowly and obviously right. It is the truth against which
// passes and kernels are tested.
//
// One number type throughout (float or double): weights, values and sums. Sums run index rising. A step runs the new
// tokens of one sequence; what the graph leaves behind (caches, states) lives in a Sequence, so several sequences are
// several Sequence objects, and prefill, chunks and decode are steps of different length. Values that depend on weights
// and constants only are computed once and kept.
//
// Not here: speed, paging, several sequences in one step, and checks of the graph (verify.h goes first).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace scratchy {

// Row-major numbers; all dims known.
template <typename Real>
struct Tensor {
  std::vector<int64_t> dims;
  std::vector<Real> data;
};

// What the steps of one sequence leave behind.
template <typename Real>
struct Sequence {
  int64_t length = 0;                                              // tokens so far
  std::map<ResourceId, std::shared_ptr<const Tensor<Real>>> kept;  // caches [S, K, D] and states
};

struct StepInput {
  std::vector<int32_t> ids;           // T >= 1 tokens
  std::vector<int32_t> positions;     // empty: the sequence's length and up
  std::vector<int32_t> sampled_rows;  // rows that sample_rows keeps; empty: all
};

template <typename Real>
class Interpreter {
 public:
  // A weight's numbers in the row-major order of its resource type.
  using Weights = std::function<Result<std::vector<Real>>(ResourceId)>;
  using Outputs = std::map<std::string, Tensor<Real>>;

  // `graph` must have passed verify() and outlive the interpreter.
  Interpreter(const Graph& graph, Weights weights);

  // Runs the tokens of `input` after those `sequence` has seen. Fails if a weight cannot be had or has another size than
  // its type, or an id lies outside of its table; the sequence is unchanged then.
  Result<Outputs> step(Sequence<Real>& sequence, const StepInput& input);

 private:
  Result<Tensor<Real>> load(ResourceId id) const;
  Result<Tensor<Real>> resource(const Op& op, const Sequence<Real>& sequence, const StepInput& input) const;

  const Graph& graph_;
  Weights weights_;
  std::vector<bool> fixed_;  // per value: follows from weights and constants alone
  std::vector<bool> kept_;   // per value: fixed, and read by a value that is not
  std::map<int32_t, std::shared_ptr<const Tensor<Real>>> fixed_values_;
  bool started_ = false;     // fixed_values_ is complete
};

extern template class Interpreter<float>;
extern template class Interpreter<double>;

}  // namespace scratchy
