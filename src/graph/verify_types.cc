// The type rule of every op, in the order of op.def.

#include "graph/verify.h"

#include <algorithm>

namespace scratchy {
namespace {

using Types = std::vector<Type>;

Type f32(std::vector<int64_t> dims) { return {ElementType::kF32, std::move(dims)}; }

std::string list_types(const Types& types) {
  std::string out;
  for (const Type& type : types) out += (out.empty() ? "" : ", ") + to_string(type);
  return out;
}

Failure mismatch(const Types& types, const std::string& rule) { return Failure("operands " + list_types(types) + ": " + rule); }

// Dims aligned at the last axis; a dim of 1 or a missing one repeats.
Result<Type> broadcast(const Types& types) {
  size_t rank = 0;
  for (const Type& type : types) rank = std::max(rank, type.dims.size());
  std::vector<int64_t> dims(rank, 1);
  for (const Type& type : types) {
    for (size_t i = 0; i < type.dims.size(); ++i) {
      int64_t& dim = dims[rank - type.dims.size() + i];
      if (dim == 1) dim = type.dims[i];
      if (type.dims[i] != dim && type.dims[i] != 1) return mismatch(types, "dims must be equal or 1, aligned at the last axis");
    }
  }
  return f32(std::move(dims));
}

Type with_last(const Type& type, int64_t last) {
  std::vector<int64_t> dims = type.dims;
  dims.back() = last;
  return f32(std::move(dims));
}

bool has_rank(const Type& type, size_t rank) { return type.dims.size() == rank; }

Result<Types> infer_gemm(const Types& x) {
  if (x[0].dims.empty() || !has_rank(x[1], 2)) return mismatch(x, "gemm takes x[T, .., I] and w[O, I]");
  if (x[0].dims.back() != x[1].dims[1]) return mismatch(x, "the last dims must be equal");
  return Types{with_last(x[0], x[1].dims[0])};
}

Result<Types> infer_gemm_heads(const Types& x) {
  if (!has_rank(x[0], 3) || !has_rank(x[1], 3)) return mismatch(x, "gemm_heads takes x[T, N, I] and w[N, O, I]");
  if (x[0].dims[1] != x[1].dims[0] || x[0].dims[2] != x[1].dims[2]) return mismatch(x, "N and I must be equal");
  return Types{with_last(x[0], x[1].dims[1])};
}

Result<Types> infer_gemm_experts(const Types& x) {
  const bool ranks = (has_rank(x[0], 2) || has_rank(x[0], 3)) && has_rank(x[1], 3) && has_rank(x[2], 2);
  if (!ranks) return mismatch(x, "gemm_experts takes x[T, I] or x[T, k, I], w[E, O, I] and picks[T, k]");
  if (x[2].element != ElementType::kI32) return mismatch(x, "picks must be i32");
  if (x[0].dims.back() != x[1].dims[2] || x[0].dims[0] != x[2].dims[0]) return mismatch(x, "T and I must be equal");
  if (has_rank(x[0], 3) && x[0].dims[1] != x[2].dims[1]) return mismatch(x, "k must be equal");
  return Types{f32({x[2].dims[0], x[2].dims[1], x[1].dims[1]})};
}

Result<Types> infer_weighted_sum(const Types& x) {
  if (!has_rank(x[0], 3) || !has_rank(x[1], 2)) return mismatch(x, "weighted_sum takes y[T, k, H] and w[T, k]");
  if (x[0].dims[0] != x[1].dims[0] || x[0].dims[1] != x[1].dims[1]) return mismatch(x, "T and k must be equal");
  return Types{f32({x[0].dims[0], x[0].dims[2]})};
}

int64_t product(const std::vector<int64_t>& dims, size_t first) {
  int64_t out = 1;
  for (size_t i = first; i < dims.size(); ++i) out *= dims[i];
  return out;
}

Result<Types> infer_reshape(const Types& x, const Attributes& attributes) {
  const std::vector<int64_t>& to = attributes.shape;
  const bool rows = x[0].row_wise();
  const bool to_rows = !to.empty() && to[0] == kTokens;
  if (rows != to_rows) return mismatch(x, "reshape to " + to_string(f32(to)) + " must keep a leading T");
  if (product(x[0].dims, rows) != product(to, rows)) return mismatch(x, "reshape to " + to_string(f32(to)) + " must keep the number of elements");
  return Types{{x[0].element, to}};
}

Result<Types> infer_slice(const Types& x, const Attributes& a) {
  if (a.axis < 0 || a.axis >= static_cast<int64_t>(x[0].dims.size())) return mismatch(x, "slice axis " + std::to_string(a.axis) + " is not there");
  const int64_t dim = x[0].dims[a.axis];
  if (dim < 0) return mismatch(x, "slice of a symbolic dim");
  if (a.begin < 0 || a.begin >= a.end || a.end > dim) return mismatch(x, "slice " + std::to_string(a.begin) + ".." + std::to_string(a.end) + " must lie within the axis");
  Type out = x[0];
  out.dims[a.axis] = a.end - a.begin;
  return Types{out};
}

Result<Types> infer_concat(const Types& x) {
  int64_t width = 0;
  for (const Type& type : x) {
    if (type.dims.empty() || type.dims.size() != x[0].dims.size()) return mismatch(x, "concat takes operands of one rank");
    if (!std::equal(type.dims.begin(), type.dims.end() - 1, x[0].dims.begin())) return mismatch(x, "all dims but the last must be equal");
    if (type.dims.back() < 0) return mismatch(x, "concat of a symbolic dim");
    width += type.dims.back();
  }
  return Types{with_last(x[0], width)};
}

Result<Types> infer_transpose(const Types& x) {
  const size_t rank = x[0].dims.size();
  if (rank < 2 || x[0].dims[rank - 2] < 0) return mismatch(x, "transpose takes w[.., A, B]");
  Type out = x[0];
  std::swap(out.dims[rank - 1], out.dims[rank - 2]);
  return Types{out};
}

Result<Types> infer_topk(const Types& x, const Attributes& a, bool as_mask) {
  if (x[0].dims.empty() || a.count < 1 || a.count > x[0].dims.back()) return mismatch(x, "topk count " + std::to_string(a.count) + " must be 1..C");
  if (as_mask) return Types{f32(x[0].dims)};
  const Type values = with_last(x[0], a.count);
  return Types{values, {ElementType::kI32, values.dims}};
}

Result<Types> infer_gather(const Types& x) {
  if (x[0].dims.empty() || x[1].dims.empty() || x[1].element != ElementType::kI32) return mismatch(x, "gather takes x[.., C] and i32 i[.., k]");
  const bool equal = x[0].dims.size() == x[1].dims.size() && std::equal(x[0].dims.begin(), x[0].dims.end() - 1, x[1].dims.begin());
  if (!equal) return mismatch(x, "gather's leading dims must be equal");
  return Types{f32(x[1].dims)};
}

Result<Types> infer_rope(const Types& x) {
  if (!has_rank(x[0], 3) || !has_rank(x[1], 2) || x[1].dims != x[2].dims) return mismatch(x, "rope takes x[T, N, D], cos[T, R/2] and sin[T, R/2]");
  if (x[1].dims[0] != x[0].dims[0] || 2 * x[1].dims[1] > x[0].dims[2]) return mismatch(x, "R must be at most D");
  return Types{f32(x[0].dims)};
}

// The span of scores: S, or the number that a pass bound it to.
bool is_span(int64_t dim) { return dim == kSpan || dim > 0; }

bool heads_fit(int64_t heads, int64_t kv_heads) { return heads > 0 && kv_heads > 0 && heads % kv_heads == 0; }

Result<Types> infer_cache_scores(const Types& x) {
  if (!has_rank(x[0], 3) || !has_rank(x[1], 3) || x[1].dims[0] != kSpan) return mismatch(x, "cache_scores takes q[T, N, D] and a cache[S, K, D]");
  if (x[0].dims[2] != x[1].dims[2] || !heads_fit(x[0].dims[1], x[1].dims[1])) return mismatch(x, "D must be equal and K divide N");
  return Types{f32({x[0].dims[0], x[0].dims[1], kSpan})};
}

int64_t column_end(const Attributes& a, int64_t width) { return a.end == 0 ? width : a.end; }

Result<Types> infer_cache_mix(const Types& x, const Attributes& a) {
  if (!has_rank(x[0], 3) || !is_span(x[0].dims[2]) || !has_rank(x[1], 3) || x[1].dims[0] != kSpan) return mismatch(x, "cache_mix takes p[T, N, S] and a cache[S, K, D]");
  const int64_t end = column_end(a, x[1].dims[2]);
  if (!heads_fit(x[0].dims[1], x[1].dims[1]) || a.begin < 0 || a.begin >= end || end > x[1].dims[2]) return mismatch(x, "K must divide N and the columns lie within D");
  return Types{f32({x[0].dims[0], x[0].dims[1], end - a.begin})};
}

Result<Types> infer_conv1d(const Types& x) {
  const bool ranks = has_rank(x[0], 2) && has_rank(x[1], 2) && has_rank(x[2], 2);
  if (!ranks) return mismatch(x, "conv1d takes x[T, C], w[C, W] and state[W - 1, C]");
  const int64_t channels = x[0].dims[1];
  if (x[1].dims[0] != channels || x[2].dims[1] != channels || x[2].dims[0] != x[1].dims[1] - 1) return mismatch(x, "C and W must agree");
  return Types{f32(x[0].dims), f32(x[2].dims)};
}

// What the body of a scan sees of operand `index`: [T, Hx, d..] -> [d..], [T, H] -> [1], the state [H, d..] -> [d..].
std::vector<int64_t> argument_dims(const Types& x, size_t index) {
  const size_t drop = index + 1 == x.size() ? 1 : 2;
  std::vector<int64_t> dims(x[index].dims.begin() + static_cast<ptrdiff_t>(std::min(drop, x[index].dims.size())), x[index].dims.end());
  return dims.empty() ? std::vector<int64_t>{1} : dims;
}

Result<Types> infer_scan(const Types& x, const Op& op) {
  if (!op.body || op.body->outputs.size() != 2) return Failure("a scan's body yields one row and the next state");
  const int64_t heads = x.back().dims.empty() ? 0 : x.back().dims[0];
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    if (x[i].dims.size() < 2 || !x[i].row_wise() || !heads_fit(heads, x[i].dims[1])) return mismatch(x, "scan takes [T, Hx, ..] and a state [H, ..], Hx dividing H");
  }
  for (const Op& inner : op.body->ops) {
    if (inner.kind != OpKind::kArgument) continue;
    const int64_t n = inner.attributes.count;
    if (n < 0 || n >= static_cast<int64_t>(x.size())) return Failure("argument " + std::to_string(n) + " has no operand");
    if (op.body->type(inner.results[0]).dims != argument_dims(x, static_cast<size_t>(n))) return mismatch(x, "argument " + std::to_string(n) + " has another type");
  }
  if (op.body->type(op.body->outputs[1].value).dims != argument_dims(x, x.size() - 1)) return mismatch(x, "the next state must have the state's type");
  std::vector<int64_t> dims = op.body->type(op.body->outputs[0].value).dims;
  dims.insert(dims.begin(), {kTokens, heads});
  return Types{f32(std::move(dims)), x.back()};
}

Result<Types> infer_row_program(const Types& x, const Op& op) {
  if (!op.body) return Failure("a row_program has a body");
  for (const Op& inner : op.body->ops) {
    if (inner.kind != OpKind::kArgument) continue;
    const int64_t n = inner.attributes.count;
    if (n < 0 || n >= static_cast<int64_t>(x.size())) return Failure("argument " + std::to_string(n) + " has no operand");
    if (op.body->type(inner.results[0]) != x[static_cast<size_t>(n)]) return mismatch(x, "argument " + std::to_string(n) + " has another type");
  }
  Types out;
  for (const GraphOutput& output : op.body->outputs) out.push_back(op.body->type(output.value));
  return out;
}

Result<Types> infer_attention(const Types& x, const Attributes& a) {
  TRY(const Types scores, infer_cache_scores(x));
  if (x.size() == 4 && x[3].dims != std::vector<int64_t>{x[0].dims[1]}) return mismatch(x, "sinks are [N]");
  return infer_cache_mix({scores[0], x[2]}, a);
}

Result<Types> infer_softmax(const Types& x) {
  if (x[0].dims.empty()) return mismatch(x, "softmax takes x[.., C]");
  if (x.size() == 2 && (!has_rank(x[0], 3) || x[1].dims != std::vector<int64_t>{x[0].dims[1]})) return mismatch(x, "softmax with sinks[N] takes x[T, N, C]");
  return Types{f32(x[0].dims)};
}

Result<Types> infer_embed(const Types& x) {
  if (x[0].element != ElementType::kI32 || !has_rank(x[1], 2)) return mismatch(x, "embed takes i32 ids[T, ..] and table[V, H]");
  std::vector<int64_t> dims = x[0].dims;
  dims.push_back(x[1].dims[1]);
  return Types{f32(std::move(dims))};
}

Result<Types> infer_outer(const Types& x) {
  if (!has_rank(x[0], 1) || !has_rank(x[1], 1)) return mismatch(x, "outer takes a[A] and b[B]");
  return Types{f32({x[0].dims[0], x[1].dims[0]})};
}

Result<Types> infer_vecmat(const Types& x) {
  if (!has_rank(x[0], 1) || !has_rank(x[1], 2) || x[0].dims[0] != x[1].dims[0]) return mismatch(x, "vecmat takes a[A] and m[A, B]");
  return Types{f32({x[1].dims[1]})};
}

Result<Types> infer_constant(const Attributes& a) {
  if (product(a.shape, 0) != static_cast<int64_t>(a.values.size())) return Failure("a constant of shape " + to_string(f32(a.shape)) + " has " + std::to_string(a.values.size()) + " values");
  return Types{f32(a.shape)};
}

Result<Types> infer_reduce(const Types& x) {
  if (x[0].dims.empty()) return mismatch(x, "a reduction takes x[.., C]");
  return Types{with_last(x[0], 1)};
}

Result<Types> infer_append(const Types& x) {
  const bool ranks = has_rank(x[0], 3) && has_rank(x[1], 3) && x[0].dims[0] == kSpan && x[1].row_wise();
  if (!ranks || x[0].dims[1] != x[1].dims[1] || x[0].dims[2] != x[1].dims[2]) return mismatch(x, "cache_append takes a cache[S, K, D] and x[T, K, D]");
  return Types{x[0]};
}

Result<Types> one(Result<Type> type) {
  if (!type.ok()) return std::move(type).failure();
  return Types{std::move(type).value()};
}

struct Arity {
  size_t least, most;
};

// From the operand column of op.def: operands are separated by ", " outside of brackets; "or none" is optional.
Arity arity(const OpInfo& row) {
  if (row.operands.empty()) return {0, 0};
  if (row.operands.find("], ..") != std::string_view::npos) return {1, SIZE_MAX};
  if (row.operands == "..") return {0, SIZE_MAX};
  size_t count = 1;
  int depth = 0;
  for (const char c : row.operands) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    count += c == ',' && depth == 0;
  }
  return {count - (row.operands.find("or none") != std::string_view::npos), count};
}

