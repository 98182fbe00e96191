// Loading by module path: every published form in the golden checkpoints, and what is refused.
#include "checkpoint/load_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <set>

#include "checkpoint/safetensors.h"
#include "testing/goldens.h"
#include "testing/scratch_folder.h"

namespace scratchy {
namespace {

using ::testing::HasSubstr;

// The shape a published module has, by the config and the last part of its path.
MatrixShape shape_by_config(const Json& config, const std::string& module) {
  const auto number = [&](const char* key, uint32_t otherwise) {
    return config.contains(key) && config[key].is_number_unsigned() ? config[key].get<uint32_t>() : otherwise;
  };
  const uint32_t hidden = number("hidden_size", 0);
  const uint32_t heads = number("num_attention_heads", 1);
  const uint32_t head_dim = number("head_dim", hidden / heads);
  const uint32_t kv = number("num_key_value_heads", heads) * head_dim;
  const uint32_t experts = number("num_local_experts", 0);
  const uint32_t ffn = number("intermediate_size", 0);
  const std::string last = module.substr(module.rfind('.') + 1);
  const uint32_t stacked = module.find("switch_mlp") != std::string::npos ? experts : 0;
  if (last == "q_proj") return {heads * head_dim, hidden};
  if (last == "k_proj" || last == "v_proj") return {kv, hidden};
  if (last == "o_proj") return {hidden, heads * head_dim};
  if (last == "gate_proj" || last == "up_proj" || last == "w1" || last == "w3") return {ffn, hidden, stacked};
  if (last == "down_proj" || last == "w2") return {hidden, ffn, stacked};
  if (last == "gate") return {experts, hidden};
  return {number("vocab_size", 0), hidden};
}

// Paths of modules with a matrix: those with codes, or a dense `.weight` of rank 2 or more.
std::set<std::string> matrix_modules(const Checkpoint& checkpoint) {
  std::set<std::string> modules;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    for (const std::string_view suffix : {".weight", ".qweight", ".weight_packed"}) {
      if (tensor.shape.size() < 2 || !tensor.name.ends_with(suffix)) continue;
      modules.insert(tensor.name.substr(0, tensor.name.size() - suffix.size()));
    }
  }
  return modules;
}

void load_every_matrix(const std::filesystem::path& folder) {
  SCOPED_TRACE(folder.string());
  auto opened = Checkpoint::open(folder);
  ASSERT_TRUE(opened.ok()) << opened.failure().message();
  std::set<std::string> used;
  for (const std::string& module : matrix_modules(*opened)) {
    MatrixShape shape;
    if (opened->is_gguf()) {
      const auto& dims = opened->find(module + ".weight")->shape;
      shape = {static_cast<uint32_t>(dims[dims.size() - 2]), static_cast<uint32_t>(dims.back()),
               static_cast<uint32_t>(dims.size() == 3 ? dims[0] : 0)};
    } else {
      shape = shape_by_config(opened->config(), module);
    }
    const auto matrix = load_matrix(*opened, module, shape);
    ASSERT_TRUE(matrix.ok()) << matrix.failure().message();
    std::vector<float> row(matrix->cols());
    double sum_of_squares = 0;
    for (uint64_t r = 0; r < matrix->row_count(); ++r) {
      matrix->dequantize_row(r, row.data());
      for (const float value : row) sum_of_squares += double{value} * double{value};
    }
    const double rms = std::sqrt(sum_of_squares / static_cast<double>(matrix->row_count() * matrix->cols()));
    EXPECT_TRUE(rms > 1e-3 && rms < 10) << module << " rms " << rms;
    for (const std::string& name : weight_tensors(*opened, module)) used.insert(name);
  }
  for (const TensorInfo& tensor : opened->tensors()) {
    if (used.contains(tensor.name) || is_unneeded_tensor(tensor.name)) continue;
    const auto vector = load_vector(*opened, tensor.name, tensor.count());
    EXPECT_TRUE(vector.ok()) << vector.failure().message();
  }
}

TEST(LoadMatrix, ReadsEveryMatrixOfTheGoldenCheckpoints) {
  const auto root = testing::golden("quant");
  if (!root) GTEST_SKIP() << "golden/quant is absent";
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*root)) {
    if (!entry.is_directory()) continue;
    load_every_matrix(entry.path());
    ++cases;
  }
  EXPECT_GT(cases, 0);
}

