// tokenizer.json to a tokenizer: vocabulary and merges from their text, everything else from the tree.
#include <algorithm>

#include "base/text.h"
#include "text/tokenizer/read_components.h"
#include "text/tokenizer/strict_json.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_parts.h"

namespace scratchy {
namespace {

using nlohmann::json;

// Ids may leave holes, but a file must not ask for tables much larger than itself.
size_t id_limit(size_t tokens) { return 4 * tokens + 4096; }

Status read_vocabulary(const CarvedJson& file, Vocabulary& vocabulary) {
  const size_t guess = static_cast<size_t>(std::count(file.vocab.begin(), file.vocab.end(), ':'));
  vocabulary.reserve(guess, file.vocab.size());
  JsonScanner scan(file.vocab, file.vocab_offset);
  if (!scan.take('{')) return scan.unexpected("an object");
  if (!scan.take('}')) {
    do {
      TRY(const std::string_view name, scan.string());
      if (!scan.take(':')) return scan.unexpected("`:`");
      // Moving on leaves `name` as it is: only strings use the buffer.
      TRY(const uint32_t id, scan.unsigned_integer());
      if (id >= id_limit(guess))
        return Failure("token `" + escape_for_message(name) + "` has id " + std::to_string(id) + " in a vocabulary of " +
                       std::to_string(guess) + ", ids must lie close together");
      TRY_STATUS(vocabulary.add(static_cast<int32_t>(std::min<uint32_t>(id, INT32_MAX)), name));
    } while (scan.take(','));
    if (!scan.take('}')) return scan.unexpected("`,` or `}`");
  }
  if (!scan.at_end()) return scan.unexpected("the end of the vocabulary");
  if (vocabulary.count() == 0) return Failure("the vocabulary is empty");
  return Done{};
}

// Reads one merge into `left` and `right`.
Status read_merge(JsonScanner& scan, std::string& left, std::string& right) {
  if (scan.take('[')) {
    TRY(const std::string_view first, scan.string());
    left.assign(first);
    if (!scan.take(',')) return scan.unexpected("`,`");
    TRY(const std::string_view second, scan.string());
    right.assign(second);
    return scan.take(']') ? Status(Done{}) : scan.unexpected("`]` after two tokens");
  }
  TRY(const std::string_view both, scan.string());
  const size_t space = both.find(' ');
  if (space == both.npos || both.find(' ', space + 1) != both.npos)
    return Failure("merge `" + escape_for_message(both) + "` must be two tokens with a space between");
  left.assign(both.substr(0, space));
  right.assign(both.substr(space + 1));
  return Done{};
}

Status read_merges(const CarvedJson& file, const Vocabulary& vocabulary, Bpe& bpe) {
  JsonScanner scan(file.merges, file.merges_offset);
  if (!scan.take('[')) return scan.unexpected("an array");
  bpe.reserve_merges(std::min(file.merges.size() / 5, 2 * vocabulary.count()));
  std::string left, right;
  uint32_t rank = 0;
  std::optional<int32_t> product;
  if (!scan.take(']')) {
    do {
      TRY_STATUS(read_merge(scan, left, right));
      const auto left_id = vocabulary.find(left), right_id = vocabulary.find(right);
      if (left.empty() || right.empty() || !left_id || !right_id)
        return Failure("merge " + std::to_string(rank) + ": `" + escape_for_message(left_id && !left.empty() ? right : left) +
                       "` is no token");
      if (right.starts_with(bpe.options().continuing_prefix)) right.erase(0, bpe.options().continuing_prefix.size());
      left.append(right);
      // The results of a trained vocabulary's merges follow each other, so the next id is worth a look before a search.
      const int32_t next = product.value_or(-1) + 1;
      product = vocabulary.holds(next) && vocabulary.text(next) == left ? next : vocabulary.find(left);
      if (!product) return Failure("merge " + std::to_string(rank) + ": its result `" + escape_for_message(left) + "` is no token");
      bpe.add_merge(*left_id, *right_id, rank++, *product);
    } while (scan.take(','));
    if (!scan.take(']')) return scan.unexpected("`,` or `]`");
  }
  return scan.at_end() ? Status(Done{}) : scan.unexpected("the end of the merges");
}

Result<BpeOptions> read_model_options(const JsonObject& model, const Vocabulary& vocabulary) {
  BpeOptions options;
  TRY(const std::string type, model.string("type", "BPE"));
  if (type != "BPE") return model.refuse("type", "is `" + escape_for_message(type) + "`, only BPE is supported");
  const json& dropout = model.at("dropout");
  if (!dropout.is_null() && !(dropout.is_number() && dropout.get<double>() == 0))
    return model.refuse("dropout", "is `" + escape_for_message(dropout.dump(), 40) + "`, tokenizing must not be random");
  TRY(options.fuse_unk, model.boolean("fuse_unk", false));
  TRY(options.byte_fallback, model.boolean("byte_fallback", false));
  TRY(options.ignore_merges, model.boolean("ignore_merges", false));
  TRY(options.continuing_prefix, model.string("continuing_subword_prefix", ""));
  TRY(options.word_suffix, model.string("end_of_word_suffix", ""));
  if (model.has("unk_token")) {
    TRY(const std::string unk, model.string("unk_token"));
    const auto id = vocabulary.find(unk);
    if (!id) return model.refuse("unk_token", "is `" + escape_for_message(unk) + "`, which is no token");
    options.unk = *id;
  }
  return options;
}

// Added tokens have the id of the vocabulary, or follow it without holes.
Status read_added_tokens(const json& list, TokenizerParts& parts) {
  std::vector<AddedToken> tokens;
  if (!list.is_null() && !list.is_array()) return Failure(std::string("added_tokens: is ") + list.type_name() + ", must be an array");
  for (size_t i = 0; i < list.size(); ++i) {
    TRY(const JsonObject object, JsonObject::of(list[i], "added_tokens[" + std::to_string(i) + "]"));
    AddedToken token;
    TRY(token.content, object.string("content"));
    TRY(const uint32_t id, object.unsigned_integer("id"));
    TRY(token.special, object.boolean("special", false));
    TRY(token.normalized, object.boolean("normalized", !token.special));
    TRY(token.single_word, object.boolean("single_word", false));
    TRY(token.lstrip, object.boolean("lstrip", false));
    TRY(token.rstrip, object.boolean("rstrip", false));
    if (token.content.empty()) return object.refuse("content", "is empty, a token must have a text");
    if (const auto known = parts.vocabulary.find(token.content); known && *known != static_cast<int64_t>(id))
      return object.refuse("id", "is " + std::to_string(id) + ", but `" + escape_for_message(token.content) + "` has id " +
                           std::to_string(*known) + " in the vocabulary");
    else if (!known && id >= id_limit(parts.vocabulary.count() + list.size()))
      return object.refuse("id", "is " + std::to_string(id) + ", far behind a vocabulary of " + std::to_string(parts.vocabulary.count()));
    else if (!known)
      TRY_STATUS(parts.vocabulary.add(static_cast<int32_t>(id), token.content));
    token.id = static_cast<int32_t>(id);
    tokens.push_back(std::move(token));
  }
  return set_added_tokens(parts, std::move(tokens));
}

Result<std::unique_ptr<const TokenizerParts>> read(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) return Failure("starts with a byte order mark, JSON has none");
  if (!is_utf8(text)) return Failure("not valid UTF-8");
  const CarvedJson file = carve(text);
  TRY(const json document, parse_strict_json(file.rest));
  TRY(const JsonObject root, JsonObject::of(document, "the document"));
  TRY(const std::string version, root.string("version", "1.0"));
  if (version != "1.0") return root.refuse("version", "is `" + escape_for_message(version) + "`, only 1.0 is known");
  TRY(const JsonObject model, JsonObject::of(root.at("model"), "model"));
  TRY(const std::string type, model.string("type", "BPE"));
  if (type != "BPE") return model.refuse("type", "is `" + escape_for_message(type) + "`, only BPE is supported");
  if (file.vocab.empty()) return model.refuse("vocab", std::string("is ") + model.at("vocab").type_name() + ", must be an object");
  if (file.merges.empty()) return model.refuse("merges", std::string("is ") + model.at("merges").type_name() + ", must be an array");

