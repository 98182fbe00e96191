#include "dsl/check_names.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "dsl/constant_math.h"

namespace scratchy {
namespace {

// What is known of a local at one point of a function.
enum class Bound : uint8_t { kNever, kSometimes, kAlways };

struct Local {
  Bound bound = Bound::kNever;
  Span at;  // where it is (first) bound
};

class Checker {
 public:
  Checker(const Program& program, const Vocabulary& vocabulary, Diagnostics& diagnostics)
      : program_(program), diagnostics_(diagnostics), primitives_(vocabulary.primitives) {
    keys_.insert(vocabulary.config_keys.begin(), vocabulary.config_keys.end());
    prelude_keys_.insert(vocabulary.prelude_keys.begin(), vocabulary.prelude_keys.end());
    weights_.insert(vocabulary.weights.begin(), vocabulary.weights.end());
    externs_.insert(vocabulary.externs.begin(), vocabulary.externs.end());
    for (const auto& [name, item] : program.constants) globals_.insert(name);
    for (const auto* names : {&vocabulary.config_keys, &vocabulary.weights, &vocabulary.externs}) known_.insert(known_.end(), names->begin(), names->end());
    known_.insert(known_.end(), globals_.begin(), globals_.end());
    for (const auto& [name, function] : program.functions) callables_.push_back(name);
    for (const Signature& primitive : primitives_) callables_.push_back(primitive.name);
    for (const std::string& name : builtin_names()) callables_.push_back(name);
    callables_.insert(callables_.end(), {"defined", "error"});
  }

  void run() {
    for (const Module* module : {&program_.prelude, &program_.arch}) {
      in_prelude_ = module == &program_.prelude;
      for (const ConstItem& item : module->constants) {
        enter(item.name.text);
        expression(*item.value);
      }
      for (const Function& function : module->functions) check(function);
    }
    find_recursion();
  }

 private:
  void enter(const std::string& item) {
    locals_.clear();
    log_.clear();
    read_.clear();
    item_ = item;
  }

  void check(const Function& function) {
    enter(function.name.text);
    if (find_signature(primitives_, function.name.text) != nullptr || find_builtin(function.name.text)) {
      diagnostics_.add(DiagnosticKind::kNameOfPrimitive, function.name.span, {{"name", function.name.text}}).suggest("take another name");
    }
    for (const Param& param : function.params) {
      if (param.fallback) expression(*param.fallback);
      bind(param.name);
    }
    returns_value_ = false;
    forward_ = function.forward;
    const bool falls_through = block(function.body);
    if (!in_prelude_) report_unread(function);
    if (falls_through && returns_value_) {
      diagnostics_.add(DiagnosticKind::kMissingReturn, function.close, {{"function", function.name.text}}).label(function.name.span, "returns a value on other paths");
    }
  }

  // Functions of the prelude are an interface: `attention` takes k and v, which the cache already holds.
  void report_unread(const Function& function) {
    for (const Param& param : function.params) {
      if (read_.count(param.name.text) != 0) continue;
      diagnostics_.add(DiagnosticKind::kParameterUnread, param.name.span, {{"function", function.name.text}, {"name", param.name.text}}).suggest("leave it out, here and in the calls");
    }
  }

  // --- what is bound
  void set(const std::string& name, Local local) {
    Local& slot = locals_[name];
    log_.emplace_back(name, slot);
    slot = local;
  }

  void bind(const Word& word) {
    const Local& slot = locals_[word.text];
    if (slot.bound != Bound::kAlways) set(word.text, {Bound::kAlways, word.span});
  }

  // Undoes what was bound since `mark` and gives it back.
  std::map<std::string, Local> roll_back(size_t mark) {
    std::map<std::string, Local> made;
    while (log_.size() > mark) {
      auto& [name, before] = log_.back();
      made.emplace(name, locals_[name]);
      locals_[name] = before;
      log_.pop_back();
    }
    return made;
  }

  void keep(const std::map<std::string, Local>& made, Bound as) {
    for (const auto& [name, local] : made) {
      if (locals_[name].bound < as) set(name, {std::min(as, local.bound), local.at});
    }
  }

  // --- statements; each says whether what follows can be reached
  bool block(const Block& statements) {
    bool reached = true;
    for (const Stmt& statement : statements) {
      if (!reached) {
        diagnostics_.add(DiagnosticKind::kUnreachable, statement.span);
        return false;
      }
      reached = check(statement);
    }
    return reached;
  }

