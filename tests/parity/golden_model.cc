#include "golden_model.h"

#include <cstring>

#include "checkpoint/safetensors.h"
#include "compiler/pipeline.h"
#include "graph/verify.h"
#include "testing/goldens.h"

namespace scratchy::parity {
namespace {

Status build(GoldenModel& model, const std::filesystem::path& folder, const std::string& arch, const std::string& config_name, int64_t context_length) {
  Diagnostics diagnostics;
  const auto failed = [&] { return Failure(diagnostics.to_text()); };
  model.registry = ModelRegistry::load(testing::source_dir() / "models", model.sources, diagnostics);
  if (!model.registry) return failed();
  const ArchDecl* decl = model.registry->find(arch, diagnostics);
  if (decl == nullptr) return failed();
  std::optional<ModelFacts> facts = model.registry->bind(*decl, (folder / config_name).string(), model.sources, diagnostics);
  const std::optional<Program> program = facts ? read_architecture(*decl, model.registry->directory(), model.sources, diagnostics) : std::nullopt;
  if (!program) return failed();
  PipelineOptions options;
  options.max_context = static_cast<int32_t>(context_length);
  std::optional<OptimizedModel> traced = optimize_model(*decl, *program, std::move(*facts), options, diagnostics);
  if (!traced) return failed();
  model.graph = *traced->built;
  for (const std::string& complaint : verify(model.graph, "build")) return Failure(complaint);
  model.plan = std::move(traced->weights);
  return Done{};
}

struct Bytes {
  std::vector<std::byte> bytes;
  DType dtype;
};

Result<Bytes> read_tensor(const std::filesystem::path& path, const std::string& name) {
  TRY(const InputFile file, InputFile::open(path));
  TRY(const SafetensorsHeader header, read_safetensors_header(file));
  for (const TensorInfo& tensor : header.tensors) {
    if (tensor.name != name) continue;
    Bytes out{std::vector<std::byte>(tensor.bytes), tensor.dtype};
    TRY_STATUS(file.read(tensor.offset, out.bytes));
    return out;
  }
  return Failure(path.string() + " has no tensor `" + name + "`");
}

}  // namespace

Result<std::unique_ptr<GoldenModel>> load_golden_model(const std::filesystem::path& folder, const std::string& arch, const std::string& config_name, int64_t context_length) {
  auto model = std::make_unique<GoldenModel>();
  TRY_STATUS(build(*model, folder, arch, config_name, context_length));
  TRY(ModelWeights weights, ModelWeights::open(folder, model->graph, model->plan));
  model->weights = std::move(weights);
  return model;
}

Result<std::vector<float>> read_expected(const std::filesystem::path& file, const std::string& name) {
  TRY(const Bytes tensor, read_tensor(file, name));
  if (tensor.dtype != DType::kF32) return Failure("`" + name + "` is not F32");
  std::vector<float> out(tensor.bytes.size() / sizeof(float));
  std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
  return out;
}

Result<std::vector<int32_t>> read_expected_ids(const std::filesystem::path& file, const std::string& name) {
  TRY(const Bytes tensor, read_tensor(file, name));
  if (tensor.dtype != DType::kI32) return Failure("`" + name + "` is not I32");
  std::vector<int32_t> out(tensor.bytes.size() / sizeof(int32_t));
  std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
  return out;
}

}  // namespace scratchy::parity
