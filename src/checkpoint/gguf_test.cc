// Hostile and honest GGUF files. Names end in the number of the hostile-input class they belong to.
#include "checkpoint/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "checkpoint/checkpoint.h"
#include "checkpoint/load_matrix.h"
#include "testing/scratch_folder.h"

namespace scratchy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <typename T>
std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::string text(const std::string& value) { return raw(uint64_t{value.size()}) + value; }
std::string key_u32(const std::string& key, uint32_t value) { return text(key) + raw(uint32_t{4}) + raw(value); }
std::string key_text(const std::string& key, const std::string& value) { return text(key) + raw(uint32_t{8}) + text(value); }
std::string key_array(const std::string& key, uint32_t type, uint64_t count, const std::string& items) {
  return text(key) + raw(uint32_t{9}) + raw(type) + raw(count) + items;
}
std::string info(const std::string& name, const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset) {
  std::string bytes = text(name) + raw(static_cast<uint32_t>(dims.size()));
  for (const uint64_t dim : dims) bytes += raw(dim);
  return bytes + raw(type) + raw(offset);
}

struct File {
  uint32_t version = 3;
  std::vector<std::string> keys = {key_text("general.architecture", "llama")};
  std::vector<std::string> tensors;
  size_t data_bytes = 0;
  uint64_t more_keys = 0, more_tensors = 0;

  std::string bytes() const {
    std::string out = "GGUF" + raw(version) + raw(tensors.size() + more_tensors) + raw(keys.size() + more_keys);
    for (const std::string& key : keys) out += key;
    for (const std::string& tensor : tensors) out += tensor;
    out.resize((out.size() + 31) / 32 * 32 + data_bytes);
    return out;
  }
};

std::string parse(const std::string& bytes) {
  const auto header = parse_gguf_header(std::as_bytes(std::span(bytes)), bytes.size());
  return header.ok() ? "accepted" : header.failure().message();
}
std::string with_key(const std::string& key) { return parse(File{.keys = {key}}.bytes()); }
std::string with_tensor(const std::string& tensor, size_t data_bytes = 64) {
  return parse(File{.tensors = {tensor}, .data_bytes = data_bytes}.bytes());
}

