// The type rule of every op over dims that may be unknown, with the errors an author sees. verify_types.cc states the
// same rules for finished graphs.

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"
#include "graph/build_ops.h"

namespace scratchy {
namespace {

using Operands = std::vector<Operand>;

Type f32(std::vector<int64_t> dims) { return {ElementType::kF32, std::move(dims)}; }

std::vector<int64_t> with_last(std::vector<int64_t> dims, int64_t last) {
  dims.back() = last;
  return dims;
}

std::string quoted(OpKind kind) { return std::string(info(kind).spelling); }

// Numbers in dims, kTokens left out; nothing when it passes 2^62. `unknown` gets the place of the one unknown dim, -2 when
// there are several.
std::optional<int64_t> count_known(const std::vector<int64_t>& dims, int& unknown) {
  uint64_t product = 1;
  unknown = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (DimTable::is_unknown(dims[i])) {
      unknown = unknown == -1 ? static_cast<int>(i) : -2;
      continue;
    }
    if (dims[i] < 0) continue;
    const auto next = checked_mul(product, static_cast<uint64_t>(dims[i]));
    if (!next || *next > uint64_t{1} << 62) return std::nullopt;
    product = *next;
  }
  return static_cast<int64_t>(product);
}

}  // namespace

bool OpBuilder::same(int64_t a, int64_t b, const std::string& name, OpKind op, Span span, const Operands& x) {
  if (dims_.unify(a, b)) return true;
  complain(DiagnosticKind::kDimsDiffer, span, {{"op", quoted(op)}, {"dim", name}, {"lhs", std::to_string(dims_.resolve(a))}, {"rhs", std::to_string(dims_.resolve(b))}, {"rule", std::string(info(op).operands)}}, x);
  return false;
}

bool OpBuilder::require_picks(const Operand& x, const std::string& op) {
  if (graph_.type(x.id).element == ElementType::kI32) return true;
  complain(DiagnosticKind::kNotPicks, x.span, {{"op", op}, {"got", shown(x.id)}}, {}, "picks are the second result of `topk`: `(values, picks) = topk(x, k);`");
  return false;
}

bool OpBuilder::heads_divide(int64_t heads, int64_t kv_heads, Span span, const Operands& x) {
  heads = dims_.resolve(heads);
  kv_heads = dims_.resolve(kv_heads);
  if (heads > 0 && kv_heads > 0 && heads % kv_heads == 0) return true;
  complain(DiagnosticKind::kHeadsDivide, span, {{"heads", std::to_string(heads)}, {"kv_heads", std::to_string(kv_heads)}}, x);
  return false;
}

OpBuilder::Types OpBuilder::infer_embed(const Operands& x, Span span) {
  if (graph_.type(x[0].id).element != ElementType::kI32) {
    complain(DiagnosticKind::kNotPicks, x[0].span, {{"op", "embed"}, {"got", shown(x[0].id)}}, {}, "ids are `input_ids` or the picks of `topk`");
    return std::nullopt;
  }
  if (!require_rank(x[1], 2, "embed")) return std::nullopt;
  std::vector<int64_t> out = dims(x[0].id);
  const std::vector<int64_t> table = dims(x[1].id);
  // The table of the tokens is [vocab_size, hidden_size] where arch.json says nothing else.
  if (graph_.producer(x[0].id).kind == OpKind::kInput) {
    const Constant* const vocabulary = facts_.find("vocab_size");
    const Constant* const width = facts_.find("hidden_size");
    if (vocabulary != nullptr && vocabulary->is_int() && DimTable::is_unknown(table[0])) dims_.unify(table[0], vocabulary->as_int());
    if (width != nullptr && width->is_int() && DimTable::is_unknown(table[1])) dims_.unify(table[1], width->as_int());
  }
  (void)span;
  out.push_back(dims_.resolve(table[1]));
  return {{f32(std::move(out))}};
}

