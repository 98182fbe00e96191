// What operators and builtin functions mean on compile-time values.
//
// Integers have 64 bits and never wrap: an overflow is an error. `a / b` of integers is an integer where it is exact,
// else a number with a fraction. `%` takes the sign of its right side. No operation gives a NaN; an infinity comes only
// from an infinity (`inf`).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/diagnostic.h"
#include "dsl/ast.h"
#include "dsl/constant.h"

namespace scratchy {

// Why an operation has no value; whoever asked adds the place.
struct Complaint {
  DiagnosticKind kind;
  DiagnosticFacts facts;
  std::string hint;
};
using ConstantOutcome = std::variant<Constant, Complaint>;

ConstantOutcome apply_unary(Operator op, const Constant& operand);
// Both sides evaluated; `&&` and `||` want booleans.
ConstantOutcome apply_binary(Operator op, const Constant& left, const Constant& right);

enum class Builtin : uint8_t {
#define BUILTIN(name, spelling, least, most, text) k##name,
#include "dsl/builtin.def"
#undef BUILTIN
};

struct BuiltinInfo {
  std::string_view spelling;
  int least, most;
  std::string_view text;
};
const BuiltinInfo& info(Builtin builtin);
std::optional<Builtin> find_builtin(std::string_view spelling);
// Spellings of all, in order.
std::vector<std::string> builtin_names();

// Calls with the right number of arguments (info).
ConstantOutcome apply_builtin(Builtin builtin, const std::vector<Constant>& arguments);

// Names that are values: `pi`, `inf`.
std::optional<Constant> named_number(std::string_view name);

// Elements a list or bytes a string may have.
inline constexpr size_t kMaxElements = size_t{1} << 20;

// A list literal's value, or a complaint about its size or depth.
ConstantOutcome make_list(Constant::List elements);
ConstantOutcome make_record(Constant::Record fields);
// `base[index]` of a list.
ConstantOutcome list_element(const Constant& base, const Constant& index);

}  // namespace scratchy
