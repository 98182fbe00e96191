#include "bench/startup.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.h"
#include "bench/measure.h"
#include "runtime/weight_pack.h"

namespace scratchy {
namespace {

Failure system_failure(const std::string& what) { return Failure(what + ": " + std::strerror(errno)); }

// `count` short words, each about one token of any vocabulary.
std::string prompt_of(int count) {
  constexpr const char* kWords[] = {"the", "time", "of", "day", "in", "a", "city", "by"};
  std::string text;
  for (int i = 0; i < count; ++i) text += std::string(i > 0 ? " " : "") + kWords[i % 8];
  return text;
}

struct Start {
  double first_byte_s = 0;
  size_t rss_bytes = 0;
};

// One child that answers with one token.
Result<Start> start_once(const StartupOptions& options, const std::string& prompt) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return system_failure("open a pipe");
  const std::string threads = std::to_string(options.threads);
  std::vector<const char*> arguments = {"scr", "chat", options.checkpoint.c_str(), "--raw", "-q", prompt.c_str(), "--max-tokens", "1", "--temperature", "0"};
  if (options.threads > 0) arguments.insert(arguments.end(), {"--threads", threads.c_str()});
  arguments.push_back(nullptr);
  const double begin = monotonic_seconds();
  const pid_t child = ::fork();
  if (child < 0) return system_failure("start a process");
  if (child == 0) {
    ::dup2(pipe_ends[1], STDOUT_FILENO);
    if (const int silent = ::open("/dev/null", O_WRONLY); silent >= 0) ::dup2(silent, STDERR_FILENO);
    ::execv("/proc/self/exe", const_cast<char* const*>(arguments.data()));
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  Start out;
  char bytes[256];
  for (ssize_t count; (count = ::read(pipe_ends[0], bytes, sizeof bytes)) != 0;) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    if (out.first_byte_s == 0) out.first_byte_s = monotonic_seconds() - begin;
  }
  ::close(pipe_ends[0]);
  int status = 0;
  rusage usage{};
  if (::wait4(child, &status, 0, &usage) < 0) return system_failure("wait for a process");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || out.first_byte_s == 0) return Failure("`scr chat` gave no answer: run it by hand to see why");
  out.rss_bytes = static_cast<size_t>(usage.ru_maxrss) * 1024;
  return out;
}

// What a start reads: this binary, the checkpoint, the pack.
std::vector<std::filesystem::path> files_of(const std::string& checkpoint, const std::filesystem::path& pack) {
  std::vector<std::filesystem::path> files = {"/proc/self/exe", pack};
  std::error_code error;
  if (!std::filesystem::is_directory(checkpoint, error)) files.emplace_back(checkpoint);
  for (const auto& entry : std::filesystem::directory_iterator(checkpoint, error)) files.push_back(entry.path());
  return files;
}

// Asks for the eviction of the files; the share of their pages that is resident afterwards.
double evict(const std::vector<std::filesystem::path>& files) {
  double pages = 0, resident = 0;
  for (const std::filesystem::path& path : files) {
    Result<InputFile> file = InputFile::open(path);
    if (!file.ok() || file->size() == 0) continue;
    ::posix_fadvise(file->descriptor(), 0, 0, POSIX_FADV_DONTNEED);
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> present((file->size() + page - 1) / page);
    void* map = ::mmap(nullptr, file->size(), PROT_READ, MAP_SHARED, file->descriptor(), 0);
    if (map == MAP_FAILED) continue;
    if (::mincore(map, file->size(), present.data()) == 0) {
      pages += static_cast<double>(present.size());
      for (const unsigned char p : present) resident += p & 1;
    }
    ::munmap(map, file->size());
  }
  return pages > 0 ? resident / pages : 1;
}

}  // namespace

Status bench_startup(const StartupOptions& options) {
  std::filesystem::path pack;
  {
    // Makes the pack; the model itself must be gone before its files can leave the page cache.
    TRY(BenchModel loaded, load_bench_model(options.checkpoint, options.threads, 1));
    pack = user_pack_dir() / (pack_key(loaded.model->program(), *loaded.checkpoint) + ".pack");
  }
  const std::string prompt = prompt_of(options.words);
  const double resident = evict(files_of(options.checkpoint, pack));
  TRY(const Start cold, start_once(options, prompt));
  std::vector<double> seconds;
  size_t rss = 0;
  for (int i = 0; i <= options.repeats; ++i) {
    TRY(const Start warm, start_once(options, prompt));
    if (i > 0) seconds.push_back(warm.first_byte_s);
    rss = std::max(rss, warm.rss_bytes);
  }
  if (options.json) {
    nlohmann::ordered_json out;
    out["prompt_words"] = options.words;
    out["warm"] = {{"first_token_s", median(seconds)}, {"fastest_s", percentile(seconds, 0)}};
    out["cold"] = {{"first_token_s", cold.first_byte_s}, {"resident_before", resident}};
    out["rss_bytes"] = rss;
    std::printf("%s\n", out.dump().c_str());
    return Done{};
  }
  std::printf("exec to first token, prompt of %d words\n  warm %.1f ms (median of %d; fastest %.1f ms)\n  cold %.1f ms, with %.1f %% of its files' pages in memory before%s\n  peak memory %.1f MB\n",
              options.words, median(seconds) * 1e3, options.repeats, percentile(seconds, 0) * 1e3, cold.first_byte_s * 1e3, resident * 100,
              resident > 0.05 ? ": they could not be evicted" : "", static_cast<double>(rss) / 1e6);
  return Done{};
}

}  // namespace scratchy
