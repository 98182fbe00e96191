#include "graph/verify.h"

#include <map>
#include <set>

namespace scratchy {
namespace {

constexpr size_t kMaxComplaints = 20;

enum class Where { kGraph, kScanBody, kRowBody };

// Whether an op of this group and kind may stand in such a graph.
bool allowed(OpKind kind, Where where) {
  switch (where) {
    case Where::kGraph: return info(kind).group != OpGroup::kScan;
    case Where::kScanBody:
      switch (info(kind).group) {
        case OpGroup::kUnary:
        case OpGroup::kBinary:
        case OpGroup::kReduce:
        case OpGroup::kScan: return true;
        case OpGroup::kResource: return kind == OpKind::kConstant;
        case OpGroup::kTensor: return kind == OpKind::kSelect;
        case OpGroup::kIndex:
        case OpGroup::kCache:
        case OpGroup::kState:
        case OpGroup::kFused: return false;
      }
      SCRATCHY_UNREACHABLE("op group");
    case Where::kRowBody:
      switch (info(kind).group) {
        case OpGroup::kUnary:
        case OpGroup::kBinary:
        case OpGroup::kReduce:
        case OpGroup::kIndex:
        case OpGroup::kTensor: return kind != OpKind::kSampleRows;
        case OpGroup::kResource: return kind == OpKind::kConstant;
        case OpGroup::kScan: return kind == OpKind::kArgument;
        case OpGroup::kFused: return kind == OpKind::kPrepare;
        case OpGroup::kCache:
        case OpGroup::kState: return false;
      }
  }
  SCRATCHY_UNREACHABLE("place of an op");
}

bool kind_fits(OpKind kind, ResourceKind resource) {
  switch (resource) {
    case ResourceKind::kInput: return kind == OpKind::kInput;
    case ResourceKind::kWeight: return kind == OpKind::kWeight;
    case ResourceKind::kCache: return kind == OpKind::kCache;
    case ResourceKind::kState: return kind == OpKind::kState;
  }
  SCRATCHY_UNREACHABLE("resource kind");
}

class Verifier {
 public:
  Verifier(const Graph& graph, Where where, std::string prefix) : graph_(graph), where_(where), prefix_(std::move(prefix)) {}

  std::vector<std::string> run() {
    made_.assign(graph_.values.size(), false);
    for (size_t i = 0; i < graph_.ops.size() && complaints_.size() < kMaxComplaints; ++i) check_op(i);
    std::set<std::string> names;
    for (const GraphOutput& output : graph_.outputs) {
      if (!readable(output.value)) complaints_.push_back(prefix_ + "output `" + output.name + "` is not made by any op");
      if (where_ == Where::kGraph && !names.insert(output.name).second) complaints_.push_back(prefix_ + "two outputs are named `" + output.name + "`");
    }
    return std::move(complaints_);
  }

 private:
  bool readable(ValueId id) const { return id.valid() && static_cast<size_t>(id.index) < made_.size() && made_[id.index]; }

  void complain(size_t index, const std::string& text) {
    const Op& op = graph_.ops[index];
    complaints_.push_back(prefix_ + "op " + std::to_string(index) + " " + std::string(info(op.kind).spelling) + " (" + to_string(op.span) + "): " + text);
  }