TEST(Gguf, ReadsMetadataAndTensors) {
  const File file{.keys = {key_text("general.architecture", "llama"), key_u32("n", 7), text("f") + raw(uint32_t{6}) + raw(1.5f),
                           key_array("a", 4, 2, raw(uint32_t{3}) + raw(uint32_t{4})), key_array("s", 8, 2, text("x") + text("")),
                           text("b") + raw(uint32_t{7}) + std::string("\1", 1), text("i") + raw(uint32_t{5}) + raw(int32_t{-1})},
                  .tensors = {info("m", {8, 2}, 0, 0)},
                  .data_bytes = 64};
  const std::string bytes = file.bytes();
  const auto header = parse_gguf_header(std::as_bytes(std::span(bytes)), bytes.size());
  ASSERT_TRUE(header.ok()) << header.failure().message();
  const GgufMetadata& data = header->metadata;
  EXPECT_EQ(data.text("general.architecture").value(), "llama");
  EXPECT_EQ(data.unsigned_integer("n").value(), 7u);
  EXPECT_EQ(data.real("f").value(), 1.5);
  EXPECT_EQ(data.real("n").value(), 7.0);
  EXPECT_EQ(data.integers("a").value(), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(data.texts("s").value(), (std::vector<std::string_view>{"x", ""}));
  EXPECT_EQ(data.boolean("b").value(), true);
  EXPECT_EQ(data.integer("i").value(), -1);
  EXPECT_EQ(data.unsigned_integer("absent").value(), std::nullopt);
  EXPECT_THAT(data.unsigned_integer("i").failure().message(), HasSubstr("metadata `i` is i32; it must be an integer of at least 0"));
  EXPECT_THAT(data.unsigned_integer("f").failure().message(), HasSubstr("is f32"));
  EXPECT_THAT(data.unsigned_integer("a").failure().message(), HasSubstr("an array of 2 u32"));
  EXPECT_EQ(header->tensors[0].shape, (std::vector<uint64_t>{2, 8}));
  EXPECT_EQ(header->tensors[0].bytes, 64u);
}

TEST(Gguf, OtherMagicsAreRefused_G01) {
  EXPECT_THAT(parse("FUGG" + File().bytes().substr(4)), HasSubstr("file starts with `FUGG`"));
  EXPECT_THAT(parse(File{.version = 0x03000000}.bytes()), HasSubstr("big-endian"));
}

TEST(Gguf, OtherVersionsAreRefused_G02) {
  for (const uint32_t version : {0u, 1u, 99u}) EXPECT_THAT(parse(File{.version = version}.bytes()), HasSubstr("2 and 3 are read"));
  EXPECT_EQ(parse(File{.version = 2}.bytes()), "accepted");
}

TEST(Gguf, EveryPrefixOfAFileIsRefused_G03) {
  const std::string whole = File{.keys = {key_text("general.architecture", "llama"), key_array("a", 4, 2, std::string(8, '\0'))},
                                 .tensors = {info("m", {8, 2}, 0, 0)},
                                 .data_bytes = 64}.bytes();
  ASSERT_EQ(parse(whole), "accepted");
  for (size_t length = 0; length < whole.size(); ++length) EXPECT_NE(parse(whole.substr(0, length)), "accepted") << length;
}

TEST(Gguf, HugeCountsAreRefusedAtOnce_G04_G20) {
  EXPECT_THAT(parse(File{.more_keys = uint64_t{1} << 60}.bytes()), HasSubstr("key count"));
  EXPECT_THAT(parse(File{.more_tensors = uint64_t{1} << 60}.bytes()), HasSubstr("tensor count"));
  EXPECT_THAT(parse(File{.more_tensors = UINT64_MAX / 8}.bytes()), HasSubstr("tensor count"));
}

TEST(Gguf, HugeStringLengthsAreRefused_G05) {
  EXPECT_THAT(with_key(raw(uint64_t{1} << 62) + std::string(32, 'x')), HasSubstr("a key at byte"));
  EXPECT_THAT(with_key(text("k") + raw(uint32_t{8}) + raw(uint64_t{1} << 62)), HasSubstr("key `k`: a string"));
  EXPECT_THAT(with_key(text("k") + raw(uint32_t{8}) + raw(uint64_t{1000})), HasSubstr("key `k`: a string"));
}

TEST(Gguf, HugeArraysAreRefusedAtOnce_G06) {
  EXPECT_THAT(with_key(key_array("k", 4, uint64_t{1} << 61, "")), HasSubstr("does not fit"));
  EXPECT_THAT(with_key(key_array("k", 4, uint64_t{1} << 62, "")), HasSubstr("does not fit"));
  EXPECT_THAT(with_key(key_array("k", 8, uint64_t{1} << 61, "")), HasSubstr("does not fit"));
}

TEST(Gguf, ArraysOfArraysAreRefused_G07) {
  std::string nested;
  for (int i = 0; i < 10'000; ++i) nested += raw(uint32_t{9}) + raw(uint64_t{1});
  EXPECT_THAT(with_key(text("k") + raw(uint32_t{9}) + nested), HasSubstr("array of arrays"));
}

TEST(Gguf, UnknownValueTypesAndBoolsAreRefused_G08) {
  EXPECT_THAT(with_key(text("k") + raw(uint32_t{77}) + std::string(8, '\0')), HasSubstr("value type 77"));
  EXPECT_THAT(with_key(text("k") + raw(uint32_t{7}) + "\x02"), HasSubstr("neither 0 nor 1"));
}

TEST(Gguf, DuplicateKeysAreRefused_G09) {
  EXPECT_THAT(parse(File{.keys = {key_u32("k", 1), key_u32("k", 2)}}.bytes()), HasSubstr("key `k` appears twice"));
}

TEST(Gguf, OddKeysAreRefused_G10) {
  EXPECT_THAT(with_key(key_u32("", 1)), HasSubstr("empty or not UTF-8"));
  EXPECT_THAT(with_key(key_u32("\xff", 1)), HasSubstr("empty or not UTF-8"));
  EXPECT_THAT(with_key(key_u32(std::string(1 << 20, 'k'), 1)), HasSubstr("at most 65535"));
}

TEST(Gguf, RanksOutsideOneToFourAreRefused_G11) {
  EXPECT_THAT(with_tensor(info("m", {}, 0, 0)), HasSubstr("0 dimensions"));
  EXPECT_THAT(with_tensor(info("m", {1, 1, 1, 1, 1}, 0, 0)), HasSubstr("5 dimensions"));
  EXPECT_THAT(with_tensor(text("m") + raw(uint32_t{1} << 31) + std::string(64, '\0')), HasSubstr("dimensions"));
}

TEST(Gguf, DimensionsThatAreZeroOrWrapAreRefused_G12) {
  EXPECT_THAT(with_tensor(info("m", {0}, 0, 0)), HasSubstr("dimension 0 is 0"));
  EXPECT_THAT(with_tensor(info("m", {uint64_t{1} << 42, uint64_t{1} << 42}, 0, 0)), HasSubstr("passes 2^63"));
  EXPECT_THAT(with_tensor(info("m", {(uint64_t{1} << 62) + 2}, 0, 0)), HasSubstr("passes 2^64 bytes"));
}

TEST(Gguf, SumsThatWrapAreRefused_G13_G15) {
  const uint64_t half = uint64_t{1} << 61;
  EXPECT_THAT(parse(File{.tensors = {info("a", {half}, 0, 0), info("b", {half}, 0, 32)}, .data_bytes = 64}.bytes()), HasSubstr("do not fit"));
  EXPECT_THAT(with_tensor(info("m", {8}, 0, 64)), HasSubstr("do not fit"));
  EXPECT_THAT(with_tensor(info("m", {16}, 0, 32)), HasSubstr("do not fit"));
  EXPECT_THAT(with_tensor(info("m", {8}, 0, UINT64_MAX - 31)), HasSubstr("do not fit"));
}

TEST(Gguf, UnreadTensorTypesAreNamed_G14) {
  EXPECT_THAT(with_tensor(info("m", {32}, 40, 0)), HasSubstr("tensor `m`: type 40 (NVFP4) is not read"));
  EXPECT_THAT(with_tensor(info("m", {32}, 4, 0)), HasSubstr("type 4 (Q4_2) was removed"));
  EXPECT_THAT(with_tensor(info("m", {32}, 12345, 0)), HasSubstr("type 12345 is not known"));
}

TEST(Gguf, MisplacedTensorsAreRefused_G16) {
  EXPECT_THAT(with_tensor(info("m", {8}, 0, 16)), HasSubstr("not a multiple of the alignment 32"));
  EXPECT_THAT(parse(File{.tensors = {info("a", {16}, 0, 0), info("b", {8}, 0, 32)}, .data_bytes = 64}.bytes()), HasSubstr("`a` and `b` overlap"));
}

TEST(Gguf, OddAlignmentsAreRefused_G17) {
  for (const uint32_t value : {0u, 3u, uint32_t{1} << 31}) EXPECT_THAT(with_key(key_u32("general.alignment", value)), HasSubstr("power of two"));
  EXPECT_THAT(with_key(key_text("general.alignment", "32")), HasSubstr("is string"));
}

TEST(Gguf, RowsMustBeWholeBlocks_G18) {
  EXPECT_THAT(with_tensor(info("m", {48, 2}, 2, 0)), AllOf(HasSubstr("[2, 48]"), HasSubstr("blocks of 32")));
  EXPECT_THAT(with_tensor(info("m", {32, 8}, 12, 0)), HasSubstr("blocks of 256"));
}

TEST(Gguf, DuplicateAndLongTensorNamesAreRefused_G19) {
  EXPECT_THAT(parse(File{.tensors = {info("m", {8}, 0, 0), info("m", {8}, 0, 32)}, .data_bytes = 64}.bytes()), HasSubstr("`m` appears twice"));
  EXPECT_THAT(with_tensor(info(std::string(64, 'x'), {8}, 0, 0)), HasSubstr("at most 63"));
  EXPECT_THAT(with_tensor(info("", {8}, 0, 0)), HasSubstr("empty or not UTF-8"));
}

class GgufFile : public testing::ScratchFolder {
 protected:
  std::string open(const std::string& name) {
    const auto checkpoint = Checkpoint::open(path(name));
    return checkpoint.ok() ? "accepted" : checkpoint.failure().message();
  }
  void write_part(const std::string& name, uint32_t number, uint32_t count, const std::string& tensor, int32_t promised = 2) {
    File file{.keys = {key_u32("split.no", number), key_u32("split.count", count),
                       text("split.tensors.count") + raw(uint32_t{5}) + raw(promised)},
              .tensors = {info(tensor, {8}, 0, 0)},
              .data_bytes = 32};
    if (number == 0) file.keys.push_back(key_text("general.architecture", "llama"));
    write(name, file.bytes());
  }
};

TEST_F(GgufFile, ArchitectureMustBeAString_G21) {
  write("a.gguf", File{.keys = {}}.bytes());
  EXPECT_THAT(open("a.gguf"), HasSubstr("no `general.architecture`"));
  write("a.gguf", File{.keys = {key_u32("general.architecture", 1)}}.bytes());
  EXPECT_THAT(open("a.gguf"), HasSubstr("must be a string"));
}

TEST_F(GgufFile, HeadersLongerThanOneReadAreRead) {
  File file{.tensors = {info("m", {8, 2}, 0, 0)}, .data_bytes = 64};
  file.keys.push_back(key_text("big", std::string(3 << 20, 'x')));
  write("a.gguf", file.bytes());
  const auto checkpoint = Checkpoint::open(path("a.gguf"));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.failure().message();
  EXPECT_EQ(load_matrix(*checkpoint, "m", {2, 8})->form(), QuantForm::kF32);
  EXPECT_THAT(load_matrix(*checkpoint, "m", {8, 2}).failure().message(), HasSubstr("[2, 8]"));
}

TEST_F(GgufFile, SplitFilesAreJoinedAndChecked_G29) {
  write_part("m-00001-of-00002.gguf", 0, 2, "a");
  EXPECT_THAT(open("m-00001-of-00002.gguf"), HasSubstr("m-00002-of-00002.gguf"));
  write_part("m-00002-of-00002.gguf", 1, 2, "b");
  EXPECT_EQ(open("m-00001-of-00002.gguf"), "accepted");
  EXPECT_EQ(Checkpoint::open(path("m-00002-of-00002.gguf"))->tensors().size(), 2u);
  write_part("m-00002-of-00002.gguf", 0, 2, "b");
  EXPECT_THAT(open("m-00001-of-00002.gguf"), HasSubstr("is not part 2"));
  write_part("m-00002-of-00002.gguf", 1, 3, "b");
  EXPECT_THAT(open("m-00001-of-00002.gguf"), HasSubstr("is not part 2"));
  write_part("m-00002-of-00002.gguf", 1, 2, "b", 9);
  EXPECT_THAT(open("m-00001-of-00002.gguf"), HasSubstr("is not part 2"));
  write_part("m-00002-of-00002.gguf", 1, 2, "a");
  EXPECT_THAT(open("m-00001-of-00002.gguf"), HasSubstr("tensors in two files: `a`"));
  write_part("x.gguf", 0, 2, "a");
  EXPECT_THAT(open("x.gguf"), HasSubstr("not named like"));
}

}  // namespace
}  // namespace scratchy
