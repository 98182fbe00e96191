// Diagnostics: mistakes in what an author wrote (.fwd text, config, preset, flags), collected, sorted and shown together.
//
// Every kind is one row of diagnostic.def with its sentence; raising one fills the sentence's {places}. A diagnostic
// points at a span, may label further spans, and may carry notes and a hint.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/source.h"

namespace scratchy {

enum class DiagnosticKind {
#define DIAGNOSTIC(name, sentence) k##name,
#include "base/diagnostic.def"
#undef DIAGNOSTIC
};

// The kind's name without the k, e.g. "GemmInnerDim".
std::string_view to_string(DiagnosticKind kind);

// Values for the {places} of a sentence, e.g. {{"lhs", "1536"}, {"rhs", "576"}}.
using DiagnosticFacts = std::vector<std::pair<std::string, std::string>>;

struct DiagnosticLabel {
  Span span;
  std::string text;
};

struct Diagnostic {
  DiagnosticKind kind;
  Span span;
  std::string message;  // the sentence with its places filled
  std::vector<DiagnosticLabel> labels;
  std::vector<std::string> notes;
  std::string hint;   // empty = none
  std::string model;  // "llama x smollm2-135m", empty = not tied to one
  int layer = -1;     // -1 = not in a layer

  Diagnostic& label(Span at, std::string text);
  Diagnostic& note(std::string text);
  Diagnostic& suggest(std::string text);
};

// The diagnostics of one compilation.
class Diagnostics {
 public:
  // Adds an error and returns it for labels, notes and a hint. The reference is valid until the next call. Above kMax
  // the rest are counted, not kept.
  Diagnostic& add(DiagnosticKind kind, Span span, const DiagnosticFacts& facts = {});

  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  const std::vector<Diagnostic>& items() const { return items_; }

  // Context stamped on what is added from now on.
  void set_model(std::string model) { model_ = std::move(model); }
  void set_layer(int layer) { layer_ = layer; }

  // All, sorted by file, place and kind, duplicates dropped: the text for a terminal, or one JSON array.
  std::string to_text() const;
  std::string to_json() const;

 private:
  static constexpr size_t kMax = 200;
  std::vector<Diagnostic> sorted() const;
  std::vector<Diagnostic> items_;
  std::string model_;
  int layer_ = -1;
  Diagnostic overflow_{};
};

}  // namespace scratchy
