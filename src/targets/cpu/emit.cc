#include "targets/cpu/emit.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/check.h"
#include "targets/cpu/emit_kernel.h"
#include "targets/cpu/emit_weights.h"
#include "targets/cpu/kernels/steps.h"

namespace scratchy::cpu {
namespace {

std::string number(int64_t n) { return std::to_string(n); }

// Rows of one token as a prepared value has them: the last dim is a row's width, the dims before it count rows.
struct PreparedShape {
  int width, groups;
};
PreparedShape prepared_shape(const Type& type) {
  const auto width = static_cast<int>(type.dims.back());
  return {width, static_cast<int>(type.row_elements() / width)};
}

// Writes the tables of one tape.
class TapeEmitter {
 public:
  TapeEmitter(const Plan& plan, const Tape& tape, size_t index) : plan_(plan), tape_(tape), prefix_("t" + number(static_cast<int64_t>(index)) + "_") {}

  std::string run() {
    std::string segments = "constexpr Segment " + prefix_ + "segments[] = {";
    for (size_t s = 0; s < tape_.segments.size(); ++s) {
      const TapeSegment& segment = tape_.segments[s];
      const std::string name = prefix_ + "s" + number(static_cast<int64_t>(s));
      std::string steps = "constexpr StepRecord " + name + "[] = {";
      for (int32_t i = 0; i < segment.step_count; ++i) steps += step(segment, segment.first_step + i);
      text_ += steps + "};\n";
      segments += "{" + name + ", " + number(segment.step_count) + ", " + number(segment.repeat) + "}, ";
    }
    return text_ + segments + "};\n";
  }

  Operand slot(int32_t value) const {
    if (value < 0) return {};
    const Slot& slot = tape_.slots[value];
    return {slot.local ? Operand::kLocal : Operand::kShared, slot.offset, 0};
  }

 private:
  int64_t table_offset(const TapeOperand& operand) const {
    switch (operand.kind) {
      case TapeOperand::kWeight: return operand.index;
      case TapeOperand::kPlane: return plan_.planes[operand.index].page_offset;
      case TapeOperand::kState: return plan_.states[operand.index].offset;
      case TapeOperand::kSlot: return tape_.slots[operand.index].offset;
      case TapeOperand::kNone:
      case TapeOperand::kInput: return 0;
    }
    return 0;
  }

  static const char* kind_name(const TapeOperand& operand, bool local) {
    switch (operand.kind) {
      case TapeOperand::kSlot: return local ? "kLocal" : "kShared";
      case TapeOperand::kWeight: return "kWeight";
      case TapeOperand::kPlane: return "kPlane";
      case TapeOperand::kState: return "kState";
      case TapeOperand::kNone:
      case TapeOperand::kInput: return "kNone";
    }
    return "";
  }

  std::string operand(const TapeSegment& segment, int32_t step, size_t o) const {
    const TapeOperand& here = tape_.steps[step].operands[o];
    if (here.kind == TapeOperand::kNone || here.kind == TapeOperand::kInput) return "{}, ";
    int64_t stride = 0;
    if (segment.repeat > 1 && here.kind != TapeOperand::kSlot) {
      stride = table_offset(tape_.steps[step + segment.step_count].operands[o]) - table_offset(here);
      for (int32_t turn = 1; turn < segment.repeat; ++turn) {
        const int64_t offset = table_offset(tape_.steps[step + turn * segment.step_count].operands[o]);
        SCRATCHY_CHECK(offset == table_offset(here) + turn * stride, "operand does not move by a constant stride");
      }
    }
    const bool local = here.kind == TapeOperand::kSlot && tape_.slots[here.index].local;
    return std::string("{Operand::") + kind_name(here, local) + ", " + number(table_offset(here)) + ", " + number(stride) + "}, ";
  }

  std::string step(const TapeSegment& segment, int32_t index) {
    const TapeStep& step = tape_.steps[index];
    const TapeKernel& kernel = plan_.kernels[step.kernel];
    std::string operands;
    if (step.work != Work::kUnits) {
      operands += "{Operand::kNumber, " + number(step.work == Work::kReplicated ? 1 : 0) + ", 0}, ";
    }
    for (size_t o = 0; o < step.operands.size(); ++o) {
      // Attention has a place for sinks whether they are there or not.
      if (kernel.kind == OpKind::kAttention && o == 3 && step.operand_count == 3) operands += "{}, ";
      operands += operand(segment, index, o);
    }
    const auto [entry, fresh] = operand_lists_.try_emplace(operands, prefix_ + "o" + number(static_cast<int64_t>(operand_lists_.size())));
    if (fresh) text_ += "constexpr Operand " + entry->second + "[] = {" + operands + "};\n";
    return "{&k" + number(step.kernel) + ", " + entry->second + ", " + (step.barrier ? "true" : "false") + "}, ";
  }

