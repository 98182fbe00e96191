#include "runtime/conversation.h"

#include <algorithm>

#include "base/file.h"

namespace scratchy {
namespace {

using Ordered = nlohmann::ordered_json;

// Deeper messages are left to the template's own limit.
constexpr int kMaxMarkDepth = 64;

// `text` with `mark` before each place where a control token is spelled; true when there was one.
bool mark_controls(std::string& text, const std::vector<std::string>& spellings, const std::string& mark) {
  std::vector<size_t> places;
  for (const std::string& spelling : spellings) {
    for (size_t at = text.find(spelling); at != std::string::npos; at = text.find(spelling, at + 1)) places.push_back(at);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  if (places.empty()) return false;
  std::string marked;
  marked.reserve(text.size() + places.size() * mark.size());
  size_t done = 0;
  for (const size_t place : places) {
    marked.append(text, done, place - done).append(mark);
    done = place;
  }
  text = marked.append(text, done);
  return true;
}

bool mark_all(Ordered& value, const std::vector<std::string>& spellings, const std::string& mark, int depth) {
  if (value.is_string()) return mark_controls(value.get_ref<std::string&>(), spellings, mark);
  bool any = false;
  if (!value.is_structured() || depth >= kMaxMarkDepth) return any;
  for (Ordered& item : value) any = mark_all(item, spellings, mark, depth + 1) || any;
  return any;
}

// A private-use character of U+E000 to U+F8FF, as UTF-8, that `text` does not have; a Failure when it has all 6,400.
Result<std::string> unused_mark(std::string_view text) {
  std::vector<bool> used(0x1900);
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    const uint32_t code = (byte(i) & 0x0F) << 12 | (byte(i + 1) & 0x3F) << 6 | (byte(i + 2) & 0x3F);
    if (byte(i) >> 4 == 0xE && code >= 0xE000 && code <= 0xF8FF) used[code - 0xE000] = true;
  }
  const auto free = static_cast<uint32_t>(std::find(used.begin(), used.end(), false) - used.begin());
  if (free == used.size()) return Failure("the messages use every private-use character from U+E000 to U+F8FF; one of them must be free");
  const uint32_t code = 0xE000 + free;
  return std::string{static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)), static_cast<char>(0x80 | (code & 0x3F))};
}

// Segments of a rendered text without its marks: the character after each is untrusted.
std::vector<TextSegment> segments_of(std::string_view text, std::string_view mark) {
  std::vector<TextSegment> segments;
  size_t at = 0;
  for (size_t found = text.find(mark); found != std::string_view::npos; found = text.find(mark, at)) {
    segments.push_back({text.substr(at, found - at), true});
    at = found + mark.size();
    size_t end = std::min(at + 1, text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    if (text.substr(at).starts_with(mark)) continue;  // a mark directly after a mark: the first marks nothing
    segments.push_back({text.substr(at, end - at), false});
    at = end;
  }
  segments.push_back({text.substr(at), true});
  return segments;
}

// The beginning-of-text token once: added when the tokenizer adds one and the template did not.
void add_beginning(const Tokenizer& tokenizer, std::vector<int32_t>& ids) {
  const Result<std::vector<int32_t>> around = tokenizer.encode("", true);
  if (!around.ok() || around->empty() || (!ids.empty() && ids[0] == (*around)[0])) return;
  const Result<std::vector<int32_t>> one = tokenizer.encode("a", true);
  if (one.ok() && !one->empty() && (*one)[0] == (*around)[0]) ids.insert(ids.begin(), (*around)[0]);
}

}  // namespace

std::vector<std::string> control_spellings(const Tokenizer& tokenizer) {
  std::vector<std::string> spellings;
  for (int32_t id = 0; id < static_cast<int32_t>(tokenizer.vocab_size()); ++id) {
    const std::string_view text = tokenizer.token_text(id);
    const bool looks = text.size() > 4 && text.starts_with("<|") && text.ends_with("|>");
    if (!text.empty() && (looks || tokenizer.is_special(id))) spellings.emplace_back(text);
  }
  return spellings;
}

Result<TextModel> load_text_model(const TextSource& source, bool wants_template, const std::string& template_file) {
  TRY(Tokenizer tokenizer, source.tokenizer());
  TRY(Ordered special, source.special_tokens());
  TRY(std::vector<int32_t> end_ids, source.end_ids(tokenizer));
  std::vector<std::string> controls = control_spellings(tokenizer);
  TextModel text{std::move(tokenizer), std::nullopt, std::move(special), std::move(end_ids), std::move(controls)};
  if (!wants_template) return text;
  std::string words;
  if (template_file.empty()) {
    TRY(words, source.template_text());
  } else {
    TRY(words, read_file(template_file, kMaxTemplateBytes));
  }
  Result<ChatTemplate> parsed = ChatTemplate::parse(words);
  if (!parsed.ok()) return std::move(parsed).failure().in("chat template");
  text.chat_template = *std::move(parsed);
  return text;
}

Result<std::vector<int32_t>> encode_raw_prompt(const TextModel& text, std::string_view prompt) { return text.tokenizer.encode(prompt, true); }

Result<std::vector<int32_t>> encode_messages(const TextModel& text, const Ordered& messages) {
  RenderInput input;
  TRY(input.messages, prepare_messages(messages));
  input.add_generation_prompt = true;
  input.kwargs = text.special_tokens;
  TRY(const std::string mark, unused_mark(messages.dump(-1, ' ', false, Ordered::error_handler_t::replace)));
  const bool marked = mark_all(input.messages, text.controls, mark, 0);
  Result<std::string> rendered = text.chat_template->render(input);
  if (!rendered.ok()) return std::move(rendered).failure().in("chat template");
  std::vector<TextSegment> segments = {{*rendered, true}};
  if (marked) segments = segments_of(*rendered, mark);
  TRY(std::vector<int32_t> ids, text.tokenizer.encode_segments(segments, false));
  add_beginning(text.tokenizer, ids);
  return ids;
}

Ordered Conversation::messages() const {
  Ordered all = Ordered::array();
  if (!system_.empty()) all.push_back({{"role", "system"}, {"content", system_}});
  for (const Ordered& message : messages_) all.push_back(message);
  return all;
}

Result<Answer> Conversation::ask(const std::string& user, const GenerateOptions& options, const std::function<void(std::string_view)>& take) {
  Ordered all = messages();
  const Ordered turn = {{"role", "user"}, {"content", user}};
  all.push_back(turn);
  TRY(const std::vector<int32_t> prompt, encode_messages(text_, all));
  TRY(Answer answer, generate(source_, history_, prompt, text_.tokenizer, sampler_, options, take));
  messages_.push_back(turn);
  messages_.push_back({{"role", "assistant"}, {"content", answer.text}});
  return answer;
}

}  // namespace scratchy
