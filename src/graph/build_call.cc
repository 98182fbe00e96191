#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "graph/build_trace.h"

namespace scratchy {
namespace {

struct PrimitiveRow {
  std::string_view spelling;
  OpKind kind;
  std::string_view params;
};

constexpr PrimitiveRow kPrimitives[] = {
#define PRIMITIVE(spelling, op, params) {spelling, OpKind::k##op, params},
#include "graph/build_primitive.def"
#undef PRIMITIVE
};

// The expression given for each parameter, null where it is left out. check_names has seen that they fit.
std::vector<const Expr*> arguments_of(const Expr& e, const std::vector<std::string>& params) {
  std::vector<const Expr*> given(params.size(), nullptr);
  for (size_t i = 0; i < e.arguments.size(); ++i) {
    const std::string& name = e.arguments[i].name.text;
    const size_t at = name.empty() ? i : static_cast<size_t>(std::find(params.begin(), params.end(), name) - params.begin());
    if (at < given.size()) given[at] = e.arguments[i].value.get();
  }
  return given;
}

}  // namespace

std::vector<Signature> primitive_signatures() {
  std::vector<Signature> out;
  for (const PrimitiveRow& row : kPrimitives) {
    Signature made{std::string(row.spelling), {}, 0, row.params == ".."};
    for (std::string param : split(row.params, ',')) {
      param.erase(0, param.find_first_not_of(' '));
      const bool optional = param.ends_with("?");
      if (optional) param.pop_back();
      else ++made.least;
      made.params.push_back(std::move(param));
    }
    if (made.variadic) made = {std::string(row.spelling), {}, 0, true};
    out.push_back(std::move(made));
  }
  return out;
}

OpKind primitive_kind(std::string_view name) {
  const auto row = std::find_if(std::begin(kPrimitives), std::end(kPrimitives), [&](const PrimitiveRow& one) { return one.spelling == name; });
  SCRATCHY_CHECK(row != std::end(kPrimitives), std::string(name));
  return row->kind;
}

Item Tracer::call(const Expr& e) {
  const std::string& callee = e.name.text;
  if (callee == "defined") return call_defined(e);
  if (const Function* const function = program_.find_function(callee)) return call_function(e, *function);
  if (callee == "error") {
    const auto message = constant_value(*e.arguments[0].value, "message");
    if (message) reporter_.report(DiagnosticKind::kAssertFailed, e.span, {{"message", message->is_string() ? message->as_string() : to_string(*message)}});
    stopped_ = true;
    return Poison{};
  }
  const Signature* const primitive = find_signature(primitives_, callee);
  if (const auto builtin = find_builtin(callee)) {
    // `max` of one tensor is an op, of numbers a number.
    std::vector<Item> arguments;
    bool tensors = false, poison = false;
    for (const NamedExpr& argument : e.arguments) {
      arguments.push_back(value(*argument.value));
      tensors = tensors || is_tensor(arguments.back());
      poison = poison || std::holds_alternative<Poison>(arguments.back());
    }
    if (poison) return Poison{};
    if (!tensors || primitive == nullptr) return call_builtin(e, *builtin, arguments);
    if (arguments.size() != primitive->params.size()) {
      reporter_.report(DiagnosticKind::kArgumentCount, e.span, {{"function", callee}, {"wanted", "1 argument"}, {"got", std::to_string(arguments.size())}}, {.hint = "elementwise it is `minimum(a, b)` or `maximum(a, b)`"});
      return Poison{};
    }
    std::vector<Span> spans;
    for (const NamedExpr& argument : e.arguments) spans.push_back(argument.value->span);
    return primitive_tensors(e, primitive_kind(callee), arguments, spans);
  }
  SCRATCHY_CHECK(primitive != nullptr, callee);
  return call_primitive(e, primitive_kind(callee), *primitive);
}

Item Tracer::call_function(const Expr& e, const Function& function) {
  Frame frame;
  std::vector<std::string> params;
  for (const Param& param : function.params) params.push_back(param.name.text);
  const std::vector<const Expr*> given = arguments_of(e, params);
  for (size_t i = 0; i < params.size(); ++i) {
    if (given[i] != nullptr) frame.locals.emplace(params[i], value(*given[i]));
  }
  if (stopped_) return Poison{};
  Frame* const caller = std::exchange(frame_, &frame);
  reporter_.push_call(e.span, function.name.text);
  for (size_t i = 0; i < params.size(); ++i) {
    if (given[i] == nullptr) frame.locals.insert_or_assign(params[i], value(*function.params[i].fallback));
  }
  run_block(function.body);
  reporter_.pop_call();
  frame_ = caller;
  return stopped_ ? Item(Poison{}) : std::move(frame.result);
}

Item Tracer::call_builtin(const Expr& e, Builtin builtin, const std::vector<Item>& arguments) {
  std::vector<Constant> constants;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* const constant = std::get_if<Constant>(&arguments[i]);
    if (constant == nullptr) {
      reporter_.report(DiagnosticKind::kNotConstant, e.arguments[i].value->span, {{"what", "argument of `" + e.name.text + "`"}, {"got", describe_item(arguments[i])}});
      return Poison{};
    }
    constants.push_back(*constant);
  }
  return settle(apply_builtin(builtin, constants), e.span);
}

