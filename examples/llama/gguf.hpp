// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A reader for GGUF files, versions 2 and 3
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). The file is mapped, not read:
// metadata and tensors are views of the mapping. Nothing in the file is trusted; every count,
// length, offset and product is checked against the file's size before use.
#pragma once

#include <flaggems/error.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace llama {

/// The type of a metadata value, numbered as in the file.
enum class value_type : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};

/// The type of a tensor's elements, numbered as in the file. The types this program computes with
/// have names; the others are known by `describe` only, so that they can be refused by name.
enum class tensor_type : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q8_0 = 8,
  bf16 = 30
};

/// Name and storage of a tensor type: `block` consecutive elements take `bytes` bytes.
struct type_layout {
  tensor_type type;
  const char* name;
  std::uint32_t block;
  std::uint32_t bytes;
  bool supported;  ///< this program can compute with it
};

/// The layout of `type`, or null for a number that ggml does not define.
[[nodiscard]] inline const type_layout* describe(tensor_type type) noexcept {
  // Source: ggml.h and ggml-common.h (block structures).
  static constexpr auto id = [](std::uint32_t n) { return static_cast<tensor_type>(n); };
  static constexpr std::array<type_layout, 33> table{{
      {id(0), "F32", 1, 4, true},          {id(1), "F16", 1, 2, true},
      {id(2), "Q4_0", 32, 18, true},       {id(3), "Q4_1", 32, 20, true},
      {id(6), "Q5_0", 32, 22, false},      {id(7), "Q5_1", 32, 24, false},
      {id(8), "Q8_0", 32, 34, true},       {id(9), "Q8_1", 32, 36, false},
      {id(10), "Q2_K", 256, 84, false},    {id(11), "Q3_K", 256, 110, false},
      {id(12), "Q4_K", 256, 144, false},   {id(13), "Q5_K", 256, 176, false},
      {id(14), "Q6_K", 256, 210, false},   {id(15), "Q8_K", 256, 292, false},
      {id(16), "IQ2_XXS", 256, 66, false}, {id(17), "IQ2_XS", 256, 74, false},
      {id(18), "IQ3_XXS", 256, 98, false}, {id(19), "IQ1_S", 256, 50, false},
      {id(20), "IQ4_NL", 32, 18, false},   {id(21), "IQ3_S", 256, 110, false},
      {id(22), "IQ2_S", 256, 82, false},   {id(23), "IQ4_XS", 256, 136, false},
      {id(24), "I8", 1, 1, false},         {id(25), "I16", 1, 2, false},
      {id(26), "I32", 1, 4, false},        {id(27), "I64", 1, 8, false},
      {id(28), "F64", 1, 8, false},        {id(29), "IQ1_M", 256, 56, false},
      {id(30), "BF16", 1, 2, true},        {id(34), "TQ1_0", 256, 54, false},
      {id(35), "TQ2_0", 256, 66, false},   {id(39), "MXFP4", 32, 17, false},
      {id(40), "NVFP4", 64, 36, false},
  }};
  for (const type_layout& row : table)
    if (row.type == type) return &row;
  return nullptr;
}

/// A file mapped for reading. The mapping lives as long as the object.
class mapped_file {
 public:
  mapped_file() = default;
  /// Maps the whole of `path`. Raises bad_file if it cannot be opened, is not a regular file or is
  /// empty. A file that another process shortens while it is mapped is outside any check.
  explicit mapped_file(const std::string& path) {
    // O_NONBLOCK: opening a pipe would wait for somebody who writes.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) refuse(path, "a file that can be opened", std::strerror(errno));
    struct stat status {};
    const bool known = ::fstat(descriptor, &status) == 0;
    if (!known || !S_ISREG(status.st_mode) || status.st_size <= 0) {
      ::close(descriptor);
      refuse(path, "a regular file that is not empty",
             !known || !S_ISREG(status.st_mode) ? "something else" : "0 bytes");
    }
    size_ = static_cast<std::size_t>(status.st_size);
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    const int code = errno;
    ::close(descriptor);
    if (address == MAP_FAILED) {
      size_ = 0;
      refuse(path, "a file that can be mapped", std::strerror(code));
    }
    data_ = static_cast<const std::byte*>(address);
  }
  mapped_file(mapped_file&& other) noexcept { swap(other); }
  mapped_file& operator=(mapped_file&& other) noexcept {
    swap(other);
    return *this;
  }
  ~mapped_file() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

