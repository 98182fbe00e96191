#include "text/template/access.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "text/template/characters.h"
#include "text/template/evaluate.h"
#include "text/template/registry.h"

namespace scratchy::jinja {
namespace {

Value missing(const Value& object, std::string_view name) {
  return make_undefined("`" + type_name(object) + "` has no attribute `" + escape_for_message(name) + "`");
}

Value names_of(const std::vector<std::string>& names) {
  std::vector<Value> out;
  for (const std::string& name : names) out.push_back(make_text(name));
  return make_tuple(std::move(out));
}

std::optional<Value> loop_attribute(const LoopState& loop, std::string_view name) {
  const size_t size = loop.items.size();
  if (name == "index") return loop.index0 + 1;
  if (name == "index0") return loop.index0;
  if (name == "revindex") return size - loop.index0;
  if (name == "revindex0") return size - loop.index0 - 1;
  if (name == "first") return loop.index0 == 0;
  if (name == "last") return loop.index0 + 1 == size;
  if (name == "length") return size;
  if (name == "depth") return loop.nesting + 1;
  if (name == "depth0") return loop.nesting;
  if (name == "previtem") return loop.index0 == 0 ? make_undefined("there is no previous item") : loop.items[loop.index0 - 1];
  if (name == "nextitem") return loop.index0 + 1 >= size ? make_undefined("there is no next item") : loop.items[loop.index0 + 1];
  return std::nullopt;
}

std::optional<Value> macro_attribute(const Macro& macro, std::string_view name) {
  const Signature& signature = macro.signature;
  if (name == "name") return make_text(signature.name);
  if (name == "arguments") return names_of(signature.parameters);
  if (name == "caller") return signature.uses_caller;
  if (name == "catch_varargs") return signature.uses_varargs;
  if (name == "catch_kwargs") return signature.uses_kwargs;
  return std::nullopt;
}

std::optional<Value> range_attribute(const Range& range, std::string_view name) {
  if (name == "start") return range.start;
  if (name == "stop") return range.stop;
  if (name == "step") return range.step;
  return std::nullopt;
}

// What an object offers beside methods.
std::optional<Value> own_attribute(const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::kLoop: return loop_attribute(object.object<LoopState>(), name);
    case Kind::kMacro: return macro_attribute(object.object<Macro>(), name);
    case Kind::kRange: return range_attribute(object.object<Range>(), name);
    case Kind::kCycler:
      if (name == "current") return object.object<Cycler>().items[object.object<Cycler>().at];
      return std::nullopt;
    case Kind::kNamespace:
      if (const Value* value = object.object<Namespace>().find(name)) return *value;
      return std::nullopt;
    case Kind::kTuple:
      if (object.sequence().form != Sequence::Form::kGroup) return std::nullopt;
      if (name == "grouper") return object.items()[0];
      if (name == "list") return object.items()[1];
      return std::nullopt;
    case Kind::kBoolean:
    case Kind::kInteger:
      if (name == "real" || name == "numerator") return object.integer();
      if (name == "imag") return 0;
      if (name == "denominator") return 1;
      return std::nullopt;
    case Kind::kUndefined:
    case Kind::kNone:
    case Kind::kFloat:
    case Kind::kText:
    case Kind::kBytes:
    case Kind::kList:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kGenerator:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kJoiner: return std::nullopt;
  }
  SCRATCHY_UNREACHABLE("kind of value");
}

// A Python attribute: own ones, then methods; what the sandbox hides is undefined and says so.
std::optional<Value> python_attribute(Evaluator& evaluator, const Value& object, std::string_view name) {
  evaluator.budget().spend(1);
  if (auto own = own_attribute(object, name)) return own;
  if (name.starts_with("__") || changes_its_owner(object, name)) {
    return make_undefined("access to `" + escape_for_message(name) + "` of `" + type_name(object) + "` is unsafe");
  }
  if (const NativeEntry* method = find_method(object, name)) return make_object<Method>(object, *method);
  return std::nullopt;
}

// The place that `key` means in a sequence of `size`, or nothing when it is outside.
std::optional<size_t> position(const Value& key, size_t size) {
  if (!key.is_integral()) return std::nullopt;
  Integer index = key.integer();
  if (index < 0) index += static_cast<Integer>(size);
  if (index < 0 || index >= static_cast<Integer>(size)) return std::nullopt;
  return static_cast<size_t>(index);
}

Value character_at(Budget& budget, const Value& text, size_t at) {
  if (text.text().one_byte_each()) return text_like(text, text.bytes().substr(at, 1));
  budget.spend(text.weight());
  return text_like(text, encode_utf8(decode_utf8(text.bytes()).substr(at, 1)));
}

std::optional<Value> data_item(Evaluator& evaluator, const Value& object, const Value& key) {
  Budget& budget = evaluator.budget();
  if (object.is_dict()) {
    const bool unhashable = key.is(Kind::kList) || key.is_dict();
    const Value* found = unhashable ? nullptr : look_up(budget, object.dict(), key);
    return found != nullptr ? std::optional(*found) : std::nullopt;
  }
  if (object.is_list_or_tuple()) {
    const auto at = position(key, object.items().size());
    return at ? std::optional(object.items()[*at]) : std::nullopt;
  }
  if (object.is_text()) {
    const auto at = position(key, object.text().length);
    return at ? std::optional(character_at(budget, object, *at)) : std::nullopt;
  }
  if (object.is(Kind::kRange)) {
    const Range& range = object.object<Range>();
    const auto at = position(key, static_cast<size_t>(range.size()));
    return at ? std::optional(Value(range.start + static_cast<Integer>(*at) * range.step)) : std::nullopt;
  }
  return std::nullopt;
}

struct Slice {
  Integer start, step;
  size_t count;
};

// Python's slice.indices on a sequence of `size`.
Slice resolve_slice(const Value& start, const Value& stop, const Value& step, size_t length) {
  const auto part = [](const Value& value, Integer fallback) {
    if (value.is_none()) return fallback;
    if (value.is_undefined()) raise_undefined(value);
    if (!value.is_integral()) raise("a slice takes integers or none, not `" + type_name(value) + "`");
    return value.integer();
  };
  const Integer size = static_cast<Integer>(length);
  const Integer by = part(step, 1);
  if (by == 0) raise("the step of a slice is zero");
  const Integer low = by > 0 ? 0 : -1, high = by > 0 ? size : size - 1;
  const auto clamp = [&](Integer index) {
    if (index < 0) index += size;
    return std::clamp(index, low, high);
  };
  const auto bounded = [&](Integer index) { return std::clamp(index, -size - 1, size + 1); };
  const Integer from = start.is_none() ? (by > 0 ? low : high) : clamp(bounded(part(start, 0)));
  const Integer to = stop.is_none() ? (by > 0 ? high : low) : clamp(bounded(part(stop, 0)));
  const Integer stride = std::clamp(by, -size - 1, size + 1);
  const Integer distance = by > 0 ? to - from : from - to;
  const Integer absolute = stride > 0 ? stride : -stride;
  return {from, stride, distance > 0 ? static_cast<size_t>((distance + absolute - 1) / absolute) : 0};
}

template <typename Source, typename Out>
void copy_slice(const Source& source, const Slice& slice, Out& out) {
  Integer at = slice.start;
  for (size_t i = 0; i < slice.count; ++i, at += slice.step) out.push_back(source[static_cast<size_t>(at)]);
}

}  // namespace