// Ops along the last axis need one that isn't the rows.
bool OpBuilder::require_columns(const Operand& x, OpKind op) {
  const std::vector<int64_t> in = dims(x.id);
  if (!in.empty() && in.back() != kTokens) return true;
  complain(DiagnosticKind::kNoColumns, x.span, {{"op", quoted(op)}, {"got", show_dims(in)}}, {}, "`reshape(x, [T, 1])` gives each row one column");
  return false;
}

// The one weight of the same module (`mlp.*`) that no op of this layer has used, if there is just one.
std::string OpBuilder::unused_neighbour(const Operand& w) const {
  const Op& producer = graph_.producer(w.id);
  if (producer.kind != OpKind::kWeight) return {};
  const Resource& resource = graph_.resources[static_cast<size_t>(producer.resource.index)];
  const std::string module = resource.name.substr(0, resource.name.rfind('.') + 1);
  std::string found;
  for (const WeightDecl& other : facts_.weights) {
    const bool neighbour = !module.empty() && other.name.starts_with(module) && other.name.find('.', module.size()) == std::string::npos;
    if (!neighbour || made_.count("weight " + other.name + " " + std::to_string(resource.layer)) != 0) continue;
    if (!found.empty()) return {};
    found = other.name;
  }
  return found;
}

OpBuilder::Types OpBuilder::infer_gemm(const Operands& x, Span span) {
  const std::vector<int64_t> left = dims(x[0].id);
  if (!require_columns(x[0], OpKind::kGemm) || !require_rank(x[1], 2, "gemm")) return std::nullopt;
  const std::vector<int64_t> right = dims(x[1].id);
  if (!dims_.unify(left.back(), right[1])) {
    const bool other_way = dims_.resolve(left.back()) == right[0];
    const std::string other = unused_neighbour(x[1]);
    complain(DiagnosticKind::kGemmInnerDim, span, {{"lhs", std::to_string(left.back())}, {"rhs", std::to_string(right[1])}}, x,
             !other.empty() ? "did you mean `" + other + "`? nothing has used it yet"
             : other_way    ? "`gemm(x, w)` takes w as [out, in]; `transpose(w)` exchanges its axes"
                            : "the last dim of x must be the last dim of w");
    return std::nullopt;
  }
  return {{f32(with_last(left, right[0]))}};
}

OpBuilder::Types OpBuilder::infer_gemm_heads(const Operands& x, Span span) {
  if (!require_rank(x[0], 3, "gemm_heads") || !require_rank(x[1], 3, "gemm_heads")) return std::nullopt;
  const auto left = dims(x[0].id), right = dims(x[1].id);
  if (!same(left[1], right[0], "N", OpKind::kGemmHeads, span, x) || !same(left[2], right[2], "I", OpKind::kGemmHeads, span, x)) return std::nullopt;
  return {{f32(with_last(left, right[1]))}};
}

OpBuilder::Types OpBuilder::infer_gemm_experts(const Operands& x, Span span) {
  if (!require_rank(x[1], 3, "gemm_experts") || !require_rank(x[2], 2, "gemm_experts") || !require_picks(x[2], "gemm_experts")) return std::nullopt;
  const auto left = dims(x[0].id), right = dims(x[1].id), picks = dims(x[2].id);
  if (left.size() != 2 && !require_rank(x[0], 3, "gemm_experts")) return std::nullopt;
  if (left.size() == 3 && !same(left[1], picks[1], "k", OpKind::kGemmExperts, span, x)) return std::nullopt;
  if (!same(left[0], picks[0], "T", OpKind::kGemmExperts, span, x) || !same(left.back(), right[2], "I", OpKind::kGemmExperts, span, x)) return std::nullopt;
  return {{f32({picks[0], picks[1], right[1]})}};
}

