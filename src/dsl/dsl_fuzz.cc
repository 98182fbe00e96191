// Any bytes: reading them ends, and what parses formats to a text of the same tokens that formats to itself.

#include <cstdint>
#include <string>

#include "base/check.h"
#include "dsl/format.h"
#include "dsl/lexer.h"
#include "dsl/parser.h"

namespace {

using namespace scratchy;

std::string tokens(const SourceFile& file) {
  Diagnostics diagnostics;
  std::string out;
  for (const Token& token : lex(file, true, diagnostics)) out += std::string(token.text(file)) + "\n";
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  SourceSet sources;
  Diagnostics diagnostics;
  const SourceFile& file = sources.add("fuzz.fwd", std::string(reinterpret_cast<const char*>(data), size));
  const auto once = format(file, diagnostics);
  (void)diagnostics.to_text();
  Diagnostics of_expression;
  (void)evaluate_constant(file, [](std::string_view) { return std::nullopt; }, {}, of_expression);
  if (!once) return 0;
  const SourceFile& again = sources.add("once.fwd", *once);
  if (once->find('\t') == std::string::npos && file.text.find('\t') == std::string::npos) SCRATCHY_CHECK(tokens(again) == tokens(file), *once);
  const auto twice = format(again, diagnostics);
  SCRATCHY_CHECK(twice && *twice == *once, *once + "\n--- again\n" + twice.value_or("refused"));
  return 0;
}
