// Reads the components of a tokenizer.json from its tree.
#pragma once

#include <nlohmann/json.hpp>

#include "text/tokenizer/components.h"
#include "text/tokenizer/vocabulary.h"

namespace scratchy {

// A JSON object and where it stands, for typed reads with messages that say so.
class JsonObject {
 public:
  static Result<JsonObject> of(const nlohmann::json& value, std::string path);

  const std::string& path() const { return path_; }
  // The member `key`, null when it is absent.
  const nlohmann::json& at(const char* key) const;
  bool has(const char* key) const { return !at(key).is_null(); }
  Result<bool> boolean(const char* key, bool fallback) const;
  Result<std::string> string(const char* key) const;
  Result<std::string> string(const char* key, std::string fallback) const;
  Result<uint32_t> unsigned_integer(const char* key) const;  // of 32 bits
  Failure refuse(const std::string& key, const std::string& what) const;

 private:
  JsonObject(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}
  const nlohmann::json* value_;
  std::string path_;
};

// Each reads the component at `path`, which may be null (nothing is added) or a Sequence of others.
Status read_normalizers(const nlohmann::json& value, const std::string& path, std::vector<Normalizer>& out);
Status read_pre_tokenizers(const nlohmann::json& value, const std::string& path, std::vector<PreTokenizer>& out);
Status read_decoders(const nlohmann::json& value, const std::string& path, std::vector<DecoderStage>& out);
// Ids are checked against `vocabulary`.
Status read_post_processor(const nlohmann::json& value, const std::string& path, const Vocabulary& vocabulary,
                           std::vector<IdTemplate>& out);

}  // namespace scratchy