Result<Types> infer(const Graph& graph, const Op& op, const Types& x) {
  const Attributes& a = op.attributes;
  switch (op.kind) {
    case OpKind::kInput:
    case OpKind::kWeight:
    case OpKind::kCache:
    case OpKind::kState: return Types{graph.resources[op.resource.index].type};
    case OpKind::kConstant: return infer_constant(a);
    case OpKind::kEmbed: return infer_embed(x);
    case OpKind::kGemm: return infer_gemm(x);
    case OpKind::kGemmHeads: return infer_gemm_heads(x);
    case OpKind::kGemmExperts: return infer_gemm_experts(x);
    case OpKind::kWeightedSum: return infer_weighted_sum(x);
    case OpKind::kReshape: return infer_reshape(x, a);
    case OpKind::kSlice: return infer_slice(x, a);
    case OpKind::kConcat: return infer_concat(x);
    case OpKind::kTranspose: return infer_transpose(x);
    case OpKind::kSampleRows: return x[0].row_wise() ? Result<Types>(x) : mismatch(x, "sample_rows takes x[T, ..]");
    case OpKind::kNeg:
    case OpKind::kExp:
    case OpKind::kLog:
    case OpKind::kSqrt:
    case OpKind::kRsqrt:
    case OpKind::kSin:
    case OpKind::kCos:
    case OpKind::kSigmoid:
    case OpKind::kTanh:
    case OpKind::kSoftplus:
    case OpKind::kRelu:
    case OpKind::kSilu:
    case OpKind::kGelu:
    case OpKind::kGeluErf:
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kDiv:
    case OpKind::kMinimum:
    case OpKind::kMaximum:
    case OpKind::kSelect: return one(broadcast(x));
    case OpKind::kSum:
    case OpKind::kMean:
    case OpKind::kMax: return infer_reduce(x);
    case OpKind::kSoftmax: return infer_softmax(x);
    case OpKind::kTopK: return infer_topk(x, a, false);
    case OpKind::kTopKMask: return infer_topk(x, a, true);
    case OpKind::kGather: return infer_gather(x);
    case OpKind::kRope: return infer_rope(x);
    case OpKind::kCacheAppend: return infer_append(x);
    case OpKind::kCacheScores: return infer_cache_scores(x);
    case OpKind::kMask: return has_rank(x[0], 3) && is_span(x[0].dims[2]) ? Result<Types>(x) : mismatch(x, "mask takes s[T, N, S]");
    case OpKind::kCacheMix: return infer_cache_mix(x, a);
    case OpKind::kConv1d: return infer_conv1d(x);
    case OpKind::kScan: return infer_scan(x, op);
    case OpKind::kArgument: return Types{graph.type(op.results[0])};
    case OpKind::kVecMat: return infer_vecmat(x);
    case OpKind::kOuter: return infer_outer(x);
    case OpKind::kPrepare: return Types{x[0]};
    case OpKind::kRowProgram: return infer_row_program(x, op);
    case OpKind::kAttention: return infer_attention(x, a);
  }
  SCRATCHY_UNREACHABLE("op kind");
}

}  // namespace

Result<std::vector<Type>> infer_types(const Graph& graph, const Op& op) {
  const auto [least, most] = arity(info(op.kind));
  if (op.operands.size() < least || op.operands.size() > most) {
    return Failure(std::to_string(op.operands.size()) + " operands, but `" + std::string(info(op.kind).spelling) + "` takes " + std::string(info(op.kind).operands));
  }
  Types types;
  for (const ValueId operand : op.operands) types.push_back(graph.type(operand));
  return infer(graph, op, types);
}

}  // namespace scratchy
