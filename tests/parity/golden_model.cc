#include "golden_model.h"

#include <cstring>

#include "checkpoint/check_tensors.h"
#include "checkpoint/load_weight.h"
#include "checkpoint/safetensors.h"
#include "dsl/program.h"
#include "graph/build.h"
#include "graph/verify.h"
#include "testing/goldens.h"

namespace scratchy::parity {
namespace {

Status build(GoldenModel& model, const std::filesystem::path& folder, const std::string& arch, const std::string& config_name, int64_t context_length) {
  Diagnostics diagnostics;
  const auto failed = [&] { return Failure(diagnostics.to_text()); };
  const std::filesystem::path models = testing::source_dir() / "models";
  model.registry = ModelRegistry::load(models, model.sources, diagnostics);
  if (!model.registry) return failed();
  const ArchDecl* decl = model.registry->find(arch, diagnostics);
  if (decl == nullptr) return failed();
  std::optional<ModelFacts> facts = model.registry->bind(*decl, (folder / config_name).string(), model.sources, diagnostics);
  if (!facts) return failed();
  model.facts = std::move(*facts);
  if (context_length > 0) model.facts.values["context_length"] = Constant::integer(context_length);

  TRY(std::string prelude, read_file(models / "std.fwd"));
  TRY(std::string text, read_file(models / arch / "forward.fwd"));
  const SourceFile& prelude_file = model.sources.add("models/std.fwd", std::move(prelude));
  const SourceFile& arch_file = model.sources.add("models/" + arch + "/forward.fwd", std::move(text));
  const std::optional<Program> program = read_program(prelude_file, arch_file, diagnostics);
  if (!program || !check_names(*program, vocabulary_of(model.facts), diagnostics)) return failed();
  std::optional<Graph> graph = build_graph(*program, model.facts, diagnostics);
  if (!graph) return failed();
  model.graph = std::move(*graph);
  for (const std::string& complaint : verify(model.graph, "build")) return Failure(complaint);

  std::vector<WeightUse> uses;
  for (const Resource& resource : model.graph.resources) {
    const bool is_weight = resource.kind == ResourceKind::kWeight;
    model.source_of.push_back(is_weight ? static_cast<int>(uses.size()) : -1);
    if (is_weight) uses.push_back({resource.name, resource.layer, resource.type.dims});
  }
  std::optional<WeightPlan> plan = plan_weights(*decl, model.facts, uses, diagnostics);
  if (!plan) return failed();
  model.plan = std::move(*plan);
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

Result<std::vector<float>> GoldenModel::weight(ResourceId id) const {
  const WeightSource& source = plan.sources[static_cast<size_t>(source_of[static_cast<size_t>(id.index)])];
  TRY(const LoadedWeight loaded, load_weight(*checkpoint, {root_decoder, root_outer}, source));
  if (loaded.matrices.empty()) return loaded.dense;
  std::vector<float> out;
  for (const QuantMatrix& matrix : loaded.matrices) {
    for (uint64_t row = 0; row < matrix.row_count(); ++row) {
      out.resize(out.size() + matrix.cols());
      matrix.dequantize_row(row, out.data() + out.size() - matrix.cols());
    }
  }
  return out;
}

Result<std::unique_ptr<GoldenModel>> load_golden_model(const std::filesystem::path& folder, const std::string& arch, const std::string& config_name, int64_t context_length) {
  auto model = std::make_unique<GoldenModel>();
  TRY_STATUS(build(*model, folder, arch, config_name, context_length));
  TRY(Checkpoint checkpoint, Checkpoint::open(folder));
  model->checkpoint = std::move(checkpoint);
  TRY(const WeightRoot root, check_tensors(*model->checkpoint, model->plan.view()));
  model->root_decoder = root.decoder;
  model->root_outer = root.outer;
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
