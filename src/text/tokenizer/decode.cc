#include "text/tokenizer/decode.h"

#include "base/text.h"
#include "text/tokenizer/unicode.h"

namespace scratchy {
namespace {

// The spaces that WordPiece puts before English punctuation and contractions go.
void clean_up(std::string& text) {
  static constexpr std::string_view kRules[][2] = {{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"},
                                                   {" n't", "n't"}, {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"},
                                                   {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& rule : kRules) replace_all(text, rule[0], rule[1]);
}

// `token` without up to `start` and `stop` times `mark` at its ends.
std::string_view stripped(std::string_view token, std::string_view mark, size_t start, size_t stop) {
  for (size_t i = 0; i < start && token.starts_with(mark); ++i) token.remove_prefix(mark.size());
  for (size_t i = 0; i < stop && token.ends_with(mark); ++i) token.remove_suffix(mark.size());
  return token;
}

}  // namespace

int byte_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  const int high = digit(token[3]), low = digit(token[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::string out;
  size_t at = 0, found = 0;
  while ((found = text.find(from, at)) != text.npos) {
    out.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  out.append(text, at);
  text = std::move(out);
}

DecodeRun::DecodeRun(std::span<const DecoderStage> stages) : stages_(stages), states_(stages.size()) {
  bool fused = false;
  for (size_t i = 0; i < stages.size(); ++i) {
    states_[i].fused = fused;
    fused = fused || stages[i].kind == DecoderKind::kFuse || stages[i].kind == DecoderKind::kByteLevel;
  }
}

Status DecodeRun::push(std::string_view token, std::string& out) {
  out_ = &out;
  return feed(0, token);
}

Status DecodeRun::finish(std::string& out) {
  out_ = &out;
  for (size_t stage = 0; stage < stages_.size(); ++stage) TRY_STATUS(close(stage));
  return Done{};
}

// Whether a stage behind a Fuse needs the whole text before it can say anything.
bool DecodeRun::waits_for_all(size_t stage) const {
  if (!states_[stage].fused) return false;
  const DecoderStage& spec = stages_[stage];
  switch (spec.kind) {
    case DecoderKind::kFuse:
    case DecoderKind::kStrip:
    case DecoderKind::kJoinWithSpaces: return false;
    case DecoderKind::kReplace: return spec.pattern.regex != nullptr || spec.pattern.text.size() != char_length(spec.pattern.text[0]);
    case DecoderKind::kByteLevel:
    case DecoderKind::kByteFallback:
    case DecoderKind::kMetaspace:
    case DecoderKind::kWordPiece:
    case DecoderKind::kBpe: return true;
  }
  SCRATCHY_UNREACHABLE("decoder kind");
}

Status DecodeRun::feed(size_t stage, std::string_view token) {
  if (stage == stages_.size()) {
    out_->append(token);
    return Done{};
  }
  State& state = states_[stage];
  if (waits_for_all(stage)) {
    state.held.append(token);
    return Done{};
  }
  const size_t index = state.tokens++;
  switch (stages_[stage].kind) {
    case DecoderKind::kByteLevel:
      byte_level::append_bytes(state.held, token);
      return emit_settled_bytes(stage, false);
    case DecoderKind::kByteFallback:
      if (const int byte = byte_token(token); byte >= 0) {
        state.held.push_back(static_cast<char>(byte));
        return Done{};
      }
      TRY_STATUS(close_bytes(stage));
      return feed(stage + 1, token);
    case DecoderKind::kBpe: {
      const std::string before = std::move(state.held);
      state.held = token;
      return index == 0 ? Status(Done{}) : whole(stage, before, index - 1, false);
    }
    case DecoderKind::kStrip:
      if (state.fused) return strip_stream(stage, token);
      return whole(stage, token, index, false);
    case DecoderKind::kFuse:
    case DecoderKind::kReplace:
    case DecoderKind::kMetaspace:
    case DecoderKind::kWordPiece:
    case DecoderKind::kJoinWithSpaces: return whole(stage, token, index, false);
  }
  SCRATCHY_UNREACHABLE("decoder kind");
}

// Handles a token that is there as a whole, the `index`th of its stage.
Status DecodeRun::whole(size_t stage, std::string_view token, size_t index, bool last) {
  const DecoderStage& spec = stages_[stage];
  switch (spec.kind) {
    case DecoderKind::kFuse: return feed(stage + 1, token);
    case DecoderKind::kReplace: return replace(stage, token);
    case DecoderKind::kStrip: return feed(stage + 1, stripped(token, spec.content, spec.start, spec.stop));
    case DecoderKind::kMetaspace: {
      std::string text(token);
      replace_all(text, spec.content, index == 0 && spec.flag ? "" : " ");
      return feed(stage + 1, text);
    }
    case DecoderKind::kWordPiece: {
      std::string text(token);
      if (index > 0 && text.starts_with(spec.content)) text.erase(0, spec.content.size());
      else if (index > 0) text.insert(0, " ");
      if (spec.flag) clean_up(text);
      return feed(stage + 1, text);
    }
    case DecoderKind::kBpe: {
      std::string text(token);
      if (!spec.content.empty()) replace_all(text, spec.content, last ? "" : " ");
      return feed(stage + 1, text);
    }
    case DecoderKind::kJoinWithSpaces:
      if (index > 0) TRY_STATUS(feed(stage + 1, " "));
      return feed(stage + 1, token);
    case DecoderKind::kByteLevel: {
      byte_level::append_bytes(states_[stage].held, token);
      return emit_settled_bytes(stage, true);
    }
    case DecoderKind::kByteFallback:
      if (const int byte = byte_token(token); byte >= 0) {
        states_[stage].held.assign(1, static_cast<char>(byte));
        return close_bytes(stage);
      }
      return feed(stage + 1, token);
  }
  SCRATCHY_UNREACHABLE("decoder kind");
}

Status DecodeRun::close(size_t stage) {
  State& state = states_[stage];
  if (waits_for_all(stage)) {
    const std::string text = std::move(state.held);
    state.held.clear();
    return whole(stage, text, 0, true);
  }
  switch (stages_[stage].kind) {
    case DecoderKind::kByteLevel: return emit_settled_bytes(stage, true);
    case DecoderKind::kByteFallback: return close_bytes(stage);
    case DecoderKind::kBpe: {
      if (state.tokens == 0) return Done{};
      const std::string text = std::move(state.held);
      return whole(stage, text, state.tokens - 1, true);
    }
    case DecoderKind::kStrip:
      if (!state.fused) return Done{};
      return feed(stage + 1, stripped(state.held, stages_[stage].content, 0, stages_[stage].stop));
    case DecoderKind::kFuse:
    case DecoderKind::kReplace:
    case DecoderKind::kMetaspace:
    case DecoderKind::kWordPiece:
    case DecoderKind::kJoinWithSpaces: return Done{};
  }
  SCRATCHY_UNREACHABLE("decoder kind");
}

// Ends a run of byte tokens: text when the run is UTF-8, else one U+FFFD a byte.
Status DecodeRun::close_bytes(size_t stage) {
  State& state = states_[stage];
  if (state.held.empty()) return Done{};
  const std::string run = std::move(state.held);
  state.held.clear();
  if (is_utf8(run)) return feed(stage + 1, run);
  for (size_t i = 0; i < run.size(); ++i) TRY_STATUS(feed(stage + 1, kReplacementCharacter));
  return Done{};
}

// Passes on the characters that `held` begins with, each broken part as one U+FFFD; an open end stays unless `final`.
Status DecodeRun::emit_settled_bytes(size_t stage, bool final) {
  std::string& held = states_[stage].held;
  std::string text;
  size_t at = 0, clean = 0;
  while (at < held.size()) {
    const Utf8Step step = utf8_step(std::string_view(held).substr(at));
    if (step.kind == Utf8Step::kOpen && !final) break;
    if (step.kind != Utf8Step::kWhole) {
      text.append(held, clean, at - clean).append(kReplacementCharacter);
      clean = at + step.length;
    }
    at += step.length;
  }
  text.append(held, clean, at - clean);
  held.erase(0, at);
  return text.empty() ? Status(Done{}) : feed(stage + 1, text);
}

Status DecodeRun::replace(size_t stage, std::string_view token) {
  const DecoderStage& spec = stages_[stage];
  TRY_STATUS(spec.pattern.find_all(token, regex_, matches_));
  if (matches_.empty()) return feed(stage + 1, token);
  std::string text;
  size_t from = 0;
  for (const TextRange& match : matches_) {
    text.append(token.substr(from, match.begin - from)).append(spec.content);
    from = match.end;
  }
  text.append(token.substr(from));
  return feed(stage + 1, text);
}

// Strip over one text that comes in pieces: takes marks off its start, and holds back the last `stop` marks.
Status DecodeRun::strip_stream(size_t stage, std::string_view token) {
  const DecoderStage& spec = stages_[stage];
  State& state = states_[stage];
  while (state.stripped < spec.start && token.starts_with(spec.content)) {
    token.remove_prefix(spec.content.size());
    ++state.stripped;
  }
  if (token.empty()) return Done{};
  state.stripped = SIZE_MAX;
  if (spec.stop == 0) return feed(stage + 1, token);
  state.held.append(token);
  const std::string_view settled = stripped(state.held, spec.content, 0, spec.stop);
  const std::string now(settled);
  state.held.erase(0, now.size());
  return now.empty() ? Status(Done{}) : feed(stage + 1, now);
}

}  // namespace scratchy
