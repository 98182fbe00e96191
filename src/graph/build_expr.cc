#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "graph/build_trace.h"

namespace scratchy {
namespace {

template <size_t N>
bool contains(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool poisoned(const Item& item) { return std::holds_alternative<Poison>(item); }

// The op an operator makes on tensors.
std::optional<OpKind> tensor_op(Operator op) {
  switch (op) {
    case Operator::kAdd: return OpKind::kAdd;
    case Operator::kSub: return OpKind::kSub;
    case Operator::kMul: return OpKind::kMul;
    case Operator::kDiv: return OpKind::kDiv;
    case Operator::kOr:
    case Operator::kAnd:
    case Operator::kEqual:
    case Operator::kNotEqual:
    case Operator::kLess:
    case Operator::kLessEqual:
    case Operator::kGreater:
    case Operator::kGreaterEqual:
    case Operator::kIn:
    case Operator::kRem:
    case Operator::kPow:
    case Operator::kNegate:
    case Operator::kNot: break;
  }
  return std::nullopt;
}

}  // namespace

Item Tracer::one(std::optional<std::vector<ValueId>> made) {
  if (!made) return Poison{};
  return TensorItem{(*made)[0], &ops_->graph()};
}

std::string Tracer::describe_item(const Item& item) {
  if (const auto* const constant = std::get_if<Constant>(&item)) return to_string(*constant, 60);
  if (const auto* const t = std::get_if<TensorItem>(&item)) return "a tensor " + (t->graph == &ops_->graph() ? ops_->shown(t->id) : std::string());
  if (const auto* const w = std::get_if<WeightItem>(&item)) return "the weight `" + w->decl->name + "`";
  if (const auto* const c = std::get_if<CacheItem>(&item)) return "the cache `" + c->name + "`";
  if (const auto* const s = std::get_if<StateItem>(&item)) return "the state `" + s->name + "`";
  if (const auto* const o = std::get_if<OpaqueItem>(&item)) return "`" + o->name + "`";
  if (const auto* const t = std::get_if<TupleItem>(&item)) return std::to_string(t->items.size()) + " values";
  return "nothing";
}

Item Tracer::settle(ConstantOutcome outcome, Span span) {
  if (auto* const complaint = std::get_if<Complaint>(&outcome)) {
    reporter_.report(complaint->kind, span, complaint->facts, {.hint = complaint->hint});
    return Poison{};
  }
  return std::get<Constant>(std::move(outcome));
}

std::optional<Constant> Tracer::constant_value(const Expr& e, const std::string& what) {
  const Item item = value(e);
  if (const auto* const constant = std::get_if<Constant>(&item)) return *constant;
  if (!poisoned(item)) {
    reporter_.report(DiagnosticKind::kNotConstant, e.span, {{"what", what}, {"got", describe_item(item)}}, {.hint = "it is decided before the model runs, from numbers and the config"});
  }
  return std::nullopt;
}

std::optional<int64_t> Tracer::integer_value(const Expr& e, const std::string& what) {
  const auto constant = constant_value(e, what);
  if (!constant) return std::nullopt;
  if (constant->is_int() || constant->is_bool()) return constant->as_int();
  if (constant->is_float() && constant->as_number() == std::floor(constant->as_number()) && std::abs(constant->as_number()) < 1e15) {
    return static_cast<int64_t>(constant->as_number());
  }
  reporter_.report(DiagnosticKind::kWrongKind, e.span, {{"what", what}, {"got", to_string(*constant, 60)}, {"wanted", "an integer"}});
  return std::nullopt;
}

std::optional<bool> Tracer::condition(const Expr& e) {
  const auto constant = constant_value(e, "condition");
  if (!constant) return std::nullopt;
  if (constant->is_bool()) return constant->as_bool();
  reporter_.report(DiagnosticKind::kWrongKind, e.span, {{"what", "condition"}, {"got", to_string(*constant, 60)}, {"wanted", "true or false"}},
                   {.hint = "compare it: `x != 0` or `x != none`"});
  return std::nullopt;
}

std::optional<Operand> Tracer::constant_tensor(const Constant& constant, Span span) {
  if (constant.is_number() && !constant.is_bool()) return Operand{ops_->constant({constant.as_number()}, {1}), span};
  if (constant.is_list() && !constant.as_list().empty()) {
    std::vector<double> values;
    for (const Constant& element : constant.as_list()) {
      if (element.is_number()) values.push_back(element.as_number());
    }
    const auto count = static_cast<int64_t>(values.size());
    if (values.size() == constant.as_list().size()) return Operand{ops_->constant(std::move(values), {count}), span};
  }
  reporter_.report(DiagnosticKind::kNotTensor, span, {{"got", to_string(constant, 60)}},
                   {.hint = constant.is_none() ? "test for it first: `b != none ? x + b : x`" : "a number or a list of numbers can stand for a tensor"});
  return std::nullopt;
}

std::optional<Operand> Tracer::tensor(const Item& item, Span span) {
  if (poisoned(item) || stopped_) return std::nullopt;
  place(span);
  if (const auto* const constant = std::get_if<Constant>(&item)) return constant_tensor(*constant, span);
  if (const auto* const t = std::get_if<TensorItem>(&item)) {
    if (t->graph == &ops_->graph()) return Operand{t->id, span};
    reporter_.report(DiagnosticKind::kOutsideScan, span, {}, {.hint = "name it as an operand: `scan (.., xt) over (.., x) ..`"});
    return std::nullopt;
  }
  if (const auto* const w = std::get_if<WeightItem>(&item)) {
    if (ops_ != &main_) {
      reporter_.report(DiagnosticKind::kOutsideScan, span, {}, {.hint = "the body of a scan reads its operands and numbers only"});
      return std::nullopt;
    }
    if (w->decl->per_layer && w->layer < 0) {
      reporter_.report(DiagnosticKind::kNotIndexed, span, {{"name", w->decl->name}}, {.hint = "there is one in each layer: `" + w->decl->name + "[layer]`"});
      return std::nullopt;
    }
    return Operand{ops_->weight(*w->decl, w->layer, reporter_.place_in(program_.arch.file, span)), span};
  }
  reporter_.report(DiagnosticKind::kNotTensor, span, {{"got", describe_item(item)}});
  return std::nullopt;
}

std::optional<Operand> Tracer::operand(const Expr& e) { return tensor(value(e), e.span); }

void Tracer::place(Span span) { ops_->set_place(reporter_.place_in(program_.arch.file, span), layer_); }

Item Tracer::value(const Expr& e) {
  if (!spend(e.span)) return Poison{};
  if (++depth_ > kMaxDepth) {
    stopped_ = true;
    reporter_.report(DiagnosticKind::kTooDeep, e.span, {{"limit", std::to_string(kMaxDepth)}});
  }
  Item out = stopped_ ? Item(Poison{}) : value_inside(e);
  --depth_;
  return out;
}

Item Tracer::value_inside(const Expr& e) {
  switch (e.kind) {
    case ExprKind::kConstant: return e.constant;
    case ExprKind::kName: return name(e);
    case ExprKind::kField: return field(e);
    case ExprKind::kList: return list(e);
    case ExprKind::kComprehension: return comprehension(e);
    case ExprKind::kRecord: return record(e);
    case ExprKind::kUnary: return unary(e);
    case ExprKind::kBinary: return binary(e);
    case ExprKind::kChoice: return choice(e);
    case ExprKind::kCall: return call(e);
    case ExprKind::kIndex: return index(e);
    case ExprKind::kScan: return scan(e);
  }
  return Poison{};
}

Item Tracer::name(const Expr& e) {
  const auto local = frame_->locals.find(e.name.text);
  if (local != frame_->locals.end()) return local->second;
  return global_name(e.name.text, e);
}

Item Tracer::global_name(const std::string& text, const Expr& e) {
  if (const ConstItem* const item = program_.find_constant(text)) return constant_item(*item);
  if (contains(kInputNames, text)) return TensorItem{main_.input(text, reporter_.place_in(program_.arch.file, e.span)), &graph_};
  if (contains(kOpaqueNames, text)) return OpaqueItem{text};
  if (contains(kCacheNames, text)) return CacheItem{text, -1, {}};
  if (contains(kStateNames, text)) return StateItem{text, -1};
  if (const WeightDecl* const decl = facts_.find_weight(text)) return weight_item(*decl);
  if (auto number = named_number(text)) return *number;
  return config_value(text, e);
}

Item Tracer::weight_item(const WeightDecl& decl) {
  if (decl.absent && !decl.per_layer) return Constant();
  return WeightItem{&decl, -1};
}

Item Tracer::config_value(const std::string& key, const Expr& e) {
  if (const Constant* const found = facts_.find(key)) return *found;
  Details details;
  details.hint = "ask with `defined(" + key + ")`, or give it a default in arch.json";
  if (facts_.config_file != nullptr) details.labels.push_back({{facts_.config_file, 0, 0}, "has no `" + key + "`"});
  reporter_.report(DiagnosticKind::kConfigLacksKey, e.span, {{"key", key}, {"model", facts_.display()}}, std::move(details));
  return Poison{};
}

// A `const` item is evaluated once, in a scope of its own.
Item Tracer::constant_item(const ConstItem& item) {
  const auto known = constants_.find(item.name.text);
  if (known != constants_.end()) return known->second;
  Frame frame;
  Frame* const caller = std::exchange(frame_, &frame);
  Item made = value(*item.value);
  frame_ = caller;
  if (!std::holds_alternative<Constant>(made) && !poisoned(made)) {
    reporter_.report(DiagnosticKind::kNotConstant, item.value->span, {{"what", "constant `" + item.name.text + "`"}, {"got", describe_item(made)}});
    made = Poison{};
  }
  return constants_[item.name.text] = std::move(made);
}

// The longest dotted path that is a weight wins over fields.
Item Tracer::field(const Expr& e) {
  const std::string path = dotted_path(e);
  const std::string root = path.substr(0, path.find('.'));
  const bool local = path.empty() || frame_->locals.count(root) != 0 || program_.find_constant(root) != nullptr;
  if (!local) {
    if (const WeightDecl* const decl = facts_.find_weight(path)) return weight_item(*decl);
  }
  const Expr& child = *e.children[0];
  const Item base = value(child);
  if (poisoned(base)) return base;
  if (const auto* const cache = std::get_if<CacheItem>(&base)) {
    if (cache->index >= 0 && cache->plane.empty()) return CacheItem{cache->name, cache->index, e.name.text};
    reporter_.report(DiagnosticKind::kNotIndexed, child.span, {{"name", cache->name}}, {.hint = "`" + cache->name + "[layer]." + e.name.text + "` is a plane of one layer's cache"});
    return Poison{};
  }
  const auto* const record = std::get_if<Constant>(&base);
  const Constant* const found = record != nullptr ? record->find(e.name.text) : nullptr;
  if (found != nullptr) return *found;
  Details details;
  if (record != nullptr && record->is_record()) {
    std::vector<std::string> keys;
    for (const Constant::Field& one : record->as_record()) keys.push_back(one.key);
    const auto near = nearest_name(e.name.text, keys);
    details.hint = near ? "did you mean `" + *near + "`?" : "`get(record, \"" + e.name.text + "\", default)` reads a field that may be absent";
  } else if (record != nullptr && record->is_none()) {
    details.hint = "the value is none here; test it first: `" + (dotted_path(child).empty() ? std::string("x") : dotted_path(child)) + " != none`";
  }
  const auto at = facts_.spans.find(root);
  if (!local && at != facts_.spans.end()) details.labels.push_back({at->second, "the config says this"});
  reporter_.report(DiagnosticKind::kNoField, e.name.span, {{"name", e.name.text}, {"value", describe_item(base)}}, std::move(details));
  return Poison{};
}

Item Tracer::list(const Expr& e) {
  Constant::List elements;
  for (const ExprPtr& child : e.children) {
    auto element = constant_value(*child, "element of a list");
    if (!element) return Poison{};
    elements.push_back(std::move(*element));
  }
  return settle(make_list(std::move(elements)), e.span);
}

Item Tracer::comprehension(const Expr& e) {
  const auto begin = integer_value(*e.children[1], "lower bound of the list");
  const auto end = integer_value(*e.children[2], "upper bound of the list");
  if (!begin || !end) return Poison{};
  const auto before = frame_->locals.find(e.name.text);
  const std::optional<Item> shadowed = before != frame_->locals.end() ? std::optional(before->second) : std::nullopt;
  Constant::List elements;
  bool good = true;
  for (int64_t i = *begin; i < *end && good; ++i) {
    frame_->locals.insert_or_assign(e.name.text, Item(Constant::integer(i)));
    auto element = spend(e.span) ? constant_value(*e.children[0], "element of a list") : std::nullopt;
    good = element.has_value() && elements.size() < kMaxElements;
    if (element) elements.push_back(std::move(*element));
  }
  if (shadowed) frame_->locals.insert_or_assign(e.name.text, *shadowed);
  else frame_->locals.erase(e.name.text);
  if (!good && elements.size() < kMaxElements) return Poison{};
  if (elements.size() == kMaxElements) elements.emplace_back();  // make_list refuses it
  return settle(make_list(std::move(elements)), e.span);
}

Item Tracer::record(const Expr& e) {
  Constant::Record fields;
  for (const NamedExpr& field : e.arguments) {
    auto element = constant_value(*field.value, "field of a record");
    if (!element) return Poison{};
    fields.push_back({field.name.text, std::move(*element)});
  }
  return settle(make_record(std::move(fields)), e.span);
}

Item Tracer::unary(const Expr& e) {
  const Item item = value(*e.children[0]);
  if (poisoned(item)) return item;
  if (const auto* const constant = std::get_if<Constant>(&item)) return settle(apply_unary(e.op, *constant), e.span);
  if (e.op == Operator::kNot) {
    reporter_.report(DiagnosticKind::kNotConstant, e.children[0]->span, {{"what", "operand of `!`"}, {"got", describe_item(item)}});
    return Poison{};
  }
  const auto x = tensor(item, e.children[0]->span);
  if (!x) return Poison{};
  place(e.span);
  return one(ops_->emit(OpKind::kNeg, {*x}, {}, e.span));
}

Item Tracer::binary(const Expr& e) {
  const Item left = value(*e.children[0]);
  if (poisoned(left)) return left;
  if (const auto* const constant = std::get_if<Constant>(&left); constant != nullptr && constant->is_bool()) {
    if ((e.op == Operator::kAnd && !constant->as_bool()) || (e.op == Operator::kOr && constant->as_bool())) return left;
  }
  const Item right = value(*e.children[1]);
  if (poisoned(right)) return right;
  return binary_items(e.op, e, left, right, e.children[0]->span, e.children[1]->span);
}

Item Tracer::binary_items(Operator op, const Expr& e, const Item& left, const Item& right, Span left_span, Span right_span) {
  const auto* const a = std::get_if<Constant>(&left);
  const auto* const b = std::get_if<Constant>(&right);
  if (a != nullptr && b != nullptr) return settle(apply_binary(op, *a, *b), e.span);
  const bool equality = op == Operator::kEqual || op == Operator::kNotEqual;
  if (equality && ((a != nullptr && a->is_none()) || (b != nullptr && b->is_none()))) return Constant::boolean(op == Operator::kNotEqual);
  const auto kind = tensor_op(op);
  if (!kind) {
    Details details;
    details.hint = op == Operator::kPow ? "write `x * x`, or exp and log" : "what depends on tensors is decided while the model runs: `select(mask, a, b)`";
    const bool left_is = a == nullptr;
    reporter_.report(DiagnosticKind::kNotConstant, left_is ? left_span : right_span,
                     {{"what", "operand of `" + std::string(spelling(op)) + "`"}, {"got", describe_item(left_is ? left : right)}}, std::move(details));
    return Poison{};
  }
  const auto x = tensor(left, left_span);
  const auto y = tensor(right, right_span);
  if (!x || !y) return Poison{};
  place(e.span);
  return one(ops_->emit(*kind, {*x, *y}, {}, e.span));
}

Item Tracer::choice(const Expr& e) {
  const auto holds = condition(*e.children[0]);
  return holds ? value(*e.children[*holds ? 1 : 2]) : Item(Poison{});
}

Item Tracer::index(const Expr& e) {
  const Item base = value(*e.children[0]);
  if (poisoned(base)) return base;
  const bool plain = e.ranges.size() == 1 && !e.ranges[0].dots;
  if (std::holds_alternative<CacheItem>(base) || std::holds_alternative<StateItem>(base)) return index_resource(e, base);
  if (const auto* const w = std::get_if<WeightItem>(&base); w != nullptr && w->decl->per_layer && w->layer < 0) return index_resource(e, base);
  if (const auto* const list = std::get_if<Constant>(&base)) {
    if (plain) {
      const auto at = constant_value(*e.ranges[0].begin, "index");
      return at ? settle(list_element(*list, *at), e.ranges[0].span) : Item(Poison{});
    }
    return slice(e, base);
  }
  if (is_tensor(base)) return slice(e, base);
  reporter_.report(DiagnosticKind::kWrongKind, e.children[0]->span, {{"what", "what is indexed"}, {"got", describe_item(base)}, {"wanted", "a list, a tensor, a weight, a cache or a state"}});
  return Poison{};
}

// `w[layer]`, `kv_cache[layer - 1]`, `conv_state[i]`.
Item Tracer::index_resource(const Expr& e, const Item& base) {
  const auto* const weight = std::get_if<WeightItem>(&base);
  const auto* const cache = std::get_if<CacheItem>(&base);
  const auto* const state = std::get_if<StateItem>(&base);
  const std::string name = weight != nullptr ? weight->decl->name : cache != nullptr ? cache->name : state->name;
  if (e.ranges.size() != 1 || e.ranges[0].dots || (cache != nullptr && cache->index >= 0) || (state != nullptr && state->index >= 0)) {
    reporter_.report(DiagnosticKind::kBadIndex, e.span, {{"name", name}}, {.hint = "`" + name + "[layer]`"});
    return Poison{};
  }
  const auto at = integer_value(*e.ranges[0].begin, "index of `" + name + "`");
  if (!at) return Poison{};
  const Constant* const layers = facts_.find("num_hidden_layers");
  const int64_t count = layers != nullptr && layers->is_int() ? layers->as_int() : kMaxIndex;
  if (*at < 0 || *at >= count) {
    reporter_.report(DiagnosticKind::kLayerIndex, e.ranges[0].span, {{"name", name}, {"index", std::to_string(*at)}, {"count", std::to_string(count)}});
    return Poison{};
  }
  if (weight != nullptr && weight->decl->absent) return Constant();
  if (weight != nullptr) return WeightItem{weight->decl, static_cast<int>(*at)};
  if (cache != nullptr) return CacheItem{cache->name, *at, {}};
  return StateItem{state->name, *at};
}

// `x[.., a..b]`: one range per axis, a first `..` stands for all leading axes.
Item Tracer::slice(const Expr& e, const Item& base) {
  auto x = tensor(base, e.children[0]->span);
  if (!x) return Poison{};
  const bool leading = e.ranges[0].dots && !e.ranges[0].begin && !e.ranges[0].end;
  const size_t given = e.ranges.size();
  ops_->prefer_rank(x->id, given);
  const size_t rank = ops_->dims(x->id).size();
  if (given > rank || (given < rank && !leading)) {
    ops_->complain(DiagnosticKind::kSliceAxes, e.span, {{"given", std::to_string(given)}, {"shape", ops_->shown(x->id)}}, {}, "`x[.., a..b]` slices the last axis");
    return Poison{};
  }
  for (size_t i = leading ? 1 : 0; i < given; ++i) {
    const SliceRange& range = e.ranges[i];
    if (range.dots && !range.begin && !range.end) continue;
    const size_t axis = rank - given + i;
    const int64_t width = ops_->dims(x->id)[axis];
    if (!range.dots) {
      reporter_.report(DiagnosticKind::kTensorIndex, range.span, {{"shape", ops_->shown(x->id)}}, {.hint = "a range keeps the axis: `i..i + 1`"});
      return Poison{};
    }
    if (!range.end && width < 0) {
      reporter_.report(DiagnosticKind::kOpenSlice, range.span, {{"shape", ops_->shown(x->id)}}, {.hint = "say where the slice ends"});
      return Poison{};
    }
    const auto begin = range.begin ? integer_value(*range.begin, "begin of the slice") : std::optional<int64_t>(0);
    const auto end = range.end ? integer_value(*range.end, "end of the slice") : std::optional<int64_t>(width);
    if (!begin || !end) return Poison{};
    if (*begin == 0 && *end == width) continue;
    Attributes attributes;
    attributes.axis = static_cast<int64_t>(axis);
    attributes.begin = *begin;
    attributes.end = *end;
    place(e.span);
    const auto made = ops_->emit(OpKind::kSlice, {*x}, std::move(attributes), range.span);
    if (!made) return Poison{};
    x->id = (*made)[0];
  }
  return TensorItem{x->id, &ops_->graph()};
}

}  // namespace scratchy
