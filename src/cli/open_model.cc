#include "cli/open_model.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>

#include "base/check_processor.h"
#include "base/text.h"

namespace scratchy::cli {
namespace {

// What a checkpoint says it is, for messages.
std::string described(const Checkpoint& checkpoint) {
  if (checkpoint.is_gguf()) {
    const auto name = checkpoint.gguf().text("general.architecture");
    return name.ok() && *name ? "`" + escape_for_message(**name) + "`" : "of no stated architecture";
  }
  const Json& config = checkpoint.config();
  if (config.is_object() && config.contains("architectures") && config["architectures"].is_array() && !config["architectures"].empty() && config["architectures"][0].is_string()) {
    return "`" + escape_for_message(config["architectures"][0].get<std::string>()) + "`";
  }
  return "of no stated architecture";
}

bool has_architecture(const Checkpoint& checkpoint) {
  if (!checkpoint.is_gguf()) return true;  // class names are matched by content only
  const auto name = checkpoint.gguf().text("general.architecture");
  for (int i = 0; i < kProgramCount; ++i) {
    if (name.ok() && *name && **name == kPrograms[i]->arch) return true;
  }
  return false;
}

Result<const CompiledProgram*> select_program(const Checkpoint& checkpoint, int64_t positions) {
  Result<const CompiledProgram*> program = Model::select(checkpoint, positions);
  if (program.ok()) return program;
  const char* known = has_architecture(checkpoint) ? "" : ", an architecture that this binary may not have been compiled for";
  return Failure(program.failure().message() + "\n  the checkpoint is " + described(checkpoint) + known + "; compile it with `scratchy run CHECKPOINT`, or see `scr model info`");
}

// Weights packed so far, on a terminal.
std::function<void(size_t, size_t)> show_progress() {
  if (::isatty(2) == 0) return {};
  return [](size_t done, size_t total) {
    std::fprintf(stderr, "\rpacking weights %zu of %zu", done, total);
    if (done == total) std::fprintf(stderr, "\r\x1b[K");
    std::fflush(stderr);
  };
}

}  // namespace

Status check_programs() {
  for (int i = 0; i < kProgramCount; ++i) TRY_STATUS(check_processor(kPrograms[i]->profile));
  return Done{};
}

WeightStore::Options weight_options() {
  WeightStore::Options options;
  options.cache_dir = user_pack_dir();
  options.progress = show_progress();
  options.not_kept = [](const Failure& why) { std::fprintf(stderr, "note: the packed weights are not kept, so every start packs them anew: %s\n", why.message().c_str()); };
  return options;
}

Result<OpenedModel> open_model(const std::string& path, const OpenOptions& options) {
  TRY_STATUS(check_programs());
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Failure("`" + escape_for_message(path, 400) + "`: no such file or folder; name a GGUF file or the folder of a checkpoint");
  TRY(Checkpoint opened, Checkpoint::open(path));
  auto checkpoint = std::make_unique<Checkpoint>(std::move(opened));
  TRY(const CompiledProgram* program, select_program(*checkpoint, options.max_context));
  if (program->whole_prompt) return Failure("`" + escape_for_message(path, 400) + "` is an encoder: it reads texts and does not answer");
  TRY(const TextSource source, TextSource::of(*checkpoint));
  std::optional<Result<TextModel>> text;
  const auto read_text = [&] { text.emplace(load_text_model(source, options.wants_template, options.template_file)); };
  std::thread reader;
  try {
    reader = std::thread(read_text);
  } catch (const std::system_error&) {  // no thread is to be had: one after the other
    read_text();
  }
  ModelOptions model_options;
  model_options.threads = options.threads;
  model_options.max_context = options.max_context;
  model_options.weights = weight_options();
  Result<std::unique_ptr<Model>> model = Model::load(*program, *checkpoint, model_options);
  if (reader.joinable()) reader.join();
  if (!model.ok()) return std::move(model).failure();
  if (!text->ok()) return std::move(*text).failure();
  if ((*model)->threads() < options.threads) std::fprintf(stderr, "note: the system gives %d of %d threads\n", (*model)->threads(), options.threads);
  TRY(GenerationDefaults defaults, generation_defaults(source));
  return OpenedModel{std::move(checkpoint), *std::move(model), **std::move(text), std::move(defaults)};
}

}  // namespace scratchy::cli
