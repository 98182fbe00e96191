#include "text/template/chat_template.h"

#include "base/text.h"
#include "text/template/evaluate.h"
#include "text/template/json_value.h"
#include "text/template/parser.h"

namespace scratchy {
namespace {

using Json = nlohmann::ordered_json;

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm out{};
  localtime_r(&now, &out);
  return out;
}

Failure failure_of(const jinja::RenderError& error, int line) {
  return Failure(error.verbatim ? error.message : "line " + std::to_string(line) + ": " + error.message);
}

// Defines the variables of a render; names stay in `input`.
Status define_inputs(jinja::Evaluator& evaluator, const RenderInput& input) {
  const auto define = [&](std::string_view name, const Json& json) -> Status {
    auto value = jinja::value_from_json(json);
    if (!value) return std::move(value).failure().in("`" + escape_for_message(name) + "`");
    // Work grows with what there is to render.
    evaluator.budget().grant(value->weight() * 500);
    evaluator.define(name, std::move(*value));
    return Done{};
  };
  TRY_STATUS(define("messages", input.messages));
  TRY_STATUS(define("tools", input.tools));
  TRY_STATUS(define("documents", input.documents));
  evaluator.define("add_generation_prompt", input.add_generation_prompt);
  if (!input.kwargs.is_object() && !input.kwargs.is_null()) return Failure("template arguments must be a JSON object");
  for (const auto& [name, json] : input.kwargs.items()) {
    if (name == "messages" || name == "tools" || name == "documents" || name == "add_generation_prompt") {
      return Failure("the template argument `" + name + "` is set by the request itself and cannot be overridden");
    }
    TRY_STATUS(define(name, json));
  }
  return Done{};
}

}  // namespace

struct ChatTemplate::Tree {
  jinja::Body body;
};

ChatTemplate::ChatTemplate(std::unique_ptr<const Tree> tree) : tree_(std::move(tree)) {}
ChatTemplate::ChatTemplate(ChatTemplate&& other) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&& other) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  if (source.size() > kMaxTemplateBytes) {
    return Failure("the chat template has " + with_thousands(source.size()) + " bytes; the limit is " +
                   with_thousands(kMaxTemplateBytes));
  }
  if (!is_utf8(source)) return Failure("the chat template is not UTF-8");
  try {
    auto tree = std::make_unique<Tree>();
    tree->body = jinja::parse_template(source);
    jinja::check_names(tree->body);
    return ChatTemplate(std::move(tree));
  } catch (const jinja::RenderError& error) {
    return failure_of(error, 1);
  }
}

Result<std::string> ChatTemplate::render(const RenderInput& input) const {
  jinja::Evaluator evaluator(input.clock ? *input.clock : local_time());
  try {
    // The names of kwargs must outlive the render: `items()` above yields references into `input`.
    TRY_STATUS(define_inputs(evaluator, input));
    return evaluator.render(tree_->body);
  } catch (const jinja::RenderError& error) {
    return failure_of(error, evaluator.line());
  } catch (const std::bad_alloc&) {
    return Failure("line " + std::to_string(evaluator.line()) + ": the template uses more memory than there is");
  }
}

}  // namespace scratchy
