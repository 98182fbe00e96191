#include "dsl/constant.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/text.h"

namespace scratchy {
namespace {

std::string show_real(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string out(buffer, end);
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

// Appends until `limit`; what lies behind it is left to to_string to cut.
void show(const Constant& value, size_t limit, std::string& out) {
  if (out.size() > limit) return;
  switch (value.kind()) {
    case Constant::Kind::kNone: out += "none"; return;
    case Constant::Kind::kBool: out += value.as_bool() ? "true" : "false"; return;
    case Constant::Kind::kInt: out += std::to_string(value.as_int()); return;
    case Constant::Kind::kFloat: out += show_real(value.as_number()); return;
    case Constant::Kind::kString: out += "\"" + escape_for_message(value.as_string(), limit) + "\""; return;
    case Constant::Kind::kList: {
      out += "[";
      for (size_t i = 0; i < value.as_list().size() && out.size() <= limit; ++i) {
        if (i > 0) out += ", ";
        show(value.as_list()[i], limit, out);
      }
      out += "]";
      return;
    }
    case Constant::Kind::kRecord: {
      out += "{";
      for (size_t i = 0; i < value.as_record().size() && out.size() <= limit; ++i) {
        if (i > 0) out += ", ";
        out += escape_for_message(value.as_record()[i].key, limit) + ": ";
        show(value.as_record()[i].value, limit, out);
      }
      out += "}";
      return;
    }
  }
}

}  // namespace

Constant Constant::boolean(bool value) {
  Constant made;
  made.value_ = value;
  return made;
}

Constant Constant::integer(int64_t value) {
  Constant made;
  made.value_ = value;
  return made;
}

Constant Constant::real(double value) {
  Constant made;
  made.value_ = value;
  return made;
}

Constant Constant::text(std::string value) {
  Constant made;
  made.value_ = std::move(value);
  return made;
}

Constant Constant::list(List elements) {
  Constant made;
  for (const Constant& element : elements) made.depth_ = std::max(made.depth_, element.depth());
  ++made.depth_;
  SCRATCHY_CHECK(made.depth_ <= kMaxDepth, "list " + std::to_string(made.depth_) + " deep");
  made.value_ = std::make_shared<const List>(std::move(elements));
  return made;
}

Constant Constant::record(Record fields) {
  Constant made;
  for (const Field& field : fields) made.depth_ = std::max(made.depth_, field.value.depth());
  ++made.depth_;
  SCRATCHY_CHECK(made.depth_ <= kMaxDepth, "record " + std::to_string(made.depth_) + " deep");
  made.value_ = std::make_shared<const Record>(std::move(fields));
  return made;
}

bool Constant::as_bool() const {
  SCRATCHY_CHECK(is_bool(), "not a boolean");
  return std::get<bool>(value_);
}

int64_t Constant::as_int() const {
  if (is_bool()) return std::get<bool>(value_) ? 1 : 0;
  SCRATCHY_CHECK(is_int(), "not an integer");
  return std::get<int64_t>(value_);
}

double Constant::as_number() const {
  if (is_float()) return std::get<double>(value_);
  return static_cast<double>(as_int());
}

const std::string& Constant::as_string() const {
  SCRATCHY_CHECK(is_string(), "not a string");
  return std::get<std::string>(value_);
}

const Constant::List& Constant::as_list() const {
  SCRATCHY_CHECK(is_list(), "not a list");
  return *std::get<std::shared_ptr<const List>>(value_);
}

const Constant::Record& Constant::as_record() const {
  SCRATCHY_CHECK(is_record(), "not a record");
  return *std::get<std::shared_ptr<const Record>>(value_);
}

const Constant* Constant::find(std::string_view key) const {
  if (!is_record()) return nullptr;
  for (const Field& field : as_record()) {
    if (field.key == key) return &field.value;
  }
  return nullptr;
}

bool Constant::operator==(const Constant& other) const {
  if (is_number() && other.is_number() && kind() != other.kind()) {
    return !is_bool() && !other.is_bool() && as_number() == other.as_number();
  }
  if (kind() != other.kind() || depth_ != other.depth_) return false;
  if (is_list()) return &as_list() == &other.as_list() || as_list() == other.as_list();
  if (!is_record()) return value_ == other.value_;
  if (as_record().size() != other.as_record().size()) return false;
  for (const Field& field : as_record()) {
    const Constant* const same = other.find(field.key);
    if (same == nullptr || !(*same == field.value)) return false;
  }
  return true;
}

std::string to_string(const Constant& value, size_t limit) {
  std::string out;
  show(value, limit, out);
  if (out.size() > limit) out = out.substr(0, limit) + "..";
  return out;
}

std::string counted(size_t count, std::string_view noun) { return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s"); }

std::string_view describe(Constant::Kind kind) {
  switch (kind) {
    case Constant::Kind::kNone: return "none";
    case Constant::Kind::kBool: return "a boolean";
    case Constant::Kind::kInt: return "an integer";
    case Constant::Kind::kFloat: return "a number with a fraction";
    case Constant::Kind::kString: return "a string";
    case Constant::Kind::kList: return "a list";
    case Constant::Kind::kRecord: return "a record";
  }
  return "";
}

}  // namespace scratchy
