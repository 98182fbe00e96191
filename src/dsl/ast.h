// The tree of a .fwd text, as the parser makes it: no name is resolved, no value computed.
//
// Every node keeps the span it was read from. Heights are bounded (kMaxHeight), so code that walks a tree may recurse.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "dsl/constant.h"

namespace scratchy {

enum class Operator : uint8_t {
#define OPERATOR(name, spelling, binding) k##name,
#include "dsl/operator.def"
#undef OPERATOR
};
std::string_view spelling(Operator op);
int binding(Operator op);

// A word of the text and where it stands.
struct Word {
  std::string text;
  Span span;
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

// One argument of a call, one field of a record.
struct NamedExpr {
  Word name;  // empty text = positional
  ExprPtr value;
};

// `..`, `a..`, `..b`, `a..b`, or an index without dots.
struct SliceRange {
  Span span;
  bool dots = true;
  ExprPtr begin, end;  // null where left out; an index has `begin` only
};

struct Stmt;
using Block = std::vector<Stmt>;

// scan (qt, kt) over (q, k) with m = state[i] as [heads, A, B] { ... yield y; }
struct ScanExpr {
  std::vector<Word> names;
  std::vector<ExprPtr> operands;
  Word state_name;
  ExprPtr state;
  std::vector<ExprPtr> shape;
  Block body;  // ends with kYield
};

enum class ExprKind : uint8_t {
  kConstant,       // constant
  kName,           // name
  kList,           // children
  kComprehension,  // name = variable, children = {element, begin, end}
  kRecord,         // arguments
  kUnary,          // op, children = {operand}
  kBinary,         // op, children = {left, right}
  kChoice,         // children = {condition, then, else}
  kCall,           // name = callee, arguments
  kField,          // name = field, children = {record}
  kIndex,          // children = {base}, ranges (an index is a range without dots)
  kScan,           // scan
};

struct Expr {
  static constexpr int kMaxHeight = 100;

  ExprKind kind = ExprKind::kConstant;
  Span span;
  Span op_span;  // of kUnary and kBinary: the operator
  int height = 1;
  Operator op = Operator::kAdd;
  Word name;
  Constant constant;
  std::vector<ExprPtr> children;
  std::vector<NamedExpr> arguments;
  std::vector<SliceRange> ranges;
  std::unique_ptr<ScanExpr> scan;
};

enum class StmtKind : uint8_t {
  kAssign,      // targets = value
  kFor,         // targets[0] in begin..end, body
  kIf,          // value (the condition), body, otherwise (an `else if` is one kIf in it)
  kReturn,      // values
  kAssert,      // value, message
  kExpression,  // value
  kYield,       // value, in a scan only
};

struct Stmt {
  StmtKind kind;
  Span span;
  std::vector<Word> targets;
  std::vector<ExprPtr> values;  // kAssign, kIf, kAssert, kExpression, kYield: one; kFor: begin, end; kReturn: any number
  std::string message;
  Block body, otherwise;
};

struct Param {
  Word name;
  ExprPtr fallback;  // null = the caller must give it
};

struct Function {
  bool forward = false;  // #[forward]
  Span span;             // the signature
  Word name;
  std::vector<Param> params;
  Block body;
  Span close;  // the closing brace
};

struct ConstItem {
  Span span;
  Word name;
  ExprPtr value;
};

// One file. It may be incomplete when errors were reported.
struct Module {
  const SourceFile* file = nullptr;
  std::vector<Function> functions;
  std::vector<ConstItem> constants;
};

// "self_attn.q_proj" for a chain of names and fields, empty for anything else.
std::string dotted_path(const Expr& expr);

}  // namespace scratchy
