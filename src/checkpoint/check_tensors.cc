#include "checkpoint/check_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "checkpoint/load_matrix.h"
#include "checkpoint/load_weight.h"

namespace scratchy {
namespace {

constexpr size_t kListed = 12;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_ignored_tensor(std::string_view pattern, std::string_view name, int32_t layers) {
  constexpr std::string_view kBeyond = "{beyond}";
  const size_t at = pattern.find(kBeyond);
  if (at == std::string_view::npos) return fits_pattern(pattern, name);
  for (size_t begin = 0; begin < name.size(); ++begin) {
    if (!is_digit(name[begin]) || (begin > 0 && is_digit(name[begin - 1]))) continue;
    size_t end = begin;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end - begin > 9 || std::stol(std::string(name.substr(begin, end - begin))) < layers) continue;
    if (fits_pattern(pattern.substr(0, at), name.substr(0, begin)) && fits_pattern(pattern.substr(at + kBeyond.size()), name.substr(end))) {
      return true;
    }
  }
  return false;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kListed; ++i) {
    text += (i == 0 ? "`" : ", `") + escape_for_message(names[i]) + "`";
  }
  if (names.size() > kListed) text += " and " + with_thousands(names.size() - kListed) + " more";
  return text;
}

std::string path_of(const WeightSource& source, const WeightRoot& root, bool gguf) {
  for (const WeightForm& form : source.forms) {
    if ((form.place == WeightPlace::kGguf) == gguf) {
      return weight_path(form, root, source.layer, 0) + (form.bare ? "" : ".weight");
    }
  }
  return std::string(source.name) + " (which this kind of file cannot hold)";
}

std::vector<std::string> missing_under(const Checkpoint& checkpoint, const WeightPlanView& plan, const WeightRoot& root) {
  std::vector<std::string> missing;
  for (const WeightSource& source : plan.sources) {
    if (find_form_of(checkpoint, root, source) == nullptr) missing.push_back(path_of(source, root, checkpoint.is_gguf()));
  }
  return missing;
}

// Names of all tensors that the weights are read from.
std::set<std::string, std::less<>> used_tensors(const Checkpoint& checkpoint, const WeightPlanView& plan, const WeightRoot& root) {
  std::set<std::string, std::less<>> used;
  for (const WeightSource& source : plan.sources) {
    const WeightForm* form = find_form_of(checkpoint, root, source);
    if (form == nullptr) continue;
    const bool each = form->path.find("{expert}") != std::string_view::npos;
    for (uint32_t expert = 0; expert < (each ? source.experts : 1); ++expert) {
      const std::string path = weight_path(*form, root, source.layer, expert);
      if (form->bare) {
        used.insert(path);
        continue;
      }
      used.insert(path + ".weight");
      for (std::string& name : weight_tensors(checkpoint, path)) used.insert(std::move(name));
    }
    if (form->split_heads > 0) {
      for (std::string& name : weight_tensors(checkpoint, weight_path(other_part(*form), root, source.layer, 0))) used.insert(std::move(name));
    }
    for (const WeightForm& other : source.forms) {
      if (!other.copy || !has_form(checkpoint, root, source, other)) continue;
      for (std::string& name : weight_tensors(checkpoint, weight_path(other, root, source.layer, 0))) used.insert(std::move(name));
    }
  }
  return used;
}

// Whether two tensors hold the same bytes, read a piece at a time.
Result<bool> same_bytes(const Checkpoint& checkpoint, const TensorInfo& a, const TensorInfo& b) {
  if (a.dtype != b.dtype || a.blocks != b.blocks || a.shape != b.shape) return false;
  constexpr uint64_t kPiece = uint64_t{1} << 20;
  std::vector<std::byte> left, right;
  for (uint64_t at = 0; at < a.bytes; at += kPiece) {
    const uint64_t size = std::min(kPiece, a.bytes - at);
    left.resize(size);
    right.resize(size);
    TRY_STATUS(checkpoint.read_part(a, at, left));
    TRY_STATUS(checkpoint.read_part(b, at, right));
    if (left != right) return false;
  }
  return true;
}

