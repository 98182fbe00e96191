// The values a template computes with: Python's, as far as Jinja shows them.
//
// Small values are held directly, the rest through shared pointers to immutable data, so that copying a Value is cheap
// and the sandbox's promise (nothing a template does changes its input) holds by construction. What does change
// (namespaces, loops, generators, cyclers) are Objects. Integers have 128 bits; a result past them is an error, never
// a wrong number. Every container knows its depth, which bounds each recursion over values and their destruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "text/template/budget.h"

namespace scratchy::jinja {

using Integer = __int128;

enum class Kind {
  kUndefined, kNone, kBoolean, kInteger, kFloat, kText, kBytes, kList, kTuple, kDict,
  kDictView, kRange, kGenerator, kNamespace, kMacro, kMethod, kFunction, kLoop, kCycler, kJoiner,
};

class Value;
class Evaluator;
struct Scope;
struct Statement;

// Undefined carries why, for the error that its use raises.
struct Undefined {
  std::shared_ptr<const std::string> why;
};
struct None {};

struct Text {
  std::string bytes;  // UTF-8
  size_t length = 0;  // in characters
  bool safe = false;  // Markup: escaping leaves it alone
  bool one_byte_each() const { return length == bytes.size(); }
};

struct Sequence;
struct Dict;

struct Object {
  explicit Object(Kind object_kind) : kind(object_kind) {}
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  const Kind kind;
  int depth = 1;
};

class Value {
 public:
  Value() : payload_(Undefined{}) {}
  Value(None) : payload_(None{}) {}                                        // NOLINT: a literal is a value
  Value(bool v) : payload_(v) {}                                           // NOLINT
  Value(Integer v) : payload_(v) {}                                        // NOLINT
  Value(int v) : payload_(Integer{v}) {}                                   // NOLINT
  Value(size_t v) : payload_(static_cast<Integer>(v)) {}                   // NOLINT
  Value(double v) : payload_(v) {}                                         // NOLINT
  Value(std::shared_ptr<const Text> v) : payload_(std::move(v)) {}         // NOLINT
  Value(std::shared_ptr<const Sequence> v) : payload_(std::move(v)) {}     // NOLINT
  Value(std::shared_ptr<const Dict> v) : payload_(std::move(v)) {}         // NOLINT
  Value(std::shared_ptr<Object> v) : payload_(std::move(v)) {}             // NOLINT
  Value(const char*) = delete;
  explicit Value(Undefined v) : payload_(std::move(v)) {}

  Kind kind() const;
  int depth() const;
  // How many nodes a walk over the value visits (shared parts count each time), texts by their bytes; saturates.
  uint64_t weight() const;

  bool is(Kind k) const { return kind() == k; }
  bool is_undefined() const { return payload_.index() == 0; }
  bool is_none() const { return payload_.index() == 1; }
  bool is_text() const { return payload_.index() == 5; }
  bool is_dict() const { return payload_.index() == 7; }
  bool is_list_or_tuple() const { return is(Kind::kList) || is(Kind::kTuple); }
  bool is_integral() const { return payload_.index() == 2 || payload_.index() == 3; }  // bool counts, as in Python
  bool is_number() const { return is_integral() || payload_.index() == 4; }

  const Undefined& undefined() const { return std::get<Undefined>(payload_); }
  bool boolean() const { return std::get<bool>(payload_); }
  Integer integer() const;  // of a bool too
  double number() const;    // of any number
  const Text& text() const { return *std::get<std::shared_ptr<const Text>>(payload_); }
  const std::string& bytes() const { return text().bytes; }
  const std::vector<Value>& items() const;
  const Sequence& sequence() const { return *std::get<std::shared_ptr<const Sequence>>(payload_); }
  const Dict& dict() const { return *std::get<std::shared_ptr<const Dict>>(payload_); }
  template <typename T>
  T& object() const {
    return static_cast<T&>(*std::get<std::shared_ptr<Object>>(payload_));
  }
  // The address of shared data, nullptr for small values: what `sameas` compares.
  const void* identity() const;

 private:
  std::variant<Undefined, None, bool, Integer, double, std::shared_ptr<const Text>, std::shared_ptr<const Sequence>,
               std::shared_ptr<const Dict>, std::shared_ptr<Object>>
      payload_;
};

struct Sequence {
  enum class Form { kList, kTuple, kGroup };  // a group is groupby's pair, with names
  Form form = Form::kList;
  std::vector<Value> items;
  int depth = 1;
  uint64_t weight = 1;
};

// Entries in order of insertion. Keys compare as in Python: 1, 1.0 and true are one key.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  int depth = 1;
  uint64_t weight = 1;
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
};

struct DictView : Object {
  enum class Part { kKeys, kValues, kItems };
  DictView(Value source, Part which);
  Value dict;
  Part part;
};
struct Range : Object {
  Range(Integer first, Integer last, Integer by) : Object(Kind::kRange), start(first), stop(last), step(by) {}
  Integer size() const;
  Integer start, stop, step;
};
// What map, select and the like return: can be read once.
struct Generator : Object {
  explicit Generator(std::vector<Value> values);
  std::vector<Value> items;
  size_t next = 0;
};
struct Namespace : Object {
  Namespace() : Object(Kind::kNamespace) {}
  std::vector<std::pair<std::string, Value>> attributes;
  const Value* find(std::string_view name) const;
};
struct Cycler : Object {
  explicit Cycler(std::vector<Value> values);
  std::vector<Value> items;
  size_t at = 0;
};
struct Joiner : Object {
  explicit Joiner(Value text) : Object(Kind::kJoiner), separator(std::move(text)) {}
  Value separator;
  bool used = false;
};
struct ByteString : Object {
  explicit ByteString(std::string content) : Object(Kind::kBytes), bytes(std::move(content)) {}
  std::string bytes;
};
struct LoopState : Object {
  LoopState(std::vector<Value> values, int nesting);
  std::vector<Value> items;
  size_t index0 = 0;
  int nesting = 0;
  std::vector<Value> last_changed;
  bool changed_once = false;
  // What the evaluator needs to run the loop again; set for `recursive` loops.
  const Statement* statement = nullptr;
  std::shared_ptr<Scope> scope;
};

// What a call passes.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};
using NativeFunction = Value (*)(Evaluator&, const Value& self, const Arguments&);
struct NativeEntry {
  std::string_view name;
  NativeFunction function;
};
struct Function : Object {
  explicit Function(const NativeEntry& native) : Object(Kind::kFunction), entry(native) {}
  const NativeEntry& entry;
};
struct Method : Object {
  Method(Value owner, const NativeEntry& native);
  Value self;
  const NativeEntry& entry;
};

// Makers. The budget is the caller's business, the depth limit theirs.
Value make_text(std::string bytes, bool safe = false);
Value make_list(std::vector<Value> items);
Value make_tuple(std::vector<Value> items);
Value make_group(std::vector<Value> items);
Value make_dict(std::vector<std::pair<Value, Value>> entries);
Value make_undefined(std::string why);
template <typename T, typename... A>
Value make_object(A&&... arguments) {
  return Value(std::static_pointer_cast<Object>(std::make_shared<T>(std::forward<A>(arguments)...)));
}
// Puts `value` under `key`, in the place of an equal key or at the end.
void set_entry(std::vector<std::pair<Value, Value>>& entries, const Value& key, Value value);

bool truthy(const Value& value);
bool equal(const Value& a, const Value& b);
// Python's type name, for messages: "str", "NoneType".
std::string type_name(const Value& value);
// Raises what using an undefined value raises.
[[noreturn]] void raise_undefined(const Value& value);

}  // namespace scratchy::jinja
