#include "checkpoint/safetensors.h"

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "base/text.h"
#include "checkpoint/json_events.h"

namespace scratchy {
namespace {

constexpr size_t kMaxMetadataEntries = 65'536;

std::string in_quotes(std::string_view name) { return "`" + escape_for_message(name) + "`"; }

// Follows the header's events; where it stands is one of these places.
class HeaderEvents final : public JsonEvents {
 public:
  Refusal begin_object() override {
    if (place_ == Place::kStart) return go(Place::kTop);
    if (place_ == Place::kTop) return name_ == "__metadata__" ? begin_metadata() : begin_tensor();
    return misplaced("an object");
  }
  Refusal end_object() override {
    if (place_ == Place::kTensor) {
      if (!has_dtype_) return "tensor " + in_quotes(name_) + " has no `dtype`";
      if (!has_shape_) return "tensor " + in_quotes(name_) + " has no `shape`";
      if (!has_offsets_) return "tensor " + in_quotes(name_) + " has no `data_offsets`";
    }
    return go(place_ == Place::kTop ? Place::kEnd : Place::kTop);
  }
  Refusal begin_array() override {
    if (place_ != Place::kTensor || field_ == Field::kDType) return misplaced("a list");
    return go(field_ == Field::kShape ? Place::kShape : Place::kOffsets);
  }
  Refusal end_array() override {
    if (place_ == Place::kOffsets) {
      if (offsets_.size() != 2) return "`data_offsets` of tensor " + in_quotes(name_) + " has not two entries";
      if (offsets_[0] > offsets_[1]) return "`data_offsets` of tensor " + in_quotes(name_) + " ends before it begins";
      tensors.back().offset = offsets_[0];
      tensors.back().bytes = offsets_[1] - offsets_[0];
    }
    return go(Place::kTensor);
  }
  Refusal key(std::string& name) override {
    if (place_ == Place::kTensor) return tensor_field(name);
    if (place_ == Place::kMetadata) {
      metadata_key_ = std::move(name);
      return std::nullopt;
    }
    if (name.empty()) return "a tensor has an empty name";
    if (name.size() > kMaxTensorNameBytes) {
      return "tensor name " + in_quotes(name) + " has " + with_thousands(name.size()) + " bytes; at most " +
             with_thousands(kMaxTensorNameBytes) + " are read";
    }
    name_ = std::move(name);
    return std::nullopt;
  }
  Refusal text(std::string& value) override {
    if (place_ == Place::kMetadata) return add_metadata(value);
    if (place_ != Place::kTensor || field_ != Field::kDType) return misplaced("a string");
    const auto dtype = parse_dtype(value);
    if (!dtype) return "tensor " + in_quotes(name_) + " has dtype " + in_quotes(value) + "; known are " + dtype_list();
    tensors.back().dtype = *dtype;
    return std::nullopt;
  }
  Refusal unsigned_integer(uint64_t value) override {
    if (place_ == Place::kShape) {
      if (tensors.back().shape.size() == kMaxTensorRank) {
        return "tensor " + in_quotes(name_) + " has more than " + std::to_string(kMaxTensorRank) + " dimensions";
      }
      tensors.back().shape.push_back(value);
      return std::nullopt;
    }
    if (place_ != Place::kOffsets) return misplaced("a number");
    if (offsets_.size() == 2) return "`data_offsets` of tensor " + in_quotes(name_) + " has not two entries";
    offsets_.push_back(value);
    return std::nullopt;
  }
  Refusal negative_integer(int64_t) override { return misplaced("a negative number"); }
  Refusal real(double) override { return misplaced("a number with a fraction or exponent"); }
  Refusal boolean(bool) override { return misplaced("a truth value"); }
  Refusal null() override {
    if (place_ == Place::kTop && name_ == "__metadata__") return has_metadata_ ? repeated_metadata() : std::nullopt;
    return misplaced("null");
  }

  std::vector<TensorInfo> tensors;
  std::map<std::string, std::string> metadata;

 private:
  enum class Place { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kEnd };
  enum class Field { kNone, kDType, kShape, kOffsets };