  bool check(const Stmt& s) {
    switch (s.kind) {
      case StmtKind::kFor: check_for(s); return true;
      case StmtKind::kIf: return check_if(s);
      case StmtKind::kAssign:
        expression(*s.values[0]);
        for (const Word& target : s.targets) bind(target);
        return true;
      case StmtKind::kReturn:
        for (const ExprPtr& value : s.values) expression(*value);
        returns_value_ = returns_value_ || !s.values.empty();
        if (forward_ && !s.values.empty()) {
          diagnostics_.add(DiagnosticKind::kForwardReturns, s.span).suggest("bind what the model gives to `logits`");
        }
        return false;
      case StmtKind::kAssert:
      case StmtKind::kYield: expression(*s.values[0]); return true;
      case StmtKind::kExpression: {
        const Expr& value = *s.values[0];
        expression(value);
        if (value.kind != ExprKind::kCall) diagnostics_.add(DiagnosticKind::kValueUnused, value.span).suggest("bind it: `name = ..;`");
        return !(value.kind == ExprKind::kCall && value.name.text == "error");
      }
    }
    return true;
  }

  void check_for(const Stmt& s) {
    expression(*s.values[0]);
    expression(*s.values[1]);
    const size_t mark = log_.size();
    bind(s.targets[0]);
    block(s.body);
    auto made = roll_back(mark);
    made.erase(s.targets[0].text);
    keep(made, Bound::kSometimes);
  }

  bool check_if(const Stmt& s) {
    expression(*s.values[0]);
    const size_t mark = log_.size();
    const bool then_reaches = block(s.body);
    const auto then_made = roll_back(mark);
    const bool else_reaches = block(s.otherwise);
    const auto else_made = roll_back(mark);
    if (!then_reaches || !else_reaches) {
      if (then_reaches) keep(then_made, Bound::kAlways);
      if (else_reaches) keep(else_made, Bound::kAlways);
      return then_reaches || else_reaches;
    }
    std::map<std::string, Local> both, some;
    for (const auto& [name, local] : then_made) {
      const auto other = else_made.find(name);
      const bool always = other != else_made.end() && std::min(local.bound, other->second.bound) == Bound::kAlways;
      (always ? both : some).emplace(name, local);
    }
    for (const auto& [name, local] : else_made) {
      if (both.count(name) == 0) some.emplace(name, local);
    }
    keep(both, Bound::kAlways);
    keep(some, Bound::kSometimes);
    return true;
  }

  // --- expressions
  void expression(const Expr& e) {
    switch (e.kind) {
      case ExprKind::kConstant: return;
      case ExprKind::kName: return name(e);
      case ExprKind::kField: return field(e);
      case ExprKind::kCall: return call(e);
      case ExprKind::kComprehension: return comprehension(e);
      case ExprKind::kScan: return scan(e);
      case ExprKind::kList:
      case ExprKind::kUnary:
      case ExprKind::kBinary:
      case ExprKind::kChoice:
      case ExprKind::kIndex:
      case ExprKind::kRecord: break;
    }
    for (const ExprPtr& child : e.children) expression(*child);
    for (const NamedExpr& argument : e.arguments) expression(*argument.value);
    for (const SliceRange& range : e.ranges) {
      if (range.begin) expression(*range.begin);
      if (range.end) expression(*range.end);
    }
  }

  bool is_key(const std::string& name) const { return keys_.count(name) != 0 || (in_prelude_ && prelude_keys_.count(name) != 0); }

  bool is_local(const std::string& name) const {
    const auto found = locals_.find(name);
    return found != locals_.end() && found->second.bound != Bound::kNever;
  }

  // A name that stands alone, or first in a dotted path.
  void name(const Expr& e) {
    const std::string& text = e.name.text;
    read_.insert(text);
    const auto local = locals_.find(text);
    if (local != locals_.end() && local->second.bound == Bound::kAlways) return;
    if (local != locals_.end() && local->second.bound == Bound::kSometimes) {
      diagnostics_.add(DiagnosticKind::kSometimesBound, e.span, {{"name", text}})
          .label(local->second.at, "bound here")
          .suggest("bind it on the other paths too, or before them: `" + text + " = none;`");
      return;
    }
    if (globals_.count(text) != 0) return use(text, e.span);
    if (externs_.count(text) != 0 || weights_.count(text) != 0 || is_key(text) || named_number(text)) return;
    if (text == kRowsName) {
      diagnostics_.add(DiagnosticKind::kRowsMisplaced, e.span).suggest("write it first in the shape of a reshape: `reshape(x, [T, n, d])`");
      return;
    }
    unknown(text, e.span);
  }

  void unknown(const std::string& text, const Span& span) {
    Diagnostic& made = diagnostics_.add(DiagnosticKind::kUnknownName, span, {{"name", text}});
    std::vector<std::string> candidates;
    for (const auto& [name, local] : locals_) {
      if (local.bound != Bound::kNever) candidates.push_back(name);
    }
    candidates.insert(candidates.end(), known_.begin(), known_.end());
    if (program_.find_function(text) != nullptr) {
      made.suggest("`" + text + "` is a function; call it: `" + text + "(..)`");
    } else if (const auto near = nearest_name(text, candidates)) {
      made.suggest("did you mean `" + *near + "`?");
    } else {
      made.suggest("a name is a local, a config key, a weight of arch.json, or defined in the text or the prelude");
    }
  }

