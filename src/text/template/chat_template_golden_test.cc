// Every golden template case: text equal byte for byte, refusals refused, raise_exception's message word for word.
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "base/file.h"
#include "testing/goldens.h"
#include "text/template/chat_template.h"

namespace scratchy {
namespace {

using Json = nlohmann::ordered_json;

// The clock of the goldens: Saturday 2026-03-07 09:05:03.
std::tm golden_clock() {
  std::tm clock{};
  clock.tm_year = 126, clock.tm_mon = 2, clock.tm_mday = 7, clock.tm_hour = 9, clock.tm_min = 5, clock.tm_sec = 3;
  clock.tm_wday = 6, clock.tm_yday = 65;
  return clock;
}

std::vector<Json> read_rows(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<Json> rows;
  for (std::string line; std::getline(in, line);) rows.push_back(Json::parse(line));
  return rows;
}

Result<std::string> render_case(const std::string& source, const Json& row) {
  TRY(const ChatTemplate chat_template, ChatTemplate::parse(source));
  RenderInput input;
  input.messages = row.value("messages", Json::array());
  input.tools = row.value("tools", Json());
  input.add_generation_prompt = row.value("add_generation_prompt", false);
  input.kwargs = row.value("kwargs", Json::object());
  input.clock = golden_clock();
  return chat_template.render(input);
}

// Nothing when the case holds, else what is wrong with it.
std::string check_case(const std::string& source, const Json& row) {
  const Result<std::string> got = render_case(source, row);
  if (row.contains("expected")) {
    if (!got.ok()) return "failed: " + got.failure().message();
    const std::string expected = row["expected"];
    return got.value() == expected ? "" : "got " + Json(*got).dump() + " expected " + Json(expected).dump();
  }
  if (got.ok()) return "rendered " + Json(*got).dump() + ", should fail: " + row["error"].get<std::string>();
  const std::string message = got.failure().message(), type = row["error_type"];
  if (type == "TemplateError" && message != row["error"].get<std::string>()) return "says: " + message;
  const bool has_line = row.contains("line") && type != "SyntaxError";
  if (has_line && !message.starts_with("line " + std::to_string(row["line"].get<int>()) + ":")) return "line: " + message;
  return "";
}

TEST(ChatTemplateGoldens, EveryCaseIsAsTransformersRendersIt) {
  const auto root = testing::golden("templates");
  if (!root) GTEST_SKIP() << "no golden templates beside this checkout";
  size_t passed = 0, total = 0;
  for (const auto& folder : std::filesystem::directory_iterator(*root)) {
    if (!folder.is_directory()) continue;
    const auto path = folder.path() / "template.jinja";
    const std::string shared = std::filesystem::exists(path) ? *read_file(path) : "";
    for (const Json& row : read_rows(folder.path() / "cases.jsonl")) {
      const std::string source = row.value("template", shared);
      const std::string wrong = check_case(source, row);
      ++total;
      passed += wrong.empty() ? 1 : 0;
      EXPECT_EQ(wrong, "") << folder.path().filename() << " " << (shared.empty() ? source : row.dump().substr(0, 300));
    }
  }
  std::printf("golden template cases: %zu of %zu\n", passed, total);
  EXPECT_GT(total, 1000u);
}

TEST(ChatTemplateGoldens, MessagesArePreparedAsTransformersDoes) {
  const auto path = testing::golden("templates/messages.jsonl");
  if (!path) GTEST_SKIP() << "no golden templates beside this checkout";
  for (const Json& row : read_rows(*path)) {
    const auto prepared = prepare_messages(row["messages"]);
    ASSERT_TRUE(prepared.ok()) << prepared.failure().message();
    EXPECT_EQ(prepared->dump(), row["seen"].dump());
  }
}

}  // namespace
}  // namespace scratchy
