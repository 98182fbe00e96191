// The quantisation section of a config.json or of a preset: `quantization_config`, or `quantization` in MLX files.
//
// Only what decides how stored bytes are read is kept, plus the list of modules left dense. An unknown method is a
// Failure. The section never decides alone: a checkpoint's tensors say which form a module has (load_matrix.h), and a
// contradiction is refused there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "checkpoint/json.h"

namespace scratchy {

enum class QuantMethod : uint8_t { kNone, kAwq, kGptq, kCtInt, kBnbNf4, kFp8, kNvfp4, kNvfp4Ct, kMxfp4, kMlxAffine, kGguf };
std::string_view quant_method_name(QuantMethod method);

struct QuantSection {
  // One width of integers. group_size -1: one group a row.
  struct Width {
    int bits = 0;
    int64_t group_size = 0;
  };

  QuantMethod method = QuantMethod::kNone;
  // The widths in use: one, but several for compressed-tensors with several config groups.
  std::vector<Width> widths;
  bool symmetric = false;    // gptq `sym`, compressed-tensors `symmetric`
  bool desc_act = false;     // gptq
  bool gptq_v2 = false;      // gptq `checkpoint_format`
  // fp8: rows and columns of one scale, 0 when not by blocks.
  uint32_t block_rows = 0;
  uint32_t block_cols = 0;
  bool static_activations = false;  // fp8 `activation_scheme: static`
  std::vector<std::string> ignore;  // as listed; `re:` entries are regular expressions
  // MLX entries by module path; nothing means dense.
  std::map<std::string, std::optional<Width>> modules;
  // Preset keys: `quant_embed`, and widths by path suffix.
  bool quant_embed = false;
  std::map<std::string, int> bits_overrides;
  bool empty() const { return method == QuantMethod::kNone; }
};

// `section` is the object itself. Null gives an empty section.
Result<QuantSection> parse_quant_section(const Json& section);

// The section inside a config.json: `quantization` (MLX) before `quantization_config`.
Result<QuantSection> quant_section_of_config(const Json& config);

// Whether `module` (dotted path) is named by an ignore entry: equal to it, beginning or ending with it at whole segments,
// or matched by a `re:` pattern. `*` in an entry stands for any text.
bool is_ignored(const QuantSection& section, std::string_view module);

// The width that holds for `module`: its own entry, else the longest override suffix, else the only width. Nothing when
// its entry says dense or there are none or several.
std::optional<QuantSection::Width> width_of(const QuantSection& section, std::string_view module);

}  // namespace scratchy
