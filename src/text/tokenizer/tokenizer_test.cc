// Hostile files and texts (the numbers are those of the security cases), trust, streaming, and the parts' own rules.
#include "text/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/file.h"
#include "base/text.h"
#include "testing/goldens.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/normalize.h"
#include "text/tokenizer/regex.h"

namespace scratchy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<int32_t>;

// A small tokenizer.json; each part can be replaced.
struct File {
  std::string vocab = R"({"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "<unk>": 5, "<bos>": 6})";
  std::string merges = R"([["a", "b"], ["ab", "c"]])";
  std::string model_extra = R"(, "unk_token": "<unk>")";
  std::string added = R"([{"id": 6, "content": "<bos>", "special": true}])";
  std::string normalizer = "null", pre_tokenizer = R"({"type": "WhitespaceSplit"})", post_processor = "null", decoder = "null";
  std::string version = "1.0";

  std::string text() const {
    return R"({"version": ")" + version + R"(", "added_tokens": )" + added + R"(, "normalizer": )" + normalizer +
           R"(, "pre_tokenizer": )" + pre_tokenizer + R"(, "post_processor": )" + post_processor + R"(, "decoder": )" + decoder +
           R"(, "model": {"type": "BPE")" + model_extra + R"(, "vocab": )" + vocab + R"(, "merges": )" + merges + "}}";
  }
  Result<Tokenizer> load() const { return Tokenizer::from_json(text()); }
  Tokenizer good() const {
    auto tokenizer = load();
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.failure().message();
    return std::move(tokenizer).value();
  }
  std::string refusal() const {
    const auto tokenizer = load();
    return tokenizer.ok() ? "loads" : tokenizer.failure().message();
  }
};

std::string sequence(int depth, const std::string& list) {
  std::string text = R"({"type": "NFC"})";
  for (int i = 0; i < depth; ++i) text = R"({"type": "Sequence", ")" + list + R"(": [)" + text + "]}";
  return text;
}

std::string repeat(std::string_view unit, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += unit;
  return out;
}

TEST(TokenizerFile, T01RefusesOtherVersionsAndMissingModels) {
  EXPECT_THAT(File{.version = "2.0"}.refusal(), HasSubstr("version: is `2.0`"));
  EXPECT_THAT(Tokenizer::from_json("{}").failure().message(), HasSubstr("model: is null"));
  const std::string whole = File{}.text();
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(Tokenizer::from_json(whole.substr(0, size)).ok()) << size;
}

TEST(TokenizerFile, T02T03T04RefusesIdsThatAreNoneTakenOrFarAway) {
  for (const char* id : {"-1", "4294967296", "1.5", "\"2\"", "null", "99999999999999999999", "01"})
    EXPECT_THAT(File{.vocab = std::string(R"({"a": 0, "c": )") + id + "}"}.refusal(), HasSubstr("model.vocab")) << id;
  EXPECT_THAT(File{.vocab = R"({"a": 0, "b": 0})"}.refusal(), HasSubstr("tokens `a` and `b` both have id 0"));
  EXPECT_THAT(File{.vocab = R"({"a": 0, "b": 4000000000})"}.refusal(), HasSubstr("ids must lie close together"));
  EXPECT_THAT(File{.vocab = R"({"a": 0, "a": 1})"}.refusal(), HasSubstr("appears twice"));
}

TEST(TokenizerFile, T06T07T08MergesNameTokensAndTheLastRankCounts) {
  EXPECT_THAT(File{.merges = R"([["a", "z"]])"}.refusal(), HasSubstr("`z` is no token"));
  EXPECT_THAT(File{.merges = R"(["a b c"])"}.refusal(), HasSubstr("must be two tokens"));
  EXPECT_THAT(File{.merges = R"([["b", "c"]])"}.refusal(), HasSubstr("its result `bc` is no token"));
  EXPECT_EQ(File{.merges = R"(["a b", "ab c"])"}.good().encode("abc", false).value(), Ids({4}));
  const std::string vocab = R"({"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "<unk>": 5, "<bos>": 6})";
  EXPECT_EQ((File{.vocab = vocab, .merges = R"(["a b", "b c"])"}.good().encode("abc", false).value()), Ids({3, 2}));
  EXPECT_EQ((File{.vocab = vocab, .merges = R"(["a b", "b c", "a b"])"}.good().encode("abc", false).value()), Ids({0, 4}));
}

