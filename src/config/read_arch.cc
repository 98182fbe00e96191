// Where std.json and arch.json both speak, the architecture wins: its aliases, defaults and reasons come first, and its
// `allowed` values replace the shared ones.

#include "config/read_arch.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "config/json_constant.h"
#include "config/object_reader.h"

namespace scratchy {
namespace {

using KeyType = KeyRule::Type;

std::optional<KeyType> parse_key_type(const std::string& text) {
  static const std::pair<const char*, KeyType> kTypes[] = {
      {"int", KeyType::kInt},     {"float", KeyType::kFloat}, {"bool", KeyType::kBool}, {"text", KeyType::kText},
      {"texts", KeyType::kTexts}, {"ints", KeyType::kInts},   {"rope", KeyType::kRope}, {"any", KeyType::kAny}};
  for (const auto& [name, type] : kTypes) {
    if (text == name) return type;
  }
  return std::nullopt;
}

class ArchReader {
 public:
  ArchReader(const SourceFile& file, const StdDecl& shared, SourceSet& sources, Diagnostics& diagnostics)
      : shared_context_{sources, diagnostics, shared.file}, context_{sources, diagnostics, &file}, shared_(shared.json, "", shared_context_) {}

  ArchDecl read(const Json& json, const std::string& name) {
    ObjectReader arch(json, "", context_);
    out_.name = name;
    out_.architectures = arch.texts("architectures");
    out_.model_types = arch.texts("model_types");
    out_.gguf = arch.texts("gguf");
    read_when(arch);
    read_keys(arch);
    read_values(arch);
    read_refused(arch, false);
    read_refused(shared_, true);
    read_rope(arch);
    read_weights(arch, "weights", false);
    read_weights(arch, "layer_weights", true);
    read_patterns(arch);
    arch.finish();
    return std::move(out_);
  }

 private:
  KeyRule read_rule(const Json& json, const std::string& where, const ReaderContext& context) {
    ObjectReader reader(json, where, context);
    KeyRule rule;
    const auto type = parse_key_type(reader.text("type"));
    if (!type) reader.problem("`type` must be int, float, bool, text, texts, ints, rope or any");
    rule.type = type.value_or(KeyType::kAny);
    rule.min = reader.number("min", std::numeric_limits<double>::lowest());
    rule.max = reader.number("max", std::numeric_limits<double>::max());
    if (const Json* null = reader.take("null")) {
      rule.null = *null == "absent" ? KeyRule::Null::kAbsent : KeyRule::Null::kValue;
      rule.null_value = constant_of(*null).value_or(Constant());
    }
    if (const Json* allowed = reader.take("allowed")) rule.allowed = constants(*allowed);
    reader.finish();
    return rule;
  }

  static std::vector<Constant> constants(const Json& list) {
    std::vector<Constant> out;
    for (const Json& item : list) {
      if (const auto value = constant_of(item)) out.push_back(*value);
    }
    return out;
  }

  void read_when(ObjectReader& arch) {
    if (const Json* json = arch.take("when")) out_.when = when_of(*json, "when");
    const Json* list = arch.take("gguf_when");
    if (list == nullptr || !list->is_array()) return;
    for (const Json& item : *list) out_.gguf_when.push_back(when_of(item, "gguf_when"));
  }

  WhenDecl when_of(const Json& json, const std::string& place) {
    ObjectReader reader(json, place, context_);
    WhenDecl when{.key = reader.text("key"), .value = {}, .is_not = false};
    const Json* is = reader.take("is");
    const Json* is_not = reader.take("is_not");
    if (when.key.empty() || (is == nullptr) == (is_not == nullptr)) reader.problem("needs `key` and one of `is` and `is_not`");
    when.is_not = is_not != nullptr;
    if (const Json* value = is_not != nullptr ? is_not : is) when.value = constant_of(*value).value_or(Constant());
    reader.finish();
    return when;
  }

  // `config`: key names, `@group`s, and the rules of keys that std.json doesn't know under `keys`.
  void read_keys(ObjectReader& arch) {
    std::map<std::string, KeyRule> rules;
    const auto collect = [&](ObjectReader& reader, const ReaderContext& context) {
      const Json* keys = reader.take("keys");
      if (keys == nullptr || !keys->is_object()) return;
      for (const auto& [key, rule] : keys->items()) rules[key] = read_rule(rule, "keys." + key, context);
    };
    collect(shared_, shared_context_);
    for (const auto& [key, rule] : rules) out_.shared_keys.push_back(key);
    collect(arch, context_);
    const Json* groups = shared_.take("groups");
    std::vector<std::string> names;
    for (const std::string& entry : arch.texts("config")) {
      if (entry.empty() || entry[0] != '@') {
        names.push_back(entry);
        continue;
      }
      const std::string group = entry.substr(1);
      if (groups == nullptr || !groups->contains(group)) {
        arch.problem("`config` takes the group `" + group + "`, which std.json doesn't have");
        continue;
      }
      for (const Json& item : (*groups)[group]) names.push_back(item.get<std::string>());
    }
    for (const std::string& key : names) {
      const auto rule = rules.find(key);
      if (rule == rules.end()) {
        arch.problem("`config` lists `" + key + "`, which has no rule under `keys`");
      } else {
        out_.keys[key] = rule->second;
      }
    }
    if (const Json* allowed = arch.take("allowed")) {
      for (const auto& [key, values] : allowed->items()) {
        const auto found = out_.keys.find(key);
        if (found == out_.keys.end() || !values.is_array()) {
          arch.problem("`allowed." + key + "` must be a list for a key of `config`");
        } else {
          found->second.allowed = constants(values);
        }
      }
    }
  }

