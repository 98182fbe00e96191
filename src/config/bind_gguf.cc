#include "config/bind_gguf.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/text.h"
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
  GgufBinder(const GgufMetadata& metadata, const std::vector<TensorInfo>& tensors, const ArchDecl& arch, Diagnostics& diagnostics)
      : metadata_(metadata), tensors_(tensors), arch_(arch), diagnostics_(diagnostics) {}

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
    take_rope();
    take_from_tensors();
    for (const auto& [key, value] : arch_.gguf_defaults) {
      if (!raw_.values.contains(key) && !key.starts_with(kRopeDefault)) set(key, value, key);
    }
    if (diagnostics_.size() != before) return std::nullopt;
    return std::move(raw_);
  }

 private:
  void take(const std::string& key, const std::string& name, const GgufValue& value) {
    const auto mapped = arch_.gguf_keys.find(name);
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
      if (name == "type" || name == "finetuned") continue;
      if (name == "original_context_length") {
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
      if (key.starts_with(kRopeDefault)) record.push_back({key.substr(kRopeDefault.size()), value});
    }
    set("rope_scaling", Constant::record(std::move(record)), tag_ + ".rope.scaling.type");
  }

  void take_from_tensors() {
    for (const char* name : {"rope_freqs.weight", "rope_factors_long.weight"}) {
      if (find_tensor(tensors_, name) == nullptr) continue;
      diagnostics_.add(DiagnosticKind::kUnsupportedConfig, {}, {{"key", name}, {"seen", "a tensor"}, {"arch", arch_.name}, {"reason", "rotary frequencies are computed from a config, not read"}})
          .suggest("name the model's config.json or one of the shipped configs; the weights of this file then fit");
    }
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
  const ArchDecl& arch_;
  Diagnostics& diagnostics_;
  std::string tag_;
  RawConfig raw_;
  std::map<std::string, Constant> scaling_;
  std::optional<Constant> rotary_, value_width_;
};

}  // namespace

std::optional<RawConfig> raw_config_of_gguf(const GgufMetadata& metadata, const std::vector<TensorInfo>& tensors, const ArchDecl& arch,
                                            Diagnostics& diagnostics) {
  return GgufBinder(metadata, tensors, arch, diagnostics).bind();
}

std::optional<ModelFacts> bind_gguf(const GgufMetadata& metadata, const std::vector<TensorInfo>& tensors, const ArchDecl& arch,
                                    const std::string& stem, Diagnostics& diagnostics) {
  diagnostics.set_model(arch.name + " x " + stem);
  std::optional<RawConfig> raw = raw_config_of_gguf(metadata, tensors, arch, diagnostics);
  if (!raw) return std::nullopt;
  return bind_raw_config(std::move(*raw), arch, stem, diagnostics);
}

}  // namespace scratchy