  const Plan& plan_;
  const Tape& tape_;
  std::string prefix_, text_;
  std::map<std::string, std::string> operand_lists_;
};

std::string operand_text(const Operand& operand) {
  switch (operand.kind) {
    case Operand::kShared: return "{Operand::kShared, " + number(operand.offset) + ", 0}";
    case Operand::kLocal: return "{Operand::kLocal, " + number(operand.offset) + ", 0}";
    case Operand::kNone:
    case Operand::kWeight:
    case Operand::kPlane:
    case Operand::kState:
    case Operand::kNumber: break;
  }
  return "{}";
}

std::string form_text(PackForm form) { return "static_cast<PackForm>(" + number(static_cast<int64_t>(form)) + ")"; }
std::string act_text(Act act) { return "static_cast<Act>(" + number(static_cast<int64_t>(act)) + ")"; }

// The table of ways to hold a matrix; the kernels it points to are in files of their own.
std::string emit_variants(const std::vector<VariantChoice>& variants) {
  std::string text = "constexpr GemmVariant kVariants[] = {\n";
  for (const VariantChoice& variant : variants) {
    text += "    {" + number(static_cast<int64_t>(variant.form)) + ", " + act_text(variant.activation) + ", &gemm_variant<" + form_text(variant.form) + ", " + act_text(variant.activation) +
            ">, &unpack_row<" + form_text(variant.form) + ">},  // " + std::string(pack_form_name(variant.form)) + "\n";
  }
  return text + "};\n\n";
}

// One file a layout. Its name says all that it depends on besides the profile.
std::vector<EmittedFile> emit_matrix_kernels(const std::vector<VariantChoice>& variants) {
  std::map<PackForm, std::pair<std::string, std::string>> forms;  // name of the file, instantiations
  for (const VariantChoice& variant : variants) {
    auto& [name, text] = forms[variant.form];
    if (name.empty()) {
      name = "matrix_" + std::string(pack_form_name(variant.form));
      text = "template void unpack_row<" + form_text(variant.form) + ">(const std::byte*, int32_t, int32_t, float*);\n";
    }
    name += variant.activation == Act::kF32 ? "_f32" : variant.activation == Act::kBF16 ? "_bf16" : "_q16";
    text += "template void gemm_variant<" + form_text(variant.form) + ", " + act_text(variant.activation) + ">(const GemmCall&);\n";
  }
  std::vector<EmittedFile> files;
  for (const auto& [form, file] : forms) {
    files.push_back({file.first + ".cc", "#include \"targets/cpu/kernels/matrix_kernels.h\"\n\nnamespace scratchy::cpu {\n\n" + file.second + "\n}  // namespace scratchy::cpu\n"});
  }
  return files;
}

std::string emit_program(const EmitInput& input, const Options& options) {
  const Plan& plan = *input.plan;
  std::string text = "#include \"targets/cpu/kernels/matrix_kernels_fwd.h\"\n#include \"targets/cpu/kernels/row_math.h\"\n#include \"targets/cpu/kernels/steps.h\"\n"
                     "#include \"targets/cpu/pack_matrix.h\"\n\nnamespace scratchy::cpu {\nnamespace {\n\n";
  const PreparedKinds kinds = prepared_kinds(options.variants);
  text += std::string("constexpr PreparedKinds kPrepared{") + (kinds.bf16 ? "true" : "false") + ", " + (kinds.q16 ? "true" : "false") + "};\n" +
          "static_assert(sizeof(Q16Block) == " + number(options.profile->q16_block_bytes) + ", \"the arena is laid out for another block\");\n\n";
  const KernelContext context{&plan, &options, input.max_context};
  for (size_t k = 0; k < plan.kernels.size(); ++k) text += emit_kernel(context, k);
  std::string buckets = "constexpr Bucket kBuckets[] = {\n";
  for (size_t i = 0; i < plan.tapes.size(); ++i) {
    const Tape& tape = plan.tapes[i];
    TapeEmitter emitter(plan, tape, i);
    text += emitter.run();
    const std::string prefix = "t" + number(static_cast<int64_t>(i)) + "_";
    buckets += "    {" + number(tape.max_tokens) + ", " + prefix + "segments, " + number(static_cast<int64_t>(tape.segments.size())) + ", " +
               number(tape.shared_row_bytes) + ", " + number(tape.local_row_bytes) + ", " + operand_text(emitter.slot(plan.logits_value)) + ", " +
               operand_text(emitter.slot(plan.hidden_value)) + "},\n";
  }
  text += buckets + "};\n\n" + emit_weight_plan(input.weights) + emit_variants(options.variants) + emit_weight_records(plan, input.weights, options.variants.size());
  text += "constexpr ConfigFact kConfigFacts[] = {\n";
  for (const ConfigValue& fact : input.config_facts) {
    char value[40];
    std::snprintf(value, sizeof value, "%.17g", fact.number);
    text += "    {" + literal(fact.key) + ", " + value + ", " + (fact.text.empty() ? "nullptr" : literal(fact.text)) + "},\n";
  }
  text += "    {}};\n";
  text += "\nsize_t scratch_bytes() { return " + scratch_expression(context) + "; }\n";
  const int32_t hidden = plan.hidden_value < 0 ? 0 : static_cast<int32_t>(plan.graph->type({plan.hidden_value}).row_elements());
  text += "\n}  // namespace\n}  // namespace scratchy::cpu\n\nnamespace scratchy {\n\nextern const CompiledProgram " + input.symbol + ";\nconst CompiledProgram " + input.symbol + " = {\n";
  text += "    .arch = " + literal(input.arch) + ",\n    .stem = " + literal(input.stem) + ",\n    .quant = " + literal(input.quant) + ",\n    .profile = " + literal(std::string(options.profile->name)) + ",\n";
  text += "    .weight_plan = &cpu::kWeightPlan,\n    .config_facts = cpu::kConfigFacts,\n    .config_fact_count = " + number(static_cast<int64_t>(input.config_facts.size())) + ",\n    .packer = &cpu::kWeightPacker,\n    .buckets = cpu::kBuckets,\n    .bucket_count = " + number(static_cast<int64_t>(plan.tapes.size())) + ",\n";
  text += "    .weights = cpu::kWeights,\n    .weight_count = " + number(static_cast<int64_t>(plan.weights.size())) + ",\n    .page_bytes = " + number(plan.page_bytes) +
          ",\n    .state_bytes = " + number(plan.state_bytes) + ",\n    .scratch_bytes = static_cast<int64_t>(cpu::scratch_bytes()),\n    .vocab_size = " + number(input.vocab_size) +
          ",\n    .max_context = " + number(input.max_context) + ",\n    .hidden_size = " + number(hidden) + ",\n    .whole_prompt = " + (input.whole_prompt ? "true" : "false") + ",\n};\n\n}  // namespace scratchy\n";
  return text;
}

}  // namespace

PlanFacts plan_facts(const Options& options, int32_t max_tokens) {
  PlanFacts facts;
  const PreparedKinds kinds = prepared_kinds(options.variants);
  facts.row_bytes = [kinds, block = options.profile->q16_block_bytes](const Type& type, bool prepared) -> int64_t {
    if (prepared) {
      const PreparedShape shape = prepared_shape(type);
      return (prepared_row_bytes(kinds, shape.width, shape.groups, block) + 63) / 64 * 64;
    }
    return row_stride(type.row_elements()) * static_cast<int64_t>(sizeof(float));
  };
  facts.plane_page_bytes = [kv = options.kv](const Plane& plane) { return static_cast<int64_t>(plane_page_bytes(kv_plane(plane, kv))); };
  // Two threads meet at a barrier in about a microsecond; the row programs of a layer take about as long for four rows.
  facts.replicate_up_to = 4;
  facts.bucket_tokens = {4, max_tokens};
  return facts;
}

std::vector<EmittedFile> emit(const EmitInput& input, const Options& options) {
  std::vector<EmittedFile> files = emit_matrix_kernels(options.variants);
  files.insert(files.begin(), {input.symbol + ".cc", emit_program(input, options)});
  return files;
}

EmittedFile emit_registry(const std::vector<std::string>& symbols, bool bench) {
  std::string text = "#include \"cli/extra_commands.h\"\n#include \"tape/program.h\"\n\nnamespace scratchy {\n\n";
  std::string list;
  for (const std::string& symbol : symbols) {
    text += "extern const CompiledProgram " + symbol + ";\n";
    list += "&" + symbol + ", ";
  }
  text += "\nconst CompiledProgram* const kPrograms[] = {" + list + "};\nconst int kProgramCount = " + std::to_string(symbols.size()) + ";\n\n}  // namespace scratchy\n\nnamespace scratchy::cli {\n\n";
  if (bench) text += "void add_bench(Command& app);\n";
  text += std::string("const AddCommand kExtraCommands[] = {") + (bench ? "&add_bench, " : "") + "nullptr};\n\n}  // namespace scratchy::cli\n";
  return {"programs.cc", text};
}

}  // namespace scratchy::cpu
