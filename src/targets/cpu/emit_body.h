// Turns the body of a row program or a scan into C++: straight loops over constant shapes.
//
// Each op becomes one loop nest over its result, or no loop at all: an elementwise op with one reader of the same size
// is written into its reader's expression, a reshape or slice is an index, a constant is a literal. What remains in
// memory are small arrays on the stack, one row each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace scratchy::cpu {

// How an argument of the body appears in the code around it.
struct BodyArgument {
  std::string text;     // a pointer expression, or a number where `scalar`
  bool scalar = false;  // the text is the value itself
};

struct BodyResult {
  std::string pointer;    // where the result goes
  bool prepared = false;  // written by the prepare helper
};

class BodyEmitter {
 public:
  // `span`: the number that stands for kSpan. Arguments by number, results in the order of the body's outputs.
  BodyEmitter(const Graph& body, int64_t span, std::vector<BodyArgument> arguments, std::vector<BodyResult> results);

  // Arrays and pointers to declare once, before the loop over rows.
  const std::string& declarations() const { return declarations_; }
  // The statements for one row.
  const std::string& statements() const { return statements_; }

 private:
  using Index = std::vector<std::string>;

  std::vector<int64_t> dims(ValueId value) const;
  int64_t elements(ValueId value) const;
  void decide_inlining();
  void place_results();
  void emit(const Op& op);
  void emit_elementwise(const Op& op);
  void emit_reduction(const Op& op);
  void emit_softmax(const Op& op);
  void emit_concat(const Op& op);
  void emit_rope(const Op& op);
  void emit_top_k(const Op& op);
  void emit_gather(const Op& op);
  void emit_weighted_sum(const Op& op);
  void emit_transpose(const Op& op);
  void emit_vecmat(const Op& op);
  void copy_results();

  // The element of `value` at `index` as an expression.
  std::string at(ValueId value, Index index) const;
  std::string operand_at(ValueId operand, const Index& index) const;
  // The array that holds `value`, null for none; the same where there must be one; the declaration of a new one.
  const std::string* find_buffer(ValueId value) const;
  std::string buffer(ValueId value) const;
  std::string declare(ValueId value);
  std::string constant_array(ValueId value);
  // Wraps `inner` in loops over dims; `index` receives the loop variables.
  std::string loops(const std::vector<int64_t>& over, Index& index, int first = 0) const;
  void line(const std::string& text) { statements_ += "    " + text + "\n"; }

  const Graph& body_;
  int64_t span_;
  std::vector<BodyArgument> arguments_;
  std::vector<BodyResult> results_;
  std::vector<bool> inlined_;
  std::map<ValueId, std::string> buffers_;
  std::string declarations_, statements_;
};

// A float as C++ writes it exactly.
std::string float_literal(double value);

}  // namespace scratchy::cpu
