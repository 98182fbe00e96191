// Lines from a person at a terminal: editing and history where libedit was there at build time, plain lines otherwise.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace scratchy::cli {

class LineEditor {
 public:
  // Reads and keeps history in `history_file`; empty: none is kept.
  explicit LineEditor(std::filesystem::path history_file);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class Outcome { kLine, kEnd, kInterrupted };
  // One line without its end, after showing `prompt`.
  Outcome read(const std::string& prompt, std::string& line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scratchy::cli
