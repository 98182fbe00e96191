// The values of an architecture's keys for one model: published, default or derived, each computed when first asked for.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "config/arch_decl.h"
#include "config/raw_config.h"

namespace scratchy {

class ValueBinder {
 public:
  ValueBinder(const ArchDecl& arch, const RawConfig& raw, Diagnostics& diagnostics);

  // Checks every published value against its rule; false when one is wrong (all are reported).
  bool check_published();

  // The canonical value of a declared key; nothing when it is absent without a default, or not declared.
  std::optional<Constant> value(const std::string& key);

  // The value of an expression over keys, with `layer` bound when it is not negative. Nothing, silently, when it names a
  // key without value; a mistake in the expression is reported.
  std::optional<Constant> evaluate(Expression expression, int layer = -1);

  // Where to point for a key: its published value, or the whole file.
  Span span(const std::string& key) const;

 private:
  // Published or default, not derived.
  std::optional<Constant> plain_value(const std::string& key);
  std::optional<Constant> checked(const std::string& key, const Constant& value, const std::string& shown, Span span);
  void bad(const std::string& shown, const Constant& seen, const std::string& rule, Span span);
  std::optional<Constant> list_of(const KeyRule& rule, const Constant& value, const std::string& shown, Span span);
  bool check_allowed(const KeyRule& rule, const Constant& value, const std::string& shown, Span span);

  const ArchDecl& arch_;
  const RawConfig& raw_;
  Diagnostics& diagnostics_;
  std::vector<std::string> known_;
  std::map<std::string, Constant> published_;
  std::map<std::string, std::string> published_as_;  // key -> raw key
  std::map<std::string, Constant> plain_, final_;
  std::set<std::string> defaulting_, deriving_;
};

}  // namespace scratchy
