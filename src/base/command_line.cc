#include "base/command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace scratchy {
namespace {

// Columns of the help before its sentences.
constexpr size_t kHelpColumn = 30;

std::string quoted(const std::string& word) { return "`" + escape_for_message(word) + "`"; }

template <class Number>
std::optional<std::string> take_number(const std::string& text, Number& value, const char* kind) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && at == end) return std::nullopt;
  return quoted(text) + " is no " + kind + (error == std::errc::result_out_of_range ? " that fits" : "");
}

std::string number_text(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", number);
  return text;
}

bool looks_like_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.';
}

std::string padded(const std::string& left, const std::string& right) {
  std::string line = "  " + left;
  if (right.empty()) return line + "\n";
  if (line.size() + 2 > kHelpColumn) return line + "\n" + std::string(kHelpColumn, ' ') + right + "\n";
  return line + std::string(kHelpColumn - line.size(), ' ') + right + "\n";
}

}  // namespace

Option* Option::required() { return required_ = true, this; }
Option* Option::show_default() { return default_ = show_ ? show_() : "", this; }
Option* Option::range(double least, double most) { return number_ = true, least_ = least, most_ = most, this; }
Option* Option::at_least(double least) { return range(least, std::numeric_limits<double>::infinity()); }
Option* Option::one_of(std::vector<std::string> words) { return words_ = std::move(words), this; }
Option* Option::existing_file() { return file_ = true, this; }
Option* Option::comma_separated() { return commas_ = true, this; }
Option* Option::excludes(const Option* other) { return excluded_.push_back(other), this; }
Option* Option::group(std::string heading) { return group_ = std::move(heading), this; }

