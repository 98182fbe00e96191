#include "graph/print_folded.h"

#include <algorithm>
#include <map>

#include "graph/build.h"
#include "graph/build_trace.h"

namespace scratchy {
namespace {

// "0..3, 5"
std::string ranges(const std::vector<int>& layers) {
  std::string out;
  for (size_t i = 0; i < layers.size();) {
    size_t last = i;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    out += (out.empty() ? "" : ", ") + std::to_string(layers[i]);
    if (last > i) out += ".." + std::to_string(layers[last]);
    i = last + 1;
  }
  return out;
}

// Bodies that read the same, in the order of their first layer.
std::string layer_classes(const std::vector<TraceLine>& lines) {
  std::map<int, std::string> bodies;
  for (const TraceLine& line : lines) {
    if (line.layer >= 0) bodies[line.layer] += "    " + line.text + "\n";
  }
  std::vector<std::pair<std::string, std::vector<int>>> classes;
  for (const auto& entry : bodies) {
    const int layer = entry.first;
    const std::string& body = entry.second;
    const auto same = std::find_if(classes.begin(), classes.end(), [&](const auto& one) { return one.first == body; });
    if (same != classes.end()) same->second.push_back(layer);
    else classes.push_back({body, {layer}});
  }
  std::string out;
  for (size_t i = 0; i < classes.size(); ++i) {
    out += "\nlayer class " + std::to_string(i) + ": " + (classes[i].second.size() > 1 ? "layers " : "layer ") + ranges(classes[i].second) + "\n" + classes[i].first;
  }
  return out;
}

// "self_attn.q_proj[0..29] : [576, 576]", equal shapes of one weight together.
std::string weights(const Graph& graph) {
  std::map<std::pair<std::string, std::string>, std::vector<int>> layers;
  for (const Resource& resource : graph.resources) {
    if (resource.kind == ResourceKind::kInput) continue;
    layers[{resource.name, to_string(resource.type)}].push_back(resource.layer);
  }
  std::string out = "\nweights, caches and states\n";
  for (auto& [key, of] : layers) {
    std::sort(of.begin(), of.end());
    out += "    " + key.first + (of[0] >= 0 ? "[" + ranges(of) + "]" : "") + " : " + key.second + "\n";
  }
  return out;
}

}  // namespace

std::optional<std::string> print_folded(const Program& program, const ModelFacts& facts, Diagnostics& diagnostics) {
  if (!check_names(program, vocabulary_of(facts), diagnostics)) return std::nullopt;
  Graph graph;
  DimTable dims;
  Reporter reporter(diagnostics);
  Tracer tracer(program, facts, graph, dims, reporter);
  std::vector<TraceLine> lines;
  tracer.run_recorded(lines);
  if (reporter.failed()) return std::nullopt;
  std::string out = "program " + facts.display() + "\n";
  for (const auto& [name, item] : tracer.constants()) {
    if (const auto* const value = std::get_if<Constant>(&item)) out += "\nconst " + name + " = " + to_string(*value, 100) + ";";
  }
  if (!tracer.constants().empty()) out += "\n";
  std::string before = "\n", after = "\n";
  bool in_layers = false;
  for (const TraceLine& line : lines) {
    in_layers = in_layers || line.layer >= 0;
    if (line.layer < 0) (in_layers ? after : before) += line.text + "\n";
  }
  return out + before + layer_classes(lines) + after + weights(graph);
}

}  // namespace scratchy
