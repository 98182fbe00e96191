// Hostile and honest safetensors files. Names end in the number of the hostile-input class they belong to.
#include "checkpoint/safetensors.h"

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

std::string le64(uint64_t value) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &value, 8);
  return bytes;
}

std::string file_of(const std::string& header, size_t data_bytes) {
  return le64(header.size()) + header + std::string(data_bytes, '\0');
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

class Safetensors : public testing::ScratchFolder {
 protected:
  // "accepted" or what the refusal says, of a file with these bytes.
  std::string read(std::string_view content) {
    auto file = InputFile::open(write("a.safetensors", content));
    if (!file.ok()) return file.failure().message();
    const auto header = read_safetensors_header(*file);
    return header.ok() ? "accepted" : header.failure().message();
  }
  std::string read_header(const std::string& header, size_t data_bytes = 0) { return read(file_of(header, data_bytes)); }
  // One tensor `a` with these fields over 8 bytes of data.
  std::string read_tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return read_header("{" + tensor("a", dtype, shape, offsets) + "}", 8);
  }
};

TEST_F(Safetensors, ShortFilesAreRefused_S01) {
  EXPECT_THAT(read(""), AllOf(HasSubstr("a.safetensors"), HasSubstr("file has 0 bytes")));
  EXPECT_THAT(read("1234567"), HasSubstr("file has 7 bytes"));
}

TEST_F(Safetensors, HeaderLengthsWithoutAnObjectAreRefused_S02) {
  EXPECT_THAT(read(le64(0)), HasSubstr("not a json object"));
  EXPECT_THAT(read(le64(1) + "{"), HasSubstr("not a json object"));
}

TEST_F(Safetensors, HeaderLengthsPastTheFileAreRefused_S03) {
  EXPECT_THAT(read(le64(3) + "{}"), HasSubstr("header length 3 in a file of 10 bytes"));
  EXPECT_THAT(read(le64(uint64_t{1} << 63) + "{}"), HasSubstr("header length"));
  EXPECT_THAT(read(le64(UINT64_MAX) + "{}"), HasSubstr("header length"));
}

TEST_F(Safetensors, HeaderLengthsOverTheCapAreRefusedInAHugeFile_S04) {
  const auto path = write("a.safetensors", le64(100'000'001));
  std::error_code error;
  std::filesystem::resize_file(path, uint64_t{1} << 40, error);
  if (error) GTEST_SKIP() << "no sparse files here: " << error.message();
  EXPECT_THAT(read_safetensors_header(InputFile::open(path).value()).failure().message(), HasSubstr("at most 100,000,000"));
}

TEST_F(Safetensors, TextThatIsNotUtf8IsRefused_S05) {
  EXPECT_THAT(read_header("{" + tensor("\xff", "\"F32\"", "[2]", "[0,8]") + "}", 8), HasSubstr("line 1"));
  EXPECT_THAT(read_header("{" + tensor("\\ud800", "\"F32\"", "[2]", "[0,8]") + "}", 8), HasSubstr("line 1"));
}

TEST_F(Safetensors, OnlySpacesMayFollowTheObject_S06) {
  EXPECT_EQ(read_header("{}      "), "accepted");
  EXPECT_THAT(read_header("{}x"), HasSubstr("followed by spaces"));
  EXPECT_THAT(read_header("{}\n"), HasSubstr("followed by spaces"));
  EXPECT_THAT(read_header(" {}"), HasSubstr("not a json object"));
  EXPECT_THAT(read_header("{}{}"), HasSubstr("line 1"));
}

TEST_F(Safetensors, DeepNestingIsRefused_S07) {
  std::string header;
  for (int i = 0; i < 5000; ++i) header += "{\"a\":";
  EXPECT_THAT(read_header(header + "1" + std::string(5000, '}')), HasSubstr("header: line 1"));
  EXPECT_THAT(read_header("{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}"), HasSubstr("header: line 1"));
}

TEST_F(Safetensors, OffsetsMustBeTwo_S08) {
  for (const char* offsets : {"[]", "[0]", "[0,8,8]"}) EXPECT_THAT(read_tensor("\"F32\"", "[2]", offsets), HasSubstr("has not two entries"));
}

