// Parity with Hugging Face: every golden checkpoint, its text traced and interpreted, gives the expected logits.
//
// Tolerances are relative to the largest logit of the case: 1e-5 in f32, a few times what another order of summation
// costs (1e-6 to 5e-6), and 2e-7 in f64, where the expected numbers were rounded to f32.
// Passes may reorder sums: a pass keeps the f64 logits within 1e-12.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "golden_model.h"
#include "graph/interpret.h"
#include "graph/print.h"
#include "graph/verify.h"
#include "passes/optimize.h"
#include "testing/goldens.h"

namespace scratchy::parity {
namespace {

constexpr double kTolerance32 = 1e-5;
constexpr double kTolerance64 = 2e-7;
constexpr double kPassTolerance = 1e-12;

struct Case {
  const char* name;
  int64_t context_length = 0;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

std::string test_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '/' || c == '-'; }, '_');
  return name;
}

class Parity : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const auto found = scratchy::testing::golden(std::string("models/") + GetParam().name);
    if (!found) GTEST_SKIP() << "no golden data for " << GetParam().name;
    folder_ = *found;
  }

  std::string arch() const { return std::string(GetParam().name).substr(0, std::string(GetParam().name).find('/')); }
  std::filesystem::path expected() const { return folder_ / "expected.safetensors"; }
  Result<std::unique_ptr<GoldenModel>> load(const std::string& config) const { return load_golden_model(folder_, arch(), config, GetParam().context_length); }

  std::filesystem::path folder_;
};

// The largest difference over the largest expected number.
template <typename Real>
double distance(const std::vector<Real>& seen, const float* expected, size_t count) {
  if (seen.size() != count) return INFINITY;
  double worst = 0, largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const double difference = std::abs(static_cast<double>(seen[i]) - static_cast<double>(expected[i]));
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return worst / largest;
}

template <typename Real>
typename Interpreter<Real>::Weights weights_of(const GoldenModel& model) {
  return [&model](ResourceId id) -> Result<std::vector<Real>> {
    TRY(const std::vector<float> numbers, model.weights->weight(id));
    return std::vector<Real>(numbers.begin(), numbers.end());
  };
}

TEST_P(Parity, PrefillAndDecodeInF32AreTheExpectedOnes) {
  const auto model = load("config.json");
  ASSERT_TRUE(model.ok()) << model.failure().message();
  const std::vector<int32_t> ids = read_expected_ids(expected(), "input_ids").value();
  const std::vector<float> logits = read_expected(expected(), "logits").value();
  Interpreter<float> interpreter((*model)->graph, weights_of<float>(**model));
  Sequence<float> sequence;
  auto out = interpreter.step(sequence, {.ids = ids});
  ASSERT_TRUE(out.ok()) << out.failure().message();
  EXPECT_LT(distance(out->at("logits").data, logits.data(), logits.size()), kTolerance32);
  if (arch() == "modernbert") {
    const std::vector<float> hidden = read_expected(expected(), "hidden").value();
    EXPECT_LT(distance(out->at("hidden").data, hidden.data(), hidden.size()), kTolerance32);
    return;
  }
  const std::vector<int32_t> decode_ids = read_expected_ids(expected(), "decode_ids").value();
  const std::vector<float> decode_logits = read_expected(expected(), "decode_logits").value();
  const size_t width = logits.size() / ids.size();
  std::vector<float> row(out->at("logits").data.end() - static_cast<ptrdiff_t>(width), out->at("logits").data.end());
  for (size_t i = 0; i < decode_ids.size(); ++i) {
    EXPECT_LT(distance(row, &decode_logits[i * width], width), kTolerance32) << "decode step " << i;
    ASSERT_EQ(std::max_element(row.begin(), row.end()) - row.begin(), decode_ids[i]) << "decode step " << i;
    out = interpreter.step(sequence, {.ids = {decode_ids[i]}});
    ASSERT_TRUE(out.ok());
    row = out->at("logits").data;
  }
}

TEST_P(Parity, PrefillInF64IsTheExpectedOne) {
  const auto model = load("config.json");
  ASSERT_TRUE(model.ok()) << model.failure().message();
  const std::vector<float> logits = read_expected(expected(), "logits_f64cast").value();
  Interpreter<double> interpreter((*model)->graph, weights_of<double>(**model));
  Sequence<double> sequence;
  const auto out = interpreter.step(sequence, {.ids = read_expected_ids(expected(), "input_ids").value()});
  ASSERT_TRUE(out.ok()) << out.failure().message();
  EXPECT_LT(distance(out->at("logits").data, logits.data(), logits.size()), kTolerance64);
}

