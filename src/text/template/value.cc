#include "text/template/value.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "text/template/characters.h"

namespace scratchy::jinja {
namespace {

int checked_depth(int inner) {
  if (inner >= kMaxValueDepth) raise("values nest more than 200 deep");
  return inner + 1;
}

int depth_of(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return checked_depth(depth);
}

uint64_t saturated_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t weight_of(const std::vector<Value>& items) {
  uint64_t weight = 1;
  for (const Value& item : items) weight = saturated_add(weight, item.weight());
  return weight;
}

Value make_sequence(std::vector<Value> items, Sequence::Form form) {
  auto sequence = std::make_shared<Sequence>();
  sequence->depth = depth_of(items);
  sequence->weight = weight_of(items);
  sequence->form = form;
  sequence->items = std::move(items);
  return Value(std::shared_ptr<const Sequence>(std::move(sequence)));
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  return std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
    const Value* other = b.find(entry.first);
    return other != nullptr && equal(entry.second, *other);
  });
}

}  // namespace

Kind Value::kind() const {
  switch (payload_.index()) {
    case 0: return Kind::kUndefined;
    case 1: return Kind::kNone;
    case 2: return Kind::kBoolean;
    case 3: return Kind::kInteger;
    case 4: return Kind::kFloat;
    case 5: return Kind::kText;
    case 6: return sequence().form == Sequence::Form::kList ? Kind::kList : Kind::kTuple;
    case 7: return Kind::kDict;
    case 8: return std::get<std::shared_ptr<Object>>(payload_)->kind;
  }
  SCRATCHY_UNREACHABLE("kind of value");
}

int Value::depth() const {
  if (const auto* sequence = std::get_if<std::shared_ptr<const Sequence>>(&payload_)) return (*sequence)->depth;
  if (const auto* dict = std::get_if<std::shared_ptr<const Dict>>(&payload_)) return (*dict)->depth;
  if (const auto* object = std::get_if<std::shared_ptr<Object>>(&payload_)) return (*object)->depth;
  return 0;
}

uint64_t Value::weight() const {
  if (const auto* text = std::get_if<std::shared_ptr<const Text>>(&payload_)) {
    return 1 + (*text)->bytes.size() / kBytesPerStep;
  }
  if (const auto* sequence = std::get_if<std::shared_ptr<const Sequence>>(&payload_)) return (*sequence)->weight;
  if (const auto* dict = std::get_if<std::shared_ptr<const Dict>>(&payload_)) return (*dict)->weight;
  if (is(Kind::kDictView)) return object<DictView>().dict.weight();
  return 1;
}

Integer Value::integer() const {
  if (const bool* boolean = std::get_if<bool>(&payload_)) return *boolean ? 1 : 0;
  return std::get<Integer>(payload_);
}

double Value::number() const {
  if (const double* real = std::get_if<double>(&payload_)) return *real;
  return static_cast<double>(integer());
}

const std::vector<Value>& Value::items() const { return sequence().items; }

const void* Value::identity() const {
  return std::visit(
      [](const auto& held) -> const void* {
        if constexpr (requires { held.get(); }) {
          return held.get();
        } else {
          return nullptr;
        }
      },
      payload_);
}

const Value* Dict::find(const Value& key) const {
  for (const auto& [name, value] : entries) {
    if (equal(name, key)) return &value;
  }
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name.is_text() && name.bytes() == key) return &value;
  }
  return nullptr;
}

const Value* Namespace::find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

DictView::DictView(Value source, Part which) : Object(Kind::kDictView), dict(std::move(source)), part(which) {
  depth = checked_depth(dict.depth() + 1);
}
Generator::Generator(std::vector<Value> values) : Object(Kind::kGenerator), items(std::move(values)) {
  depth = depth_of(items);
}
Cycler::Cycler(std::vector<Value> values) : Object(Kind::kCycler), items(std::move(values)) { depth = depth_of(items); }
LoopState::LoopState(std::vector<Value> values, int nested)
    : Object(Kind::kLoop), items(std::move(values)), nesting(nested) {
  depth = depth_of(items);
}
Method::Method(Value owner, const NativeEntry& native) : Object(Kind::kMethod), self(std::move(owner)), entry(native) {
  depth = checked_depth(self.depth());
}

Integer Range::size() const {
  if (step > 0) return start < stop ? (stop - start + step - 1) / step : 0;
  return start > stop ? (start - stop - step - 1) / -step : 0;
}

Value make_text(std::string bytes, bool safe) {
  auto text = std::make_shared<Text>();
  text->length = count_characters(bytes);
  text->bytes = std::move(bytes);
  text->safe = safe;
  return Value(std::shared_ptr<const Text>(std::move(text)));
}