  void field(const Expr& e) {
    const Expr* root = &e;
    while (root->kind == ExprKind::kField) root = root->children[0].get();
    if (root->kind != ExprKind::kName) return expression(*root);
    const std::string& first = root->name.text;
    if (is_local(first) || globals_.count(first) != 0) return name(*root);
    for (const Expr* at = &e; at->kind == ExprKind::kField; at = at->children[0].get()) {
      if (weights_.count(dotted_path(*at)) != 0) return;
    }
    if (externs_.count(first) != 0 || weights_.count(first) != 0 || is_key(first)) return;
    unknown(dotted_path(e), e.span);
  }

  void comprehension(const Expr& e) {
    expression(*e.children[1]);
    expression(*e.children[2]);
    const size_t mark = log_.size();
    bind(e.name);
    expression(*e.children[0]);
    roll_back(mark);
  }

  void scan(const Expr& e) {
    const ScanExpr& s = *e.scan;
    for (const ExprPtr& operand : s.operands) expression(*operand);
    for (const ExprPtr& dim : s.shape) expression(*dim);
    expression(*s.state);
    if (s.names.size() != s.operands.size()) {
      diagnostics_.add(DiagnosticKind::kScanNames, e.op_span, {{"names", std::to_string(s.names.size())}, {"operands", std::to_string(s.operands.size())}});
    }
    const size_t mark = log_.size();
    for (const Word& word : s.names) bind(word);
    bind(s.state_name);
    block(s.body);
    roll_back(mark);
    const auto yields = std::count_if(s.body.begin(), s.body.end(), [](const Stmt& statement) { return statement.kind == StmtKind::kYield; });
    if (yields != 1 || s.body.back().kind != StmtKind::kYield) {
      diagnostics_.add(DiagnosticKind::kScanYield, e.op_span).suggest("end its body with `yield value;`");
    }
  }

  // --- calls
  void call(const Expr& e) {
    const std::string& callee = e.name.text;
    if (callee == "defined") return defined(e);
    const Signature* const primitive = find_signature(primitives_, callee);
    for (size_t i = 0; i < e.arguments.size(); ++i) argument(e, i, primitive != nullptr && callee == "reshape");
    if (const Function* const function = program_.find_function(callee)) {
      use(callee, e.name.span);
      if (function->forward) {
        diagnostics_.add(DiagnosticKind::kForwardCalled, e.name.span, {{"name", callee}});
        return;
      }
      Signature signature{callee, {}, 0, false};
      for (const Param& param : function->params) {
        signature.params.push_back(param.name.text);
        if (!param.fallback) ++signature.least;
      }
      return fit(e, signature, function->name.span);
    }
    if (callee == "error") return fit(e, {"error", {"message"}, 1, false}, {});
    const auto builtin = find_builtin(callee);
    if (builtin && (primitive == nullptr || e.arguments.size() > primitive->params.size())) {
      const BuiltinInfo& row = info(*builtin);
      const int count = static_cast<int>(e.arguments.size());
      if (count < row.least || count > row.most) count_error(e, (row.least == row.most ? "" : "at least ") + counted(static_cast<size_t>(row.least), "argument"));
      return;
    }
    if (primitive != nullptr) return fit(e, *primitive, {});
    Diagnostic& made = diagnostics_.add(DiagnosticKind::kUnknownFunction, e.name.span, {{"name", callee}});
    if (const auto near = nearest_name(callee, callables_)) made.suggest("did you mean `" + *near + "`?");
    else if (keys_.count(callee) != 0 || weights_.count(callee) != 0) made.suggest("`" + callee + "` is a value, not a function");
  }

  // `T` is legal as the first dim of the shape given to reshape.
  void argument(const Expr& e, size_t index, bool shape_follows) {
    const Expr& value = *e.arguments[index].value;
    const bool is_shape = shape_follows && (index == 1 || e.arguments[index].name.text == "shape") && value.kind == ExprKind::kList && !value.children.empty();
    const bool rows_first = is_shape && value.children[0]->kind == ExprKind::kName && value.children[0]->name.text == kRowsName && !is_local(std::string(kRowsName));
    if (!rows_first) return expression(value);
    for (size_t i = 1; i < value.children.size(); ++i) expression(*value.children[i]);
  }

  void defined(const Expr& e) {
    const bool path = e.arguments.size() == 1 && e.arguments[0].name.text.empty() && !dotted_path(*e.arguments[0].value).empty();
    if (!path) {
      diagnostics_.add(DiagnosticKind::kDefinedArgument, e.span).suggest("`defined(rope_scaling.factor)`");
      return;
    }
    expression(*e.arguments[0].value);
  }

