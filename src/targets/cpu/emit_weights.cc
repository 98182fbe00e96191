#include "targets/cpu/emit_weights.h"

#include <cinttypes>
#include <cstdio>
#include <map>

#include "base/check.h"
#include "targets/cpu/emit_body.h"

namespace scratchy::cpu {
namespace {

std::string number(int64_t n) { return std::to_string(n); }
std::string flag(bool value) { return value ? "true" : "false"; }

std::string form_text(const WeightForm& f) {
  return "{WeightPlace(" + number(static_cast<int64_t>(f.place)) + "), " + literal(f.path) + ", " + flag(f.bare) + ", " + flag(f.transposed) + ", " + flag(f.copy) + ", " + number(f.first) + ", " +
         number(f.step) + ", " + number(f.of) + ", " + number(f.rotary_heads) + ", " + number(f.tile_groups) + ", " + number(f.tile_width) + ", " + number(f.tile_begin) + ", " +
         flag(f.tile_columns) + ", " + number(f.split_heads) + ", " + literal(f.beside) + ", " + flag(f.log_of_negative) + ", " + float_literal(f.add) + "}";
}

// How many matrices of each weight the products of one row read, by whether they run for every row.
struct MatrixReads {
  int64_t token = 0, sampled = 0;
};

std::vector<MatrixReads> matrix_reads(const Plan& plan) {
  std::vector<MatrixReads> out(plan.weights.size());
  for (const TapeStep& step : plan.tapes.front().steps) {
    const TapeKernel& kernel = plan.kernels[static_cast<size_t>(step.kernel)];
    const bool experts = kernel.kind == OpKind::kGemmExperts;
    if (!experts && kernel.kind != OpKind::kGemm && kernel.kind != OpKind::kGemmHeads) continue;
    const auto weight = static_cast<size_t>(step.operands[1].index);
    int64_t& count = kernel.sampled ? out[weight].sampled : out[weight].token;
    count += experts ? kernel.operand_types[2].dims[1] : plan.weights[weight].matrices;
  }
  return out;
}

const char* kind_text(PlannedWeight::Storage storage) { return storage == PlannedWeight::Storage::kPanels ? "panels" : "dense"; }

}  // namespace

std::string literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c >= 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '?') {
      out += c;
    } else {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", static_cast<unsigned>(static_cast<uint8_t>(c)));
      out += octal;
    }
  }
  return out + "\"";
}

std::string emit_weight_plan(const WeightPlanView& plan) {
  std::string text, sources = "constexpr WeightSource kSources[] = {\n";
  std::map<std::string, std::string> form_lists;  // equal lists are stored once
  for (const WeightSource& source : plan.sources) {
    std::string list;
    for (const WeightForm& form : source.forms) list += form_text(form) + ", ";
    const auto [entry, fresh] = form_lists.try_emplace(list, "kForms" + number(static_cast<int64_t>(form_lists.size())));
    if (fresh) text += "constexpr WeightForm " + entry->second + "[] = {" + list + "};\n";
    sources += "    {" + literal(source.name) + ", " + number(source.layer) + ", WeightShapeKind(" + number(static_cast<int64_t>(source.kind)) + "), " + number(source.experts) +
               "u, " + number(source.rows) + "u, " + number(source.columns) + "u, " + entry->second + "},\n";
  }
  text += sources + "};\n";
  std::string roots, ignored, tags, metadata;
  for (const WeightRoot& root : plan.roots) roots += "{" + literal(root.decoder) + ", " + literal(root.outer) + "}, ";
  for (const IgnoredTensor& tensor : plan.ignored) ignored += "{" + literal(tensor.pattern) + ", " + literal(tensor.reason) + "}, ";
  for (const std::string_view tag : plan.gguf_tags) tags += literal(tag) + ", ";
  for (const MetadataExpectation& expectation : plan.metadata) {
    char value[64];
    std::snprintf(value, sizeof value, "%.17g", expectation.value);
    metadata += "{" + literal(expectation.key) + ", " + value + "}, ";
  }
  const auto array = [&](const std::string& type, const std::string& name, const std::string& items) {
    if (!items.empty()) text += "constexpr " + type + " " + name + "[] = {" + items + "};\n";
    return items.empty() ? std::string("{}") : name;
  };
  const std::string roots_name = array("WeightRoot", "kRoots", roots), ignored_name = array("IgnoredTensor", "kIgnored", ignored),
                    tags_name = array("std::string_view", "kTags", tags), metadata_name = array("MetadataExpectation", "kMetadata", metadata);
  return text + "constexpr WeightPlanView kWeightPlan{" + roots_name + ", kSources, " + ignored_name + ", " + tags_name + ", " + metadata_name + ", " + number(plan.layers) + "};\n\n";
}

std::string emit_weight_records(const Plan& plan, const WeightPlanView& weights, size_t variant_count) {
  std::map<std::pair<std::string, int>, int32_t> sources;
  for (size_t i = 0; i < weights.sources.size(); ++i) sources[{std::string(weights.sources[i].name), weights.sources[i].layer}] = static_cast<int32_t>(i);
  const std::vector<MatrixReads> reads = matrix_reads(plan);
  std::string text, records = "constexpr WeightRecord kWeights[] = {\n";
  for (size_t i = 0; i < plan.weights.size(); ++i) {
    const PlannedWeight& use = plan.weights[i];
    const Resource& resource = plan.graph->resources[use.resource.index];
    const auto source = sources.find({resource.name, resource.layer});
    SCRATCHY_CHECK(source != sources.end(), "no source for weight " + resource.name);
    std::string transforms = "nullptr";
    if (!use.transforms.empty()) {
      transforms = "kTransforms" + number(static_cast<int64_t>(i));
      std::string items;
      for (const Op& op : use.transforms) {
        const std::vector<int64_t>& dims = plan.graph->type(op.results[0]).dims;
        const char* kind = op.kind == OpKind::kReshape ? "kReshape" : op.kind == OpKind::kSlice ? "kSlice" : "kTranspose";
        items += std::string("{WeightTransform::") + kind + ", " + number(op.attributes.axis) + ", " + number(op.attributes.begin) + ", " + number(op.attributes.end) + ", " +
                 number(static_cast<int64_t>(dims.size())) + ", {";
        for (const int64_t d : dims) items += number(d) + ", ";
        items += "}}, ";
      }
      text += "constexpr WeightTransform " + transforms + "[] = {" + items + "};\n";
    }
    const bool panels = use.storage == PlannedWeight::Storage::kPanels;
    records += "    {" + number(source->second) + ", " + number(use.matrices) + ", " + number(use.rows) + ", " + number(use.columns) + ", " + (panels ? "kVariants" : "nullptr") +
               ", " + number(panels ? static_cast<int64_t>(variant_count) : 0) + ", " + transforms + ", " + number(static_cast<int64_t>(use.transforms.size())) + ", " + number(reads[i].token) + ", " + number(reads[i].sampled) + "},  // " + resource.name + " " +
               number(resource.layer) + " " + kind_text(use.storage) + "\n";
  }
  return text + records + "};\n";
}

}  // namespace scratchy::cpu
