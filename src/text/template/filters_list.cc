// Filters on lists: picking, ordering, grouping.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "text/template/access.h"
#include "text/template/bind.h"
#include "text/template/characters.h"
#include "text/template/evaluate.h"
#include "text/template/natives.h"
#include "text/template/operators.h"
#include "text/template/print.h"

namespace scratchy::jinja {
namespace {

// Texts compare without case unless asked otherwise.
Value fold_case(Budget& budget, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is_text()) return value;
  budget.spend(value.weight());
  return make_text(lower_utf8(value.bytes()));
}

// The value that an `attribute` argument picks from an item; the item itself when there is none.
Value picked(Evaluator& evaluator, const Value& item, const Value* attribute) {
  return attribute == nullptr || attribute->is_none() ? item : get_path(evaluator, item, *attribute);
}

// sort compares lists of keys, so that equal keys need no order; its attribute may name several, with commas between.
Value sort_keys(Evaluator& evaluator, const Value& item, const Value* attribute, bool case_sensitive) {
  Budget& budget = evaluator.budget();
  if (attribute == nullptr || !attribute->is_text()) {
    return make_list({fold_case(budget, picked(evaluator, item, attribute), case_sensitive)});
  }
  std::vector<Value> keys;
  for (const std::string& part : split(attribute->bytes(), ',')) {
    const Value name = make_text(part);
    keys.push_back(fold_case(budget, picked(evaluator, item, &name), case_sensitive));
  }
  return make_list(std::move(keys));
}

struct Keyed {
  Value key, item;
};

std::vector<Keyed> keyed(Evaluator& evaluator, const Value& self, const Value* attribute, bool case_sensitive) {
  std::vector<Keyed> out;
  for (Value& item : iterate(evaluator.budget(), self)) {
    Value key = fold_case(evaluator.budget(), picked(evaluator, item, attribute), case_sensitive);
    out.push_back({std::move(key), std::move(item)});
  }
  return out;
}

// Stable, and with `reverse` still stable, as Python's.
void sort_keyed(Budget& budget, std::vector<Keyed>& items, bool reverse) {
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    return reverse ? less(budget, b.key, a.key) : less(budget, a.key, b.key);
  });
}

std::vector<Value> without_keys(std::vector<Keyed> items) {
  std::vector<Value> out;
  for (Keyed& entry : items) out.push_back(std::move(entry.item));
  return out;
}

Value extreme(Evaluator& evaluator, const Value& self, const Arguments& arguments, bool largest) {
  const auto bound = bind(largest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const auto items = keyed(evaluator, self, bound[1], truth_or(bound[0], false));
  if (items.empty()) return make_undefined("no item is in an empty sequence");
  const Keyed* best = &items[0];
  for (const Keyed& entry : items) {
    const bool better = largest ? less(evaluator.budget(), best->key, entry.key) : less(evaluator.budget(), entry.key, best->key);
    if (better) best = &entry;
  }
  return best->item;
}

Value list_with(Evaluator& evaluator, std::vector<Value> items) {
  evaluator.budget().spend(items.size());
  return make_list(std::move(items));
}

}  // namespace

Value filter_length(Evaluator&, const Value& self, const Arguments& arguments) {
  bind("length", arguments, {});
  return length_of(self);
}

Value filter_list(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("list", arguments, {});
  return make_list(iterate(evaluator.budget(), self));
}

Value filter_first(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("first", arguments, {});
  if (self.is_list_or_tuple() && !self.items().empty()) return self.items().front();
  const auto items = iterate(evaluator.budget(), self);
  return items.empty() ? make_undefined("no first item is in an empty sequence") : items.front();
}

Value filter_last(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("last", arguments, {});
  if (self.is_list_or_tuple() && !self.items().empty()) return self.items().back();
  if (self.is(Kind::kGenerator)) raise("`last` cannot read a generator from its end");
  const auto items = iterate(evaluator.budget(), self);
  return items.empty() ? make_undefined("no last item is in an empty sequence") : items.back();
}

Value filter_random(Evaluator&, const Value&, const Arguments&) {
  raise("`random` is not offered; equal input gives equal text");
}

Value filter_reverse(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("reverse", arguments, {});
  if (self.is_text()) {
    evaluator.budget().spend_bytes(self.bytes().size());
    const std::u32string text = decode_utf8(self.bytes());
    return text_like(self, encode_utf8(std::u32string(text.rbegin(), text.rend())));
  }
  std::vector<Value> items = iterate(evaluator.budget(), self);
  std::reverse(items.begin(), items.end());
  return make_object<Generator>(std::move(items));
}

Value filter_sort(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<Keyed> items;
  for (Value& item : iterate(evaluator.budget(), self)) {
    Value key = sort_keys(evaluator, item, bound[2], truth_or(bound[1], false));
    items.push_back({std::move(key), std::move(item)});
  }
  sort_keyed(evaluator.budget(), items, truth_or(bound[0], false));
  return list_with(evaluator, without_keys(std::move(items)));
}

