#include "graph/interpret.h"

#include "graph/interpret_ops.h"

namespace scratchy {
namespace {

namespace ops = interpret;

// One run of a graph or body: the values made so far.
template <typename Real>
class Run {
 public:
  using Pointer = std::shared_ptr<const Tensor<Real>>;
  using Tensors = std::vector<Tensor<Real>>;

  Run(const Graph& graph, const StepInput& input, std::vector<Pointer> arguments = {})
      : graph_(graph), input_(input), arguments_(std::move(arguments)), values_(graph.values.size()) {}

  const Pointer& value(ValueId id) const { return values_[id.index]; }
  void set(ValueId id, Pointer tensor) { values_[id.index] = std::move(tensor); }
  void set(ValueId id, Tensor<Real> tensor) { set(id, std::make_shared<const Tensor<Real>>(std::move(tensor))); }
  void drop(ValueId id) { values_[id.index] = nullptr; }

  // Runs an op whose operands are there and which names no resource.
  Status run(const Op& op) {
    TRY(Tensors results, evaluate(op));
    for (size_t i = 0; i < results.size(); ++i) set(op.results[i], std::move(results[i]));
    return Done{};
  }

  // Runs all ops; the outputs in order.
  Result<Tensors> run_body() {
    for (const Op& op : graph_.ops) TRY_STATUS(run(op));
    Tensors out;
    for (const GraphOutput& output : graph_.outputs) out.push_back(*value(output.value));
    return out;
  }

 private:
  const Tensor<Real>& operand(const Op& op, size_t index) const { return *values_[op.operands[index].index]; }
  const Tensor<Real>* optional_operand(const Op& op, size_t index) const { return index < op.operands.size() ? &operand(op, index) : nullptr; }

  template <typename F>
  Tensors map(const Op& op, F f) const {
    return {ops::map(operand(op, 0), f)};
  }
  template <typename F>
  Tensors zip(const Op& op, F f) const {
    const std::array<const Tensor<Real>*, 2> x{&operand(op, 0), &operand(op, 1)};
    return {ops::zip(x, [f](const std::array<Real, 2>& v) { return f(v[0], v[1]); })};
  }

  std::vector<Pointer> operands(const Op& op) const {
    std::vector<Pointer> out;
    for (const ValueId id : op.operands) out.push_back(value(id));
    return out;
  }

  Tensors constant(const Op& op) const { return {{op.attributes.shape, std::vector<Real>(op.attributes.values.begin(), op.attributes.values.end())}}; }

  Result<Tensors> embed(const Op& op) const {
    const Tensor<Real>& ids = operand(op, 0);
    const Tensor<Real>& table = operand(op, 1);
    std::vector<int64_t> rows;
    for (const Real id : ids.data) {
      if (!(id >= 0) || id >= static_cast<Real>(table.dims[0])) return Failure("token id " + std::to_string(id) + " lies outside of a table of " + std::to_string(table.dims[0]) + " rows");
      rows.push_back(static_cast<int64_t>(id));
    }
    Tensor<Real> out = ops::take_rows(table, rows);
    out.dims = ids.dims;
    out.dims.push_back(table.dims[1]);
    return Tensors{std::move(out)};
  }

  Tensors reshape(const Op& op) const {
    Tensor<Real> out = operand(op, 0);
    const int64_t rows = out.dims.empty() ? 1 : out.dims[0];
    out.dims = op.attributes.shape;
    if (!out.dims.empty() && out.dims[0] == kTokens) out.dims[0] = rows;
    return {std::move(out)};
  }

  Tensors sample_rows(const Op& op) const {
    if (input_.sampled_rows.empty()) return {operand(op, 0)};
    return {ops::take_rows(operand(op, 0), input_.sampled_rows)};
  }

  Tensors select(const Op& op) const {
    const std::array<const Tensor<Real>*, 3> x{&operand(op, 0), &operand(op, 1), &operand(op, 2)};
    return {ops::zip(x, [](const std::array<Real, 3>& v) { return v[0] != 0 ? v[1] : v[2]; })};
  }

  Tensors cache_append(const Op& op) const {
    Tensor<Real> out = operand(op, 0);
    const Tensor<Real>& rows = operand(op, 1);
    out.data.insert(out.data.end(), rows.data.begin(), rows.data.end());
    out.dims[0] += rows.dims[0];
    return {std::move(out)};
  }

