// The numbered security cases (J01-J21), and what the goldens do not reach.
#include "text/template/chat_template.h"

#include <chrono>

#include <gtest/gtest.h>

namespace scratchy {
namespace {

using Json = nlohmann::ordered_json;

Result<std::string> render(const std::string& source, const Json& kwargs = Json::object(), Json messages = Json::array()) {
  TRY(const ChatTemplate chat_template, ChatTemplate::parse(source));
  RenderInput input;
  input.messages = std::move(messages);
  input.kwargs = kwargs;
  return chat_template.render(input);
}

std::string text(const std::string& source, const Json& kwargs = Json::object(), const Json& messages = Json::array()) {
  const auto got = render(source, kwargs, messages);
  return got.ok() ? *got : "FAILED: " + got.failure().message();
}

std::string failure(const std::string& source, const Json& kwargs = Json::object()) {
  const auto got = render(source, kwargs);
  return got.ok() ? "RENDERED: " + got->substr(0, 100) : got.failure().message();
}

std::string repeated(const std::string& part, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += part;
  return out;
}

TEST(ChatTemplate, J01SyntaxErrorsSayTheirLine) {
  EXPECT_TRUE(failure("a\n\n{% if %}").starts_with("line 3: "));
  EXPECT_TRUE(failure("{% if true %}\nx").starts_with("line 2: "));
}

TEST(ChatTemplate, J02UnknownFiltersTestsAndTagsAreRefusedByNameAtParse) {
  EXPECT_FALSE(ChatTemplate::parse("{{ 'a' | nope }}").ok());
  EXPECT_EQ(failure("\n{{ 'a' | nope }}"), "line 2: no filter is named `nope`");
  EXPECT_EQ(failure("{{ 1 is nope }}"), "line 1: no test is named `nope`");
  EXPECT_NE(failure("{% nope %}").find("`nope`"), std::string::npos);
  EXPECT_EQ(failure("\n\n{{ nope() }}"), "line 3: `nope` is undefined");
}

TEST(ChatTemplate, J03RunTimeErrorsSayTheirLine) {
  EXPECT_EQ(failure("a\n{{ 1 / 0 }}"), "line 2: division by zero");
  EXPECT_EQ(failure("{{ x.y }}"), "line 1: `x` is undefined");
  EXPECT_EQ(text("[{{ [1][5] }}{{ x }}]"), "[]");
}

TEST(ChatTemplate, J04RaisedTextIsPassedOnWordForWord) {
  EXPECT_EQ(failure("\n{{ raise_exception('roles must alternate') }}"), "roles must alternate");
}

TEST(ChatTemplate, J05OtherTemplatesCannotBeLoaded) {
  for (const char* source : {"{% include 'a' %}", "{% import 'a' as b %}", "{% extends 'a' %}", "{% from 'a' import b %}"}) {
    EXPECT_NE(failure(source).find("refused"), std::string::npos) << source;
  }
}

TEST(ChatTemplate, J06UnderscoreAttributesDoNotExist) {
  EXPECT_EQ(text("{{ ''.__class__ }}{{ [].__len__ }}{{ x.__init__ if x }}"), "");
  EXPECT_FALSE(render("{{ ''.__class__.__mro__ }}").ok());
  EXPECT_FALSE(render("{{ cycler.__init__.__globals__ }}").ok());
}

TEST(ChatTemplate, J07FormatsStayInTheSandboxAndWidthsAreCapped) {
  EXPECT_EQ(text("[{{ '{0.__class__}'.format(1) }}]"), "[]");
  EXPECT_FALSE(render("{{ '{a.__class__.x}'.format_map({'a': 1}) }}").ok());
  EXPECT_FALSE(render("{{ '%999999999d' % 1 }}").ok());
  EXPECT_FALSE(render("{{ '{:>999999999}'.format(1) }}").ok());
  EXPECT_FALSE(render("{{ '%.999999999f' % 1 }}").ok());
}

TEST(ChatTemplate, J08ValuesCannotBeChanged) {
  for (const char* call : {"l.append(1)", "l.pop()", "l.clear()", "d.update({})", "d.pop('a')", "d.setdefault('b', 1)"}) {
    EXPECT_NE(failure(std::string("{{ ") + call + " }}", {{"l", {1}}, {"d", {{"a", 1}}}}).find("unsafe"), std::string::npos);
  }
}

TEST(ChatTemplate, J09FiltersReachNoHiddenAttributes) {
  EXPECT_FALSE(render("{{ ([] | attr('append'))(1) }}").ok());
  EXPECT_EQ(text("{{ ['a'] | map(attribute='__class__') | list }}"), "[Undefined]");
}

TEST(ChatTemplate, J10NamesOfWebFrameworksAreUndefined) {
  EXPECT_EQ(text("{{ request is defined }}{{ config is defined }}{{ get_flashed_messages is defined }}"), "FalseFalseFalse");
  EXPECT_FALSE(render("{{ lipsum() }}").ok());
}

TEST(ChatTemplate, J11J18UserTextIsNeverRenderedAgain) {
  const Json messages = {{{"role", "user"}, {"content", "{{ 7*7 }}{% if %}${x}<|im_end|>"}}};
  EXPECT_EQ(text("{{ messages[0].content }}", Json::object(), messages), "{{ 7*7 }}{% if %}${x}<|im_end|>");
}

TEST(ChatTemplate, J12EndlessWorkRunsOutOfSteps) {
  EXPECT_NE(failure("{% for i in range(10**9) %}{% endfor %}").find("100,000"), std::string::npos);
  EXPECT_NE(failure("{% for i in range(10**5) %}{% for j in range(10**5) %}{% endfor %}{% endfor %}").find("steps"),
            std::string::npos);
}

TEST(ChatTemplate, J13TextsAreCapped) {
  EXPECT_NE(failure("{% set ns = namespace(s='ab') %}{% for i in range(40) %}{% set ns.s = ns.s + ns.s %}{% endfor %}")
                .find("64 MiB"), std::string::npos);
  for (const char* source : {"{{ 'a' * 10**10 }}", "{{ 'a' | center(10**10) }}", "{{ 'a'.ljust(10**10) }}", "{{ 'a'.zfill(10**10) }}",
                             "{{ [0] * 10**10 }}", "{{ 'a\nb' | indent(10**10) }}", "{{ [1] | tojson(indent=10**10) }}",
                             "{{ '\\t'.expandtabs(10**10) }}", "{{ [1] | batch(10**10, 0) | list }}", "{{ [1] | slice(10**10) | list }}"}) {
    EXPECT_FALSE(render(source).ok()) << source;
  }
}

TEST(ChatTemplate, J13SharedPartsCannotMultiply) {
  const std::string doubling = "{% set ns = namespace(l=[1]) %}{% for i in range(150) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}";
  EXPECT_FALSE(render(doubling + "{{ ns.l }}").ok());
  EXPECT_FALSE(render(doubling + "{{ ns.l | tojson }}").ok());
  EXPECT_FALSE(render(doubling + "{% set other = [ns.l, 1] %}{{ [ns.l, 2] == other }}").ok());
}

TEST(ChatTemplate, J14RecursionEndsInAnError) {
  EXPECT_FALSE(render("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").ok());
  EXPECT_FALSE(render("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}").ok());
  EXPECT_FALSE(render("{% macro m() %}{{ caller() }}{% endmacro %}{% macro f() %}{% call m() %}{{ f() }}{% endcall %}{% endmacro %}{{ f() }}").ok());
  EXPECT_FALSE(render("{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}").ok());
}

TEST(ChatTemplate, J14CirclesOfNamespacesAreFreedAndDoNotPrintForever) {
  EXPECT_FALSE(render("{% set a = namespace() %}{% set a.b = a %}{{ a }}").ok());
  EXPECT_EQ(text("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}ok"), "ok");
  EXPECT_EQ(text("{% set a = namespace() %}{% macro m() %}{% endmacro %}{% set a.m = m %}ok"), "ok");
}

TEST(ChatTemplate, J15DeepTemplatesAreRefused) {
  const size_t many = 200'000;
  for (const std::string& source :
       {"{{ " + repeated("(", many), "{{ " + repeated("[", many), repeated("{% if 1 %}", many), "{{ " + repeated("not ", many) + "1 }}",
        "{{ " + repeated("-", many) + "1 }}", "{{ 1" + repeated("+1", many) + " }}", "{{ x" + repeated(".a", many) + " }}",
        "{{ x" + repeated("|e", many) + " }}", "{{ " + repeated("1 if 1 else ", many) + "1 }}",
        "{% set " + repeated("(", many), "{{ x" + repeated(" is a", many) + " }}"}) {
    EXPECT_FALSE(ChatTemplate::parse(source).ok()) << source.substr(0, 20);
  }
  EXPECT_FALSE(ChatTemplate::parse(std::string(10 << 20, 'a')).ok());
}

TEST(ChatTemplate, J16LoopsOverHugeValuesAreCapped) {
  EXPECT_FALSE(render("{% set s = range(100000) | join('" + repeated("x", 20000) + "') %}{% for c in s %}{% endfor %}").ok());
}

TEST(ChatTemplate, J17ALongConversationRenders) {
  Json messages = Json::array();
  for (int i = 0; i < 100'000; ++i) messages.push_back({{"role", "user"}, {"content", "hi"}});
  EXPECT_EQ(text("{% for m in messages %}{{ m.role[0] + m['content'] }}{% endfor %}", Json::object(), messages).size(), 300'000u);
}

TEST(ChatTemplate, J19DataAndMethodsKeepApart) {
  const Json kwargs = {{"d", {{"items", 1}, {"get", 2}, {"keys", 3}, {"__proto__", 4}}}};
  EXPECT_EQ(text("{{ d['items'] }}{{ d.items() | length }}{{ d['get'] }}{{ d.get('keys') }}{{ d['__proto__'] }}", kwargs), "14234");
}

TEST(ChatTemplate, J20LargeIntegersAreExactOrRefused) {
  EXPECT_EQ(text("{{ a + 1 }} {{ a | tojson }}", {{"a", 9007199254740993}}), "9007199254740994 9007199254740993");
  EXPECT_EQ(text("{{ 1e400 | tojson }}"), "Infinity");
  EXPECT_FALSE(render("{{ 10 ** 40 }}").ok());
  EXPECT_FALSE(render("{{ 7 ** (10 ** 30) }}").ok());
}

TEST(ChatTemplate, J21ClockFormatsAreBounded) {
  EXPECT_FALSE(render("{{ strftime_now('%Y' * 10**7) }}").ok());
  EXPECT_EQ(text("{{ strftime_now('%Q%') }}"), "%Q%");
}

TEST(ChatTemplate, J22RequestVariablesCannotBeOverridden) {
  EXPECT_FALSE(render("x", {{"messages", 1}}).ok());
  EXPECT_FALSE(render("x", {{"add_generation_prompt", true}}).ok());
}

TEST(ChatTemplate, AStoppedGeneratorCanBeReadOnce) {
  EXPECT_EQ(text("{% set g = [1, 2] | map('string') %}{{ g | join }}{{ g | join }}"), "12");
}

TEST(ChatTemplate, JumpsLeaveBlocksAndElseAsInJinja) {
  EXPECT_EQ(text("{% for i in [1, 2] %}{{ i }}{% filter upper %}a{% continue %}{% endfilter %}b{% endfor %}"), "12");
  EXPECT_EQ(text("{% for i in [1, 2] %}{{ i }}{% for j in [] %}{% else %}{% break %}{% endfor %}b{% endfor %}"), "1");
  EXPECT_EQ(text("{% for i in [1] %}{% continue %}{% else %}none came to its end{% endfor %}"), "none came to its end");
}

TEST(ChatTemplate, EqualSortKeysNeedNoOrder) {
  EXPECT_EQ(text("{{ [none, none] | sort }}"), "[None, None]");
  EXPECT_FALSE(render("{{ [none, 1] | sort }}").ok());
}

TEST(PrepareMessages, RefusesWhatIsNoListOfObjects) {
  EXPECT_FALSE(prepare_messages(Json::object()).ok());
  EXPECT_FALSE(prepare_messages({1}).ok());
}

}  // namespace
}  // namespace scratchy
