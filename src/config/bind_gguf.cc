#include "config/bind_gguf.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "checkpoint/load_weight.h"
#include "config/bind_config.h"

namespace scratchy {
namespace {

constexpr std::string_view kScaling = "rope.scaling.";
constexpr std::string_view kRopeDefault = "rope_scaling.";  // of gguf_defaults: a field of the record

// Metadata floats are f32; the decimal that stands for the same f32 is what a config.json has.
double decimal_of(double value) {
  std::array<char, 64> text{};
  const auto written = std::to_chars(text.data(), text.data() + text.size() - 1, static_cast<float>(value));
  return written.ec == std::errc() ? std::strtod(text.data(), nullptr) : value;
}

const TensorInfo* find_tensor(const std::vector<TensorInfo>& tensors, std::string_view name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const TensorInfo& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

class GgufBinder {
 public:
  GgufBinder(const GgufMetadata& metadata, const std::vector<TensorInfo>& tensors, const RopeFactors& factors, const ArchDecl& arch, Diagnostics& diagnostics)
      : metadata_(metadata), tensors_(tensors), factors_(factors), arch_(arch), diagnostics_(diagnostics) {}

  std::optional<RawConfig> bind() {
    const size_t before = diagnostics_.size();
    const auto tag = metadata_.text("general.architecture");
    tag_ = tag.ok() ? tag->value_or("") : "";
    if (std::find(arch_.gguf.begin(), arch_.gguf.end(), tag_) == arch_.gguf.end()) {
      bad("general.architecture", "`" + escape_for_message(tag_) + "`", arch_.gguf.empty() ? "in a safetensors file: `" + arch_.name + "` has no GGUF form" : "`" + join(arch_.gguf, "` or `") + "` for `" + arch_.name + "`");
      return std::nullopt;
    }
    for (const auto& [key, value] : metadata_.values()) {
      if (key.starts_with(tag_ + ".")) take(key, key.substr(tag_.size() + 1), value);
    }
    take_layers();
    take_rope();
    take_factors();
    take_from_tensors();
    if (diagnostics_.size() != before) return std::nullopt;
    return std::move(raw_);
  }

 private:
  void take(const std::string& key, const std::string& name, const GgufValue& value) {
    const auto mapped = arch_.gguf_keys.find(name);
    if (take_list(key, name)) return;
    if (mapped != arch_.gguf_keys.end() && mapped->second.empty()) return;
    const std::optional<Constant> constant = constant_of_value(key, value);
    if (!constant) return;
    if (name.starts_with(kScaling)) {
      scaling_[name.substr(kScaling.size())] = *constant;
    } else if (mapped != arch_.gguf_keys.end()) {
      if (constant->is_number() && constant->as_number() == 0.0 && !arch_.keys.contains(mapped->second)) return;  // off
      set(mapped->second, *constant, key);
    } else if (name == "rope.dimension_count") {
      rotary_ = *constant;
    } else if (name == "attention.value_length") {
      value_width_ = *constant;
    } else {
      set(name, *constant, key);  // unknown: refused by name with the others
    }
  }

  // Keys that may differ from layer to layer: kept for take_layers.
  bool take_list(const std::string& key, const std::string& name) {
    const bool kinds = name == "attention.sliding_window_pattern" || name == "attention.recurrent_layers";
    if (!kinds && name != "attention.head_count_kv" && name != "feed_forward_length") return false;
    std::vector<double> numbers;
    const auto flags = metadata_.booleans(key);
    const auto integers = metadata_.integers(key);
    if (flags.ok() && *flags) numbers.assign((*flags)->begin(), (*flags)->end());
    else if (integers.ok() && *integers) numbers.assign((*integers)->begin(), (*integers)->end());
    const bool differ = std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) != numbers.end();
    if (numbers.size() < 2 || (!kinds && !differ)) return false;
    lists_[name] = std::move(numbers);
    return true;
  }

  // What lists say of single layers: their kinds, and widths that follow the kind.
  void take_layers() {
    std::vector<bool> full;
    for (const auto& [name, kind] : {std::pair("attention.sliding_window_pattern", "sliding_attention"), std::pair("attention.recurrent_layers", "linear_attention")}) {
      const auto list = lists_.find(name);
      if (list == lists_.end() || !arch_.keys.contains("layer_types")) continue;
      Constant::List types;
      full.clear();
      for (const double flag : list->second) {
        full.push_back(flag == 0.0);
        types.push_back(Constant::text(flag == 0.0 ? "full_attention" : kind));
      }
      set("layer_types", Constant::list(std::move(types)), tag_ + "." + name);
    }
    take_key_heads(full);
    if (const auto widths = lists_.find("feed_forward_length"); widths != lists_.end()) {
      const auto [least, most] = std::minmax_element(widths->second.begin(), widths->second.end());
      const bool doubled = arch_.keys.contains("use_double_wide_mlp") && *most == 2 * *least;
      if (!doubled) return differ("feed_forward_length");
      set("intermediate_size", Constant::integer(static_cast<int64_t>(*least)), tag_ + ".feed_forward_length");
      set("use_double_wide_mlp", Constant::boolean(true), tag_ + ".feed_forward_length");
    }
  }

  void take_key_heads(const std::vector<bool>& full) {
    const auto heads = lists_.find("attention.head_count_kv");
    if (heads == lists_.end()) return;
    if (full.size() != heads->second.size() || !arch_.keys.contains("num_global_key_value_heads")) return differ("attention.head_count_kv");
    double of_kind[2] = {0, 0};
    for (size_t layer = 0; layer < full.size(); ++layer) {
      double& seen = of_kind[full[layer] ? 1 : 0];
      if (seen != 0 && seen != heads->second[layer]) return differ("attention.head_count_kv");
      seen = heads->second[layer];
    }
    set("num_key_value_heads", Constant::integer(static_cast<int64_t>(of_kind[0])), tag_ + ".attention.head_count_kv");
    set("num_global_key_value_heads", Constant::integer(static_cast<int64_t>(of_kind[1])), tag_ + ".attention.head_count_kv");
  }

  void differ(const std::string& name) {
    diagnostics_.add(DiagnosticKind::kMalformedFile, {}, {{"file", "GGUF metadata"}, {"problem", differing(tag_ + "." + name)}});
  }

  // One scalar; an array only where all items are equal.
  std::optional<Constant> constant_of_value(const std::string& key, const GgufValue& value) {
    const auto fail = [&](const std::string& problem) {
      diagnostics_.add(DiagnosticKind::kMalformedFile, {}, {{"file", "GGUF metadata"}, {"problem", problem}});
      return std::nullopt;
    };
    switch (value.type) {
      case GgufType::kString: {
        const auto text = metadata_.text(key);
        if (!text.ok()) return fail(text.failure().message());
        return Constant::text(**text);
      }
      case GgufType::kBool: {
        const auto flags = metadata_.booleans(key);
        if (!flags.ok()) return fail(flags.failure().message());
        if ((*flags)->empty() || std::adjacent_find((*flags)->begin(), (*flags)->end(), std::not_equal_to<>()) != (*flags)->end()) return fail(differing(key));
        return Constant::boolean((*flags)->front());
      }
      case GgufType::kF32:
      case GgufType::kF64: {
        const auto numbers = metadata_.reals(key);
        if (!numbers.ok()) return fail(numbers.failure().message());
        if ((*numbers)->empty() || std::adjacent_find((*numbers)->begin(), (*numbers)->end(), std::not_equal_to<>()) != (*numbers)->end()) return fail(differing(key));
        return Constant::real(value.type == GgufType::kF32 ? decimal_of((*numbers)->front()) : (*numbers)->front());
      }
      case GgufType::kU8:
      case GgufType::kI8:
      case GgufType::kU16:
      case GgufType::kI16:
      case GgufType::kU32:
      case GgufType::kI32:
      case GgufType::kU64:
      case GgufType::kI64: {
        const auto numbers = metadata_.integers(key);
        if (!numbers.ok()) return fail(numbers.failure().message());
        if ((*numbers)->empty() || std::adjacent_find((*numbers)->begin(), (*numbers)->end(), std::not_equal_to<>()) != (*numbers)->end()) return fail(differing(key));
        return Constant::integer((*numbers)->front());
      }
      case GgufType::kArray: return fail(differing(key));
    }
    return std::nullopt;
  }

  static std::string differing(const std::string& key) {
    return "`" + escape_for_message(key) + "` is a list of different numbers; one for all layers is needed";
  }

  void take_rope() {
    const Constant* head = raw_.given("head_dim");
    std::optional<double> width;
    if (head != nullptr && head->is_number()) width = head->as_number();
    const Constant* hidden = raw_.given("hidden_size");
    const Constant* heads = raw_.given("num_attention_heads");
    if (!width && hidden != nullptr && heads != nullptr && hidden->is_int() && heads->is_int() && heads->as_int() > 0) {
      width = static_cast<double>(hidden->as_int()) / static_cast<double>(heads->as_int());
    }
    if (value_width_ && width && value_width_->is_number() && value_width_->as_number() != *width) {
      bad(tag_ + ".attention.value_length", to_string(*value_width_), "as wide as a key, " + to_string(Constant::real(*width)));
    }
    if (rotary_ && width && rotary_->is_number() && rotary_->as_number() != *width && arch_.keys.contains("partial_rotary_factor")) {
      set("partial_rotary_factor", Constant::real(rotary_->as_number() / *width), tag_ + ".rope.dimension_count");
    }
    take_scaling();
  }

  void take_scaling() {
    const auto type = scaling_.find("type");
    if (type == scaling_.end() || type->second == Constant::text("none")) return;
    Constant::Record record = {{"rope_type", type->second}};
    for (const auto& [name, value] : scaling_) {
      const bool multiplier = name == "yarn_ext_factor" || name == "yarn_attn_factor";
      if (name == "type" || name == "finetuned" || (multiplier && value.is_number() && value.as_number() == 1.0)) continue;
      if (name == "yarn_beta_fast" || name == "yarn_beta_slow") {
        record.push_back({name.substr(5), value});
      } else if (name == "original_context_length") {
        record.push_back({"original_max_position_embeddings", value});
      } else if (name == "attn_factor") {
        record.push_back({"attention_factor", value});
      } else if (name == "yarn_log_multiplier" && value.is_number()) {  // a tenth of mscale_all_dim
        record.push_back({"mscale", Constant::real(decimal_of(value.as_number() * 10.0))});
        record.push_back({"mscale_all_dim", Constant::real(decimal_of(value.as_number() * 10.0))});
      } else {
        record.push_back({name, value});
      }
    }
    for (const auto& [key, value] : arch_.gguf_defaults) {
      if (key.starts_with(kRopeDefault)) record.push_back({key.substr(kRopeDefault.size()), value.value});
    }
    set("rope_scaling", Constant::record(std::move(record)), tag_ + ".rope.scaling.type");
  }

  // Factors on the frequencies are what LongRoPE has: two sets for two ranges of lengths, here perhaps the same.
  void take_factors() {
    const bool sets = !factors_.long_set.empty();
    if (!sets && factors_.all.empty()) return;
    const auto list = [](const std::vector<float>& numbers) {
      Constant::List out;
      for (const float number : numbers) out.push_back(Constant::real(number));
      return Constant::list(std::move(out));
    };
    Constant::Record record = {{"rope_type", Constant::text("longrope")},
                               {"short_factor", list(sets ? factors_.short_set : factors_.all)},
                               {"long_factor", list(sets ? factors_.long_set : factors_.all)}};
    const auto original = scaling_.find("original_context_length");
    if (sets && original != scaling_.end()) record.push_back({"original_max_position_embeddings", original->second});
    const auto magnitude = scaling_.find("attn_factor");
    if (!sets) record.push_back({"attention_factor", Constant::real(1.0)});
    else if (magnitude != scaling_.end()) record.push_back({"attention_factor", magnitude->second});
    if (arch_.rope.kinds.empty()) return set("rope_scaling", Constant::record(std::move(record)), "rope_freqs.weight");
    record.push_back({"partial_rotary_factor", Constant::real(1.0)});
    Constant::Record kinds;
    for (const RopeKind& kind : arch_.rope.kinds) {
      kinds.push_back({kind.name, kind.scaled ? Constant::record(record) : Constant::record({{"rope_type", Constant::text("default")}})});
    }
    set("rope_parameters", Constant::record(std::move(kinds)), "rope_freqs.weight");
  }

  // Weights that a config key calls for: the key is on where the file has one of them.
  void take_optional_weights() {
    std::map<std::string, bool> there;
    for (const WeightEntry& entry : arch_.weights) {
      const auto rule = entry.when == nullptr ? arch_.keys.end() : arch_.keys.find(entry.when->text);
      if (rule == arch_.keys.end() || rule->second.type != KeyRule::Type::kBool) continue;
      for (const FormDecl& form : entry.forms) {
        if (form.place != WeightPlace::kGguf) continue;
        const WeightForm shape{.place = form.place, .path = form.path};
        there[rule->first] |= find_tensor(tensors_, weight_path(shape, {}, 0, 0) + (form.bare ? "" : ".weight")) != nullptr;
      }
    }
    for (const auto& [key, found] : there) {
      if (!raw_.values.contains(key)) set(key, Constant::boolean(found), key);
    }
  }

  // Full layers whose values are their keys have no values of their own.
  bool keys_are_values() const {
    const Constant* types = raw_.given("layer_types");
    if (types == nullptr || !types->is_list()) return false;
    for (size_t layer = 0; layer < types->as_list().size(); ++layer) {
      const std::string prefix = "blk." + std::to_string(layer) + ".attn_";
      if (types->as_list()[layer] == Constant::text("full_attention") && find_tensor(tensors_, prefix + "k.weight") != nullptr) {
        return find_tensor(tensors_, prefix + "v.weight") == nullptr;
      }
    }
    return false;
  }

  std::optional<int64_t> integer(const std::string& name) const {
    const auto numbers = metadata_.integers(tag_ + "." + name);
    if (!numbers.ok() || !*numbers || (*numbers)->empty()) return std::nullopt;
    return (*numbers)->front();
  }

  // Widths that metadata gives as sums and products: of the heads of a state, and of latent attention.
  void take_head_widths() {
    const auto value_heads = integer("ssm.time_step_rank"), inner = integer("ssm.inner_size");
    if (arch_.keys.contains("linear_value_head_dim") && value_heads.value_or(0) > 0 && inner) {
      set("linear_value_head_dim", Constant::integer(*inner / *value_heads), tag_ + ".ssm.inner_size");
    }
    if (!arch_.keys.contains("qk_nope_head_dim")) return;
    const auto rotary = integer("rope.dimension_count"), split_key = integer("attention.key_length_mla");
    const auto key = split_key ? split_key : integer("attention.key_length"), value = integer("attention.value_length");
    if (key && rotary) set("qk_nope_head_dim", Constant::integer(*key - *rotary), tag_ + ".attention.key_length");
    if (!split_key && value) set("v_head_dim", Constant::integer(*value), tag_ + ".attention.value_length");
  }

  void take_from_tensors() {
    take_optional_weights();
    if (arch_.keys.contains("attention_k_eq_v")) set("attention_k_eq_v", Constant::boolean(keys_are_values()), "attn_v.weight");
    take_head_widths();
    const TensorInfo* embedding = find_tensor(tensors_, "token_embd.weight");
    if (embedding != nullptr && embedding->shape.size() == 2 && !raw_.values.contains("vocab_size")) {
      set("vocab_size", Constant::integer(static_cast<int64_t>(embedding->shape[0])), "token_embd.weight");
    }
    set("tie_word_embeddings", Constant::boolean(find_tensor(tensors_, "output.weight") == nullptr), "output.weight");
    set("weight_dtype", Constant::text("float32"), "weight_dtype");
  }

  void set(const std::string& key, Constant value, const std::string& shown) {
    raw_.values[key] = RawValue{.value = std::move(value), .path = shown, .key = {}, .span = {}};
  }

  void bad(const std::string& key, const std::string& seen, const std::string& rule) {
    diagnostics_.add(DiagnosticKind::kBadConfigValue, {}, {{"key", key}, {"seen", seen}, {"rule", rule}});
  }

  const GgufMetadata& metadata_;
  const std::vector<TensorInfo>& tensors_;
  const RopeFactors& factors_;
  const ArchDecl& arch_;
  Diagnostics& diagnostics_;
  std::string tag_;
  RawConfig raw_;
  std::map<std::string, Constant> scaling_;
  std::map<std::string, std::vector<double>> lists_;
  std::optional<Constant> rotary_, value_width_;
};

}  // namespace

bool answers_to_gguf(const GgufMetadata& metadata, const ArchDecl& arch) {
  const auto tag = metadata.text("general.architecture");
  if (!tag.ok() || !*tag) return false;
  return std::all_of(arch.gguf_when.begin(), arch.gguf_when.end(), [&](const WhenDecl& when) {
    const auto numbers = metadata.integers(**tag + "." + when.key);
    const bool there = numbers.ok() && *numbers && !(*numbers)->empty();
    const Constant value = there ? Constant::integer((*numbers)->front()) : Constant();
    return (value == when.value) != when.is_not;
  });
}

std::optional<RawConfig> raw_config_of_gguf(const GgufMetadata& metadata, const std::vector<TensorInfo>& tensors, const RopeFactors& factors,
                                            const ArchDecl& arch, Diagnostics& diagnostics) {
  return GgufBinder(metadata, tensors, factors, arch, diagnostics).bind();
}

std::optional<ModelFacts> bind_gguf(const GgufMetadata& metadata, const std::vector<TensorInfo>& tensors, const RopeFactors& factors,
                                    const ArchDecl& arch, const std::string& stem, Diagnostics& diagnostics) {
  diagnostics.set_model(arch.name + " x " + stem);
  std::optional<RawConfig> raw = raw_config_of_gguf(metadata, tensors, factors, arch, diagnostics);
  if (!raw) return std::nullopt;
  ArchDecl own = arch;
  for (const auto& [key, value] : arch.gguf_defaults) {
    if (!key.starts_with(kRopeDefault)) own.defaults[key] = value;
  }
  return bind_raw_config(std::move(*raw), own, stem, diagnostics);
}

}  // namespace scratchy
