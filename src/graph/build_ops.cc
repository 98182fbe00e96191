#include "graph/build_ops.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"

namespace scratchy {
namespace {

// Whether equal ops on equal operands may be one: all but what writes.
bool pure(OpKind kind) { return kind != OpKind::kCacheAppend && kind != OpKind::kConv1d && kind != OpKind::kScan; }

ResourceKind resource_kind(OpKind kind) {
  if (kind == OpKind::kInput) return ResourceKind::kInput;
  if (kind == OpKind::kWeight) return ResourceKind::kWeight;
  return kind == OpKind::kCache ? ResourceKind::kCache : ResourceKind::kState;
}

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::string OpBuilder::key(OpKind kind, const std::vector<Operand>& operands, const Attributes& a, bool is_global) const {
  std::string out;
  put(out, kind);
  put(out, is_global ? -1 : layer_);
  for (const Operand& operand : operands) put(out, operand.id.index);
  put(out, a.axis), put(out, a.begin), put(out, a.end), put(out, a.count), put(out, a.window);
  put(out, a.scale), put(out, a.softcap), put(out, a.causal), put(out, a.adjacent);
  for (const int64_t dim : a.shape) put(out, dim);
  for (const double value : a.values) put(out, value);
  return out;
}

bool OpBuilder::global(const std::vector<Operand>& operands) const {
  return std::all_of(operands.begin(), operands.end(), [&](const Operand& x) { return global_[static_cast<size_t>(x.id.index)]; });
}

std::vector<ValueId> OpBuilder::append(OpKind kind, const std::vector<Operand>& operands, Attributes attributes, std::vector<Type> types, bool is_global) {
  Op op{.kind = kind, .attributes = std::move(attributes), .span = kept_, .layer = is_global ? -1 : layer_};
  for (const Operand& operand : operands) op.operands.push_back(operand.id);
  for (Type& type : types) op.results.push_back(graph_.add_value(std::move(type)));
  global_.resize(graph_.values.size(), is_global);
  std::vector<ValueId> results = op.results;
  graph_.append(std::move(op));
  return results;
}

ValueId OpBuilder::append_resource(OpKind kind, Resource resource, bool is_global) {
  resource.kind = resource_kind(kind);
  const ValueId id = append(kind, {}, {}, {resource.type}, is_global)[0];
  graph_.resources.push_back(std::move(resource));
  graph_.ops.back().resource = {static_cast<int32_t>(graph_.resources.size() - 1)};
  return id;
}

ValueId OpBuilder::input(const std::string& name, Span span) {
  std::vector<ValueId>& made = made_["input " + name];
  if (made.empty()) made = {append_resource(OpKind::kInput, {.name = name, .type = {ElementType::kI32, {kTokens}}, .first_use = span}, true)};
  graph_.values[static_cast<size_t>(made[0].index)].name = name;
  return made[0];
}

ValueId OpBuilder::weight(const WeightDecl& decl, int layer, Span span) {
  std::vector<ValueId>& made = made_["weight " + decl.name + " " + std::to_string(layer)];
  if (!made.empty()) return made[0];
  made = {append_resource(OpKind::kWeight, {.name = decl.name, .layer = layer, .first_use = span}, false)};
  rankless_[made[0].index] = {&decl, layer};
  if (decl.rows(std::max(layer, 0)) && decl.columns(std::max(layer, 0))) prefer_rank(made[0], decl.experts > 0 ? 3 : 2);
  return made[0];
}

ValueId OpBuilder::constant(std::vector<double> values, std::vector<int64_t> shape) {
  Attributes attributes;
  attributes.shape = shape;
  attributes.values = std::move(values);
  std::vector<ValueId>& made = made_[key(OpKind::kConstant, {}, attributes, true)];
  if (made.empty()) made = append(OpKind::kConstant, {}, std::move(attributes), {{ElementType::kF32, std::move(shape)}}, true);
  return made[0];
}

ValueId OpBuilder::kept_state(OpKind kind, const std::string& name, int index, std::vector<int64_t> dims, Span span) {
  return append_resource(kind, {.name = name, .layer = index, .type = {ElementType::kF32, std::move(dims)}, .first_use = span}, false);
}

ValueId OpBuilder::argument(int64_t count, std::vector<int64_t> dims) {
  Attributes attributes;
  attributes.count = count;
  return append(OpKind::kArgument, {}, std::move(attributes), {{ElementType::kF32, std::move(dims)}}, false)[0];
}

std::optional<std::vector<ValueId>> OpBuilder::emit(OpKind kind, const std::vector<Operand>& operands, Attributes attributes, Span span) {
  dims_.set_place(span);
  auto types = infer(kind, operands, attributes, span);
  if (!types) return std::nullopt;
  const bool is_global = pure(kind) && global(operands);
  if (!pure(kind)) return append(kind, operands, std::move(attributes), std::move(*types), false);
  std::vector<ValueId>& made = made_[key(kind, operands, attributes, is_global)];
  if (made.empty()) made = append(kind, operands, std::move(attributes), std::move(*types), is_global);
  return made;
}

std::vector<ValueId> OpBuilder::emit_scan(const std::vector<Operand>& operands, std::shared_ptr<Graph> body, std::vector<Type> types) {
  std::vector<ValueId> results = append(OpKind::kScan, operands, {}, std::move(types), false);
  graph_.ops.back().body = std::move(body);
  return results;
}

void OpBuilder::set_dims(ValueId id, std::vector<int64_t> dims) {
  const Op& producer = graph_.producer(id);
  if (producer.resource.valid()) graph_.resources[static_cast<size_t>(producer.resource.index)].type.dims = dims;
  graph_.values[static_cast<size_t>(id.index)].type.dims = std::move(dims);
}

void OpBuilder::prefer_rank(ValueId id, size_t rank) {
  const auto found = rankless_.find(id.index);
  if (found == rankless_.end()) return;
  const auto [decl, layer] = found->second;
  const size_t lead = decl->experts > 0 ? 1 : 0;
  const int at = std::max(layer, 0);
  std::vector<int64_t> dims;
  if (lead == 1) dims.push_back(decl->experts);
  const auto declared = [&](const std::optional<int64_t>& dim) { return dim ? *dim : dims_.unknown(); };
  if (rank > lead) dims.push_back(declared(decl->rows(at)));
  if (rank > lead + 1) dims.push_back(declared(decl->columns(at)));
  rankless_.erase(found);
  set_dims(id, std::move(dims));
}

std::vector<int64_t> OpBuilder::dims(ValueId id) {
  const auto found = rankless_.find(id.index);
  if (found != rankless_.end()) prefer_rank(id, found->second.decl->experts > 0 ? 2 : 1);
  return dims_.resolve(graph_.type(id).dims);
}

bool OpBuilder::require_rank(const Operand& x, size_t rank, const std::string& op) {
  prefer_rank(x.id, rank);
  if (dims(x.id).size() == rank) return true;
  const bool heads = rank == 3 && dims(x.id).size() == 2 && dims(x.id)[0] == kTokens;
  const std::string hint = heads ? "`reshape(x, [T, heads, width])` shows its heads" : "";
  complain(DiagnosticKind::kWrongRank, x.span, {{"op", op}, {"wanted", std::to_string(rank)}, {"got", shown(x.id)}}, {x}, hint);
  return false;
}

// "576 is `hidden_size`" for every size of the operands that is the value of a config key.
void OpBuilder::note_names(const std::vector<Operand>& operands, Details& details) {
  std::vector<int64_t> seen = {0, 1};
  std::string names;
  for (const Operand& operand : operands) {
    for (const int64_t dim : dims_.resolve(graph_.type(operand.id).dims)) {
      if (dim <= 1 || std::find(seen.begin(), seen.end(), dim) != seen.end()) continue;
      seen.push_back(dim);
      int shown = 0;
      for (const auto& [key, value] : facts_.values) {
        if (!value.is_int() || value.as_int() != dim || ++shown > 3) continue;
        names += (names.empty() ? "" : shown > 1 ? " and " : ", ") + (shown > 1 ? std::string() : std::to_string(dim) + " is ") + "`" + key + "`";
      }
    }
  }
  if (!names.empty()) details.notes.push_back(names);
}

void OpBuilder::complain(DiagnosticKind kind, Span span, const DiagnosticFacts& facts, const std::vector<Operand>& operands, std::string hint) {
  Details details;
  details.hint = std::move(hint);
  const auto same_place = [](const Span& a, const Span& b) { return a.file == b.file && a.begin == b.begin && a.end == b.end; };
  for (const Operand& operand : operands) {
    if (!same_place(operand.span, span)) details.labels.push_back({operand.span, shown(operand.id)});
    for (const int64_t dim : graph_.type(operand.id).dims) {
      const Span fixed = dims_.fixed_at(dim);
      const bool told = std::any_of(details.labels.begin(), details.labels.end(), [&](const DiagnosticLabel& label) { return same_place(label.span, fixed); });
      if (fixed.file != nullptr && !told && !same_place(fixed, span)) details.labels.push_back({fixed, "fixes the " + std::to_string(dims_.resolve(dim))});
    }
    const Op& producer = graph_.producer(operand.id);
    if (producer.kind != OpKind::kWeight) continue;
    const Resource& resource = graph_.resources[static_cast<size_t>(producer.resource.index)];
    details.notes.push_back("`" + resource.name + "` is " + shown(operand.id) + " by arch.json and its uses, first at " + to_string(resource.first_use));
  }
  note_names(operands, details);
  reporter_.report(kind, span, facts, std::move(details));
}

bool OpBuilder::check_size(const std::vector<int64_t>& dims, Span span, const std::string& name) {
  uint64_t product = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) continue;
    const auto next = checked_mul(product, static_cast<uint64_t>(dim));
    if (!next || *next > uint64_t{1} << 62) {
      reporter_.report(DiagnosticKind::kShapeTooLarge, span, {{"name", name}, {"shape", show_dims(dims)}});
      return false;
    }
    product = *next;
  }
  return true;
}