TEST(TokenizerFile, T09T10RefusesUnknownAndDeeplyNestedComponentsWithTheirPath) {
  EXPECT_THAT((File{.pre_tokenizer = R"({"type": "Sequence", "pretokenizers": [{"type": "Digits"}, {"type": "Guess"}]})"}.refusal()),
              HasSubstr("pre_tokenizer.pretokenizers[1].type: is `Guess`"));
  EXPECT_THAT(File{.normalizer = sequence(1000, "normalizers")}.refusal(), HasSubstr("deeper"));
  EXPECT_THAT(File{.normalizer = sequence(30, "normalizers")}.refusal(), HasSubstr("deeper"));
  EXPECT_EQ(File{.normalizer = sequence(10, "normalizers")}.good().encode("abc", false).value(), Ids({4}));
}

TEST(TokenizerFile, T12ByteFallbackNeedsAllBytesAndBadSpellingsArePlainText) {
  EXPECT_THAT(File{.model_extra = R"(, "byte_fallback": true)"}.refusal(), HasSubstr("`<0x00>` is missing"));
  const std::string vocab = R"({"<0xZZ>": 0, "<0x-1>": 1, "<0x100>": 2, "<0x1F600>": 3, "<0x+F>": 4})";
  const File file{.vocab = vocab, .merges = "[]", .model_extra = "", .added = "[]", .decoder = R"({"type": "ByteFallback"})"};
  EXPECT_EQ(file.good().decode(Ids({0, 1, 2, 3, 4}), false).value(), "<0xZZ><0x-1><0x100><0x1F600><0x+F>");
}

TEST(TokenizerFile, T15T16RefusesAddedTokensThatAreEmptyOrOutOfPlace) {
  EXPECT_THAT(File{.added = R"([{"id": 7, "content": ""}])"}.refusal(), HasSubstr("empty"));
  EXPECT_THAT(File{.added = R"([{"id": 7, "content": "a"}])"}.refusal(), HasSubstr("`a` has id 0 in the vocabulary"));
  EXPECT_THAT((File{.added = R"([{"id": 7, "content": "x"}, {"id": 7, "content": "y"}])"}.refusal()), HasSubstr("both have id 7"));
  EXPECT_THAT(File{.added = R"([{"id": 90000, "content": "x"}])"}.refusal(), HasSubstr("far behind"));
}

TEST(TokenizerFile, T21RefusesTemplatesOfUnknownTokensAndIds) {
  const auto processor = [](const char* ids) {
    return std::string(R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}, {"Sequence": {"id": "A"}}],)"
                       R"( "special_tokens": {)") + ids + "}}";
  };
  EXPECT_THAT(File{.post_processor = processor("")}.refusal(), HasSubstr("special_tokens does not define"));
  EXPECT_THAT(File{.post_processor = processor(R"("x": {"ids": [99]})")}.refusal(), HasSubstr("the id of no token"));
  EXPECT_THAT(File{.post_processor = processor(R"("x": {"ids": [-1]})")}.refusal(), HasSubstr("the id of no token"));
  EXPECT_EQ(File{.post_processor = processor(R"("x": {"ids": [6]})")}.good().encode("abc", true).value(), Ids({6, 4}));
}

