// `scan (..) over (..) with m = state[i] as [H, ..] { .. }`: the body becomes a graph of its own, for one token and head.

#include <utility>

#include "graph/build_trace.h"

namespace scratchy {

Item Tracer::scan(const Expr& e) {
  const ScanExpr& s = *e.scan;
  if (ops_ != &main_) {
    reporter_.report(DiagnosticKind::kNotInScan, e.op_span, {{"op", "scan"}});
    return Poison{};
  }
  const auto state = state_of(*s.state);
  std::vector<Operand> operands;
  for (const ExprPtr& expr : s.operands) {
    const auto one = operand(*expr);
    if (one) operands.push_back(*one);
  }
  std::vector<int64_t> state_dims;
  for (const ExprPtr& expr : s.shape) {
    const auto dim = integer_value(*expr, "dim of the state");
    if (!dim) return Poison{};
    if (*dim < 1) {
      reporter_.report(DiagnosticKind::kWrongKind, expr->span, {{"what", "dim of the state"}, {"got", std::to_string(*dim)}, {"wanted", "at least 1"}});
      return Poison{};
    }
    state_dims.push_back(*dim);
  }
  if (!state || operands.size() != s.operands.size()) return Poison{};
  if (state_dims.size() < 2) {
    reporter_.report(DiagnosticKind::kStateShape, e.op_span, {}, {.hint = "`as [heads, key_dim, value_dim]`"});
    return Poison{};
  }
  for (const Operand& x : operands) {
    const auto dims = ops_->dims(x.id);
    const bool heads = dims.size() >= 2 && dims[0] == kTokens && dims[1] > 0 && state_dims[0] % dims[1] == 0;
    if (heads) continue;
    ops_->complain(DiagnosticKind::kScanOperand, x.span, {{"got", ops_->shown(x.id)}, {"heads", std::to_string(state_dims[0])}}, {}, "reshape it: `[T, heads, d]`, heads dividing those of the state");
    return Poison{};
  }
  Type yielded;
  auto body = scan_body(e, operands, state_dims, yielded);
  if (!body) return Poison{};
  place(e.op_span);
  const ValueId before = ops_->kept_state(OpKind::kState, state->name, static_cast<int>(state->index), state_dims, reporter_.place_in(program_.arch.file, s.state->span));
  operands.push_back({before, s.state->span});
  yielded.dims.insert(yielded.dims.begin(), {kTokens, state_dims[0]});
  place(e.op_span);
  const auto made = ops_->emit_scan(operands, std::move(body), {yielded, {ElementType::kF32, state_dims}});
  versions_[state->name + "[" + std::to_string(state->index) + "]"] = {made[1], e.op_span};
  return TensorItem{made[0], &ops_->graph()};
}

std::shared_ptr<Graph> Tracer::scan_body(const Expr& e, const std::vector<Operand>& operands, const std::vector<int64_t>& state_dims, Type& yielded) {
  const ScanExpr& s = *e.scan;
  auto body = std::make_shared<Graph>();
  OpBuilder inner(*body, dims_, reporter_, facts_);
  Frame frame;
  frame.locals = frame_->locals;
  Frame* const outer = std::exchange(frame_, &frame);
  std::vector<std::vector<int64_t>> shapes;
  for (const Operand& x : operands) {
    const auto dims = main_.dims(x.id);
    shapes.emplace_back(dims.begin() + 2, dims.end());
    if (shapes.back().empty()) shapes.back() = {1};
  }
  ops_ = &inner;
  for (size_t i = 0; i < operands.size(); ++i) {
    place(s.names[i].span);
    const ValueId id = inner.argument(static_cast<int64_t>(i), shapes[i]);
    frame.locals.erase(s.names[i].text);
    bind(s.names[i], TensorItem{id, body.get()});
  }
  place(s.state_name.span);
  const std::vector<int64_t> inner_state(state_dims.begin() + 1, state_dims.end());
  bind(s.state_name, TensorItem{inner.argument(static_cast<int64_t>(operands.size()), inner_state), body.get()});
  run_block(s.body);
  const auto result = tensor(frame.result, s.body.back().values[0]->span);
  const auto next = stopped_ ? std::nullopt : tensor(frame.locals.at(s.state_name.text), s.state_name.span);
  bool good = result && next;
  if (good && inner.dims(next->id) != inner_state) {
    inner.complain(DiagnosticKind::kNextState, s.state_name.span, {{"name", s.state_name.text}, {"got", inner.shown(next->id)}, {"wanted", show_dims(inner_state)}}, {});
    good = false;
  }
  if (good) {
    yielded = {ElementType::kF32, inner.dims(result->id)};
    body->outputs = {{"y", result->id}, {s.state_name.text, next->id}};
  }
  ops_ = &main_;
  frame_ = outer;
  return good && !reporter_.failed() ? body : nullptr;
}

}  // namespace scratchy