// Whether every part of the path is there; null counts as being there.
Item Tracer::call_defined(const Expr& e) {
  const std::vector<std::string> parts = split(dotted_path(*e.arguments[0].value), '.');
  const auto local = frame_->locals.find(parts[0]);
  const Constant* at = facts_.find(parts[0]);
  if (local != frame_->locals.end()) at = std::get_if<Constant>(&local->second);
  for (size_t i = 1; i < parts.size() && at != nullptr; ++i) at = at->find(parts[i]);
  const bool outside = local == frame_->locals.end() && facts_.find_weight(dotted_path(*e.arguments[0].value)) != nullptr;
  return Constant::boolean(at != nullptr || outside || (local != frame_->locals.end() && parts.size() == 1));
}

bool Tracer::in_scan(Span span, OpKind kind) {
  const bool inside = ops_ != &main_;
  const OpGroup group = info(kind).group;
  const bool elementwise = group == OpGroup::kUnary || group == OpGroup::kBinary || group == OpGroup::kReduce || kind == OpKind::kSelect;
  if (inside ? elementwise || group == OpGroup::kScan : group != OpGroup::kScan) return true;
  reporter_.report(inside ? DiagnosticKind::kNotInScan : DiagnosticKind::kOnlyInScan, span, {{"op", std::string(info(kind).spelling)}},
                   {.hint = inside ? "the body has elementwise arithmetic, sum, mean, max, vecmat and outer" : "outside of a scan, `gemm` multiplies"});
  return false;
}

Item Tracer::primitive_tensors(const Expr& e, OpKind kind, const std::vector<Item>& items, const std::vector<Span>& spans) {
  std::vector<Operand> operands;
  bool good = true;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto operand = tensor(items[i], spans[i]);
    good = good && operand.has_value();
    if (operand) operands.push_back(*operand);
  }
  if (!good) return Poison{};
  place(e.span);
  return one(ops_->emit(kind, operands, {}, e.span));
}

Item Tracer::call_primitive(const Expr& e, OpKind kind, const Signature& signature) {
  if (!in_scan(e.span, kind)) return Poison{};
  std::vector<const Expr*> given = arguments_of(e, signature.params);
  if (kind == OpKind::kReshape) return reshape(e, given);
  if (kind == OpKind::kSoftmax) return softmax(e, given);
  if (kind == OpKind::kTopK || kind == OpKind::kTopKMask) return topk(e, kind, given);
  if (kind == OpKind::kRope) return rotate(e, given);
  if (kind == OpKind::kCacheAppend) return cache_append(e, given);
  if (kind == OpKind::kCacheScores) return cache_scores(e, given);
  if (kind == OpKind::kMask) return mask(e, given);
  if (kind == OpKind::kCacheMix) return cache_mix(e, given);
  if (kind == OpKind::kConv1d) return conv1d(e, given);
  if (signature.variadic) {
    given.clear();
    for (const NamedExpr& argument : e.arguments) given.push_back(argument.value.get());
    if (given.empty()) {
      reporter_.report(DiagnosticKind::kArgumentCount, e.span, {{"function", e.name.text}, {"wanted", "at least 1 argument"}, {"got", "0"}});
      return Poison{};
    }
  }
  std::vector<Item> items;
  std::vector<Span> spans;
  for (const Expr* argument : given) {
    items.push_back(value(*argument));
    spans.push_back(argument->span);
  }
  const bool pair = info(kind).group == OpGroup::kBinary && std::holds_alternative<Constant>(items[0]) && std::holds_alternative<Constant>(items[1]);
  if (pair) {
    const Constant &a = std::get<Constant>(items[0]), &b = std::get<Constant>(items[1]);
    if (kind == OpKind::kMinimum) return settle(apply_builtin(Builtin::kMin, {a, b}), e.span);
    if (kind == OpKind::kMaximum) return settle(apply_builtin(Builtin::kMax, {a, b}), e.span);
    const Operator op = kind == OpKind::kAdd ? Operator::kAdd : kind == OpKind::kSub ? Operator::kSub : kind == OpKind::kMul ? Operator::kMul : Operator::kDiv;
    return settle(apply_binary(op, a, b), e.span);
  }
  return primitive_tensors(e, kind, items, spans);
}

