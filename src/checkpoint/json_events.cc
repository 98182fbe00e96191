#include "checkpoint/json_events.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace scratchy {
namespace {

// Reads bytes and keeps count of them outside, so that a handler's refusal can say where it is.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, uint64_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  uint64_t* count_;
};

// Adapts the library's event interface (true = go on) to ours and applies the limits.
class Walker final : public Json::json_sax_t {
 public:
  Walker(JsonEvents& events, const JsonLimits& limits) : events_(events), limits_(limits) {}

  bool null() override { return count() && take(events_.null()); }
  bool boolean(bool value) override { return count() && take(events_.boolean(value)); }
  bool number_unsigned(uint64_t value) override { return count() && take(events_.unsigned_integer(value)); }
  bool number_integer(int64_t value) override {
    if (!count()) return false;
    return take(value < 0 ? events_.negative_integer(value) : events_.unsigned_integer(static_cast<uint64_t>(value)));
  }
  bool number_float(double value, const std::string& spelling) override {
    if (!count()) return false;
    if (spelling.find_first_of(".eE") == std::string::npos) {
      return take("integer `" + escape_for_message(spelling, 40) + "` does not fit in 64 bits");
    }
    return take(events_.real(value));
  }
  bool string(std::string& value) override { return count() && take(events_.text(value)); }
  bool binary(binary_t&) override { return take("binary value"); }
  bool start_object(size_t) override { return count() && deeper() && take(events_.begin_object()); }
  bool end_object() override {
    --depth_;
    return take(events_.end_object());
  }
  bool start_array(size_t) override { return count() && deeper() && take(events_.begin_array()); }
  bool end_array() override {
    --depth_;
    return take(events_.end_array());
  }
  bool key(std::string& name) override { return count() && take(events_.key(name)); }

  bool parse_error(size_t position, const std::string& last_token, const Json::exception&) override {
    error_position_ = position;
    return take(last_token.empty() ? "text ends inside a value"
                                   : "unexpected `" + escape_for_message(last_token, 60) + "`");
  }

  const std::optional<std::string>& refusal() const { return refusal_; }
  const std::optional<uint64_t>& error_position() const { return error_position_; }

 private:
  bool take(JsonEvents::Refusal refusal) {
    if (!refusal) return true;
    refusal_ = std::move(refusal);
    return false;
  }
  bool count() {
    if (++values_ <= limits_.max_values) return true;
    return take("more than " + with_thousands(limits_.max_values) + " values");
  }
  bool deeper() {
    if (++depth_ <= limits_.max_depth) return true;
    return take("nested deeper than " + std::to_string(limits_.max_depth) + " levels");
  }

  JsonEvents& events_;
  const JsonLimits& limits_;
  uint64_t values_ = 0;
  int depth_ = 0;
  std::optional<std::string> refusal_;
  std::optional<uint64_t> error_position_;
};

}  // namespace

std::string line_and_column(std::string_view text, uint64_t offset) {
  const std::string_view before = text.substr(0, std::min<uint64_t>(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n');
  const size_t column = line_start == std::string_view::npos ? before.size() + 1 : before.size() - line_start;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

Status walk_json(std::string_view text, JsonEvents& events, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return Failure("json text of " + with_thousands(text.size()) + " bytes; at most " + with_thousands(limits.max_bytes) +
                   " are read");
  }
  if (text.starts_with("\xef\xbb\xbf")) return Failure("line 1, column 1: byte order mark; json text has none");
  uint64_t consumed = 0;
  Walker walker(events, limits);
  bool complete = false;
  try {
    complete = Json::sax_parse(CountingIterator(text.data(), &consumed),
                               CountingIterator(text.data() + text.size(), &consumed), &walker);
  } catch (const std::exception& error) {
    return Failure(line_and_column(text, consumed) + ": " + escape_for_message(error.what()));
  }
  if (complete) return Done{};
  // The library counts positions from 1; the last byte read is the offending one.
  const uint64_t end = walker.error_position().value_or(consumed);
  return Failure(line_and_column(text, end == 0 ? 0 : end - 1) + ": " + walker.refusal().value_or("not json"));
}

}  // namespace scratchy
