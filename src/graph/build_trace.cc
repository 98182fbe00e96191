#include "graph/build_trace.h"

#include <algorithm>

namespace scratchy {

Tracer::Tracer(const Program& program, const ModelFacts& facts, Graph& graph, DimTable& dims, Reporter& reporter)
    : program_(program), facts_(facts), graph_(graph), dims_(dims), reporter_(reporter), main_(graph, dims, reporter, facts), ops_(&main_), primitives_(primitive_signatures()) {}

void Tracer::run() {
  Frame frame;
  frame_ = &frame;
  run_block(program_.forward->body);
  if (!reporter_.failed()) set_outputs();
  if (!reporter_.failed()) main_.finish();
  frame_ = nullptr;
}

void Tracer::set_outputs() {
  reporter_.set_layer(-1);
  const Span at = program_.forward->name.span;
  for (const char* const name : {"logits", "hidden"}) {
    const auto found = frame_->locals.find(name);
    if (found == frame_->locals.end()) {
      if (std::string_view(name) == "hidden") continue;
      reporter_.report(DiagnosticKind::kNoLogits, at, {}, {.hint = "end with `logits = gemm(.., lm_head);`"});
      return;
    }
    const auto output = tensor(found->second, at);
    if (!output) return;
    const std::vector<int64_t> dims = main_.dims(output->id);
    if (dims.empty() || dims[0] != kTokens) {
      reporter_.report(DiagnosticKind::kOutputRows, at, {{"name", name}, {"shape", main_.shown(output->id)}});
      return;
    }
    // Where nothing else says how wide the head is, it scores the vocabulary.
    const Constant* const vocabulary = facts_.find("vocab_size");
    if (std::string_view(name) == "logits" && vocabulary != nullptr && vocabulary->is_int() && DimTable::is_unknown(dims.back())) {
      main_.unify(dims.back(), vocabulary->as_int());
    }
    graph_.outputs.push_back({name, output->id});
  }
}

// One step of the evaluation; false when the text does more than a model needs.
bool Tracer::spend(Span span) {
  if (stopped_) return false;
  if (++steps_ <= kMaxSteps && graph_.ops.size() <= kMaxOps) return true;
  stopped_ = true;
  reporter_.report(DiagnosticKind::kTooMuch, span, {{"steps", "2,000,000"}, {"ops", "400,000"}}, {.hint = "a loop runs too often"});
  return false;
}

Tracer::Flow Tracer::run_block(const Block& block) {
  for (const Stmt& statement : block) {
    if (run_statement(statement) == Flow::kReturned) return Flow::kReturned;
  }
  return stopped_ ? Flow::kReturned : Flow::kOn;
}

Tracer::Flow Tracer::run_statement(const Stmt& s) {
  if (!spend(s.span)) return Flow::kReturned;
  if (++depth_ > kMaxDepth) {
    stopped_ = true;
    reporter_.report(DiagnosticKind::kTooDeep, s.span, {{"limit", std::to_string(kMaxDepth)}});
  }
  Flow flow = stopped_ ? Flow::kReturned : Flow::kOn;
  const bool line = s.kind == StmtKind::kAssign || s.kind == StmtKind::kExpression;
  if (lines_ != nullptr && line && !stopped_ && reporter_.call_depth() == 0 && ops_ == &main_) record(s);
  if (!stopped_) {
    switch (s.kind) {
      case StmtKind::kAssign: run_assign(s); break;
      case StmtKind::kFor: flow = run_for(s); break;
      case StmtKind::kIf: flow = run_if(s); break;
      case StmtKind::kReturn:
        run_return(s);
        flow = Flow::kReturned;
        break;
      case StmtKind::kAssert: run_assert(s); break;
      case StmtKind::kExpression: value(*s.values[0]); break;
      case StmtKind::kYield: frame_->result = value(*s.values[0]); break;
    }
  }
  --depth_;
  return stopped_ ? Flow::kReturned : flow;
}

Tracer::Flow Tracer::run_for(const Stmt& s) {
  const auto begin = integer_value(*s.values[0], "lower bound of the loop");
  const auto end = integer_value(*s.values[1], "upper bound of the loop");
  if (!begin || !end) {
    stopped_ = true;
    return Flow::kReturned;
  }
  const bool layers = loop_depth_ == 0 && reporter_.call_depth() == 0;
  ++loop_depth_;
  Flow flow = Flow::kOn;
  for (int64_t i = *begin; i < *end && flow == Flow::kOn; ++i) {
    if (!spend(s.span)) break;
    if (layers) {
      layer_name_ = s.targets[0].text;
      layer_ = static_cast<int>(std::clamp<int64_t>(i, 0, 1 << 30));
      graph_.layer_count = std::max(graph_.layer_count, layer_ + 1);
      reporter_.set_layer(layer_);
    }
    frame_->locals.insert_or_assign(s.targets[0].text, Item(Constant::integer(i)));
    flow = run_block(s.body);
  }
  --loop_depth_;
  if (layers) {
    layer_ = -1;
    reporter_.set_layer(-1);
  }
  return stopped_ ? Flow::kReturned : flow;
}

Tracer::Flow Tracer::run_if(const Stmt& s) {
  const auto holds = condition(*s.values[0]);
  if (!holds) {
    // Neither branch can be run, and what follows reads what they bind.
    stopped_ = true;
    return Flow::kReturned;
  }
  return run_block(*holds ? s.body : s.otherwise);
}

void Tracer::bind(const Word& target, Item item) {
  if (const auto* const t = std::get_if<TensorItem>(&item)) {
    const bool arch = target.span.file == program_.arch.file;
    Value& value = ops_->graph().values[static_cast<size_t>(t->id.index)];
    const auto index = static_cast<size_t>(t->id.index);
    const bool main = t->graph == &graph_;
    if (main && named_by_arch_.size() <= index) named_by_arch_.resize(index + 1, false);
    if (t->graph == &ops_->graph() && (value.name.empty() || (arch && main && !named_by_arch_[index]))) {
      value.name = target.text;
      if (main) named_by_arch_[index] = arch;
    }
  }
  frame_->locals.insert_or_assign(target.text, std::move(item));
}

void Tracer::run_assign(const Stmt& s) {
  Item item = value(*s.values[0]);
  if (std::holds_alternative<Nothing>(item)) {
    reporter_.report(DiagnosticKind::kNothing, s.values[0]->span, {}, {.hint = "it is called for what it does, not for a value"});
    item = Poison{};
  }
  if (s.targets.size() == 1) {
    if (const auto* const tuple = std::get_if<TupleItem>(&item)) {
      reporter_.report(DiagnosticKind::kTupleCount, s.values[0]->span, {{"wanted", "1"}, {"got", counted(tuple->items.size(), "value")}}, {.hint = "name them all: `(a, b) = ..;`"});
      item = Poison{};
    }
    bind(s.targets[0], std::move(item));
    return;
  }
  auto* const tuple = std::get_if<TupleItem>(&item);
  const bool poisoned = std::holds_alternative<Poison>(item);
  if (!poisoned && (tuple == nullptr || tuple->items.size() != s.targets.size())) {
    const size_t got = tuple == nullptr ? 1 : tuple->items.size();
    reporter_.report(DiagnosticKind::kTupleCount, s.values[0]->span, {{"wanted", std::to_string(s.targets.size())}, {"got", counted(got, "value")}});
  }
  const bool good = tuple != nullptr && tuple->items.size() == s.targets.size();
  for (size_t i = 0; i < s.targets.size(); ++i) bind(s.targets[i], good ? tuple->items[i] : Item(Poison{}));
}

void Tracer::run_return(const Stmt& s) {
  if (s.values.empty()) return;
  if (s.values.size() == 1) {
    frame_->result = value(*s.values[0]);
    return;
  }
  TupleItem tuple;
  for (const ExprPtr& one : s.values) {
    Item item = value(*one);
    if (std::holds_alternative<TupleItem>(item) || std::holds_alternative<Nothing>(item)) {
      reporter_.report(DiagnosticKind::kNothing, one->span, {});
      item = Poison{};
    }
    tuple.items.push_back(std::move(item));
  }
  frame_->result = std::move(tuple);
}

void Tracer::run_assert(const Stmt& s) {
  const auto holds = condition(*s.values[0]);
  if (!holds || *holds) return;
  reporter_.report(DiagnosticKind::kAssertFailed, s.values[0]->span, {{"message", s.message}});
}

}  // namespace scratchy