TEST_P(Parity, OtherSpellingsOfTheConfigGiveTheSameGraph) {
  const auto model = load("config.json");
  ASSERT_TRUE(model.ok()) << model.failure().message();
  for (const char* config : {"config.v4.json", "config.v5.json"}) {
    if (!std::filesystem::exists(folder_ / config)) continue;
    const auto other = load(config);
    ASSERT_TRUE(other.ok()) << config << ": " << other.failure().message();
    EXPECT_EQ(print((*other)->graph), print((*model)->graph)) << config;
  }
}

// Every pass leaves a graph that verifies and, interpreted, gives what the traced graph gives, fused or plain.
TEST_P(Parity, PassesKeepTheMeaning) {
  const auto model = load("config.json");
  ASSERT_TRUE(model.ok()) << model.failure().message();
  const StepInput prompt{.ids = read_expected_ids(expected(), "input_ids").value()};
  const auto run = [&](const Graph& graph) {
    Interpreter<double> interpreter(graph, weights_of<double>(**model));
    Sequence<double> sequence;
    return interpreter.step(sequence, prompt).value().at("logits").data;
  };
  const std::vector<double> before = run((*model)->graph);
  for (const bool fuse : {true, false}) {
    Graph graph = (*model)->graph;
    PassOptions options{.fuse = fuse, .max_context = 128, .after_pass = [](std::string_view pass, const Graph& after) {
                          for (const std::string& complaint : verify(after, std::string(pass))) ADD_FAILURE() << complaint;
                        }};
    optimize(graph, options);
    ASSERT_FALSE(HasFailure());
    std::vector<double> after = run(graph);
    ASSERT_EQ(after.size(), before.size());
    double worst = 0, largest = 0;
    for (size_t i = 0; i < after.size(); ++i) {
      worst = std::max(worst, std::abs(after[i] - before[i]));
      largest = std::max(largest, std::abs(before[i]));
    }
    EXPECT_LT(worst / largest, kPassTolerance) << (fuse ? "fused" : "plain");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Golden, Parity,
    ::testing::Values(Case{"llama/plain"}, Case{"llama/rope-llama3"}, Case{"llama/biases"}, Case{"mistral/head-dim"}, Case{"mistral/window"}, Case{"phi3/plain"}, Case{"phi3/window"},
                      Case{"phi3/longrope-short", 64}, Case{"phi3/longrope-long"}, Case{"phi3/partial"}, Case{"qwen2/tied"}, Case{"qwen2/untied"}, Case{"qwen3/tied"},
                      Case{"qwen3/untied"}, Case{"granite/multipliers"}, Case{"granite/untied"}, Case{"commandr/plain"}, Case{"commandr/qk-norm"}, Case{"gemma2/plain"},
                      Case{"gemma2/odd"}, Case{"gemma3/text"}, Case{"gemma3/linear"}, Case{"gemma4/classes"}, Case{"gemma4/unified"}, Case{"gemma4/small"},
                      Case{"modernbert/base"}, Case{"modernbert/biases"}, Case{"mixtral/gqa"}, Case{"mixtral/window"}, Case{"qwen2-moe/norm-false"}, Case{"qwen2-moe/norm-true-dense-layer"},
                      Case{"qwen3-moe/norm-true"}, Case{"qwen3-moe/norm-false-every-second"}, Case{"deepseek-v2/lite"}, Case{"deepseek-v2/grouped"},
                      Case{"deepseek-v3/yarn"}, Case{"deepseek-v3/plain"}, Case{"deepseek-v3/one-group"}, Case{"deepseek-v3-flat/flat"},
                      Case{"deepseek-v3-flat/norm-false-yarn"}, Case{"qwen3-5/period-4"}, Case{"qwen3-5/irregular"}, Case{"qwen3-5-moe/period-4"},
                      Case{"qwen3-5-moe/irregular"}, Case{"gemma4-moe/k-is-v"}, Case{"gemma4-moe/irregular"}, Case{"glm4-moe/air"}, Case{"glm4-moe/qk-norm"},
                      Case{"gpt-oss/window-and-full"}, Case{"gpt-oss/irregular"}),
    test_name);

INSTANTIATE_TEST_SUITE_P(Scratch, Parity, ::testing::Values(Case{"scratch-moe/tiny"}, Case{"scratch-moe/odd-widths"}, Case{"scratch-moe/true-shapes"}), test_name);

}  // namespace
}  // namespace scratchy::parity
