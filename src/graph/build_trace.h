// Runs the statements and expressions of a program on the facts of a model; tensors become ops (build_ops.h).
//
// The program has passed check_names, so calls do not recurse; how deep evaluation goes and how much it does are bounded
// all the same (kMaxDepth, kMaxSteps, kMaxOps).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/model_facts.h"
#include "dsl/check_names.h"
#include "dsl/constant_math.h"
#include "dsl/program.h"
#include "graph/build_ops.h"

namespace scratchy {

// What an expression gives while a program runs. Poison stands for a value whose error is already reported.
struct Poison {};
struct Nothing {};  // of a call that returns no value
struct TensorItem {
  ValueId id;
  const Graph* graph;  // the graph it belongs to: the main one or the body of a scan
};
struct WeightItem {
  const WeightDecl* decl;
  int layer = -1;  // -1: not indexed yet, or needs no index
};
struct CacheItem {
  std::string name;
  int64_t index = -1;  // -1: not indexed yet
  std::string plane;   // empty: the whole cache
};
struct StateItem {
  std::string name;
  int64_t index = -1;
};
struct OpaqueItem {
  std::string name;  // `block_table`: given to functions, of no value of its own
};
struct TupleItem;
using Item = std::variant<Poison, Nothing, Constant, TensorItem, WeightItem, CacheItem, StateItem, OpaqueItem, TupleItem>;
struct TupleItem {
  std::vector<Item> items;
};

// A statement that was run.
struct TraceLine {
  int layer;  // -1: outside of the layers
  std::string text;
};

class Tracer {
 public:
  Tracer(const Program& program, const ModelFacts& facts, Graph& graph, DimTable& dims, Reporter& reporter);

  // Runs the forward function and sets the graph's outputs.
  void run();
  // Runs it with every statement it executes put down as text (build_fold.cc).
  void run_recorded(std::vector<TraceLine>& lines) {
    lines_ = &lines;
    run();
    lines_ = nullptr;
  }
  // The `const` items that were read, by name.
  const std::map<std::string, Item>& constants() const { return constants_; }

 private:
  using Scope = std::map<std::string, Item, std::less<>>;
  enum class Flow : uint8_t { kOn, kReturned };

  // --- statements (build_trace.cc)
  Flow run_block(const Block& block);
  Flow run_statement(const Stmt& s);
  Flow run_for(const Stmt& s);
  Flow run_if(const Stmt& s);
  void run_assign(const Stmt& s);
  void run_return(const Stmt& s);
  void run_assert(const Stmt& s);
  void bind(const Word& target, Item item);
  void set_outputs();
  bool spend(Span span);

  // --- expressions (build_expr.cc)
  Item value(const Expr& e);
  Item value_inside(const Expr& e);
  Item name(const Expr& e);
  Item global_name(const std::string& text, const Expr& e);
  Item weight_item(const WeightDecl& decl);  // none where the model lacks it
  Item config_value(const std::string& key, const Expr& e);
  Item constant_item(const ConstItem& item);
  Item field(const Expr& e);
  Item list(const Expr& e);
  Item comprehension(const Expr& e);
  Item record(const Expr& e);
  Item unary(const Expr& e);
  Item binary(const Expr& e);
  Item binary_items(Operator op, const Expr& e, const Item& left, const Item& right, Span left_span, Span right_span);
  Item choice(const Expr& e);
  Item index(const Expr& e);
  Item index_resource(const Expr& e, const Item& base);
  Item slice(const Expr& e, const Item& base);
  Item settle(ConstantOutcome outcome, Span span);
  std::optional<Constant> constant_value(const Expr& e, const std::string& what);
  std::optional<int64_t> integer_value(const Expr& e, const std::string& what);
  std::optional<bool> condition(const Expr& e);
  // The tensor an item stands for: weights and numbers become ops. Nothing where it is none, reported at `span`.
  std::optional<Operand> tensor(const Item& item, Span span);
  std::optional<Operand> constant_tensor(const Constant& value, Span span);
  static bool is_tensor(const Item& item) { return std::holds_alternative<TensorItem>(item) || std::holds_alternative<WeightItem>(item); }
  std::string describe_item(const Item& item);
  Item one(std::optional<std::vector<ValueId>> made);

