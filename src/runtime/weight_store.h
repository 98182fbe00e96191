// The weights of one program, packed for its kernels.
//
// The first start packs a checkpoint and keeps the result as a file in the user's cache; later starts map that file and
// touch nothing they do not use. The pack is named and stamped with the checkpoint's identity and the program's weight
// table, so a stale, foreign or cut-off file is never used: it is made anew. Where nothing can be written the pack lives
// in memory. One matrix is unpacked at a time, so a model is never held twice.
//
// Layout, all little-endian (docs/pack-format.md):
//
//   | magic "SCRPACK1" | file bytes u64 | key [32] | count u64 |        64 bytes with padding
//   | offset u64 | bytes of one matrix u64 | variant i32 | pad i32 |    a row per weight
//   | data, each weight at a multiple of 64                        |
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "runtime/memory.h"
#include "tape/program.h"

namespace scratchy {

class WeightStore {
 public:
  struct Options {
    std::filesystem::path cache_dir;                    // of packs; empty: keep the pack in memory
    std::function<void(size_t done, size_t total)> progress;  // weights packed so far; may be empty
    std::function<void(const Failure& why)> not_kept;         // the pack stays in memory though there is a folder; may be empty
  };

  WeightStore() = default;  // holds nothing until one is opened
  // A Failure when the checkpoint does not have what the program needs.
  static Result<WeightStore> open(const CompiledProgram& program, const Checkpoint& checkpoint, const Options& options);

  const WeightView* views() const { return views_.data(); }
  size_t bytes() const { return bytes_; }

 private:
  Status take(const CompiledProgram& program, std::span<const std::byte> pack);

  std::vector<WeightView> views_;
  std::optional<MappedFile> file_;
  Memory memory_;
  size_t bytes_ = 0;
};

// $XDG_CACHE_HOME/scratchy, or ~/.cache/scratchy; empty when neither variable is set.
std::filesystem::path user_cache_dir();

// Where packs are kept: a folder of it, empty as well when there is none.
std::filesystem::path user_pack_dir();

}  // namespace scratchy