Value filter_unique(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("unique", arguments, {"case_sensitive", "attribute"});
  std::vector<Value> seen, out;
  for (Keyed& entry : keyed(evaluator, self, bound[1], truth_or(bound[0], false))) {
    require_hashable(entry.key);
    const bool known = std::any_of(seen.begin(), seen.end(), [&](const Value& v) { return equal(evaluator.budget(), v, entry.key); });
    if (known) continue;
    seen.push_back(std::move(entry.key));
    out.push_back(std::move(entry.item));
  }
  return make_object<Generator>(std::move(out));
}

Value filter_min(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return extreme(evaluator, self, arguments, false);
}
Value filter_max(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return extreme(evaluator, self, arguments, true);
}

Value filter_sum(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("sum", arguments, {"attribute", "start"});
  Value total = bound[1] != nullptr ? *bound[1] : Value(0);
  if (total.is_text()) raise("`sum` does not add texts; `join` does");
  for (const Value& item : iterate(evaluator.budget(), self)) {
    total = apply_binary(evaluator.budget(), BinaryOperator::kAdd, total, picked(evaluator, item, bound[0]));
  }
  return total;
}

Value filter_groupby(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const bool case_sensitive = truth_or(bound[2], false);
  const auto exact_key = [&](const Value& item) {
    const Value key = get_path(evaluator, item, *bound[0]);
    return key.is_undefined() && bound[1] != nullptr ? *bound[1] : key;
  };
  std::vector<Keyed> items;
  for (Value& item : iterate(evaluator.budget(), self)) {
    Value key = fold_case(evaluator.budget(), exact_key(item), case_sensitive);
    items.push_back({std::move(key), std::move(item)});
  }
  sort_keyed(evaluator.budget(), items, false);
  std::vector<Value> groups;
  for (size_t i = 0; i < items.size();) {
    std::vector<Value> members;
    const Value key = items[i].key;
    for (; i < items.size() && equal(evaluator.budget(), items[i].key, key); ++i) members.push_back(items[i].item);
    if (members.empty()) members.push_back(items[i++].item);
    const Value shown = exact_key(members[0]);
    groups.push_back(make_group({shown, make_list(std::move(members))}));
  }
  return list_with(evaluator, std::move(groups));
}

Value filter_dictsort(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  if (self.is_undefined()) raise_undefined(self);
  if (!self.is_dict()) raise("`dictsort` needs a dict, not `" + type_name(self) + "`");
  const std::string by = bound[1] != nullptr ? need_text(*bound[1], "dictsort") : "key";
  if (by != "key" && by != "value") raise("`dictsort` goes by key or value");
  std::vector<Keyed> items;
  for (const auto& [key, value] : self.dict().entries) {
    evaluator.budget().spend(1);
    Value order = fold_case(evaluator.budget(), by == "key" ? key : value, truth_or(bound[0], false));
    items.push_back({std::move(order), make_tuple({key, value})});
  }
  sort_keyed(evaluator.budget(), items, truth_or(bound[2], false));
  return list_with(evaluator, without_keys(std::move(items)));
}

Value filter_items(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("items", arguments, {});
  if (self.is_undefined()) return make_object<Generator>(std::vector<Value>());
  if (!self.is_dict()) raise("`items` needs a dict, not `" + type_name(self) + "`");
  const Value view = make_object<DictView>(self, DictView::Part::kItems);
  return make_object<Generator>(iterate(evaluator.budget(), view));
}

Value filter_batch(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("batch", arguments, {"linecount", "fill_with"}, 1);
  const Integer size = integer_or(bound[0], 1);
  std::vector<Value> rows, row;
  for (Value& item : iterate(evaluator.budget(), self)) {
    if (static_cast<Integer>(row.size()) == size) rows.push_back(make_list(std::exchange(row, {})));
    row.push_back(std::move(item));
  }
  if (!row.empty()) {
    const bool fills = bound[1] != nullptr && !bound[1]->is_none() && static_cast<Integer>(row.size()) < size;
    if (fills) evaluator.budget().spend_bytes(width_of(size) * sizeof(Value));
    while (fills && static_cast<Integer>(row.size()) < size) row.push_back(*bound[1]);
    rows.push_back(make_list(std::move(row)));
  }
  return make_object<Generator>(std::move(rows));
}

Value filter_slice(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("slice", arguments, {"slices", "fill_with"}, 1);
  const std::vector<Value> items = iterate(evaluator.budget(), self);
  const Integer wanted = integer_or(bound[0], 1);
  if (wanted == 0) raise("division by zero");
  const size_t slices = width_of(wanted);
  evaluator.budget().spend(slices);
  if (slices == 0) return make_object<Generator>(std::vector<Value>());
  const size_t each = items.size() / slices, longer = items.size() % slices;
  std::vector<Value> out;
  size_t at = 0;
  for (size_t i = 0; i < slices; ++i) {
    const size_t size = each + (i < longer ? 1 : 0);
    std::vector<Value> part(items.begin() + static_cast<std::ptrdiff_t>(at), items.begin() + static_cast<std::ptrdiff_t>(at + size));
    if (bound[1] != nullptr && !bound[1]->is_none() && i >= longer) part.push_back(*bound[1]);
    out.push_back(make_list(std::move(part)));
    at += size;
  }
  return make_object<Generator>(std::move(out));
}

}  // namespace scratchy::jinja