// The shape is a list; `T` may stand first.
Item Tracer::reshape(const Expr& e, const std::vector<const Expr*>& given) {
  const auto x = operand(*given[0]);
  const Expr& shape = *given[1];
  Attributes attributes;
  const bool literal = shape.kind == ExprKind::kList;
  const bool rows = literal && !shape.children.empty() && shape.children[0]->kind == ExprKind::kName && shape.children[0]->name.text == kRowsName &&
                    frame_->locals.count(kRowsName) == 0;
  if (!literal) {
    reporter_.report(DiagnosticKind::kShapeList, shape.span, {}, {.hint = "`reshape(x, [T, heads, head_dim])`"});
    return Poison{};
  }
  if (rows) attributes.shape.push_back(kTokens);
  for (size_t i = rows ? 1 : 0; i < shape.children.size(); ++i) {
    const auto dim = integer_value(*shape.children[i], "dim of the shape");
    if (!dim) return Poison{};
    if (*dim < 1) {
      reporter_.report(DiagnosticKind::kWrongKind, shape.children[i]->span, {{"what", "dim of the shape"}, {"got", std::to_string(*dim)}, {"wanted", "at least 1"}});
      return Poison{};
    }
    attributes.shape.push_back(*dim);
  }
  if (!x) return Poison{};
  if (attributes.shape.empty()) {
    reporter_.report(DiagnosticKind::kShapeList, shape.span, {}, {.hint = "a tensor has at least one dim"});
    return Poison{};
  }
  if (ops_->has_rank(x->id) && ops_->dims(x->id) == attributes.shape) return TensorItem{x->id, &ops_->graph()};
  place(e.span);
  return one(ops_->emit(OpKind::kReshape, {*x}, std::move(attributes), e.span));
}

Item Tracer::softmax(const Expr& e, const std::vector<const Expr*>& given) {
  std::vector<Operand> operands;
  for (const Expr* argument : given) {
    if (argument == nullptr) continue;
    const Item item = value(*argument);
    const auto* const constant = std::get_if<Constant>(&item);
    if (argument == given[1] && constant != nullptr && constant->is_none()) continue;
    const auto one = tensor(item, argument->span);
    if (!one) return Poison{};
    operands.push_back(*one);
  }
  place(e.span);
  return one(ops_->emit(OpKind::kSoftmax, operands, {}, e.span));
}

Item Tracer::topk(const Expr& e, OpKind kind, const std::vector<const Expr*>& given) {
  const auto x = operand(*given[0]);
  const auto count = integer_value(*given[1], "count of `" + e.name.text + "`");
  if (!x || !count) return Poison{};
  Attributes attributes;
  attributes.count = *count;
  place(e.span);
  const auto made = ops_->emit(kind, {*x}, std::move(attributes), e.span);
  if (!made || kind == OpKind::kTopKMask) return one(made);
  return TupleItem{{TensorItem{(*made)[0], &ops_->graph()}, TensorItem{(*made)[1], &ops_->graph()}}};
}

