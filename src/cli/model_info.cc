// scr model info: what this binary was compiled for. Needs no weights.

#include <cinttypes>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "tape/program.h"

namespace scratchy::cli {
namespace {

using Json = nlohmann::ordered_json;

Json bucket_info(const Bucket& bucket) {
  Json segments = Json::array();
  int64_t steps = 0, barriers = 0;
  for (int32_t s = 0; s < bucket.segment_count; ++s) {
    const Segment& segment = bucket.segments[s];
    segments.push_back({{"steps", segment.step_count}, {"repeat", segment.repeat}});
    steps += int64_t{segment.step_count} * segment.repeat;
    for (int32_t i = 0; i < segment.step_count; ++i) barriers += segment.steps[i].barrier ? segment.repeat : 0;
  }
  return {{"max_tokens", bucket.max_tokens}, {"segments", segments}, {"steps", steps}, {"barriers", barriers},
          {"shared_arena_bytes", bucket.shared_row_bytes * bucket.max_tokens}, {"local_arena_bytes", bucket.local_row_bytes * bucket.max_tokens}};
}

// Bytes of the dense f32 form of what is stored; packed sizes depend on the checkpoint's quant forms.
int64_t weight_elements(const CompiledProgram& program) {
  int64_t elements = 0;
  for (int32_t i = 0; i < program.weight_count; ++i) {
    const WeightRecord& weight = program.weights[i];
    elements += int64_t{weight.matrices} * weight.rows * weight.columns;
  }
  return elements;
}

Json program_info(const CompiledProgram& program) {
  Json buckets = Json::array();
  for (int32_t i = 0; i < program.bucket_count; ++i) buckets.push_back(bucket_info(program.buckets[i]));
  return {{"arch", program.arch}, {"model", program.stem}, {"quant", program.quant}, {"target", "cpu"}, {"profile", program.profile}, {"vocabulary", program.vocab_size},
          {"max_context", program.max_context}, {"hidden_size", program.hidden_size}, {"whole_prompt", program.whole_prompt}, {"weights", program.weight_count},
          {"weight_elements", weight_elements(program)}, {"kv_bytes_a_token", program.page_bytes / kPageTokens}, {"state_bytes_a_sequence", program.state_bytes},
          {"scratch_bytes", program.scratch_bytes}, {"buckets", buckets}};
}

std::string bytes(const Json& number) { return with_thousands(number.get<uint64_t>()); }

void print_program(const Json& program) {
  const std::string quant = program["quant"].get<std::string>();
  std::printf("%s x %s x %s\n", program["arch"].get<std::string>().c_str(), program["model"].get<std::string>().c_str(), quant.empty() ? "dense" : quant.c_str());
  std::printf("  target       cpu, %s\n", program["profile"].get<std::string>().c_str());
  std::printf("  context      %s positions, vocabulary %s\n", bytes(program["max_context"]).c_str(), bytes(program["vocabulary"]).c_str());
  std::printf("  weights      %s records, %s elements\n", bytes(program["weights"]).c_str(), bytes(program["weight_elements"]).c_str());
  std::printf("  KV           %s bytes a token\n", bytes(program["kv_bytes_a_token"]).c_str());
  std::printf("  state        %s bytes a sequence\n", bytes(program["state_bytes_a_sequence"]).c_str());
  std::printf("  scratch      %s bytes\n", bytes(program["scratch_bytes"]).c_str());
  for (const Json& bucket : program["buckets"]) {
    std::printf("  bucket       up to %s tokens: %s steps, %s barriers; arena %s bytes shared, %s a thread\n", bytes(bucket["max_tokens"]).c_str(), bytes(bucket["steps"]).c_str(),
                bytes(bucket["barriers"]).c_str(), bytes(bucket["shared_arena_bytes"]).c_str(), bytes(bucket["local_arena_bytes"]).c_str());
    for (const Json& segment : bucket["segments"]) std::printf("    segment    %s steps x %s\n", bytes(segment["steps"]).c_str(), bytes(segment["repeat"]).c_str());
  }
}

void print_info(bool as_json) {
  Json programs = Json::array();
  for (int i = 0; i < kProgramCount; ++i) programs.push_back(program_info(*kPrograms[i]));
  if (as_json) {
    std::printf("%s\n", to_text({{"programs", programs}}).c_str());
    return;
  }
  for (const Json& program : programs) print_program(program);
}

}  // namespace

void add_model(Command& app) {
  auto as_json = std::make_shared<bool>(false);
  Command* model = app.add_command("model", "models of this binary");
  Command* info = model->add_command("info", "print what this binary was compiled for");
  info->add_flag("--json", *as_json, "as one JSON object");
  info->runs([as_json] {
    print_info(*as_json);
    return 0;
  });
}

}  // namespace scratchy::cli
