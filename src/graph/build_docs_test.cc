// docs/language.md lists every function of compile-time values, every primitive and every function of the prelude, as
// their tables say. `scratchy_graph_test --regenerate` writes the lists anew.

#include <gtest/gtest.h>

#include "base/file.h"
#include "dsl/constant_math.h"
#include "dsl/parser.h"
#include "graph/build_test_flags.h"
#include "graph/build_trace.h"
#include "testing/goldens.h"

namespace scratchy {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::string builtins() {
  std::string out = "| function | gives |\n|---|---|\n";
  for (const std::string& name : builtin_names()) out += "| `" + name + "` | " + escaped(info(*find_builtin(name)).text) + " |\n";
  return out;
}

std::string params_text(const Signature& signature) {
  if (signature.variadic) return "a, b, ..";
  std::string out;
  for (size_t i = 0; i < signature.params.size(); ++i) out += (i > 0 ? ", " : "") + signature.params[i] + (i >= signature.least ? "?" : "");
  return out;
}

std::string primitives() {
  std::string out = "| primitive | takes | gives | formula |\n|---|---|---|---|\n";
  for (const Signature& signature : primitive_signatures()) {
    const OpInfo& op = info(primitive_kind(signature.name));
    out += "| `" + signature.name + "(" + params_text(signature) + ")` | `" + escaped(op.operands) + "` | `" + escaped(op.result) + "` | " + escaped(op.formula) + " |\n";
  }
  return out;
}

// `name(parameters)` of every function, in the order of the prelude.
std::string prelude() {
  SourceSet sources;
  Diagnostics diagnostics;
  const SourceFile& file = sources.add("models/std.fwd", read_file(testing::source_dir() / "models/std.fwd").value());
  const Module module = parse(file, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.to_text();
  std::string out = "| function | parameters |\n|---|---|\n";
  for (const Function& function : module.functions) {
    std::string params;
    for (const Param& param : function.params) {
      params += params.empty() ? "" : ", ";
      params += param.name.text;
      if (param.fallback) params += " = " + file.text.substr(param.fallback->span.begin, param.fallback->span.end - param.fallback->span.begin);
    }
    out += "| `" + function.name.text + "` | " + (params.empty() ? "" : "`" + escaped(params) + "`") + " |\n";
  }
  out += "\nConstants: ";
  for (size_t i = 0; i < module.constants.size(); ++i) out += (i > 0 ? ", `" : "`") + module.constants[i].name.text + "`";
  return out + ".\n";
}

TEST(LanguageReference, ListsWhatTheLanguageHas) {
  const auto path = testing::source_dir() / "docs/language.md";
  std::string text = read_file(path).value();
  const std::string before = text;
  for (const auto& [name, body] : {std::pair<std::string, std::string>("builtins", builtins()), {"primitives", primitives()}, {"prelude", prelude()}}) {
    const std::string open = "<!-- " + name + " -->\n";
    const size_t begin = text.find(open);
    ASSERT_NE(begin, std::string::npos) << name;
    const size_t end = text.find("<!-- end -->", begin);
    ASSERT_NE(end, std::string::npos) << name;
    text.replace(begin + open.size(), end - begin - open.size(), "\n" + body + "\n");
  }
  if (testing::regenerate_goldens && text != before) ASSERT_TRUE(write_file_atomically(path, text).ok());
  else EXPECT_EQ(text, before) << "run scratchy_graph_test --regenerate";
}

// Ops that no text calls by name: resources, operators and slices, what scans and passes make.
TEST(LanguageReference, EveryOpCanBeWrittenInATextOrIsMadeOtherwise) {
  std::string callable;
  for (const Signature& signature : primitive_signatures()) callable += " " + std::string(info(primitive_kind(signature.name)).name) + " ";
  for (int i = 0; i < kOpKindCount; ++i) {
    const auto kind = static_cast<OpKind>(i);
    const OpGroup group = info(kind).group;
    const bool made = group == OpGroup::kResource || group == OpGroup::kFused || kind == OpKind::kSlice || kind == OpKind::kScan || kind == OpKind::kArgument ||
                      kind == OpKind::kSampleRows;
    EXPECT_NE(made, callable.find(" " + std::string(info(kind).name) + " ") != std::string::npos) << info(kind).name;
  }
}

}  // namespace
}  // namespace scratchy