OpBuilder::Types OpBuilder::infer_weighted_sum(const Operands& x, Span span) {
  if (!require_rank(x[0], 3, "weighted_sum") || !require_rank(x[1], 2, "weighted_sum")) return std::nullopt;
  const auto y = dims(x[0].id), w = dims(x[1].id);
  if (!same(y[0], w[0], "T", OpKind::kWeightedSum, span, x) || !same(y[1], w[1], "k", OpKind::kWeightedSum, span, x)) return std::nullopt;
  return {{f32({y[0], y[2]})}};
}

OpBuilder::Types OpBuilder::infer_reshape(const Operands& x, const Attributes& attributes, Span span) {
  const std::vector<int64_t>& to = attributes.shape;
  int unknown = -1;
  const auto wanted = count_known(to, unknown);
  // A weight without a rank is a matrix whose columns are the last axis of the view, or a vector seen as one.
  if (!has_rank(x[0].id)) {
    prefer_rank(x[0].id, to.size() > 1 ? 2 : 1);
    const auto made = dims(x[0].id);
    if (to.size() > 1 && DimTable::is_unknown(made[0]) && DimTable::is_unknown(made[1])) dims_.unify(made[1], to.back());
  }
  const std::vector<int64_t> from = dims(x[0].id);
  const bool rows = !from.empty() && from[0] == kTokens, to_rows = !to.empty() && to[0] == kTokens;
  if (rows != to_rows) {
    complain(DiagnosticKind::kReshapeRows, span, {{"from", show_dims(from)}, {"to", show_dims(to)}}, x,
             rows ? "rows stay rows: begin the shape with `T`" : "it has no rows; leave `T` out");
    return std::nullopt;
  }
  const auto have = count_known(from, unknown);
  if (!wanted || !have) {
    reporter_.report(DiagnosticKind::kShapeTooLarge, span, {{"name", "reshape"}, {"shape", show_dims(wanted ? from : to)}});
    return std::nullopt;
  }
  if (unknown == -2) {
    complain(DiagnosticKind::kReshapeUnknown, span, {{"from", show_dims(from)}, {"to", show_dims(to)}}, x, "declare the rows or columns of the weight in arch.json");
    return std::nullopt;
  }
  const bool fits = unknown >= 0 ? *have > 0 && *wanted % *have == 0 && *wanted >= *have : *have == *wanted;
  if (!fits) {
    complain(DiagnosticKind::kReshapeCount, span, {{"from", show_dims(from)}, {"to", show_dims(to)}, {"have", std::to_string(*have)}, {"want", std::to_string(*wanted)}}, x);
    return std::nullopt;
  }
  if (unknown >= 0) dims_.unify(from[static_cast<size_t>(unknown)], *wanted / *have);
  return {{Type{graph_.type(x[0].id).element, to}}};
}

OpBuilder::Types OpBuilder::infer_slice(const Operands& x, Attributes& attributes, Span span) {
  std::vector<int64_t> out = dims(x[0].id);
  const int64_t dim = out[static_cast<size_t>(attributes.axis)];
  const bool open = DimTable::is_unknown(dim);
  if (dim == kTokens || dim == kSpan) {
    complain(DiagnosticKind::kSliceRows, span, {{"shape", show_dims(out)}}, {}, "slice the other axes: `x[.., a..b]`");
    return std::nullopt;
  }
  if (attributes.begin < 0 || attributes.begin >= attributes.end || (!open && attributes.end > dim)) {
    complain(DiagnosticKind::kSliceRange, span, {{"begin", std::to_string(attributes.begin)}, {"end", std::to_string(attributes.end)}, {"width", open ? "?" : std::to_string(dim)}}, x);
    return std::nullopt;
  }
  dims_.reach(dim, attributes.end);
  out[static_cast<size_t>(attributes.axis)] = attributes.end - attributes.begin;
  return {{Type{graph_.type(x[0].id).element, std::move(out)}}};
}

