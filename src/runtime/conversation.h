// A conversation: messages through the chat template to tokens, an answer, and again.
//
// Text of messages never becomes control tokens: where a message spells one, a mark goes in front of it before the
// template runs (a private-use character that neither messages nor template have), and what stands behind the mark in
// the rendered text is encoded as untrusted. Templates may cut, trim and copy the text in between.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/generate.h"
#include "runtime/load_text.h"

namespace scratchy {

// What is needed to turn messages into tokens and tokens into text.
struct TextModel {
  Tokenizer tokenizer;
  std::optional<ChatTemplate> chat_template;
  nlohmann::ordered_json special_tokens;
  std::vector<int32_t> end_ids;
  std::vector<std::string> controls;  // control_spellings(tokenizer)
};

// How the control tokens are spelled: what must not come true in a message.
std::vector<std::string> control_spellings(const Tokenizer& tokenizer);

// Loads all of it. `template_file` replaces the checkpoint's own template; without `wants_template` none is read.
Result<TextModel> load_text_model(const TextSource& source, bool wants_template, const std::string& template_file);

// Tokens of a text without a template: control tokens may be spelled, the tokenizer's own special tokens are added.
Result<std::vector<int32_t>> encode_raw_prompt(const TextModel& text, std::string_view prompt);

// Tokens of messages, with the opening of the next answer.
Result<std::vector<int32_t>> encode_messages(const TextModel& text, const nlohmann::ordered_json& messages);

class Conversation {
 public:
  // All must outlive this.
  Conversation(const TextModel& text, TokenSource& source, Sampler& sampler) : text_(text), source_(source), sampler_(sampler) {}

  // Forgets all messages; the system message is kept.
  void reset() { messages_.clear(); }
  // Replaces the system message and forgets the others; empty: none.
  void set_system(std::string system) {
    system_ = std::move(system);
    reset();
  }

  // One turn. After a Failure the turn did not happen.
  Result<Answer> ask(const std::string& user, const GenerateOptions& options, const std::function<void(std::string_view)>& take);

  // The system message, if any, and all turns.
  nlohmann::ordered_json messages() const;

 private:
  const TextModel& text_;
  TokenSource& source_;
  Sampler& sampler_;
  std::string system_;
  std::vector<nlohmann::ordered_json> messages_;
  std::vector<int32_t> history_;  // what source_ holds
};

}  // namespace scratchy
