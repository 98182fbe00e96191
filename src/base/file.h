// Files: whole reads with a size cap, positioned reads, read-only maps, and writes that appear whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace scratchy {

// An open file for positioned reads. Movable, not copyable. A file that shrinks while in use is a Failure, never a signal.
class InputFile {
 public:
  static Result<InputFile> open(const std::filesystem::path& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  uint64_t size() const { return size_; }  // bytes, when opened
  const std::filesystem::path& path() const { return path_; }

  // Fills `out` from `offset`; a Failure names the file, the range and its size when there are fewer bytes.
  Status read(uint64_t offset, std::span<std::byte> out) const;

  // What identifies these bytes cheaply: size, modification time in ns, device and inode.
  struct Identity {
    uint64_t size, mtime_ns, device, inode;
    bool operator==(const Identity&) const = default;
  };
  Result<Identity> identity() const;

  int descriptor() const { return descriptor_; }

 private:
  InputFile(std::filesystem::path path, int descriptor, uint64_t size);
  std::filesystem::path path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// A read-only shared map of a whole file.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// The whole of a file of at most `limit` bytes.
Result<std::string> read_file(const std::filesystem::path& path, uint64_t limit = uint64_t{1} << 30);

// A Failure where something stands that is no regular file (a device, a pipe, a folder): a rename would take its place.
Status check_replaceable(const std::filesystem::path& path);

// Writes to a temporary file beside `path`, syncs it and renames it over `path` if that is replaceable; on failure nothing is
// left behind.
Status write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace scratchy
