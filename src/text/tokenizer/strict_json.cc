#include "text/tokenizer/strict_json.h"

#include <set>
#include <vector>

#include "base/text.h"
#include "text/tokenizer/unicode.h"

namespace scratchy {

Result<nlohmann::json> parse_strict_json(std::string_view text) {
  using nlohmann::json;
  if (text.starts_with("\xEF\xBB\xBF")) return Failure("starts with a byte order mark, JSON has none");
  std::string refusal;
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, json::parse_event_t event, json& value) {
    if (static_cast<size_t>(depth) > kMaxJsonDepth && refusal.empty())
      refusal = "nested deeper than " + std::to_string(kMaxJsonDepth) + " levels";
    if (!refusal.empty()) return false;
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) refusal = "key `" + escape_for_message(key) + "` appears twice in one object";
    }
    return true;
  };
  try {
    json document = json::parse(text, check);
    if (!refusal.empty()) return Failure(refusal);
    return document;
  } catch (const json::parse_error& error) {
    return Failure(refusal.empty() ? "not JSON at byte " + std::to_string(error.byte) : refusal);
  } catch (const std::exception&) {
    return Failure(refusal.empty() ? "not JSON" : refusal);
  }
}

namespace {

// Past the string that starts at `at`, or npos.
size_t skip_string(std::string_view text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') ++at;
    else if (text[at] == '"') return at + 1;
  }
  return text.npos;
}

size_t skip_blank(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) ++at;
  return at;
}

// Past the object or array that starts at `at`, or npos.
size_t skip_container(std::string_view text, size_t at) {
  size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      continue;
    }
    ++at;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
  return text.npos;
}

}  // namespace

CarvedJson carve(std::string_view file) {
  CarvedJson carved;
  size_t depth = 0, copied = 0;
  bool in_model = false;
  for (size_t at = 0; at < file.size();) {
    const char c = file[at];
    if (c != '"') {
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && depth > 0) --depth;
      if (depth <= 1) in_model = false;
      ++at;
      continue;
    }
    const size_t end = skip_string(file, at);
    if (end == file.npos) break;
    const std::string_view key = file.substr(at, end - at);
    at = end;
    const size_t colon = skip_blank(file, at);
    if (colon >= file.size() || file[colon] != ':') continue;
    const size_t value = skip_blank(file, colon + 1);
    if (value >= file.size()) break;
    at = value;
    if (depth == 1 && key == "\"model\"" && file[value] == '{') {
      in_model = true;
      ++depth;
      ++at;
      continue;
    }
    const bool vocab = key == "\"vocab\"" && file[value] == '{', merges = key == "\"merges\"" && file[value] == '[';
    if (!in_model || depth != 2 || !(vocab || merges) || !(vocab ? carved.vocab : carved.merges).empty()) continue;
    const size_t after = skip_container(file, value);
    if (after == file.npos) break;
    carved.rest.append(file.substr(copied, value - copied)).append(vocab ? "{}" : "[]");
    (vocab ? carved.vocab : carved.merges) = file.substr(value, after - value);
    (vocab ? carved.vocab_offset : carved.merges_offset) = value;
    at = copied = after;
  }
  carved.rest.append(file.substr(copied));
  return carved;
}

void JsonScanner::skip_space() { at_ = skip_blank(text_, at_); }

bool JsonScanner::take(char c) {
  skip_space();
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool JsonScanner::at_end() {
  skip_space();
  return at_ == text_.size();
}

Failure JsonScanner::unexpected(std::string_view wanted) {
  skip_space();
  return Failure("byte " + std::to_string(offset_ + at_) + ": `" + escape_for_message(text_.substr(at_, 12)) + "` where " +
                 std::string(wanted) + " should be");
}

Result<std::string_view> JsonScanner::string() {
  if (!take('"')) return unexpected("a string");
  const size_t begin = at_;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '"') return text_.substr(begin, at_++ - begin);
    if (c == '\\') {
      TRY_STATUS(unescape(begin));
      return std::string_view(buffer_);
    }
    if (static_cast<unsigned char>(c) < 0x20) return unexpected("a string without raw control characters");
  }
  return unexpected("the end of a string");
}

int JsonScanner::hex4(size_t at) const {
  if (at + 4 > text_.size()) return -1;
  int value = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const char c = text_[i];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

// Reads on from the first escape of a string that begins at `begin`, into buffer_.
Status JsonScanner::unescape(size_t begin) {
  buffer_.assign(text_.substr(begin, at_ - begin));
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return Done{};
    }
    if (static_cast<unsigned char>(c) < 0x20) return unexpected("a string without raw control characters");
    if (c != '\\') {
      buffer_.push_back(c);
      ++at_;
      continue;
    }
    constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
    const char name = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (const size_t known = kNames.find(name); known != kNames.npos) {
      buffer_.push_back(kValues[known]);
      at_ += 2;
      continue;
    }
    int unit = name == 'u' ? hex4(at_ + 2) : -1;
    if (unit < 0) return unexpected("a JSON escape");
    size_t length = 6;
    auto character = static_cast<char32_t>(unit);
    if (unit >= 0xD800 && unit < 0xE000) {
      const int low = unit < 0xDC00 && text_.substr(at_ + 6, 2) == "\\u" ? hex4(at_ + 8) : -1;
      if (low < 0xDC00 || low >= 0xE000) return unexpected("a whole surrogate pair");
      character = 0x10000 + ((static_cast<char32_t>(unit) - 0xD800) << 10) + (static_cast<char32_t>(low) - 0xDC00);
      length = 12;
    }
    append_char(buffer_, character);
    at_ += length;
  }
  return unexpected("the end of a string");
}

Result<uint32_t> JsonScanner::unsigned_integer() {
  skip_space();
  const size_t begin = at_;
  uint64_t value = 0;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && at_ - begin < 11) value = value * 10 + static_cast<uint64_t>(text_[at_++] - '0');
  const bool leading_zero = at_ - begin > 1 && text_[begin] == '0';
  const bool goes_on = at_ < text_.size() && std::string_view(",}] \n\r\t").find(text_[at_]) == std::string_view::npos;
  if (at_ == begin || leading_zero || goes_on || value > UINT32_MAX) {
    at_ = begin;
    return unexpected("an integer from 0 to 4294967295");
  }
  return static_cast<uint32_t>(value);
}

}  // namespace scratchy
