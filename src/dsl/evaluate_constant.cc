#include "base/text.h"
#include "dsl/constant_math.h"
#include "dsl/parser.h"

namespace scratchy {
namespace {

// Walks an expression that has only compile-time values; its height is bounded by the parser.
class Evaluator {
 public:
  Evaluator(const ConstantLookup& lookup, const std::vector<std::string>& known, Diagnostics& diagnostics)
      : lookup_(lookup), known_(known), diagnostics_(diagnostics) {}

  std::optional<Constant> value(const Expr& e) {
    switch (e.kind) {
      case ExprKind::kConstant: return e.constant;
      case ExprKind::kName: return name(e);
      case ExprKind::kField: return field(e);
      case ExprKind::kList: return list(e);
      case ExprKind::kUnary: {
        const auto operand = value(*e.children[0]);
        return operand ? settle(apply_unary(e.op, *operand), e.span) : std::nullopt;
      }
      case ExprKind::kBinary: return binary(e);
      case ExprKind::kChoice: {
        const auto condition = value(*e.children[0]);
        if (!condition) return std::nullopt;
        if (!condition->is_bool()) {
          diagnostics_.add(DiagnosticKind::kWrongKind, e.children[0]->span, {{"what", "condition"}, {"wanted", "true or false"}, {"got", to_string(*condition, 60)}});
          return std::nullopt;
        }
        return value(*e.children[condition->as_bool() ? 1 : 2]);
      }
      case ExprKind::kCall: return call(e);
      case ExprKind::kIndex: return index(e);
      case ExprKind::kComprehension: return comprehension(e);
      case ExprKind::kRecord: return record(e);
      case ExprKind::kScan: break;
    }
    diagnostics_.add(DiagnosticKind::kNotHere, e.span).suggest("numbers, names of the config, operators and functions like `min` and `floor` may stand here");
    return std::nullopt;
  }

 private:
  std::optional<Constant> settle(ConstantOutcome outcome, const Span& span) {
    if (auto* const complaint = std::get_if<Complaint>(&outcome)) {
      diagnostics_.add(complaint->kind, span, complaint->facts).suggest(complaint->hint);
      return std::nullopt;
    }
    return std::get<Constant>(std::move(outcome));
  }

  std::optional<Constant> name(const Expr& e) {
    for (auto at = variables_.rbegin(); at != variables_.rend(); ++at) {
      if (at->first == e.name.text) return Constant::integer(at->second);
    }
    if (auto number = named_number(e.name.text)) return number;
    if (auto found = lookup_(e.name.text)) return found;
    Diagnostic& made = diagnostics_.add(DiagnosticKind::kUnknownName, e.span, {{"name", e.name.text}});
    if (const auto near = nearest_name(e.name.text, known_)) made.suggest("did you mean `" + *near + "`?");
    return std::nullopt;
  }

  std::optional<Constant> field(const Expr& e) {
    const auto base = value(*e.children[0]);
    if (!base) return std::nullopt;
    if (const Constant* const found = base->find(e.name.text)) return *found;
    diagnostics_.add(DiagnosticKind::kNoField, e.name.span, {{"name", e.name.text}, {"value", to_string(*base, 80)}});
    return std::nullopt;
  }

  std::optional<Constant> list(const Expr& e) {
    Constant::List elements;
    for (const ExprPtr& child : e.children) {
      auto element = value(*child);
      if (!element) return std::nullopt;
      elements.push_back(std::move(*element));
    }
    return settle(make_list(std::move(elements)), e.span);
  }