  // --- calls (build_call.cc)
  Item call(const Expr& e);
  Item call_function(const Expr& e, const Function& function);
  Item call_builtin(const Expr& e, Builtin builtin, const std::vector<Item>& arguments);
  Item call_defined(const Expr& e);
  Item call_primitive(const Expr& e, OpKind kind, const Signature& signature);
  Item primitive_tensors(const Expr& e, OpKind kind, const std::vector<Item>& items, const std::vector<Span>& spans);
  Item reshape(const Expr& e, const std::vector<const Expr*>& given);
  Item softmax(const Expr& e, const std::vector<const Expr*>& given);
  Item topk(const Expr& e, OpKind kind, const std::vector<const Expr*>& given);
  Item rotate(const Expr& e, const std::vector<const Expr*>& given);
  Item cache_append(const Expr& e, const std::vector<const Expr*>& given);
  Item cache_scores(const Expr& e, const std::vector<const Expr*>& given);
  Item mask(const Expr& e, const std::vector<const Expr*>& given);
  Item cache_mix(const Expr& e, const std::vector<const Expr*>& given);
  Item conv1d(const Expr& e, const std::vector<const Expr*>& given);
  Item scan(const Expr& e);
  std::shared_ptr<Graph> scan_body(const Expr& e, const std::vector<Operand>& operands, const std::vector<int64_t>& state_dims, Type& yielded);
  std::optional<CacheItem> plane_of(const Expr& e);
  std::optional<Operand> read_plane(const Expr& e);
  std::optional<StateItem> state_of(const Expr& e);
  bool in_scan(Span span, OpKind kind);
  std::optional<Operand> operand(const Expr& e);
  void place(Span span);

  // --- statements as text (build_fold.cc)
  void record(const Stmt& s);
  std::string folded(const Expr& e, int least);
  std::string folded_list(const Expr& e);
  std::string folded_ranges(const Expr& e);
  std::string folded_index(const Expr& e);
  std::optional<Constant> folded_value(const Expr& e);
  bool folds(const Function& function);
  bool folds(const Stmt& s, std::vector<std::string>& locals);
  bool folds(const Expr& e, std::vector<std::string>& locals);

  // What a function body runs in.
  struct Frame {
    Scope locals;
    Item result = Nothing{};
  };
  // Newest version of a cache plane or state, and where it was written.
  struct Version {
    ValueId id;
    Span written;
  };

  static constexpr int kMaxDepth = 500;
  static constexpr int64_t kMaxSteps = 2'000'000;
  static constexpr size_t kMaxOps = 400'000;
  static constexpr int64_t kMaxIndex = 4096;

  const Program& program_;
  const ModelFacts& facts_;
  Graph& graph_;
  DimTable& dims_;
  Reporter& reporter_;
  OpBuilder main_;
  OpBuilder* ops_;
  std::vector<Signature> primitives_;
  Frame* frame_ = nullptr;
  std::map<std::string, Item> constants_;  // evaluated `const` items
  std::map<std::string, Version> versions_;
  std::vector<bool> named_by_arch_;  // per value of the main graph
  std::vector<TraceLine>* lines_ = nullptr;  // where statements are put down as text
  std::map<const Function*, bool> foldable_;
  std::string layer_name_;  // the variable of the loop over layers
  int layer_ = -1;
  int loop_depth_ = 0;
  int depth_ = 0;
  int64_t steps_ = 0;
  bool stopped_ = false;  // going on has no point
};

// The primitives a text may call.
std::vector<Signature> primitive_signatures();
OpKind primitive_kind(std::string_view name);

// Names of what lies outside of the text and isn't a weight.
inline constexpr std::string_view kInputNames[] = {"input_ids", "positions"};
inline constexpr std::string_view kOpaqueNames[] = {"block_table"};
inline constexpr std::string_view kCacheNames[] = {"kv_cache"};
inline constexpr std::string_view kStateNames[] = {"conv_state", "delta_state"};

}  // namespace scratchy
