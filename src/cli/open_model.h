// Opening what a command that runs a model needs: the processor checked, the checkpoint matched, weights and text side
// loaded side by side.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "runtime/conversation.h"
#include "runtime/generation_config.h"
#include "runtime/model.h"

namespace scratchy::cli {

struct OpenOptions {
  int threads = 0;
  int32_t max_context = 0;
  bool wants_template = true;
  std::string template_file;
};

struct OpenedModel {
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<Model> model;
  TextModel text;
  GenerationDefaults defaults;
};

// A Failure unless this processor can run the programs of this binary.
Status check_programs();

// Packs in the user's cache, with what is to be said of them on standard error.
WeightStore::Options weight_options();

Result<OpenedModel> open_model(const std::string& path, const OpenOptions& options);

}  // namespace scratchy::cli
