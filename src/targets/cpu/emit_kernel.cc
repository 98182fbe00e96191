#include "targets/cpu/emit_kernel.h"

#include "base/check.h"
#include "base/text.h"
#include "targets/cpu/emit_body.h"
#include "targets/cpu/kernels/steps.h"

namespace scratchy::cpu {
namespace {

std::string number(int64_t n) { return std::to_string(n); }
std::string flag(bool value) { return value ? "true" : "false"; }

// The first step that uses a kernel: where its operands come from is the same for all.
const TapeStep& example_step(const Plan& plan, size_t kernel) {
  for (const TapeStep& step : plan.tapes.front().steps) {
    if (step.kernel == static_cast<int32_t>(kernel)) return step;
  }
  SCRATCHY_UNREACHABLE("a kernel without a step");
}

std::string plane_text(const KernelContext& context, const TapeOperand& operand) {
  const KvPlane plane = kv_plane(context.plan->planes[operand.index], context.options->kv);
  return "KvPlane{KvLayout(" + number(static_cast<int64_t>(plane.layout)) + "), KvType(" + number(static_cast<int64_t>(plane.type)) + "), " + number(plane.heads) + ", " +
         number(plane.width) + "}";
}

std::string rule_text(const Attributes& a) {
  return "AttentionRule{" + float_literal(a.scale) + ", " + float_literal(a.softcap) + ", " + number(a.window) + ", " + flag(a.causal) + "}";
}

std::string attention_shape(const KernelContext& context, const TapeKernel& kernel, const TapeStep& step) {
  const std::vector<int64_t>& q = kernel.operand_types[0].dims;
  return "AttentionShape{" + number(q[1]) + ", " + number(q[2]) + ", " + number(kernel.attributes.end - kernel.attributes.begin) + ", " +
         plane_text(context, step.operands[1]) + ", " + plane_text(context, step.operands[2]) + "}";
}

// The first row of a slot operand, by the type of its elements.
std::string pointer(const std::string& operand, const Type& type) {
  if (type.element == ElementType::kI32) return "reinterpret_cast<int32_t*>(f.rows(" + operand + "))";
  return "f.floats(" + operand + ")";
}

bool is_prepared(const Graph& body, size_t output) { return body.producer(body.outputs[output].value).kind == OpKind::kPrepare; }

std::string emit_row_program(const KernelContext& context, const TapeKernel& kernel, const TapeStep& step, const std::string& name) {
  const Graph& body = *kernel.body;
  std::vector<BodyArgument> arguments;
  std::vector<BodyResult> results;
  std::string setup, per_row;
  for (size_t i = 0; i < kernel.operand_types.size(); ++i) {
    const std::string operand = "o[" + number(static_cast<int64_t>(i) + 1) + "]", a = "a" + number(static_cast<int64_t>(i));
    const Type& type = kernel.operand_types[i];
    if (step.operands[i].kind == TapeOperand::kInput) {
      arguments.push_back({step.operands[i].index == 1 ? "position" : "token", true});
      const std::string member = step.operands[i].index == 1 ? "position" : "token";
      per_row += "    const auto " + member + " = static_cast<float>(token_row(f, t, " + flag(kernel.sampled) + ")." + member + ");\n";
      continue;
    }
    arguments.push_back({a, false});
    if (step.operands[i].kind == TapeOperand::kWeight) {
      setup += "  const float* " + a + " = f.dense(" + operand + ");\n";
    } else {
      setup += "  const auto* " + a + "_rows = " + pointer(operand, type) + ";\n";
      per_row += "    const auto* " + a + " = " + a + "_rows + t * " + number(row_stride(type.row_elements())) + ";\n";
    }
  }
  for (size_t i = 0; i < kernel.result_types.size(); ++i) {
    const std::string operand = "o[" + number(static_cast<int64_t>(kernel.operand_types.size() + i) + 1) + "]", r = "r" + number(static_cast<int64_t>(i));
    if (is_prepared(body, i)) {
      setup += "  std::byte* " + r + "_rows = f.rows(" + operand + ");\n";
      results.push_back({r + "_rows, t, f.row_capacity", true});
      continue;
    }
    setup += "  auto* " + r + "_rows = " + pointer(operand, kernel.result_types[i]) + ";\n";
    per_row += "    auto* " + r + " = " + r + "_rows + t * " + number(row_stride(kernel.result_types[i].row_elements())) + ";\n";
    results.push_back({r, false});
  }
  const BodyEmitter emitter(body, context.max_context, std::move(arguments), std::move(results));
  return "void " + name + "(const Frame& f, const Operand* o) {\n" + setup + emitter.declarations() + "  const Share rows = row_share(f, o[0], " + flag(kernel.sampled) +
         ");\n  for (int t = rows.begin; t < rows.end; ++t) {\n" + per_row + emitter.statements() + "  }\n}\n\n";
}

// A scan: units are (sequence, head); each walks its tokens in order over its own state.
std::string emit_scan(const KernelContext& context, const TapeKernel& kernel, const std::string& name) {
  const Graph& body = *kernel.body;
  const size_t inputs = kernel.operand_types.size() - 1;
  const Type& state_type = kernel.operand_types.back();
  const int64_t heads = state_type.dims[0], state_elements = state_type.row_elements() / heads;
  std::vector<BodyArgument> arguments;
  std::string setup, per_row;
  for (size_t i = 0; i < inputs; ++i) {
    const std::string a = "a" + number(static_cast<int64_t>(i));
    const int64_t own_heads = kernel.operand_types[i].dims[1], row = kernel.operand_types[i].row_elements();
    setup += "  const float* " + a + "_rows = f.floats(o[" + number(static_cast<int64_t>(i)) + "]);\n";
    per_row += "      const float* " + a + " = " + a + "_rows + t * " + number(row_stride(row)) + " + head / " + number(heads / own_heads) + " * " + number(row / own_heads) + ";\n";
    arguments.push_back({a, false});
  }
  arguments.push_back({"state", false});
  const int64_t out_row = kernel.result_types[0].row_elements();
  per_row += "      float* y = y_rows + t * " + number(row_stride(out_row)) + " + head * " + number(out_row / heads) + ";\n";
  const BodyEmitter emitter(body, context.max_context, std::move(arguments), {{"y", false}, {"next", false}});
  const std::string count = number(heads), elements = number(state_elements);
  return "void " + name + "(const Frame& f, const Operand* o) {\n" + setup + "  float* y_rows = f.floats(o[" + number(static_cast<int64_t>(inputs) + 1) + "]);\n" +
         emitter.declarations() + "  alignas(64) float next[" + elements + "];\n  const Share units = share_of(f.batch->sequence_count * " + count +
         ", f.thread, f.thread_count);\n  for (int unit = units.begin; unit < units.end; ++unit) {\n    const SequenceRows& sequence = f.batch->sequences[unit / " + count +
         "];\n    const int head = unit % " + count + ";\n    auto* state = reinterpret_cast<float*>(f.state(o[" + number(static_cast<int64_t>(inputs)) +
         "], sequence.state_slot)) + head * " + elements + ";\n    for (int t = sequence.first_row; t < sequence.first_row + sequence.row_count; ++t) {\n" + per_row +
         emitter.statements() + "      std::memcpy(state, next, sizeof next);\n    }\n  }\n}\n\n";
}

std::string call(const std::string& name, const std::string& step, const std::string& arguments, const std::string& more = "") {
  return "void " + name + "(const Frame& f, const Operand* o) { " + step + "<" + arguments + ">(f, o" + more + "); }\n\n";
}

}  // namespace

KvPlane kv_plane(const Plane& plane, KvType type) {
  const bool both = plane.keys && plane.values;
  return {plane.values || both ? KvLayout::kRows : KvLayout::kColumns, type, static_cast<int>(plane.kv_heads), static_cast<int>(plane.width)};
}

std::string emit_kernel(const KernelContext& context, size_t index) {
  const Plan& plan = *context.plan;
  const TapeKernel& kernel = plan.kernels[index];
  const TapeStep& step = example_step(plan, index);
  const std::string name = "k" + number(static_cast<int64_t>(index));
  const std::string place = "// " + std::string(info(kernel.kind).spelling) + "  " + escape_for_message(to_string(step.span), 400) + "\n";
  const auto& in = kernel.operand_types;
  const auto& out = kernel.result_types;
  const Attributes& a = kernel.attributes;
  const std::string span = number(context.max_context);
  switch (kernel.kind) {
    case OpKind::kRowProgram: return place + emit_row_program(context, kernel, step, name);
    case OpKind::kScan: return place + emit_scan(context, kernel, name);
    case OpKind::kEmbed: {
      const int64_t width = in[1].dims.back();
      return place + call(name, "embed_step", number(width) + ", " + number(out[0].row_elements() / width) + ", " + flag(kernel.sampled));
    }
    case OpKind::kGemm: {
      SCRATCHY_CHECK(in[0].dims.size() == 2, "gemm of " + to_string(in[0]));
      return place + call(name, "gemm_step", "kPrepared, " + number(in[1].dims[1]) + ", " + number(in[1].dims[0]) + ", " + flag(kernel.sampled));
    }
    case OpKind::kGemmHeads:
      return place + call(name, "gemm_heads_step", "kPrepared, " + number(in[1].dims[0]) + ", " + number(in[1].dims[2]) + ", " + number(in[1].dims[1]));
    case OpKind::kGemmExperts:
      return place + call(name, "gemm_experts_step", "kPrepared, " + number(in[1].dims[0]) + ", " + number(in[2].dims[1]) + ", " + number(in[1].dims[2]) + ", " +
                                                         number(in[1].dims[1]) + ", " + flag(in[0].dims.size() == 2));
    case OpKind::kSampleRows: return place + call(name, "sample_rows_step", number(in[0].row_elements()));
    case OpKind::kCacheAppend: return place + call(name, "cache_append_step", plane_text(context, step.operands[0]));
    case OpKind::kAttention:
      return place + call(name, "attention_step", attention_shape(context, kernel, step), ", " + rule_text(a) + ", " + span);
    case OpKind::kCacheScores:
      return place + call(name, "cache_scores_step", plane_text(context, step.operands[1]) + ", " + number(in[0].dims[1]), ", " + span);
    case OpKind::kMask: return place + call(name, "mask_step", number(in[0].dims[1]), ", " + rule_text(a) + ", " + span);
    case OpKind::kCacheMix:
      return place + call(name, "cache_mix_step", plane_text(context, step.operands[1]) + ", " + number(in[0].dims[1]), ", " + span + ", " + number(a.begin) + ", " + number(a.end));
    case OpKind::kConv1d: return place + call(name, "conv1d_step", number(in[1].dims[0]) + ", " + number(in[1].dims[1]));
    default: break;  // NOLINT: every other op lives inside of a row program
  }
  SCRATCHY_UNREACHABLE("no lowering for " + std::string(info(kernel.kind).spelling) + " at " + to_string(step.span));
}

std::string scratch_expression(const KernelContext& context) {
  std::string expression = "size_t{64}";
  for (size_t k = 0; k < context.plan->kernels.size(); ++k) {
    const TapeKernel& kernel = context.plan->kernels[k];
    if (kernel.kind != OpKind::kAttention) continue;
    expression = "std::max(" + expression + ", attention_scratch_bytes<" + attention_shape(context, kernel, example_step(*context.plan, k)) + ">(" + number(context.max_context) + "))";
  }
  return expression;
}

}  // namespace scratchy::cpu
