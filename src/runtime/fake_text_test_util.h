// A tokenizer of single characters, and a source that answers what a test says.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/generate.h"

namespace scratchy {

// Ids: 0 `<s>`, 1 `<|im_start|>`, 2 `<|im_end|>` (control tokens), 3 space, 4 newline, then `a`..`z` from 5, then
// `<`, `>`, `|`, `_`, `:`.
inline std::string fake_tokenizer_json() {
  std::string vocab = R"("<s>":0,"<|im_start|>":1,"<|im_end|>":2," ":3,"\n":4)";
  int id = 5;
  for (char c = 'a'; c <= 'z'; ++c) vocab += ",\"" + std::string(1, c) + "\":" + std::to_string(id++);
  for (const char c : std::string("<>|_:")) vocab += ",\"" + std::string(1, c) + "\":" + std::to_string(id++);
  std::string added;
  for (const auto& [token, token_id] : {std::pair{"<s>", 0}, {"<|im_start|>", 1}, {"<|im_end|>", 2}}) {
    added += (added.empty() ? "" : ",") + std::string(R"({"id":)") + std::to_string(token_id) + R"(,"content":")" + token +
             R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";
  }
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)" + added + R"(],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":{"type":"Fuse"},)" +
         R"("model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"vocab":{)" + vocab +
         R"(},"merges":[]}})";
}

inline Tokenizer fake_tokenizer() {
  Result<Tokenizer> tokenizer = Tokenizer::from_json(fake_tokenizer_json());
  if (!tokenizer.ok()) ADD_FAILURE() << tokenizer.failure().message();
  return *std::move(tokenizer);
}

// Says `script` token by token after each prompt, then id 2. Notes what it was fed.
class ScriptedSource : public TokenSource {
 public:
  explicit ScriptedSource(std::vector<int32_t> script, int32_t max_context = 100) : script_(std::move(script)), context_(max_context) {}

  int32_t vocab_size() const override { return 40; }
  int32_t max_context() const override { return context_; }
  int32_t max_step() const override { return 4; }
  int32_t length() const override { return static_cast<int32_t>(held.size()); }
  bool truncate(int32_t length) override {
    if (!can_truncate && length > 0) return false;
    held.resize(static_cast<size_t>(length));
    return true;
  }
  Result<const float*> feed(std::span<const int32_t> tokens, bool wants_logits) override {
    EXPECT_LE(tokens.size(), 4U);
    if (interrupt != nullptr && fed.size() >= interrupt_after) interrupt->store(true);
    held.insert(held.end(), tokens.begin(), tokens.end());
    fed.insert(fed.end(), tokens.begin(), tokens.end());
    if (!wants_logits) return nullptr;
    logits_.assign(40, 0);
    logits_[static_cast<size_t>(next < script_.size() ? script_[next] : 2)] = 1;
    ++next;
    return logits_.data();
  }

  std::vector<int32_t> held, fed;
  size_t next = 0;
  bool can_truncate = true;
  std::atomic<bool>* interrupt = nullptr;
  size_t interrupt_after = 0;

 private:
  std::vector<int32_t> script_;
  int32_t context_;
  std::vector<float> logits_;
};

}  // namespace scratchy
