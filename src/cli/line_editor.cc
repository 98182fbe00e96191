#include "cli/line_editor.h"

#include <cstdio>
#include <iostream>

#include "cli/interrupt.h"

#ifdef SCRATCHY_LIBEDIT
#include <histedit.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cwchar>
#endif

namespace scratchy::cli {

#ifdef SCRATCHY_LIBEDIT

// Lines of history kept between chats.
constexpr int kHistoryLines = 1000;

struct LineEditor::State {
  EditLine* edit = nullptr;
  History* history = nullptr;
  HistEvent event{};
  std::string file, prompt;
};

namespace {

// libedit asks for the prompt with the data set by EL_CLIENTDATA: the prompt's text.
char* prompt_of(EditLine* edit) {
  void* text = nullptr;
  el_get(edit, EL_CLIENTDATA, &text);
  return static_cast<std::string*>(text)->data();
}

// One character from the terminal: 1, 0 at the end, -1 on Ctrl-C (libedit's own reader goes on after a signal).
int read_character(EditLine*, wchar_t* character) {
  std::mbstate_t state{};
  for (;;) {
    char byte = 0;
    const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    if (got < 0 && errno == EINTR && !interrupted().load()) continue;
    if (got <= 0) return static_cast<int>(got);
    const size_t used = std::mbrtowc(character, &byte, 1, &state);
    if (used == static_cast<size_t>(-1)) state = {};
    if (used <= 1) return 1;
  }
}

}  // namespace

LineEditor::LineEditor(std::filesystem::path history_file) : state_(std::make_unique<State>()) {
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  State& state = *state_;
  state.edit = el_init("scr", stdin, stdout, stderr);
  state.history = history_init();
  if (state.edit == nullptr || state.history == nullptr) return;
  state.file = history_file.string();
  history(state.history, &state.event, H_SETSIZE, kHistoryLines);
  history(state.history, &state.event, H_SETUNIQUE, 1);
  if (!state.file.empty()) history(state.history, &state.event, H_LOAD, state.file.c_str());
  el_set(state.edit, EL_CLIENTDATA, &state.prompt);
  el_set(state.edit, EL_PROMPT, prompt_of);
  el_set(state.edit, EL_EDITOR, "emacs");
  el_set(state.edit, EL_SIGNAL, 0);
  el_set(state.edit, EL_GETCFN, read_character);
  el_set(state.edit, EL_HIST, history, state.history);
}

LineEditor::~LineEditor() {
  State& state = *state_;
  if (state.history != nullptr) {
    if (!state.file.empty()) history(state.history, &state.event, H_SAVE, state.file.c_str());
    history_end(state.history);
  }
  if (state.edit != nullptr) el_end(state.edit);
}

LineEditor::Outcome LineEditor::read(const std::string& prompt, std::string& line) {
  State& state = *state_;
  if (state.edit == nullptr || state.history == nullptr) return Outcome::kEnd;
  state.prompt = prompt;
  int count = 0;
  const char* text = el_gets(state.edit, &count);
  if (interrupted().exchange(false)) {
    std::printf("\n");
    el_reset(state.edit);
    return Outcome::kInterrupted;
  }
  if (text == nullptr || count <= 0) return Outcome::kEnd;
  line.assign(text, static_cast<size_t>(count));
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  if (!line.empty()) history(state.history, &state.event, H_ENTER, line.c_str());
  return Outcome::kLine;
}

#else

struct LineEditor::State {};
LineEditor::LineEditor(std::filesystem::path) {}
LineEditor::~LineEditor() = default;

LineEditor::Outcome LineEditor::read(const std::string& prompt, std::string& line) {
  std::printf("%s", prompt.c_str());
  std::fflush(stdout);
  std::cin.clear();
  if (std::getline(std::cin, line)) return Outcome::kLine;
  return interrupted().exchange(false) ? Outcome::kInterrupted : Outcome::kEnd;
}

#endif

}  // namespace scratchy::cli
