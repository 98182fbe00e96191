// Makes ops while a graph is built: infers their types (over unknown dims), reuses equal ones, and turns weights, inputs
// and compile-time numbers into values.
//
// A weight has no rank until an op asks for one: `gemm` makes it a matrix, arithmetic a vector. What arch.json declares
// of its rows and columns holds in any case.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/model_facts.h"
#include "graph/build_dims.h"
#include "graph/build_report.h"
#include "graph/graph.h"

namespace scratchy {

// A value and the text that gave it.
struct Operand {
  ValueId id;
  Span span;
};

class OpBuilder {
 public:
  OpBuilder(Graph& graph, DimTable& dims, Reporter& reporter, const ModelFacts& facts) : graph_(graph), dims_(dims), reporter_(reporter), facts_(facts) {}

  // Where the next ops come from: the span they keep, and the layer (-1 outside of one).
  void set_place(Span kept, int layer) {
    kept_ = kept;
    layer_ = layer;
  }

  ValueId input(const std::string& name, Span span);
  ValueId weight(const WeightDecl& decl, int layer, Span span);
  ValueId constant(std::vector<double> values, std::vector<int64_t> shape);
  // A cache plane [S, K, D] or a state as the step finds it.
  ValueId kept_state(OpKind kind, const std::string& name, int index, std::vector<int64_t> dims, Span span);

  // The op on these operands; nothing, reported at `span`, when the shapes don't fit. One value per result.
  std::optional<std::vector<ValueId>> emit(OpKind kind, const std::vector<Operand>& operands, Attributes attributes, Span span);
  // A scan, whose result types follow from its body.
  std::vector<ValueId> emit_scan(const std::vector<Operand>& operands, std::shared_ptr<Graph> body, std::vector<Type> types);
  // An operand of the scan whose body this builds.
  ValueId argument(int64_t count, std::vector<int64_t> dims);

  // The dims as far as they are known; a weight without a rank becomes a vector.
  std::vector<int64_t> dims(ValueId id);
  // Gives `x` the rank, or reports that it has another one.
  bool require_rank(const Operand& x, size_t rank, const std::string& op);
  // Makes a weight that has no rank yet one of this rank, leaves others alone.
  void prefer_rank(ValueId id, size_t rank);
  bool has_rank(ValueId id) const { return rankless_.count(id.index) == 0; }
  bool unify(int64_t a, int64_t b) { return dims_.unify(a, b); }
  std::string shown(ValueId id) { return show_dims(dims_.resolve(graph_.type(id).dims)); }

  // Replaces every dim by its number; reports weights whose shape nothing fixes, and shapes that are too large.
  void finish();

  Graph& graph() { return graph_; }
  // Reports with the shapes of the operands beside them.
  void complain(DiagnosticKind kind, Span span, const DiagnosticFacts& facts, const std::vector<Operand>& operands, std::string hint = {});

 private:
  struct Rankless {
    const WeightDecl* decl;
    int layer;
  };
  using Types = std::optional<std::vector<Type>>;

  Types infer(OpKind kind, const std::vector<Operand>& x, Attributes& attributes, Span span);
  Types infer_embed(const std::vector<Operand>& x, Span span);
  Types infer_gemm(const std::vector<Operand>& x, Span span);
  Types infer_gemm_heads(const std::vector<Operand>& x, Span span);
  Types infer_gemm_experts(const std::vector<Operand>& x, Span span);
  Types infer_weighted_sum(const std::vector<Operand>& x, Span span);
  Types infer_reshape(const std::vector<Operand>& x, const Attributes& attributes, Span span);
  Types infer_slice(const std::vector<Operand>& x, Attributes& attributes, Span span);
  Types infer_concat(const std::vector<Operand>& x, Span span);
  Types infer_transpose(const std::vector<Operand>& x, Span span);
  Types infer_broadcast(const std::vector<Operand>& x, Span span);
  Types infer_softmax(const std::vector<Operand>& x, Span span);
  Types infer_topk(const std::vector<Operand>& x, int64_t count, bool as_mask, Span span);
  Types infer_gather(const std::vector<Operand>& x, Span span);
  Types infer_rope(const std::vector<Operand>& x, Span span);
  Types infer_append(const std::vector<Operand>& x, Span span);
  Types infer_scores(const std::vector<Operand>& x, Span span);
  Types infer_mask(const std::vector<Operand>& x, Span span);
  Types infer_mix(const std::vector<Operand>& x, Attributes& attributes, Span span);
  Types infer_conv1d(const std::vector<Operand>& x, Span span);
  Types infer_vecmat(const std::vector<Operand>& x, Span span);
  Types infer_outer(const std::vector<Operand>& x, Span span);

  std::string unused_neighbour(const Operand& w) const;
  bool require_columns(const Operand& x, OpKind op);
  bool require_picks(const Operand& x, const std::string& op);
  // Unifies or reports that dim `name` of `op` differs.
  bool same(int64_t a, int64_t b, const std::string& name, OpKind op, Span span, const std::vector<Operand>& x);
  bool heads_divide(int64_t heads, int64_t kv_heads, Span span, const std::vector<Operand>& x);
  void set_dims(ValueId id, std::vector<int64_t> dims);
  std::string key(OpKind kind, const std::vector<Operand>& operands, const Attributes& attributes, bool global) const;
  ValueId append_resource(OpKind kind, Resource resource, bool global);
  bool global(const std::vector<Operand>& operands) const;
  std::vector<ValueId> append(OpKind kind, const std::vector<Operand>& operands, Attributes attributes, std::vector<Type> types, bool is_global);
  void note_names(const std::vector<Operand>& operands, Details& details);
  void finish_weights();
  bool check_size(const std::vector<int64_t>& dims, Span span, const std::string& name);

  Graph& graph_;
  DimTable& dims_;
  Reporter& reporter_;
  const ModelFacts& facts_;
  Span kept_;
  int layer_ = -1;
  std::map<int32_t, Rankless> rankless_;          // by value
  std::map<std::string, std::vector<ValueId>> made_;  // pure ops, by key
  std::vector<bool> global_;                      // per value: follows from constants and inputs alone
};

}  // namespace scratchy
