#include "dsl/parser.h"

#include <gtest/gtest.h>

#include <map>

namespace scratchy {
namespace {

struct Parsed {
  SourceSet sources;
  Diagnostics diagnostics;
  Module module;
};

std::unique_ptr<Parsed> parse_text(std::string text) {
  auto out = std::make_unique<Parsed>();
  out->module = parse(out->sources.add("m.fwd", std::move(text)), out->diagnostics);
  return out;
}

TEST(Parser, ReadsEveryConstruct) {
  const auto parsed = parse_text(R"(
const rotary = {factor: 1.0, list: [1, 2], f: [10000.0 ** (-2 * i / 64) for i in 0..32]};
fn f(x, w = none, eps = 1e-6) { return (x[.., 0..4], x[a.., ..b]); }
#[forward]
fn m() {
  (a, b) = f(x, eps = 2.0);
  for i in 0..n { if i % 4 != 3 && !(i in list) { y = 1; } else if i == 2 { y = 2; } else { y = -x ** 2; } }
  assert(a == b, "a \"quoted\" text");
  cache_append(kv_cache[i - 1].keys, k);
  o = scan (qt, kt) over (q, k) with m = delta_state[layer] as [4, D, D] { m = exp(gt) * m; yield vecmat(qt, m); };
  z = c ? a : b;
}
)");
  EXPECT_EQ(parsed->diagnostics.to_text(), "");
  ASSERT_EQ(parsed->module.functions.size(), 2u);
  EXPECT_TRUE(parsed->module.functions[1].forward);
  EXPECT_EQ(parsed->module.functions[1].body.size(), 6u);
  EXPECT_EQ(parsed->module.functions[1].body[2].message, "a \"quoted\" text");
}

TEST(Parser, BrokenStatementsAreEachReportedOnce) {
  const auto parsed = parse_text("fn f() {\n  a = ;\n  b = 1 +;\n  for i in 0 { x = ); }\n  c = 2;\n}\nfn g( { }\nfn h() { return 1; }\n");
  EXPECT_EQ(parsed->diagnostics.size(), 4u) << parsed->diagnostics.to_text();
  EXPECT_EQ(parsed->module.functions.back().name.text, "h");
}

// C16
TEST(Parser, HostileNestingIsRefusedWithoutRecursion) {
  for (const std::string opening : {"(", "[", "{a:", "-", "!", "f(", "x[", "a ? ", "2 ** ", "[..a ["}) {
    std::string text = "fn f() { x = ";
    for (int i = 0; i < 100000 / static_cast<int>(opening.size()) * 5; ++i) text += opening;
    EXPECT_FALSE(parse_text(text)->diagnostics.empty()) << opening;
  }
  for (const std::string opening : {"if a {", "for i in 0..1 {", "if a {} else "}) {
    std::string text = "fn f() { ";
    for (int i = 0; i < 100000; ++i) text += opening;
    EXPECT_FALSE(parse_text(text)->diagnostics.empty()) << opening;
  }
}

// C16
TEST(Parser, LongChainsAreRefusedWithoutDeepTrees) {
  for (const std::string link : {"+ 1 ", ".a", "[0]", "&& b "}) {
    std::string text = "fn f() { x = a";
    for (int i = 0; i < 100000; ++i) text += link;
    EXPECT_FALSE(parse_text(text + "; }")->diagnostics.empty()) << link;
  }
}

// C16
TEST(Parser, TextOverTheLimitIsRefused) {
  EXPECT_NE(parse_text(std::string(2 << 20, ' '))->diagnostics.to_text().find("the limit is 1,048,576"), std::string::npos);
}

// C17
TEST(Parser, HiddenAndForeignCharactersAreRefusedUnderTheRightColumn) {
  EXPECT_NE(parse_text("\xEF\xBB\xBF"
                       "fn f() {}")
                ->diagnostics.to_text()
                .find("m.fwd:1:1: error: the character U+FEFF"),
            std::string::npos);
  EXPECT_NE(parse_text("// a \xE2\x80\xAE b")->diagnostics.to_text().find("m.fwd:1:6: error: the character U+202E"), std::string::npos);
  EXPECT_NE(parse_text("// \xC3\xA4\xC3\xA4\nfn f() { x\xF0\x9F\x98\x80 = 1; }")->diagnostics.to_text().find("m.fwd:2:11: error: the character U+1F600"),
            std::string::npos);
  EXPECT_NE(parse_text(std::string("fn f() { \0 }", 12))->diagnostics.to_text().find("U+0000"), std::string::npos);
  EXPECT_NE(parse_text("fn f() { \xFF }")->diagnostics.to_text().find("not UTF-8"), std::string::npos);
  EXPECT_EQ(parse_text("fn f() {\r\n\tx = 1; // \xC3\xA4\r\n}\r\n")->diagnostics.to_text(), "");
}

std::string evaluated(const std::string& text) {
  SourceSet sources;
  Diagnostics diagnostics;
  const std::map<std::string, Constant> values = {{"hidden_size", Constant::integer(576)}, {"flag", Constant::boolean(true)}, {"nothing", Constant()}};
  const ConstantLookup lookup = [&](std::string_view name) -> std::optional<Constant> {
    const auto found = values.find(std::string(name));
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  const auto value = evaluate_constant(sources.add("expression", text), lookup, {"hidden_size", "flag"}, diagnostics);
  return value ? to_string(*value) : diagnostics.to_text();
}

TEST(EvaluateConstant, ComputesWithIntegersAndFractions) {
  EXPECT_EQ(evaluated("2 * hidden_size"), "1152");
  EXPECT_EQ(evaluated("hidden_size / 9"), "64");
  EXPECT_EQ(evaluated("hidden_size / 10"), "57.6");
  EXPECT_EQ(evaluated("-7 % 4"), "1");
  EXPECT_EQ(evaluated("-2 ** 2"), "-4");
  EXPECT_EQ(evaluated("2 ** 3 ** 2"), "512");
  EXPECT_EQ(evaluated("2 ** -1"), "0.5");
  EXPECT_EQ(evaluated("1 + flag * 2"), "3");
  EXPECT_EQ(evaluated("nothing != none ? nothing : 4"), "4");
  EXPECT_EQ(evaluated("max(1, 2.5, 2) + min([3, 4])"), "5.5");
  EXPECT_EQ(evaluated("bf16(sqrt(1152))"), "34.0");
  EXPECT_EQ(evaluated("int(64 * 0.25) in [16, 32]"), "true");
  EXPECT_EQ(evaluated("10 - 3 - 2"), "5");
  EXPECT_EQ(evaluated("1e-6"), "1e-06");
  EXPECT_EQ(evaluated("sqrt(4)"), "2.0");
  EXPECT_EQ(evaluated("[i % 2 == 0 ? \"a\" : \"b\" for i in 0..3]"), "[\"a\", \"b\", \"a\"]");
  EXPECT_EQ(evaluated("get({a: 1, b: [2]}, \"b\", 0)"), "[2]");
}

// C18
TEST(EvaluateConstant, OverflowAndDivisionByZeroAreErrors) {
  for (const char* text : {"9223372036854775807 + 1", "hidden_size / 0", "1 % 0", "10 ** 30", "1.0 / 0", "ln(0)", "sqrt(-1)", "1e300 * 1e300",
                           "inf - inf", "-(0 - 9223372036854775807 - 1)", "99999999999999999999", "1e999", "[1, 2][2]", "nothing + 1", "hiden_size", "-\"a\"", "[i for i in 0..4611686018427387904]", "[[j for j in 0..100000] for i in 0..100000]"}) {
    EXPECT_NE(evaluated(text).find("error"), std::string::npos) << text << " gives " << evaluated(text);
  }
  EXPECT_NE(evaluated("hiden_size").find("did you mean `hidden_size`?"), std::string::npos);
}

}  // namespace
}  // namespace scratchy
