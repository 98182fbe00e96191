#include "checkpoint/gguf.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/text.h"

namespace scratchy {
namespace {

constexpr uint64_t kMaxHeaderBytes = uint64_t{512} << 20;
constexpr uint64_t kMaxKeyBytes = 65'535;
constexpr uint64_t kMaxNameBytes = 63;
constexpr uint64_t kMaxTensorCount = 1'000'000;
constexpr uint64_t kMaxAlignment = 65'536;
// Least bytes of a key with its value, and of a tensor info.
constexpr uint64_t kLeastEntry = 8 + 1 + 4 + 1;
constexpr uint64_t kLeastTensorInfo = 8 + 1 + 4 + 8 + 4 + 8;

std::string in_quotes(std::string_view name) { return "`" + escape_for_message(name) + "`"; }

size_t scalar_bytes(uint32_t type) {
  constexpr size_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kBytes[type];
}

// Reads forward through the part of the file at hand. Lengths are compared with what the whole file has left before
// anything is made of them; running out of the part only sets `wants_more`.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, uint64_t file_bytes) : bytes_(bytes), file_bytes_(file_bytes) {}

  uint64_t position() const { return position_; }
  uint64_t left_in_file() const { return file_bytes_ - position_; }
  bool wants_more() const { return wants_more_; }

