#include "dsl/format.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "dsl/lexer.h"
#include "testing/goldens.h"

namespace scratchy {
namespace {

std::string formatted(const std::string& text) {
  SourceSet sources;
  Diagnostics diagnostics;
  const auto out = format(sources.add("m.fwd", text), diagnostics);
  return out ? *out : diagnostics.to_text();
}

// The tokens, one a line: what formatting must not change.
std::string tokens(const std::string& text) {
  SourceSet sources;
  Diagnostics diagnostics;
  const SourceFile& file = sources.add("m.fwd", text);
  std::string out;
  for (const Token& token : lex(file, true, diagnostics)) out += std::string(token.text(file)) + "\n";
  return out;
}

TEST(Format, SpacesAndLinesAreCanonical) {
  EXPECT_EQ(formatted("\n\nconst r={a:1,b :[ 2,3 ],c:x?1:{d:2}} ;\n\n\n\nfn f( x,y=- 1 ){z=x*-y+x [ .. , 0 .. 4 , a .. ]; return(z,y) ;}\n"
                      "#[forward] fn m( ) {\nif a&&! b{x=1;}\nelse   if c {x = 2 ; y=3;}\n else\n{\nx = f ( a . b , k=2 ) ** - 2; }\n\n}"),
            "const r = {a: 1, b: [2, 3], c: x ? 1 : {d: 2}};\n\n"
            "fn f(x, y = -1) { z = x * -y + x[.., 0..4, a..]; return (z, y); }\n"
            "#[forward]\n"
            "fn m() {\n"
            "    if a && !b { x = 1; } else if c { x = 2; y = 3; } else {\n"
            "        x = f(a.b, k = 2) ** -2;\n"
            "    }\n"
            "}\n");
}

TEST(Format, CommentsStayWhereTheyBelong) {
  EXPECT_EQ(formatted("// top\n\n// of f\nfn f() { // open\n// in\nx = 1;// trailing\n\n\n   // last\n}\n//end"),
            "// top\n\n// of f\nfn f() {  // open\n    // in\n    x = 1;  // trailing\n\n    // last\n}\n//end\n");
  EXPECT_EQ(formatted("fn f() {\nx = g(a, // first\nb);\ny = a // one\n+ b;\n}"), "fn f() {\n    x = g(a,  // first\n          b);\n    y = a  // one\n        + b;\n}\n");
}

TEST(Format, BreaksInsideOfAStatementGoOnUnderTheBracket) {
  EXPECT_EQ(formatted("fn f(a,\nb) {\nx = g(a,\n b, h(c,\n d));\ny = {\na: 1,\nb: 2\n};\nz = c ? a\n: b;\n}"),
            "fn f(a,\n     b) {\n    x = g(a,\n          b, h(c,\n               d));\n    y = {\n        a: 1,\n        b: 2\n    };\n    z = c ? a\n        : b;\n}\n");
}

TEST(Format, ScansAndLoopsAreBlocks) {
  EXPECT_EQ(formatted("fn f(){for i in 0..4{\no=scan(a,b)over(x,y)with m=s[i]as[n,d]{m=m*a;\nyield b;};}}"),
            "fn f() {\n    for i in 0..4 {\n        o = scan (a, b) over (x, y) with m = s[i] as [n, d] {\n            m = m * a;\n            yield b;\n        };\n    }\n}\n");
}

TEST(Format, BlocksThatDoNotFitOnOneLineAreOpened) {
  const std::string value(130, 'x');
  EXPECT_EQ(formatted("fn f() { y = " + value + "; }"), "fn f() {\n    y = " + value + ";\n}\n");
}

TEST(Format, TextsWithErrorsAreRefused) { EXPECT_NE(formatted("fn f( {}").find("error"), std::string::npos); }

TEST(Format, ShippedTextsKeepTheirTokensAndFormattingTwiceChangesNothing) {
  int seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::source_dir() / "models")) {
    if (entry.path().extension() != ".fwd") continue;
    const std::string text = read_file(entry.path()).value();
    const std::string once = formatted(text);
    EXPECT_EQ(tokens(once), tokens(text)) << entry.path();
    EXPECT_EQ(formatted(once), once) << entry.path();
    EXPECT_EQ(once, text) << entry.path() << " is not in canonical form: scratchy fmt";
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace scratchy
