// Any words as a command line, one a line of the input: every one is taken or refused with exit code 2.
#include "base/command_line.h"

#include <cstdio>
#include <cstdlib>

#include "base/text.h"

// Mistakes are printed; the fuzzer's own output is kept.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  stdout = stderr = std::fopen("/dev/null", "w");
  return stderr == nullptr ? 1 : 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace scratchy;
  std::string text, place;
  std::vector<std::string> texts;
  std::vector<int> numbers;
  int number = 3;
  uint64_t seed = 0;
  double real = 0.5;
  bool flag = false;
  Command program("prog", "a program");
  Command* command = program.add_command("run", "runs");
  command->add_option("place,-m,--model", place, "a place");
  const Option* plain = command->add_option("-t,--text", text, "a text")->one_of({"f32", "f16"});
  command->add_option("-p,--prompt", texts, "texts");
  command->add_option("--numbers", numbers, "numbers")->comma_separated()->at_least(0);
  const Option* bounded = command->add_option("-n,--number", number, "a number")->range(1, 9)->excludes(plain);
  command->add_option("--seed", seed, "a seed");
  command->add_option("--real", real, "a number")->range(0, 1)->show_default();
  command->add_flag("-f,--flag", flag, "a flag");
  command->runs([&] {
    const bool sound = number >= 1 && number <= 9 && real >= 0 && real <= 1 && !(plain->given() && bounded->given());
    if (!sound) std::abort();
    return 7;
  });
  const std::vector<std::string> words = split({reinterpret_cast<const char*>(data), size}, '\n');
  std::vector<const char*> argv = {"prog"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  const int code = program.parse(static_cast<int>(argv.size()), argv.data());
  if (code != 0 && code != 2 && code != 7) std::abort();
  return 0;
}
