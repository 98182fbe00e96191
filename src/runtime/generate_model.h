// One sequence of a loaded model as a source of tokens.
#pragma once

#include "runtime/generate.h"
#include "runtime/model.h"

namespace scratchy {

class ModelSequence : public TokenSource {
 public:
  // `model` must outlive this and have a sequence free.
  explicit ModelSequence(Model& model) : model_(model), sequence_(model.add_sequence()) {}
  ~ModelSequence() override { model_.remove_sequence(sequence_); }
  ModelSequence(const ModelSequence&) = delete;
  ModelSequence& operator=(const ModelSequence&) = delete;

  int32_t vocab_size() const override { return model_.program().vocab_size; }
  int32_t max_context() const override { return model_.max_context(); }
  int32_t max_step() const override { return model_.max_tokens(); }
  int32_t length() const override { return model_.length(sequence_); }
  bool truncate(int32_t length) override { return model_.truncate(sequence_, length); }
  Result<const float*> feed(std::span<const int32_t> tokens, bool wants_logits) override {
    const StepPart part{sequence_, tokens, wants_logits ? 1 : 0};
    TRY(const Executor::Output output, model_.step({&part, 1}));
    return wants_logits ? output.logits : nullptr;
  }

 private:
  Model& model_;
  int32_t sequence_;
};

}  // namespace scratchy
