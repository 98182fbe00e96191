#include "base/diagnostic.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "base/check.h"
#include "base/text.h"

namespace scratchy {
namespace {

struct KindRow {
  std::string_view name, sentence;
};

constexpr KindRow kRows[] = {
#define DIAGNOSTIC(name, sentence) {#name, sentence},
#include "base/diagnostic.def"
#undef DIAGNOSTIC
};

std::string fill(std::string_view sentence, const DiagnosticFacts& facts) {
  std::string out;
  for (size_t i = 0; i < sentence.size(); ++i) {
    if (sentence[i] != '{') {
      out += sentence[i];
      continue;
    }
    const size_t close = sentence.find('}', i);
    const std::string_view place = sentence.substr(i + 1, close - i - 1);
    const auto fact = std::find_if(facts.begin(), facts.end(), [&](const auto& f) { return f.first == place; });
    SCRATCHY_CHECK(fact != facts.end(), "no fact for {" + std::string(place) + "} in: " + std::string(sentence));
    out += fact->second;
    i = close;
  }
  return out;
}

// The source line, unless it stands above already, with a marker under [begin, end) and a text behind it. Tabs count one
// column.
std::string excerpt(const Span& span, char marker, const std::string& text, bool line_shown) {
  const SourceFile::Place from = span.file->place(span.begin);
  const SourceFile::Place to = span.file->place(span.end);
  const int width = to.line == from.line ? std::max(1, to.column - from.column) : 1;
  std::string line = span.file->line(from.line);
  std::replace(line.begin(), line.end(), '\t', ' ');
  char number[16];
  std::snprintf(number, sizeof number, "%5d", from.line);
  std::string out = line_shown ? std::string() : std::string(number) + " | " + line + "\n";
  out += "      | " + std::string(from.column - 1, ' ') + std::string(width, marker);
  if (!text.empty()) out += " " + text;
  return out + "\n";
}

std::string show(const Diagnostic& d) {
  std::string out;
  if (d.span.file != nullptr) out += to_string(d.span) + ": ";
  out += "error: " + d.message + " [" + std::string(to_string(d.kind)) + "]\n";
  if (d.span.file != nullptr) out += excerpt(d.span, '^', "", false);
  Span above = d.span;
  for (const DiagnosticLabel& label : d.labels) {
    if (label.span.file != nullptr) {
      const bool shown = above.file == label.span.file && above.file->place(above.begin).line == label.span.file->place(label.span.begin).line;
      out += excerpt(label.span, '~', label.text, shown);
      above = label.span;
    } else {
      out += "note: " + label.text + "\n";
    }
  }
  for (const std::string& note : d.notes) out += "note: " + note + "\n";
  if (!d.model.empty()) out += "note: in " + d.model + (d.layer >= 0 ? ", layer " + std::to_string(d.layer) : "") + "\n";
  if (!d.hint.empty()) out += "hint: " + d.hint + "\n";
  return out;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<uint8_t>(c) < 0x20) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\u%04x", c);
      out += hex;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string json_place(const Span& span) {
  if (span.file == nullptr) return "\"file\":null";
  const SourceFile::Place from = span.file->place(span.begin), to = span.file->place(span.end);
  return "\"file\":" + quote(span.file->path) + ",\"line\":" + std::to_string(from.line) + ",\"column\":" +
         std::to_string(from.column) + ",\"end_line\":" + std::to_string(to.line) + ",\"end_column\":" + std::to_string(to.column);
}

std::string json_one(const Diagnostic& d) {
  std::string out = "{\"severity\":\"error\",\"kind\":" + quote(to_string(d.kind)) + "," + json_place(d.span) + ",\"message\":" + quote(d.message);
  out += ",\"labels\":[";
  for (size_t i = 0; i < d.labels.size(); ++i) {
    out += (i > 0 ? ",{" : "{") + json_place(d.labels[i].span) + ",\"text\":" + quote(d.labels[i].text) + "}";
  }
  out += "],\"notes\":[";
  for (size_t i = 0; i < d.notes.size(); ++i) out += (i > 0 ? "," : "") + quote(d.notes[i]);
  out += "],\"hint\":" + (d.hint.empty() ? "null" : quote(d.hint));
  out += ",\"model\":" + (d.model.empty() ? "null" : quote(d.model)) + ",\"layer\":" + (d.layer < 0 ? "null" : std::to_string(d.layer)) + "}";
  return out;
}

}  // namespace

std::string_view to_string(DiagnosticKind kind) { return kRows[static_cast<size_t>(kind)].name; }

Diagnostic& Diagnostic::label(Span at, std::string text) {
  labels.push_back({at, std::move(text)});
  return *this;
}

Diagnostic& Diagnostic::note(std::string text) {
  notes.push_back(std::move(text));
  return *this;
}

Diagnostic& Diagnostic::suggest(std::string text) {
  hint = std::move(text);
  return *this;
}

Diagnostic& Diagnostics::add(DiagnosticKind kind, Span span, const DiagnosticFacts& facts) {
  Diagnostic made{.kind = kind, .span = span, .message = fill(kRows[static_cast<size_t>(kind)].sentence, facts)};
  made.model = model_;
  made.layer = layer_;
  if (items_.size() >= kMax) {
    overflow_ = std::move(made);
    return overflow_;
  }
  items_.push_back(std::move(made));
  return items_.back();
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::vector<Diagnostic> all = items_;
  const auto key = [](const Diagnostic& d) {
    return std::tuple(d.span.file != nullptr ? d.span.file->path : std::string(), d.span.begin, d.kind, d.message);
  };
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  all.erase(std::unique(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }), all.end());
  return all;
}

std::string Diagnostics::to_text() const {
  std::string out;
  for (const Diagnostic& d : sorted()) out += show(d);
  return out;
}

std::string Diagnostics::to_json() const {
  std::string out = "[";
  for (const Diagnostic& d : sorted()) out += (out.size() > 1 ? ",\n " : "") + json_one(d);
  return out + "]\n";
}

}  // namespace scratchy