  auto parts = std::make_unique<TokenizerParts>();
  if (auto status = read_vocabulary(file, parts->vocabulary); !status.ok()) return std::move(status).failure().in("model.vocab");
  TRY_STATUS(read_normalizers(root.at("normalizer"), "normalizer", parts->normalizers));
  TRY_STATUS(read_pre_tokenizers(root.at("pre_tokenizer"), "pre_tokenizer", parts->pre_tokenizers));
  TRY(BpeOptions options, read_model_options(model, parts->vocabulary));
  options.byte_level = TokenizerParts::can_keep_bytes(parts->pre_tokenizers, options);
  auto bpe = Bpe::create(parts->vocabulary, std::move(options));
  if (!bpe.ok()) return std::move(bpe).failure().in("model");
  parts->bpe = std::move(bpe).value();
  if (auto status = read_merges(file, parts->vocabulary, parts->bpe); !status.ok()) return std::move(status).failure().in("model.merges");
  TRY_STATUS(read_added_tokens(root.at("added_tokens"), *parts));
  TRY_STATUS(read_post_processor(root.at("post_processor"), "post_processor", parts->vocabulary, parts->templates));
  TRY_STATUS(read_decoders(root.at("decoder"), "decoder", parts->decoders));
  parts->bpe.finish(parts->vocabulary, parts->special);
  return std::unique_ptr<const TokenizerParts>(std::move(parts));
}

}  // namespace

Result<Tokenizer> Tokenizer::from_json(std::string_view tokenizer_json) {
  auto parts = read(tokenizer_json);
  if (!parts.ok()) return std::move(parts).failure().in("tokenizer.json");
  return Tokenizer(std::move(parts).value());
}

}  // namespace scratchy
