// Walks a template's tree and writes its text.
//
// Scopes chain as Jinja's do: loops, macros, `with` and blocks open one, `if` does not; a macro sees the scope it was
// defined in, by reference. Everything is paid from one Budget; nested evaluations are counted, so that a macro that
// calls itself ends in an error and not in a stack overflow. Errors are RenderErrors; `line()` says where they arose.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template/ast.h"
#include "text/template/value.h"

namespace scratchy::jinja {

// Variables of one scope; names live in the tree or in the caller's input.
struct Scope {
  std::vector<std::pair<std::string_view, Value>> variables;
  std::shared_ptr<Scope> parent;
  void set(std::string_view name, Value value);
};

struct Macro : Object {
  Macro(const Signature& macro_signature, const Body& macro_body, std::shared_ptr<Scope> definition)
      : Object(Kind::kMacro), signature(macro_signature), body(macro_body), scope(std::move(definition)) {}
  const Signature& signature;
  const Body& body;
  std::shared_ptr<Scope> scope;
};

class Evaluator {
 public:
  explicit Evaluator(const std::tm& clock) : clock_(clock), scope_(std::make_shared<Scope>()) {}
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  Budget& budget() { return budget_; }
  const std::tm& clock() const { return clock_; }
  bool autoescape() const { return autoescape_; }
  int line() const { return line_; }
  void define(std::string_view name, Value value) { scope_->set(name, std::move(value)); }

  std::string render(const Body& body);
  Value call(const Value& callee, const Arguments& arguments);
  Value apply_filter(std::string_view name, const Value& input, const Arguments& arguments);
  bool apply_test(std::string_view name, const Value& input, const Arguments& arguments);
  Value make_namespace();

 private:
  enum class Flow { kNext, kBreak, kContinue };
  class Depth;
  class ScopeSwap;

  // Statements (execute.cc).
  Flow execute(const Body& body);
  Flow execute(const Statement& statement);
  Flow execute_if(const Statement& statement);
  Flow execute_in_scope(const Body& body);
  Flow execute_for(const Statement& statement, const Value& iterable, int nesting, const std::shared_ptr<Scope>& outer);
  std::vector<Value> loop_items(const Statement& statement, const Value& iterable, const std::shared_ptr<Scope>& outer);
  Flow execute_set_block(const Statement& statement);
  Flow execute_filter_block(const Statement& statement);
  void execute_call_block(const Statement& statement);
  Flow execute_with(const Statement& statement);
  Flow execute_autoescape(const Statement& statement);
  void assign(const Expression& target, Value value);
  void assign_attribute(const Expression& target, Value value);
  std::string capture(const Body& body, Flow* flow = nullptr);
  Value captured_text(std::string text) const;
  Value apply_filter_chain(const Expression& filter, const Value& text);
  void emit(const Value& value);
  void emit_text(std::string_view text);

  // Calls (call.cc).
  Value call_macro(const Macro& macro, const Arguments& arguments);
  void bind_macro(const Macro& macro, const Arguments& arguments);
  Arguments evaluate_arguments(const CallArguments& arguments);
  std::shared_ptr<Scope> captured_scope();

  // Expressions (evaluate.cc).
  Value evaluate(const Expression& node);
  Value evaluate_composite(const Expression& node);
  Value evaluate_items(const Expression& node, bool tuple);
  Value evaluate_dict(const Expression& node);
  Value evaluate_concat(const Expression& node);
  Value evaluate_compare(const Expression& node);
  Value evaluate_conditional(const Expression& node);
  Value evaluate_item(const Expression& node);
  Value evaluate_slice(const Expression& node);
  Value evaluate_call(const Expression& node);
  Value evaluate_filter(const Expression& node);
  Value evaluate_test(const Expression& node);
  Value look_up_name(std::string_view name);

  Budget budget_;
  std::tm clock_;
  std::shared_ptr<Scope> scope_;
  std::string* out_ = nullptr;
  bool autoescape_ = false;
  int line_ = 1;
  int depth_ = 0;
  int macro_depth_ = 0;
  // What may hold references in circles; emptied at the end.
  std::vector<std::shared_ptr<Scope>> captured_;
  std::vector<Value> namespaces_;
};

// Counts nested evaluations on the native stack.
class Evaluator::Depth {
 public:
  explicit Depth(Evaluator& evaluator) : evaluator_(evaluator) {
    if (++evaluator_.depth_ > kMaxEvaluationDepth) {
      --evaluator_.depth_;
      raise("the template recurses too deep");
    }
  }
  ~Depth() { --evaluator_.depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  Evaluator& evaluator_;
};

// Runs in another scope until it goes.
class Evaluator::ScopeSwap {
 public:
  ScopeSwap(Evaluator& evaluator, std::shared_ptr<Scope> scope) : evaluator_(evaluator), kept_(std::move(scope)) {
    std::swap(evaluator_.scope_, kept_);
  }
  ~ScopeSwap() { std::swap(evaluator_.scope_, kept_); }
  ScopeSwap(const ScopeSwap&) = delete;
  ScopeSwap& operator=(const ScopeSwap&) = delete;

 private:
  Evaluator& evaluator_;
  std::shared_ptr<Scope> kept_;
};

std::shared_ptr<Scope> inner_scope(std::shared_ptr<Scope> parent);

}  // namespace scratchy::jinja
