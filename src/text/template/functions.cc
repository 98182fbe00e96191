// Global functions, and the methods of loops, cyclers, lists, dicts and numbers.
#include <algorithm>
#include <cmath>

#include "text/template/bind.h"
#include "text/template/evaluate.h"
#include "text/template/natives.h"
#include "text/template/numbers.h"
#include "text/template/operators.h"
#include "text/template/print.h"
#include "text/template/strftime.h"

namespace scratchy::jinja {
namespace {

constexpr Integer kMaxRange = 100'000;

using Entries = std::vector<std::pair<Value, Value>>;

void put(Budget& budget, Entries& entries, const Value& key, Value value) {
  require_hashable(key);
  budget.spend(1 + entries.size() / 4);
  set_entry(entries, key, std::move(value));
}

// dict(mapping or pairs, name=value, ...).
Entries dict_entries(Budget& budget, const Arguments& arguments) {
  if (arguments.positional.size() > 1) raise("`dict` takes one mapping");
  Entries entries;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is_dict()) {
      budget.spend(source.dict().entries.size());
      entries = source.dict().entries;
    } else {
      for (const Value& pair : iterate(budget, source)) {
        const std::vector<Value> parts = iterate(budget, pair);
        if (parts.size() != 2) raise("`dict` needs pairs");
        put(budget, entries, parts[0], parts[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) put(budget, entries, make_text(name), value);
  return entries;
}

}  // namespace

Value function_range(Evaluator& evaluator, const Value&, const Arguments& arguments) {
  if (!arguments.named.empty()) raise("`range` takes no named arguments");
  const auto bound = bind("range", arguments, {"start", "stop", "step"}, 1);
  const bool single = bound[1] == nullptr;
  const Integer start = single ? 0 : integer_or(bound[0], 0);
  const Integer stop = integer_or(single ? bound[0] : bound[1], 0);
  const Integer step = integer_or(bound[2], 1);
  if (step == 0) raise("`range` needs a step other than 0");
  constexpr Integer kBound = Integer{1} << 80;
  for (Integer part : {start, stop, step}) {
    if (part > kBound || part < -kBound) raise("`range` is too long; the limit is 100,000");
  }
  Value range = make_object<Range>(start, stop, step);
  if (range.object<Range>().size() > kMaxRange) raise("`range` is too long; the limit is 100,000");
  evaluator.budget().spend(1);
  return range;
}

Value function_dict(Evaluator& evaluator, const Value&, const Arguments& arguments) {
  return make_dict(dict_entries(evaluator.budget(), arguments));
}

Value function_namespace(Evaluator& evaluator, const Value&, const Arguments& arguments) {
  const Value made = evaluator.make_namespace();
  Namespace& space = made.object<Namespace>();
  for (auto& [key, value] : dict_entries(evaluator.budget(), arguments)) {
    const std::string name = to_text(evaluator.budget(), key);
    if (name.starts_with('_')) raise("a namespace takes no attribute that starts with an underscore");
    space.depth = std::max(space.depth, value.depth() + 1);
    if (space.depth > kMaxValueDepth) raise("values nest more than 200 deep");
    space.attributes.emplace_back(name, value);
  }
  return made;
}

Value function_raise_exception(Evaluator& evaluator, const Value&, const Arguments& arguments) {
  const auto bound = bind("raise_exception", arguments, {"message"}, 1);
  throw RenderError{to_text(evaluator.budget(), *bound[0]), true};
}

Value function_strftime_now(Evaluator& evaluator, const Value&, const Arguments& arguments) {
  const auto bound = bind("strftime_now", arguments, {"format"}, 1);
  return make_text(format_time(evaluator.budget(), need_text(*bound[0], "strftime_now"), evaluator.clock()));
}

Value function_cycler(Evaluator&, const Value&, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) raise("`cycler` needs at least one item");
  return make_object<Cycler>(arguments.positional);
}

Value function_joiner(Evaluator&, const Value&, const Arguments& arguments) {
  const auto bound = bind("joiner", arguments, {"sep"});
  return make_object<Joiner>(bound[0] != nullptr ? *bound[0] : make_text(", "));
}

Value function_unsupported(Evaluator&, const Value& self, const Arguments&) {
  raise("`" + std::string(self.object<Function>().entry.name) + "` is not offered to templates");
}

Value cycler_next(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("next", arguments, {});
  Cycler& cycler = self.object<Cycler>();
  const Value item = cycler.items[cycler.at];
  cycler.at = (cycler.at + 1) % cycler.items.size();
  return item;
}

Value cycler_reset(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("reset", arguments, {});
  self.object<Cycler>().at = 0;
  return None{};
}

Value loop_cycle(Evaluator&, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) raise("`loop.cycle` needs at least one item");
  return arguments.positional[self.object<LoopState>().index0 % arguments.positional.size()];
}

Value loop_changed(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  LoopState& loop = self.object<LoopState>();
  const auto same = [&](const Value& a, const Value& b) { return equal(evaluator.budget(), a, b); };
  const auto& now = arguments.positional;
  if (loop.changed_once && loop.last_changed.size() == now.size() &&
      std::equal(now.begin(), now.end(), loop.last_changed.begin(), same)) {
    return false;
  }
  loop.changed_once = true;
  loop.last_changed = now;
  return true;
}

Value list_copy(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("copy", arguments, {});
  return self;
}

Value list_count(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("count", arguments, {"value"}, 1);
  size_t count = 0;
  for (const Value& item : iterate(evaluator.budget(), self)) count += equal(evaluator.budget(), item, *bound[0]) ? 1 : 0;
  return count;
}

Value list_index(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("index", arguments, {"value", "start", "stop"}, 1);
  const std::vector<Value> items = iterate(evaluator.budget(), self);
  const Integer size = static_cast<Integer>(items.size());
  const auto place = [&](const Value* value, Integer fallback) {
    const Integer index = integer_or(value, fallback);
    return std::clamp(index < 0 ? index + size : index, Integer{0}, size);
  };
  for (Integer i = place(bound[1], 0); i < place(bound[2], size); ++i) {
    if (equal(evaluator.budget(), items[static_cast<size_t>(i)], *bound[0])) return i;
  }
  raise("the value is not in the list");
}

Value dict_get(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  if (!arguments.named.empty()) raise("`get` takes no named arguments");
  const auto bound = bind("get", arguments, {"key", "default"}, 1);
  require_hashable(*bound[0]);
  if (const Value* found = look_up(evaluator.budget(), self.dict(), *bound[0])) return *found;
  return bound[1] != nullptr ? *bound[1] : Value(None{});
}

Value dict_copy(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("copy", arguments, {});
  return self;
}
Value dict_keys(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("keys", arguments, {});
  return make_object<DictView>(self, DictView::Part::kKeys);
}
Value dict_values(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("values", arguments, {});
  return make_object<DictView>(self, DictView::Part::kValues);
}
Value dict_items(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("items", arguments, {});
  return make_object<DictView>(self, DictView::Part::kItems);
}

Value dict_fromkeys(Evaluator& evaluator, const Value&, const Arguments& arguments) {
  const auto bound = bind("fromkeys", arguments, {"iterable", "value"}, 1);
  Entries entries;
  for (const Value& key : iterate(evaluator.budget(), *bound[0])) {
    put(evaluator.budget(), entries, key, bound[1] != nullptr ? *bound[1] : Value(None{}));
  }
  return make_dict(std::move(entries));
}

Value integer_bit_length(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("bit_length", arguments, {});
  int bits = 0;
  for (Integer rest = self.integer(); rest != 0; rest /= 2) ++bits;
  return bits;
}

Value float_is_integer(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("is_integer", arguments, {});
  return std::floor(self.number()) == self.number() && std::isfinite(self.number());
}

}  // namespace scratchy::jinja