void OpBuilder::finish_weights() {
  for (Resource& resource : graph_.resources) {
    if (resource.kind != ResourceKind::kWeight) continue;
    const std::vector<int64_t> dims = dims_.resolve(resource.type.dims);
    if (std::any_of(dims.begin(), dims.end(), DimTable::is_unknown)) {
      reporter_.report(DiagnosticKind::kUnfixedWeight, resource.first_use, {{"name", resource.name}, {"shape", show_dims(dims)}},
                       {.hint = "declare its `rows` or `columns` in arch.json, or reshape what it gives"});
    }
  }
}

void OpBuilder::finish() {
  dims_.settle_slices();
  for (const auto& [value, weight] : std::map(rankless_)) prefer_rank({value}, weight.decl->experts > 0 ? 2 : 1);
  if (!reporter_.failed()) finish_weights();
  if (reporter_.failed()) return;
  for (Resource& resource : graph_.resources) resource.type.dims = dims_.resolve(resource.type.dims);
  for (Value& value : graph_.values) {
    value.type.dims = dims_.resolve(value.type.dims);
    const Op& op = graph_.ops[static_cast<size_t>(value.producer)];
    const std::string name = value.name.empty() ? std::string(info(op.kind).spelling) : value.name;
    // Unknowns come from weights, so they are known when the weights are.
    SCRATCHY_CHECK(std::none_of(value.type.dims.begin(), value.type.dims.end(), DimTable::is_unknown), name + " " + show_dims(value.type.dims));
    if (!check_size(value.type.dims, op.span, name)) return;
  }
  for (Op& op : graph_.ops) {
    if (op.kind == OpKind::kScan) {
      for (Value& value : op.body->values) value.type.dims = dims_.resolve(value.type.dims);
    }
    if (op.kind == OpKind::kSlice) {
      const int64_t width = graph_.type(op.operands[0]).dims[static_cast<size_t>(op.attributes.axis)];
      if (op.attributes.end > width) {
        complain(DiagnosticKind::kSliceRange, op.span, {{"begin", std::to_string(op.attributes.begin)}, {"end", std::to_string(op.attributes.end)}, {"width", std::to_string(width)}},
                 {{op.operands[0], op.span}});
      }
    }
  }
}

}  // namespace scratchy
