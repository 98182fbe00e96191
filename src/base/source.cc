#include "base/source.h"

#include <algorithm>

namespace scratchy {

SourceFile::SourceFile(std::string path, std::string text) : path(std::move(path)), text(std::move(text)) {
  line_starts.push_back(0);
  for (size_t i = 0; i < this->text.size(); ++i) {
    if (this->text[i] == '\n') line_starts.push_back(static_cast<uint32_t>(i + 1));
  }
}

SourceFile::Place SourceFile::place(uint32_t offset) const {
  const auto after = std::upper_bound(line_starts.begin(), line_starts.end(), offset);
  const auto line = static_cast<int>(after - line_starts.begin());
  int column = 1;
  for (uint32_t i = line_starts[line - 1]; i < offset && i < text.size(); ++i) {
    if ((static_cast<uint8_t>(text[i]) & 0xC0) != 0x80) ++column;
  }
  return {line, column};
}

std::string SourceFile::line(int number) const {
  if (number < 1 || number > static_cast<int>(line_starts.size())) return {};
  const uint32_t begin = line_starts[number - 1];
  const size_t end = text.find('\n', begin);
  return text.substr(begin, end == std::string::npos ? std::string::npos : end - begin);
}

std::string to_string(const Span& span) {
  if (span.file == nullptr) return "<none>";
  const SourceFile::Place place = span.file->place(span.begin);
  return span.file->path + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

const SourceFile& SourceSet::add(std::string path, std::string text) {
  files_.push_back(std::make_unique<SourceFile>(std::move(path), std::move(text)));
  return *files_.back();
}

}  // namespace scratchy
