// scr template: what a chat template makes of messages. They go into it as they are.

#include <filesystem>
#include <memory>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "runtime/load_text.h"

namespace scratchy::cli {
namespace {

using Json = nlohmann::ordered_json;

Result<std::string> render(const ChatTemplate& chat_template, const Json& special, const Json& line) {
  for (const auto& [key, value] : line.items()) {
    const bool known = key == "messages" || key == "tools" || key == "documents" || key == "add_generation_prompt" || key == "kwargs";
    if (!known) return Failure("unknown member `" + key.substr(0, 80) + "`; known are messages, tools, documents, add_generation_prompt, kwargs");
  }
  RenderInput input;
  input.messages = line.value("messages", Json::array());
  input.tools = line.value("tools", Json());
  input.documents = line.value("documents", Json());
  const Json prompt = line.value("add_generation_prompt", Json(false));
  if (!prompt.is_boolean()) return Failure("`add_generation_prompt` must be true or false");
  input.add_generation_prompt = prompt.get<bool>();
  input.kwargs = special;
  const Json kwargs = line.value("kwargs", Json::object());
  if (!kwargs.is_object()) return Failure("`kwargs` must be an object");
  for (const auto& [key, value] : kwargs.items()) input.kwargs[key] = value;
  return chat_template.render(input);
}

Result<int> run_template(const std::string& path) {
  Json special = Json::object();
  std::string text;
  if (std::filesystem::path(path).extension() == ".jinja") {
    TRY(text, read_file(path, kMaxTemplateBytes));
  } else {
    TRY(const TextSource source, TextSource::open(path));
    TRY(text, source.template_text());
    TRY(special, source.special_tokens());
  }
  Result<ChatTemplate> parsed = ChatTemplate::parse(text);
  return answer_json_lines([&](const Json& line) -> Result<Json> {
    if (!parsed.ok()) return parsed.failure();
    TRY(const std::string rendered, render(*parsed, special, line));
    return Json{{"text", rendered}};
  });
}

}  // namespace

void add_template(Command& app) {
  auto path = std::make_shared<std::string>();
  auto lines = std::make_shared<bool>(false);
  Command* command = app.add_command("template", "text that a chat template makes of messages");
  command->add_option("path", *path, ".jinja file, checkpoint folder or GGUF file")->required();
  command->add_flag("--jsonl", *lines, R"({"messages":[...],"tools":[...],"add_generation_prompt":bool,"kwargs":{...}} a line in, {"text":...} or {"error":...} a line out)")->required();
  command->runs([path, lines] {
    const Result<int> done = run_template(*path);
    return done.ok() ? *done : fail(done.failure());
  });
}

}  // namespace scratchy::cli