TEST(LoadMatrix, BlocksOfEveryGgufTypeMatchTheReferenceDecoder) {
  const auto path = testing::golden("numeric/gguf_blocks.safetensors");
  if (!path) GTEST_SKIP() << "golden/numeric is absent";
  auto file = InputFile::open(*path);
  ASSERT_TRUE(file.ok());
  const auto header = read_safetensors_header(*file);
  ASSERT_TRUE(header.ok()) << header.failure().message();
  int forms = 0;
  for (const TensorInfo& tensor : header->tensors) {
    if (!tensor.name.ends_with(".blocks")) continue;
    const std::string name = tensor.name.substr(0, tensor.name.size() - 7);
    const auto values = std::find_if(header->tensors.begin(), header->tensors.end(),
                                     [&](const TensorInfo& other) { return other.name == name + ".values"; });
    ASSERT_NE(values, header->tensors.end());
    std::vector<std::byte> blocks(tensor.bytes);
    std::vector<float> expected(values->count()), row(values->count());
    ASSERT_TRUE(file->read(tensor.offset, blocks).ok());
    ASSERT_TRUE(file->read(values->offset, std::as_writable_bytes(std::span(expected))).ok());
    QuantParts parts;
    parts.form = parse_quant_form(name).value();
    parts.rows = 1;
    parts.cols = static_cast<uint32_t>(expected.size());
    parts.codes = {blocks, DType::kU8};
    QuantMatrix::make(parts).value().dequantize_row(0, row.data());
    for (size_t i = 0; i < row.size(); ++i) ASSERT_EQ(row[i], expected[i]) << name << " at " << i;
    ++forms;
  }
  EXPECT_EQ(forms, 11);
}

// A folder with one tensor set and a config, for refusals.
class OneModule : public testing::ScratchFolder {
 protected:
  std::string load(const std::vector<TensorToWrite>& tensors, const std::string& config, MatrixShape shape) {
    write("config.json", config);
    EXPECT_TRUE(write_safetensors(path("model.safetensors"), tensors).ok());
    auto opened = Checkpoint::open(folder());
    if (!opened.ok()) return opened.failure().message();
    const auto matrix = load_matrix(*opened, "m", shape);
    return matrix.ok() ? "loaded as " + std::string(quant_form_name(matrix->form())) : matrix.failure().message();
  }
  std::span<const std::byte> zeros(size_t count) {
    storage_.emplace_back(count);
    return storage_.back();
  }
  std::span<const std::byte> bytes(std::vector<uint8_t> values) {
    storage_.emplace_back(values.size());
    std::memcpy(storage_.back().data(), values.data(), values.size());
    return storage_.back();
  }

 private:
  std::vector<std::vector<std::byte>> storage_;
};

constexpr const char* kMlx = R"({"quantization": {"bits": 4, "group_size": 64}})";

TEST_F(OneModule, MlxWidthComesFromShapesAndMustAgreeWithTheSection) {
  const std::vector<TensorToWrite> tensors = {{"m.weight", DType::kU32, {2, 16}, zeros(128)},
                                              {"m.scales", DType::kBF16, {2, 2}, zeros(8)},
                                              {"m.biases", DType::kBF16, {2, 2}, zeros(8)}};
  EXPECT_EQ(load(tensors, kMlx, {2, 128}), "loaded as mlx-affine");
  EXPECT_EQ(load(tensors, "{}", {2, 128}), "loaded as mlx-affine");
  EXPECT_THAT(load(tensors, R"({"quantization": {"bits": 8, "group_size": 64}})", {2, 128}),
              HasSubstr("tensor `m.weight`: has 4 bits in groups of 64; the config's section says 8 bits"));
  EXPECT_THAT(load(tensors, R"({"quantization": {"bits": 4, "group_size": 64, "m": false}})", {2, 128}), HasSubstr("leaves `m` dense"));
  EXPECT_THAT(load(tensors, R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64}})", {2, 128}),
              HasSubstr("is mlx affine; the config's section says awq"));
  EXPECT_THAT(load(tensors, kMlx, {3, 128}), HasSubstr("shape [2, 16]; a weight of 3 x 128 asks for [3, 16]"));
  EXPECT_THAT(load(tensors, kMlx, {2, 100}), HasSubstr("16 words a row do not hold 100 codes"));
}

