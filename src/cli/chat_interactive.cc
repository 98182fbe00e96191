// The chat with a person: lines in, answers out, commands that begin with a slash.

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "cli/chat.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "runtime/weight_store.h"

namespace scratchy::cli {
namespace {

constexpr const char* kHelp =
    "/reset          forget the conversation\n"
    "/system TEXT    set the system message and begin anew; without TEXT: none\n"
    "/save FILE      write the conversation as JSON\n"
    "/quit           leave (or Ctrl-D)\n"
    "/help           this list\n"
    "Ctrl-C stops an answer.\n";

std::filesystem::path history_file() {
  const std::filesystem::path folder = user_cache_dir();
  if (folder.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return folder / "chat_history";
}

enum class Next { kContinue, kLeave };

Next run_command(const std::string& line, Conversation& conversation) {
  const size_t space = line.find(' ');
  const std::string name = line.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : line.substr(line.find_first_not_of(' ', space) == std::string::npos ? line.size() : line.find_first_not_of(' ', space));
  if (name == "/quit" || name == "/exit") return Next::kLeave;
  if (name == "/help") {
    std::fputs(kHelp, stdout);
  } else if (name == "/reset") {
    conversation.reset();
  } else if (name == "/system") {
    conversation.set_system(rest);
  } else if (name == "/save") {
    const std::string text = conversation.messages().dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    const Status saved = rest.empty() ? Status(Failure("/save needs the name of a file")) : write_file_atomically(rest, text);
    if (!saved.ok()) fail(saved.failure());
  } else {
    std::printf("no command %s; /help lists them\n", name.c_str());
  }
  return Next::kContinue;
}

void answer_line(const std::string& line, Conversation& conversation, const GenerateOptions& options) {
  const Result<Answer> answer = conversation.ask(line, options, write_piece);
  interrupted().store(false);
  if (!answer.ok()) {
    fail(answer.failure());
    return;
  }
  std::printf("\n");
  std::fflush(stdout);
  report_speed(*answer, answer->prompt_seconds);
}

}  // namespace

int chat_with_person(Conversation& conversation, const GenerateOptions& options) {
  interrupted().store(false);
  LineEditor editor(history_file());
  std::string line;
  for (int interrupts = 0;;) {
    switch (editor.read("> ", line)) {
      case LineEditor::Outcome::kEnd: std::printf("\n"); return 0;
      case LineEditor::Outcome::kInterrupted:
        if (++interrupts > 1) return 130;
        std::printf("Ctrl-C again, Ctrl-D or /quit leaves\n");
        continue;
      case LineEditor::Outcome::kLine: break;
    }
    interrupts = 0;
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    if (line[0] != '/') {
      answer_line(line, conversation, options);
    } else if (run_command(line, conversation) == Next::kLeave) {
      return 0;
    }
  }
}

}  // namespace scratchy::cli