  void read_values(ObjectReader& arch) {
    for (ObjectReader* reader : {&arch, &shared_}) {
      if (const Json* aliases = reader->take("aliases")) {
        for (const auto& [key, list] : aliases->items()) {
          ObjectReader one(*aliases, "aliases", reader == &arch ? context_ : shared_context_);
          if (!out_.aliases.contains(key)) out_.aliases[key] = one.texts(key);
        }
      }
      if (const Json* defaults = reader->take("defaults")) {
        for (const auto& [key, value] : defaults->items()) {
          if (out_.defaults.contains(key)) continue;
          out_.defaults[key] = declared_value(*reader, "defaults." + key, value);
          if (reader == &arch) must_be_declared(arch, "defaults", key);
        }
      }
    }
    if (const Json* derived = arch.take("derived")) {
      ObjectReader reader(*derived, "derived", context_);
      for (const auto& [key, value] : derived->items()) {
        out_.derived[key] = reader.expression(key);
        must_be_declared(arch, "derived", key);
      }
    }
    for (auto& [key, to] : arch.text_pairs("per_layer_config")) out_.per_layer_config[key] = to;
  }

  static DeclaredValue declared_value(const ObjectReader& reader, const std::string& place, const Json& value) {
    if (value.is_string()) return {Constant(), reader.make_expression(value.get<std::string>(), place)};
    return {constant_of(value).value_or(Constant()), nullptr};
  }

  void must_be_declared(const ObjectReader& arch, const std::string& section, const std::string& key) {
    if (!out_.keys.contains(key)) arch.problem("`" + section + "." + key + "` is not a key of `config`");
  }

  void read_refused(ObjectReader& reader, bool shared) {
    const Json* list = reader.take("refused");
    if (list == nullptr) return;
    for (size_t i = 0; i < list->size(); ++i) {
      ObjectReader one((*list)[i], "refused." + std::to_string(i), shared ? shared_context_ : context_);
      RefusedCase refused;
      refused.when = one.expression("when");
      refused.key = one.text("key");
      refused.reason = one.text("reason");
      refused.shared = shared;
      if (refused.when == nullptr || refused.key.empty() || refused.reason.empty()) one.problem("needs `when`, `key` and `reason`");
      one.finish();
      if (refused.when != nullptr) out_.refused.push_back(std::move(refused));
    }
  }

  void read_rope(ObjectReader& arch) {
    const Json* json = arch.take("rope");
    if (json == nullptr) return;
    ObjectReader rope(*json, "rope", context_);
    out_.rope.types = rope.texts("types");
    for (auto& [from, to] : rope.text_pairs("rename")) out_.rope.renames[from] = to;
    if (const Json* kinds = rope.take("kinds")) {
      for (const auto& [name, value] : kinds->items()) {
        ObjectReader one(value, "rope.kinds." + name, context_);
        RopeKind kind{.name = name, .theta = one.texts("theta"), .scaled = one.boolean("scaled"), .defaults = {}};
        if (const Json* defaults = one.take("defaults")) {
          for (const auto& [key, item] : defaults->items()) kind.defaults[key] = constant_of(item).value_or(Constant());
        }
        one.finish();
        out_.rope.kinds.push_back(std::move(kind));
      }
    }
    rope.finish();
  }

  // A weight is a string (its GGUF name, "" = none) or an object.
  void read_weights(ObjectReader& arch, const std::string& section, bool per_layer) {
    const Json* list = arch.take(section);
    if (list == nullptr || !list->is_object()) return;
    for (const auto& [name, value] : list->items()) {
      WeightEntry entry{.name = name, .per_layer = per_layer};
      const bool bias = name.ends_with(".bias");
      Json as_object = value.is_string() ? Json{{"gguf", value}} : value;
      ObjectReader reader(as_object, section + "." + name, context_);
      entry.rows = reader.expression("rows");
      entry.columns = reader.expression("columns");
      entry.experts = reader.expression("experts");
      entry.dense = reader.boolean("dense", bias);
      entry.when = reader.expression("when");
      entry.tied_to = reader.text("tied_to");
      entry.tied_when = reader.expression("tied_when");
      const bool bare = reader.boolean("bare", bias), outer = reader.boolean("outer");
      const std::string layers = per_layer ? "layers.{layer}." : "", blocks = per_layer ? "blk.{layer}." : "";
      const Json* disk = reader.take("disk");
      const Json own = disk == nullptr ? Json(name) : *disk;
      FormDecl base{.place = outer ? WeightPlace::kOuter : WeightPlace::kDecoder, .bare = bare};
      read_forms(reader, own, "disk", layers, base, entry);
      base.place = WeightPlace::kGguf;
      if (const Json* gguf = reader.take("gguf")) read_forms(reader, *gguf, "gguf", blocks, base, entry);
      reader.finish();
      out_.weights.push_back(std::move(entry));
    }
  }

