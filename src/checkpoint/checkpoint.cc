#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/checked.h"
#include "base/text.h"
#include "checkpoint/safetensors.h"

namespace scratchy {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;
constexpr size_t kMaxShards = 10'000;

std::string in_quotes(std::string_view name) { return "`" + escape_for_message(name, 400) + "`"; }

// A file name without folders: what an index may name.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

// FNV-1a over everything that identifies a checkpoint.
class Hash {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) state_ = (state_ ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  }
  void add(uint64_t number) {
    for (int i = 0; i < 8; ++i) state_ = (state_ ^ (number >> 8 * i & 255)) * 0x100000001b3;
  }
  std::string hex() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(state_));
    return text;
  }

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

// "model-00001-of-00003.gguf" with another part number.
std::optional<std::string> name_of_part(const std::string& name, uint64_t part, uint64_t count) {
  constexpr size_t kTail = sizeof("-00001-of-00003.gguf") - 1;
  if (name.size() < kTail) return std::nullopt;
  const auto tail = [](uint64_t number, uint64_t of) {
    char text[64];
    std::snprintf(text, sizeof text, "-%05llu-of-%05llu.gguf", static_cast<unsigned long long>(number),
                  static_cast<unsigned long long>(of));
    return std::string(text);
  };
  bool is_some_part = false;
  for (uint64_t i = 1; i <= count && !is_some_part; ++i) is_some_part = name.ends_with(tail(i, count));
  if (!is_some_part) return std::nullopt;
  return name.substr(0, name.size() - kTail) + tail(part + 1, count);
}

}  // namespace

// Gathers a checkpoint's files, then joins them. Methods are in the order they run.
class CheckpointOpener {
 public:
  Result<Checkpoint> open(const fs::path& path) {
    checkpoint_.path_ = path;
    std::error_code error;
    if (fs::is_directory(path, error)) TRY_STATUS(open_folder(path));
    else if (path.extension() == ".gguf") TRY_STATUS(open_gguf(path));
    else return Failure(in_quotes(path.string()) + " is neither a folder nor a `.gguf` file");
    TRY_STATUS(finish());
    return std::move(checkpoint_);
  }

 private:
  Status open_folder(const fs::path& folder) {
    std::error_code error;
    if (fs::exists(folder / "config.json", error)) {
      TRY(checkpoint_.config_text_, read_file(folder / "config.json", kMaxConfigBytes));
      auto config = parse_json(checkpoint_.config_text_);
      if (!config.ok()) return std::move(config).failure().in(in_quotes((folder / "config.json").string()));
      checkpoint_.config_ = *std::move(config);
      TRY(checkpoint_.section_, quant_section_of_config(checkpoint_.config_));
    }
    if (fs::exists(folder / "model.safetensors.index.json", error)) return open_shards(folder);
    TRY(const fs::path single, single_weight_file(folder));
    return single.extension() == ".gguf" ? open_gguf(single) : add_safetensors(single);
  }

