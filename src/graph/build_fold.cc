// Statements as text with their compile-time values in place, for print_folded.

#include <algorithm>

#include "graph/build_trace.h"

namespace scratchy {

// Whether a function computes with compile-time values only: it names no tensors, weights, caches or states.
bool Tracer::folds(const Function& function) {
  const auto known = foldable_.find(&function);
  if (known != foldable_.end()) return known->second;
  foldable_[&function] = false;
  std::vector<std::string> locals;
  for (const Param& param : function.params) locals.push_back(param.name.text);
  const bool all = std::all_of(function.body.begin(), function.body.end(), [&](const Stmt& s) { return folds(s, locals); }) &&
                   std::all_of(function.params.begin(), function.params.end(), [&](const Param& p) { return !p.fallback || folds(*p.fallback, locals); });
  return foldable_[&function] = all;
}

bool Tracer::folds(const Stmt& s, std::vector<std::string>& locals) {
  for (const ExprPtr& value : s.values) {
    if (!folds(*value, locals)) return false;
  }
  for (const Word& target : s.targets) locals.push_back(target.text);
  const auto each = [&](const Block& block) { return std::all_of(block.begin(), block.end(), [&](const Stmt& inner) { return folds(inner, locals); }); };
  return each(s.body) && each(s.otherwise);
}

// `locals`: names that stand for compile-time values.
bool Tracer::folds(const Expr& e, std::vector<std::string>& locals) {
  if (e.kind == ExprKind::kScan) return false;
  if (e.kind == ExprKind::kName) {
    const std::string& name = e.name.text;
    return std::find(locals.begin(), locals.end(), name) != locals.end() || program_.find_constant(name) != nullptr || facts_.find(name) != nullptr || named_number(name);
  }
  if (e.kind == ExprKind::kField && facts_.find_weight(dotted_path(e)) != nullptr) return false;
  if (e.kind == ExprKind::kCall && e.name.text != "defined") {
    const Function* const function = program_.find_function(e.name.text);
    if (function != nullptr ? !folds(*function) : !find_builtin(e.name.text)) return false;
  }
  const size_t before = locals.size();
  if (e.kind == ExprKind::kComprehension) locals.push_back(e.name.text);
  bool all = true;
  for (const ExprPtr& child : e.children) all = all && folds(*child, locals);
  for (const NamedExpr& argument : e.arguments) all = all && folds(*argument.value, locals);
  for (const SliceRange& range : e.ranges) all = all && (!range.begin || folds(*range.begin, locals)) && (!range.end || folds(*range.end, locals));
  locals.resize(before);
  return all;
}

// The value of an expression that has one before the model runs. Names of the loop's variable and of constants that are
// lists stay names.
std::optional<Constant> Tracer::folded_value(const Expr& e) {
  if (e.kind == ExprKind::kName && (e.name.text == layer_name_ || program_.find_constant(e.name.text) != nullptr)) return std::nullopt;
  std::vector<std::string> locals;
  for (const auto& [name, item] : frame_->locals) {
    if (std::holds_alternative<Constant>(item)) locals.push_back(name);
  }
  if (!folds(e, locals)) return std::nullopt;
  const Item item = value(e);
  const auto* const constant = std::get_if<Constant>(&item);
  return constant != nullptr ? std::optional(*constant) : std::nullopt;
}

// An index of a weight, cache or state, from the layer where there is one.
std::string Tracer::folded_index(const Expr& e) {
  const auto at = folded_value(e);
  if (!at || !at->is_int() || layer_ < 0) return folded(e, 0);
  const int64_t distance = at->as_int() - layer_;
  if (distance == 0) return layer_name_;
  if (distance > 0 && distance != at->as_int()) return layer_name_ + " + " + std::to_string(distance);
  return distance < 0 && layer_ + distance >= 0 ? layer_name_ + " - " + std::to_string(-distance) : std::to_string(at->as_int());
}

std::string Tracer::folded_list(const Expr& e) {
  std::string out;
  for (const ExprPtr& child : e.children) out += (out.empty() ? "" : ", ") + folded(*child, 0);
  for (const NamedExpr& argument : e.arguments) {
    out += out.empty() ? "" : ", ";
    if (!argument.name.text.empty()) out += argument.name.text + (e.kind == ExprKind::kRecord ? ": " : " = ");
    out += folded(*argument.value, 0);
  }
  return out;
}

std::string Tracer::folded_ranges(const Expr& e) {
  const bool tensor = e.ranges.size() > 1 || e.ranges[0].dots;
  std::string out;
  for (const SliceRange& range : e.ranges) {
    out += out.empty() ? "" : ", ";
    if (range.begin) out += tensor ? folded(*range.begin, 0) : folded_index(*range.begin);
    if (range.dots) out += "..";
    if (range.end) out += folded(*range.end, 0);
  }
  return out;
}

// `least`: how tight the surroundings bind.
std::string Tracer::folded(const Expr& e, int least) {
  if (stopped_) return {};
  if (const auto constant = folded_value(e)) return to_string(*constant, 80);
  const auto wrap = [&](const std::string& text, int own) { return own < least ? "(" + text + ")" : text; };
  switch (e.kind) {
    case ExprKind::kConstant: return to_string(e.constant, 80);
    case ExprKind::kName: return e.name.text;
    case ExprKind::kField: return folded(*e.children[0], 100) + "." + e.name.text;
    case ExprKind::kList: return "[" + folded_list(e) + "]";
    case ExprKind::kRecord: return "{" + folded_list(e) + "}";
    case ExprKind::kCall: return e.name.text + "(" + folded_list(e) + ")";
    case ExprKind::kIndex: return folded(*e.children[0], 100) + "[" + folded_ranges(e) + "]";
    case ExprKind::kUnary: return wrap(std::string(spelling(e.op)) + folded(*e.children[0], binding(e.op)), binding(e.op));
    case ExprKind::kBinary: return wrap(folded(*e.children[0], binding(e.op)) + " " + std::string(spelling(e.op)) + " " + folded(*e.children[1], binding(e.op) + 1), binding(e.op));
    case ExprKind::kChoice: {
      const auto holds = folded_value(*e.children[0]);
      if (holds && holds->is_bool()) return folded(*e.children[holds->as_bool() ? 1 : 2], least);
      return wrap(folded(*e.children[0], 2) + " ? " + folded(*e.children[1], 1) + " : " + folded(*e.children[2], 1), 1);
    }
    case ExprKind::kComprehension: return "[" + folded(*e.children[0], 0) + " for " + e.name.text + " in " + folded(*e.children[1], 0) + ".." + folded(*e.children[2], 0) + "]";
    case ExprKind::kScan: return "scan .. with " + e.scan->state_name.text + " = " + folded(*e.scan->state, 0);
  }
  return {};
}

void Tracer::record(const Stmt& s) {
  std::string text;
  if (s.kind == StmtKind::kAssign) {
    for (const Word& target : s.targets) text += (text.empty() ? "" : ", ") + target.text;
    text = (s.targets.size() > 1 ? "(" + text + ")" : text) + " = ";
  }
  lines_->push_back({layer_, text + folded(*s.values[0], 0) + ";"});
}

}  // namespace scratchy