  void count_error(const Expr& e, const std::string& wanted) {
    diagnostics_.add(DiagnosticKind::kArgumentCount, e.span, {{"function", e.name.text}, {"wanted", wanted}, {"got", std::to_string(e.arguments.size())}});
  }

  void fit(const Expr& e, const Signature& signature, const Span& defined_at) {
    std::vector<bool> given(signature.params.size(), false);
    for (size_t i = 0; i < e.arguments.size(); ++i) {
      const Word& word = e.arguments[i].name;
      if (word.text.empty()) {
        if (i < given.size()) given[i] = true;
        continue;
      }
      const auto at = std::find(signature.params.begin(), signature.params.end(), word.text);
      if (at == signature.params.end()) {
        Diagnostic& made = diagnostics_.add(DiagnosticKind::kUnknownArgument, word.span, {{"name", word.text}, {"function", signature.name}});
        if (defined_at.file != nullptr) made.label(defined_at, "defined here");
        if (const auto near = nearest_name(word.text, signature.params)) made.suggest("did you mean `" + *near + "`?");
        else made.suggest("its parameters are `" + join(signature.params, "`, `") + "`");
        return;
      }
      const size_t index = static_cast<size_t>(at - signature.params.begin());
      if (given[index]) {
        diagnostics_.add(DiagnosticKind::kArgumentTwice, word.span, {{"name", word.text}, {"function", signature.name}});
        return;
      }
      given[index] = true;
    }
    const size_t most = signature.params.size();
    if (!signature.variadic && e.arguments.size() > most) {
      count_error(e, (signature.least == most ? "" : "at most ") + counted(most, "argument"));
      return;
    }
    for (size_t i = 0; i < signature.least; ++i) {
      if (given[i]) continue;
      Diagnostic& made = diagnostics_.add(DiagnosticKind::kArgumentMissing, e.span, {{"name", signature.params[i]}, {"function", signature.name}});
      if (defined_at.file != nullptr) made.label(defined_at, "defined here");
      return;
    }
  }

  // --- recursion
  void use(const std::string& name, const Span& span) { uses_[item_].emplace(name, span); }

  // Depth first over functions and constants, by a stack of our own; an edge back to an open item closes a circle.
  void find_recursion() {
    std::map<std::string, int> state;  // 1 = open, 2 = done
    for (const auto& [start, ignored] : uses_) {
      std::vector<std::pair<std::string, std::map<std::string, Span>::const_iterator>> stack;
      const auto open = [&](const std::string& name) {
        state[name] = 1;
        stack.emplace_back(name, uses_[name].begin());
      };
      if (state[start] == 0) open(start);
      while (!stack.empty()) {
        auto& [name, next] = stack.back();
        if (next == uses_[name].end()) {
          state[name] = 2;
          stack.pop_back();
          continue;
        }
        const auto& [callee, span] = *next++;
        if (state[callee] == 1) report_circle(stack, callee, span);
        else if (state[callee] == 0 && uses_.count(callee) != 0) open(callee);
      }
    }
  }

  template <typename Stack>
  void report_circle(const Stack& stack, const std::string& callee, const Span& span) {
    std::string path = "`" + callee + "`";
    bool inside = false;
    for (const auto& [name, next] : stack) {
      if (inside) path += " uses `" + name + "`";
      inside = inside || name == callee;
    }
    diagnostics_.add(DiagnosticKind::kRecursion, span, {{"name", callee}})
        .note(path + " uses `" + callee + "`")
        .suggest("functions are written out where they are called, so one cannot reach itself; repeat with `for`");
  }

  const Program& program_;
  Diagnostics& diagnostics_;
  const std::vector<Signature>& primitives_;
  std::set<std::string> keys_, prelude_keys_, weights_, externs_, globals_;
  bool in_prelude_ = false;
  std::vector<std::string> known_, callables_;
  std::map<std::string, Local> locals_;
  std::vector<std::pair<std::string, Local>> log_;
  std::set<std::string> read_;  // names read in the function
  std::map<std::string, std::map<std::string, Span>> uses_;
  std::string item_;
  bool returns_value_ = false, forward_ = false;
};

}  // namespace

const Signature* find_signature(const std::vector<Signature>& signatures, std::string_view name) {
  for (const Signature& signature : signatures) {
    if (signature.name == name) return &signature;
  }
  return nullptr;
}

bool check_names(const Program& program, const Vocabulary& vocabulary, Diagnostics& diagnostics) {
  const size_t before = diagnostics.size();
  Checker(program, vocabulary, diagnostics).run();
  return diagnostics.size() == before;
}

}  // namespace scratchy
