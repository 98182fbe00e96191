// Source texts and places in them: what every value of the compiler points back to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace scratchy {

// A text the author wrote, and where its lines begin.
struct SourceFile {
  std::string path;  // as shown in messages
  std::string text;
  std::vector<uint32_t> line_starts;

  SourceFile(std::string path, std::string text);

  struct Place {
    int line, column;  // both from 1; columns count code points
  };
  Place place(uint32_t offset) const;
  std::string line(int number) const;  // without its newline
};

// Bytes [begin, end) of a file. `file` may be null for values no text stands for.
struct Span {
  const SourceFile* file = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;
};

// "models/llama/forward.fwd:16:32", or "<none>".
std::string to_string(const Span& span);

// Owns the source files of one compilation, so that spans stay valid as long as it lives.
class SourceSet {
 public:
  const SourceFile& add(std::string path, std::string text);

 private:
  std::vector<std::unique_ptr<SourceFile>> files_;
};

}  // namespace scratchy
