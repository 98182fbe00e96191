// Values the compiler knows: what config keys hold and what compile-time expressions give.
//
// Lists and records are shared and immutable, so copies are cheap. Nesting is bounded by kMaxDepth, so walking a
// constant may recurse.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/diagnostic.h"

namespace scratchy {

class Constant {
 public:
  enum class Kind { kNone, kBool, kInt, kFloat, kString, kList, kRecord };
  struct Field;
  using List = std::vector<Constant>;
  using Record = std::vector<Field>;  // in order of writing, keys unique

  static constexpr int kMaxDepth = 64;

  Constant() = default;  // none (null)
  static Constant boolean(bool value);
  static Constant integer(int64_t value);
  static Constant real(double value);
  static Constant text(std::string value);
  // The caller has made sure that no element is kMaxDepth deep already (depth()).
  static Constant list(List elements);
  static Constant record(Record fields);

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  bool is_none() const { return kind() == Kind::kNone; }
  bool is_bool() const { return kind() == Kind::kBool; }
  bool is_int() const { return kind() == Kind::kInt; }
  bool is_float() const { return kind() == Kind::kFloat; }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_list() const { return kind() == Kind::kList; }
  bool is_record() const { return kind() == Kind::kRecord; }
  bool is_number() const { return is_int() || is_float() || is_bool(); }  // a boolean counts as 0 or 1

  // Of the kind's name only, except that as_int takes booleans and as_number any number.
  bool as_bool() const;
  int64_t as_int() const;
  double as_number() const;
  const std::string& as_string() const;
  const List& as_list() const;
  const Record& as_record() const;

  // The value under `key` of a record, null when there is none or this is no record.
  const Constant* find(std::string_view key) const;

  // 0 for scalars, 1 + the deepest element's for lists and records.
  int depth() const { return depth_; }

  // Numbers compare by value (1 == 1.0), all else by kind and content.
  bool operator==(const Constant& other) const;

 private:
  using Value = std::variant<std::monostate, bool, int64_t, double, std::string, std::shared_ptr<const List>, std::shared_ptr<const Record>>;
  Value value_;
  int depth_ = 0;
};

struct Constant::Field {
  std::string key;
  Constant value;
};

// As the language writes it: none, true, 7, 1e-05, "text", [1, 2], {factor: 8.0}. Cut with ".." when longer than `limit`.
std::string to_string(const Constant& value, size_t limit = 160);

// "an integer", "a list", ...
std::string_view describe(Constant::Kind kind);

// "1 argument", "3 arguments".
std::string counted(size_t count, std::string_view noun);

// Finds the value of a plain name, nothing when the name is unknown.
using ConstantLookup = std::function<std::optional<Constant>(std::string_view name)>;

// Evaluates an expression of compile-time values only, e.g. "2 * intermediate_size" of an arch.json. `file` is the text
// to read (the whole of it is the expression); names are found by `lookup`, `known` are the names to suggest from.
// Nothing, with diagnostics, when it doesn't parse or has no value.
std::optional<Constant> evaluate_constant(const SourceFile& file, const ConstantLookup& lookup,
                                          const std::vector<std::string>& known, Diagnostics& diagnostics);

}  // namespace scratchy
