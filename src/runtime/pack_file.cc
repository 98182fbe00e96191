#include "runtime/pack_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

namespace scratchy {
namespace {

constexpr size_t kChunk = size_t{2} << 20;

}  // namespace

Result<PackFile> PackFile::create(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::string temporary = path.string() + ".XXXXXX";
  const int descriptor = ::mkstemp(temporary.data());
  if (descriptor < 0) return Failure("write `" + path.string() + "`: " + std::strerror(errno));
  return PackFile(path, std::move(temporary), descriptor);
}

PackFile::PackFile(std::filesystem::path path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor), chunk_(kChunk) {}

PackFile::PackFile(PackFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})), descriptor_(std::exchange(other.descriptor_, -1)), chunk_(std::move(other.chunk_)),
      chunk_begin_(other.chunk_begin_) {}

PackFile::~PackFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Failure PackFile::failure() const { return Failure("write `" + path_.string() + "`: " + std::strerror(errno)); }

Status PackFile::write_through(uint64_t offset, std::span<const std::byte> bytes) const {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return failure();
    done += static_cast<size_t>(wrote);
  }
  return Done{};
}

Status PackFile::flush() {
  TRY_STATUS(write_through(chunk_begin_, chunk_));
  std::fill(chunk_.begin(), chunk_.end(), std::byte{});
  chunk_begin_ += kChunk;
  return Done{};
}

Status PackFile::write(uint64_t offset, std::span<const std::byte> bytes) {
  if (offset < chunk_begin_) {
    const auto behind = std::min<uint64_t>(bytes.size(), chunk_begin_ - offset);
    TRY_STATUS(write_through(offset, bytes.first(behind)));
    offset += behind;
    bytes = bytes.subspan(behind);
  }
  while (!bytes.empty()) {
    while (offset >= chunk_begin_ + kChunk) TRY_STATUS(flush());
    const auto at = static_cast<size_t>(offset - chunk_begin_);
    const size_t count = std::min(bytes.size(), kChunk - at);
    std::memcpy(chunk_.data() + at, bytes.data(), count);
    offset += count;
    bytes = bytes.subspan(count);
  }
  return Done{};
}

Status PackFile::keep(uint64_t size) {
  while (chunk_begin_ < size) TRY_STATUS(flush());
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0 || ::fsync(descriptor_) != 0) return failure();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failure();
  temporary_.clear();
  return Done{};
}

}  // namespace scratchy
