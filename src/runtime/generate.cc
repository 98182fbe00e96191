#include "runtime/generate.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"

namespace scratchy {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Feeds what of the prompt is not held yet; the logits after its last token, null when interrupted.
Result<const float*> feed_prompt(TokenSource& source, std::vector<int32_t>& history, std::span<const int32_t> prompt, const std::atomic<bool>* interrupted) {
  const float* logits = nullptr;
  while (history.size() < prompt.size()) {
    if (interrupted != nullptr && interrupted->load()) return nullptr;
    const size_t count = std::min(prompt.size() - history.size(), static_cast<size_t>(source.max_step()));
    const auto part = prompt.subspan(history.size(), count);
    TRY(logits, source.feed(part, history.size() + count == prompt.size()));
    history.insert(history.end(), part.begin(), part.end());
  }
  return logits;
}

// Keeps what history and prompt begin with, all but the prompt's last token at most: its logits are needed.
void keep_common(TokenSource& source, std::vector<int32_t>& history, std::span<const int32_t> prompt) {
  const size_t most = std::min(history.size(), prompt.size() - 1);
  auto common = static_cast<size_t>(std::mismatch(history.begin(), history.begin() + static_cast<std::ptrdiff_t>(most), prompt.begin()).first - history.begin());
  if (common < history.size() && !source.truncate(static_cast<int32_t>(common))) {
    source.truncate(0);
    common = 0;
  }
  history.resize(common);
}

}  // namespace

const char* finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kInterrupted: return "interrupted";
  }
  return "";
}

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

bool StopMatcher::push(std::string_view piece, std::string& out) {
  if (stops_.empty()) {
    out += piece;
    return false;
  }
  held_ += piece;
  size_t first = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t at = held_.find(stop);
    if (at < first) {
      first = at;
      found_ = stop;
    }
  }
  if (first != std::string::npos) {
    out.append(held_, 0, first);
    held_.clear();
    return true;
  }
  size_t keep = 0;
  for (const std::string& stop : stops_) {
    size_t length = std::min(stop.size() - 1, held_.size());
    while (length > keep && !std::string_view(held_).ends_with(std::string_view(stop).substr(0, length))) --length;
    keep = std::max(keep, length);
  }
  out.append(held_, 0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return false;
}

void StopMatcher::finish(std::string& out) {
  out += held_;
  held_.clear();
}

Result<Answer> generate(TokenSource& source, std::vector<int32_t>& history, std::span<const int32_t> prompt, const Tokenizer& tokenizer, Sampler& sampler, const GenerateOptions& options,
                        const std::function<void(std::string_view)>& take) {
  if (prompt.empty()) return Failure("the prompt is empty: there is nothing to continue");
  const int64_t room = source.max_context() - static_cast<int64_t>(prompt.size());
  if (room < 1) {
    return Failure("a prompt of " + with_thousands(prompt.size()) + " tokens leaves no room for an answer: the context holds " + with_thousands(static_cast<uint64_t>(source.max_context())));
  }
  const Clock::time_point start = Clock::now();
  keep_common(source, history, prompt);
  Answer answer;
  answer.prompt_tokens = static_cast<int32_t>(prompt.size());
  answer.cached_tokens = static_cast<int32_t>(history.size());
  sampler.forget();
  sampler.see(prompt);
  TRY(const float* logits, feed_prompt(source, history, prompt, options.interrupted));
  const int64_t most = options.max_tokens > 0 ? std::min<int64_t>(options.max_tokens, room) : room;
  history.reserve(prompt.size() + static_cast<size_t>(most));
  answer.ids.reserve(static_cast<size_t>(most));
  StreamDecoder decoder(tokenizer, options.skip_special);
  StopMatcher stops(options.stops);
  std::string piece;
  const auto pass_on = [&] {
    if (!piece.empty()) take(piece);
    answer.text += piece;
    piece.clear();
  };
  Clock::time_point first = start;
  bool stopped = false;
  while (logits != nullptr) {
    const int32_t id = sampler.sample({logits, static_cast<size_t>(source.vocab_size())}, history.size());
    if (answer.ids.empty()) {
      first = Clock::now();
      answer.prompt_seconds = seconds_since(start);
    }
    answer.ids.push_back(id);
    sampler.see(id);
    if (std::find(options.end_ids.begin(), options.end_ids.end(), id) != options.end_ids.end()) {
      answer.finish = FinishReason::kStop;
      break;
    }
    stopped = stops.push(decoder.push(id), piece);
    pass_on();
    if (stopped) {
      answer.finish = FinishReason::kStop;
      break;
    }
    if (static_cast<int64_t>(answer.ids.size()) >= most) break;
    if (options.interrupted != nullptr && options.interrupted->load()) {
      answer.finish = FinishReason::kInterrupted;
      break;
    }
    TRY(logits, source.feed({&id, 1}, true));
    history.push_back(id);
  }
  if (logits == nullptr) answer.finish = FinishReason::kInterrupted;
  answer.answer_seconds = answer.ids.empty() ? 0 : seconds_since(first);
  if (!stopped) {
    if (stops.push(decoder.finish(), piece)) {
      stopped = true;
      answer.finish = FinishReason::kStop;
    } else {
      stops.finish(piece);
    }
    pass_on();
  }
  if (stopped) answer.stop = stops.found();
  return answer;
}

}  // namespace scratchy