  std::optional<Constant> comprehension(const Expr& e) {
    const auto begin = value(*e.children[1]);
    const auto end = value(*e.children[2]);
    if (!begin || !end) return std::nullopt;
    for (const Constant* bound : {&*begin, &*end}) {
      if (bound->is_int()) continue;
      diagnostics_.add(DiagnosticKind::kWrongKind, e.span, {{"what", "bound of the range"}, {"wanted", "an integer"}, {"got", to_string(*bound, 60)}});
      return std::nullopt;
    }
    Constant::List elements;
    for (int64_t i = begin->as_int(); i < end->as_int(); ++i) {
      if (++steps_ > static_cast<int64_t>(kMaxElements)) {
        diagnostics_.add(DiagnosticKind::kNoValue, e.span, {{"expression", "the list"}, {"why", "it is too long"}});
        return std::nullopt;
      }
      variables_.emplace_back(e.name.text, i);
      auto element = value(*e.children[0]);
      variables_.pop_back();
      if (!element) return std::nullopt;
      elements.push_back(std::move(*element));
    }
    return settle(make_list(std::move(elements)), e.span);
  }

  std::optional<Constant> record(const Expr& e) {
    Constant::Record fields;
    for (const NamedExpr& field : e.arguments) {
      auto one = value(*field.value);
      if (!one) return std::nullopt;
      fields.push_back({field.name.text, std::move(*one)});
    }
    return settle(make_record(std::move(fields)), e.span);
  }

  std::optional<Constant> binary(const Expr& e) {
    const auto left = value(*e.children[0]);
    if (!left) return std::nullopt;
    const bool settled = left->is_bool() && ((e.op == Operator::kAnd && !left->as_bool()) || (e.op == Operator::kOr && left->as_bool()));
    if (settled) return left;
    const auto right = value(*e.children[1]);
    return right ? settle(apply_binary(e.op, *left, *right), e.span) : std::nullopt;
  }

  std::optional<Constant> call(const Expr& e) {
    const auto builtin = find_builtin(e.name.text);
    if (!builtin) {
      Diagnostic& made = diagnostics_.add(DiagnosticKind::kUnknownFunction, e.name.span, {{"name", e.name.text}});
      if (const auto near = nearest_name(e.name.text, builtin_names())) made.suggest("did you mean `" + *near + "`?");
      return std::nullopt;
    }
    std::vector<Constant> arguments;
    for (const NamedExpr& argument : e.arguments) {
      if (!argument.name.text.empty()) {
        diagnostics_.add(DiagnosticKind::kUnknownArgument, argument.name.span, {{"name", argument.name.text}, {"function", e.name.text}});
        return std::nullopt;
      }
      auto one = value(*argument.value);
      if (!one) return std::nullopt;
      arguments.push_back(std::move(*one));
    }
    const BuiltinInfo& row = info(*builtin);
    if (static_cast<int>(arguments.size()) < row.least || static_cast<int>(arguments.size()) > row.most) {
      diagnostics_.add(DiagnosticKind::kArgumentCount, e.span, {{"function", e.name.text}, {"wanted", counted(static_cast<size_t>(row.least), "argument")}, {"got", std::to_string(arguments.size())}});
      return std::nullopt;
    }
    return settle(apply_builtin(*builtin, arguments), e.span);
  }

  std::optional<Constant> index(const Expr& e) {
    const auto base = value(*e.children[0]);
    if (!base) return std::nullopt;
    if (e.ranges.size() != 1 || e.ranges[0].dots) {
      diagnostics_.add(DiagnosticKind::kNotHere, e.span).suggest("a list is indexed by one integer");
      return std::nullopt;
    }
    const auto at = value(*e.ranges[0].begin);
    return at ? settle(list_element(*base, *at), e.span) : std::nullopt;
  }

  const ConstantLookup& lookup_;
  const std::vector<std::string>& known_;
  Diagnostics& diagnostics_;
  std::vector<std::pair<std::string, int64_t>> variables_;  // of the comprehensions around
  int64_t steps_ = 0;                                       // elements made so far, all lists together
};

}  // namespace

std::optional<Constant> evaluate_constant(const SourceFile& file, const ConstantLookup& lookup, const std::vector<std::string>& known,
                                          Diagnostics& diagnostics) {
  const ExprPtr expr = parse_expression(file, diagnostics);
  return expr ? Evaluator(lookup, known, diagnostics).value(*expr) : std::nullopt;
}

}  // namespace scratchy
