#include "targets/cpu/emit_body.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/check.h"

namespace scratchy::cpu {
namespace {

// Operators of an expression that may be written into its reader before it gets a loop of its own.
constexpr int kMaxInlineDepth = 12;

std::string number(int64_t n) { return std::to_string(n); }

bool is_elementwise(OpKind kind) {
  const OpGroup group = info(kind).group;
  return group == OpGroup::kUnary || group == OpGroup::kBinary || kind == OpKind::kSelect || kind == OpKind::kOuter;
}

// Ops that are an index into their operand.
bool is_view(OpKind kind) { return kind == OpKind::kReshape || kind == OpKind::kSlice; }

std::string scale_index(const std::string& index, int64_t stride) {
  if (index == "0" || stride == 0) return "";
  return stride == 1 ? index : index + " * " + number(stride);
}

// Row-major offset of an index; parts that are "0" vanish.
std::string linear(const std::vector<std::string>& index, const std::vector<int64_t>& dims) {
  std::string out;
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    const std::string part = scale_index("(" + index[d] + ")" == "(0)" ? "0" : index[d], stride);
    if (!part.empty()) out = out.empty() ? part : part + " + " + out;
    stride *= dims[d];
  }
  return out.empty() ? "0" : out;
}

std::string parenthesize(const std::string& text) {
  const bool simple = std::all_of(text.begin(), text.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
  return simple ? text : "(" + text + ")";
}

std::string binary(OpKind kind, const std::string& a, const std::string& b) {
  switch (kind) {
    case OpKind::kAdd: return "(" + a + " + " + b + ")";
    case OpKind::kSub: return "(" + a + " - " + b + ")";
    case OpKind::kMul:
    case OpKind::kOuter: return "(" + a + " * " + b + ")";
    case OpKind::kDiv: return "(" + a + " / " + b + ")";
    case OpKind::kMinimum: return "minimum(" + a + ", " + b + ")";
    case OpKind::kMaximum: return "maximum(" + a + ", " + b + ")";
    default: SCRATCHY_UNREACHABLE(std::string(info(kind).name));  // NOLINT: only binary kinds come here
  }
}

}  // namespace

std::string float_literal(double value) {
  const auto single = static_cast<float>(value);
  if (std::isinf(single)) return single > 0 ? "__builtin_inff()" : "(-__builtin_inff())";
  if (std::isnan(single)) return "__builtin_nanf(\"\")";
  char text[48];
  std::snprintf(text, sizeof text, "%af", static_cast<double>(single));
  return single < 0 ? "(" + std::string(text) + ")" : text;
}

BodyEmitter::BodyEmitter(const Graph& body, int64_t span, std::vector<BodyArgument> arguments, std::vector<BodyResult> results)
    : body_(body), span_(span), arguments_(std::move(arguments)), results_(std::move(results)) {
  decide_inlining();
  place_results();
  for (const Op& op : body_.ops) emit(op);
  copy_results();
}

std::vector<int64_t> BodyEmitter::dims(ValueId value) const {
  std::vector<int64_t> dims = body_.type(value).dims;
  if (!dims.empty() && dims[0] == kTokens) dims.erase(dims.begin());
  std::replace(dims.begin(), dims.end(), kSpan, span_);
  return dims;
}

int64_t BodyEmitter::elements(ValueId value) const {
  int64_t product = 1;
  for (const int64_t d : dims(value)) product *= d;
  return product;
}

void BodyEmitter::decide_inlining() {
  const std::vector<int> uses = body_.use_counts();
  std::vector<bool> whole_reader(body_.values.size(), false);  // read by an op that wants an array, or at another size
  for (const Op& op : body_.ops) {
    for (const ValueId operand : op.operands) {
      const bool same_size = is_elementwise(op.kind) && op.kind != OpKind::kOuter && elements(operand) == elements(op.results[0]);
      const bool reduces = info(op.kind).group == OpGroup::kReduce;
      if (!same_size && !reduces) whole_reader[operand.index] = true;
    }
  }
  for (const GraphOutput& output : body_.outputs) whole_reader[output.value.index] = true;
  inlined_.assign(body_.values.size(), false);
  std::vector<int> depth(body_.values.size(), 0);
  for (const Op& op : body_.ops) {
    if (op.results.size() != 1) continue;
    const int32_t value = op.results[0].index;
    if (is_view(op.kind)) {
      inlined_[value] = true;
      continue;
    }
    if (!is_elementwise(op.kind)) continue;
    for (const ValueId operand : op.operands) depth[value] = std::max(depth[value], inlined_[operand.index] ? depth[operand.index] + 1 : 1);
    inlined_[value] = uses[value] == 1 && !whole_reader[value] && depth[value] < kMaxInlineDepth;
  }
  // A view needs its operand in memory: the index of a reshape is linear.
  for (const Op& op : body_.ops) {
    if (is_view(op.kind) && is_elementwise(body_.producer(op.operands[0]).kind)) inlined_[op.operands[0].index] = false;
  }
}

// A result that an op computes into an array of its own is computed in place.
void BodyEmitter::place_results() {
  for (size_t i = 0; i < results_.size(); ++i) {
    const ValueId value = body_.outputs[i].value;
    const Op& producer = body_.producer(value);
    const bool in_place = !results_[i].prepared && !is_view(producer.kind) && producer.kind != OpKind::kArgument &&
                          producer.kind != OpKind::kConstant && !buffers_.contains(value);
    if (in_place) buffers_[value] = results_[i].pointer;
  }
}

const std::string* BodyEmitter::find_buffer(ValueId value) const {
  while (body_.producer(value).kind == OpKind::kReshape) value = body_.producer(value).operands[0];
  const auto found = buffers_.find(value);
  return found == buffers_.end() ? nullptr : &found->second;
}

std::string BodyEmitter::buffer(ValueId value) const {
  const std::string* found = find_buffer(value);
  SCRATCHY_CHECK(found != nullptr, "no array for a value of " + std::string(info(body_.producer(value).kind).name));
  return *found;
}

std::string BodyEmitter::declare(ValueId value) {
  if (const auto found = buffers_.find(value); found != buffers_.end()) return found->second;
  const std::string name = "v" + number(value.index);
  const char* element = body_.type(value).element == ElementType::kI32 ? "int32_t" : "float";
  declarations_ += std::string("  alignas(64) ") + element + " " + name + "[" + number(elements(value)) + "];\n";
  return buffers_[value] = name;
}

std::string BodyEmitter::constant_array(ValueId value) {
  const std::string name = "c" + number(value.index);
  std::string items;
  for (const double v : body_.producer(value).attributes.values) items += (items.empty() ? "" : ", ") + float_literal(v);
  declarations_ += "  static const float " + name + "[] = {" + items + "};\n";
  return buffers_[value] = name;
}

std::string BodyEmitter::loops(const std::vector<int64_t>& over, Index& index, int first) const {
  std::string head;
  index.clear();
  for (size_t d = 0; d < over.size(); ++d) {
    if (over[d] == 1) {
      index.push_back("0");
      continue;
    }
    const std::string name = "i" + number(static_cast<int64_t>(d) + first);
    head += "for (int " + name + " = 0; " + name + " < " + number(over[d]) + "; ++" + name + ") ";
    index.push_back(name);
  }
  return head;
}

std::string BodyEmitter::at(ValueId value, Index index) const {
  const Op& op = body_.producer(value);
  if (op.kind == OpKind::kConstant && op.attributes.values.size() == 1) return float_literal(op.attributes.values[0]);
  if (op.kind == OpKind::kSlice) {
    const size_t axis = static_cast<size_t>(op.attributes.axis) - (body_.type(op.operands[0]).row_wise() ? 1 : 0);
    if (op.attributes.begin != 0) index[axis] = parenthesize(index[axis] == "0" ? number(op.attributes.begin) : index[axis] + " + " + number(op.attributes.begin));
    return at(op.operands[0], std::move(index));
  }
  if (op.kind == OpKind::kArgument && arguments_[op.attributes.count].scalar) return arguments_[op.attributes.count].text;
  if (op.kind == OpKind::kReshape) {
    const std::string offset = linear(index, dims(value));
    Index inner;
    const std::vector<int64_t> source = dims(op.operands[0]);
    const Op& producer = body_.producer(op.operands[0]);
    if (is_view(producer.kind)) {  // back to an index of the viewed shape
      int64_t stride = elements(op.operands[0]);
      for (const int64_t d : source) {
        stride /= d;
        inner.push_back(d == 1 ? "0" : "((" + offset + ") / " + number(stride) + " % " + number(d) + ")");
      }
      return at(op.operands[0], std::move(inner));
    }
    if (producer.kind == OpKind::kConstant && producer.attributes.values.size() == 1) return float_literal(producer.attributes.values[0]);
    if (producer.kind == OpKind::kArgument && arguments_[producer.attributes.count].scalar) return arguments_[producer.attributes.count].text;
    return buffer(op.operands[0]) + "[" + offset + "]";
  }
  if (inlined_[value.index]) {
    const auto operand = [&](size_t i) { return operand_at(op.operands[i], index); };
    if (op.kind == OpKind::kOuter) return binary(op.kind, at(op.operands[0], {index[0]}), at(op.operands[1], {index[1]}));
    if (op.kind == OpKind::kSelect) return "(" + operand(0) + " != 0 ? " + operand(1) + " : " + operand(2) + ")";
    if (info(op.kind).group == OpGroup::kUnary) return "math::" + std::string(info(op.kind).spelling) + "(" + operand(0) + ")";
    return binary(op.kind, operand(0), operand(1));
  }
  const std::string element = buffer(value) + "[" + linear(index, dims(value)) + "]";
  return body_.type(value).element == ElementType::kI32 ? "static_cast<float>(" + element + ")" : element;
}

// The operand's element for an index of the op's result: dims align at the last axis, dims of 1 repeat.
std::string BodyEmitter::operand_at(ValueId operand, const Index& index) const {
  const std::vector<int64_t> own = dims(operand);
  Index inner(own.size(), "0");
  for (size_t d = 0; d < own.size(); ++d) {
    const size_t from_end = own.size() - d;
    if (own[d] != 1 && from_end <= index.size()) inner[d] = index[index.size() - from_end];
  }
  return at(operand, std::move(inner));
}

void BodyEmitter::emit(const Op& op) {
  switch (info(op.kind).group) {
    case OpGroup::kUnary:
    case OpGroup::kBinary: return emit_elementwise(op);
    case OpGroup::kReduce: return emit_reduction(op);
    default: break;  // NOLINT: the rest is told apart by kind
  }
  switch (op.kind) {
    case OpKind::kArgument:
      if (!arguments_[op.attributes.count].scalar) buffers_[op.results[0]] = arguments_[op.attributes.count].text;
      return;
    case OpKind::kConstant:
      if (op.attributes.values.size() > 1) constant_array(op.results[0]);
      return;
    case OpKind::kSelect:
    case OpKind::kOuter: return emit_elementwise(op);
    case OpKind::kReshape:
    case OpKind::kSlice: return;
    case OpKind::kConcat: return emit_concat(op);
    case OpKind::kSoftmax: return emit_softmax(op);
    case OpKind::kRope: return emit_rope(op);
    case OpKind::kTopK:
    case OpKind::kTopKMask: return emit_top_k(op);
    case OpKind::kGather: return emit_gather(op);
    case OpKind::kWeightedSum: return emit_weighted_sum(op);
    case OpKind::kTranspose: return emit_transpose(op);
    case OpKind::kVecMat: return emit_vecmat(op);
    case OpKind::kPrepare: return;  // written with the results
    default: SCRATCHY_UNREACHABLE("a body holds " + std::string(info(op.kind).name));  // NOLINT
  }
}

void BodyEmitter::emit_elementwise(const Op& op) {
  const ValueId result = op.results[0];
  if (inlined_[result.index]) return;
  Index index;
  const std::string head = loops(dims(result), index);
  const std::string target = declare(result);
  const auto operand = [&](size_t i) { return operand_at(op.operands[i], index); };
  std::string value;
  if (op.kind == OpKind::kSelect) {
    value = operand(0) + " != 0 ? " + operand(1) + " : " + operand(2);
  } else if (op.kind == OpKind::kOuter) {
    value = at(op.operands[0], {index[0]}) + " * " + at(op.operands[1], {index[1]});
  } else if (info(op.kind).group == OpGroup::kUnary) {
    value = "math::" + std::string(info(op.kind).spelling) + "(" + operand(0) + ")";
  } else {
    value = binary(op.kind, operand(0), operand(1));
  }
  line(head + target + "[" + linear(index, dims(result)) + "] = " + value + ";");
}

void BodyEmitter::emit_reduction(const Op& op) {
  const ValueId result = op.results[0];
  std::vector<int64_t> source = dims(op.operands[0]);
  const int64_t count = source.back();
  source.pop_back();
  Index index;
  const std::string head = loops(source, index);
  Index full = index;
  full.push_back("i");
  const char* name = op.kind == OpKind::kMax ? "reduce_max" : "reduce_sum";
  std::string value = std::string(name) + "<" + number(count) + ">([&](int i) { return " + at(op.operands[0], full) + "; })";
  if (op.kind == OpKind::kMean) value += " / " + float_literal(static_cast<double>(count));
  Index target = index;
  target.push_back("0");
  const std::string array = declare(result);
  line(head + array + "[" + linear(target, dims(result)) + "] = " + value + ";");
}

void BodyEmitter::emit_softmax(const Op& op) {
  const std::vector<int64_t> shape = dims(op.results[0]);
  const int64_t count = shape.back();
  std::vector<int64_t> outer(shape.begin(), shape.end() - 1);
  Index index;
  const std::string head = loops(outer, index);
  Index full = index;
  full.push_back("i");
  Index start = index;
  start.push_back("0");
  const std::string sink = op.operands.size() > 1 ? at(op.operands[1], {index.empty() ? "0" : index[0]}) : "-__builtin_inff()";
  const std::string array = declare(op.results[0]);
  line(head + "softmax<" + number(count) + ">([&](int i) { return " + at(op.operands[0], full) + "; }, " + sink + ", " + array + " + " +
       linear(start, shape) + ");");
}

void BodyEmitter::emit_concat(const Op& op) {
  const std::vector<int64_t> shape = dims(op.results[0]);
  const std::string array = declare(op.results[0]);
  int64_t begin = 0;
  for (const ValueId operand : op.operands) {
    std::vector<int64_t> part = shape;
    part.back() = dims(operand).back();
    Index index;
    const std::string head = loops(part, index);
    const std::string value = operand_at(operand, index);
    index.back() = parenthesize(index.back() + " + " + number(begin));
    line(head + array + "[" + linear(index, shape) + "] = " + value + ";");
    begin += part.back();
  }
}

void BodyEmitter::emit_rope(const Op& op) {
  const std::vector<int64_t> shape = dims(op.results[0]);
  const int64_t half = dims(op.operands[1]).back();
  const int64_t width = shape.back();
  const std::string array = declare(op.results[0]);
  std::vector<int64_t> outer(shape.begin(), shape.end() - 1);
  Index index;
  const std::string head = loops(outer, index);
  const auto element = [&](const std::string& d) {
    Index full = index;
    full.push_back(d);
    return full;
  };
  const std::string a = op.attributes.adjacent ? "(2 * j)" : "j";
  const std::string b = op.attributes.adjacent ? "(2 * j + 1)" : "(j + " + number(half) + ")";
  const std::string cosine = at(op.operands[1], {"j"}), sine = at(op.operands[2], {"j"});
  line(head + "{");
  line("  for (int j = 0; j < " + number(half) + "; ++j) {");
  line("    const float x = " + at(op.operands[0], element(a)) + ", y = " + at(op.operands[0], element(b)) + ";");
  line("    " + array + "[" + linear(element(a), shape) + "] = x * " + cosine + " - y * " + sine + ";");
  line("    " + array + "[" + linear(element(b), shape) + "] = y * " + cosine + " + x * " + sine + ";");
  line("  }");
  if (2 * half < width) {
    line("  for (int j = " + number(2 * half) + "; j < " + number(width) + "; ++j) " + array + "[" + linear(element("j"), shape) +
         "] = " + at(op.operands[0], element("j")) + ";");
  }
  line("}");
}

void BodyEmitter::emit_top_k(const Op& op) {
  const std::vector<int64_t> shape = dims(op.operands[0]);
  std::vector<int64_t> outer(shape.begin(), shape.end() - 1);
  Index index;
  const std::string head = loops(outer, index);
  const auto start = [&](ValueId value) {
    Index full = index;
    full.push_back("0");
    return linear(full, dims(value));
  };
  Index full = index;
  full.push_back("i");
  const std::string source = "[&](int i) { return " + at(op.operands[0], full) + "; }";
  const std::string shape_text = "<" + number(shape.back()) + ", " + number(op.attributes.count) + ">(";
  if (op.kind == OpKind::kTopKMask) {
    const std::string mask = declare(op.results[0]);
    line(head + "top_k_mask" + shape_text + source + ", " + mask + " + " + start(op.results[0]) + ");");
    return;
  }
  const std::string values = declare(op.results[0]), picks = declare(op.results[1]);
  line(head + "top_k" + shape_text + source + ", " + values + " + " + start(op.results[0]) + ", " + picks + " + " + start(op.results[1]) + ");");
}

void BodyEmitter::emit_gather(const Op& op) {
  const std::vector<int64_t> shape = dims(op.results[0]);
  Index index;
  const std::string head = loops(shape, index);
  const std::string pick = buffer(op.operands[1]) + "[" + linear(index, dims(op.operands[1])) + "]";
  Index source(index.begin(), index.end() - 1);
  source.push_back(pick);
  const std::string array = declare(op.results[0]);
  line(head + array + "[" + linear(index, shape) + "] = " + at(op.operands[0], source) + ";");
}

void BodyEmitter::emit_weighted_sum(const Op& op) {
  const std::vector<int64_t> shape = dims(op.operands[0]);  // [k, H]
  const std::string array = declare(op.results[0]);
  const std::string width = number(shape[1]);
  line("for (int h = 0; h < " + width + "; ++h) " + array + "[h] = 0;");
  line("for (int j = 0; j < " + number(shape[0]) + "; ++j) {");
  line("  const float w = " + at(op.operands[1], {"j"}) + ";");
  line("  for (int h = 0; h < " + width + "; ++h) " + array + "[h] += w * " + at(op.operands[0], {"j", "h"}) + ";");
  line("}");
}

void BodyEmitter::emit_transpose(const Op& op) {
  const std::vector<int64_t> shape = dims(op.results[0]);
  Index index;
  const std::string head = loops(shape, index);
  Index source = index;
  std::swap(source[source.size() - 1], source[source.size() - 2]);
  const std::string array = declare(op.results[0]);
  line(head + array + "[" + linear(index, shape) + "] = " + at(op.operands[0], source) + ";");
}

void BodyEmitter::emit_vecmat(const Op& op) {
  const std::vector<int64_t> shape = dims(op.operands[1]);  // [A, B]
  const std::string array = declare(op.results[0]);
  line("for (int b = 0; b < " + number(shape[1]) + "; ++b) " + array + "[b] = 0;");
  line("for (int a = 0; a < " + number(shape[0]) + "; ++a) {");
  line("  const float x = " + at(op.operands[0], {"a"}) + ";");
  line("  for (int b = 0; b < " + number(shape[1]) + "; ++b) " + array + "[b] += x * " + at(op.operands[1], {"a", "b"}) + ";");
  line("}");
}

void BodyEmitter::copy_results() {
  for (size_t i = 0; i < results_.size(); ++i) {
    const ValueId value = body_.outputs[i].value;
    if (results_[i].prepared) {
      const ValueId source = body_.producer(value).operands[0];
      const std::vector<int64_t> shape = dims(source);
      const int64_t width = shape.back(), groups = elements(source) / width;
      std::string array;
      if (const std::string* held = find_buffer(source)) {
        array = *held;
      } else {
        array = "p" + number(value.index);
        declarations_ += "  alignas(64) float " + array + "[" + number(elements(source)) + "];\n";
        Index index;
        const std::string head = loops(shape, index);
        line(head + array + "[" + linear(index, shape) + "] = " + at(source, index) + ";");
      }
      line("prepare_rows<kPrepared, " + number(width) + ", " + number(groups) + ">(" + array + ", " + results_[i].pointer + ");");
      continue;
    }
    if (buffers_.contains(value) && buffers_.at(value) == results_[i].pointer) continue;
    Index index;
    const std::string head = loops(dims(value), index);
    const bool integer = body_.type(value).element == ElementType::kI32;
    line(head + results_[i].pointer + "[" + linear(index, dims(value)) + "] = " +
         (integer ? "static_cast<int32_t>(" + at(value, index) + ")" : at(value, index)) + ";");
  }
}

}  // namespace scratchy::cpu