  Refusal go(Place place) {
    place_ = place;
    return std::nullopt;
  }
  Refusal misplaced(const char* what) const {
    const bool inside = place_ != Place::kStart && place_ != Place::kEnd;
    return std::string(what) + " where the format has none" + (inside ? ", in " + in_quotes(name_) : "");
  }
  Refusal repeated_metadata() const { return "`__metadata__` appears twice"; }
  Refusal begin_metadata() {
    if (has_metadata_) return repeated_metadata();
    has_metadata_ = true;
    return go(Place::kMetadata);
  }
  Refusal begin_tensor() {
    if (tensors.size() == kMaxTensors) return "more than " + with_thousands(kMaxTensors) + " tensors";
    tensors.emplace_back().name = name_;
    has_dtype_ = has_shape_ = has_offsets_ = false;
    field_ = Field::kNone;
    offsets_.clear();
    return go(Place::kTensor);
  }
  Refusal tensor_field(const std::string& name) {
    bool* seen = nullptr;
    if (name == "dtype") field_ = Field::kDType, seen = &has_dtype_;
    if (name == "shape") field_ = Field::kShape, seen = &has_shape_;
    if (name == "data_offsets") field_ = Field::kOffsets, seen = &has_offsets_;
    if (seen == nullptr) return "tensor " + in_quotes(name_) + " has an unknown key " + in_quotes(name);
    if (*seen) return "tensor " + in_quotes(name_) + " has `" + name + "` twice";
    *seen = true;
    return std::nullopt;
  }
  Refusal add_metadata(std::string& value) {
    if (metadata.size() == kMaxMetadataEntries) {
      return "`__metadata__` has more than " + with_thousands(kMaxMetadataEntries) + " entries";
    }
    if (!metadata.emplace(metadata_key_, std::move(value)).second) {
      return "`__metadata__` has key " + in_quotes(metadata_key_) + " twice";
    }
    return std::nullopt;
  }

