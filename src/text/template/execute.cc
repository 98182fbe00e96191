// Statements.
#include <algorithm>

#include "base/check.h"
#include "text/template/evaluate.h"
#include "text/template/print.h"

namespace scratchy::jinja {

using Tag = Statement::Kind;

void Scope::set(std::string_view name, Value value) {
  for (auto& [key, held] : variables) {
    if (key == name) {
      held = std::move(value);
      return;
    }
  }
  variables.emplace_back(name, std::move(value));
}

std::shared_ptr<Scope> inner_scope(std::shared_ptr<Scope> parent) {
  auto scope = std::make_shared<Scope>();
  scope->parent = std::move(parent);
  return scope;
}

Evaluator::~Evaluator() {
  for (const Value& space : namespaces_) space.object<Namespace>().attributes.clear();
  for (const auto& scope : captured_) scope->variables.clear();
}

std::string Evaluator::render(const Body& body) { return capture(body); }

std::string Evaluator::capture(const Body& body, Flow* flow) {
  std::string text;
  std::string* const kept = std::exchange(out_, &text);
  const Flow ended = execute(body);
  out_ = kept;
  if (flow != nullptr) *flow = ended;
  return text;
}

Value Evaluator::captured_text(std::string text) const { return make_text(std::move(text), autoescape_); }

void Evaluator::emit_text(std::string_view text) {
  budget_.spend_bytes(text.size());
  if (out_->size() + text.size() > kMaxTextBytes) raise("the template makes a text of more than 64 MiB");
  *out_ += text;
}

void Evaluator::emit(const Value& value) {
  emit_text(autoescape_ ? escaped(budget_, value) : to_text(budget_, value));
}

Evaluator::Flow Evaluator::execute(const Body& body) {
  const Depth depth(*this);
  for (const auto& statement : body) {
    const Flow flow = execute(*statement);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Evaluator::Flow Evaluator::execute(const Statement& statement) {
  budget_.spend(1);
  line_ = statement.line;
  switch (statement.kind) {
    case Tag::kText: emit_text(statement.text); break;
    case Tag::kOutput: emit(evaluate(*statement.expressions[0])); break;
    case Tag::kIf: return execute_if(statement);
    case Tag::kFor: return execute_for(statement, evaluate(*statement.expressions[0]), 0, scope_);
    case Tag::kSet: assign(*statement.target, evaluate(*statement.expressions[0])); break;
    case Tag::kSetBlock: return execute_set_block(statement);
    case Tag::kMacro:
      scope_->set(statement.signature.name,
                  make_object<Macro>(statement.signature, statement.bodies[0], captured_scope()));
      break;
    case Tag::kCallBlock: execute_call_block(statement); break;
    case Tag::kFilterBlock: return execute_filter_block(statement);
    case Tag::kWith: return execute_with(statement);
    case Tag::kScope: return execute_in_scope(statement.bodies[0]);
    case Tag::kAutoescape: return execute_autoescape(statement);
    case Tag::kBreak: return Flow::kBreak;
    case Tag::kContinue: return Flow::kContinue;
  }
  return Flow::kNext;
}

Evaluator::Flow Evaluator::execute_if(const Statement& statement) {
  for (size_t i = 0; i < statement.expressions.size(); ++i) {
    if (truthy(evaluate(*statement.expressions[i]))) return execute(statement.bodies[i]);
  }
  if (statement.bodies.size() > statement.expressions.size()) return execute(statement.bodies.back());
  return Flow::kNext;
}

Evaluator::Flow Evaluator::execute_in_scope(const Body& body) {
  const ScopeSwap swap(*this, inner_scope(scope_));
  return execute(body);
}

std::vector<Value> Evaluator::loop_items(const Statement& statement, const Value& iterable,
                                         const std::shared_ptr<Scope>& outer) {
  std::vector<Value> items = iterate(budget_, iterable);
  if (statement.expressions.size() < 2) return items;
  std::vector<Value> kept;
  const ScopeSwap swap(*this, inner_scope(outer));
  for (Value& item : items) {
    assign(*statement.target, item);
    if (truthy(evaluate(*statement.expressions[1]))) kept.push_back(std::move(item));
  }
  return kept;
}

namespace {

// Drops what loop.changed remembered, which may be the loop itself.
struct Forget {
  LoopState& loop;
  ~Forget() { loop.last_changed.clear(); }
};

}  // namespace

// nesting: 0, or the depth of a recursive call. outer: the scope around the loop.
Evaluator::Flow Evaluator::execute_for(const Statement& statement, const Value& iterable, int nesting,
                                       const std::shared_ptr<Scope>& outer) {
  const Depth depth(*this);
  auto loop = std::make_shared<LoopState>(loop_items(statement, iterable, outer), nesting);
  const Forget forget{*loop};
  if (statement.recursive) {
    loop->statement = &statement;
    loop->scope = outer;
  }
  bool completed = false;
  for (size_t i = 0; i < loop->items.size(); ++i) {
    budget_.spend(1);
    loop->index0 = i;
    const ScopeSwap swap(*this, inner_scope(outer));
    scope_->set("loop", Value(std::static_pointer_cast<Object>(loop)));
    assign(*statement.target, loop->items[i]);
    const Flow flow = execute(statement.bodies[0]);
    completed |= flow == Flow::kNext;
    if (flow == Flow::kBreak) break;
  }
  // As in Jinja, `else` runs unless some iteration came to the end of its body.
  if (completed) return Flow::kNext;
  const ScopeSwap swap(*this, inner_scope(outer));
  return execute(statement.bodies[1]);
}

// A jump out of a captured block drops its text.
Evaluator::Flow Evaluator::execute_set_block(const Statement& statement) {
  Value text;
  {
    const ScopeSwap swap(*this, inner_scope(scope_));
    Flow flow = Flow::kNext;
    text = captured_text(capture(statement.bodies[0], &flow));
    if (flow != Flow::kNext) return flow;
    if (!statement.expressions.empty()) text = apply_filter_chain(*statement.expressions[0], text);
  }
  assign(*statement.target, std::move(text));
  return Flow::kNext;
}

Evaluator::Flow Evaluator::execute_filter_block(const Statement& statement) {
  const ScopeSwap swap(*this, inner_scope(scope_));
  Flow flow = Flow::kNext;
  const Value text = captured_text(capture(statement.bodies[0], &flow));
  if (flow == Flow::kNext) emit(apply_filter_chain(*statement.expressions[0], text));
  return flow;
}

// Filters over a block's text: the innermost has no input of its own.
Value Evaluator::apply_filter_chain(const Expression& filter, const Value& text) {
  const Depth depth(*this);
  const bool innermost = filter.children.empty() || filter.children[0] == nullptr;
  const Value input = innermost ? text : apply_filter_chain(*filter.children[0], text);
  return apply_filter(filter.name, input, evaluate_arguments(filter.arguments));
}

void Evaluator::execute_call_block(const Statement& statement) {
  const Value caller = make_object<Macro>(statement.signature, statement.bodies[0], captured_scope());
  const Expression& node = *statement.expressions[0];
  const Value callee = evaluate(*node.children[0]);
  Arguments arguments = evaluate_arguments(node.arguments);
  arguments.named.emplace_back("caller", caller);
  emit(call(callee, arguments));
}

Evaluator::Flow Evaluator::execute_with(const Statement& statement) {
  std::vector<Value> values;
  for (const ExpressionPtr& expression : statement.expressions) values.push_back(evaluate(*expression));
  const ScopeSwap swap(*this, inner_scope(scope_));
  for (size_t i = 0; i < values.size(); ++i) assign(*statement.targets[i], std::move(values[i]));
  return execute(statement.bodies[0]);
}

Evaluator::Flow Evaluator::execute_autoescape(const Statement& statement) {
  const bool kept = std::exchange(autoescape_, truthy(evaluate(*statement.expressions[0])));
  const Flow flow = execute_in_scope(statement.bodies[0]);
  autoescape_ = kept;
  return flow;
}

void Evaluator::assign(const Expression& target, Value value) {
  const Depth depth(*this);
  if (target.kind == Expression::Kind::kName) return scope_->set(target.name, std::move(value));
  if (target.kind == Expression::Kind::kAttributeTarget) return assign_attribute(target, std::move(value));
  SCRATCHY_CHECK(target.kind == Expression::Kind::kTuple, "the parser makes no other target");
  std::vector<Value> items = iterate(budget_, value);
  if (items.size() != target.children.size()) {
    raise(std::to_string(items.size()) + " values cannot be unpacked into " + std::to_string(target.children.size()) +
          " names");
  }
  for (size_t i = 0; i < items.size(); ++i) assign(*target.children[i], std::move(items[i]));
}

void Evaluator::assign_attribute(const Expression& target, Value value) {
  const Value object = look_up_name(target.name);
  if (!object.is(jinja::Kind::kNamespace)) raise("`" + target.name + "` is no namespace; only those take attributes");
  const std::string& name = target.value.bytes();
  if (name.starts_with('_')) raise("a namespace takes no attribute that starts with an underscore");
  Namespace& space = object.object<Namespace>();
  space.depth = std::max(space.depth, value.depth() + 1);
  if (space.depth > kMaxValueDepth) raise("values nest more than 200 deep");
  budget_.spend(1 + space.attributes.size() / 8);
  for (auto& [key, held] : space.attributes) {
    if (key == name) {
      held = std::move(value);
      return;
    }
  }
  space.attributes.emplace_back(name, std::move(value));
}

}  // namespace scratchy::jinja