  // The part of operand `x` that head `head` of `heads` sees at token `row` (row -1: a state, whose first dim is heads).
  static Pointer part(const Tensor<Real>& x, int64_t row, int64_t head, int64_t heads) {
    const size_t drop = row < 0 ? 1 : 2;
    std::vector<int64_t> dims(x.dims.begin() + static_cast<ptrdiff_t>(drop), x.dims.end());
    if (dims.empty()) dims = {1};
    const int64_t own_heads = x.dims[drop - 1];
    const int64_t index = std::max<int64_t>(row, 0) * own_heads + head / (heads / own_heads);
    const auto first = x.data.begin() + index * ops::product(dims);
    return std::make_shared<const Tensor<Real>>(Tensor<Real>{dims, std::vector<Real>(first, first + ops::product(dims))});
  }

  Result<Tensors> scan(const Op& op) const {
    const std::vector<Pointer> x = operands(op);
    const Tensor<Real>& start = *x.back();
    const int64_t rows = x[0]->dims[0], heads = start.dims[0];
    std::vector<std::vector<Tensor<Real>>> y(static_cast<size_t>(heads));
    Tensor<Real> next{start.dims, {}};
    for (int64_t head = 0; head < heads; ++head) {
      Pointer state = part(start, -1, head, heads);
      for (int64_t row = 0; row < rows; ++row) {
        std::vector<Pointer> arguments;
        for (size_t i = 0; i + 1 < x.size(); ++i) arguments.push_back(part(*x[i], row, head, heads));
        arguments.push_back(state);
        TRY(Tensors out, Run(*op.body, input_, std::move(arguments)).run_body());
        y[static_cast<size_t>(head)].push_back(std::move(out[0]));
        state = std::make_shared<const Tensor<Real>>(std::move(out[1]));
      }
      next.data.insert(next.data.end(), state->data.begin(), state->data.end());
    }
    Tensor<Real> out{y[0][0].dims, {}};
    out.dims.insert(out.dims.begin(), {rows, heads});
    for (int64_t row = 0; row < rows; ++row) {
      for (const auto& head : y) out.data.insert(out.data.end(), head[static_cast<size_t>(row)].data.begin(), head[static_cast<size_t>(row)].data.end());
    }
    return Tensors{std::move(out), std::move(next)};
  }

  Result<Tensors> evaluate(const Op& op) const;

