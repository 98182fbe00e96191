// Objects of emitted sources, kept by what they were compiled from, so that nothing is compiled twice: programs share the
// kernels of matrices, and a model compiled again changes only what depends on the change.
//
// An object's name is a hash of its source, its flags, the compiler's version and every header of the project. Writers
// rename whole files into place; two processes that compile the same source write the same object.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace scratchy {

class ObjectStore {
 public:
  // `compiler_version`: what the compiler says of itself.
  static Result<ObjectStore> open(std::filesystem::path folder, const std::filesystem::path& include_dir, std::string_view compiler_version);

  // Where the object of this source and these flags is, or belongs.
  std::filesystem::path place_of(const std::vector<std::string>& flags, std::string_view source) const;

 private:
  ObjectStore(std::filesystem::path folder, std::string environment) : folder_(std::move(folder)), environment_(std::move(environment)) {}
  std::filesystem::path folder_;
  std::string environment_;
};

}  // namespace scratchy
