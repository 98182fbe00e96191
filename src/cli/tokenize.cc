// scr tokenize and scr detokenize: text to token ids and back.

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/json_lines.h"
#include "runtime/load_text.h"

namespace scratchy::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TokenizeArguments {
  std::string path;
  bool special = false, skip_special = false, lines = false;
};

Result<Tokenizer> load(const std::string& path) {
  TRY(const TextSource source, TextSource::open(path));
  return source.tokenizer();
}

Result<std::vector<int32_t>> ids_of(const Json& list) {
  if (!list.is_array()) return Failure("token ids must be a JSON array of integers");
  std::vector<int32_t> ids;
  for (const Json& id : list) {
    const bool fits = id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() <= INT32_MAX;
    if (!fits) return Failure("`" + to_text(id).substr(0, 40) + "` is no token id");
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

Result<int> tokenize(const TokenizeArguments& arguments) {
  TRY(const Tokenizer tokenizer, load(arguments.path));
  if (arguments.lines) {
    return answer_json_lines([&](const Json& line) -> Result<Json> {
      if (!line.contains("text") || !line["text"].is_string()) return Failure("`text` must be a string");
      TRY(const std::vector<int32_t> ids, tokenizer.encode(line["text"].get_ref<const std::string&>(), arguments.special));
      return Json{{"ids", ids}};
    });
  }
  TRY(const std::string text, read_standard_input());
  TRY(const std::vector<int32_t> ids, tokenizer.encode(text, arguments.special));
  print(to_text(ids) + "\n");
  return 0;
}

Result<int> detokenize(const TokenizeArguments& arguments) {
  TRY(const Tokenizer tokenizer, load(arguments.path));
  if (arguments.lines) {
    return answer_json_lines([&](const Json& line) -> Result<Json> {
      TRY(const std::vector<int32_t> ids, ids_of(line.value("ids", Json())));
      TRY(const std::string text, tokenizer.decode(ids, arguments.skip_special));
      return Json{{"text", text}};
    });
  }
  TRY(const std::string input, read_standard_input());
  TRY(const std::vector<int32_t> ids, ids_of(Json::parse(input, nullptr, /*allow_exceptions=*/false)));
  TRY(const std::string text, tokenizer.decode(ids, arguments.skip_special));
  print(text);
  return 0;
}

}  // namespace

void add_tokenize(Command& app) {
  auto arguments = std::make_shared<TokenizeArguments>();
  Command* command = app.add_command("tokenize", "token ids of the text on standard input");
  command->add_option("path", arguments->path, "tokenizer.json, checkpoint folder or GGUF file")->required();
  command->add_flag("--special", arguments->special, "with the special tokens that the tokenizer puts around a text");
  command->add_flag("--jsonl", arguments->lines, R"({"text":...} a line in, {"ids":[...]} a line out)");
  command->runs([arguments] {
    const Result<int> done = tokenize(*arguments);
    return done.ok() ? *done : fail(done.failure());
  });
}

void add_detokenize(Command& app) {
  auto arguments = std::make_shared<TokenizeArguments>();
  Command* command = app.add_command("detokenize", "text of the JSON array of token ids on standard input");
  command->add_option("path", arguments->path, "tokenizer.json, checkpoint folder or GGUF file")->required();
  command->add_flag("--skip-special", arguments->skip_special, "without special tokens");
  command->add_flag("--jsonl", arguments->lines, R"({"ids":[...]} a line in, {"text":...} a line out)");
  command->runs([arguments] {
    const Result<int> done = detokenize(*arguments);
    return done.ok() ? *done : fail(done.failure());
  });
}

}  // namespace scratchy::cli