std::optional<std::string> Option::accept(const std::string& value) {
  if (count_ > 0 && !repeats_) return "it is given more than once";
  ++count_;
  if (!commas_) return accept_one(value);
  for (const std::string& part : split(value, ',')) {
    if (auto wrong = accept_one(part)) return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> Option::accept_one(const std::string& value) {
  if (!words_.empty() && std::find(words_.begin(), words_.end(), value) == words_.end()) return quoted(value) + " is none of " + join(words_, ", ");
  std::error_code error;
  if (file_ && !std::filesystem::is_regular_file(value, error)) return "there is no file " + quoted(value);
  if (auto wrong = take_(value)) return wrong;
  if (!number_) return std::nullopt;
  double number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  if (number >= least_ && number <= most_) return std::nullopt;
  return value + (most_ == std::numeric_limits<double>::infinity() ? " is less than " + number_text(least_) : " is not within " + number_text(least_) + " and " + number_text(most_));
}

Command* Command::add_command(std::string name, std::string help) {
  commands_.push_back(std::make_unique<Command>(std::move(name), std::move(help)));
  commands_.back()->parent_ = this;
  return commands_.back().get();
}

Option* Command::add(std::string_view names, std::string help, Option::Take take) {
  Option& option = options_.emplace_back();
  for (std::string& name : split(names, ',')) {
    if (name[0] != '-') {
      option.place_ = true;
      option.name_ = std::move(name);
      continue;
    }
    SCRATCHY_CHECK(find(name) == nullptr, "the option " + name + " is declared twice");
    option.names_.push_back(std::move(name));
  }
  for (const std::string& name : option.names_) {
    if (option.name_.empty() && name.starts_with("--")) option.name_ = name;
  }
  if (option.name_.empty()) option.name_ = option.names_.front();
  option.help_ = std::move(help);
  option.take_ = std::move(take);
  return &option;
}

Option* Command::add_option(std::string_view names, std::string& value, std::string help) {
  Option* option = add(names, std::move(help), [&value](const std::string& text) { return value = text, std::nullopt; });
  option->show_ = [&value] { return value; };
  return option;
}

Option* Command::add_option(std::string_view names, int& value, std::string help) {
  Option* option = add(names, std::move(help), [&value](const std::string& text) { return take_number(text, value, "whole number"); });
  option->show_ = [&value] { return std::to_string(value); };
  return option;
}

Option* Command::add_option(std::string_view names, std::filesystem::path& value, std::string help) {
  Option* option = add(names, std::move(help), [&value](const std::string& text) { return value = text, std::nullopt; });
  option->show_ = [&value] { return value.string(); };
  return option;
}

Option* Command::add_option(std::string_view names, int64_t& value, std::string help) {
  return add(names, std::move(help), [&value](const std::string& text) { return take_number(text, value, "whole number"); });
}

Option* Command::add_option(std::string_view names, uint64_t& value, std::string help) {
  return add(names, std::move(help), [&value](const std::string& text) { return take_number(text, value, "whole number from 0 on"); });
}

Option* Command::add_option(std::string_view names, float& value, std::string help) {
  return add(names, std::move(help), [&value](const std::string& text) { return take_number(text, value, "number"); });
}

Option* Command::add_option(std::string_view names, double& value, std::string help) {
  Option* option = add(names, std::move(help), [&value](const std::string& text) { return take_number(text, value, "number"); });
  option->show_ = [&value] { return number_text(value); };
  return option;
}

Option* Command::add_option(std::string_view names, std::vector<std::string>& values, std::string help) {
  Option* option = add(names, std::move(help), [&values](const std::string& text) { return values.push_back(text), std::nullopt; });
  option->repeats_ = true;
  return option;
}

// What is given replaces the defaults.
Option* Command::add_option(std::string_view names, std::vector<int>& values, std::string help) {
  auto fresh = std::make_shared<bool>(true);
  Option* option = add(names, std::move(help), [&values, fresh](const std::string& text) {
    if (std::exchange(*fresh, false)) values.clear();
    return take_number(text, values.emplace_back(), "whole number");
  });
  option->repeats_ = true;
  return option;
}

Option* Command::add_flag(std::string_view names, bool& value, std::string help) {
  Option* option = add(names, std::move(help), [&value](const std::string&) { return value = true, std::nullopt; });
  option->flag_ = true;
  option->repeats_ = true;
  return option;
}

Option* Command::find(std::string_view name) {
  for (Option& option : options_) {
    if (std::find(option.names_.begin(), option.names_.end(), name) != option.names_.end()) return &option;
  }
  return nullptr;
}

std::string Command::path() const { return parent_ == nullptr ? name_ : parent_->path() + " " + name_; }

int Command::misused(std::string_view sentence) const {
  std::fprintf(stderr, "error: %.*s\n`%s --help` shows how it is used\n", static_cast<int>(sentence.size()), sentence.data(), path().c_str());
  return 2;
}

int Command::parse(int argc, const char* const* argv) { return parse_words({argv + std::min(argc, 1), argv + argc}, 0); }

int Command::parse_words(const std::vector<std::string>& words, size_t at) {
  bool only_places = false;
  for (; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (!only_places && word == "--") {
      only_places = true;
      continue;
    }
    if (!only_places && (word == "--help" || word == "-h")) {
      std::fputs(help_text().c_str(), stdout);
      return 0;
    }
    Option* option = nullptr;
    std::optional<std::string> value;
    if (!only_places && looks_like_option(word)) {
      const size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
      option = find(word.substr(0, equals));
      if (option != nullptr && equals != std::string::npos) value = word.substr(equals + 1);
      if (option == nullptr && word.size() > 2 && word[1] != '-' && (option = find(word.substr(0, 2))) != nullptr) value = word.substr(2);
      if (option == nullptr) {
        std::vector<std::string> known = {"--help"};
        for (const Option& other : options_) known.insert(known.end(), other.names_.begin(), other.names_.end());
        const auto nearest = nearest_name(word.substr(0, equals), known);
        return misused("there is no option " + quoted(word) + (nearest ? "; did you mean `" + *nearest + "`?" : ""));
      }
      if (option->flag_ && value) return misused("`" + option->name_ + "` takes no value");
      if (!option->flag_ && !value) {
        if (at + 1 == words.size()) return misused("`" + option->name_ + "` needs a value");
        value = words[++at];
      }
    } else {
      const auto command = std::find_if(commands_.begin(), commands_.end(), [&](const auto& c) { return c->name_ == word; });
      if (command != commands_.end()) return (*command)->parse_words(words, at + 1);
      const auto place = std::find_if(options_.begin(), options_.end(), [](const Option& o) { return o.place_ && (o.count_ == 0 || o.repeats_); });
      if (place == options_.end()) {
        std::vector<std::string> known;
        for (const auto& other : commands_) known.push_back(other->name_);
        const auto nearest = nearest_name(word, known);
        if (known.empty()) return misused(quoted(word) + " is one word too many; put what belongs together in quotes");
        return misused(quoted(word) + " is none of the commands " + join(known, ", ") + (nearest ? "; did you mean `" + *nearest + "`?" : ""));
      }
      option = &*place;
      value = word;
    }
    if (const auto wrong = option->accept(value.value_or(""))) return misused("`" + option->name_ + "`: " + *wrong);
  }
  return run();
}

int Command::run() const {
  for (const Option& option : options_) {
    if (option.required_ && !option.given()) return misused("`" + option.name_ + "` is missing: " + option.help_);
    for (const Option* other : option.excluded_) {
      if (option.given() && other->given()) return misused("`" + option.name_ + "` and `" + other->name_ + "` exclude each other");
    }
  }
  if (action_) return action_();
  std::vector<std::string> known;
  for (const auto& command : commands_) known.push_back(command->name_);
  return misused("a command is missing; there are " + join(known, ", "));
}

std::string Command::usage() const {
  std::string text = "usage: " + path();
  if (!commands_.empty()) text += " COMMAND";
  if (std::any_of(options_.begin(), options_.end(), [](const Option& o) { return !o.names_.empty(); })) text += " [OPTIONS]";
  for (const Option& option : options_) {
    if (!option.place_) continue;
    const std::string place = option.name_ + (option.repeats_ ? "..." : "");
    text += option.required_ ? " " + place : " [" + place + "]";
  }
  return text + "\n";
}

std::string Command::help_text() const {
  std::string text = usage() + "\n" + help_ + "\n";
  if (!commands_.empty()) text += "\ncommands:\n";
  for (const auto& command : commands_) text += padded(command->name_, command->help_);
  std::vector<std::string> groups = {""};
  for (const Option& option : options_) {
    if (std::find(groups.begin(), groups.end(), option.group_) == groups.end()) groups.push_back(option.group_);
  }
  for (const std::string& group : groups) {
    text += "\n" + (group.empty() ? std::string("options") : group) + ":\n";
    for (const Option& option : options_) {
      if (option.group_ != group) continue;
      std::vector<std::string> names = option.names_;
      if (option.place_) names.insert(names.begin(), option.name_);
      std::string left = join(names, ", ");
      if (!option.names_.empty() && !option.flag_) left += " ...";
      std::string right = option.help_;
      if (!option.words_.empty()) right += ": " + join(option.words_, ", ");
      if (!option.default_.empty()) right += " [" + option.default_ + "]";
      if (option.required_) right += " (required)";
      text += padded(left, right);
    }
    if (group.empty()) text += padded("-h, --help", "this text");
  }
  return text;
}

}  // namespace scratchy
