// scr chat: answers one question, the turns of one conversation, or a person at a terminal.

#include "cli/chat.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/json_lines.h"
#include "cli/open_model.h"
#include "base/text.h"
#include "runtime/generate_model.h"

namespace scratchy::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ChatArguments {
  std::string checkpoint, question, system, template_file;
  std::vector<std::string> prompts, stops;
  int max_tokens = 0, threads = 0, max_context = 0;
  SamplingOptions sampling;
  bool raw = false, json = false;
};

// Which flags were given: the others come from the checkpoint.
struct Given {
  Option *question, *temperature, *top_k, *top_p, *min_p, *penalty, *seed;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// The checkpoint's way of sampling with the flags over it. Flags that only mean something when sampling turn it on where
// the checkpoint says nothing.
SamplingOptions sampling_of(const ChatArguments& arguments, const Given& given, const GenerationDefaults& defaults) {
  SamplingOptions options = defaults.sampling;
  if (given.top_k->count() > 0) options.top_k = arguments.sampling.top_k;
  if (given.top_p->count() > 0) options.top_p = arguments.sampling.top_p;
  if (given.min_p->count() > 0) options.min_p = arguments.sampling.min_p;
  if (given.penalty->count() > 0) options.repetition_penalty = arguments.sampling.repetition_penalty;
  const size_t sampling_flags = given.top_k->count() + given.top_p->count() + given.min_p->count() + given.seed->count();
  if (!defaults.stated && sampling_flags > 0) options.temperature = 1;
  if (given.temperature->count() > 0) options.temperature = arguments.sampling.temperature;
  options.seed = given.seed->count() > 0 ? arguments.sampling.seed : std::random_device()();
  return options;
}

Json timings(const Answer& answer, double first_token_seconds) {
  const double fed = answer.prompt_tokens - answer.cached_tokens;
  const double gaps = static_cast<double>(answer.ids.size()) - 1;
  return {{"time_to_first_token_s", first_token_seconds},
          {"prompt_s", answer.prompt_seconds},
          {"answer_s", answer.answer_seconds},
          {"prompt_tokens_per_s", answer.prompt_seconds > 0 ? Json(fed / answer.prompt_seconds) : Json()},
          {"answer_tokens_per_s", gaps > 0 && answer.answer_seconds > 0 ? Json(gaps / answer.answer_seconds) : Json()}};
}

Json to_json(const Answer& answer, double first_token_seconds) {
  return {{"text", answer.text},
          {"ids", answer.ids},
          {"finish_reason", finish_reason_name(answer.finish)},
          {"stop", answer.stop.empty() ? Json() : Json(answer.stop)},
          {"prompt_tokens", answer.prompt_tokens},
          {"cached_tokens", answer.cached_tokens},
          {"timings", timings(answer, first_token_seconds)}};
}

// Answers the turns one after the other. `begin`: when the command began, which the first token's time is counted from.
Result<int> answer_turns(const ChatArguments& arguments, Clock::time_point begin, const std::vector<std::string>& turns, const std::function<Result<Answer>(const std::string&, const std::function<void(std::string_view)>&)>& ask) {
  Json all = Json::array();
  for (const std::string& turn : turns) {
    double first_token = 0;
    const bool is_first = all.empty();
    TRY(const Answer answer, ask(turn, [&](std::string_view piece) {
      if (is_first && first_token == 0) first_token = seconds_since(begin);
      if (!arguments.json) write_piece(piece);
    }));
    if (first_token == 0) first_token = answer.prompt_seconds;
    if (!arguments.json) {
      std::printf("\n");
      std::fflush(stdout);
      report_speed(answer, first_token);
    }
    all.push_back(to_json(answer, first_token));
    if (answer.finish == FinishReason::kInterrupted) break;
  }
  if (arguments.json) {
    Json out = all.back();
    if (all.size() > 1) out["turns"] = all;
    std::printf("%s\n", to_text(out).c_str());
  }
  return all.back()["finish_reason"] == finish_reason_name(FinishReason::kInterrupted) ? 130 : 0;
}

// The turns the command line or standard input give; none: ask a person.
Result<std::vector<std::string>> turns_of(const ChatArguments& arguments, const Given& given) {
  if (given.question->count() > 0) return std::vector<std::string>{arguments.question};
  if (!arguments.prompts.empty() || ::isatty(0) != 0) return arguments.prompts;
  TRY(std::string text, read_standard_input(uint64_t{1} << 26));
  if (!arguments.raw) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  }
  if (text.empty()) return Failure("standard input is empty; give a question there or with -q");
  return std::vector<std::string>{std::move(text)};
}