TEST_F(Safetensors, OffsetsMustBeExactUnsignedIntegers_S09) {
  for (const char* offsets : {"[-1,8]", "[0,8.0]", "[0,\"8\"]", "[0,true]", "[0,18446744073709551616]", "[0,1e3]", "8", "null"}) {
    EXPECT_NE(read_tensor("\"F32\"", "[2]", offsets), "accepted") << offsets;
  }
}

TEST_F(Safetensors, ShapesMustBeListsOfUnsignedIntegers_S10) {
  EXPECT_THAT(read_header("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8), HasSubstr("has no `shape`"));
  for (const char* shape : {"null", "[-2]", "[true]", "[2.0]", "2", "[[2]]"}) EXPECT_NE(read_tensor("\"F32\"", shape, "[0,8]"), "accepted") << shape;
}

TEST_F(Safetensors, UnknownDtypesAreRefusedWithTheKnownOnes_S11) {
  EXPECT_THAT(read_tensor("\"F33\"", "[2]", "[0,8]"), AllOf(HasSubstr("dtype `F33`"), HasSubstr("F32, F16, BF16")));
  EXPECT_THAT(read_tensor("\"f32\"", "[2]", "[0,8]"), HasSubstr("known are"));
  EXPECT_NE(read_tensor("32", "[2]", "[0,8]"), "accepted");
}

TEST_F(Safetensors, DuplicateNamesAndKeysAreRefused_S12) {
  const std::string one = tensor("a", "\"F32\"", "[1]", "[0,4]"), two = tensor("a", "\"F32\"", "[1]", "[4,8]");
  EXPECT_THAT(read_header("{" + one + "," + two + "}", 8), HasSubstr("tensor `a` appears twice"));
  EXPECT_THAT(read_header("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8), HasSubstr("twice"));
  EXPECT_THAT(read_header("{\"a\":{\"dtype\":\"F32\",\"extra\":1,\"shape\":[2],\"data_offsets\":[0,8]}}", 8), HasSubstr("unknown key `extra`"));
}

TEST_F(Safetensors, OffsetsThatEndBeforeTheyBeginAreRefused_S13) {
  EXPECT_THAT(read_tensor("\"F32\"", "[2]", "[8,0]"), HasSubstr("ends before it begins"));
}

TEST_F(Safetensors, BytesThatBelongToNoTensorAreRefused_S14) {
  const std::string one = tensor("a", "\"F32\"", "[1]", "[0,4]"), two = tensor("b", "\"F32\"", "[1]", "[8,12]");
  EXPECT_THAT(read_header("{" + one + "," + two + "}", 12), HasSubstr("bytes 4 .. 8 before tensor `b`"));
  EXPECT_THAT(read_header("{" + one + "}", 5), HasSubstr("1 bytes after the last tensor"));
}

TEST_F(Safetensors, OverlapsAreRefused_S15) {
  const std::string one = tensor("a", "\"F32\"", "[2]", "[0,8]");
  EXPECT_THAT(read_header("{" + one + "," + tensor("b", "\"F32\"", "[2]", "[4,12]") + "}", 12), HasSubstr("`b` overlaps"));
  EXPECT_THAT(read_header("{" + one + "," + tensor("b", "\"F32\"", "[2]", "[0,8]") + "}", 8), HasSubstr("overlaps"));
}

TEST_F(Safetensors, SizesThatDisagreeAreRefusedWithBothNumbers_S16) {
  EXPECT_THAT(read_tensor("\"F32\"", "[2]", "[0,7]"), HasSubstr("takes 8 bytes; `data_offsets` span 7"));
  EXPECT_THAT(read_tensor("\"F32\"", "[1]", "[0,8]"), HasSubstr("takes 4 bytes; `data_offsets` span 8"));
}

TEST_F(Safetensors, ProductsThatWrapAreRefused_S17_S18) {
  EXPECT_THAT(read_tensor("\"F32\"", "[4294967296,4294967296]", "[0,0]"), HasSubstr("more than 2^64"));
  EXPECT_THAT(read_tensor("\"F32\"", "[4611686018427387906]", "[0,8]"), HasSubstr("below 2^64"));
}

TEST_F(Safetensors, ScalarsAndEmptyTensorsAreAccepted_S19) {
  EXPECT_EQ(read_header("{" + tensor("a", "\"F32\"", "[]", "[0,4]") + "}", 4), "accepted");
  EXPECT_EQ(read_header("{" + tensor("a", "\"F32\"", "[0,7]", "[0,0]") + "}"), "accepted");
}

TEST_F(Safetensors, RanksOverEightAreRefused_S20) {
  std::string shape = "[1";
  for (int i = 0; i < 999; ++i) shape += ",1";
  EXPECT_THAT(read_tensor("\"F64\"", shape + "]", "[0,8]"), HasSubstr("more than 8 dimensions"));
}

TEST_F(Safetensors, TensorsAtOddBytesAreRead_S21) {
  const std::string header = "{" + tensor("a", "\"U8\"", "[1]", "[0,1]") + "," + tensor("b", "\"F32\"", "[1]", "[1,5]") + "}";
  write("model.safetensors", le64(header.size()) + header + std::string("\x07\x00\x00\x80\x3f", 5));
  const auto checkpoint = Checkpoint::open(folder());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.failure().message();
  EXPECT_EQ(load_vector(*checkpoint, "b", 1).value(), std::vector<float>{1.0f});
}

TEST_F(Safetensors, TruncatedFilesSayWhatIsMissing_S22) {
  EXPECT_THAT(read_header("{" + tensor("a", "\"F32\"", "[4]", "[0,16]") + "}", 8), AllOf(HasSubstr("a.safetensors"), HasSubstr("download it again")));
}

TEST_F(Safetensors, NamesAreBoundedAndEscaped_S23) {
  EXPECT_THAT(read_header("{" + tensor("", "\"F32\"", "[2]", "[0,8]") + "}", 8), HasSubstr("empty name"));
  EXPECT_THAT(read_header("{" + tensor(std::string(1 << 20, 'x'), "\"F32\"", "[2]", "[0,8]") + "}", 8), HasSubstr("at most 1,024"));
  const std::string message = read_header("{" + tensor("\\u001b[31m\\n\\u0000\\\"../x", "\"F33\"", "[2]", "[0,8]") + "}", 8);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_EQ(message.find('\0'), std::string::npos);
}

TEST_F(Safetensors, MetadataIsAMapOfStringsOrNull_S24) {
  EXPECT_EQ(read_header("{\"__metadata__\":null}"), "accepted");
  EXPECT_EQ(read_header("{\"__metadata__\":{\"a\":\"b\"}}"), "accepted");
  EXPECT_NE(read_header("{\"__metadata__\":{\"a\":1}}"), "accepted");
  EXPECT_NE(read_header("{\"__metadata__\":[]}"), "accepted");
  EXPECT_THAT(read_header("{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}"), HasSubstr("twice"));
  std::string many = "{\"__metadata__\":{\"k\":\"\"";
  for (int i = 0; i < 1'000'000; ++i) many += ",\"" + std::to_string(i) + "\":\"\"";
  EXPECT_THAT(read_header(many + "}}"), HasSubstr("more than 65,536 entries"));
}

TEST_F(Safetensors, ManyTensorsLoadInLinearTime_S25) {
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i) header += (i ? "," : "") + tensor("t" + std::to_string(i), "\"F32\"", "[0]", "[0,0]");
  EXPECT_EQ(read_header(header + "}"), "accepted");
}

TEST_F(Safetensors, SubByteTypesMustFillWholeBytes_S26) {
  EXPECT_THAT(read_header("{" + tensor("a", "\"F4\"", "[3]", "[0,2]") + "}", 2), HasSubstr("whole bytes"));
  EXPECT_EQ(read_header("{" + tensor("a", "\"F4\"", "[4]", "[0,2]") + "}", 2), "accepted");
}

class Shards : public Safetensors {
 protected:
  std::string open(const std::string& index) {
    write("model.safetensors.index.json", index);
    const auto checkpoint = Checkpoint::open(folder());
    return checkpoint.ok() ? "accepted" : checkpoint.failure().message();
  }
  void write_shard(const std::string& name, const std::string& tensor_name) {
    write(name, file_of("{" + tensor(tensor_name, "\"F32\"", "[1]", "[0,4]") + "}", 4));
  }
};

TEST_F(Shards, AreJoinedByTheIndex) {
  write_shard("one", "a");
  write_shard("two", "b");
  EXPECT_EQ(open(R"({"weight_map": {"a": "one", "b": "two"}})"), "accepted");
}

TEST_F(Shards, TensorsInTwoShardsAreListed_S27) {
  write_shard("one", "a");
  write("two", file_of("{" + tensor("a", "\"F32\"", "[1]", "[0,4]") + "," + tensor("c", "\"F32\"", "[1]", "[4,8]") + "}", 8));
  EXPECT_THAT(open(R"({"weight_map": {"a": "one", "c": "two"}})"), HasSubstr("tensors in two files: `a`"));
}

TEST_F(Shards, MustBeFilesBesideTheIndex_S28) {
  for (const char* name : {"../x", "/etc/passwd", "..", "", "a/b", "a\\\\b", "x\\u0000y"}) {
    EXPECT_THAT(open(std::string(R"({"weight_map": {"a": ")") + name + "\"}}"), HasSubstr("beside the index")) << name;
  }
  EXPECT_THAT(open(R"({"weight_map": {"a": 1}})"), HasSubstr("beside the index"));
  EXPECT_THAT(open(R"({"weight_map": {"a": "missing.safetensors"}})"), HasSubstr("missing.safetensors"));
  EXPECT_THAT(open(R"({"weight_map": []})"), HasSubstr("no object `weight_map`"));
  std::filesystem::create_symlink("/etc/passwd", path("link"));
  EXPECT_THAT(open(R"({"weight_map": {"a": "link"}})"), HasSubstr("a link out of its folder"));
}

TEST_F(Shards, ThatDisagreeWithTheIndexAreListed_S29) {
  write_shard("one", "a");
  write_shard("two", "b");
  EXPECT_THAT(open(R"({"weight_map": {"a": "two", "b": "one"}})"), AllOf(HasSubstr("2 tensors"), HasSubstr("`a`, `b`")));
  EXPECT_THAT(open(R"({"weight_map": {"a": "one", "z": "two"}})"), AllOf(HasSubstr("`b`"), HasSubstr("`z`")));
}

TEST_F(Safetensors, FilesThatShrinkOrChangeAreNoticed_S30) {
  const auto file = write("model.safetensors", file_of("{" + tensor("a", "\"F32\"", "[2]", "[0,8]") + "}", 8));
  const auto checkpoint = Checkpoint::open(folder());
  ASSERT_TRUE(checkpoint.ok());
  const std::string identity = checkpoint->identity();
  EXPECT_EQ(Checkpoint::open(folder())->identity(), identity);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 4);
  EXPECT_THAT(load_vector(*checkpoint, "a", 2).failure().message(), AllOf(HasSubstr("tensor `a`"), HasSubstr("the file ends")));
  std::filesystem::resize_file(file, std::filesystem::file_size(file) + 4);
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  EXPECT_NE(Checkpoint::open(folder())->identity(), identity);
}

TEST_F(Safetensors, WrittenFilesReadBack) {
  const std::vector<float> values = {1, 2, 3};
  const auto bytes = std::as_bytes(std::span(values));
  ASSERT_TRUE(write_safetensors(path("out.safetensors"), {{"b \"x\"", DType::kF32, {3}, bytes}, {"a", DType::kU8, {0}, {}}}, {{"k", "v"}}).ok());
  auto file = InputFile::open(path("out.safetensors"));
  const auto header = read_safetensors_header(*file);
  ASSERT_TRUE(header.ok()) << header.failure().message();
  EXPECT_EQ(header->metadata.at("k"), "v");
  EXPECT_EQ(header->tensors[1].name, "b \"x\"");
  EXPECT_EQ(header->tensors[1].offset % 64, 0u);
  std::vector<float> read(3);
  ASSERT_TRUE(file->read(header->tensors[1].offset, std::as_writable_bytes(std::span(read))).ok());
  EXPECT_EQ(read, values);
}

TEST_F(Safetensors, WriterRefusesWhatReadersWould) {
  const std::vector<float> values = {1};
  const auto bytes = std::as_bytes(std::span(values));
  EXPECT_THAT(encode_safetensors({{"a", DType::kF32, {2}, bytes}}).failure().message(), HasSubstr("takes 8 bytes"));
  EXPECT_FALSE(encode_safetensors({{"a", DType::kF32, {1}, bytes}, {"a", DType::kF32, {1}, bytes}}).ok());
  EXPECT_FALSE(encode_safetensors({{"", DType::kF32, {1}, bytes}}).ok());
  EXPECT_FALSE(encode_safetensors({{"\xff", DType::kF32, {1}, bytes}}).ok());
}

}  // namespace
}  // namespace scratchy