  const Graph& graph_;
  const StepInput& input_;
  std::vector<Pointer> arguments_;
  std::vector<Pointer> values_;
};

template <typename Real>
Result<std::vector<Tensor<Real>>> Run<Real>::evaluate(const Op& op) const {
  const Attributes& a = op.attributes;
  const auto x = [&](size_t index) -> const Tensor<Real>& { return operand(op, index); };
  switch (op.kind) {
    case OpKind::kInput:
    case OpKind::kWeight:
    case OpKind::kCache:
    case OpKind::kState: SCRATCHY_UNREACHABLE("resources are set by the step");
    case OpKind::kConstant: return constant(op);
    case OpKind::kEmbed: return embed(op);
    case OpKind::kGemm: return Tensors{ops::gemm(x(0), x(1))};
    case OpKind::kGemmHeads: return Tensors{ops::gemm_heads(x(0), x(1))};
    case OpKind::kGemmExperts: return Tensors{ops::gemm_experts(x(0), x(1), x(2))};
    case OpKind::kWeightedSum: return Tensors{ops::weighted_sum(x(0), x(1))};
    case OpKind::kReshape: return reshape(op);
    case OpKind::kSlice: return Tensors{ops::slice(x(0), a.axis, a.begin, a.end)};
    case OpKind::kConcat: return Tensors{ops::concat(operands(op))};
    case OpKind::kTranspose: return Tensors{ops::transpose(x(0))};
    case OpKind::kSampleRows: return sample_rows(op);
    case OpKind::kNeg: return map(op, [](Real v) { return -v; });
    case OpKind::kExp: return map(op, [](Real v) { return std::exp(v); });
    case OpKind::kLog: return map(op, [](Real v) { return std::log(v); });
    case OpKind::kSqrt: return map(op, [](Real v) { return std::sqrt(v); });
    case OpKind::kRsqrt: return map(op, [](Real v) { return 1 / std::sqrt(v); });
    case OpKind::kSin: return map(op, [](Real v) { return std::sin(v); });
    case OpKind::kCos: return map(op, [](Real v) { return std::cos(v); });
    case OpKind::kSigmoid: return map(op, ops::sigmoid<Real>);
    case OpKind::kTanh: return map(op, [](Real v) { return std::tanh(v); });
    case OpKind::kSoftplus: return map(op, ops::softplus<Real>);
    case OpKind::kRelu: return map(op, [](Real v) { return std::max(v, Real(0)); });
    case OpKind::kSilu: return map(op, [](Real v) { return v * ops::sigmoid(v); });
    case OpKind::kGelu: return map(op, ops::gelu<Real>);
    case OpKind::kGeluErf: return map(op, ops::gelu_erf<Real>);
    case OpKind::kAdd: return zip(op, [](Real v, Real w) { return v + w; });
    case OpKind::kSub: return zip(op, [](Real v, Real w) { return v - w; });
    case OpKind::kMul: return zip(op, [](Real v, Real w) { return v * w; });
    case OpKind::kDiv: return zip(op, [](Real v, Real w) { return v / w; });
    case OpKind::kMinimum: return zip(op, [](Real v, Real w) { return std::min(v, w); });
    case OpKind::kMaximum: return zip(op, [](Real v, Real w) { return std::max(v, w); });
    case OpKind::kSelect: return select(op);
    case OpKind::kSum:
    case OpKind::kMean:
    case OpKind::kMax: return Tensors{ops::reduce(op.kind, x(0))};
    case OpKind::kSoftmax: return Tensors{ops::softmax(x(0), optional_operand(op, 1))};
    case OpKind::kTopK: return ops::topk(x(0), a.count);
    case OpKind::kTopKMask: return Tensors{ops::topk_mask(x(0), a.count)};
    case OpKind::kGather: return Tensors{ops::gather(x(0), x(1))};
    case OpKind::kRope: return Tensors{ops::rope(x(0), x(1), x(2), a.adjacent)};
    case OpKind::kCacheAppend: return cache_append(op);
    case OpKind::kCacheScores: return Tensors{ops::cache_scores(x(0), x(1))};
    case OpKind::kMask: return Tensors{ops::mask(x(0), input_.positions, a.window, a.causal)};
    case OpKind::kCacheMix: return Tensors{ops::cache_mix(x(0), x(1), a.begin, a.end)};
    case OpKind::kConv1d: return ops::conv1d(x(0), x(1), x(2));
    case OpKind::kScan: return scan(op);
    case OpKind::kArgument: return Tensors{*arguments_[static_cast<size_t>(a.count)]};
    case OpKind::kVecMat: return Tensors{ops::vecmat(x(0), x(1))};
    case OpKind::kOuter: return Tensors{ops::outer(x(0), x(1))};
    case OpKind::kPrepare: return Tensors{x(0)};
    case OpKind::kRowProgram: return Run(*op.body, input_, operands(op)).run_body();
    case OpKind::kAttention: return Tensors{ops::attention(x(0), x(1), x(2), optional_operand(op, 3), a, input_.positions)};
  }
  SCRATCHY_UNREACHABLE("op kind");
}

// Values that follow from weights and constants alone.
std::vector<bool> find_fixed(const Graph& graph) {
  std::vector<bool> fixed(graph.values.size(), false);
  for (const Op& op : graph.ops) {
    bool all = op.kind != OpKind::kInput && op.kind != OpKind::kCache && op.kind != OpKind::kState;
    for (const ValueId operand : op.operands) all = all && fixed[operand.index];
    for (const ValueId result : op.results) fixed[result.index] = all;
  }
  return fixed;
}

// Marks, per fixed value, whether an op that is not fixed or the outputs read it: only those are kept between steps.
std::vector<bool> find_kept(const Graph& graph, const std::vector<bool>& fixed) {
  std::vector<bool> kept(graph.values.size(), false);
  for (const Op& op : graph.ops) {
    const bool reader_fixed = !op.results.empty() && fixed[op.results[0].index];
    for (const ValueId operand : op.operands) {
      if (fixed[operand.index] && !reader_fixed) kept[operand.index] = true;
    }
  }
  for (const GraphOutput& output : graph.outputs) kept[output.value.index] = fixed[output.value.index];
  return kept;
}

}  // namespace

template <typename Real>
Interpreter<Real>::Interpreter(const Graph& graph, Weights weights)
    : graph_(graph), weights_(std::move(weights)), fixed_(find_fixed(graph)), kept_(find_kept(graph, fixed_)) {}

template <typename Real>
Result<Tensor<Real>> Interpreter<Real>::load(ResourceId id) const {
  const Resource& resource = graph_.resources[id.index];
  TRY(std::vector<Real> data, weights_(id));
  const size_t expected = static_cast<size_t>(interpret::product(resource.type.dims));
  if (data.size() != expected) {
    return Failure("weight `" + resource.name + "` has " + std::to_string(data.size()) + " numbers, but its type " + to_string(resource.type) + " takes " + std::to_string(expected));
  }
  return Tensor<Real>{resource.type.dims, std::move(data)};
}

template <typename Real>
Result<Tensor<Real>> Interpreter<Real>::resource(const Op& op, const Sequence<Real>& sequence, const StepInput& input) const {
  const Resource& resource = graph_.resources[op.resource.index];
  switch (resource.kind) {
    case ResourceKind::kWeight: return load(op.resource);
    case ResourceKind::kInput: {
      const std::vector<int32_t>& numbers = resource.name == "positions" ? input.positions : input.ids;
      return Tensor<Real>{{static_cast<int64_t>(numbers.size())}, std::vector<Real>(numbers.begin(), numbers.end())};
    }
    case ResourceKind::kCache:
    case ResourceKind::kState: {
      const auto found = sequence.kept.find(op.resource);
      if (found != sequence.kept.end()) return *found->second;
      std::vector<int64_t> dims = resource.type.dims;
      if (resource.kind == ResourceKind::kCache) dims[0] = 0;
      return interpret::make<Real>(std::move(dims));
    }
  }
  SCRATCHY_UNREACHABLE("resource kind");
}

template <typename Real>
Result<std::map<std::string, Tensor<Real>>> Interpreter<Real>::step(Sequence<Real>& sequence, const StepInput& given) {
  StepInput input = given;
  if (input.ids.empty()) return Failure("a step needs at least one token");
  for (size_t i = input.positions.size(); i < input.ids.size(); ++i) input.positions.push_back(static_cast<int32_t>(sequence.length + static_cast<int64_t>(i)));
  Run<Real> run(graph_, input);
  std::vector<int> uses = graph_.use_counts();
  std::map<int32_t, ResourceId> versions;  // value -> the cache or state it is a version of
  std::map<ResourceId, std::shared_ptr<const Tensor<Real>>> newest;
  for (const Op& op : graph_.ops) {
    const bool fixed = !op.results.empty() && fixed_[op.results[0].index];
    if (fixed && started_) {
      for (const ValueId result : op.results) {
        if (kept_[result.index]) run.set(result, fixed_values_.at(result.index));
      }
      continue;
    }
    if (op.resource.valid()) {
      TRY(Tensor<Real> tensor, resource(op, sequence, input));
      run.set(op.results[0], std::move(tensor));
      versions[op.results[0].index] = op.resource;
    } else {
      TRY_STATUS(run.run(op));
    }
    if (op.kind == OpKind::kCacheAppend || op.kind == OpKind::kConv1d || op.kind == OpKind::kScan) {
      const ValueId before = op.kind == OpKind::kCacheAppend ? op.operands[0] : op.operands.back();
      versions[op.results.back().index] = versions.at(before.index);
      newest[versions.at(before.index)] = run.value(op.results.back());
    }
    for (const ValueId result : op.results) {
      if (kept_[result.index]) fixed_values_[result.index] = run.value(result);
      if (uses[result.index] == 0) run.drop(result);
    }
    for (const ValueId operand : op.operands) {
      if (--uses[operand.index] == 0) run.drop(operand);
    }
  }
  started_ = true;
  for (auto& [id, tensor] : newest) sequence.kept[id] = std::move(tensor);
  sequence.length += static_cast<int64_t>(input.ids.size());
  Outputs outputs;
  for (const GraphOutput& output : graph_.outputs) outputs[output.name] = *run.value(output.value);
  return outputs;
}

template class Interpreter<float>;
template class Interpreter<double>;

}  // namespace scratchy