  // A path that begins with a slash stands as it is, without the layer's prefix.
  static std::string placed(const std::string& prefix, const std::string& path) {
    return path.starts_with('/') ? path.substr(1) : prefix + path;
  }

  void read_forms(const ObjectReader& weight, const Json& json, const std::string& key, const std::string& prefix, const FormDecl& base,
                  WeightEntry& entry) {
    const Json list = json.is_array() ? json : Json::array({json});
    for (const Json& item : list) {
      FormDecl form = base;
      if (item.is_string()) {
        if (item.get<std::string>().empty()) continue;
        form.path = placed(prefix, item.get<std::string>());
        entry.forms.push_back(form);
        continue;
      }
      ObjectReader reader(item, weight.inside(key), context_);
      form.path = placed(prefix, reader.text("path"));
      form.bare = reader.boolean("bare", base.bare);
      form.transposed = reader.boolean("transposed");
      form.first = reader.expression("first");
      form.step = reader.expression("step");
      form.of = reader.expression("of");
      form.rotary_heads = reader.expression("rotary_heads");
      form.tile_groups = reader.expression("tile_groups");
      form.tile_width = reader.expression("tile_width");
      form.tile_begin = reader.expression("tile_begin");
      form.tile_columns = reader.boolean("tile_columns");
      form.split_heads = reader.expression("split_heads");
      if (const std::string beside = reader.text("beside"); !beside.empty()) form.beside = placed(prefix, beside);
      form.log_of_negative = reader.boolean("log_of_negative");
      form.add = reader.number("add");
      reader.finish();
      entry.forms.push_back(form);
    }
  }

  void read_patterns(ObjectReader& arch) {
    for (ObjectReader* reader : {&arch, &shared_}) {
      for (auto& entry : reader->text_pairs("irrelevant")) out_.irrelevant.push_back(std::move(entry));
      for (auto& entry : reader->text_pairs("ignored_tensors")) out_.ignored.push_back(std::move(entry));
      for (auto& [from, to] : reader->text_pairs("gguf_keys")) out_.gguf_keys.emplace(from, to);
      const Json* roots = reader->take("roots");
      if (roots == nullptr || !out_.roots.empty()) continue;
      for (const Json& root : *roots) {
        ObjectReader one(root, "roots", reader == &arch ? context_ : shared_context_);
        std::string decoder = one.text("decoder"), outer = one.text("outer");
        one.finish();
        out_.roots.emplace_back(std::move(decoder), std::move(outer));
      }
    }
    if (const Json* defaults = arch.take("gguf_defaults")) {
      ObjectReader reader(*defaults, "gguf_defaults", context_);
      for (const auto& [key, value] : defaults->items()) out_.gguf_defaults[key] = declared_value(reader, "gguf_defaults." + key, value);
    }
  }

  ReaderContext shared_context_, context_;
  ObjectReader shared_;
  ArchDecl out_;
};

std::optional<Json> parse_object(const SourceFile& file, Diagnostics& diagnostics) {
  auto parsed = parse_json(file.text);
  if (parsed.ok() && parsed->is_object()) return std::move(*parsed);
  diagnostics.add(DiagnosticKind::kMalformedFile, Span{&file, 0, 0},
                  {{"file", file.path}, {"problem", parsed.ok() ? "it must hold one JSON object" : parsed.failure().message()}});
  return std::nullopt;
}

}  // namespace

std::optional<StdDecl> read_std(const SourceFile& file, Diagnostics& diagnostics) {
  auto json = parse_object(file, diagnostics);
  if (!json) return std::nullopt;
  return StdDecl{std::move(*json), &file};
}

std::optional<ArchDecl> read_arch(const SourceFile& file, const std::string& name, const StdDecl& shared, SourceSet& sources,
                                  Diagnostics& diagnostics) {
  const auto json = parse_object(file, diagnostics);
  if (!json) return std::nullopt;
  const size_t before = diagnostics.size();
  ArchDecl arch = ArchReader(file, shared, sources, diagnostics).read(*json, name);
  if (diagnostics.size() != before) return std::nullopt;
  return arch;
}

}  // namespace scratchy