  Result<std::string_view> take(uint64_t count, const char* what) {
    if (count > left_in_file()) {
      return Failure("file ends inside " + std::string(what) + ": byte " + std::to_string(position_) + " of " +
                     std::to_string(file_bytes_) + ", " + std::to_string(count) + " needed");
    }
    if (!range_fits(position_, count, bytes_.size())) {
      wants_more_ = true;
      return Failure("header goes on past byte " + std::to_string(bytes_.size()));
    }
    const std::string_view taken(reinterpret_cast<const char*>(bytes_.data()) + position_, count);
    position_ += count;
    return taken;
  }
  template <typename T>
  Result<T> number(const char* what) {
    TRY(const std::string_view raw, take(sizeof(T), what));
    T value;
    std::memcpy(&value, raw.data(), sizeof value);
    return value;
  }
  Result<std::string_view> text(uint64_t limit, const char* what) {
    TRY(const uint64_t length, number<uint64_t>(what));
    if (length > limit) {
      return Failure(std::string(what) + " at byte " + std::to_string(position_) + " has length " + std::to_string(length) +
                     "; at most " + std::to_string(limit) + " is read");
    }
    return take(length, what);
  }
  // The stored bytes of `count` strings, lengths included. A vocabulary has a hundred thousand: whole ones are passed over,
  // `text` finds the words for one that is not.
  Result<std::string_view> texts(uint64_t count) {
    const uint64_t begin = position_;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t length = 0;
      const uint64_t left = bytes_.size() - position_;
      if (left >= sizeof length) std::memcpy(&length, bytes_.data() + position_, sizeof length);
      if (left >= sizeof length && length <= left - sizeof length) {
        position_ += sizeof length + length;
      } else {
        TRY_STATUS(text(left_in_file(), "a string"));
      }
    }
    return std::string_view(reinterpret_cast<const char*>(bytes_.data()) + begin, position_ - begin);
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t file_bytes_;
  uint64_t position_ = 0;
  bool wants_more_ = false;
};

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, uint64_t file_bytes) : in_(bytes, file_bytes), file_bytes_(file_bytes) {}

  bool wants_more() const { return in_.wants_more(); }

  Result<GgufHeader> parse() {
    TRY_STATUS(start());
    TRY(const uint64_t tensor_count, in_.number<uint64_t>("the tensor count"));
    TRY(const uint64_t key_count, in_.number<uint64_t>("the key count"));
    if (tensor_count > kMaxTensorCount || tensor_count > in_.left_in_file() / kLeastTensorInfo) {
      return Failure("tensor count " + std::to_string(tensor_count) + " does not fit in a file of " +
                     with_thousands(file_bytes_) + " bytes (at most " + with_thousands(kMaxTensorCount) + " are read)");
    }
    if (key_count > in_.left_in_file() / kLeastEntry) {
      return Failure("key count " + std::to_string(key_count) + " does not fit in a file of " + with_thousands(file_bytes_) + " bytes");
    }
    for (uint64_t i = 0; i < key_count; ++i) TRY_STATUS(entry());
    for (uint64_t i = 0; i < tensor_count; ++i) TRY_STATUS(tensor_info());
    TRY_STATUS(place_tensors());
    return std::move(header_);
  }

 private:
  Status start() {
    TRY(const std::string_view magic, in_.take(4, "the magic"));
    if (magic != "GGUF") return Failure("file starts with " + in_quotes(magic) + "; a GGUF file starts with `GGUF`");
    TRY(header_.version, in_.number<uint32_t>("the version"));
    if (header_.version != 2 && header_.version != 3) {
      const bool swapped = (header_.version & 0xffff) == 0 && header_.version != 0;
      return Failure("version " + std::to_string(header_.version) +
                     (swapped ? " looks like a big-endian file; only little-endian ones are read" : "; 2 and 3 are read"));
    }
    return Done{};
  }

  Status entry() {
    TRY(const std::string_view key, in_.text(kMaxKeyBytes, "a key"));
    if (key.empty() || !is_utf8(key)) return Failure("key " + in_quotes(key) + " is empty or not UTF-8");
    auto value = read_value();
    if (!value.ok()) return std::move(value).failure().in("key " + in_quotes(key));
    if (!header_.metadata.insert(std::string(key), *std::move(value))) return Failure("key " + in_quotes(key) + " appears twice");
    return Done{};
  }

  Result<GgufValue> read_value() {
    GgufValue value;
    TRY(uint32_t type, in_.number<uint32_t>("a value type"));
    if (type == static_cast<uint32_t>(GgufType::kArray)) {
      value.is_array = true;
      TRY(type, in_.number<uint32_t>("an item type"));
      TRY(value.count, in_.number<uint64_t>("an item count"));
      if (type == static_cast<uint32_t>(GgufType::kArray)) return Failure("array of arrays; items are scalars or strings");
    }
    if (type > static_cast<uint32_t>(GgufType::kF64)) return Failure("value type " + std::to_string(type) + "; 0 to 12 are known");
    value.type = static_cast<GgufType>(type);
    if (value.type == GgufType::kString) {
      TRY(value.bytes, strings(value.count));
      return value;
    }
    const auto bytes = checked_mul(value.count, scalar_bytes(type));
    if (!bytes || *bytes > in_.left_in_file()) {
      return Failure("array of " + std::to_string(value.count) + " " + std::string(gguf_type_name(value.type)) +
                     " does not fit in the " + std::to_string(in_.left_in_file()) + " bytes left");
    }
    TRY(value.bytes, in_.take(*bytes, "a value"));
    if (value.type == GgufType::kBool && value.bytes.find_first_not_of(std::string_view("\0\1", 2)) != std::string::npos) {
      return Failure("bool that is neither 0 nor 1");
    }
    return value;
  }

  // The stored bytes of `count` strings, lengths included.
  Result<std::string> strings(uint64_t count) {
    if (count > in_.left_in_file() / 8) {
      return Failure("array of " + std::to_string(count) + " strings does not fit in the " +
                     std::to_string(in_.left_in_file()) + " bytes left");
    }
    TRY(const std::string_view bytes, in_.texts(count));
    return std::string(bytes);
  }

  Status tensor_info() {
    TensorInfo tensor;
    TRY(tensor.name, in_.text(kMaxNameBytes, "a tensor name"));
    if (tensor.name.empty() || !is_utf8(tensor.name)) return Failure("tensor name " + in_quotes(tensor.name) + " is empty or not UTF-8");
    auto read = tensor_fields(tensor);
    if (!read.ok()) return std::move(read).failure().in("tensor " + in_quotes(tensor.name));
    header_.tensors.push_back(std::move(tensor));
    return Done{};
  }

  Status tensor_fields(TensorInfo& tensor) {
    TRY(const uint32_t rank, in_.number<uint32_t>("a rank"));
    if (rank < 1 || rank > 4) return Failure(std::to_string(rank) + " dimensions; 1 to 4 are read");
    uint64_t count = 1;
    for (uint32_t i = 0; i < rank; ++i) {
      TRY(const uint64_t dim, in_.number<uint64_t>("a dimension"));
      if (dim == 0) return Failure("dimension " + std::to_string(i) + " is 0");
      const auto product = checked_mul(count, dim);
      if (!product || *product > static_cast<uint64_t>(INT64_MAX)) return Failure("product of the dimensions passes 2^63");
      count = *product;
      tensor.shape.insert(tensor.shape.begin(), dim);
    }
    TRY(const uint32_t type, in_.number<uint32_t>("a tensor type"));
    TRY_STATUS(set_type(tensor, type, count));
    TRY(tensor.offset, in_.number<uint64_t>("an offset"));
    return Done{};
  }

  static Status set_type(TensorInfo& tensor, uint32_t type, uint64_t count) {
    const auto form = quant_form_of_gguf(type);
    if (!form) return Failure(unread_type(type));
    const uint64_t block = static_cast<uint64_t>(block_weights(*form));
    if (tensor.shape.back() % block != 0) {
      return Failure("rows of " + shape_text(tensor.shape) + " are not whole blocks of " + std::to_string(block) + " (type " +
                     std::string(quant_form_name(*form)) + ")");
    }
    const auto bytes = checked_mul(count / block, static_cast<uint64_t>(block_bytes(*form)));
    if (!bytes) return Failure("size of " + shape_text(tensor.shape) + " passes 2^64 bytes");
    tensor.bytes = *bytes;
    if (*form == QuantForm::kF32) tensor.dtype = DType::kF32;
    else if (*form == QuantForm::kF16) tensor.dtype = DType::kF16;
    else if (*form == QuantForm::kBF16) tensor.dtype = DType::kBF16;
    else tensor.dtype = DType::kU8, tensor.blocks = *form;
    return Done{};
  }

  static std::string unread_type(uint32_t type) {
    struct Row { uint32_t number; const char* name; bool removed; };
    constexpr Row kRows[] = {
#define GGUF_UNREAD(number, name, removed) {number, name, removed},
#include "checkpoint/gguf_types.def"
#undef GGUF_UNREAD
    };
    for (const Row& row : kRows) {
      if (row.number != type) continue;
      return "type " + std::to_string(type) + " (" + row.name + ") " + (row.removed ? "was removed from the format" : "is not read");
    }
    return "type " + std::to_string(type) + " is not known";
  }

  Result<uint64_t> alignment() const {
    TRY(const std::optional<uint64_t> given, header_.metadata.unsigned_integer("general.alignment"));
    const uint64_t value = given.value_or(32);
    if (value == 0 || value > kMaxAlignment || (value & (value - 1)) != 0) {
      return Failure("`general.alignment` is " + std::to_string(value) + "; it must be a power of two up to 65536");
    }
    return value;
  }

  // Turns offsets into file offsets; tensors must be aligned, inside the file, and apart.
  Status place_tensors() {
    TRY(const uint64_t align, alignment());
    const uint64_t data_begin = (in_.position() + align - 1) / align * align;
    auto& tensors = header_.tensors;
    for (TensorInfo& tensor : tensors) {
      if (tensor.offset % align != 0) {
        return Failure("tensor " + in_quotes(tensor.name) + ": offset " + std::to_string(tensor.offset) +
                       " is not a multiple of the alignment " + std::to_string(align));
      }
      const uint64_t data_bytes = data_begin > file_bytes_ ? 0 : file_bytes_ - data_begin;
      if (!range_fits(tensor.offset, tensor.bytes, data_bytes)) {
        return Failure("tensor " + in_quotes(tensor.name) + ": offset " + std::to_string(tensor.offset) + " and " +
                       std::to_string(tensor.bytes) + " bytes do not fit in the file's " + std::to_string(data_bytes) +
                       " bytes of data: it is incomplete, download it again");
      }
      tensor.offset += data_begin;
    }
    std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
    for (size_t i = 1; i < tensors.size(); ++i) {
      if (tensors[i].offset < tensors[i - 1].offset + tensors[i - 1].bytes) {
        return Failure("tensors " + in_quotes(tensors[i - 1].name) + " and " + in_quotes(tensors[i].name) + " overlap");
      }
    }
    std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    for (size_t i = 1; i < tensors.size(); ++i) {
      if (tensors[i].name == tensors[i - 1].name) return Failure("tensor " + in_quotes(tensors[i].name) + " appears twice");
    }
    return Done{};
  }

  Cursor in_;
  uint64_t file_bytes_;
  GgufHeader header_;
};

}  // namespace

Result<GgufHeader> parse_gguf_header(std::span<const std::byte> bytes, uint64_t file_bytes) {
  return Parser(bytes, file_bytes).parse();
}

Result<GgufHeader> read_gguf_header(const InputFile& file) {
  const std::string name = "`" + escape_for_message(file.path().string(), 400) + "`";
  std::vector<std::byte> prefix;
  // The header's length is not stored: read ever longer beginnings until it is whole.
  for (uint64_t length = uint64_t{1} << 20;; length *= 2) {
    prefix.resize(std::min({length, file.size(), kMaxHeaderBytes}));
    auto read = file.read(0, prefix);
    if (!read.ok()) return std::move(read).failure().in(name);
    Parser parser(prefix, file.size());
    auto header = parser.parse();
    if (header.ok()) return header;
    if (!parser.wants_more()) return std::move(header).failure().in(name);
    if (prefix.size() == kMaxHeaderBytes) return Failure("header is longer than " + with_thousands(kMaxHeaderBytes) + " bytes").in(name);
  }
}

}  // namespace scratchy