TEST_F(OneModule, SeveralSuffixSetsAreRefused) {
  EXPECT_THAT(load({{"m.weight", DType::kF32, {2, 8}, zeros(64)},
                    {"m.qweight", DType::kI32, {1, 2}, zeros(8)},
                    {"m.scales", DType::kF16, {1, 2}, zeros(4)}},
                   "{}", {2, 8}),
              HasSubstr("make several forms: `m.weight`, `m.qweight`, `m.scales`"));
  EXPECT_THAT(load({{"m.weight", DType::kI64, {2, 8}, zeros(128)}}, "{}", {2, 8}), HasSubstr("make no known form"));
  EXPECT_THAT(load({{"other", DType::kI64, {1}, zeros(8)}}, "{}", {2, 8}), HasSubstr("no tensor of weight `m`"));
}

TEST_F(OneModule, DenseShapesMayHaveDimensionsOfOne) {
  EXPECT_EQ(load({{"m.weight", DType::kF32, {2, 1, 8}, zeros(64)}}, "{}", {2, 8}), "loaded as f32");
  EXPECT_EQ(load({{"m", DType::kF32, {3, 8, 2}, zeros(192)}}, "{}", {2, 8, 3, true}), "loaded as f32");
  EXPECT_THAT(load({{"m.weight", DType::kF32, {8, 2}, zeros(64)}}, "{}", {2, 8}), HasSubstr("shape [8, 2]"));
}

TEST_F(OneModule, ScalesThatAreNotNumbersAreRefused_S31) {
  const auto nan = bytes({0x00, 0x00, 0xc0, 0x7f});
  EXPECT_THAT(load({{"m.weight", DType::kF8E4M3, {2, 2}, zeros(4)}, {"m.weight_scale", DType::kF32, {}, nan}}, "{}", {2, 2}),
              HasSubstr("weight `m`: scale of row 0, group 0 is not a finite number"));
  EXPECT_EQ(load({{"m.weight", DType::kF8E4M3, {2, 2}, zeros(4)}, {"m.weight_scale", DType::kF32, {}, zeros(4)}}, "{}", {2, 2}),
            "loaded as fp8");
}

TEST_F(OneModule, Fp8TilesComeFromTheSectionOnly) {
  const std::vector<TensorToWrite> tensors = {{"m.weight", DType::kF8E4M3, {6, 6}, zeros(36)},
                                              {"m.weight_scale_inv", DType::kF32, {2, 2}, zeros(16)}};
  EXPECT_THAT(load(tensors, "{}", {6, 6}), HasSubstr("nor has the config a `weight_block_size`"));
  EXPECT_EQ(load(tensors, R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [4, 4]}})", {6, 6}), "loaded as fp8");
  EXPECT_THAT(load(tensors, R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [2, 2]}})", {6, 6}),
              HasSubstr("ask for 9 scales"));
}

TEST_F(OneModule, Mxfp4IsBlocksAndScalesBesideEachOther) {
  std::vector<TensorToWrite> tensors = {{"m_blocks", DType::kU8, {3, 2, 2, 16}, zeros(192)}, {"m_scales", DType::kU8, {3, 2, 2}, zeros(12)}};
  const std::string section = R"({"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["layers.*.m"]}})";
  EXPECT_EQ(load(tensors, section, {2, 64, 3}), "loaded as mxfp4-split");
  EXPECT_THAT(load(tensors, section, {2, 32, 3}), HasSubstr("tensor `m_blocks`: shape [3, 2, 2, 16]"));
  EXPECT_THAT(load(tensors, R"({"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["m"]}})", {2, 64, 3}),
              HasSubstr("leaves `m` dense"));
  EXPECT_THAT(load({tensors[0]}, section, {2, 64, 3}), HasSubstr("make no known form: `m_blocks`"));
}

