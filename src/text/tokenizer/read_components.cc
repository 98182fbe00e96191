#include "text/tokenizer/read_components.h"

#include <algorithm>

#include "base/text.h"
#include "text/tokenizer/pre_tokenize.h"
#include "text/tokenizer/unicode.h"

namespace scratchy {
namespace {

using nlohmann::json;

constexpr size_t kMaxStages = 64;

std::string type_of(const json& value) { return value.type_name(); }

bool is_one_char(std::string_view text) { return !text.empty() && text.size() == char_length(text[0]); }

// Calls `read(object, type, path)` on each component at `value`, those of Sequences one by one, in order. `list`: the
// member that holds the parts of a Sequence.
template <typename Read>
Status each_component(const json& value, const std::string& path, const char* list, size_t depth, Read& read) {
  if (value.is_null()) return Done{};
  TRY(const JsonObject object, JsonObject::of(value, path));
  TRY(const std::string type, object.string("type"));
  if (type != "Sequence") return read(object, type);
  if (depth > 16) return Failure(path + ": sequences nested deeper than 16 levels");
  const json& parts = object.at(list);
  if (!parts.is_array()) return object.refuse(list, "is " + type_of(parts) + ", must be an array");
  for (size_t i = 0; i < parts.size(); ++i)
    TRY_STATUS(each_component(parts[i], path + "." + list + "[" + std::to_string(i) + "]", list, depth + 1, read));
  return Done{};
}

Failure unknown_type(const JsonObject& object, const std::string& type, std::string_view stage) {
  return object.refuse("type", "is `" + escape_for_message(type) + "`, no " + std::string(stage) + " that is supported");
}

Result<Pattern> read_pattern(const JsonObject& object) {
  TRY(const JsonObject pattern, JsonObject::of(object.at("pattern"), object.path() + ".pattern"));
  Pattern out;
  if (pattern.has("Regex")) {
    TRY(const std::string text, pattern.string("Regex"));
    auto regex = Regex::compile(text);
    if (!regex.ok()) return std::move(regex).failure().in(pattern.path() + ".Regex");
    out.regex = std::make_shared<const Regex>(std::move(regex).value());
    return out;
  }
  TRY(out.text, pattern.string("String"));
  if (out.text.empty()) return pattern.refuse("String", "is empty, must be a text to look for");
  return out;
}

Result<std::string> read_char(const JsonObject& object, const char* key, std::string fallback) {
  TRY(std::string text, object.string(key, std::move(fallback)));
  if (!is_one_char(text)) return object.refuse(key, "is `" + escape_for_message(text) + "`, must be one character");
  return text;
}

Result<SplitBehavior> read_behavior(const JsonObject& object, std::string fallback) {
  TRY(const std::string name, object.string("behavior", std::move(fallback)));
  const auto behavior = split_behavior(name);
  if (!behavior)
    return object.refuse("behavior", "is `" + escape_for_message(name) +
                         "`, must be one of Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous");
  return *behavior;
}

// Metaspace as pre-tokenizer and as decoder: its mark and when it is prepended, in the newer and the older spelling.
Status read_metaspace(const JsonObject& object, std::string& mark, PrependScheme& scheme) {
  TRY(mark, read_char(object, "replacement", "\xE2\x96\x81"));
  TRY(const bool add_prefix, object.boolean("add_prefix_space", true));
  TRY(const std::string name, object.string("prepend_scheme", add_prefix ? "always" : "never"));
  if (name == "always") scheme = PrependScheme::kAlways;
  else if (name == "first") scheme = PrependScheme::kFirst;
  else if (name == "never") scheme = PrependScheme::kNever;
  else return object.refuse("prepend_scheme", "is `" + escape_for_message(name) + "`, must be always, first or never");
  if (object.has("prepend_scheme") && object.has("add_prefix_space") && add_prefix == (scheme == PrependScheme::kNever))
    return object.refuse("add_prefix_space", "contradicts prepend_scheme");
  return Done{};
}

Status read_normalizer(const JsonObject& object, const std::string& type, std::vector<Normalizer>& out) {
  const auto kind = normalizer_kind(type);
  if (!kind) return unknown_type(object, type, "normalizer");
  Normalizer stage{.kind = *kind};
  if (*kind == NormalizerKind::kPrepend) {
    TRY(stage.content, object.string("prepend"));
  } else if (*kind == NormalizerKind::kReplace) {
    TRY(stage.pattern, read_pattern(object));
    TRY(stage.content, object.string("content"));
  } else if (*kind == NormalizerKind::kStrip) {
    TRY(stage.strip_left, object.boolean("strip_left", true));
    TRY(stage.strip_right, object.boolean("strip_right", true));
  }
  out.push_back(std::move(stage));
  return out.size() > kMaxStages ? Status(Failure(object.path() + ": more than 64 normalizers")) : Done{};
}

Status read_pre_tokenizer(const JsonObject& object, const std::string& type, std::vector<PreTokenizer>& out) {
  const auto kind = pre_tokenizer_kind(type);
  if (!kind) return unknown_type(object, type, "pre-tokenizer");
  PreTokenizer stage{.kind = *kind};
  switch (*kind) {
    case PreTokenizerKind::kByteLevel: {
      TRY(stage.add_prefix_space, object.boolean("add_prefix_space", true));
      TRY(stage.split, object.boolean("use_regex", true));
      TRY(Regex regex, Regex::compile(kGpt2Pattern));
      stage.pattern.regex = std::make_shared<const Regex>(std::move(regex));
      break;
    }
    case PreTokenizerKind::kDigits: {
      TRY(stage.individual_digits, object.boolean("individual_digits", false));
      break;
    }
    case PreTokenizerKind::kSplit: {
      TRY(stage.pattern, read_pattern(object));
      TRY(stage.invert, object.boolean("invert", false));
      TRY(stage.behavior, read_behavior(object, ""));
      break;
    }
    case PreTokenizerKind::kMetaspace: {
      TRY_STATUS(read_metaspace(object, stage.character, stage.prepend));
      TRY(stage.split, object.boolean("split", true));
      break;
    }
    case PreTokenizerKind::kPunctuation: {
      TRY(stage.behavior, read_behavior(object, "Isolated"));
      break;
    }
    case PreTokenizerKind::kDelimiter: {
      TRY(stage.character, read_char(object, "delimiter", ""));
      break;
    }
    case PreTokenizerKind::kFixedLength: {
      TRY(stage.length, object.unsigned_integer("length"));
      if (stage.length == 0) return object.refuse("length", "is 0, must be at least 1");
      break;
    }
    case PreTokenizerKind::kWhitespace:
    case PreTokenizerKind::kWhitespaceSplit:
    case PreTokenizerKind::kBert: break;
  }
  out.push_back(std::move(stage));
  return out.size() > kMaxStages ? Status(Failure(object.path() + ": more than 64 pre-tokenizers")) : Done{};
}

Status read_decoder(const JsonObject& object, const std::string& type, std::vector<DecoderStage>& out) {
  const auto kind = decoder_kind(type);
  if (!kind) return unknown_type(object, type, "decoder");
  DecoderStage stage{.kind = *kind};
  switch (*kind) {
    case DecoderKind::kReplace: {
      TRY(stage.pattern, read_pattern(object));
      TRY(stage.content, object.string("content"));
      break;
    }
    case DecoderKind::kStrip: {
      TRY(stage.content, read_char(object, "content", ""));
      TRY(stage.start, object.unsigned_integer("start"));
      TRY(stage.stop, object.unsigned_integer("stop"));
      break;
    }
    case DecoderKind::kMetaspace: {
      PrependScheme scheme = PrependScheme::kAlways;
      TRY_STATUS(read_metaspace(object, stage.content, scheme));
      stage.flag = scheme != PrependScheme::kNever;
      break;
    }
    case DecoderKind::kWordPiece: {
      TRY(stage.content, object.string("prefix", "##"));
      TRY(stage.flag, object.boolean("cleanup", true));
      break;
    }
    case DecoderKind::kBpe: {
      TRY(stage.content, object.string("suffix", "</w>"));
      break;
    }
    case DecoderKind::kByteLevel:
    case DecoderKind::kByteFallback:
    case DecoderKind::kFuse:
    case DecoderKind::kJoinWithSpaces: break;
  }
  out.push_back(std::move(stage));
  return out.size() > kMaxStages ? Status(Failure(object.path() + ": more than 64 decoders")) : Done{};
}

// Reads `single` or `pair` of a template: the items, with the ids that `special_tokens` gives them.
Status read_items(const JsonObject& object, const char* key, const Vocabulary& vocabulary, IdTemplate& out) {
  const json& items = object.at(key);
  if (!items.is_array()) return object.refuse(key, "is " + type_of(items) + ", must be an array");
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string path = object.path() + "." + key + "[" + std::to_string(i) + "]";
    TRY(const JsonObject item, JsonObject::of(items[i], path));
    if (item.has("Sequence")) {
      TRY(const JsonObject sequence, JsonObject::of(item.at("Sequence"), path + ".Sequence"));
      TRY(const std::string id, sequence.string("id"));
      if (id != "A" && id != "B") return sequence.refuse("id", "is `" + escape_for_message(id) + "`, must be A or B");
      if (id == "A") out.push_back(kTextSlot);
      continue;
    }
    TRY(const JsonObject token, JsonObject::of(item.at("SpecialToken"), path + ".SpecialToken"));
    TRY(const std::string name, token.string("id"));
    const json& known = object.at("special_tokens");
    if (!known.is_object() || !known.contains(name))
      return token.refuse("id", "is `" + escape_for_message(name) + "`, which special_tokens does not define");
    const std::string known_path = object.path() + ".special_tokens." + escape_for_message(name, 40);
    TRY(const JsonObject definition, JsonObject::of(known.at(name), known_path));
    const json& ids = definition.at("ids");
    if (!ids.is_array()) return definition.refuse("ids", "is " + type_of(ids) + ", must be an array");
    for (const json& id : ids) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX || !vocabulary.holds(static_cast<int32_t>(id.get<uint64_t>())))
        return definition.refuse("ids", "holds `" + escape_for_message(id.dump(), 40) + "`, which is the id of no token");
      out.push_back(static_cast<int32_t>(id.get<uint64_t>()));
    }
  }
  return Done{};
}