OpBuilder::Types OpBuilder::infer_concat(const Operands& x, Span span) {
  size_t rank = 1;
  for (const Operand& one : x) rank = std::max(rank, has_rank(one.id) ? dims(one.id).size() : 1);
  int64_t width = 0;
  for (const Operand& one : x) {
    if (!require_rank(one, rank, "concat") || !require_columns(one, OpKind::kConcat)) return std::nullopt;
    const auto first = dims(x[0].id), here = dims(one.id);
    for (size_t i = 0; i + 1 < rank; ++i) {
      if (!same(first[i], here[i], "size of axis " + std::to_string(i), OpKind::kConcat, span, x)) return std::nullopt;
    }
    if (here.back() < 0) {
      complain(DiagnosticKind::kConcatUnknown, one.span, {{"shape", show_dims(here)}}, {}, "declare the rows of the weight in arch.json");
      return std::nullopt;
    }
    width += here.back();
  }
  return {{f32(with_last(dims(x[0].id), width))}};
}

OpBuilder::Types OpBuilder::infer_transpose(const Operands& x, Span span) {
  prefer_rank(x[0].id, 2);
  std::vector<int64_t> out = dims(x[0].id);
  const size_t rank = out.size();
  if (rank < 2 || out[rank - 2] == kTokens || out[rank - 1] == kSpan) {
    complain(DiagnosticKind::kTransposeRows, span, {{"shape", show_dims(out)}}, {});
    return std::nullopt;
  }
  std::swap(out[rank - 1], out[rank - 2]);
  return {{Type{graph_.type(x[0].id).element, std::move(out)}}};
}

// Dims align at the last axis; a dim of 1 or a missing one is repeated. An unknown dim beside one that isn't 1 equals it.
OpBuilder::Types OpBuilder::infer_broadcast(const Operands& x, Span span) {
  std::vector<int64_t> out = dims(x[0].id);
  for (size_t n = 1; n < x.size(); ++n) {
    const std::vector<int64_t> right = dims(x[n].id);
    std::vector<int64_t> joined(std::max(out.size(), right.size()), 1);
    for (size_t i = 1; i <= joined.size(); ++i) {
      const int64_t a = i <= out.size() ? dims_.resolve(out[out.size() - i]) : 1;
      const int64_t b = i <= right.size() ? dims_.resolve(right[right.size() - i]) : 1;
      int64_t& dim = joined[joined.size() - i];
      dim = a == 1 ? b : a;
      if (a == 1 || b == 1 || dims_.unify(a, b)) continue;
      const bool heads = out.size() != right.size() && i == 1;
      complain(DiagnosticKind::kBroadcast, span, {{"lhs", show_dims(out)}, {"rhs", show_dims(right)}}, x,
               heads ? "one of them is seen in heads, `reshape` brings both to the same view" : "");
      return std::nullopt;
    }
    out = std::move(joined);
  }
  return {{f32(dims_.resolve(out))}};
}

OpBuilder::Types OpBuilder::infer_softmax(const Operands& x, Span span) {
  const auto scores = dims(x[0].id);
  if (!require_columns(x[0], OpKind::kSoftmax)) return std::nullopt;
  if (x.size() == 2) {
    if (!require_rank(x[0], 3, "softmax") || !require_rank(x[1], 1, "softmax")) return std::nullopt;
    if (!same(scores[1], dims(x[1].id)[0], "N", OpKind::kSoftmax, span, x)) return std::nullopt;
  }
  return {{f32(scores)}};
}

OpBuilder::Types OpBuilder::infer_topk(const Operands& x, int64_t count, bool as_mask, Span span) {
  if (!require_columns(x[0], as_mask ? OpKind::kTopKMask : OpKind::kTopK)) return std::nullopt;
  const auto in = dims(x[0].id);
  const int64_t width = in.back();
  if (count < 1 || (width >= 0 && count > width) || width == kSpan) {
    complain(DiagnosticKind::kTopKCount, span, {{"count", std::to_string(count)}, {"width", width >= 0 ? std::to_string(width) : "?"}}, x);
    return std::nullopt;
  }
  if (as_mask) return {{f32(in)}};
  return {{f32(with_last(in, count)), {ElementType::kI32, with_last(in, count)}}};
}