  // model.safetensors, else the only *.gguf, else the only *.safetensors of the folder.
  static Result<fs::path> single_weight_file(const fs::path& folder) {
    std::error_code error;
    if (fs::exists(folder / "model.safetensors", error)) return folder / "model.safetensors";
    for (const char* extension : {".gguf", ".safetensors"}) {
      std::vector<fs::path> found;
      for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        if (it->path().extension() == extension) found.push_back(it->path());
      }
      std::sort(found.begin(), found.end());
      const bool is_split = found.size() > 1 && name_of_part(found[0].filename().string(), 0, found.size()).has_value();
      if (found.size() == 1 || is_split) return found[0];
      if (found.size() > 1) {
        return Failure(in_quotes(folder.string()) + " has " + std::to_string(found.size()) + " `*" + extension +
                       "` files and no `model.safetensors.index.json` to join them");
      }
    }
    return Failure(in_quotes(folder.string()) + " has no `*.safetensors` and no `.gguf` file");
  }

  Status open_shards(const fs::path& folder) {
    const fs::path index_path = folder / "model.safetensors.index.json";
    TRY(const Json index, read_json(index_path));
    const std::string where = in_quotes(index_path.string());
    if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
      return Failure(where + " has no object `weight_map`");
    }
    std::set<std::string> shards;
    for (const auto& [tensor, shard] : index["weight_map"].items()) {
      if (!shard.is_string() || !is_plain_name(shard.get_ref<const std::string&>())) {
        return Failure(where + ": tensor " + in_quotes(tensor) + " is in " + in_quotes(shard.dump()) +
                       "; a shard is the name of a file beside the index");
      }
      shards.insert(shard.get<std::string>());
      if (shards.size() > kMaxShards) return Failure(where + " names more than " + with_thousands(kMaxShards) + " shards");
    }
    std::map<std::string, uint32_t> file_of_shard;
    for (const std::string& shard : shards) {
      file_of_shard[shard] = static_cast<uint32_t>(checkpoint_.files_.size());
      TRY_STATUS(add_shard(folder, shard));
    }
    return compare_with_index(index["weight_map"], file_of_shard, where);
  }

  // Links may lead to a content store, as download caches make them, if it is the link's own cache: two folders up at most.
  Status add_shard(const fs::path& folder, const std::string& shard) {
    std::error_code error;
    const fs::path path = folder / shard;
    if (fs::is_symlink(path, error)) {
      const fs::path target = fs::weakly_canonical(path, error);
      const fs::path home = fs::weakly_canonical(folder, error);
      const fs::path store = home.parent_path().parent_path() / "blobs";
      if (target.parent_path() != home && target.parent_path() != store) {
        return Failure("shard " + in_quotes(shard) + " is a link out of its folder");
      }
    }
    return add_safetensors(path);
  }

  Status compare_with_index(const Json& weight_map, const std::map<std::string, uint32_t>& file_of_shard, const std::string& where) {
    std::vector<std::string> wrong;
    std::set<std::string_view> seen;
    for (const TensorInfo& tensor : checkpoint_.tensors_) {
      if (!seen.insert(tensor.name).second) continue;  // finish() reports names that two shards share
      const auto entry = weight_map.find(tensor.name);
      const bool agrees = entry != weight_map.end() && file_of_shard.at(entry->get<std::string>()) == tensor.file;
      if (!agrees) wrong.push_back(in_quotes(tensor.name));
    }
    for (const auto& [name, shard] : weight_map.items()) {
      if (!seen.contains(name)) wrong.push_back(in_quotes(name));
    }
    if (wrong.empty()) return Done{};
    const size_t count = wrong.size();
    wrong.resize(std::min<size_t>(count, 20));
    return Failure(where + " and its shards disagree about " + std::to_string(count) + " tensors: " + join(wrong, ", "));
  }

  Status add_safetensors(const fs::path& path) {
    TRY(InputFile file, InputFile::open(path));
    TRY(SafetensorsHeader header, read_safetensors_header(file));
    add_file(std::move(file), std::move(header.tensors));
    for (auto& [key, value] : header.metadata) checkpoint_.metadata_.emplace(key, std::move(value));
    return Done{};
  }

  Status open_gguf(const fs::path& path) {
    checkpoint_.is_gguf_ = true;
    TRY(InputFile file, InputFile::open(path));
    TRY(GgufHeader header, read_gguf_header(file));
    TRY(const std::optional<uint64_t> parts, header.metadata.unsigned_integer("split.count"));
    if (parts.value_or(1) > 1) return open_split(path, *parts);
    TRY_STATUS(check_architecture(header));
    checkpoint_.gguf_ = std::move(header.metadata);
    add_file(std::move(file), std::move(header.tensors));
    return Done{};
  }

  Status check_architecture(const GgufHeader& header) {
    TRY(const std::optional<std::string> architecture, header.metadata.text("general.architecture"));
    if (!architecture) return Failure(in_quotes(checkpoint_.path_.string()) + " has no `general.architecture`");
    return Done{};
  }

  Status open_split(const fs::path& given, uint64_t count) {
    if (count > kMaxShards) return Failure("`split.count` is " + std::to_string(count) + "; at most " + std::to_string(kMaxShards));
    uint64_t tensor_count = 0;
    std::optional<uint64_t> promised;
    for (uint64_t part = 0; part < count; ++part) {
      const auto name = name_of_part(given.filename().string(), part, count);
      if (!name) {
        return Failure(in_quotes(given.string()) + " is one of " + std::to_string(count) +
                       " parts but is not named like `-00001-of-00003.gguf`");
      }
      TRY(InputFile file, InputFile::open(given.parent_path() / *name));
      TRY(GgufHeader header, read_gguf_header(file));
      TRY(const std::optional<uint64_t> number, header.metadata.unsigned_integer("split.no"));
      TRY(const std::optional<uint64_t> its_count, header.metadata.unsigned_integer("split.count"));
      TRY(const std::optional<uint64_t> its_tensors, header.metadata.unsigned_integer("split.tensors.count"));
      if (number != part || its_count != count || (part > 0 && its_tensors != promised)) {
        return Failure(in_quotes(*name) + " is not part " + std::to_string(part + 1) + " of these " + std::to_string(count) +
                       " files: its `split.no`, `split.count` or `split.tensors.count` differs");
      }
      tensor_count += header.tensors.size();
      if (part == 0) {
        promised = its_tensors;
        TRY_STATUS(check_architecture(header));
        checkpoint_.gguf_ = std::move(header.metadata);
      }
      add_file(std::move(file), std::move(header.tensors));
    }
    if (promised && *promised != tensor_count) {
      return Failure("parts of " + in_quotes(given.string()) + " have " + std::to_string(tensor_count) +
                     " tensors; `split.tensors.count` is " + std::to_string(*promised));
    }
    return Done{};
  }

  void add_file(InputFile file, std::vector<TensorInfo> tensors) {
    for (TensorInfo& tensor : tensors) {
      tensor.file = static_cast<uint32_t>(checkpoint_.files_.size());
      checkpoint_.tensors_.push_back(std::move(tensor));
    }
    checkpoint_.files_.push_back(std::move(file));
  }

  Status finish() {
    auto& tensors = checkpoint_.tensors_;
    std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    std::vector<std::string> twice;
    for (size_t i = 1; i < tensors.size(); ++i) {
      if (tensors[i].name == tensors[i - 1].name && twice.size() < 20) twice.push_back(in_quotes(tensors[i].name));
    }
    if (!twice.empty()) return Failure("tensors in two files: " + join(twice, ", "));
    Hash hash;
    for (const InputFile& file : checkpoint_.files_) {
      TRY(const InputFile::Identity identity, file.identity());
      hash.add(file.path().filename().string());
      for (const uint64_t number : {identity.size, identity.mtime_ns, identity.device, identity.inode}) hash.add(number);
    }
    for (const TensorInfo& tensor : tensors) {
      hash.add(tensor.name);
      hash.add(static_cast<uint64_t>(tensor.dtype));
      hash.add(tensor.blocks ? 1 + static_cast<uint64_t>(*tensor.blocks) : 0);
      for (const uint64_t dim : tensor.shape) hash.add(dim);
      for (const uint64_t number : {uint64_t{tensor.file}, tensor.offset, tensor.bytes}) hash.add(number);
    }
    hash.add(checkpoint_.config_text_);
    checkpoint_.identity_ = hash.hex();
    return Done{};
  }

  Checkpoint checkpoint_;
};

Result<Checkpoint> Checkpoint::open(const fs::path& path) { return CheckpointOpener().open(path); }

const TensorInfo* Checkpoint::find(std::string_view name) const {
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                      [](const TensorInfo& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return found == tensors_.end() || found->name != name ? nullptr : &*found;
}

Status Checkpoint::read(const TensorInfo& tensor, std::span<std::byte> out) const {
  SCRATCHY_CHECK(out.size() == tensor.bytes, tensor.name);
  return read_part(tensor, 0, out);
}

Status Checkpoint::read_part(const TensorInfo& tensor, uint64_t from, std::span<std::byte> out) const {
  SCRATCHY_CHECK(range_fits(from, out.size(), tensor.bytes), tensor.name);
  auto read = files_[tensor.file].read(tensor.offset + from, out);
  if (!read.ok()) return std::move(read).failure().in("tensor " + in_quotes(tensor.name));
  return read;
}

Result<std::string> Checkpoint::read_companion(std::string_view name, uint64_t limit) const {
  std::error_code error;
  const fs::path folder = fs::is_directory(path_, error) ? path_ : path_.parent_path();
  return read_file(folder / name, limit);
}

}  // namespace scratchy
