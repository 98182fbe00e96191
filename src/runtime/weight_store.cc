#include "runtime/weight_store.h"

#include <cstdlib>
#include <cstring>

#include "base/checked.h"
#include "runtime/pack_file.h"
#include "runtime/weight_pack.h"

namespace scratchy {
namespace {

// Whether `pack` is whole and was made for this key.
bool is_pack_of(std::span<const std::byte> pack, const std::string& key, int32_t count) {
  PackHeader header;
  if (pack.size() < sizeof header) return false;
  std::memcpy(&header, pack.data(), sizeof header);
  return std::memcmp(header.magic, "SCRPACK1", 8) == 0 && header.file_bytes == pack.size() && std::memcmp(header.key, key.data(), 32) == 0 &&
         header.count == static_cast<uint64_t>(count) && sizeof header + header.count * sizeof(PackEntry) <= pack.size();
}

// Makes the pack at `path`. `world_failed`: the disk was to blame, not the checkpoint.
Status make_pack_file(const CompiledProgram& program, const Checkpoint& checkpoint, const std::filesystem::path& path,
                      const std::function<void(size_t, size_t)>& progress, bool& world_failed) {
  const auto told = [&](Status done) {
    world_failed |= !done.ok();
    return done;
  };
  Result<PackFile> file = PackFile::create(path);
  if (!file.ok()) return told(std::move(file).failure());
  TRY(const uint64_t size, write_pack(program, checkpoint, [&](uint64_t offset, std::span<const std::byte> bytes) { return told(file->write(offset, bytes)); }, progress));
  return told(file->keep(size));
}

}  // namespace

std::filesystem::path user_cache_dir() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') return std::filesystem::path(cache) / "scratchy";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return std::filesystem::path(home) / ".cache" / "scratchy";
  return {};
}

std::filesystem::path user_pack_dir() {
  const std::filesystem::path cache = user_cache_dir();
  return cache.empty() ? cache : cache / "packs";
}

Result<WeightStore> WeightStore::open(const CompiledProgram& program, const Checkpoint& checkpoint, const Options& options) {
  WeightStore store;
  const std::string key = pack_key(program, checkpoint);
  if (!options.cache_dir.empty()) {
    const std::filesystem::path path = options.cache_dir / (key + ".pack");
    for (const bool fresh : {false, true}) {
      if (fresh) {
        bool world_failed = false;
        Status made = make_pack_file(program, checkpoint, path, options.progress, world_failed);
        if (!made.ok() && !world_failed) return std::move(made).failure();
        if (!made.ok() && options.not_kept) options.not_kept(made.failure());
        if (!made.ok()) break;
      }
      Result<MappedFile> file = MappedFile::open(path);
      if (!file.ok() || !is_pack_of(file->bytes(), key, program.weight_count)) continue;
      if (store.take(program, file->bytes()).ok()) {
        store.file_ = std::move(file).value();
        return store;
      }
    }
  }
  // The pack's size is known when it is made: reserve generously, commit what is written.
  size_t bound = size_t{1} << 20;
  for (int32_t i = 0; i < program.weight_count; ++i) {
    const WeightRecord& record = program.weights[i];
    bound += static_cast<size_t>(record.matrices) * (static_cast<size_t>(record.rows) + 16) * (static_cast<size_t>(record.columns) + 64) * sizeof(float) + 128;
  }
  TRY(store.memory_, Memory::reserve(bound));
  const PackSink sink = [&](uint64_t offset, std::span<const std::byte> bytes) -> Status {
    if (!range_fits(offset, bytes.size(), store.memory_.size())) return Failure("the pack is larger than its weights");
    std::memcpy(store.memory_.data() + offset, bytes.data(), bytes.size());
    return Done{};
  };
  TRY(const uint64_t size, write_pack(program, checkpoint, sink, options.progress));
  TRY_STATUS(store.take(program, {store.memory_.data(), size}));
  return store;
}

Status WeightStore::take(const CompiledProgram& program, std::span<const std::byte> pack) {
  views_.assign(static_cast<size_t>(program.weight_count), WeightView{});
  for (int32_t i = 0; i < program.weight_count; ++i) {
    const WeightRecord& record = program.weights[i];
    PackEntry entry;
    std::memcpy(&entry, pack.data() + sizeof(PackHeader) + sizeof entry * static_cast<size_t>(i), sizeof entry);
    const auto bytes = checked_mul(entry.matrix_bytes, record.variant_count > 0 ? static_cast<uint64_t>(record.matrices) : 1);
    const bool sound = bytes && range_fits(entry.offset, *bytes, pack.size()) && entry.offset % 64 == 0 && entry.variant >= -1 && entry.variant < record.variant_count &&
                       (entry.variant < 0) == (record.variant_count == 0) &&
                       (entry.variant < 0 ? entry.matrix_bytes == static_cast<uint64_t>(record.rows) * static_cast<uint64_t>(record.columns) * sizeof(float)
                                          : entry.matrix_bytes == program.packer->packed_bytes(record.variants[entry.variant], record.rows, record.columns));
    if (!sound) return Failure("entry " + std::to_string(i) + " of the pack does not fit the program");
    views_[i] = {pack.data() + entry.offset, entry.variant < 0 ? nullptr : &record.variants[entry.variant], static_cast<int64_t>(entry.matrix_bytes)};
  }
  bytes_ = pack.size();
  return Done{};
}

}  // namespace scratchy