std::string number_text(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

Status check_metadata(const Checkpoint& checkpoint, const WeightPlanView& plan) {
  if (!checkpoint.is_gguf()) return Done{};
  TRY(const std::optional<std::string> tag, checkpoint.gguf().text("general.architecture"));
  const std::string seen = tag.value_or("");
  if (std::find(plan.gguf_tags.begin(), plan.gguf_tags.end(), seen) == plan.gguf_tags.end()) {
    std::vector<std::string> known(plan.gguf_tags.begin(), plan.gguf_tags.end());
    return Failure("`general.architecture` is `" + escape_for_message(seen) + "`, this program is for `" + join(known, "`, `") + "`");
  }
  std::vector<std::string> differing;
  for (const MetadataExpectation& expected : plan.metadata) {
    const std::string key = seen + "." + std::string(expected.key);
    if (!checkpoint.gguf().has(key)) continue;
    TRY(const std::optional<std::vector<double>> values, checkpoint.gguf().reals(key));
    if (!values || values->empty()) continue;
    const double value = values->front();
    // A list of different numbers is about single layers; the shapes of their tensors say the same.
    if (std::any_of(values->begin(), values->end(), [&](double other) { return other != value; })) continue;
    const double slack = 1e-6 * std::abs(expected.value);  // metadata is f32
    if (!(std::abs(value - expected.value) <= slack)) {
      differing.push_back("`" + key + "` is " + number_text(value) + " and the program was built for " + number_text(expected.value));
    }
  }
  if (!differing.empty()) return Failure("not the model of this program: " + join(differing, "; "));
  return Done{};
}

}  // namespace

Result<WeightRoot> choose_root(const Checkpoint& checkpoint, const WeightPlanView& plan) {
  if (checkpoint.is_gguf()) {
    const std::vector<std::string> missing = missing_under(checkpoint, plan, WeightRoot{});
    if (!missing.empty()) return Failure("missing " + with_thousands(missing.size()) + " of the program's weights: " + listed(missing));
    return WeightRoot{};
  }
  const WeightRoot* fitting = nullptr;
  const WeightRoot* nearest = nullptr;
  std::vector<std::string> fewest;
  for (const WeightRoot& root : plan.roots) {
    std::vector<std::string> missing = missing_under(checkpoint, plan, root);
    if (missing.empty()) {
      if (fitting != nullptr && fitting->decoder != root.decoder) {
        return Failure("the weights are there twice, under `" + std::string(fitting->decoder) + "` and under `" + std::string(root.decoder) + "`");
      }
      if (fitting == nullptr) fitting = &root;
    } else if (nearest == nullptr || missing.size() < fewest.size()) {
      nearest = &root;
      fewest = std::move(missing);
    }
  }
  if (fitting != nullptr) return *fitting;
  return Failure("missing " + with_thousands(fewest.size()) + " of the program's weights: " + listed(fewest));
}

Status check_copies(const Checkpoint& checkpoint, const WeightPlanView& plan, const WeightRoot& root) {
  for (const WeightSource& source : plan.sources) {
    const WeightForm* form = find_form_of(checkpoint, root, source);
    if (form == nullptr || form->copy) continue;
    const std::string path = weight_path(*form, root, source.layer, 0);
    for (const WeightForm& other : source.forms) {
      if (!other.copy || !has_form(checkpoint, root, source, other)) continue;
      const std::string other_path = weight_path(other, root, source.layer, 0);
      for (const std::string& name : weight_tensors(checkpoint, other_path)) {
        const TensorInfo* original = checkpoint.find(path + name.substr(other_path.size()));
        bool same = original != nullptr;
        if (same) {
          TRY(same, same_bytes(checkpoint, *original, *checkpoint.find(name)));
        }
        if (!same) return Failure("tensor `" + escape_for_message(name) + "` differs from weight `" + escape_for_message(path) + "`, to which the config ties it");
      }
    }
  }
  return Done{};
}

Result<WeightRoot> check_tensors(const Checkpoint& checkpoint, const WeightPlanView& plan) {
  TRY_STATUS(check_metadata(checkpoint, plan));
  TRY(const WeightRoot root, choose_root(checkpoint, plan));
  const auto used = used_tensors(checkpoint, plan, root);
  std::vector<std::string> unwanted;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    if (tensor.count() == 0 || used.contains(tensor.name) || is_unneeded_tensor(tensor.name)) continue;
    const bool ignored = std::any_of(plan.ignored.begin(), plan.ignored.end(), [&](const IgnoredTensor& entry) {
      return is_ignored_tensor(entry.pattern, tensor.name, plan.layers);
    });
    if (!ignored) unwanted.push_back(tensor.name);
  }
  if (!unwanted.empty()) {
    return Failure("the checkpoint has " + with_thousands(unwanted.size()) + " tensors that the program does not read: " + listed(unwanted));
  }
  return root;
}

}  // namespace scratchy
