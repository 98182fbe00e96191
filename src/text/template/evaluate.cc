#include "text/template/evaluate.h"

#include "base/check.h"
#include "text/template/access.h"
#include "text/template/print.h"
#include "text/template/registry.h"

namespace scratchy::jinja {

using Node = Expression::Kind;

Value Evaluator::evaluate(const Expression& node) {
  const Depth depth(*this);
  budget_.spend(1);
  line_ = node.line;
  switch (node.kind) {
    case Node::kConstant: return node.value;
    case Node::kName: return look_up_name(node.name);
    case Node::kNot: return !truthy(evaluate(*node.children[0]));
    case Node::kNegate: return negate(evaluate(*node.children[0]));
    case Node::kPlus: return plus(evaluate(*node.children[0]));
    case Node::kAnd: {
      Value left = evaluate(*node.children[0]);
      return truthy(left) ? evaluate(*node.children[1]) : left;
    }
    case Node::kOr: {
      Value left = evaluate(*node.children[0]);
      return truthy(left) ? left : evaluate(*node.children[1]);
    }
    case Node::kBinary: {
      const Value left = evaluate(*node.children[0]);
      return apply_binary(budget_, node.binary, left, evaluate(*node.children[1]));
    }
    case Node::kList:
    case Node::kTuple:
    case Node::kDict:
    case Node::kConcat:
    case Node::kCompare:
    case Node::kConditional:
    case Node::kAttribute:
    case Node::kItem:
    case Node::kSlice:
    case Node::kCall:
    case Node::kFilter:
    case Node::kTest:
    case Node::kAttributeTarget: return evaluate_composite(node);
  }
  SCRATCHY_UNREACHABLE("kind of expression");
}

Value Evaluator::evaluate_composite(const Expression& node) {
  switch (node.kind) {
    case Node::kList: return evaluate_items(node, false);
    case Node::kTuple: return evaluate_items(node, true);
    case Node::kDict: return evaluate_dict(node);
    case Node::kConcat: return evaluate_concat(node);
    case Node::kCompare: return evaluate_compare(node);
    case Node::kConditional: return evaluate_conditional(node);
    case Node::kAttribute: return get_attribute(*this, evaluate(*node.children[0]), node.name);
    case Node::kItem: return evaluate_item(node);
    case Node::kSlice: raise("a slice stands outside of `[...]`");
    case Node::kCall: return evaluate_call(node);
    case Node::kFilter: return evaluate_filter(node);
    case Node::kTest: return evaluate_test(node);
    case Node::kConstant:
    case Node::kName:
    case Node::kNot:
    case Node::kNegate:
    case Node::kPlus:
    case Node::kAnd:
    case Node::kOr:
    case Node::kBinary:
    case Node::kAttributeTarget: break;
  }
  SCRATCHY_UNREACHABLE("kind of expression");
}

Value Evaluator::look_up_name(std::string_view name) {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    for (const auto& [key, value] : scope->variables) {
      if (key == name) return value;
    }
  }
  if (const NativeEntry* entry = find_function(name)) return make_object<Function>(*entry);
  return make_undefined("`" + std::string(name) + "` is undefined");
}

Value Evaluator::evaluate_items(const Expression& node, bool tuple) {
  std::vector<Value> items;
  items.reserve(node.children.size());
  for (const ExpressionPtr& child : node.children) items.push_back(evaluate(*child));
  return tuple ? make_tuple(std::move(items)) : make_list(std::move(items));
}

Value Evaluator::evaluate_dict(const Expression& node) {
  std::vector<std::pair<Value, Value>> entries;
  for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
    const Value key = evaluate(*node.children[i]);
    require_hashable(key);
    budget_.spend(entries.size() / 4 + key.weight());
    set_entry(entries, key, evaluate(*node.children[i + 1]));
  }
  return make_dict(std::move(entries));
}

Value Evaluator::evaluate_concat(const Expression& node) {
  std::vector<Value> parts;
  bool safe = false;
  for (const ExpressionPtr& child : node.children) {
    parts.push_back(evaluate(*child));
    safe |= autoescape_ && parts.back().is_text() && parts.back().text().safe;
  }
  std::string out;
  for (const Value& part : parts) {
    const std::string text = safe ? escaped(budget_, part) : to_text(budget_, part);
    budget_.spend_bytes(out.size() + text.size());
    out += text;
  }
  return make_text(std::move(out), safe);
}

Value Evaluator::evaluate_compare(const Expression& node) {
  Value left = evaluate(*node.children[0]);
  for (size_t i = 0; i < node.comparisons.size(); ++i) {
    Value right = evaluate(*node.children[i + 1]);
    if (!apply_compare(budget_, node.comparisons[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Evaluator::evaluate_conditional(const Expression& node) {
  if (truthy(evaluate(*node.children[0]))) return evaluate(*node.children[1]);
  if (node.children.size() > 2) return evaluate(*node.children[2]);
  return make_undefined("an `if` without an `else` chose neither");
}

Value Evaluator::evaluate_item(const Expression& node) {
  if (node.children[1]->kind == Node::kSlice) return evaluate_slice(node);
  const Value object = evaluate(*node.children[0]);
  return get_item(*this, object, evaluate(*node.children[1]));
}

Value Evaluator::evaluate_slice(const Expression& node) {
  const Value object = evaluate(*node.children[0]);
  const Expression& slice = *node.children[1];
  const auto part = [&](size_t i) { return slice.children[i] ? evaluate(*slice.children[i]) : Value(None{}); };
  const Value start = part(0), stop = part(1), step = part(2);
  // Jinja folds constants through another path, which ends in an undefined value.
  const bool folded = node.children[0]->kind == Node::kConstant && !object.is_text();
  if (folded) return make_undefined("`" + type_name(object) + "` cannot be sliced");
  return get_slice(*this, object, start, stop, step);
}

Value Evaluator::evaluate_call(const Expression& node) {
  const Value callee = evaluate(*node.children[0]);
  const Arguments arguments = evaluate_arguments(node.arguments);
  line_ = node.line;
  return call(callee, arguments);
}

Value Evaluator::evaluate_filter(const Expression& node) {
  SCRATCHY_CHECK(node.children[0] != nullptr, "a filter without input stands outside of its block");
  const Value input = evaluate(*node.children[0]);
  const Arguments arguments = evaluate_arguments(node.arguments);
  line_ = node.line;
  return apply_filter(node.name, input, arguments);
}

Value Evaluator::evaluate_test(const Expression& node) {
  const Value input = evaluate(*node.children[0]);
  const Arguments arguments = evaluate_arguments(node.arguments);
  line_ = node.line;
  return apply_test(node.name, input, arguments);
}

}  // namespace scratchy::jinja