 private:
  [[noreturn]] static void refuse(const std::string& path, const char* expected, const char* got) {
    flaggems::raise(flaggems::errc::bad_file, "'" + path + "'", expected, got);
  }
  void swap(mapped_file& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// One tensor of the file: `dims[0]` is the contiguous dimension (ggml's order, the reverse of
/// PyTorch's); `bytes` is its storage inside the mapping.
struct tensor_info {
  std::string_view name;
  tensor_type type{};
  std::uint32_t rank = 0;
  std::array<std::uint64_t, 4> dims{1, 1, 1, 1};
  std::span<const std::byte> bytes;

  [[nodiscard]] std::uint64_t elements() const noexcept {
    return dims[0] * dims[1] * dims[2] * dims[3];
  }
};

/// A parsed GGUF file. All views it gives point into the mapping (or into the bytes given to
/// `parse`) and are valid while that lives; moving a `gguf` does not invalidate them.
class gguf {
 public:
  /// Maps and parses the file at `path`. Raises bad_file with one line that names the file and
  /// what is wrong.
  [[nodiscard]] static gguf open(const std::string& path) {
    gguf result;
    result.file_ = mapped_file(path);
    result.source_ = "'" + path + "'";
    result.parse_bytes(result.file_.bytes());
    return result;
  }

  /// Parses `bytes`, which the caller keeps alive. The data need no alignment.
  [[nodiscard]] static gguf parse(std::span<const std::byte> bytes, std::string source = "gguf") {
    gguf result;
    result.source_ = std::move(source);
    result.parse_bytes(bytes);
    return result;
  }

  [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
  [[nodiscard]] std::uint64_t alignment() const noexcept { return alignment_; }
  [[nodiscard]] std::span<const tensor_info> tensors() const noexcept { return tensors_; }
  [[nodiscard]] std::size_t metadata_count() const noexcept { return entries_.size(); }
  /// The key of metadata entry `index`, in the file's order.
  [[nodiscard]] std::string_view metadata_key(std::size_t index) const {
    return entries_.at(index).key;
  }
  /// The name by which errors call this file.
  [[nodiscard]] const std::string& source() const noexcept { return source_; }

  [[nodiscard]] bool has(std::string_view key) const { return find_entry(key) != nullptr; }

  /// The scalar or string under `key` as `Value` (bool, an integer or floating-point type, or
  /// std::string_view), or nothing if the key is absent. Any integer type of the file converts to
  /// any other that can hold the value, and integers convert to floating point; everything else
  /// raises bad_file.
  template <class Value>
  [[nodiscard]] std::optional<Value> find(std::string_view key) const {
    const entry* found = find_entry(key);
    if (found == nullptr) return std::nullopt;
    return convert<Value>(*found, found->type, found->data);
  }

  /// As `find`, but an absent key raises bad_file.
  template <class Value>
  [[nodiscard]] Value get(std::string_view key) const {
    const std::optional<Value> value = find<Value>(key);
    if (!value) refuse("the metadata key " + quoted(key), "a file without it");
    return *value;
  }

  /// As `find`, but `otherwise` for an absent key.
  template <class Value>
  [[nodiscard]] Value get_or(std::string_view key, Value otherwise) const {
    return find<Value>(key).value_or(otherwise);
  }

  /// The elements of the flat array under `key`, converted as by `find`; nothing if it is absent.
  template <class Value>
  [[nodiscard]] std::optional<std::vector<Value>> find_array(std::string_view key) const {
    const entry* found = find_entry(key);
    if (found == nullptr) return std::nullopt;
    if (found->type != value_type::array)
      refuse("an array under " + quoted(key), type_name(found->type));
    std::vector<Value> result;
    result.reserve(static_cast<std::size_t>(found->count));
    const std::byte* at = found->data;
    for (std::uint64_t i = 0; i < found->count; ++i) {
      result.push_back(convert<Value>(*found, found->element, at));
      at += found->element == value_type::string ? 8 + load<std::uint64_t>(at)
                                                 : scalar_size(found->element);
    }
    return result;
  }

  /// The tensor called `name`, or null.
  [[nodiscard]] const tensor_info* find_tensor(std::string_view name) const {
    const auto at =
        lower(tensor_index_, name, [this](std::uint32_t i) { return tensors_[i].name; });
    return at == nullptr ? nullptr : &tensors_[*at];
  }

  /// The tensor called `name`, for use: raises bad_file if it is absent or its type is one this
  /// program cannot compute with.
  [[nodiscard]] const tensor_info& tensor(std::string_view name) const {
    const tensor_info* found = find_tensor(name);
    if (found == nullptr) refuse("the tensor " + quoted(name), "a file without it");
    const type_layout* layout = describe(found->type);
    if (!layout->supported)
      refuse("F32, F16, BF16, Q4_0, Q4_1 or Q8_0", std::string("unsupported quantisation ") +
                                                       layout->name + " of tensor " + quoted(name));
    return *found;
  }

  /// Raises bad_file in this file's name.
  [[noreturn]] FLAGGEMS_COLD void refuse(std::string expected, std::string got) const {
    flaggems::raise(flaggems::errc::bad_file, source_, std::move(expected), std::move(got));
  }

  /// `text` in quotes, safe to print: at most 64 characters, anything but printable ASCII as '?'.
  [[nodiscard]] static std::string quoted(std::string_view text) {
    std::string result = "'";
    for (const char c : text.substr(0, 64)) result += c >= 0x20 && c < 0x7f ? c : '?';
    return result.append(text.size() > 64 ? "...'" : "'");
  }

 private:
  struct entry {
    std::string_view key;
    value_type type{};
    value_type element{};     // of an array
    std::uint64_t count = 0;  // of an array
    const std::byte* data = nullptr;
  };

  // A position in the bytes that cannot leave them.
  struct cursor {
    const gguf& owner;
    std::span<const std::byte> bytes;
    std::size_t at = 0;

    [[nodiscard]] std::size_t left() const noexcept { return bytes.size() - at; }
    const std::byte* take(std::uint64_t count, const char* what) {
      if (count > left()) [[unlikely]]
        owner.refuse(
            std::to_string(count) + " bytes for " + what + " at byte " + std::to_string(at),
            "only " + std::to_string(left()) + " before the end of the file");
      const std::byte* result = bytes.data() + at;
      at += static_cast<std::size_t>(count);
      return result;
    }
    template <class Value>
    Value number(const char* what) {
      return load<Value>(take(sizeof(Value), what));
    }
    std::string_view string(const char* what) {
      const auto length = number<std::uint64_t>(what);
      const std::byte* data = take(length, what);
      return {reinterpret_cast<const char*>(data), static_cast<std::size_t>(length)};
    }
  };

  // Little-endian and unaligned in the file; the host is little-endian (checked below).
  template <class Value>
  static Value load(const std::byte* from) noexcept {
    Value value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }

  static constexpr std::uint32_t max_array_depth = 8;

  static constexpr std::size_t scalar_size(value_type type) noexcept {
    switch (type) {
      case value_type::u8:
      case value_type::i8:
      case value_type::boolean: return 1;
      case value_type::u16:
      case value_type::i16: return 2;
      case value_type::u32:
      case value_type::i32:
      case value_type::f32: return 4;
      case value_type::u64:
      case value_type::i64:
      case value_type::f64: return 8;
      case value_type::string:
      case value_type::array: return 0;
    }
    return 0;
  }

  static const char* type_name(value_type type) noexcept {
    static constexpr std::array<const char*, 13> names{"u8",  "i8",  "u16",  "i16",    "u32",
                                                       "i32", "f32", "bool", "string", "array",
                                                       "u64", "i64", "f64"};
    return names[static_cast<std::size_t>(type)];
  }

  static value_type read_type(cursor& in) {
    const auto number = in.number<std::uint32_t>("a value's type");
    if (number > 12)
      in.owner.refuse("a metadata type from 0 to 12",
                      std::to_string(number) + " at byte " + std::to_string(in.at - 4));
    return static_cast<value_type>(number);
  }

  // Moves past the elements of an array, checking them; returns the count.
  static std::uint64_t skip_array(cursor& in, value_type element, std::uint32_t depth) {
    if (depth > max_array_depth)
      in.owner.refuse("arrays nested at most " + std::to_string(max_array_depth) + " deep",
                      "deeper nesting at byte " + std::to_string(in.at));
    const auto count = in.number<std::uint64_t>("an array's length");
    // The smallest encoding of an element bounds the count before anything is multiplied.
    const std::size_t smallest = element == value_type::string  ? 8
                                 : element == value_type::array ? 12
                                                                : scalar_size(element);
    if (count > in.left() / smallest)
      in.owner.refuse("an array that fits in the file",
                      std::to_string(count) + " elements at byte " + std::to_string(in.at));
    if (element == value_type::string) {
      for (std::uint64_t i = 0; i < count; ++i) in.string("a string of an array");
    } else if (element == value_type::array) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const value_type inner = read_type(in);
        skip_array(in, inner, depth + 1);
      }
    } else {
      in.take(count * smallest, "an array");
    }
    return count;
  }

  static std::uint64_t product(const gguf& owner, std::uint64_t left, std::uint64_t right,
                               std::string_view tensor) {
    if (right != 0 &&
        left > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / right)
      owner.refuse("a tensor of less than 2^63 elements", "more in " + quoted(tensor));
    return left * right;
  }

  void parse_bytes(std::span<const std::byte> bytes) {
    cursor in{*this, bytes};
    if (bytes.size() < 4 || std::memcmp(bytes.data(), "GGUF", 4) != 0)
      refuse("a GGUF file (first four bytes 'GGUF')", "another kind of file");
    in.at = 4;
    version_ = in.number<std::uint32_t>("the version");
    if (version_ != 2 && version_ != 3)
      refuse("GGUF version 2 or 3", (version_ & 0xffffU) == 0 && version_ != 0
                                        ? "a big-endian file"
                                        : "version " + std::to_string(version_));
    const auto tensor_count = in.number<std::uint64_t>("the tensor count");
    const auto entry_count = in.number<std::uint64_t>("the metadata count");
    // Smallest encodings: key length + type + one byte; name length + rank + one size + type +
    // offset.
    if (entry_count > in.left() / 13 || tensor_count > in.left() / 32)
      refuse("counts that fit in the file", std::to_string(entry_count) + " metadata entries and " +
                                                std::to_string(tensor_count) + " tensors");
    read_metadata(in, entry_count);
    read_tensors(in, tensor_count);
  }

  void read_metadata(cursor& in, std::uint64_t count) {
    entries_.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
      entry next;
      next.key = in.string("a metadata key");
      next.type = read_type(in);
      if (next.type == value_type::array) {
        next.element = read_type(in);
        const std::size_t start = in.at + 8;
        next.count = skip_array(in, next.element, 1);
        next.data = in.bytes.data() + start;
      } else if (next.type == value_type::string) {
        next.data = in.bytes.data() + in.at;
        in.string("a metadata string");
      } else {
        next.data = in.take(scalar_size(next.type), "a metadata value");
      }
      entries_.push_back(next);
    }
    entry_index_ = sorted_index(
        entries_.size(), [this](std::uint32_t i) { return entries_[i].key; }, "metadata keys");
    alignment_ = get_or<std::uint32_t>("general.alignment", 32);
    if (alignment_ == 0 || (alignment_ & (alignment_ - 1)) != 0)
      refuse("a general.alignment that is a power of two", std::to_string(alignment_));
  }