Result<int> chat(const ChatArguments& arguments, const Given& given) {
  const Clock::time_point begin = Clock::now();
  TRY_STATUS(check_programs());
  TRY(const std::vector<std::string> turns, turns_of(arguments, given));
  for (const std::string& turn : turns) {
    if (!is_utf8(turn)) return Failure("the question is not UTF-8");
  }
  if (turns.empty() && (arguments.json || arguments.raw)) return Failure(std::string(arguments.json ? "--json" : "--raw") + " needs a question: -q, -p or standard input");
  if (turns.size() > 1 && arguments.raw) return Failure("--raw has no turns: give one prompt");
  if (arguments.raw && !arguments.system.empty()) return Failure("--raw uses no template, so --system has no place");
  TRY(OpenedModel opened, open_model(arguments.checkpoint, {arguments.threads, arguments.max_context, !arguments.raw, arguments.template_file}));
  for (const std::string& name : opened.defaults.unused) std::fprintf(stderr, "note: generation_config.json: `%s` is not supported and has no effect\n", name.c_str());
  const SamplingOptions sampling = sampling_of(arguments, given, opened.defaults);
  TRY_STATUS(check_sampling(sampling));
  ModelSequence source(*opened.model);
  Sampler sampler(source.vocab_size(), sampling);
  GenerateOptions options;
  options.max_tokens = arguments.max_tokens;
  options.stops = arguments.stops;
  options.end_ids = opened.text.end_ids;
  options.interrupted = &interrupted();
  if (arguments.raw) {
    std::vector<int32_t> history;
    return answer_turns(arguments, begin, turns, [&](const std::string& turn, const auto& take) -> Result<Answer> {
      TRY(const std::vector<int32_t> prompt, encode_raw_prompt(opened.text, turn));
      return generate(source, history, prompt, opened.text.tokenizer, sampler, options, take);
    });
  }
  Conversation conversation(opened.text, source, sampler);
  conversation.set_system(arguments.system);
  if (turns.empty()) return chat_with_person(conversation, options);
  return answer_turns(arguments, begin, turns, [&](const std::string& turn, const auto& take) { return conversation.ask(turn, options, take); });
}

void add_sampling_options(Command& command, ChatArguments& arguments, Given& given) {
  SamplingOptions& sampling = arguments.sampling;
  const char* group = "sampling (defaults: the checkpoint's, else greedy)";
  given.temperature = command.add_option("--temperature", sampling.temperature, "0: the most likely token always")->range(0.0, 100.0)->group(group);
  given.top_k = command.add_option("--top-k", sampling.top_k, "among the K most likely tokens; 0: all")->at_least(0)->group(group);
  given.top_p = command.add_option("--top-p", sampling.top_p, "among the likeliest tokens that make up this share")->range(0.0, 1.0)->group(group);
  given.min_p = command.add_option("--min-p", sampling.min_p, "among tokens at least this likely, relative to the best")->range(0.0, 1.0)->group(group);
  given.penalty = command.add_option("--repetition-penalty", sampling.repetition_penalty, "above 1: against tokens seen before")->range(0.01, 100.0)->group(group);
  given.seed = command.add_option("--seed", sampling.seed, "same seed, same answer")->group(group);
}

}  // namespace

void write_piece(std::string_view piece) {
  static const bool is_terminal = ::isatty(1) != 0;
  std::string clean;
  if (is_terminal) {
    for (const char c : piece) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x20 ? byte != 0x7F : (c == '\n' || c == '\t')) clean += c;
    }
    piece = clean;
  }
  std::fwrite(piece.data(), 1, piece.size(), stdout);
  std::fflush(stdout);
}

void report_speed(const Answer& answer, double first_token_seconds) {
  const int32_t fed = answer.prompt_tokens - answer.cached_tokens;
  const double gaps = static_cast<double>(answer.ids.size()) - 1;
  const double prompt_speed = answer.prompt_seconds > 0 ? fed / answer.prompt_seconds : 0;
  const double answer_speed = gaps > 0 && answer.answer_seconds > 0 ? gaps / answer.answer_seconds : 0;
  std::fprintf(stderr, "[prompt %d tokens (%d kept), %.1f tokens/s; first token after %.0f ms; answer %zu tokens, %.1f tokens/s]\n", answer.prompt_tokens, answer.cached_tokens, prompt_speed,
               first_token_seconds * 1e3, answer.ids.size(), answer_speed);
}

void add_chat(Command& app) {
  auto arguments = std::make_shared<ChatArguments>();
  auto given = std::make_shared<Given>();
  Command* command = app.add_command("chat", "answer questions");
  auto* checkpoint = command->add_option("checkpoint,-m,--model", arguments->checkpoint, "GGUF file or Hugging Face folder");
  given->question = command->add_option("-q,--quick", arguments->question, "one question; answer and leave");
  auto* prompts = command->add_option("-p,--prompt", arguments->prompts, "a turn of one conversation; may be given more than once");
  prompts->excludes(given->question);
  command->add_option("--system,--system-prompt", arguments->system, "system message");
  command->add_option("--max-tokens", arguments->max_tokens, "tokens of an answer; default: the rest of the context")->at_least(1);
  command->add_option("--stop", arguments->stops, "text that ends an answer; may be given more than once");
  command->add_flag("--raw", arguments->raw, "continue the text as it is, without a chat template");
  command->add_flag("--json", arguments->json, "print one JSON object: text, ids, finish_reason, timings");
  command->add_option("--chat-template", arguments->template_file, "file of the chat template to use")->existing_file();
  command->add_option("--max-context,--max-model-len", arguments->max_context, "positions to reserve; default: what the model was compiled for")->at_least(1);
  command->add_option("--threads", arguments->threads, "threads; default: one a physical core")->range(1, 1024);
  add_sampling_options(*command, *arguments, *given);
  command->runs([arguments, given, checkpoint, command] {
    if (!checkpoint->given()) return command->misused("a checkpoint is missing: the path of a GGUF file or of a Hugging Face folder");
    const Result<int> done = chat(*arguments, *given);
    return done.ok() ? *done : fail(done.failure());
  });
}

}  // namespace scratchy::cli