// `cls` and `sep` of the Bert and Roberta processors: [text, id].
Result<int32_t> read_token_pair(const JsonObject& object, const char* key, const Vocabulary& vocabulary) {
  const json& pair = object.at(key);
  if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number_unsigned() || pair[1].get<uint64_t>() > INT32_MAX ||
      !vocabulary.holds(static_cast<int32_t>(pair[1].get<uint64_t>())))
    return object.refuse(key, "is `" + escape_for_message(pair.dump(), 40) + "`, must be a token and its id");
  return static_cast<int32_t>(pair[1].get<uint64_t>());
}

}  // namespace

Result<JsonObject> JsonObject::of(const json& value, std::string path) {
  if (!value.is_object()) return Failure(path + ": is " + type_of(value) + ", must be an object");
  return JsonObject(value, std::move(path));
}

const json& JsonObject::at(const char* key) const {
  static const json kNull;
  const auto found = value_->find(key);
  return found == value_->end() ? kNull : *found;
}

Failure JsonObject::refuse(const std::string& key, const std::string& what) const {
  return Failure(path_ + "." + key + ": " + what);
}

Result<bool> JsonObject::boolean(const char* key, bool fallback) const {
  const json& value = at(key);
  if (value.is_null()) return fallback;
  if (!value.is_boolean()) return refuse(key, "is " + type_of(value) + ", must be true or false");
  return value.get<bool>();
}

