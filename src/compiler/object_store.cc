#include "compiler/object_store.h"

#include <algorithm>

#include "base/file.h"
#include "base/key_hash.h"

namespace scratchy {

Result<ObjectStore> ObjectStore::open(std::filesystem::path folder, const std::filesystem::path& include_dir, std::string_view compiler_version) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Failure("create `" + folder.string() + "`: " + error.message());
  std::vector<std::filesystem::path> headers;
  for (auto entry = std::filesystem::recursive_directory_iterator(include_dir, error); !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    const std::string extension = entry->path().extension().string();
    if (extension == ".h" || extension == ".def") headers.push_back(entry->path());
  }
  if (error) return Failure("list `" + include_dir.string() + "`: " + error.message());
  std::sort(headers.begin(), headers.end());
  KeyHash hash;
  hash.add(compiler_version);
  for (const std::filesystem::path& header : headers) {
    TRY(const std::string text, read_file(header, 1 << 24));
    hash.add(header.lexically_relative(include_dir).generic_string() + "\n");
    hash.add(static_cast<int64_t>(text.size()));
    hash.add(text);
  }
  return ObjectStore(std::move(folder), hash.hex());
}

std::filesystem::path ObjectStore::place_of(const std::vector<std::string>& flags, std::string_view source) const {
  KeyHash hash;
  hash.add(environment_);
  for (const std::string& flag : flags) hash.add(flag + "\n");
  hash.add(source);
  return folder_ / (hash.hex() + ".o");
}

}  // namespace scratchy
