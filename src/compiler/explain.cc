#include "compiler/explain.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"

namespace scratchy {
namespace {

struct Line {
  std::string what, reads, place;
  int32_t repeat = 1;
  bool barrier = false;
  StepCost cost;  // of one turn
  double seconds = 0;
  MeasuredStep measured;  // of all turns
};

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string amount(double value, const char* unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T"};
  int prefix = 0;
  for (; value >= 1000 && prefix < 4; ++prefix) value /= 1000;
  return formatted(value >= 100 || prefix == 0 ? "%.0f " : "%.1f ", value) + kPrefixes[prefix] + unit;
}

std::string resource_name(const Plan& plan, ResourceId id) { return plan.graph->resources[static_cast<size_t>(id.index)].name; }

// Weights, planes and states of a step, by name; in a loop the layer differs from turn to turn.
std::string what_it_reads(const Plan& plan, const TapeStep& step) {
  std::vector<std::string> names;
  for (const TapeOperand& operand : step.operands) {
    const auto index = static_cast<size_t>(operand.index);
    if (operand.kind == TapeOperand::kWeight) names.push_back(resource_name(plan, plan.weights[index].resource));
    if (operand.kind == TapeOperand::kPlane) names.push_back(resource_name(plan, plan.planes[index].resource));
    if (operand.kind == TapeOperand::kState) names.push_back(resource_name(plan, plan.states[index].resource));
  }
  return join(names, ", ");
}

std::string what_it_is(const TapeKernel& kernel) {
  std::string out(info(kernel.kind).spelling);
  if (kernel.kind == OpKind::kRowProgram) {
    std::vector<std::string> ops;
    for (const Op& op : kernel.body->ops) {
      const std::string name(info(op.kind).spelling);
      if (info(op.kind).group != OpGroup::kResource && op.kind != OpKind::kArgument && (ops.empty() || ops.back() != name)) ops.push_back(name);
    }
    if (ops.size() > 6) ops.resize(6), ops.push_back("..");
    return out + " {" + join(ops, " ") + "}";
  }
  if (!kernel.result_types.empty()) out += " " + to_string(kernel.result_types[0]);
  return out;
}

std::vector<Line> lines_of(const ExplainedTape& tape, const MachineRate& rate) {
  const CostInput& input = tape.input;
  std::vector<Line> lines;
  for (const TapeSegment& segment : input.tape->segments) {
    for (int32_t s = 0; s < segment.step_count; ++s) {
      const TapeStep& step = input.tape->steps[static_cast<size_t>(segment.first_step + s)];
      Line line{.what = what_it_is(input.plan->kernels[static_cast<size_t>(step.kernel)]), .reads = what_it_reads(*input.plan, step), .place = to_string(step.span), .repeat = segment.repeat, .barrier = step.barrier};
      line.cost = step_cost(input, step);
      line.seconds = predicted_seconds(line.cost, step.barrier, rate);
      if (!tape.measured.empty()) line.measured = tape.measured[lines.size()];
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

// All turns of all lines.
Line total_of(const std::vector<Line>& lines) {
  Line total;
  for (const Line& line : lines) {
    const double n = line.repeat;
    total.cost.weight_bytes += n * line.cost.weight_bytes;
    total.cost.cache_bytes += n * line.cost.cache_bytes;
    total.cost.row_bytes += n * line.cost.row_bytes;
    total.cost.operations += n * line.cost.operations;
    total.seconds += n * line.seconds;
    total.measured.wait_s += line.measured.wait_s;
    total.measured.kernel_s += line.measured.kernel_s;
  }
  return total;
}

std::string microseconds(double seconds) { return formatted("%.2f us", seconds * 1e6); }

std::vector<std::string> headings(bool measured) {
  std::vector<std::string> out = {"weights", "caches", "rows", "multiplies", "predicted"};
  if (measured) out.insert(out.end(), {"measured", "waiting"});
  return out;
}

// Times are of all turns.
std::vector<std::string> cells_of(const Line& line, bool measured) {
  std::vector<std::string> out = {amount(line.cost.weight_bytes, "B"), amount(line.cost.cache_bytes, "B"), amount(line.cost.row_bytes, "B"), amount(line.cost.operations, ""), microseconds(line.seconds * line.repeat)};
  if (measured) out.insert(out.end(), {microseconds(line.measured.kernel_s), microseconds(line.measured.wait_s)});
  return out;
}

std::string rate_text(const MachineRate& rate) {
  return formatted("read %.1f GB/s", rate.bytes_per_s / 1e9) + formatted(", %.1f G multiply-adds/s", rate.multiplies_per_s / 1e9) + formatted(", %.1f us a barrier", rate.barrier_s * 1e6);
}

std::string summary(const ExplainedTape& tape, const Line& total) {
  const auto time = [&](double seconds) { return formatted("%.3f ms", seconds * 1e3) + formatted(" (%.1f tokens/s)", static_cast<double>(tape.input.rows) / seconds); };
  const std::string measured = tape.measured.empty() ? "" : ", measured " + time(total.measured.kernel_s + total.measured.wait_s);
  return "predicted " + time(total.seconds) + measured + ", arena " +
         with_thousands(static_cast<uint64_t>(tape.input.tape->shared_row_bytes)) + " shared + " + with_thousands(static_cast<uint64_t>(tape.input.tape->local_row_bytes)) + " local bytes a row";
}

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string right(const std::string& text, size_t width) { return text.size() >= width ? text : std::string(width - text.size(), ' ') + text; }

std::string text_row(const std::string& turns, bool barrier, const std::string& what, const std::vector<std::string>& cells, const std::string& rest) {
  std::string out = right(turns, 5) + (barrier ? " | " : "   ") + padded(what, 60);
  for (const std::string& cell : cells) out += right(cell, 12);
  return out + "  " + rest + "\n";
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

// Values of one arena as boxes. Units of the drawing: a step to the right, a thousandth of the arena down.
std::string arena_map(const Plan& plan, const Tape& tape, bool local) {
  const auto bytes = static_cast<double>(local ? tape.local_row_bytes : tape.shared_row_bytes);
  if (bytes == 0) return {};
  const auto steps = static_cast<int>(tape.steps.size());
  std::string out = "<h3>" + std::string(local ? "local arena, one a thread" : "shared arena") + ": " + with_thousands(static_cast<uint64_t>(bytes)) + " bytes a row</h3>\n<svg viewBox=\"0 0 " +
                    std::to_string(steps) + " 1000\" preserveAspectRatio=\"none\">\n";
  for (size_t s = 0; s < tape.steps.size(); ++s) {
    if (tape.steps[s].barrier) out += "<line x1=\"" + std::to_string(s) + "\" x2=\"" + std::to_string(s) + "\" y1=\"0\" y2=\"1000\"/>\n";
  }
  for (size_t v = 0; v < tape.slots.size(); ++v) {
    const Slot& slot = tape.slots[v];
    if (slot.first_step < 0 || slot.local != local) continue;
    const int width = std::min(slot.last_step, steps - 1) - slot.first_step + 1;
    const Span& span = tape.steps[static_cast<size_t>(slot.first_step)].span;
    out += "<rect x=\"" + std::to_string(slot.first_step) + "\" width=\"" + std::to_string(width) + "\" y=\"" + formatted("%.2f", static_cast<double>(slot.offset) * 1000 / bytes) + "\" height=\"" +
           formatted("%.2f", static_cast<double>(slot.row_bytes) * 1000 / bytes) + "\" fill=\"hsl(" + std::to_string(v * 47 % 360) + ",55%,65%)\"><title>" +
           escaped(slot.name.empty() ? "value " + std::to_string(v) : slot.name) + " " + escaped(to_string(plan.graph->values[v].type)) + ", bytes " + std::to_string(slot.offset) + " to " +
           std::to_string(slot.offset + slot.row_bytes) + ", steps " + std::to_string(slot.first_step) + " to " + std::to_string(slot.last_step) + ", " + escaped(to_string(span)) + "</title></rect>\n";
  }
  return out + "</svg>\n";
}

std::string html_row(const std::string& tag, const std::vector<std::string>& cells) {
  std::string out = "<tr>";
  for (const std::string& cell : cells) out += "<" + tag + ">" + escaped(cell) + "</" + tag + ">";
  return out + "</tr>\n";
}

std::string html_table(const std::vector<Line>& lines, const Line& total, bool measured) {
  std::vector<std::string> head = {"step", "barrier", "turns"};
  for (std::string& heading : headings(measured)) head.push_back(std::move(heading));
  head.insert(head.end(), {"reads", "text"});
  std::string out = "<table>\n" + html_row("th", head);
  const auto row = [&](const std::string& turns, const Line& line) {
    std::vector<std::string> cells = {line.what, line.barrier ? "|" : "", turns};
    for (std::string& cell : cells_of(line, measured)) cells.push_back(std::move(cell));
    cells.push_back(line.reads);
    cells.push_back(line.place);
    return html_row("td", cells);
  };
  for (const Line& line : lines) out += row(std::to_string(line.repeat), line);
  Line all = total;
  all.what = "all steps";
  all.place = "";
  return out + row("", all) + "</table>\n";
}

constexpr const char* kStyle =
    "body{font:14px/1.4 system-ui,sans-serif;margin:2em;color:#222}table{border-collapse:collapse;font-size:12px}"
    "td,th{padding:2px 8px;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}td:first-child,td:nth-last-child(-n+2){text-align:left}"
    "svg{width:100%;height:22em;background:#f6f6f6;border:1px solid #ccc}rect{stroke:#fff;stroke-width:.3;vector-effect:non-scaling-stroke}"
    "line{stroke:#bbb;stroke-width:1;vector-effect:non-scaling-stroke}";

}  // namespace

std::string explain_text(const Explanation& explanation) {
  std::string out = explanation.model + "\nmachine: " + rate_text(explanation.rate) + "\n";
  for (const ExplainedTape& tape : explanation.tapes) {
    const bool measured = !tape.measured.empty();
    const std::vector<Line> lines = lines_of(tape, explanation.rate);
    const Line total = total_of(lines);
    out += "\n" + tape.title + ": " + summary(tape, total) + "\n" + text_row("turns", false, "step (| = barrier before it)", headings(measured), "reads");
    for (const Line& line : lines) out += text_row(std::to_string(line.repeat), line.barrier, line.what, cells_of(line, measured), line.reads + "  " + line.place);
    out += text_row("", false, "all steps", cells_of(total, measured), "");
  }
  return out;
}

std::string explain_html(const Explanation& explanation) {
  std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escaped(explanation.model) + "</title><style>" + kStyle + "</style></head><body>\n<h1>" +
                    escaped(explanation.model) + "</h1>\n<p>" + escaped(rate_text(explanation.rate)) + "</p>\n";
  for (const ExplainedTape& tape : explanation.tapes) {
    const bool measured = !tape.measured.empty();
    const std::vector<Line> lines = lines_of(tape, explanation.rate);
    const Line total = total_of(lines);
    out += "<h2>" + escaped(tape.title) + "</h2>\n<p>" + escaped(summary(tape, total)) + "</p>\n" + html_table(lines, total, measured);
    for (const bool local : {false, true}) out += arena_map(*tape.input.plan, *tape.input.tape, local);
  }
  return out + "</body></html>\n";
}

}  // namespace scratchy