Item Tracer::rotate(const Expr& e, const std::vector<const Expr*>& given) {
  const auto x = operand(*given[0]), cosines = operand(*given[1]), sines = operand(*given[2]);
  Attributes attributes;
  attributes.adjacent = false;
  if (given[3] != nullptr) {
    const auto adjacent = condition(*given[3]);
    if (!adjacent) return Poison{};
    attributes.adjacent = *adjacent;
  }
  if (!x || !cosines || !sines) return Poison{};
  place(e.span);
  return one(ops_->emit(OpKind::kRope, {*x, *cosines, *sines}, std::move(attributes), e.span));
}

std::optional<CacheItem> Tracer::plane_of(const Expr& e) {
  const Item item = value(e);
  const auto* const cache = std::get_if<CacheItem>(&item);
  if (cache != nullptr && cache->index >= 0 && !cache->plane.empty()) return *cache;
  if (!std::holds_alternative<Poison>(item)) {
    reporter_.report(DiagnosticKind::kNotPlane, e.span, {{"got", describe_item(item)}}, {.hint = "`kv_cache[layer].keys` is a plane"});
  }
  return std::nullopt;
}

Item Tracer::cache_append(const Expr& e, const std::vector<const Expr*>& given) {
  const auto plane = plane_of(*given[0]);
  const auto x = operand(*given[1]);
  if (!plane || !x || !ops_->require_rank(*x, 3, "cache_append")) return Poison{};
  const std::string name = plane->name + "." + plane->plane;
  const std::vector<int64_t> dims = ops_->dims(x->id);
  if (dims[0] != kTokens || dims[1] < 0 || dims[2] < 0) {
    ops_->complain(DiagnosticKind::kAppendShape, given[1]->span, {{"got", ops_->shown(x->id)}}, {}, "reshape it: `[T, num_key_value_heads, head_dim]`");
    return Poison{};
  }
  Version& version = versions_[name + "[" + std::to_string(plane->index) + "]"];
  if (version.id.valid()) {
    reporter_.report(DiagnosticKind::kAppendTwice, e.span, {{"name", name}, {"index", std::to_string(plane->index)}}, {.labels = {{version.written, "the first append"}}});
    return Poison{};
  }
  place(e.span);
  const ValueId cache = ops_->kept_state(OpKind::kCache, name, static_cast<int>(plane->index), {kSpan, dims[1], dims[2]}, reporter_.place_in(program_.arch.file, e.span));
  const auto made = ops_->emit(OpKind::kCacheAppend, {{cache, given[0]->span}, *x}, {}, e.span);
  if (!made) return Poison{};
  version = {(*made)[0], e.span};
  return Nothing{};
}

std::optional<Operand> Tracer::read_plane(const Expr& e) {
  const auto plane = plane_of(e);
  if (!plane) return std::nullopt;
  const std::string name = plane->name + "." + plane->plane;
  const auto version = versions_.find(name + "[" + std::to_string(plane->index) + "]");
  if (version != versions_.end() && version->second.id.valid()) return Operand{version->second.id, e.span};
  Details details;
  details.hint = "append to it first: `cache_append(" + plane->name + "[layer]." + plane->plane + ", x);`";
  std::vector<std::string> planes;
  for (const auto& [key, other] : versions_) {
    if (other.id.valid()) planes.push_back(key);
  }
  if (const auto near = nearest_name(name + "[" + std::to_string(plane->index) + "]", planes)) details.notes.push_back("`" + *near + "` is appended to");
  reporter_.report(DiagnosticKind::kReadBeforeAppend, e.span, {{"name", name}, {"index", std::to_string(plane->index)}}, std::move(details));
  return std::nullopt;
}

Item Tracer::cache_scores(const Expr& e, const std::vector<const Expr*>& given) {
  const auto q = operand(*given[0]);
  const auto plane = read_plane(*given[1]);
  if (!q || !plane) return Poison{};
  place(e.span);
  return one(ops_->emit(OpKind::kCacheScores, {*q, *plane}, {}, e.span));
}

