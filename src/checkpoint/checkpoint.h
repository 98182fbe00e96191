// A published checkpoint, opened: its tensors by name, its config, its identity.
//
// `open` takes a folder (config.json with model.safetensors, or model.safetensors.index.json with shards, or any other
// single *.safetensors) or one .gguf file (the first of a split). Headers are checked whole when opened; tensor bytes are
// read with positioned reads, so a file that shrinks later is a Failure, never a signal. Files are opened once and stay
// open.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "checkpoint/gguf.h"
#include "checkpoint/json.h"
#include "checkpoint/quant_section.h"
#include "checkpoint/tensor_info.h"

namespace scratchy {

class Checkpoint {
 public:
  static Result<Checkpoint> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  bool is_gguf() const { return is_gguf_; }

  // All tensors, sorted by name.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const TensorInfo* find(std::string_view name) const;  // null when absent

  // Fills `out` (exactly tensor.bytes long), or reads a part of it from byte `from` of the tensor.
  Status read(const TensorInfo& tensor, std::span<std::byte> out) const;
  Status read_part(const TensorInfo& tensor, uint64_t from, std::span<std::byte> out) const;

  // 16 hex digits: changes with the names, sizes, modification times and inodes of the files and with any tensor's name,
  // type, shape or place. Cheap: no tensor bytes are read.
  const std::string& identity() const { return identity_; }

  // config.json's text; empty for GGUF. `config` is the same, parsed (null for GGUF).
  const std::string& config_text() const { return config_text_; }
  const Json& config() const { return config_; }
  // What the config says of quantisation; method kNone when it says nothing.
  const QuantSection& quant_section() const { return section_; }

  // GGUF metadata (of the first part of a split); empty otherwise. safetensors `__metadata__`; empty for GGUF.
  const GgufMetadata& gguf() const { return gguf_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // The file of this name beside the weights (tokenizer.json ...); a Failure when absent or larger than `limit`.
  Result<std::string> read_companion(std::string_view name, uint64_t limit) const;

 private:
  Checkpoint() = default;
  friend class CheckpointOpener;

  std::filesystem::path path_;
  bool is_gguf_ = false;
  std::vector<InputFile> files_;
  std::vector<TensorInfo> tensors_;
  std::string identity_;
  std::string config_text_;
  Json config_;
  QuantSection section_;
  GgufMetadata gguf_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace scratchy
