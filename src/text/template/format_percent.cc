// `'%5.2f' % x`.
#include "text/template/bind.h"
#include "text/template/characters.h"
#include "text/template/format.h"
#include "text/template/numbers.h"
#include "text/template/operators.h"
#include "text/template/print.h"

namespace scratchy::jinja {
namespace {

class PercentFormatter {
 public:
  PercentFormatter(Budget& budget, const Value& format, const Value& arguments)
      : budget_(budget), rest_(format.bytes()), safe_(format.text().safe), arguments_(arguments) {}

  std::string run() {
    while (!rest_.empty()) {
      const size_t at = rest_.find('%');
      out_ += rest_.substr(0, at);
      if (at == std::string_view::npos) break;
      rest_.remove_prefix(at + 1);
      read_field();
      budget_.spend_bytes(out_.size() / 16);
    }
    const bool several = arguments_.is(Kind::kTuple);
    // What can be subscripted counts as a mapping, of which nothing need be used.
    const bool mapping = arguments_.is_dict() || arguments_.is(Kind::kList) || arguments_.is(Kind::kRange) ||
                         arguments_.is_undefined();
    if (!mapping && used_ < (several ? arguments_.items().size() : 1)) raise("`%` has more values than its text takes");
    return std::move(out_);
  }

 private:
  char take() {
    if (rest_.empty()) raise("`%` ends in the middle of a field");
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  const Value& next_argument() {
    const bool several = arguments_.is(Kind::kTuple);
    if (used_ >= (several ? arguments_.items().size() : 1)) raise("`%` has too few values for its text");
    ++used_;
    return several ? arguments_.items()[used_ - 1] : arguments_;
  }

  Integer take_number() {
    if (!rest_.empty() && rest_[0] == '*') {
      take();
      return integer_or(&next_argument(), 0);
    }
    Integer number = 0;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      number = number * 10 + (take() - '0');
      if (number > static_cast<Integer>(kMaxTextBytes)) raise("a width of more than 64 MiB");
    }
    return number;
  }

  void read_field() {
    const Value* named = nullptr;
    if (!rest_.empty() && rest_[0] == '(') {
      const size_t end = rest_.find(')');
      if (end == std::string_view::npos) raise("`%(` is not closed");
      if (!arguments_.is_dict()) raise("`%(name)` needs a dict");
      named = arguments_.dict().find(rest_.substr(1, end - 1));
      if (named == nullptr) raise("`%` finds no value for `" + std::string(rest_.substr(1, end - 1)) + "`");
      rest_.remove_prefix(end + 1);
    }
    FormatSpec spec;
    read_flags(spec);
    const Integer width = take_number();
    spec.width = width < 0 ? -width : width;
    if (width < 0) spec.align = '<';
    if (!rest_.empty() && rest_[0] == '.') {
      take();
      const Integer precision = take_number();
      spec.precision = precision > kMaxPrecision ? -2 : static_cast<int>(precision < 0 ? 0 : precision);
    }
    while (!rest_.empty() && (rest_[0] == 'l' || rest_[0] == 'h' || rest_[0] == 'L')) take();
    spec.type = take();
    if (spec.type == '%') {
      out_.push_back('%');
      return;
    }
    write(named != nullptr ? *named : next_argument(), spec);
  }

  void read_flags(FormatSpec& spec) {
    for (; !rest_.empty(); take()) {
      if (rest_[0] == '-') spec.align = '<';
      else if (rest_[0] == '0' && spec.align != '<') spec.align = '=', spec.fill = '0';
      else if (rest_[0] == '+') spec.sign = '+';
      else if (rest_[0] == ' ' && spec.sign != '+') spec.sign = ' ';
      else if (rest_[0] == '#') spec.alternate = true;
      else if (rest_[0] != '0' && rest_[0] != ' ') return;
    }
  }

  void write(const Value& value, FormatSpec spec) {
    switch (spec.type) {
      case 's': return write_text(safe_ ? escaped(budget_, value) : to_text(budget_, value), spec);
      case 'r':
      case 'a': return write_text(to_repr(budget_, value), spec);
      case 'c':
        if (value.is_text()) {
          if (value.text().length != 1) raise("`%c` needs one character");
          return write_text(value.bytes(), spec);
        }
        break;
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': break;
      default: raise("`%` does not know the format `" + text_repr(std::string(1, spec.type)) + "`");
    }
    write_number(value, spec);
  }

  void write_text(std::string text, FormatSpec spec) {
    if (spec.precision == -2) raise("a precision of more than 300 digits");
    if (spec.precision >= 0) text = encode_utf8(decode_utf8(text).substr(0, static_cast<size_t>(spec.precision)));
    spec.fill = ' ';
    if (spec.align == '=') spec.align = '>';
    out_ += pad(budget_, text, spec, '>');
  }

  void write_number(const Value& value, FormatSpec spec) {
    if (value.is_undefined()) raise_undefined(value);
    if (!value.is_number()) raise(std::string("`%") + spec.type + "` needs a number, not `" + type_name(value) + "`");
    if (spec.precision == -2) raise("a precision of more than 300 digits");
    const bool whole = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    const bool cut = whole && value.is(Kind::kFloat);
    const Value number = cut ? Value(truncate_float(value.number())) : value;
    if (whole) spec.type = 'd';
    out_ += format_number(budget_, number, spec);
  }

  Budget& budget_;
  std::string_view rest_;
  const bool safe_;
  const Value& arguments_;
  size_t used_ = 0;
  std::string out_;
};

}  // namespace

Value format_percent(Budget& budget, const Value& format, const Value& arguments) {
  budget.spend_bytes(format.bytes().size());
  return text_like(format, PercentFormatter(budget, format, arguments).run());
}

}  // namespace scratchy::jinja
