#include "compiler/model_size.h"

#include <algorithm>
#include <map>

#include "checkpoint/load_weight.h"

namespace scratchy {
namespace {

// How a graph reads its weights.
struct WeightRole {
  bool matrix = false, table = false;  // a product's matrix; an embedding's rows
  int64_t picks = 0;                   // experts a token uses, of a stack of experts
};

// The weight behind a value made of it by reshape, slice and transpose; null for anything else.
const Op* weight_behind(const Graph& graph, ValueId value) {
  const Op* op = &graph.producer(value);
  while (op->kind == OpKind::kReshape || op->kind == OpKind::kSlice || op->kind == OpKind::kTranspose) op = &graph.producer(op->operands[0]);
  return op->kind == OpKind::kWeight ? op : nullptr;
}

std::vector<WeightRole> roles_of(const Graph& graph) {
  std::vector<WeightRole> roles(graph.resources.size());
  for (const Op& op : graph.ops) {
    const bool experts = op.kind == OpKind::kGemmExperts;
    const bool matrix = experts || op.kind == OpKind::kGemm || op.kind == OpKind::kGemmHeads;
    if (!matrix && op.kind != OpKind::kEmbed) continue;
    const Op* weight = weight_behind(graph, op.operands[1]);
    if (weight == nullptr) continue;
    WeightRole& role = roles[static_cast<size_t>(weight->resource.index)];
    role.matrix |= matrix;
    role.table |= !matrix;
    if (experts) role.picks = graph.type(op.operands[2]).dims.back();
  }
  return roles;
}

int64_t elements(const Type& type) {
  int64_t count = 1;
  for (const int64_t dim : type.dims) count *= dim;
  return count;
}

// The path a safetensors file has for the weight, without a prefix.
std::string published_path(const WeightSource& source) {
  for (const WeightForm& form : source.forms) {
    if (form.place != WeightPlace::kGguf) return weight_path(form, {}, source.layer, 0);
  }
  return std::string(source.name);
}

// Whether the method quantises the embedding or the head where nothing else is said (reference: which weights).
bool covers(const QuantSection& section, const WeightRole& role, std::string_view name, bool tied) {
  const bool affine = section.method == QuantMethod::kMlxAffine;
  if (section.method == QuantMethod::kGguf) return role.matrix || role.table;
  if (section.method == QuantMethod::kMxfp4) return role.picks > 0;
  if (role.table) return affine && (tied || section.quant_embed);
  if (name == "lm_head") return affine || section.method == QuantMethod::kAwq || section.method == QuantMethod::kCtInt;
  return role.matrix;
}

}  // namespace

std::optional<double> bytes_per_weight(const QuantSection& section, std::string_view path, int64_t rows, int64_t columns) {
  if (section.empty() || is_ignored(section, path)) return std::nullopt;
  const auto width = width_of(section, path);
  const bool grouped = section.method == QuantMethod::kAwq || section.method == QuantMethod::kGptq || section.method == QuantMethod::kCtInt || section.method == QuantMethod::kMlxAffine;
  if (grouped && !width) return std::nullopt;
  const double code = width ? width->bits / 8.0 : 0;
  const double group = width && width->group_size > 0 ? static_cast<double>(width->group_size) : static_cast<double>(columns);
  switch (section.method) {
    case QuantMethod::kNone: return std::nullopt;
    case QuantMethod::kAwq: return code + (2 + code) / group;
    case QuantMethod::kGptq: return code + (2 + code) / group + 4.0 / static_cast<double>(rows);  // g_idx, an i32 a column
    case QuantMethod::kCtInt: return code + (section.symmetric ? 2 : 2 + code) / group;
    case QuantMethod::kBnbNf4: return 0.5 + 1.0 / 64 + 4.0 / (64 * 256);
    case QuantMethod::kFp8: return 1 + (section.block_rows > 0 ? 4.0 / (static_cast<double>(section.block_rows) * section.block_cols) : 4.0 / static_cast<double>(columns));
    case QuantMethod::kNvfp4:
    case QuantMethod::kNvfp4Ct: return 0.5 + 1.0 / 16;
    case QuantMethod::kMxfp4: return 0.5 + 1.0 / 32;
    case QuantMethod::kMlxAffine: return code + 4 / group;
    case QuantMethod::kGguf: return 18.0 / 32;
  }
  return std::nullopt;
}

ModelSize model_size(const OptimizedModel& model, const QuantSection& section) {
  const Graph& graph = *model.built;
  const std::vector<WeightRole> roles = roles_of(graph);
  ModelSize size;
  size.bytes_of_resource.resize(graph.resources.size());
  size_t weight = 0;
  std::map<std::pair<std::string, int>, bool> counted;
  for (size_t r = 0; r < graph.resources.size(); ++r) {
    const Resource& resource = graph.resources[r];
    if (resource.kind != ResourceKind::kWeight) continue;
    const WeightSource& source = model.weights.sources[weight++];
    const WeightRole& role = roles[r];
    const int64_t count = elements(resource.type);
    const std::vector<int64_t>& dims = resource.type.dims;
    const WeightDecl* decl = model.facts.find_weight(resource.name);
    const bool tied_head = decl != nullptr && !decl->tied_to.empty();
    const bool tied = std::any_of(model.facts.weights.begin(), model.facts.weights.end(), [&](const WeightDecl& w) { return w.tied_to == resource.name; });
    const auto quantised = (role.matrix || role.table) && covers(section, role, resource.name, tied) && dims.size() >= 2
                               ? bytes_per_weight(section, published_path(source), dims[dims.size() - 2], dims.back())
                               : std::nullopt;
    size.bytes_of_resource[r] = static_cast<double>(count) * quantised.value_or(static_cast<double>(dtype_bytes(model.facts.weight_dtype)));
    if (tied_head || !counted.emplace(std::pair(resource.name, resource.layer), true).second) continue;
    size.weight_bytes += size.bytes_of_resource[r];
    size.parameters += count;
    const bool routed = role.picks > 0 && dims.size() == 3;
    size.active_parameters += routed ? count / dims[0] * std::min(role.picks, dims[0]) : count;
    if (routed && dims[0] > size.experts) {
      size.experts = dims[0];
      size.picks = role.picks;
    }
  }
  return size;
}

}  // namespace scratchy
