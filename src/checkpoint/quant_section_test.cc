#include "checkpoint/quant_section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scratchy {
namespace {

using ::testing::HasSubstr;

QuantSection section_of(const char* text) {
  const auto section = parse_quant_section(parse_json(text).value());
  EXPECT_TRUE(section.ok()) << section.failure().message();
  return section.ok() ? *section : QuantSection{};
}
std::string refusal(const char* text) {
  const auto section = parse_quant_section(parse_json(text).value());
  return section.ok() ? "accepted" : section.failure().message();
}

TEST(QuantSection, EachMethodIsRecognised) {
  EXPECT_EQ(section_of("null").method, QuantMethod::kNone);
  EXPECT_EQ(section_of(R"({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm"})").method, QuantMethod::kAwq);
  EXPECT_TRUE(section_of(R"({"quant_method": "gptq", "bits": 4, "sym": true, "checkpoint_format": "gptq_v2"})").gptq_v2);
  EXPECT_EQ(section_of(R"({"quant_method": "bitsandbytes", "load_in_4bit": true})").method, QuantMethod::kBnbNf4);
  EXPECT_EQ(section_of(R"({"quant_method": "fp8", "weight_block_size": [128, 64]})").block_cols, 64u);
  EXPECT_EQ(section_of(R"({"quant_algo": "NVFP4", "group_size": 16})").method, QuantMethod::kNvfp4);
  EXPECT_EQ(section_of(R"({"bits": 3, "group_size": 64})").method, QuantMethod::kMlxAffine);
  EXPECT_EQ(section_of(R"({"quant_method": "mxfp4"})").method, QuantMethod::kMxfp4);
  EXPECT_EQ(section_of(R"({"quant_method": "gguf"})").method, QuantMethod::kGguf);
  const char* groups = R"({"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups":
      {"group_0": {"weights": {"num_bits": 4, "type": "int", "strategy": "channel", "symmetric": false, "group_size": null}}}})";
  EXPECT_EQ(section_of(groups).method, QuantMethod::kCtInt);
  EXPECT_EQ(section_of(groups).widths.at(0).group_size, -1);
  EXPECT_FALSE(section_of(groups).symmetric);
}

TEST(QuantSection, WrongValuesAreRefusedByName) {
  EXPECT_THAT(refusal(R"({"quant_method": "hqq"})"), HasSubstr("`quant_method` is `hqq`"));
  EXPECT_THAT(refusal(R"({"quant_method": "awq", "bits": 3})"), HasSubstr("awq `bits` is 3"));
  EXPECT_THAT(refusal(R"({"quant_method": "gptq", "bits": "4"})"), HasSubstr("`bits` is"));
  EXPECT_THAT(refusal(R"({"quant_method": "gptq", "bits": 4, "group_size": 0})"), HasSubstr("`group_size` is 0"));
  EXPECT_THAT(refusal(R"({"quant_method": "gptq", "sym": 1})"), HasSubstr("`sym` is not true or false"));
  EXPECT_THAT(refusal(R"({"quant_method": "fp8", "weight_block_size": [128]})"), HasSubstr("list of two sizes"));
  EXPECT_THAT(refusal(R"({"bits": 4, "group_size": 64, "mode": "mxfp4"})"), HasSubstr("`affine` is read"));
  EXPECT_THAT(refusal(R"({"quant_method": "awq", "ignore": [1]})"), HasSubstr("not a string"));
  EXPECT_THAT(refusal("[]"), HasSubstr("not an object"));
}

TEST(QuantSection, IgnoreEntriesMatchWholeSegmentsOrPatterns) {
  const QuantSection section = section_of(R"({"quant_method": "compressed-tensors", "format": "pack-quantized",
      "config_groups": {"g": {"weights": {"num_bits": 4}}}, "ignore": ["lm_head", "mlp.gate", "model.vision", "re:.*router$", "re:(((", "re:(a*)*b"]})");
  EXPECT_TRUE(is_ignored(section, "lm_head"));
  EXPECT_TRUE(is_ignored(section, "model.layers.3.mlp.gate"));
  EXPECT_TRUE(is_ignored(section, "model.vision.blocks.0.q"));
  EXPECT_TRUE(is_ignored(section, "model.layers.0.router"));
  EXPECT_FALSE(is_ignored(section, "model.layers.3.mlp.gate_proj"));
  EXPECT_FALSE(is_ignored(section, "model.visionary"));
  EXPECT_FALSE(is_ignored(section, "my_lm_head"));
  EXPECT_FALSE(is_ignored(section, std::string(200, 'a')));
}

TEST(QuantSection, AStarInAnIgnoreEntryStandsForAnyText) {
  const QuantSection section = section_of(R"({"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "*.router"]})");
  EXPECT_TRUE(is_ignored(section, "model.layers.12.self_attn"));
  EXPECT_TRUE(is_ignored(section, "model.layers.12.self_attn.q_proj"));
  EXPECT_TRUE(is_ignored(section, "model.layers.3.mlp.router"));
  EXPECT_FALSE(is_ignored(section, "model.layers.3.mlp.experts.down_proj"));
  EXPECT_FALSE(is_ignored(section, "model.layers.3.self_attention"));
}

TEST(QuantSection, WidthsComeFromEntriesThenOverridesThenTheSection) {
  const QuantSection section = section_of(R"({"bits": 4, "group_size": 64, "a.gate": {"bits": 8, "group_size": 32}, "a.up": false,
      "bits_overrides": {"router": 8, "mlp.router": 6}})");
  EXPECT_EQ(width_of(section, "a.gate")->bits, 8);
  EXPECT_EQ(width_of(section, "a.gate")->group_size, 32);
  EXPECT_FALSE(width_of(section, "a.up"));
  EXPECT_EQ(width_of(section, "b.mlp.router")->bits, 6);
  EXPECT_EQ(width_of(section, "b.router")->bits, 8);
  EXPECT_EQ(width_of(section, "b.down")->bits, 4);
}

}  // namespace
}  // namespace scratchy
