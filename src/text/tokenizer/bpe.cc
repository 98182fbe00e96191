#include "text/tokenizer/bpe.h"

#include <cstdio>
#include <cstring>

#include "text/tokenizer/bpe_cache.h"
#include "text/tokenizer/unicode.h"

namespace scratchy {

BpeScratch::BpeScratch() = default;
BpeScratch::~BpeScratch() = default;
void BpeScratch::enable_cache() {
  if (cache == nullptr) cache = std::make_unique<Cache>();
}

Result<Bpe> Bpe::create(const Vocabulary& vocabulary, BpeOptions options) {
  Bpe bpe;
  bpe.options_ = std::move(options);
  for (int byte = 0; byte < 256; ++byte) {
    char spelled[8];
    std::snprintf(spelled, sizeof spelled, "<0x%02X>", byte);
    const std::string_view name = bpe.options_.byte_level ? byte_level::character(static_cast<unsigned char>(byte))
                                                          : std::string_view(spelled);
    bpe.byte_ids_[byte] = vocabulary.find(name).value_or(-1);
    if (bpe.options_.byte_fallback && bpe.byte_ids_[byte] < 0)
      return Failure("byte fallback needs a token for each byte, `" + std::string(name) + "` is missing");
  }
  for (int c = 0; c < 128; ++c) {
    const char text = static_cast<char>(c);
    bpe.ascii_ids_[c] = vocabulary.find({&text, 1}).value_or(-1);
  }
  bpe.reserve_merges(16);
  return bpe;
}

void Bpe::reserve_merges(size_t count) {
  size_t size = 32;
  int bits = 5;
  for (; size < 2 * count; size *= 2) ++bits;
  if (size <= merges_.size()) return;
  std::vector<Merge> old(size, Merge{kNoPair, kNoRank, -1});
  old.swap(merges_);
  shift_ = 64 - bits;
  merge_count_ = 0;
  for (const Merge& merge : old)
    if (merge.pair != kNoPair)
      add_merge(static_cast<int32_t>(merge.pair >> 32), static_cast<int32_t>(merge.pair & UINT32_MAX), merge.rank, merge.product);
}

void Bpe::add_merge(int32_t left, int32_t right, uint32_t rank, int32_t product) {
  if (2 * (merge_count_ + 1) > merges_.size()) reserve_merges(2 * (merge_count_ + 1));
  const uint64_t pair = uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  size_t slot = slot_of(pair);
  while (merges_[slot].pair != pair && merges_[slot].pair != kNoPair) slot = (slot + 1) & (merges_.size() - 1);
  if (merges_[slot].pair == kNoPair) ++merge_count_;
  merges_[slot] = {pair, rank, product};
}

void Bpe::finish(const Vocabulary& vocabulary, const std::vector<bool>& hidden) {
  hidden_ = hidden;
  if (!options_.byte_level && options_.continuing_prefix.empty() && options_.word_suffix.empty()) learn_seams(vocabulary);
}

int32_t Bpe::char_id(const Vocabulary& vocabulary, std::string_view c) const {
  if (c.size() == 1) return ascii_ids_[static_cast<unsigned char>(c[0])];
  return vocabulary.find(c).value_or(-1);
}

// Collects, for every merge, the symbols left and right of its seam. A symbol is a character's token, so a part that
// could also stand for something else (a byte token, the unknown token) rules the shortcut out.
void Bpe::learn_seams(const Vocabulary& vocabulary) {
  std::vector<bool> odd(vocabulary.id_bound(), false);
  if (options_.unk >= 0) odd[options_.unk] = true;
  if (options_.byte_fallback)
    for (const int32_t id : byte_ids_) odd[id] = true;
  std::vector<int32_t> first(vocabulary.id_bound(), -2), last(vocabulary.id_bound(), -2);
  size_t size = 64;
  while (size < 2 * merge_count_) size *= 2;
  seams_.assign(size, kNoPair);
  for (const Merge& merge : merges_) {
    if (merge.pair == kNoPair) continue;
    const auto left = static_cast<int32_t>(merge.pair >> 32), right = static_cast<int32_t>(merge.pair & UINT32_MAX);
    if (odd[left] || odd[right] || vocabulary.text(left).empty() || vocabulary.text(right).empty()) return;
    if (last[left] == -2) {
      const std::string_view text = vocabulary.text(left);
      last[left] = char_id(vocabulary, text.substr(char_before(text, text.size())));
    }
    if (first[right] == -2) {
      const std::string_view text = vocabulary.text(right);
      first[right] = char_id(vocabulary, text.substr(0, char_length(text[0])));
    }
    const uint64_t pair = uint64_t{static_cast<uint32_t>(last[left])} << 32 | static_cast<uint32_t>(first[right]);
    size_t slot = (pair * 0x9E3779B97F4A7C15u) >> 32 & (size - 1);
    while (seams_[slot] != kNoPair && seams_[slot] != pair) slot = (slot + 1) & (size - 1);
    seams_[slot] = pair;
  }
  has_seams_ = true;
}

bool Bpe::seam(int32_t left, int32_t right) const {
  const uint64_t pair = uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  for (size_t slot = (pair * 0x9E3779B97F4A7C15u) >> 32 & (seams_.size() - 1);; slot = (slot + 1) & (seams_.size() - 1)) {
    if (seams_[slot] == pair) return true;
    if (seams_[slot] == kNoPair) return false;
  }
}

void Bpe::encode(const Vocabulary& vocabulary, std::string_view word, BpeScratch& scratch, std::vector<int32_t>& out) const {
  const bool cached = scratch.cache != nullptr && (options_.byte_level || options_.ignore_merges);
  if (cached && scratch.cache->copy(word, out)) return;
  const size_t before = out.size();
  if (!options_.ignore_merges || !whole_token(vocabulary, word, scratch, out)) {
    if (options_.byte_level) encode_bytes(word, scratch, out);
    else if (options_.continuing_prefix.empty() && options_.word_suffix.empty()) encode_chars(vocabulary, word, scratch, out);
    else encode_affixed(vocabulary, word, scratch, out);
  }
  if (cached) scratch.cache->put(word, {out.data() + before, out.size() - before});
}

bool Bpe::whole_token(const Vocabulary& vocabulary, std::string_view word, BpeScratch& scratch, std::vector<int32_t>& out) const {
  std::string_view text = word;
  if (options_.byte_level) {
    scratch.text.clear();
    byte_level::append_text(scratch.text, word);
    text = scratch.text;
  }
  const auto id = vocabulary.find(text);
  if (!id || (static_cast<size_t>(*id) < hidden_.size() && hidden_[*id])) return false;
  out.push_back(*id);
  return true;
}

void Bpe::encode_bytes(std::string_view word, BpeScratch& scratch, std::vector<int32_t>& out) const {
  scratch.word.clear();
  bool after_unk = false;
  for (const char c : word) {
    const int32_t id = byte_ids_[static_cast<unsigned char>(c)];
    if (id >= 0) scratch.word.push_back(id);
    else if (options_.unk >= 0 && !(after_unk && options_.fuse_unk)) scratch.word.push_back(options_.unk);
    after_unk = id < 0;
  }
  merge(scratch, out);
}

// Symbols of one character each, cut at every place where no merge can happen. What vanishes or fuses belongs to the
// segment of the symbol before it, so a segment's text alone determines its ids.
void Bpe::encode_chars(const Vocabulary& vocabulary, std::string_view word, BpeScratch& scratch, std::vector<int32_t>& out) const {
  scratch.word.clear();
  size_t begin = 0;
  bool after_unk = false;
  const auto push = [&](int32_t id, size_t at) {
    if (has_seams_ && !scratch.word.empty() && !seam(scratch.word.back(), id)) {
      flush(word.substr(begin, at - begin), scratch, out);
      begin = at;
    }
    scratch.word.push_back(id);
  };
  for (size_t at = 0; at < word.size();) {
    const size_t length = char_length(word[at]);
    const int32_t id = char_id(vocabulary, word.substr(at, length));
    if (id >= 0) {
      push(id, at);
    } else if (options_.byte_fallback) {
      // A byte is no boundary of text, so the bytes of one character stay in one segment.
      push(byte_ids_[static_cast<unsigned char>(word[at])], at);
      for (size_t i = 1; i < length; ++i) scratch.word.push_back(byte_ids_[static_cast<unsigned char>(word[at + i])]);
    } else if (options_.unk >= 0 && !(after_unk && options_.fuse_unk)) {
      push(options_.unk, at);
    }
    after_unk = id < 0;
    at += length;
  }
  flush(word.substr(begin), scratch, out);
}

void Bpe::flush(std::string_view text, BpeScratch& scratch, std::vector<int32_t>& out) const {
  if (scratch.word.size() > 2 && scratch.cache != nullptr && !options_.ignore_merges) {
    if (!scratch.cache->copy(text, out)) {
      const size_t before = out.size();
      merge(scratch, out);
      scratch.cache->put(text, {out.data() + before, out.size() - before});
    }
  } else {
    merge(scratch, out);
  }
  scratch.word.clear();
}

void Bpe::encode_affixed(const Vocabulary& vocabulary, std::string_view word, BpeScratch& scratch, std::vector<int32_t>& out) const {
  scratch.word.clear();
  bool after_unk = false;
  for (size_t at = 0; at < word.size();) {
    const size_t length = char_length(word[at]);
    scratch.text.clear();
    if (at > 0) scratch.text.append(options_.continuing_prefix);
    scratch.text.append(word.substr(at, length));
    at += length;
    if (at == word.size()) scratch.text.append(options_.word_suffix);
    const auto id = vocabulary.find(scratch.text);
    if (id) {
      scratch.word.push_back(*id);
    } else if (options_.byte_fallback) {
      for (const char c : scratch.text) scratch.word.push_back(byte_ids_[static_cast<unsigned char>(c)]);
    } else if (options_.unk >= 0 && !(after_unk && options_.fuse_unk)) {
      scratch.word.push_back(options_.unk);
    }
    after_unk = !id;
  }
  merge(scratch, out);
}

}  // namespace scratchy