Value get_attribute(Evaluator& evaluator, const Value& object, std::string_view name) {
  if (object.is_undefined()) raise_undefined(object);
  if (auto value = python_attribute(evaluator, object, name)) return *value;
  if (object.is_dict()) {
    evaluator.budget().spend(1 + object.dict().entries.size() / 8);
    if (const Value* value = object.dict().find(name)) return *value;
  }
  return missing(object, name);
}

Value get_item(Evaluator& evaluator, const Value& object, const Value& key) {
  if (object.is_undefined()) raise_undefined(object);
  if (auto value = data_item(evaluator, object, key)) return *value;
  if (key.is_text()) {
    if (auto value = python_attribute(evaluator, object, key.bytes())) return *value;
    return missing(object, key.bytes());
  }
  return make_undefined("`" + type_name(object) + "` has no such element");
}

Value get_slice(Evaluator& evaluator, const Value& object, const Value& start, const Value& stop, const Value& step) {
  if (object.is_undefined()) raise_undefined(object);
  if (object.is_list_or_tuple()) {
    const Slice slice = resolve_slice(start, stop, step, object.items().size());
    evaluator.budget().spend(slice.count);
    std::vector<Value> items;
    copy_slice(object.items(), slice, items);
    return object.is(Kind::kList) ? make_list(std::move(items)) : make_tuple(std::move(items));
  }
  if (object.is_text()) {
    evaluator.budget().spend_bytes(object.bytes().size());
    const Slice slice = resolve_slice(start, stop, step, object.text().length);
    if (object.text().one_byte_each()) {
      std::string out;
      copy_slice(object.bytes(), slice, out);
      return text_like(object, std::move(out));
    }
    std::u32string out;
    copy_slice(decode_utf8(object.bytes()), slice, out);
    return text_like(object, encode_utf8(out));
  }
  if (object.is(Kind::kRange)) {
    const Range& range = object.object<Range>();
    const Slice slice = resolve_slice(start, stop, step, static_cast<size_t>(range.size()));
    const Integer first = range.start + slice.start * range.step, by = slice.step * range.step;
    return make_object<Range>(first, first + static_cast<Integer>(slice.count) * by, by);
  }
  raise("a value of type `" + type_name(object) + "` cannot be sliced");
}

Value get_path(Evaluator& evaluator, const Value& object, const Value& path) {
  if (!path.is_text()) return get_item(evaluator, object, path);
  Value out = object;
  for (const std::string& part : split(path.bytes(), '.')) {
    const bool number = !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string::npos;
    out = get_item(evaluator, out, number ? Value(std::stoi(part)) : make_text(part));
  }
  return out;
}

}  // namespace scratchy::jinja
