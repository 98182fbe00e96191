#include "compiler/toolchain.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "compiler/object_store.h"

extern char** environ;

namespace scratchy {
namespace {

// One running tool, its output going to a file.
struct Job {
  std::vector<std::string> arguments;
  std::filesystem::path log;
};

Result<pid_t> start(const Job& job) {
  std::vector<char*> argv;
  for (const std::string& argument : job.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, job.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Failure("start `" + job.arguments[0] + "`: " + std::strerror(error));
  return pid;
}

Failure tool_failure(const Job& job) {
  const Result<std::string> log = read_file(job.log, 1 << 20);
  return Failure("`" + join(job.arguments, " ") + "` failed:\n" + (log.ok() ? log->substr(0, 8000) : ""));
}

// Runs all jobs, at most `width` at a time; waits for those running when one fails.
Status run_all(const std::vector<Job>& jobs, size_t width) {
  std::map<pid_t, size_t> running;
  size_t next = 0;
  std::optional<Failure> failed;
  while (next < jobs.size() || !running.empty()) {
    if (!failed && next < jobs.size() && running.size() < width) {
      Result<pid_t> pid = start(jobs[next]);
      if (pid.ok()) {
        running[*pid] = next++;
        continue;
      }
      failed = std::move(pid).failure();
    }
    if (running.empty()) break;
    int status = 0;
    const pid_t done = ::waitpid(-1, &status, 0);
    const auto job = running.find(done);
    if (job == running.end()) continue;
    if ((!WIFEXITED(status) || WEXITSTATUS(status) != 0) && !failed) failed = tool_failure(jobs[job->second]);
    running.erase(job);
  }
  if (failed) return std::move(*failed);
  return Done{};
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string& word : split(text, ' ')) {
    if (!word.empty()) out.push_back(word);
  }
  return out;
}

// What the compiler says of itself.
Result<std::string> version_of(const ToolchainInput& input) {
  const std::filesystem::path log = input.work_dir / "compiler.log";
  TRY_STATUS(run_all({{{input.compiler.string(), "--version"}, log}}, 1));
  return read_file(log, 1 << 20);
}

// Flags of every source, before its own.
std::vector<std::string> compile_flags(const ToolchainInput& input) {
  std::vector<std::string> flags = {"-std=c++20", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-ffunction-sections", "-fdata-sections"};
  for (std::string& flag : words(input.profile_flags)) flags.push_back(std::move(flag));
  return flags;
}

Status rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return Done{};
  return Failure("rename to `" + to.string() + "`: " + std::strerror(errno));
}

}  // namespace

Status build_binary(const ToolchainInput& input) {
  TRY_STATUS(check_replaceable(input.output));
  std::error_code error;
  std::filesystem::create_directories(input.work_dir, error);
  if (input.output.has_parent_path()) std::filesystem::create_directories(input.output.parent_path(), error);
  TRY(const std::string version, version_of(input));
  TRY(const ObjectStore store, ObjectStore::open(input.object_dir, input.include_dir, version));
  const std::vector<std::string> flags = compile_flags(input);
  std::vector<Job> compiles;
  std::vector<std::pair<std::filesystem::path, std::filesystem::path>> made;  // objects: written here, kept there
  Job link{{input.compiler.string(), "-o", input.output.string() + ".new", "-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections", "-s", "-pthread"}, input.work_dir / "link.log"};
  for (const cpu::EmittedFile& file : input.files) {
    const std::filesystem::path source = input.work_dir / file.name;
    const std::filesystem::path object = store.place_of(flags, file.text);
    TRY_STATUS(write_file_atomically(source, file.text));
    link.arguments.push_back(object.string());
    if (std::filesystem::exists(object, error)) continue;
    const std::filesystem::path fresh = object.string() + "." + std::to_string(::getpid()) + ".new";
    Job job{{input.compiler.string()}, input.work_dir / (file.name + ".log")};
    job.arguments.insert(job.arguments.end(), flags.begin(), flags.end());
    for (const std::string& word : {"-I" + input.include_dir.string(), std::string("-c"), source.string(), std::string("-o"), fresh.string()}) job.arguments.push_back(word);
    compiles.push_back(std::move(job));
    made.emplace_back(fresh, object);
  }
  const Status compiled = run_all(compiles, std::max(1u, std::thread::hardware_concurrency()));
  for (const auto& [fresh, object] : made) {
    if (compiled.ok()) TRY_STATUS(rename_file(fresh, object));
    else std::filesystem::remove(fresh, error);
  }
  TRY_STATUS(compiled);
  TRY(const std::string libraries, read_file(input.link_list, 1 << 20));
  for (const std::string& library : split(libraries, '\n')) {
    if (!library.empty()) link.arguments.push_back(library);
  }
  TRY_STATUS(run_all({link}, 1));
  return rename_file(input.output.string() + ".new", input.output);
}

}  // namespace scratchy