OpBuilder::Types OpBuilder::infer_gather(const Operands& x, Span span) {
  if (!require_columns(x[0], OpKind::kGather) || !require_picks(x[1], "gather")) return std::nullopt;
  const auto from = dims(x[0].id), picks = dims(x[1].id);
  if (!require_rank(x[1], from.size(), "gather")) return std::nullopt;
  for (size_t i = 0; i + 1 < from.size(); ++i) {
    if (!same(from[i], picks[i], "size of axis " + std::to_string(i), OpKind::kGather, span, x)) return std::nullopt;
  }
  return {{f32(picks)}};
}

OpBuilder::Types OpBuilder::infer_rope(const Operands& x, Span span) {
  if (!require_rank(x[0], 3, "rotate") || !require_rank(x[1], 2, "rotate") || !require_rank(x[2], 2, "rotate")) return std::nullopt;
  const auto in = dims(x[0].id), cosines = dims(x[1].id), sines = dims(x[2].id);
  if (!same(cosines[0], in[0], "T", OpKind::kRope, span, x) || !same(cosines[0], sines[0], "T", OpKind::kRope, span, x)) return std::nullopt;
  if (!same(cosines[1], sines[1], "R/2", OpKind::kRope, span, x)) return std::nullopt;
  if (in[2] < 0 || cosines[1] < 0 || 2 * cosines[1] > in[2]) {
    complain(DiagnosticKind::kRopeWidth, span, {{"width", std::to_string(2 * cosines[1])}, {"head", std::to_string(in[2])}}, x);
    return std::nullopt;
  }
  return {{f32(in)}};
}

OpBuilder::Types OpBuilder::infer_append(const Operands& x, Span span) {
  if (!require_rank(x[1], 3, "cache_append")) return std::nullopt;
  const auto plane = dims(x[0].id), in = dims(x[1].id);
  if (!same(plane[1], in[1], "K", OpKind::kCacheAppend, span, x) || !same(plane[2], in[2], "D", OpKind::kCacheAppend, span, x)) return std::nullopt;
  return {{f32(plane)}};
}

OpBuilder::Types OpBuilder::infer_scores(const Operands& x, Span span) {
  if (!require_rank(x[0], 3, "cache_scores")) return std::nullopt;
  const auto q = dims(x[0].id), plane = dims(x[1].id);
  if (!same(q[2], plane[2], "D", OpKind::kCacheScores, span, x) || !heads_divide(q[1], plane[1], span, x)) return std::nullopt;
  return {{f32({q[0], q[1], kSpan})}};
}

OpBuilder::Types OpBuilder::infer_mask(const Operands& x, Span span) {
  const auto scores = dims(x[0].id);
  if (scores.size() == 3 && scores[2] == kSpan) return {{f32(scores)}};
  complain(DiagnosticKind::kNotScores, span, {{"op", "mask"}, {"got", show_dims(scores)}}, x, "mask what `cache_scores` gives");
  return std::nullopt;
}

OpBuilder::Types OpBuilder::infer_mix(const Operands& x, Attributes& attributes, Span span) {
  const auto p = dims(x[0].id), plane = dims(x[1].id);
  if (p.size() != 3 || p[2] != kSpan) {
    complain(DiagnosticKind::kNotScores, x[0].span, {{"op", "cache_mix"}, {"got", show_dims(p)}}, {}, "mix by what `softmax` makes of the scores");
    return std::nullopt;
  }
  if (!heads_divide(p[1], plane[1], span, x)) return std::nullopt;
  if (attributes.end == 0) attributes.end = plane[2] >= 0 ? plane[2] : 0;
  if (attributes.begin < 0 || attributes.begin >= attributes.end || attributes.end > plane[2]) {
    complain(DiagnosticKind::kSliceRange, span, {{"begin", std::to_string(attributes.begin)}, {"end", std::to_string(attributes.end)}, {"width", std::to_string(plane[2])}}, x);
    return std::nullopt;
  }
  return {{f32({p[0], p[1], attributes.end - attributes.begin})}};
}

