// Command lines: commands with options, flags and places, checked and explained in one shape.
//
//   --name VALUE, --name=VALUE, -n VALUE; `--` ends the options; a word that begins with `-` and is no number is an option.
//
// A command binds each option to a variable of its caller, which keeps its value when the option is not given. Mistakes are
// of the person who typed: `parse` prints them with a way to help and returns 2. Everything is declared before `parse` and
// outlives it.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scratchy {

class Option {
 public:
  Option* required();
  // Shows the variable's value in the help.
  Option* show_default();
  // Bounds of a number, included.
  Option* range(double least, double most);
  Option* at_least(double least);
  Option* one_of(std::vector<std::string> words);
  Option* existing_file();
  // One value holds several, with commas between them.
  Option* comma_separated();
  // The two are not given together.
  Option* excludes(const Option* other);
  // Heading in the help.
  Option* group(std::string heading);

  int count() const { return count_; }
  bool given() const { return count_ > 0; }
  // The spelling for messages: the long name, or that of the place.
  const std::string& name() const { return name_; }

 private:
  friend class Command;
  using Take = std::function<std::optional<std::string>(const std::string& value)>;  // what is wrong with the value

  std::string name_, help_, default_, group_;
  std::vector<std::string> names_;  // with their dashes
  bool place_ = false, flag_ = false, repeats_ = false, required_ = false, commas_ = false, file_ = false, number_ = false;
  double least_, most_;
  std::vector<std::string> words_;
  std::vector<const Option*> excluded_;
  std::function<std::string()> show_;
  Take take_;
  int count_ = 0;

  std::optional<std::string> accept(const std::string& value);
  std::optional<std::string> accept_one(const std::string& value);
};

class Command {
 public:
  Command(std::string name, std::string help) : name_(std::move(name)), help_(std::move(help)) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command* add_command(std::string name, std::string help);

  // `names` are "-o,--output"; a name without dashes makes the option a place as well. A vector takes every value given.
  Option* add_option(std::string_view names, std::string& value, std::string help);
  Option* add_option(std::string_view names, std::filesystem::path& value, std::string help);
  Option* add_option(std::string_view names, int& value, std::string help);
  Option* add_option(std::string_view names, int64_t& value, std::string help);
  Option* add_option(std::string_view names, uint64_t& value, std::string help);
  Option* add_option(std::string_view names, float& value, std::string help);
  Option* add_option(std::string_view names, double& value, std::string help);
  Option* add_option(std::string_view names, std::vector<std::string>& values, std::string help);
  Option* add_option(std::string_view names, std::vector<int>& values, std::string help);
  Option* add_flag(std::string_view names, bool& value, std::string help);

  // What the command does; its result is the exit code. A command with commands of its own needs none.
  void runs(std::function<int()> action) { action_ = std::move(action); }

  // Says that the command line is wrong; 2, the exit code for that.
  int misused(std::string_view sentence) const;

  // Parses the words after the program's name and runs what they ask for.
  int parse(int argc, const char* const* argv);

  std::string help_text() const;

 private:
  Option* add(std::string_view names, std::string help, Option::Take take);
  int parse_words(const std::vector<std::string>& words, size_t at);
  int run() const;
  Option* find(std::string_view name);
  std::string path() const;
  std::string usage() const;

  std::string name_, help_;
  const Command* parent_ = nullptr;
  std::deque<std::unique_ptr<Command>> commands_;
  std::deque<Option> options_;
  std::function<int()> action_;
};

}  // namespace scratchy
