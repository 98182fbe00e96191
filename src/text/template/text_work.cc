#include "text/template/text_work.h"

#include <algorithm>

#include "text/template/access.h"
#include "text/template/bind.h"
#include "text/template/characters.h"
#include "text/template/format.h"
#include "text/template/numbers.h"
#include "text/template/operators.h"

namespace scratchy::jinja {
namespace {

// Words, spaces and, where asked, the halves of hyphenated words, in order.
std::vector<std::u32string> wrap_chunks(std::u32string_view line, bool break_on_hyphens) {
  std::vector<std::u32string> out;
  for (size_t at = 0; at < line.size();) {
    size_t end = at;
    const bool space = is_space(line[at]);
    while (end < line.size() && is_space(line[end]) == space) {
      ++end;
      const bool hyphen = !space && break_on_hyphens && line[end - 1] == '-' && end - at > 1 && end < line.size();
      if (hyphen && is_alphabetic(line[end - 2]) && is_alphabetic(line[end])) break;
    }
    out.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

class Wrapper {
 public:
  Wrapper(size_t width, bool break_long_words) : width_(width), break_long_words_(break_long_words) {}

  std::vector<std::u32string> wrap(std::vector<std::u32string> chunks) {
    for (std::u32string& chunk : chunks) add(std::move(chunk));
    finish();
    return std::move(lines_);
  }

 private:
  void add(std::u32string chunk) {
    const bool space = is_space(chunk[0]);
    if (space && line_.empty() && !lines_.empty()) return;
    if (line_.size() + chunk.size() > width_ && !line_.empty() && (chunk.size() <= width_ || !break_long_words_)) finish();
    if (space && line_.empty() && !lines_.empty()) return;
    while (break_long_words_ && line_.size() + chunk.size() > width_ && !space) {
      const size_t room = width_ - std::min(width_, line_.size());
      line_ += chunk.substr(0, room);
      chunk.erase(0, room);
      finish();
    }
    line_ += chunk;
  }

  void finish() {
    while (!line_.empty() && is_space(line_.back())) line_.pop_back();
    if (!line_.empty()) lines_.push_back(std::move(line_));
    line_.clear();
  }

  const size_t width_;
  const bool break_long_words_;
  std::u32string line_;
  std::vector<std::u32string> lines_;
};

}  // namespace

Integer add_widths(Integer a, Integer b) { return add_integers(a, b); }
Integer subtract_widths(Integer a, Integer b) { return subtract_integers(a, b); }

Value strip_text(Budget& budget, const Value& text, const Value* characters, bool left, bool right) {
  budget.spend_bytes(text.bytes().size() * 4);
  const bool by_space = characters == nullptr || characters->is_none();
  const std::u32string set = by_space ? U"" : decode_utf8(need_text(*characters, "strip"));
  const std::u32string all = decode_utf8(text.bytes());
  budget.spend(set.size());
  const auto goes = [&](char32_t c) { return by_space ? is_space(c) : set.find(c) != std::u32string::npos; };
  size_t start = 0, end = all.size();
  while (left && start < end && goes(all[start])) budget.spend(set.size() / 64), ++start;
  while (right && end > start && goes(all[end - 1])) budget.spend(set.size() / 64), --end;
  if (start == 0 && end == all.size()) return text;
  return text_like(text, encode_utf8(std::u32string_view(all).substr(start, end - start)));
}

std::string replace_text(Budget& budget, std::string_view text, std::string_view old, std::string_view replacement,
                         Integer count) {
  budget.spend_bytes(text.size());
  std::string out;
  const auto add = [&](std::string_view part) {
    budget.spend(part.size() / kBytesPerStep);
    if (out.size() + part.size() > kMaxTextBytes) raise("the template makes a text of more than 64 MiB");
    out += part;
  };
  if (old.empty()) {
    for (char32_t c : decode_utf8(text)) {
      if (count != 0) add(replacement), --count;
      append_utf8(out, c);
    }
    if (count != 0) add(replacement);
    return out;
  }
  while (count != 0) {
    const size_t at = text.find(old);
    if (at == std::string_view::npos) break;
    add(text.substr(0, at));
    add(replacement);
    text.remove_prefix(at + old.size());
    --count;
  }
  add(text);
  return out;
}

// Python puts the odd character left when the width is odd.
std::string center_text(Budget& budget, std::string_view text, Integer width, char32_t fill) {
  const size_t length = count_characters(text), wanted = width_of(width);
  if (wanted <= length) return std::string(text);
  budget.spend_product(wanted, 4);
  const size_t missing = wanted - length, left = missing / 2 + (missing & wanted & 1);
  std::string out;
  for (size_t i = 0; i < left; ++i) append_utf8(out, fill);
  out += text;
  for (size_t i = left; i < missing; ++i) append_utf8(out, fill);
  return out;
}

std::vector<std::string> split_lines(Budget& budget, std::string_view text, bool keep_ends) {
  budget.spend_bytes(text.size());
  const std::u32string all = decode_utf8(text);
  std::vector<std::string> out;
  for (size_t at = 0; at < all.size();) {
    budget.spend(1);
    size_t end = at;
    while (end < all.size() && !is_line_end(all[end])) ++end;
    size_t next = std::min(end + 1, all.size());
    if (end + 1 < all.size() && all[end] == '\r' && all[end + 1] == '\n') ++next;
    out.push_back(encode_utf8(std::u32string_view(all).substr(at, (keep_ends ? next : end) - at)));
    at = next;
  }
  return out;
}

std::string wrap_words(Budget& budget, std::string_view text, size_t width, bool break_long_words, bool break_on_hyphens,
                       const std::string& separator) {
  budget.spend_bytes(text.size() * 4);
  budget.spend_product(separator.size() + 1, text.size() + 1);
  std::string out;
  bool first = true;
  for (const std::string& line : split_lines(budget, text, false)) {
    const auto wrapped = Wrapper(width, break_long_words).wrap(wrap_chunks(decode_utf8(line), break_on_hyphens));
    if (!first && wrapped.empty()) out += separator;
    for (const std::u32string& part : wrapped) {
      if (!first) out += separator;
      first = false;
      out += encode_utf8(part);
    }
    first = false;
  }
  return out;
}

std::vector<Value> select_attribute(Evaluator& evaluator, std::vector<Value> items, const Value& attribute) {
  for (Value& item : items) item = get_path(evaluator, item, attribute);
  return items;
}

}  // namespace scratchy::jinja
