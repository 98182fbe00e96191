#include "runtime/load_text.h"

#include <algorithm>

#include "base/text.h"

namespace scratchy {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxTokenizerBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;

// What ends a turn in the templates in use, where the vocabulary has it as a control token.
constexpr const char* kTurnEnds[] = {"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|endoftext|>", "<|return|>", "<|call|>",
                                     "<|END_OF_TURN_TOKEN|>", "<|eot|>", "<|end_of_text|>", "<turn|>", "<|end_of_role|>"};
// Those of the list that only end a part of an answer where another token ends the turn.
constexpr const char* kPartEnd = "<|end|>";
constexpr const char* kTurnEndBesideParts = "<|return|>";

// Keys of GGUF ids and the names templates use for them.
constexpr std::pair<const char*, const char*> kGgufTokens[] = {{"bos_token", "tokenizer.ggml.bos_token_id"},
                                                               {"eos_token", "tokenizer.ggml.eos_token_id"},
                                                               {"unk_token", "tokenizer.ggml.unknown_token_id"},
                                                               {"sep_token", "tokenizer.ggml.seperator_token_id"},
                                                               {"pad_token", "tokenizer.ggml.padding_token_id"}};
constexpr const char* kGgufEnds[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};

std::string quoted(const fs::path& path) { return "`" + escape_for_message(path.string(), 400) + "`"; }

// The text of a special token: a string, or an object with its `content`.
std::optional<std::string> token_spelling(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("content") && value["content"].is_string()) return value["content"].get<std::string>();
  return std::nullopt;
}

void add_id(std::vector<int32_t>& ids, std::optional<int32_t> id, const Tokenizer& tokenizer) {
  if (id && tokenizer.is_token(*id) && std::find(ids.begin(), ids.end(), *id) == ids.end()) ids.push_back(*id);
}

// eos_token_id of a config: an id or a list of ids.
Status add_stated(const Json& config, const char* where, const Tokenizer& tokenizer, std::vector<int32_t>& ids) {
  if (!config.is_object() || !config.contains("eos_token_id") || config["eos_token_id"].is_null()) return Done{};
  const Json& value = config["eos_token_id"];
  const Json list = value.is_array() ? value : Json::array({value});
  for (const Json& id : list) {
    if (!id.is_number_integer()) return Failure(std::string(where) + ": `eos_token_id` is " + escape_for_message(value.dump()) + "; it must be a token id or a list of them");
    const auto number = id.get<int64_t>();
    if (number >= 0 && number < INT32_MAX) add_id(ids, static_cast<int32_t>(number), tokenizer);
  }
  return Done{};
}

Result<std::string> template_of_config(const Json& config, const std::string& where) {
  if (!config.is_object() || !config.contains("chat_template") || config["chat_template"].is_null()) {
    return Failure(where + " has no chat template: neither `chat_template.jinja` nor `chat_template` in `tokenizer_config.json`; name one with --chat-template, or use --raw");
  }
  const Json& value = config["chat_template"];
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    for (const Json& entry : value) {
      if (entry.is_object() && entry.value("name", Json()) == "default" && entry.contains("template") && entry["template"].is_string()) return entry["template"].get<std::string>();
    }
  }
  return Failure(where + ": `chat_template` of `tokenizer_config.json` must be a string, or a list with one named `default`");
}

}  // namespace

Result<GgufVocabulary> gguf_vocabulary(const GgufMetadata& metadata) {
  const std::string prefix = "tokenizer.ggml.";
  GgufVocabulary vocabulary;
  TRY(auto model, metadata.text(prefix + "model"));
  TRY(auto tokens, metadata.texts(prefix + "tokens"));
  if (!model || !tokens) return Failure("no tokenizer: the metadata lacks `tokenizer.ggml." + std::string(model ? "tokens" : "model") + "`");
  vocabulary.model = *std::move(model);
  vocabulary.tokens = *std::move(tokens);
  TRY(auto pre, metadata.text(prefix + "pre"));
  vocabulary.pre = std::move(pre).value_or("");
  TRY(auto types, metadata.integers(prefix + "token_type"));
  if (types) {
    for (const int64_t type : *types) vocabulary.token_types.push_back(static_cast<int32_t>(std::clamp<int64_t>(type, -1, INT32_MAX)));
  }
  TRY(auto scores, metadata.reals(prefix + "scores"));
  if (scores) vocabulary.scores.assign(scores->begin(), scores->end());
  TRY(auto merges, metadata.texts(prefix + "merges"));
  if (merges) vocabulary.merges = *std::move(merges);
  for (auto [key, place] : {std::pair{"bos_token_id", &vocabulary.bos_id}, {"eos_token_id", &vocabulary.eos_id}, {"unknown_token_id", &vocabulary.unk_id}}) {
    TRY(const auto id, metadata.integer(prefix + key));
    *place = id.value_or(-1);
  }
  TRY(vocabulary.add_bos, metadata.boolean(prefix + "add_bos_token"));
  TRY(vocabulary.add_eos, metadata.boolean(prefix + "add_eos_token"));
  TRY(vocabulary.add_space_prefix, metadata.boolean(prefix + "add_space_prefix"));
  return vocabulary;
}

