#include "compiler/step_profile.h"

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace scratchy {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{64} << 20;

MeasuredTape tape_of(const nlohmann::json& json) {
  MeasuredTape tape{json.at("rows"), json.at("depth"), {}};
  for (const nlohmann::json& step : json.at("steps")) tape.steps.push_back({step.at("wait_s"), step.at("kernel_s")});
  return tape;
}

}  // namespace

Result<StepProfile> read_step_profile(const std::filesystem::path& path) {
  TRY(const std::string text, read_file(path, kMaxBytes));
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    return StepProfile{json.at("arch"), json.at("stem"), json.at("quant"), tape_of(json.at("decode")), tape_of(json.at("prompt"))};
  } catch (const nlohmann::json::exception& error) {
    return Failure("`" + path.string() + "` is not a profile of `scr bench latency --profile`: " + error.what());
  }
}

}  // namespace scratchy
