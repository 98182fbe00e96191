// Chat templates: Jinja as Hugging Face's transformers sets it up, from messages to prompt.
//
// A template is parsed once and rendered for many requests, from any number of threads. It is code from a stranger: it
// runs in a sandbox without attributes, files or time, pays for every step, and its output is never parsed again.
// Failures say "line N: ..."; what raise_exception says is passed on word for word.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace scratchy {

constexpr size_t kMaxTemplateBytes = size_t{4} << 20;

struct RenderInput {
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  nlohmann::ordered_json tools;      // null: none
  nlohmann::ordered_json documents;  // null: none
  bool add_generation_prompt = false;
  // More variables, bos_token and eos_token among them. May not name one of the four above.
  nlohmann::ordered_json kwargs = nlohmann::ordered_json::object();
  // What strftime_now shows; the local time when absent.
  std::optional<std::tm> clock;
};

class ChatTemplate {
 public:
  // Refuses what Jinja refuses at compile time: syntax, unknown tags, filters and tests, all with their line.
  static Result<ChatTemplate> parse(std::string_view source);
  ChatTemplate(ChatTemplate&& other) noexcept;
  ChatTemplate& operator=(ChatTemplate&& other) noexcept;
  ~ChatTemplate();

  Result<std::string> render(const RenderInput& input) const;

 private:
  struct Tree;
  explicit ChatTemplate(std::unique_ptr<const Tree> tree);
  std::unique_ptr<const Tree> tree_;
};

// What transformers does to messages before a template sees them: members that are null are dropped; reasoning, under
// any of its names, is copied to `thinking` (in front) and `reasoning_content`.
Result<nlohmann::ordered_json> prepare_messages(const nlohmann::ordered_json& messages);

}  // namespace scratchy