Value make_list(std::vector<Value> items) { return make_sequence(std::move(items), Sequence::Form::kList); }
Value make_tuple(std::vector<Value> items) { return make_sequence(std::move(items), Sequence::Form::kTuple); }
Value make_group(std::vector<Value> items) { return make_sequence(std::move(items), Sequence::Form::kGroup); }

Value make_dict(std::vector<std::pair<Value, Value>> entries) {
  auto dict = std::make_shared<Dict>();
  int depth = 0;
  for (const auto& [key, value] : entries) {
    depth = std::max({depth, key.depth(), value.depth()});
    dict->weight = saturated_add(dict->weight, saturated_add(key.weight(), value.weight()));
  }
  dict->depth = checked_depth(depth);
  dict->entries = std::move(entries);
  return Value(std::shared_ptr<const Dict>(std::move(dict)));
}

Value make_undefined(std::string why) {
  return Value(Undefined{std::make_shared<const std::string>(std::move(why))});
}

void set_entry(std::vector<std::pair<Value, Value>>& entries, const Value& key, Value value) {
  for (auto& entry : entries) {
    if (equal(entry.first, key)) {
      entry.second = std::move(value);
      return;
    }
  }
  entries.emplace_back(key, std::move(value));
}

bool truthy(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone: return false;
    case Kind::kBoolean: return value.boolean();
    case Kind::kInteger: return value.integer() != 0;
    case Kind::kFloat: return value.number() != 0;
    case Kind::kText: return !value.bytes().empty();
    case Kind::kBytes: return !value.object<ByteString>().bytes.empty();
    case Kind::kList:
    case Kind::kTuple: return !value.items().empty();
    case Kind::kDict: return !value.dict().entries.empty();
    case Kind::kDictView: return !value.object<DictView>().dict.dict().entries.empty();
    case Kind::kRange: return value.object<Range>().size() != 0;
    case Kind::kLoop: return !value.object<LoopState>().items.empty();
    case Kind::kGenerator:
    case Kind::kNamespace:
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kCycler:
    case Kind::kJoiner: return true;
  }
  SCRATCHY_UNREACHABLE("kind of value");
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return a.is_integral() && b.is_integral() ? a.integer() == b.integer() : a.number() == b.number();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kUndefined:
    case Kind::kNone: return true;
    case Kind::kBoolean:
    case Kind::kInteger:
    case Kind::kFloat: return false;
    case Kind::kText: return a.bytes() == b.bytes();
    case Kind::kList:
    case Kind::kTuple:
      return a.items().size() == b.items().size() && std::equal(a.items().begin(), a.items().end(), b.items().begin(), equal);
    case Kind::kDict: return equal_dicts(a.dict(), b.dict());
    case Kind::kRange: {
      const Range &x = a.object<Range>(), &y = b.object<Range>();
      return x.size() == y.size() && (x.size() == 0 || (x.start == y.start && (x.size() == 1 || x.step == y.step)));
    }
    case Kind::kBytes: return a.object<ByteString>().bytes == b.object<ByteString>().bytes;
    case Kind::kDictView:
    case Kind::kGenerator:
    case Kind::kNamespace:
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kLoop:
    case Kind::kCycler:
    case Kind::kJoiner: return a.identity() == b.identity();
  }
  SCRATCHY_UNREACHABLE("kind of value");
}

std::string type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined: return "Undefined";
    case Kind::kNone: return "NoneType";
    case Kind::kBoolean: return "bool";
    case Kind::kInteger: return "int";
    case Kind::kFloat: return "float";
    case Kind::kText: return value.text().safe ? "Markup" : "str";
    case Kind::kBytes: return "bytes";
    case Kind::kList: return "list";
    case Kind::kTuple: return "tuple";
    case Kind::kDict: return "dict";
    case Kind::kDictView: return "dict view";
    case Kind::kRange: return "range";
    case Kind::kGenerator: return "generator";
    case Kind::kNamespace: return "namespace";
    case Kind::kMacro: return "macro";
    case Kind::kMethod: return "method";
    case Kind::kFunction: return "function";
    case Kind::kLoop: return "loop";
    case Kind::kCycler: return "cycler";
    case Kind::kJoiner: return "joiner";
  }
  SCRATCHY_UNREACHABLE("kind of value");
}

void raise_undefined(const Value& value) {
  const auto& why = value.undefined().why;
  raise(why ? *why : "the value is undefined");
}

}  // namespace scratchy::jinja
