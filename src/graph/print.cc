#include "graph/print.h"

#include <cstdio>
#include <map>

namespace scratchy {
namespace {

constexpr size_t kPlaceColumn = 96;
constexpr size_t kShownValues = 8;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

template <typename T, typename F>
std::string list(const std::vector<T>& items, F show) {
  std::string out = "[";
  for (size_t i = 0; i < items.size() && i < kShownValues; ++i) out += (i > 0 ? ", " : "") + show(items[i]);
  return out + (items.size() > kShownValues ? ", .. " + std::to_string(items.size()) + "]" : "]");
}

// "axis = 1, begin = 0, end = 16": the attributes that op.def gives the kind.
std::string print_attributes(const Op& op) {
  const Attributes& a = op.attributes;
  const std::map<std::string_view, std::string> shown = {
      {"axis", std::to_string(a.axis)},
      {"begin", std::to_string(a.begin)},
      {"end", std::to_string(a.end)},
      {"count", std::to_string(a.count)},
      {"window", std::to_string(a.window)},
      {"scale", number(a.scale)},
      {"softcap", number(a.softcap)},
      {"causal", a.causal ? "true" : "false"},
      {"adjacent", a.adjacent ? "true" : "false"},
      {"shape", to_string(Type{ElementType::kF32, a.shape})},
      {"values", list(a.values, number)},
  };
  std::string out;
  std::string_view names = info(op.kind).attributes;
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    const std::string_view name = names.substr(0, comma);
    out += ", " + std::string(name) + " = " + shown.at(name);
    names.remove_prefix(std::min(comma + 2, names.size()));
  }
  return out;
}

// "self_attn.q_proj[layer]", "kv_cache.keys[layer - 1]", "norm".
std::string print_resource(const Resource& resource, int layer) {
  if (resource.layer < 0) return resource.name;
  if (layer < 0) return resource.name + "[" + std::to_string(resource.layer) + "]";
  const int distance = resource.layer - layer;
  const std::string offset = distance == 0 ? "" : distance < 0 ? " - " + std::to_string(-distance) : " + " + std::to_string(distance);
  return resource.name + "[layer" + offset + "]";
}

struct Body {
  std::string text;                // without the places in the source
  std::string shown;               // with them
  std::vector<ValueId> inputs;     // in.0, in.1, ..
};

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph), local_(graph.values.size(), -1), layer_of_(graph.values.size(), -1) {}

  std::string run() {
    number_values();
    for (const Op& op : graph_.ops) {
      if (op.layer < 0) continue;
      members_[op.layer].push_back(&op);
    }
    for (const auto& [layer, ops] : members_) bodies_.emplace(layer, print_layer(layer, ops));
    std::string out = "graph: " + std::to_string(graph_.layer_count) + " layers, " + std::to_string(graph_.ops.size()) + " ops\n";
    for (const Op& op : graph_.ops) out += op.layer < 0 ? print_op(op, -1, nullptr).shown : print_layer_once(op.layer);
    for (const GraphOutput& output : graph_.outputs) out += "output " + output.name + " = " + outside(output.value) + " : " + to_string(graph_.type(output.value)) + "\n";
    return out;
  }

 private:
  struct Line {
    std::string text, shown;
  };

  // Values are numbered per layer, those outside of layers by themselves.
  void number_values() {
    std::map<int, int> next;
    for (const Op& op : graph_.ops) {
      for (const ValueId result : op.results) {
        local_[result.index] = next[op.layer]++;
        layer_of_[result.index] = op.layer;
      }
    }
  }

  // A value as seen from outside of its layer.
  std::string outside(ValueId id) const {
    const std::string own = "%" + std::to_string(local_[id.index]);
    return layer_of_[id.index] < 0 ? own : std::to_string(layer_of_[id.index]) + "." + own;
  }

  std::string print_value(ValueId id, int layer, Body* body) const {
    if (body == nullptr) return outside(id);
    if (layer_of_[id.index] == layer) return "%" + std::to_string(local_[id.index]);
    size_t index = 0;
    while (index < body->inputs.size() && body->inputs[index] != id) ++index;
    if (index == body->inputs.size()) body->inputs.push_back(id);
    return "in." + std::to_string(index);
  }

  Line print_op(const Op& op, int layer, Body* body) const {
    std::string text = layer < 0 ? "" : "  ";
    for (size_t i = 0; i < op.results.size(); ++i) text += (i > 0 ? ", " : "") + print_value(op.results[i], layer, body);
    text += " = " + std::string(info(op.kind).spelling);
    if (op.resource.valid()) text += " " + print_resource(graph_.resources[op.resource.index], layer);
    std::string operands;
    for (const ValueId operand : op.operands) operands += ", " + print_value(operand, layer, body);
    operands += print_attributes(op);
    if (operands.size() > 2) text += "(" + operands.substr(2) + ")";
    text += " :";
    for (size_t i = 0; i < op.results.size(); ++i) text += (i > 0 ? ", " : " ") + to_string(graph_.type(op.results[i]));
    std::string names;
    for (const ValueId result : op.results) names += graph_.value(result).name.empty() ? "" : " " + graph_.value(result).name;
    std::string shown = text;
    if (shown.size() < kPlaceColumn) shown.resize(kPlaceColumn, ' ');
    if (op.span.file != nullptr || !names.empty()) shown += " " + (op.span.file != nullptr ? to_string(op.span) : std::string()) + (names.empty() ? "" : "  #" + names);
    shown.erase(shown.find_last_not_of(' ') + 1);
    const std::string inner = op.body ? print_body(*op.body, layer < 0 ? "  " : "    ") : "";
    return {text + "\n" + inner, shown + "\n" + inner};
  }

  // The ops of a scan or row_program, indented; bodies hold no bodies.
  static std::string print_body(const Graph& graph, const std::string& indent) {
    Printer printer(graph);
    for (const Op& op : graph.ops) {
      for (const ValueId result : op.results) printer.local_[result.index] = result.index;
    }
    std::string out;
    for (const Op& op : graph.ops) out += indent + printer.print_op(op, -1, nullptr).text;
    for (const GraphOutput& output : graph.outputs) out += indent + "yield " + printer.outside(output.value) + "\n";
    return out;
  }

  Body print_layer(int layer, const std::vector<const Op*>& ops) const {
    Body body;
    for (const Op* op : ops) {
      const Line line = print_op(*op, layer, &body);
      body.text += line.text;
      body.shown += line.shown;
    }
    std::string header;
    for (size_t i = 0; i < body.inputs.size(); ++i) header += "  in." + std::to_string(i) + " : " + to_string(graph_.type(body.inputs[i])) + "\n";
    body.text = header + body.text;
    body.shown = header + body.shown;
    return body;
  }

  // "0..3, 5".
  static std::string ranges(const std::vector<int>& layers) {
    std::string out;
    for (size_t i = 0; i < layers.size();) {
      size_t last = i;
      while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
      out += (out.empty() ? "" : ", ") + std::to_string(layers[i]) + (last > i ? ".." + std::to_string(layers[last]) : "");
      i = last + 1;
    }
    return out;
  }

  // At the first op of a layer: its class, if new, and where its inputs come from.
  std::string print_layer_once(int layer) {
    const auto found = bodies_.find(layer);
    if (shown_[layer]) return "";
    shown_[layer] = true;
    const Body& body = found->second;
    std::string out;
    if (classes_.emplace(body.text, classes_.size()).second) {
      std::vector<int> members;
      for (const auto& [other, other_body] : bodies_) {
        if (other_body.text == body.text) members.push_back(other);
      }
      out += "layer class " + std::to_string(classes_.size() - 1) + ": layer" + (members.size() > 1 ? "s " : " ") + ranges(members) + "\n" + body.shown;
    }
    int last = layer;
    while (bodies_.contains(last + 1) && !shown_[last + 1] && bodies_.at(last + 1).text == body.text && sources(last + 1) == sources(layer)) shown_[++last] = true;
    out += "layer" + (last > layer ? "s " + std::to_string(layer) + ".." + std::to_string(last) : " " + std::to_string(layer));
    return out + ": class " + std::to_string(classes_.at(body.text)) + sources(layer) + "\n";
  }

  // ", in.0 = previous.%31, in.1 = %4": where the inputs of a layer come from.
  std::string sources(int layer) const {
    std::string out;
    const std::vector<ValueId>& inputs = bodies_.at(layer).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool previous = layer > 0 && layer_of_[inputs[i].index] == layer - 1;
      out += ", in." + std::to_string(i) + " = " + (previous ? "previous.%" + std::to_string(local_[inputs[i].index]) : outside(inputs[i]));
    }
    return out;
  }

  const Graph& graph_;
  std::vector<int> local_, layer_of_;
  std::map<int, std::vector<const Op*>> members_;
  std::map<int, Body> bodies_;
  std::map<std::string, size_t> classes_;
  std::map<int, bool> shown_;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph).run(); }

}  // namespace scratchy
