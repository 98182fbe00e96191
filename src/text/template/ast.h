// The tree of a template.
//
// One struct for expressions and one for statements, each with a kind that says which fields it uses. Every node knows
// its line and how deep it is; the parser refuses trees too deep to walk.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/template/operators.h"
#include "text/template/value.h"

namespace scratchy::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star, double_star;  // *list and **dict, or null
};

struct Expression {
  enum class Kind {
    kConstant,         // value
    kName,             // name
    kList, kTuple,     // children
    kDict,             // children: key, value, key, value, ...
    kNot, kNegate, kPlus,  // children[0]
    kAnd, kOr,         // children[0], children[1]
    kBinary,           // binary; children[0], children[1]
    kConcat,           // children
    kCompare,          // children[0], then comparisons[i] against children[i + 1]
    kConditional,      // children: test, then, and perhaps else
    kAttribute,        // children[0], name
    kItem,             // children[0], children[1]
    kSlice,            // children: start, stop, step; any may be null
    kCall,             // children[0], arguments
    kFilter,           // children[0] (null in filter blocks: the block's text), name, arguments
    kTest,             // children[0], name, arguments
    kAttributeTarget,  // name, and the attribute in value (a text): `set ns.x`
  };
  Kind kind = Kind::kConstant;
  int line = 0;
  int depth = 1;
  BinaryOperator binary = BinaryOperator::kAdd;
  std::vector<CompareOperator> comparisons;
  std::string name;
  Value value;
  std::vector<ExpressionPtr> children;
  CallArguments arguments;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

// The parameters of a macro or of a call block; the last defaults.size() of them have defaults.
struct Signature {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<ExpressionPtr> defaults;
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct Statement {
  enum class Kind {
    kText,        // text
    kOutput,      // expressions[0]
    kIf,          // expressions[i] guards bodies[i]; one more body is the else
    kFor,         // target, expressions[0], perhaps expressions[1] (the filter), bodies[0], bodies[1] (else), recursive
    kSet,         // target, expressions[0]
    kSetBlock,    // target, perhaps expressions[0] (filters), bodies[0]
    kMacro,       // signature, bodies[0]
    kCallBlock,   // expressions[0] (a call), signature, bodies[0]
    kFilterBlock, // expressions[0], bodies[0]
    kWith,        // targets[i] = expressions[i], bodies[0]
    kScope,       // bodies[0]: block and generation
    kAutoescape,  // expressions[0], bodies[0]
    kBreak, kContinue,
  };
  Kind kind = Kind::kText;
  int line = 0;
  std::string text;
  ExpressionPtr target;
  std::vector<ExpressionPtr> targets;
  std::vector<ExpressionPtr> expressions;
  std::vector<Body> bodies;
  Signature signature;
  bool recursive = false;
};

}  // namespace scratchy::jinja
