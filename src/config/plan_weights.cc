#include "config/plan_weights.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace scratchy {
namespace {

constexpr int64_t kMaxExtent = std::numeric_limits<int32_t>::max();

class WeightPlanner {
 public:
  WeightPlanner(const ArchDecl& arch, const ModelFacts& facts, Diagnostics& diagnostics) : arch_(arch), facts_(facts), diagnostics_(diagnostics) {}

  std::optional<WeightPlan> plan(const std::vector<WeightUse>& uses) {
    const size_t before = diagnostics_.size();
    for (const WeightUse& use : uses) add_source(use);
    for (const auto& [decoder, outer] : arch_.roots) plan_.roots.push_back({keep(decoder), keep(outer)});
    for (const auto& [pattern, reason] : arch_.ignored) plan_.ignored.push_back({keep(pattern), keep(reason)});
    for (const std::string& tag : arch_.gguf) plan_.gguf_tags.push_back(keep(tag));
    expect_metadata();
    if (const Constant* layers = facts_.find("num_hidden_layers"); layers != nullptr && layers->is_int()) {
      plan_.layers = static_cast<int32_t>(layers->as_int());
    }
    if (diagnostics_.size() != before) return std::nullopt;
    return std::move(plan_);
  }

 private:
  void add_source(const WeightUse& use) {
    const WeightDecl* decl = facts_.find_weight(use.name);
    if (decl == nullptr) return problem(use, "`" + arch_.name + "` declares no such weight");
    const std::string& stored = decl->tied_to.empty() ? use.name : decl->tied_to;
    const WeightEntry* entry = arch_.find_weight(stored);
    if (entry == nullptr) return problem(use, "it is tied to `" + stored + "`, which is not declared");
    WeightSource source;
    source.name = keep(use.name);
    source.layer = entry->per_layer ? use.layer : -1;
    if (use.shape.empty() || use.shape.size() > 3) return problem(use, "its shape has " + std::to_string(use.shape.size()) + " dims");
    for (const int64_t extent : use.shape) {
      if (extent <= 0 || extent > kMaxExtent) return problem(use, "its extent " + std::to_string(extent) + " cannot be");
    }
    set_shape(source, *entry, use.shape);
    source.forms = forms_of(*entry, use);
    plan_.sources.push_back(source);
  }

  static void set_shape(WeightSource& source, const WeightEntry& entry, const std::vector<int64_t>& shape) {
    const auto dim = [&](size_t i) { return static_cast<uint32_t>(shape[i]); };
    if (shape.size() == 3) {
      source.kind = WeightShapeKind::kExperts;
      source.experts = dim(0);
      source.rows = dim(1);
      source.columns = dim(2);
    } else if (shape.size() == 2 && !entry.dense) {
      source.kind = WeightShapeKind::kMatrix;
      source.rows = dim(0);
      source.columns = dim(1);
    } else {
      source.kind = WeightShapeKind::kDense;
      const bool stacked = shape.size() == 2 && entry.experts != nullptr;
      if (stacked) source.experts = dim(0);
      source.rows = stacked ? dim(1) : dim(0);
      if (shape.size() == 2 && !stacked) source.columns = dim(1);
    }
  }

  std::span<const WeightForm> forms_of(const WeightEntry& entry, const WeightUse& use) {
    if (const auto found = planned_.find(entry.name); found != planned_.end()) return *found->second;
    std::vector<WeightForm> forms;
    add_forms(entry, use, false, forms);
    for (const WeightDecl& decl : facts_.weights) {
      if (decl.tied_to == entry.name) add_forms(*arch_.find_weight(decl.name), use, true, forms);
    }
    plan_.forms.push_back(std::move(forms));
    planned_[entry.name] = &plan_.forms.back();
    return plan_.forms.back();
  }

  void add_forms(const WeightEntry& entry, const WeightUse& use, bool copy, std::vector<WeightForm>& forms) {
    for (const FormDecl& decl : entry.forms) {
      WeightForm form;
      form.copy = copy;
      form.place = decl.place;
      form.path = keep(decl.path);
      form.bare = decl.bare;
      form.transposed = decl.transposed;
      form.first = number(decl.first, 0, use);
      form.step = number(decl.step, 1, use);
      form.of = number(decl.of, 0, use);
      form.rotary_heads = static_cast<int32_t>(number(decl.rotary_heads, 0, use));
      form.tile_groups = static_cast<int32_t>(number(decl.tile_groups, 0, use));
      form.tile_width = static_cast<int32_t>(number(decl.tile_width, 1, use));
      form.tile_begin = number(decl.tile_begin, 0, use);
      form.tile_columns = decl.tile_columns;
      form.split_heads = static_cast<int32_t>(number(decl.split_heads, 0, use));
      form.beside = keep(decl.beside);
      form.log_of_negative = decl.log_of_negative;
      form.add = static_cast<float>(decl.add);
      forms.push_back(form);
    }
  }

  int64_t number(Expression expression, int64_t fallback, const WeightUse& use) {
    if (expression == nullptr) return fallback;
    const ConstantLookup lookup = [&](std::string_view name) -> std::optional<Constant> {
      const Constant* value = facts_.find(name);
      return value == nullptr ? std::nullopt : std::optional<Constant>(*value);
    };
    const auto value = evaluate_constant(*expression, lookup, facts_.declared_keys, diagnostics_);
    if (value && value->is_int() && value->as_int() >= 0 && value->as_int() <= kMaxExtent) return value->as_int();
    if (value) problem(use, "`" + expression->text + "` is " + to_string(*value) + ", not a count");
    return fallback;
  }

  // What GGUF metadata must say, for the keys that mean one number.
  void expect_metadata() {
    for (const auto& [metadata, key] : arch_.gguf_keys) {
      const Constant* value = facts_.find(key);
      if (value == nullptr || value->is_bool() || !value->is_number()) continue;
      if (key == "max_position_embeddings") continue;  // a limit, not a part of the computation
      if (value->as_number() == 0.0) continue;         // off: writers leave it out or give the unused one
      plan_.metadata.push_back({keep(metadata), value->as_number()});
    }
  }

  void problem(const WeightUse& use, const std::string& text) {
    diagnostics_.add(DiagnosticKind::kBadDeclaration, Span{}, {{"where", "weight `" + use.name + "`"}, {"problem", text}});
  }

  std::string_view keep(const std::string& text) {
    plan_.texts.push_back(text);
    return plan_.texts.back();
  }

  const ArchDecl& arch_;
  const ModelFacts& facts_;
  Diagnostics& diagnostics_;
  WeightPlan plan_;
  std::map<std::string, const std::vector<WeightForm>*> planned_;
};

}  // namespace

std::optional<WeightPlan> plan_weights(const ArchDecl& arch, const ModelFacts& facts, const std::vector<WeightUse>& uses, Diagnostics& diagnostics) {
  return WeightPlanner(arch, facts, diagnostics).plan(uses);
}

}  // namespace scratchy