Item Tracer::mask(const Expr& e, const std::vector<const Expr*>& given) {
  const auto scores = operand(*given[0]);
  Attributes attributes;
  if (given[1] != nullptr) {
    const auto window = integer_value(*given[1], "window of the mask");
    if (!window) return Poison{};
    if (*window < 0) {
      reporter_.report(DiagnosticKind::kWrongKind, given[1]->span, {{"what", "window of the mask"}, {"got", std::to_string(*window)}, {"wanted", "0 (none) or above"}});
      return Poison{};
    }
    attributes.window = *window;
  }
  if (given[2] != nullptr) {
    const auto causal = condition(*given[2]);
    if (!causal) return Poison{};
    attributes.causal = *causal;
  }
  if (!scores) return Poison{};
  place(e.span);
  return one(ops_->emit(OpKind::kMask, {*scores}, std::move(attributes), e.span));
}

Item Tracer::cache_mix(const Expr& e, const std::vector<const Expr*>& given) {
  const auto p = operand(*given[0]);
  const auto plane = read_plane(*given[1]);
  Attributes attributes;
  if (given[2] != nullptr) {
    const auto columns = constant_value(*given[2], "columns");
    if (!columns) return Poison{};
    const bool range = columns->is_list() && columns->as_list().size() == 2 && columns->as_list()[0].is_int() && columns->as_list()[1].is_int();
    if (!range && !columns->is_none()) {
      reporter_.report(DiagnosticKind::kWrongKind, given[2]->span, {{"what", "columns"}, {"got", to_string(*columns, 60)}, {"wanted", "a range `a..b`"}});
      return Poison{};
    }
    if (range) {
      attributes.begin = columns->as_list()[0].as_int();
      attributes.end = columns->as_list()[1].as_int();
    }
    if (range && attributes.begin >= attributes.end) {
      reporter_.report(DiagnosticKind::kWrongKind, given[2]->span, {{"what", "columns"}, {"got", to_string(*columns, 60)}, {"wanted", "a range that isn't empty"}});
      return Poison{};
    }
  }
  if (!p || !plane) return Poison{};
  place(e.span);
  return one(ops_->emit(OpKind::kCacheMix, {*p, *plane}, std::move(attributes), e.span));
}

std::optional<StateItem> Tracer::state_of(const Expr& e) {
  const Item item = value(e);
  if (std::holds_alternative<Poison>(item)) return std::nullopt;
  const auto* const state = std::get_if<StateItem>(&item);
  if (state == nullptr || state->index < 0) {
    reporter_.report(DiagnosticKind::kNotState, e.span, {{"got", describe_item(item)}}, {.hint = "`delta_state[layer]` is a state"});
    return std::nullopt;
  }
  const Version& version = versions_[state->name + "[" + std::to_string(state->index) + "]"];
  if (!version.id.valid()) return *state;
  reporter_.report(DiagnosticKind::kStateTwice, e.span, {{"name", state->name}, {"index", std::to_string(state->index)}}, {.labels = {{version.written, "the first step"}}});
  return std::nullopt;
}

Item Tracer::conv1d(const Expr& e, const std::vector<const Expr*>& given) {
  const auto x = operand(*given[0]), w = operand(*given[1]);
  const auto state = state_of(*given[2]);
  if (!x || !w || !state || !ops_->require_rank(*x, 2, "conv1d") || !ops_->require_rank(*w, 2, "conv1d")) return Poison{};
  const int64_t taps = ops_->dims(w->id)[1];
  if (taps < 2) {
    ops_->complain(DiagnosticKind::kConvTaps, given[1]->span, {{"shape", ops_->shown(w->id)}}, {}, "declare the `columns` of the weight in arch.json");
    return Poison{};
  }
  place(e.span);
  ops_->unify(ops_->dims(x->id)[1], ops_->dims(w->id)[0]);
  const ValueId before = ops_->kept_state(OpKind::kState, state->name, static_cast<int>(state->index), {taps - 1, ops_->dims(w->id)[0]}, reporter_.place_in(program_.arch.file, e.span));
  const auto made = ops_->emit(OpKind::kConv1d, {*x, *w, {before, given[2]->span}}, {}, e.span);
  if (!made) return Poison{};
  versions_[state->name + "[" + std::to_string(state->index) + "]"] = {(*made)[1], e.span};
  return TensorItem{(*made)[0], &ops_->graph()};
}

}  // namespace scratchy