  // The parts of an op that its types rest on. False: do not look further.
  bool check_links(size_t index) {
    const Op& op = graph_.ops[index];
    for (const ValueId operand : op.operands) {
      if (!readable(operand)) return complain(index, "operand %" + std::to_string(operand.index) + " is not made by an earlier op"), false;
    }
    for (const ValueId result : op.results) {
      const bool known = result.valid() && static_cast<size_t>(result.index) < made_.size();
      if (!known || made_[result.index]) return complain(index, "result %" + std::to_string(result.index) + " is made twice or unknown"), false;
      if (graph_.value(result).producer != static_cast<int>(index)) return complain(index, "result %" + std::to_string(result.index) + " names another producer"), false;
    }
    if (!allowed(op.kind, where_)) return complain(index, "may not stand here"), false;
    if (op.kind == OpKind::kArgument) return op.results.size() == 1 || (complain(index, "an argument has one result"), false);
    const bool takes_resource = info(op.kind).group == OpGroup::kResource && op.kind != OpKind::kConstant;
    if (takes_resource != op.resource.valid()) return complain(index, "a resource must be named by a resource op, and only there"), false;
    if (!takes_resource) return true;
    if (static_cast<size_t>(op.resource.index) >= graph_.resources.size()) return complain(index, "unknown resource"), false;
    const Resource& resource = graph_.resources[op.resource.index];
    if (!kind_fits(op.kind, resource.kind)) return complain(index, "`" + resource.name + "` is a resource of another kind"), false;
    for (const int64_t dim : resource.type.dims) {
      if (dim == 0 || dim < kSpan) return complain(index, "`" + resource.name + "` has the type " + to_string(resource.type)), false;
    }
    return true;
  }

  // A cache or a state has one newest version: an op that writes one makes the older value stale.
  void check_versions(size_t index) {
    const Op& op = graph_.ops[index];
    for (const ValueId operand : op.operands) {
      if (stale_.count(operand.index) != 0) complain(index, "operand %" + std::to_string(operand.index) + " is an old version of a cache or state");
    }
    if (op.kind == OpKind::kCacheAppend) stale_.insert(op.operands[0].index);
    if (op.kind == OpKind::kConv1d || op.kind == OpKind::kScan) stale_.insert(op.operands.back().index);
  }

  void check_body(size_t index) {
    const Op& op = graph_.ops[index];
    const bool takes_body = op.kind == OpKind::kScan || op.kind == OpKind::kRowProgram;
    if (takes_body != (op.body != nullptr)) return complain(index, "a body belongs to scan and row_program, and only there");
    if (!takes_body) return;
    const std::string prefix = prefix_ + "body of op " + std::to_string(index) + ": ";
    for (std::string& text : Verifier(*op.body, op.kind == OpKind::kScan ? Where::kScanBody : Where::kRowBody, prefix).run()) complaints_.push_back(std::move(text));
  }

  void check_op(size_t index) {
    const Op& op = graph_.ops[index];
    if (!check_links(index)) return mark(op);
    const size_t before = complaints_.size();
    check_body(index);
    check_versions(index);
    if (complaints_.size() == before) check_types(index);
    mark(op);
  }

  // Equal, but that a pass may have given the span of a row-wise value a number.
  static bool matches(const Type& seen, const Type& wanted) {
    Type bound = wanted;
    for (size_t i = 0; i < bound.dims.size() && seen.dims.size() == bound.dims.size() && wanted.row_wise(); ++i) {
      if (bound.dims[i] == kSpan && seen.dims[i] > 0) bound.dims[i] = seen.dims[i];
    }
    return seen == bound;
  }

  void check_types(size_t index) {
    const Op& op = graph_.ops[index];
    const Result<std::vector<Type>> types = infer_types(graph_, op);
    if (!types.ok()) return complain(index, types.failure().message());
    if (types->size() != op.results.size()) return complain(index, std::to_string(op.results.size()) + " results instead of " + std::to_string(types->size()));
    for (size_t i = 0; i < op.results.size(); ++i) {
      const Type& seen = graph_.type(op.results[i]);
      if (!matches(seen, (*types)[i])) complain(index, "result %" + std::to_string(op.results[i].index) + " has the type " + to_string(seen) + " instead of " + to_string((*types)[i]));
    }
  }

  void mark(const Op& op) {
    for (const ValueId result : op.results) {
      if (result.valid() && static_cast<size_t>(result.index) < made_.size()) made_[result.index] = true;
    }
  }

  const Graph& graph_;
  Where where_;
  std::string prefix_;
  std::vector<bool> made_;
  std::set<int32_t> stale_;
  std::vector<std::string> complaints_;
};

}  // namespace

std::vector<std::string> verify(const Graph& graph, const std::string& pass) { return Verifier(graph, Where::kGraph, "after " + pass + ": ").run(); }

}  // namespace scratchy