  void read_tensors(cursor& in, std::uint64_t count) {
    std::vector<std::uint64_t> offsets, sizes;
    tensors_.reserve(static_cast<std::size_t>(count));
    offsets.reserve(static_cast<std::size_t>(count));
    sizes.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
      tensor_info next;
      next.name = in.string("a tensor's name");
      next.rank = in.number<std::uint32_t>("a tensor's rank");
      if (next.rank < 1 || next.rank > 4)
        refuse("a rank from 1 to 4", std::to_string(next.rank) + " of tensor " + quoted(next.name));
      std::uint64_t elements = 1;
      for (std::uint32_t d = 0; d < next.rank; ++d) {
        next.dims[d] = in.number<std::uint64_t>("a tensor's size");
        elements = product(*this, elements, next.dims[d], next.name);
      }
      const auto type = in.number<std::uint32_t>("a tensor's type");
      next.type = static_cast<tensor_type>(type);
      const type_layout* layout = describe(next.type);
      if (layout == nullptr)
        refuse("a tensor type that ggml defines",
               "number " + std::to_string(type) + " of tensor " + quoted(next.name));
      if (next.dims[0] % layout->block != 0)
        refuse("rows of a multiple of " + std::to_string(layout->block) + " elements for " +
                   layout->name,
               std::to_string(next.dims[0]) + " of tensor " + quoted(next.name));
      offsets.push_back(in.number<std::uint64_t>("a tensor's offset"));
      sizes.push_back(product(*this, elements / layout->block, layout->bytes, next.name));
      tensors_.push_back(next);
    }
    tensor_index_ = sorted_index(
        tensors_.size(), [this](std::uint32_t i) { return tensors_[i].name; }, "tensor names");
    locate_tensors(in, offsets, sizes);
  }

  // Tensor data begin at the next multiple of the alignment; offsets count from there.
  void locate_tensors(const cursor& in, const std::vector<std::uint64_t>& offsets,
                      const std::vector<std::uint64_t>& sizes) {
    if (tensors_.empty()) return;
    const std::uint64_t padding = (alignment_ - in.at % alignment_) % alignment_;
    const std::uint64_t room = padding > in.left() ? 0 : in.left() - padding;
    const std::uint64_t start = in.bytes.size() - room;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (offsets[i] % alignment_ != 0)
        refuse("offsets that are multiples of " + std::to_string(alignment_),
               std::to_string(offsets[i]) + " of tensor " + quoted(tensors_[i].name));
      if (offsets[i] > room || sizes[i] > room - offsets[i])
        refuse(std::to_string(sizes[i]) + " bytes of tensor " + quoted(tensors_[i].name) +
                   " at offset " + std::to_string(offsets[i]) + " of the data",
               std::to_string(room) + " bytes of data (a truncated file?)");
      tensors_[i].bytes = in.bytes.subspan(static_cast<std::size_t>(start + offsets[i]),
                                           static_cast<std::size_t>(sizes[i]));
    }
    std::vector<std::uint32_t> order(tensors_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return offsets[a] != offsets[b] ? offsets[a] < offsets[b] : sizes[a] < sizes[b];
    });
    for (std::size_t i = 1; i < order.size(); ++i)
      if (offsets[order[i - 1]] + sizes[order[i - 1]] > offsets[order[i]])
        refuse("tensors that do not overlap",
               quoted(tensors_[order[i - 1]].name) + " over " + quoted(tensors_[order[i]].name));
  }

  template <class Name>
  std::vector<std::uint32_t> sorted_index(std::size_t count, Name name, const char* what) const {
    std::vector<std::uint32_t> index(count);
    std::iota(index.begin(), index.end(), 0U);
    std::sort(index.begin(), index.end(),
              [&](std::uint32_t a, std::uint32_t b) { return name(a) < name(b); });
    for (std::size_t i = 1; i < count; ++i)
      if (name(index[i - 1]) == name(index[i]))
        refuse(std::string("distinct ") + what, quoted(name(index[i])) + " twice");
    return index;
  }

  template <class Name>
  static const std::uint32_t* lower(const std::vector<std::uint32_t>& index, std::string_view key,
                                    Name name) {
    const auto at =
        std::lower_bound(index.begin(), index.end(), key,
                         [&](std::uint32_t i, std::string_view k) { return name(i) < k; });
    return at != index.end() && name(*at) == key ? &*at : nullptr;
  }

  [[nodiscard]] const entry* find_entry(std::string_view key) const {
    const auto at = lower(entry_index_, key, [this](std::uint32_t i) { return entries_[i].key; });
    return at == nullptr ? nullptr : &entries_[*at];
  }

  template <class Value>
  Value convert(const entry& from, value_type type, const std::byte* data) const {
    if constexpr (std::is_same_v<Value, std::string_view>) {
      if (type != value_type::string) refuse("a string under " + quoted(from.key), type_name(type));
      return {reinterpret_cast<const char*>(data + 8),
              static_cast<std::size_t>(load<std::uint64_t>(data))};
    } else {
      static_assert(std::is_arithmetic_v<Value>, "llama::gguf: bool, a number or std::string_view");
      switch (type) {
        case value_type::u8: return narrow<Value>(from, load<std::uint8_t>(data));
        case value_type::i8: return narrow<Value>(from, load<std::int8_t>(data));
        case value_type::u16: return narrow<Value>(from, load<std::uint16_t>(data));
        case value_type::i16: return narrow<Value>(from, load<std::int16_t>(data));
        case value_type::u32: return narrow<Value>(from, load<std::uint32_t>(data));
        case value_type::i32: return narrow<Value>(from, load<std::int32_t>(data));
        case value_type::u64: return narrow<Value>(from, load<std::uint64_t>(data));
        case value_type::i64: return narrow<Value>(from, load<std::int64_t>(data));
        case value_type::f32:
          if constexpr (std::is_floating_point_v<Value>)
            return static_cast<Value>(load<float>(data));
          break;
        case value_type::f64:
          if constexpr (std::is_floating_point_v<Value>)
            return static_cast<Value>(load<double>(data));
          break;
        case value_type::boolean:
          if constexpr (std::is_same_v<Value, bool>) return load<std::uint8_t>(data) != 0;
          break;
        case value_type::string:
        case value_type::array: break;
      }
      refuse(std::string(std::is_same_v<Value, bool>       ? "a bool"
                         : std::is_floating_point_v<Value> ? "a number"
                                                           : "an integer") +
                 " under " + quoted(from.key),
             type_name(type));
    }
  }

  template <class Value, class Stored>
  Value narrow(const entry& from, Stored stored) const {
    if constexpr (std::is_same_v<Value, bool>) {
      refuse("a bool under " + quoted(from.key), "an integer");
    } else if constexpr (std::is_floating_point_v<Value>) {
      return static_cast<Value>(stored);
    } else {
      if (!std::in_range<Value>(stored))
        refuse("a value of at most " + std::to_string(8 * sizeof(Value)) + " bits under " +
                   quoted(from.key),
               std::to_string(stored));
      return static_cast<Value>(stored);
    }
  }

  mapped_file file_;
  std::string source_;
  std::uint32_t version_ = 0;
  std::uint64_t alignment_ = 32;
  std::vector<entry> entries_;
  std::vector<tensor_info> tensors_;
  std::vector<std::uint32_t> entry_index_, tensor_index_;  // sorted by name
};

}  // namespace llama