Result<std::string> JsonObject::string(const char* key) const {
  const json& value = at(key);
  if (!value.is_string()) return refuse(key, "is " + type_of(value) + ", must be a string");
  return value.get<std::string>();
}

Result<std::string> JsonObject::string(const char* key, std::string fallback) const {
  if (at(key).is_null()) return fallback;
  return string(key);
}

Result<uint32_t> JsonObject::unsigned_integer(const char* key) const {
  const json& value = at(key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX)
    return refuse(key, "is `" + escape_for_message(value.dump(), 40) + "`, must be an integer from 0 to 4294967295");
  return static_cast<uint32_t>(value.get<uint64_t>());
}

Status read_normalizers(const json& value, const std::string& path, std::vector<Normalizer>& out) {
  const auto read = [&](const JsonObject& object, const std::string& type) { return read_normalizer(object, type, out); };
  return each_component(value, path, "normalizers", 0, read);
}

Status read_pre_tokenizers(const json& value, const std::string& path, std::vector<PreTokenizer>& out) {
  const auto read = [&](const JsonObject& object, const std::string& type) { return read_pre_tokenizer(object, type, out); };
  return each_component(value, path, "pretokenizers", 0, read);
}

Status read_decoders(const json& value, const std::string& path, std::vector<DecoderStage>& out) {
  if (value.is_null()) {
    out.push_back({.kind = DecoderKind::kJoinWithSpaces});
    return Done{};
  }
  const auto read = [&](const JsonObject& object, const std::string& type) { return read_decoder(object, type, out); };
  return each_component(value, path, "decoders", 0, read);
}

Status read_post_processor(const json& value, const std::string& path, const Vocabulary& vocabulary, std::vector<IdTemplate>& out) {
  const auto read = [&](const JsonObject& object, const std::string& type) -> Status {
    if (type == "ByteLevel") return Done{};  // moves offsets only
    if (type == "TemplateProcessing") {
      IdTemplate single, pair;
      TRY_STATUS(read_items(object, "single", vocabulary, single));
      if (object.has("pair")) TRY_STATUS(read_items(object, "pair", vocabulary, pair));
      if (std::count(single.begin(), single.end(), kTextSlot) > 1)
        return object.refuse("single", "holds the text more than once");
      out.push_back(std::move(single));
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      TRY(const int32_t cls, read_token_pair(object, "cls", vocabulary));
      TRY(const int32_t sep, read_token_pair(object, "sep", vocabulary));
      out.push_back({cls, kTextSlot, sep});
    } else {
      return unknown_type(object, type, "post-processor");
    }
    return out.size() > kMaxStages ? Status(Failure(path + ": more than 64 templates")) : Done{};
  };
  return each_component(value, path, "processors", 0, read);
}

}  // namespace scratchy
