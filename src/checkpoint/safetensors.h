// Reading and writing safetensors files.
//
// A file is an 8-byte little-endian header length n, n bytes of JSON (an object of name -> {dtype, shape, data_offsets},
// plus `__metadata__`, a map of strings), and the tensors' bytes. Offsets count from the end of the header; tensors must
// cover the data exactly, without holes or overlaps. The header is untrusted: it is read event by event, without a tree,
// so memory stays proportional to the tensors it names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "checkpoint/tensor_info.h"

namespace scratchy {

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // sorted by name; offsets count from the start of the file
  std::map<std::string, std::string> metadata;
};

// Limits that a header is refused beyond.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;
inline constexpr uint64_t kMaxTensors = 1'000'000;
inline constexpr size_t kMaxTensorNameBytes = 1024;
inline constexpr size_t kMaxTensorRank = 8;

// The header of a file of `file_bytes` bytes, checked against that size. `json` is the header text alone, `data_begin`
// the file offset where tensor bytes start.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, uint64_t data_begin, uint64_t file_bytes);

// Reads and checks the header of an open file. Failures name the file.
Result<SafetensorsHeader> read_safetensors_header(const InputFile& file);

struct TensorToWrite {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;
  std::span<const std::byte> bytes;
};

// Writes the tensors in the given order; the data starts at a multiple of 64 bytes. The file appears whole or not at all.
// A Failure names a repeated or empty name, or a tensor whose bytes are not dtype x shape.
Status write_safetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                         const std::map<std::string, std::string>& metadata = {});

// The same as one string.
Result<std::string> encode_safetensors(const std::vector<TensorToWrite>& tensors,
                                       const std::map<std::string, std::string>& metadata = {});

}  // namespace scratchy
