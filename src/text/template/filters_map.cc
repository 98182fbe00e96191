// map, select, reject and their attribute forms: filters that run other filters and tests. Jinja gives them lazily; here
// they run at once, and the result can be read once, as there.
#include "text/template/access.h"
#include "text/template/bind.h"
#include "text/template/evaluate.h"
#include "text/template/natives.h"
#include "text/template/operators.h"

namespace scratchy::jinja {
namespace {

// `arguments` from the `count`-th on.
Arguments after(const Arguments& arguments, size_t count) {
  Arguments out = arguments;
  const size_t drop = std::min(count, out.positional.size());
  out.positional.erase(out.positional.begin(), out.positional.begin() + static_cast<std::ptrdiff_t>(drop));
  return out;
}

// Keeps the items whose value passes the test named by arguments[offset], truth without one; `keeps` turns it round.
Value keep_items(Evaluator& evaluator, const Value& self, const Arguments& arguments, bool by_attribute, bool keeps) {
  const size_t offset = by_attribute ? 1 : 0;
  if (arguments.positional.size() < offset) raise("an attribute's name is needed");
  const bool tests = arguments.positional.size() > offset;
  const std::string test = tests ? need_text(arguments.positional[offset], "select") : "";
  const Arguments rest = after(arguments, offset + 1);
  std::vector<Value> out;
  for (Value& item : iterate(evaluator.budget(), self)) {
    evaluator.budget().spend(1);
    const Value value = by_attribute ? get_path(evaluator, item, arguments.positional[0]) : item;
    const bool passes = tests ? evaluator.apply_test(test, value, rest) : truthy(value);
    if (passes == keeps) out.push_back(std::move(item));
  }
  return make_object<Generator>(std::move(out));
}

Value map_attribute(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const Value *attribute = nullptr, *fallback = nullptr;
  for (const auto& [name, value] : arguments.named) {
    if (name == "attribute") attribute = &value;
    else if (name == "default") fallback = &value;
    else raise("`map` takes no argument `" + name + "`");
  }
  if (attribute == nullptr) raise("`map` needs a filter or an attribute");
  std::vector<Value> out;
  for (const Value& item : iterate(evaluator.budget(), self)) {
    Value value = get_path(evaluator, item, *attribute);
    out.push_back(value.is_undefined() && fallback != nullptr ? *fallback : std::move(value));
  }
  return make_object<Generator>(std::move(out));
}

}  // namespace

Value filter_map(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty()) return map_attribute(evaluator, self, arguments);
  const std::string& filter = need_text(arguments.positional[0], "map");
  const Arguments rest = after(arguments, 1);
  std::vector<Value> out;
  for (const Value& item : iterate(evaluator.budget(), self)) out.push_back(evaluator.apply_filter(filter, item, rest));
  return make_object<Generator>(std::move(out));
}

Value filter_select(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return keep_items(evaluator, self, arguments, false, true);
}
Value filter_reject(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return keep_items(evaluator, self, arguments, false, false);
}
Value filter_selectattr(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return keep_items(evaluator, self, arguments, true, true);
}
Value filter_rejectattr(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return keep_items(evaluator, self, arguments, true, false);
}

}  // namespace scratchy::jinja