  Place place_ = Place::kStart;
  Field field_ = Field::kNone;
  std::string name_, metadata_key_;
  bool has_metadata_ = false, has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  std::vector<uint64_t> offsets_;
};

Status check_size(const TensorInfo& tensor) {
  uint64_t count = 1;
  for (const uint64_t dim : tensor.shape) {
    const auto product = checked_mul(count, dim);
    if (!product) return Failure("tensor " + in_quotes(tensor.name) + ": shape " + shape_text(tensor.shape) + " has more than 2^64 elements");
    count = *product;
  }
  const auto bytes = dtype_storage(tensor.dtype, count);
  const std::string what = "tensor " + in_quotes(tensor.name) + ": " + std::string(dtype_name(tensor.dtype)) + " " + shape_text(tensor.shape);
  if (!bytes) return Failure(what + " is not a number of whole bytes below 2^64");
  if (*bytes != tensor.bytes) {
    return Failure(what + " takes " + std::to_string(*bytes) + " bytes; `data_offsets` span " + std::to_string(tensor.bytes));
  }
  return Done{};
}

// Tensors, sorted by place, must cover [0, data_bytes) without holes or overlaps.
Status check_cover(const std::vector<TensorInfo>& tensors, uint64_t data_bytes, uint64_t data_begin) {
  std::vector<const TensorInfo*> by_place;
  for (const TensorInfo& tensor : tensors) by_place.push_back(&tensor);
  std::sort(by_place.begin(), by_place.end(), [](const TensorInfo* a, const TensorInfo* b) {
    return a->offset != b->offset ? a->offset < b->offset : a->bytes < b->bytes;
  });
  uint64_t end = 0;
  for (const TensorInfo* tensor : by_place) {
    if (tensor->offset < end) return Failure("tensor " + in_quotes(tensor->name) + " overlaps another tensor");
    if (tensor->offset > end) {
      return Failure("bytes " + std::to_string(end) + " .. " + std::to_string(tensor->offset) + " before tensor " +
                     in_quotes(tensor->name) + " belong to no tensor");
    }
    end = tensor->offset + tensor->bytes;
  }
  if (end > data_bytes) {
    return Failure("file has " + with_thousands(data_begin + data_bytes) + " bytes; its header asks for " +
                   with_thousands(data_begin) + " + " + with_thousands(end) + ": it is incomplete, download it again");
  }
  if (end < data_bytes) return Failure(with_thousands(data_bytes - end) + " bytes after the last tensor belong to no tensor");
  return Done{};
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, uint64_t data_begin, uint64_t file_bytes) {
  const size_t last = json.find_last_not_of(' ');
  if (json.empty() || json.front() != '{' || last == std::string_view::npos || json[last] != '}') {
    return Failure("header is not a json object followed by spaces");
  }
  if (data_begin > file_bytes) return Failure("header ends past the end of the file");
  HeaderEvents events;
  const JsonLimits limits{.max_bytes = kMaxSafetensorsHeader, .max_depth = 4, .max_values = 20'000'000};
  auto walked = walk_json(json.substr(0, last + 1), events, limits);
  if (!walked.ok()) return std::move(walked).failure().in("header");
  for (const TensorInfo& tensor : events.tensors) TRY_STATUS(check_size(tensor));
  TRY_STATUS(check_cover(events.tensors, file_bytes - data_begin, data_begin));
  SafetensorsHeader header{std::move(events.tensors), std::move(events.metadata)};
  std::sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (size_t i = 0; i < header.tensors.size(); ++i) {
    if (i > 0 && header.tensors[i].name == header.tensors[i - 1].name) {
      return Failure("tensor " + in_quotes(header.tensors[i].name) + " appears twice");
    }
    header.tensors[i].offset += data_begin;
  }
  return header;
}

Result<SafetensorsHeader> read_safetensors_header(const InputFile& file) {
  const auto read = [&]() -> Result<SafetensorsHeader> {
    if (file.size() < 8) return Failure("file has " + std::to_string(file.size()) + " bytes; a safetensors file has at least 8");
    std::byte prefix[8];
    TRY_STATUS(file.read(0, prefix));
    uint64_t length = 0;
    for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<uint64_t>(prefix[i]);
    if (length > kMaxSafetensorsHeader) {
      return Failure("header length " + with_thousands(length) + "; at most " + with_thousands(kMaxSafetensorsHeader) + " is read");
    }
    if (!range_fits(8, length, file.size())) {
      return Failure("header length " + with_thousands(length) + " in a file of " + with_thousands(file.size()) +
                     " bytes: it is incomplete or no safetensors file");
    }
    std::string json(length, '\0');
    TRY_STATUS(file.read(8, std::as_writable_bytes(std::span(json))));
    return parse_safetensors_header(json, 8 + length, file.size());
  };
  auto header = read();
  if (!header.ok()) return std::move(header).failure().in("`" + escape_for_message(file.path().string(), 400) + "`");
  return header;
}

Result<std::string> encode_safetensors(const std::vector<TensorToWrite>& tensors,
                                       const std::map<std::string, std::string>& metadata) {
  std::set<std::string_view> names;
  std::string json = "{";
  if (!metadata.empty()) {
    for (const auto& [key, value] : metadata) {
      if (!is_utf8(key) || !is_utf8(value)) return Failure("metadata " + in_quotes(key) + " is not UTF-8");
    }
    json += "\"__metadata__\":" + Json(metadata).dump();
  }
  uint64_t end = 0;
  for (const TensorToWrite& tensor : tensors) {
    if (tensor.name.empty() || tensor.name.size() > kMaxTensorNameBytes || !is_utf8(tensor.name) ||
        tensor.name == "__metadata__" || !names.insert(tensor.name).second) {
      return Failure("tensor name " + in_quotes(tensor.name) + " is empty, too long, not UTF-8, reserved or used twice");
    }
    TRY_STATUS(check_size({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .bytes = tensor.bytes.size()}));
    const uint64_t begin = end;
    end += tensor.bytes.size();
    const Json fields = {{"dtype", dtype_name(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    json += (json.size() > 1 ? "," : "") + Json(tensor.name).dump() + ":" + fields.dump();
  }
  json += "}";
  json.append((64 - (8 + json.size()) % 64) % 64, ' ');
  if (json.size() > kMaxSafetensorsHeader) return Failure("header of " + with_thousands(json.size()) + " bytes is too long");
  std::string file;
  file.reserve(8 + json.size() + end);
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<char>(json.size() >> 8 * i & 255));
  file += json;
  for (const TensorToWrite& tensor : tensors) file.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return file;
}

Status write_safetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                         const std::map<std::string, std::string>& metadata) {
  TRY(const std::string file, encode_safetensors(tensors, metadata));
  return write_file_atomically(path, file);
}

}  // namespace scratchy
