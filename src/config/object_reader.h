// Strict reading of the JSON objects we write ourselves (arch.json, std.json): every key is asked for by name, and what
// nobody asked for is an error that suggests the nearest known key.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"
#include "checkpoint/json.h"
#include "config/arch_decl.h"

namespace scratchy {

// What the readers of one file share.
struct ReaderContext {
  SourceSet& sources;
  Diagnostics& diagnostics;
  const SourceFile* file;  // the JSON text, to point at
};

class ObjectReader {
 public:
  // `object` may be anything; what is no object is an error and reads as empty. `where` names it: "weights.lm_head".
  ObjectReader(const Json& object, std::string where, const ReaderContext& context);

  // The member, null when absent. Marks it as known.
  const Json* take(const std::string& key);

  // Typed members; wrong types are errors and read as absent.
  std::string text(const std::string& key, std::string fallback = "");
  bool boolean(const std::string& key, bool fallback = false);
  double number(const std::string& key, double fallback = 0.0);
  std::vector<std::string> texts(const std::string& key);  // a lone string counts as a list of one
  Expression expression(const std::string& key);  // a string or an integer
  std::vector<std::pair<std::string, std::string>> text_pairs(const std::string& key);

  // Reports members nobody took.
  void finish();

  void problem(const std::string& text) const;
  const std::string& where() const { return where_; }
  const Json& object() const { return *object_; }
  std::string inside(const std::string& key) const { return where_.empty() ? key : where_ + "." + key; }

  // A SourceFile of an expression that stands at `place` of this file.
  Expression make_expression(const std::string& text, const std::string& place) const;

 private:
  const Json* object_;
  std::string where_;
  const ReaderContext& context_;
  std::vector<std::string> known_;
};

}  // namespace scratchy
