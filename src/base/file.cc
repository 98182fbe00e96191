#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/checked.h"
#include "base/text.h"

namespace scratchy {
namespace {

Failure system_failure(const std::string& verb, const std::filesystem::path& path) {
  return Failure(verb + " `" + escape_for_message(path.string(), 400) + "`: " + std::strerror(errno));
}

}  // namespace

InputFile::InputFile(std::filesystem::path path, int descriptor, uint64_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<InputFile> InputFile::open(const std::filesystem::path& path) {
  // Without O_NONBLOCK a pipe that nobody writes would hold the call for ever, before it is refused below.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return system_failure("open", path);
  struct stat info;
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    const bool is_other = errno == 0 || !S_ISREG(info.st_mode);
    ::close(descriptor);
    if (is_other) return Failure("open `" + escape_for_message(path.string(), 400) + "`: not a regular file");
    return system_failure("open", path);
  }
  return InputFile(path, descriptor, static_cast<uint64_t>(info.st_size));
}

Status InputFile::read(uint64_t offset, std::span<std::byte> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure("read", path_);
    if (got == 0) {
      return Failure("read `" + escape_for_message(path_.string(), 400) + "`: wanted " + with_thousands(out.size()) +
                     " bytes at offset " + with_thousands(offset) + ", the file ends after " +
                     with_thousands(offset + done) + "; was it cut short? download it again");
    }
    done += static_cast<size_t>(got);
  }
  return Done{};
}

Result<InputFile::Identity> InputFile::identity() const {
  struct stat info;
  if (::fstat(descriptor_, &info) != 0) return system_failure("stat", path_);
  const auto mtime_ns = static_cast<uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(info.st_mtim.tv_nsec);
  return Identity{static_cast<uint64_t>(info.st_size), mtime_ns, info.st_dev, info.st_ino};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  TRY(InputFile file, InputFile::open(path));
  if (file.size() == 0) return MappedFile(nullptr, 0);
  void* data = ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (data == MAP_FAILED) return system_failure("map", path);
  return MappedFile(static_cast<const std::byte*>(data), file.size());
}

Result<std::string> read_file(const std::filesystem::path& path, uint64_t limit) {
  TRY(InputFile file, InputFile::open(path));
  if (file.size() > limit) {
    return Failure("read `" + escape_for_message(path.string(), 400) + "`: " + with_thousands(file.size()) +
                   " bytes, at most " + with_thousands(limit) + " are accepted");
  }
  std::string content(file.size(), '\0');
  TRY_STATUS(file.read(0, std::as_writable_bytes(std::span(content))));
  return content;
}

Status check_replaceable(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  if (!std::filesystem::exists(there) || std::filesystem::is_regular_file(there)) return Done{};
  return Failure("write `" + escape_for_message(path.string(), 400) + "`: what is there is no regular file and is not replaced");
}

Status write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  TRY_STATUS(check_replaceable(path));
  std::string temporary = path.string() + ".XXXXXX";
  const int descriptor = ::mkstemp(temporary.data());
  if (descriptor < 0) return system_failure("write", path);
  const auto abandon = [&](const std::string& verb) {
    const Failure failure = system_failure(verb, path);
    ::close(descriptor);
    ::unlink(temporary.c_str());
    return failure;
  };
  for (size_t done = 0; done < content.size();) {
    const ssize_t wrote = ::write(descriptor, content.data() + done, content.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return abandon("write");
    done += static_cast<size_t>(wrote);
  }
  if (::fchmod(descriptor, 0644) != 0 || ::fsync(descriptor) != 0) return abandon("write");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return abandon("rename");
  ::close(descriptor);
  return Done{};
}

}  // namespace scratchy
