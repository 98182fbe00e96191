#include "checkpoint/quant_section.h"

#include <algorithm>
#include <array>
#include <regex>

#include "base/text.h"
#include "checkpoint/safetensors.h"

namespace scratchy {
namespace {

using Width = QuantSection::Width;

std::string in_quotes(std::string_view name) { return "`" + escape_for_message(name) + "`"; }

// The value of `key` when there and not null.
const Json* find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<std::string> text_of(const Json& object, const char* key, const std::string& otherwise) {
  const Json* value = find(object, key);
  if (value == nullptr) return otherwise;
  if (!value->is_string()) return Failure(in_quotes(key) + " is not a string");
  return value->get<std::string>();
}

Result<bool> flag_of(const Json& object, const char* key, bool otherwise) {
  const Json* value = find(object, key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) return Failure(in_quotes(key) + " is not true or false");
  return value->get<bool>();
}

// An integer in [least, most].
Result<int64_t> number_of(const Json& object, const char* key, int64_t otherwise, int64_t least, int64_t most) {
  const Json* value = find(object, key);
  if (value == nullptr) return otherwise;
  const bool exact = value->is_number_integer() && !(value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX);
  if (!exact || value->get<int64_t>() < least || value->get<int64_t>() > most) {
    return Failure(in_quotes(key) + " is " + escape_for_message(value->dump(), 40) + "; it must be an integer in " +
                   std::to_string(least) + " .. " + std::to_string(most));
  }
  return value->get<int64_t>();
}

Result<Width> width_from(const Json& object, int64_t default_bits, int64_t default_group) {
  Width width;
  TRY(const int64_t bits, number_of(object, "bits", default_bits, 1, 8));
  TRY(width.group_size, number_of(object, "group_size", default_group, -1, int64_t{1} << 30));
  width.bits = static_cast<int>(bits);
  if (width.group_size == 0) return Failure("`group_size` is 0; it must be -1 or at least 1");
  return width;
}

Status read_ignore(const Json& section, QuantSection& out) {
  for (const char* key : {"modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers", "llm_int8_skip_modules"}) {
    const Json* list = find(section, key);
    if (list == nullptr) continue;
    if (!list->is_array()) return Failure(in_quotes(key) + " is not a list");
    for (const Json& entry : *list) {
      if (!entry.is_string()) return Failure(in_quotes(key) + " has an entry that is not a string");
      out.ignore.push_back(entry.get<std::string>());
    }
  }
  return Done{};
}

Status read_block_size(const Json& holder, const char* key, QuantSection& out) {
  const Json* size = find(holder, key);
  if (size == nullptr) return Done{};
  const auto is_dim = [](const Json& dim) {
    return dim.is_number_unsigned() && dim.get<uint64_t>() >= 1 && dim.get<uint64_t>() <= (uint64_t{1} << 30);
  };
  if (!size->is_array() || size->size() != 2 || !is_dim((*size)[0]) || !is_dim((*size)[1])) {
    return Failure(in_quotes(key) + " is not a list of two sizes");
  }
  out.block_rows = (*size)[0].get<uint32_t>();
  out.block_cols = (*size)[1].get<uint32_t>();
  return Done{};
}

Status read_awq(const Json& section, QuantSection& out) {
  out.method = QuantMethod::kAwq;
  TRY(const std::string version, text_of(section, "version", "gemm"));
  if (version != "gemm" && version != "GEMM") return Failure("awq `version` is " + in_quotes(version) + "; `gemm` is read");
  TRY(const Width width, width_from(section, 4, 128));
  if (width.bits != 4) return Failure("awq `bits` is " + std::to_string(width.bits) + "; 4 is read");
  out.widths.push_back(width);
  return Done{};
}

Status read_gptq(const Json& section, QuantSection& out) {
  out.method = QuantMethod::kGptq;
  TRY(out.symmetric, flag_of(section, "sym", false));
  TRY(out.desc_act, flag_of(section, "desc_act", false));
  TRY(const std::string older, text_of(section, "format", "gptq"));
  TRY(const std::string format, text_of(section, "checkpoint_format", older));
  if (format != "gptq" && format != "gptq_v2") {
    return Failure("gptq `checkpoint_format` is " + in_quotes(format) + "; `gptq` and `gptq_v2` are read");
  }
  out.gptq_v2 = format == "gptq_v2";
  TRY(const Width width, width_from(section, 4, 128));
  out.widths.push_back(width);
  return Done{};
}

// compressed-tensors and modelopt describe weights in config groups; ours may differ in width but not in kind.
Status read_config_groups(const Json& section, QuantSection& out) {
  const Json* groups = find(section, "config_groups");
  if (groups == nullptr) return Done{};
  if (!groups->is_object()) return Failure("`config_groups` is not an object");
  for (const auto& [name, group] : groups->items()) {
    const Json* weights = find(group, "weights");
    if (weights == nullptr) continue;
    TRY(const int64_t bits, number_of(*weights, "num_bits", 8, 1, 8));
    TRY(const std::string type, text_of(*weights, "type", "int"));
    TRY(const std::string strategy, text_of(*weights, "strategy", "group"));
    const int64_t fallback = strategy == "group" ? 128 : -1;
    TRY(const int64_t size, number_of(*weights, "group_size", fallback, -1, int64_t{1} << 30));
    if (size == 0) return Failure("`group_size` of config group " + in_quotes(name) + " is 0");
    TRY(out.symmetric, flag_of(*weights, "symmetric", true));
    TRY_STATUS(read_block_size(*weights, "block_structure", out));
    out.widths.push_back({static_cast<int>(bits), size});
    const QuantMethod method = type != "float" ? QuantMethod::kCtInt
                               : bits == 8     ? QuantMethod::kFp8
                                               : QuantMethod::kNvfp4Ct;
    if (out.method != QuantMethod::kNone && out.method != method) {
      return Failure("config groups of different kinds: " + std::string(quant_method_name(out.method)) + " and " +
                     std::string(quant_method_name(method)));
    }
    out.method = method;
    const Json* activations = find(group, "input_activations");
    const Json* dynamic = activations == nullptr ? nullptr : find(*activations, "dynamic");
    if (dynamic != nullptr && dynamic->is_boolean() && !dynamic->get<bool>()) out.static_activations = true;
  }
  return Done{};
}

Status read_compressed_tensors(const Json& section, QuantSection& out) {
  TRY(const std::string format, text_of(section, "format", ""));
  for (const char* known : {"", "pack-quantized", "float-quantized", "nvfp4-pack-quantized", "naive-quantized"}) {
    if (format != known) continue;
    TRY_STATUS(read_config_groups(section, out));
    if (out.method == QuantMethod::kNone) return Failure("`config_groups` name no weights");
    return Done{};
  }
  return Failure("compressed-tensors `format` is " + in_quotes(format) +
                 "; `pack-quantized`, `float-quantized` and `nvfp4-pack-quantized` are read");
}

Status read_bnb(const Json& section, QuantSection& out) {
  out.method = QuantMethod::kBnbNf4;
  TRY(const bool four_bits, flag_of(section, "load_in_4bit", false));
  TRY(const std::string type, text_of(section, "bnb_4bit_quant_type", "nf4"));
  if (!four_bits || type != "nf4") return Failure("bitsandbytes without `load_in_4bit` and type `nf4` is not read");
  return Done{};
}

Status read_fp8(const Json& section, QuantSection& out) {
  out.method = QuantMethod::kFp8;
  TRY(const std::string scheme, text_of(section, "activation_scheme", "dynamic"));
  if (scheme != "dynamic" && scheme != "static") {
    return Failure("fp8 `activation_scheme` is " + in_quotes(scheme) + "; it must be `dynamic` or `static`");
  }
  out.static_activations = scheme == "static";
  return read_block_size(section, "weight_block_size", out);
}

Status read_modelopt(const Json& section, QuantSection& out) {
  TRY(const std::string algo, text_of(section, "quant_algo", ""));
  if (algo == "FP8") {
    out.method = QuantMethod::kFp8;
    out.static_activations = true;
    return Done{};
  }
  if (algo != "NVFP4") return Failure("`quant_algo` is " + in_quotes(algo) + "; `NVFP4` and `FP8` are read");
  out.method = QuantMethod::kNvfp4;
  out.widths.push_back({4, 16});
  return Done{};
}

// Every key whose value is an object or `false`, other than the section's own, is a module path.
Status read_mlx(const Json& section, QuantSection& out) {
  out.method = QuantMethod::kMlxAffine;
  TRY(const std::string mode, text_of(section, "mode", "affine"));
  if (mode != "affine") return Failure("`mode` is " + in_quotes(mode) + "; `affine` is read");
  TRY(const Width width, width_from(section, 4, 64));
  out.widths.push_back(width);
  TRY(out.quant_embed, flag_of(section, "quant_embed", false));
  for (const auto& [key, value] : section.items()) {
    if (key == "bits_overrides") {
      if (!value.is_object()) return Failure("`bits_overrides` is not an object");
      for (const auto& [suffix, bits] : value.items()) {
        TRY(const int64_t number, number_of(value, suffix.c_str(), 0, 2, 8));
        out.bits_overrides[suffix] = static_cast<int>(number);
      }
    } else if (value.is_object()) {
      TRY(const std::string module_mode, text_of(value, "mode", "affine"));
      if (module_mode != "affine") return Failure("`mode` of " + in_quotes(key) + " is " + in_quotes(module_mode) + "; `affine` is read");
      TRY(const Width own, width_from(value, width.bits, width.group_size));
      out.modules[key] = own;
    } else if (value.is_boolean() && !value.get<bool>() && key != "quant_embed") {
      out.modules[key] = std::nullopt;
    }
  }
  return Done{};
}

Status read_section(const Json& section, QuantSection& out) {
  if (!section.is_object()) return Failure("section is not an object");
  TRY_STATUS(read_ignore(section, out));
  TRY(const std::string method, text_of(section, "quant_method", ""));
  if (method == "awq") return read_awq(section, out);
  if (method == "gptq") return read_gptq(section, out);
  if (method == "compressed-tensors") return read_compressed_tensors(section, out);
  if (method == "bitsandbytes") return read_bnb(section, out);
  if (method == "fp8") return read_fp8(section, out);
  if (method == "modelopt" || find(section, "quant_algo") != nullptr) return read_modelopt(section, out);
  if (method == "mxfp4" || method == "gguf") {
    out.method = method == "mxfp4" ? QuantMethod::kMxfp4 : QuantMethod::kGguf;
    return Done{};
  }
  if (method.empty() && find(section, "bits") != nullptr && find(section, "group_size") != nullptr) return read_mlx(section, out);
  return Failure("`quant_method` is " + in_quotes(method) +
                 "; known are awq, gptq, compressed-tensors, bitsandbytes, fp8, modelopt, mxfp4, gguf, and none with `bits` and `group_size`");
}

bool ends_with_segments(std::string_view path, std::string_view tail) {
  if (!path.ends_with(tail)) return false;
  return path.size() == tail.size() || path[path.size() - tail.size() - 1] == '.';
}

bool begins_with_segments(std::string_view path, std::string_view head) {
  return path.starts_with(head) && (path.size() == head.size() || path[head.size()] == '.');
}

// Patterns are short, without counted repeats, and matched in polynomial time (a mode of libstdc++); one that is refused
// matches nothing.
bool matches_pattern(std::string_view pattern, std::string_view module) {
  constexpr size_t kLongestPattern = 256;
  if (pattern.size() > kLongestPattern || module.size() > kMaxTensorNameBytes) return false;
  if (pattern.find('{') != std::string_view::npos) return false;
  try {
    const std::regex regex(pattern.begin(), pattern.end(), std::regex::ECMAScript | std::regex_constants::__polynomial);
    // The format matches at the start of the path, not anywhere in it.
    return std::regex_search(module.begin(), module.end(), regex, std::regex_constants::match_continuous);
  } catch (const std::regex_error&) {
    return false;
  }
}

}  // namespace

std::string_view quant_method_name(QuantMethod method) {
  switch (method) {
    case QuantMethod::kNone: return "none";
    case QuantMethod::kAwq: return "awq";
    case QuantMethod::kGptq: return "gptq";
    case QuantMethod::kCtInt: return "compressed-tensors int";
    case QuantMethod::kBnbNf4: return "bitsandbytes nf4";
    case QuantMethod::kFp8: return "fp8";
    case QuantMethod::kNvfp4: return "modelopt nvfp4";
    case QuantMethod::kNvfp4Ct: return "compressed-tensors nvfp4";
    case QuantMethod::kMxfp4: return "mxfp4";
    case QuantMethod::kMlxAffine: return "mlx affine";
    case QuantMethod::kGguf: return "gguf";
  }
  SCRATCHY_UNREACHABLE("method out of range");
}

Result<QuantSection> parse_quant_section(const Json& section) {
  QuantSection out;
  if (section.is_null()) return out;
  TRY_STATUS(read_section(section, out));
  return out;
}

Result<QuantSection> quant_section_of_config(const Json& config) {
  for (const char* key : {"quantization", "quantization_config"}) {
    const Json* section = find(config, key);
    if (section == nullptr) continue;
    auto parsed = parse_quant_section(*section);
    if (!parsed.ok()) return std::move(parsed).failure().in(in_quotes(key));
    return parsed;
  }
  return QuantSection{};
}

bool is_ignored(const QuantSection& section, std::string_view module) {
  return std::any_of(section.ignore.begin(), section.ignore.end(), [&](const std::string& entry) {
    if (entry.starts_with("re:")) return matches_pattern(std::string_view(entry).substr(3), module);
    if (entry.find('*') != std::string::npos) {
      return fits_pattern(entry, module) || fits_pattern(entry + ".*", module) || fits_pattern("*." + entry, module);
    }
    return !entry.empty() && (begins_with_segments(module, entry) || ends_with_segments(module, entry));
  });
}

std::optional<Width> width_of(const QuantSection& section, std::string_view module) {
  const auto own = section.modules.find(std::string(module));
  if (own != section.modules.end()) return own->second;
  if (section.widths.size() != 1) return std::nullopt;
  Width width = section.widths.front();
  size_t longest = 0;
  for (const auto& [suffix, bits] : section.bits_overrides) {
    if (suffix.size() < longest || !ends_with_segments(module, suffix)) continue;
    longest = suffix.size();
    width.bits = bits;
  }
  return width;
}

}  // namespace scratchy