constexpr const char* kGptq = R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8, "sym": false}})";

TEST_F(OneModule, GptqZeroPointsThatVersionOneCannotStoreAreRefused) {
  std::vector<TensorToWrite> tensors = {{"m.qweight", DType::kI32, {1, 8}, zeros(32)},
                                        {"m.qzeros", DType::kI32, {1, 1}, bytes({0x77, 0x77, 0x77, 0x77})},
                                        {"m.scales", DType::kF16, {1, 8}, zeros(16)}};
  EXPECT_EQ(load(tensors, kGptq, {8, 8}), "loaded as gptq");
  tensors[1].bytes = bytes({0xf7, 0x77, 0x77, 0x77});
  EXPECT_THAT(load(tensors, kGptq, {8, 8}), HasSubstr("tensor `m.qzeros`: word 0 holds a zero point of 0"));
}

TEST_F(OneModule, GptqGroupIndexMustBeInRangeAndMatchTheSection) {
  std::vector<TensorToWrite> tensors = {{"m.qweight", DType::kI32, {1, 8}, zeros(32)},
                                        {"m.qzeros", DType::kI32, {2, 1}, zeros(8)},
                                        {"m.scales", DType::kF16, {2, 8}, zeros(32)},
                                        {"m.g_idx", DType::kI32, {8}, bytes({1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                                             1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0})}};
  const std::string plain = R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 4}})";
  const std::string ordered = R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 4, "desc_act": true}})";
  EXPECT_THAT(load(tensors, plain, {8, 8}), HasSubstr("`desc_act` false"));
  EXPECT_EQ(load(tensors, ordered, {8, 8}), "loaded as gptq");
  std::vector<uint8_t> bad(32, 0);
  bad[3] = 0x80;
  tensors[3].bytes = bytes(bad);
  EXPECT_THAT(load(tensors, ordered, {8, 8}), HasSubstr("entry -2147483648 is not in 0 .. 1"));
}

TEST_F(OneModule, VectorsAreWidenedAndCounted) {
  const auto ones = bytes({0x80, 0x3f, 0x00, 0xc0});
  ASSERT_TRUE(write_safetensors(path("model.safetensors"), {{"norm.weight", DType::kBF16, {2}, ones}}).ok());
  const auto opened = Checkpoint::open(folder());
  ASSERT_TRUE(opened.ok()) << opened.failure().message();
  EXPECT_EQ(load_vector(*opened, "norm.weight", 2).value(), (std::vector<float>{1, -2}));
  EXPECT_THAT(load_vector(*opened, "norm.weight", 3).failure().message(), HasSubstr("shape [2]; 3 elements are expected"));
  EXPECT_THAT(load_vector(*opened, "norm.bias", 3).failure().message(), HasSubstr("missing"));
}

TEST_F(OneModule, ScratchPackedNamesUseSlashes) {
  ASSERT_TRUE(write_safetensors(path("model.safetensors"),
                                {{"layers/0/attn/q_proj/weight__bin", DType::kU8, {1, 1}, bytes({0xb1})},
                                 {"layers/0/attn/q_proj/weight__scale", DType::kF16, {1}, bytes({0x00, 0x3c})},
                                 {"layers/0/attn/q_proj/weight__shape", DType::kI32, {2}, bytes({1, 0, 0, 0, 8, 0, 0, 0})}},
                                {{"format", "scratch-packed"}})
                  .ok());
  const auto opened = Checkpoint::open(folder());
  ASSERT_TRUE(opened.ok());
  const auto matrix = load_matrix(*opened, "layers.0.attn.q_proj", {1, 8});
  ASSERT_TRUE(matrix.ok()) << matrix.failure().message();
  std::vector<float> row(8);
  matrix->dequantize_row(0, row.data());
  EXPECT_EQ(row, (std::vector<float>{1, -1, 1, 1, -1, -1, -1, 1}));
}

}  // namespace
}  // namespace scratchy
