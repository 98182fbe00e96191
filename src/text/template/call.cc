// Calls: functions, methods, macros, and loops that run themselves again.
#include <algorithm>

#include "text/template/bind.h"
#include "text/template/evaluate.h"
#include "text/template/print.h"
#include "text/template/registry.h"

namespace scratchy::jinja {
namespace {

Value call_joiner(Joiner& joiner, const Arguments& arguments) {
  bind("joiner", arguments, {});
  if (std::exchange(joiner.used, true)) return joiner.separator;
  return make_text("");
}

// Takes the argument called `name` out of `named`; false when it is not there.
bool take_named(std::vector<std::pair<std::string, Value>>& named, std::string_view name, Value& out) {
  const auto found = std::find_if(named.begin(), named.end(), [&](const auto& entry) { return entry.first == name; });
  if (found == named.end()) return false;
  out = std::move(found->second);
  named.erase(found);
  return true;
}

Value as_dict(std::vector<std::pair<std::string, Value>> named) {
  std::vector<std::pair<Value, Value>> entries;
  for (auto& [name, value] : named) entries.emplace_back(make_text(name), std::move(value));
  return make_dict(std::move(entries));
}

}  // namespace

// The current scope, kept for a macro that refers to it.
std::shared_ptr<Scope> Evaluator::captured_scope() {
  if (captured_.empty() || captured_.back() != scope_) captured_.push_back(scope_);
  return scope_;
}

Value Evaluator::make_namespace() {
  budget_.spend(4);
  namespaces_.push_back(make_object<Namespace>());
  return namespaces_.back();
}

Arguments Evaluator::evaluate_arguments(const CallArguments& arguments) {
  Arguments out;
  out.positional.reserve(arguments.positional.size());
  for (const ExpressionPtr& argument : arguments.positional) out.positional.push_back(evaluate(*argument));
  if (arguments.star) {
    for (Value& item : iterate(budget_, evaluate(*arguments.star))) out.positional.push_back(std::move(item));
  }
  for (const auto& [name, argument] : arguments.named) out.named.emplace_back(name, evaluate(*argument));
  if (!arguments.double_star) return out;
  const Value more = evaluate(*arguments.double_star);
  if (more.is_undefined()) raise_undefined(more);
  if (!more.is_dict()) raise("`**` needs a dict, not `" + type_name(more) + "`");
  for (const auto& [key, value] : more.dict().entries) {
    if (!key.is_text()) raise("`**` needs texts as keys");
    budget_.spend(1 + out.named.size() / 4);
    for (const auto& [name, other] : out.named) {
      if (name == key.bytes()) raise("the argument `" + name + "` is given twice");
    }
    out.named.emplace_back(key.bytes(), value);
  }
  return out;
}

Value Evaluator::call(const Value& callee, const Arguments& arguments) {
  const Depth depth(*this);
  budget_.spend(1);
  switch (callee.kind()) {
    case Kind::kUndefined: raise_undefined(callee);
    case Kind::kFunction: return callee.object<Function>().entry.function(*this, callee, arguments);
    case Kind::kMethod: {
      const Method& method = callee.object<Method>();
      return method.entry.function(*this, method.self, arguments);
    }
    case Kind::kMacro: return call_macro(callee.object<Macro>(), arguments);
    case Kind::kJoiner: return call_joiner(callee.object<Joiner>(), arguments);
    case Kind::kLoop: {
      const LoopState& loop = callee.object<LoopState>();
      if (loop.statement == nullptr) raise("the loop is not marked `recursive`");
      const auto bound = bind("loop", arguments, {"iterable"}, 1);
      std::string text;
      std::string* const kept = std::exchange(out_, &text);
      execute_for(*loop.statement, *bound[0], loop.nesting + 1, loop.scope);
      out_ = kept;
      return captured_text(std::move(text));
    }
    case Kind::kNone:
    case Kind::kBoolean:
    case Kind::kInteger:
    case Kind::kFloat:
    case Kind::kText:
    case Kind::kBytes:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kGenerator:
    case Kind::kNamespace:
    case Kind::kCycler: break;
  }
  raise("a value of type `" + type_name(callee) + "` cannot be called");
}

Value Evaluator::call_macro(const Macro& macro, const Arguments& arguments) {
  if (macro_depth_ >= kMaxMacroDepth) raise("macros call each other more than 220 deep");
  ++macro_depth_;
  const ScopeSwap swap(*this, inner_scope(macro.scope));
  bind_macro(macro, arguments);
  std::string text = capture(macro.body);
  --macro_depth_;
  return captured_text(std::move(text));
}

// Sets the macro's parameters in the current scope: positional, named, then defaults, which see those before them.
void Evaluator::bind_macro(const Macro& macro, const Arguments& arguments) {
  const Signature& signature = macro.signature;
  const size_t count = signature.parameters.size();
  const size_t given = std::min(count, arguments.positional.size());
  auto named = arguments.named;
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = signature.parameters[i];
    Value value;
    if (i < given) {
      value = arguments.positional[i];
    } else if (!take_named(named, name, value)) {
      const size_t first_default = count - signature.defaults.size();
      value = i >= first_default ? evaluate(*signature.defaults[i - first_default])
                                 : make_undefined("the parameter `" + name + "` was not provided");
    }
    scope_->set(name, std::move(value));
  }
  const bool own_caller = std::count(signature.parameters.begin(), signature.parameters.end(), "caller") != 0;
  if (signature.uses_caller && !own_caller) {
    Value caller;
    if (!take_named(named, "caller", caller)) caller = make_undefined("no caller is defined");
    scope_->set("caller", std::move(caller));
  }
  if (signature.uses_kwargs) {
    scope_->set("kwargs", as_dict(std::move(named)));
  } else if (!named.empty()) {
    raise("the macro `" + signature.name + "` takes no argument `" + named[0].first + "`");
  }
  if (signature.uses_varargs) {
    scope_->set("varargs", make_tuple({arguments.positional.begin() + static_cast<std::ptrdiff_t>(given),
                                       arguments.positional.end()}));
  } else if (arguments.positional.size() > count) {
    raise("the macro `" + signature.name + "` takes not more than " + std::to_string(count) + " arguments");
  }
}

Value Evaluator::apply_filter(std::string_view name, const Value& input, const Arguments& arguments) {
  const Depth depth(*this);
  budget_.spend(1);
  const NativeEntry* entry = find_filter(name);
  if (entry == nullptr) raise("no filter is named `" + std::string(name) + "`");
  return entry->function(*this, input, arguments);
}

bool Evaluator::apply_test(std::string_view name, const Value& input, const Arguments& arguments) {
  budget_.spend(1);
  const NativeEntry* entry = find_test(name);
  if (entry == nullptr) raise("no test is named `" + std::string(name) + "`");
  return truthy(entry->function(*this, input, arguments));
}

}  // namespace scratchy::jinja