TEST(TokenizerFile, T26T27RefusesOtherModelsByName) {
  for (const char* type : {"Unigram", "WordPiece", "WordLevel"})
    EXPECT_THAT(Tokenizer::from_json(std::string(R"({"model": {"type": ")") + type + R"(", "vocab": {}, "merges": []}})").failure().message(),
                HasSubstr(std::string("is `") + type + "`, only BPE"));
}

TEST(TokenizerText, T13SlowPatternsEndInAFailure) {
  const File file{.pre_tokenizer = R"({"type": "Split", "pattern": {"Regex": "(a+)+c"}, "behavior": "Isolated"})"};
  const Tokenizer tokenizer = file.good();
  EXPECT_EQ(tokenizer.encode("abc", false).value(), Ids({4}));
  EXPECT_THAT(tokenizer.encode(repeat("a", 50'000) + "bac", false).failure().message(), HasSubstr("backtracks too much"));
}

TEST(TokenizerText, T14LongWordsMergeInBoundedTime) {
  EXPECT_EQ(File{}.good().encode(repeat("abc", 400'000), false).value(), Ids(400'000, 4));
  EXPECT_EQ(File{}.good().encode(repeat("a", 1 << 20), false).value(), Ids(1 << 20, 0));
}

TEST(TokenizerText, T17ManyAddedTokensThatArePrefixesMatchTheLongest) {
  std::string added;
  for (int i = 1; i <= 2000; ++i)
    added += (i > 1 ? "," : "") + std::string(R"({"id": )") + std::to_string(6 + i) + R"(, "content": ")" + repeat("x", i) + "\"}";
  const Tokenizer tokenizer = File{.added = "[" + added + "]"}.good();
  EXPECT_EQ(tokenizer.encode(repeat("x", 5000), false).value(), Ids({2006, 2006, 1006}));
  // Each x starts a match attempt that fails 2,000 characters on; the matcher must not walk them again.
  EXPECT_EQ(tokenizer.encode(repeat(repeat("x", 1999) + "a", 500), false)->size(), 1000u);
}

TEST(TokenizerText, T18TruncationAndPaddingHaveNoEffect) {
  std::string text = File{}.text();
  text.insert(1, R"("truncation": {"max_length": 1}, "padding": {"length": 9},)");
  EXPECT_EQ(Tokenizer::from_json(text).value().encode("a b c", false).value(), Ids({0, 1, 2}));
}

TEST(TokenizerText, T19RefusesTextThatIsNotUtf8) {
  for (const char* text : {"\xFF", "a\xC3", "\xED\xA0\x80", "\xC0\x80", "\xF5\x80\x80\x80"})
    EXPECT_THAT(File{}.good().encode(text, false).failure().message(), HasSubstr("UTF-8"));
}

TEST(TokenizerText, T20EveryCharacterRoundTripsThroughBytes) {
  for (const char* family : {"gpt2", "llama-3", "deepseek-v3", "gpt-oss", "smollm2"}) {
    const auto folder = testing::golden(std::string("tokenizers/") + family);
    if (!folder) GTEST_SKIP() << "no golden data";
    const Tokenizer tokenizer = Tokenizer::from_json(read_file(*folder / "tokenizer.json").value()).value();
    std::string text;
    for (char32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 37) {
      if (c >= 0xD800 && c < 0xE000) continue;
      text += c < 0x80 ? std::string(1, static_cast<char>(c)) : std::string();
      if (c >= 0x80 && c < 0x800) (text += static_cast<char>(0xC0 | c >> 6)) += static_cast<char>(0x80 | (c & 63));
      if (c >= 0x800 && c < 0x10000)
        ((text += static_cast<char>(0xE0 | c >> 12)) += static_cast<char>(0x80 | (c >> 6 & 63))) += static_cast<char>(0x80 | (c & 63));
    }
    const Ids ids = tokenizer.encode(text, false).value();
    EXPECT_EQ(tokenizer.decode(ids, false).value(), text) << family;
    StreamDecoder stream(tokenizer, false);
    std::string streamed;
    for (const int32_t id : ids) streamed += stream.push(id);
    EXPECT_EQ(streamed + stream.finish(), text) << family;
  }
}

TEST(TokenizerText, T23UntrustedTextNeverBecomesControlTokens) {
  const auto folder = testing::golden("tokenizers/smollm2");
  if (!folder) GTEST_SKIP() << "no golden data";
  const Tokenizer tokenizer = Tokenizer::from_json(read_file(*folder / "tokenizer.json").value()).value();
  const int32_t end = tokenizer.id_of("<|im_end|>").value();
  EXPECT_EQ(tokenizer.encode("<|im_end|>", false).value(), Ids({end}));
  const Ids plain = tokenizer.encode_plain("<|im_end|>").value();
  EXPECT_THAT(plain, ::testing::Not(::testing::Contains(end)));
  EXPECT_EQ(tokenizer.decode(plain, true).value(), "<|im_end|>");

  // The template's own tokens count, the user's do not, also not where the two meet.
  const auto count_ends = [&](std::vector<TextSegment> segments) {
    const Ids ids = tokenizer.encode_segments(segments, false).value();
    return std::count(ids.begin(), ids.end(), end);
  };
  EXPECT_EQ(count_ends({{"<|im_start|>user\n", true}, {"hi<|im_end|>there", false}, {"<|im_end|>\n", true}}), 1);
  EXPECT_EQ(count_ends({{"<|im_", true}, {"end|>", false}}), 0);
  EXPECT_EQ(count_ends({{"x<|im_end", false}, {"|><|im_end|>", true}}), 1);
  EXPECT_EQ(count_ends({{"<|im_start|><|im_", false}, {"<|im_end|>", true}}), 1);
}

TEST(TokenizerText, T24IdsOutsideTheVocabularyAreRefusedAndOpenCharactersHeldBack) {
  const auto folder = testing::golden("tokenizers/smollm2");
  if (!folder) GTEST_SKIP() << "no golden data";
  const Tokenizer tokenizer = Tokenizer::from_json(read_file(*folder / "tokenizer.json").value()).value();
  for (const int32_t id : {-1, INT32_MIN, INT32_MAX, static_cast<int32_t>(tokenizer.vocab_size())}) {
    EXPECT_THAT(tokenizer.decode(Ids({id}), false).failure().message(), HasSubstr("is no token"));
    EXPECT_EQ(tokenizer.token_text(id), "");
    EXPECT_EQ(StreamDecoder(tokenizer).push(id), "");
  }
  const Ids face = tokenizer.encode("\u2603", false).value();
  ASSERT_GT(face.size(), 1u);
  StreamDecoder stream(tokenizer);
  for (size_t i = 0; i + 1 < face.size(); ++i) EXPECT_EQ(stream.push(face[i]), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
}

TEST(TokenizerGguf, G25G26G27G28RefusesListsThatDisagreeAndIdsOutside) {
  const GgufVocabulary good{.model = "gpt2", .pre = "gpt-2", .tokens = {"a", "b", "ab"}, .token_types = {1, 1, 3}, .merges = {"a b"}};
  EXPECT_EQ(Tokenizer::from_gguf(good)->encode_plain("ab").value(), Ids({2}));
  const auto refusal = [&](auto change) {
    GgufVocabulary broken = good;
    change(broken);
    const auto tokenizer = Tokenizer::from_gguf(broken);
    return tokenizer.ok() ? std::string("loads") : tokenizer.failure().message();
  };
  EXPECT_THAT(refusal([](auto& v) { v.token_types.pop_back(); }), HasSubstr("2 types for 3 tokens"));
  EXPECT_THAT(refusal([](auto& v) { v.scores = {1}; }), HasSubstr("1 scores for 3 tokens"));
  EXPECT_THAT(refusal([](auto& v) { v.scores = {1, NAN, 1}; }), HasSubstr("not finite"));
  EXPECT_THAT(refusal([](auto& v) { v.bos_id = 3; }), HasSubstr("outside the vocabulary"));
  EXPECT_THAT(refusal([](auto& v) { v.eos_id = -2; }), HasSubstr("outside the vocabulary"));
  EXPECT_THAT(refusal([](auto& v) { v.merges = {"a z"}; }), HasSubstr("is no token"));
  EXPECT_THAT(refusal([](auto& v) { v.merges = {""}; }), HasSubstr("two tokens"));
  EXPECT_THAT(refusal([](auto& v) { v.tokens[1] = "\xFF"; }), HasSubstr("not valid UTF-8"));
  EXPECT_THAT(refusal([](auto& v) { v.tokens[1] = "a"; }), HasSubstr("appears twice"));
  EXPECT_THAT(refusal([](auto& v) { v.pre = "smolm"; }), HasSubstr("did you mean `smollm`"));
  EXPECT_THAT(refusal([](auto& v) { v.model = "t5"; }), HasSubstr("must be gpt2 or llama"));
  EXPECT_THAT(refusal([](auto& v) { v.model = "llama"; }), HasSubstr("tokenizer.ggml.scores: missing"));
}

TEST(Regex, T11RefusesWhatItCannotCarryOver) {
  for (const char* pattern : {"(a", "*a", "(a)\\1", "\\h", "(?<n>a)", "(*UTF)a", "[a&&b]", "[a[^b]]", "a{1,2}+", "(?R)", "\\", "[a", "\\p{Nope}"})
    EXPECT_FALSE(Regex::compile(pattern).ok()) << pattern;
  EXPECT_FALSE(Regex::compile(repeat("a", 1 << 20)).ok());
  EXPECT_FALSE(Regex::compile(repeat("(", 10'000) + repeat(")", 10'000)).ok());
}

TEST(Regex, FindsWhatTheReferenceFinds) {
  RegexScratch scratch;
  std::vector<TextRange> found;
  const auto find = [&](const char* pattern, std::string_view text) {
    EXPECT_TRUE(Regex::compile(pattern).value().find_all(text, scratch, found).ok());
    std::vector<std::string> out;
    for (const TextRange& range : found) out.emplace_back(text.substr(range.begin, range.end - range.begin));
    return out;
  };
  EXPECT_THAT(find("\\s", " \u180E\u0085\u3000"), ElementsAre(" ", "\u0085", "\u3000"));
  EXPECT_THAT(find("[^(\\s|[.,])]+", "a.b (c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(find("(?i:'s)", "'S'\u017F's"), ElementsAre("'S", "'\u017F", "'s"));
  EXPECT_THAT(find("b*", "abb"), ElementsAre("", "bb"));
  EXPECT_THAT(find("x", repeat("\u00E9", 200) + "x"), ElementsAre("x"));
}

TEST(Normalize, MarksInAnyOrderAreSortedInBoundedTime) {
  std::string text = "a" + repeat("\u0301", 200'000) + repeat("\u0323", 200'000);
  ASSERT_TRUE(normalize_unicode(UnicodeForm::kNfd, text).ok());
  EXPECT_EQ(text, "a" + repeat("\u0323", 200'000) + repeat("\u0301", 200'000));
  std::string composed = "e\u0301\uAC00 \u1100\u1161\u11A8\u212B";
  ASSERT_TRUE(normalize_unicode(UnicodeForm::kNfc, composed).ok());
  EXPECT_EQ(composed, "\u00E9\uAC00 \uAC01\u00C5");
  std::string base = "\u1100\u1161\u11A7\u11A8";
  ASSERT_TRUE(normalize_unicode(UnicodeForm::kNfc, base).ok());
  EXPECT_EQ(base, "\uAC00\u11A7\u11A8");
}

TEST(Normalize, GrowthIsBounded) {
  const File file{.normalizer = R"({"type": "Replace", "pattern": {"String": "a"}, "content": ")" + repeat("a", 1000) + "\"}"};
  EXPECT_THAT(file.good().encode(repeat("a", 100'000), false).failure().message(), HasSubstr("too long"));
}

// The longest match at the leftmost place, by trying every token at every place.
std::vector<std::pair<size_t, size_t>> naive_cut(const std::vector<std::string>& tokens, const std::string& text) {
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t at = 0; at < text.size();) {
    size_t longest = 0;
    for (const std::string& token : tokens)
      if (text.compare(at, token.size(), token) == 0) longest = std::max(longest, token.size());
    if (longest > 0) out.emplace_back(at, at + longest);
    at += std::max<size_t>(longest, 1);
  }
  return out;
}

TEST(AddedTokens, EqualTheNaiveSearchOnRandomTokens) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts(1 + random() % 6);
    std::vector<AddedToken> tokens;
    for (std::string& text : texts) {
      for (size_t i = 1 + random() % 5; i > 0; --i) text += static_cast<char>('a' + random() % 2);
      tokens.push_back({.id = static_cast<int32_t>(tokens.size()), .content = text});
    }
    std::string text;
    for (size_t i = random() % 40; i > 0; --i) text += static_cast<char>('a' + random() % 3);
    AddedTokens::Scratch scratch;
    std::vector<AddedTokens::Part> parts;
    AddedTokens(tokens, std::vector<std::string>(tokens.size())).cut(text, false, {}, scratch, parts);
    std::vector<std::pair<size_t, size_t>> found;
    for (const auto& part : parts)
      if (part.id >= 0) found.emplace_back(part.begin, part.end);
    EXPECT_EQ(found, naive_cut(texts, text)) << "seed 7, round " << round << ": " << text;
  }
}

}  // namespace
}  // namespace scratchy