OpBuilder::Types OpBuilder::infer_conv1d(const Operands& x, Span span) {
  if (!require_rank(x[0], 2, "conv1d") || !require_rank(x[1], 2, "conv1d")) return std::nullopt;
  const auto in = dims(x[0].id), taps = dims(x[1].id), state = dims(x[2].id);
  if (!same(in[1], taps[0], "C", OpKind::kConv1d, span, x) || !same(state[1], taps[0], "C", OpKind::kConv1d, span, x)) return std::nullopt;
  if (!same(state[0], taps[1] - 1, "W - 1", OpKind::kConv1d, span, x)) return std::nullopt;
  return {{f32(in), f32(state)}};
}

OpBuilder::Types OpBuilder::infer_vecmat(const Operands& x, Span span) {
  if (!require_rank(x[0], 1, "vecmat") || !require_rank(x[1], 2, "vecmat")) return std::nullopt;
  const auto a = dims(x[0].id), m = dims(x[1].id);
  if (!same(a[0], m[0], "A", OpKind::kVecMat, span, x)) return std::nullopt;
  return {{f32({m[1]})}};
}

OpBuilder::Types OpBuilder::infer_outer(const Operands& x, Span span) {
  (void)span;
  if (!require_rank(x[0], 1, "outer") || !require_rank(x[1], 1, "outer")) return std::nullopt;
  return {{f32({dims(x[0].id)[0], dims(x[1].id)[0]})}};
}

OpBuilder::Types OpBuilder::infer(OpKind kind, const Operands& x, Attributes& attributes, Span span) {
  switch (kind) {
    case OpKind::kEmbed: return infer_embed(x, span);
    case OpKind::kGemm: return infer_gemm(x, span);
    case OpKind::kGemmHeads: return infer_gemm_heads(x, span);
    case OpKind::kGemmExperts: return infer_gemm_experts(x, span);
    case OpKind::kWeightedSum: return infer_weighted_sum(x, span);
    case OpKind::kReshape: return infer_reshape(x, attributes, span);
    case OpKind::kSlice: return infer_slice(x, attributes, span);
    case OpKind::kConcat: return infer_concat(x, span);
    case OpKind::kTranspose: return infer_transpose(x, span);
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
    case OpKind::kSelect: return infer_broadcast(x, span);
    case OpKind::kSum:
    case OpKind::kMean:
    case OpKind::kMax:
      if (!require_columns(x[0], kind)) return std::nullopt;
      return {{f32(with_last(dims(x[0].id), 1))}};
    case OpKind::kSoftmax: return infer_softmax(x, span);
    case OpKind::kTopK: return infer_topk(x, attributes.count, false, span);
    case OpKind::kTopKMask: return infer_topk(x, attributes.count, true, span);
    case OpKind::kGather: return infer_gather(x, span);
    case OpKind::kRope: return infer_rope(x, span);
    case OpKind::kCacheAppend: return infer_append(x, span);
    case OpKind::kCacheScores: return infer_scores(x, span);
    case OpKind::kMask: return infer_mask(x, span);
    case OpKind::kCacheMix: return infer_mix(x, attributes, span);
    case OpKind::kConv1d: return infer_conv1d(x, span);
    case OpKind::kVecMat: return infer_vecmat(x, span);
    case OpKind::kOuter: return infer_outer(x, span);
    case OpKind::kInput:
    case OpKind::kWeight:
    case OpKind::kCache:
    case OpKind::kState:
    case OpKind::kConstant:
    case OpKind::kSampleRows:
    case OpKind::kScan:
    case OpKind::kArgument:
    case OpKind::kPrepare:
    case OpKind::kRowProgram:
    case OpKind::kAttention: break;
  }
  SCRATCHY_UNREACHABLE("op " + quoted(kind) + " is not emitted by a text");
}

}  // namespace scratchy