Result<TextSource> TextSource::open(const fs::path& path) {
  TextSource source;
  source.shown_ = quoted(path);
  std::error_code error;
  fs::path gguf;
  if (!fs::exists(path, error)) return Failure(source.shown_ + ": no such file or folder");
  if (fs::is_directory(path, error)) {
    source.folder_ = path;
    source.tokenizer_file_ = path / "tokenizer.json";
    if (fs::exists(source.tokenizer_file_, error)) return source;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
      if (it->path().extension() == ".gguf" && (gguf.empty() || it->path() < gguf)) gguf = it->path();
    }
    if (gguf.empty()) return source;
  } else if (path.extension() == ".gguf") {
    gguf = path;
  } else {
    source.folder_ = path.parent_path();
    source.tokenizer_file_ = path;
    return source;
  }
  TRY(const InputFile file, InputFile::open(gguf));
  TRY(GgufHeader header, read_gguf_header(file));
  source.own_gguf_ = std::make_shared<const GgufMetadata>(std::move(header.metadata));
  source.gguf_ = source.own_gguf_.get();
  return source;
}

Result<TextSource> TextSource::of(const Checkpoint& checkpoint) {
  if (!checkpoint.is_gguf()) return open(checkpoint.path());
  TextSource source;
  source.shown_ = quoted(checkpoint.path());
  source.gguf_ = &checkpoint.gguf();
  return source;
}

Result<Tokenizer> TextSource::tokenizer() const {
  if (gguf_ != nullptr) {
    auto vocabulary = gguf_vocabulary(*gguf_);
    if (!vocabulary.ok()) return std::move(vocabulary).failure().in(shown_);
    auto tokenizer = Tokenizer::from_gguf(*vocabulary);
    if (!tokenizer.ok()) return std::move(tokenizer).failure().in(shown_);
    return tokenizer;
  }
  std::error_code error;
  if (!fs::exists(tokenizer_file_, error)) return Failure(shown_ + " has no tokenizer: `tokenizer.json` is missing");
  TRY(const std::string text, read_file(tokenizer_file_, kMaxTokenizerBytes));
  auto tokenizer = Tokenizer::from_json(text);
  if (!tokenizer.ok()) return std::move(tokenizer).failure().in(quoted(tokenizer_file_));
  return tokenizer;
}

Result<Json> TextSource::companion(const char* name) const {
  const fs::path path = folder_ / name;
  std::error_code error;
  if (folder_.empty() || !fs::exists(path, error)) return Json();
  return read_json(path, {.max_bytes = kMaxConfigBytes});
}

Result<std::string> TextSource::template_text() const {
  if (gguf_ != nullptr) {
    TRY(auto text, gguf_->text("tokenizer.chat_template"));
    if (!text) return Failure(shown_ + " has no chat template: the metadata lacks `tokenizer.chat_template`; name one with --chat-template, or use --raw");
    return *std::move(text);
  }
  std::error_code error;
  if (fs::exists(folder_ / "chat_template.jinja", error)) return read_file(folder_ / "chat_template.jinja", kMaxTemplateBytes);
  TRY(const Json config, companion("tokenizer_config.json"));
  return template_of_config(config, shown_);
}

Result<nlohmann::ordered_json> TextSource::special_tokens() const {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  if (gguf_ != nullptr) {
    TRY(const auto tokens, gguf_->texts("tokenizer.ggml.tokens"));
    for (const auto& [name, key] : kGgufTokens) {
      TRY(const auto id, gguf_->unsigned_integer(key));
      if (id && tokens && *id < tokens->size()) out[name] = (*tokens)[*id];
    }
    return out;
  }
  for (const char* file : {"tokenizer_config.json", "special_tokens_map.json"}) {
    TRY(const Json config, companion(file));
    if (!config.is_object()) continue;
    for (const auto& [key, value] : config.items()) {
      const std::optional<std::string> spelling = token_spelling(value);
      if (key.ends_with("_token") && spelling && !out.contains(key)) out[key] = *spelling;
    }
  }
  return out;
}

Result<std::vector<int32_t>> TextSource::end_ids(const Tokenizer& tokenizer) const {
  std::vector<int32_t> ids;
  if (gguf_ != nullptr) {
    for (const char* key : kGgufEnds) {
      TRY(const auto id, gguf_->integer(key));
      if (id && *id >= 0 && *id < INT32_MAX) add_id(ids, static_cast<int32_t>(*id), tokenizer);
    }
  } else {
    for (const char* file : {"generation_config.json", "config.json"}) {
      TRY(const Json config, companion(file));
      TRY_STATUS(add_stated(config, file, tokenizer, ids));
      if (config.is_object() && config.contains("text_config")) TRY_STATUS(add_stated(config["text_config"], file, tokenizer, ids));
    }
    TRY(const auto special, special_tokens());
    if (special.contains("eos_token")) add_id(ids, tokenizer.id_of(special["eos_token"].get<std::string>()), tokenizer);
  }
  const bool has_parts = tokenizer.id_of(kTurnEndBesideParts).has_value();
  for (const char* spelling : kTurnEnds) {
    const std::optional<int32_t> id = tokenizer.id_of(spelling);
    if (id && tokenizer.is_special(*id) && !(has_parts && std::string_view(spelling) == kPartEnd)) add_id(ids, id, tokenizer);
  }
  return ids;
}

}  // namespace scratchy
