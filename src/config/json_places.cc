#include "config/json_places.h"

#include <string_view>
#include <vector>

namespace scratchy {
namespace {

// Walks accepted JSON by its structure characters alone; strings are skipped whole. The stack holds one entry a bracket,
// bounded by parse_json's depth limit.
class PlaceWalk {
 public:
  PlaceWalk(const SourceFile& file, int depth) : file_(file), text_(file.text), depth_(depth) {}

  std::map<std::string, JsonPlace> walk() {
    while (at_ < text_.size()) step();
    finish_value(text_.size());
    return std::move(places_);
  }

 private:
  struct Level {
    bool object = false;
    std::string path;      // of the object, "" at the top
    std::string member;    // path of the member whose value is being read
    bool wants_key = false;
  };

  void step() {
    const char c = text_[at_];
    switch (c) {
      case '{':
      case '[':
        note_value_start();
        levels_.push_back({.object = c == '{', .path = levels_.empty() ? "" : levels_.back().member, .member = "", .wants_key = c == '{'});
        if (!tracked()) levels_.back().object = false;
        ++at_;
        return;
      case '}':
      case ']':
        finish_value(at_);
        if (!levels_.empty()) levels_.pop_back();
        ++at_;
        last_end_ = at_;
        return;
      case ',':
        finish_value(at_);
        if (!levels_.empty() && levels_.back().object) levels_.back().wants_key = true;
        ++at_;
        return;
      case '"': read_string(); return;
      case ':': case ' ': case '\t': case '\n': case '\r': ++at_; return;
      default:
        note_value_start();
        ++at_;
        last_end_ = at_;
    }
  }

  // Whether members of the innermost object are to be noted: objects only, not inside arrays, not too deep.
  bool tracked() const {
    if (static_cast<int>(levels_.size()) > depth_) return false;
    for (size_t i = 0; i + 1 < levels_.size(); ++i) {
      if (!levels_[i].object) return false;
    }
    return levels_.back().object;
  }

  void read_string() {
    const size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ < text_.size()) ++at_;
    Level* level = levels_.empty() ? nullptr : &levels_.back();
    if (level != nullptr && level->wants_key && level->object) {
      const std::string name(text_.substr(begin + 1, at_ - begin - 2));
      level->member = level->path.empty() ? name : level->path + "." + name;
      level->wants_key = false;
      places_[level->member].key = span(begin, at_);
      return;
    }
    note_value_start(begin);
    last_end_ = at_;
  }

  void note_value_start() { note_value_start(at_); }
  void note_value_start(size_t begin) {
    if (levels_.empty() || !levels_.back().object || levels_.back().member.empty()) return;
    Span& value = places_[levels_.back().member].value;
    if (value.file == nullptr) value = span(begin, begin);
  }

  void finish_value(size_t) {
    if (levels_.empty() || !levels_.back().object || levels_.back().member.empty()) return;
    places_[levels_.back().member].value.end = static_cast<uint32_t>(last_end_);
    levels_.back().member.clear();
  }

  Span span(size_t begin, size_t end) const { return {&file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}; }

  const SourceFile& file_;
  std::string_view text_;
  int depth_;
  size_t at_ = 0, last_end_ = 0;
  std::vector<Level> levels_;
  std::map<std::string, JsonPlace> places_;
};

}  // namespace

std::map<std::string, JsonPlace> json_places(const SourceFile& file, int depth) { return PlaceWalk(file, depth).walk(); }

}  // namespace scratchy
