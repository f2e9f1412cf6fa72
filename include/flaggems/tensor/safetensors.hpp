// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Hugging Face's file format for named tensors: the length of a JSON header, the header, the
// elements. https://github.com/huggingface/safetensors (docs: "Format")
#pragma once

#include <flaggems/tensor/file.hpp>
#include <flaggems/tensor/json.hpp>

#include <algorithm>
#include <vector>

namespace flaggems {

/// A tensor with its name in a file.
struct named_view {
  std::string name;
  any_view<host> view;
};

/// A text with its name in a file.
struct named_text {
  std::string name, text;
};

namespace detail {

struct safetensors_type {
  const char* name;
  dtype type;
};
inline constexpr safetensors_type safetensors_types[] = {
    {"F64", dtype::f64},   {"F32", dtype::f32},        {"F16", dtype::f16},
    {"BF16", dtype::bf16}, {"F8_E4M3", dtype::f8e4m3}, {"F8_E5M2", dtype::f8e5m2},
    {"I8", dtype::i8},     {"I16", dtype::i16},        {"I32", dtype::i32},
    {"I64", dtype::i64},   {"U8", dtype::u8},          {"U16", dtype::u16},
    {"U32", dtype::u32},   {"U64", dtype::u64},        {"BOOL", dtype::bool_},
    {"C64", dtype::c64}};

/// The longest accepted header, that of the reference implementation.
inline constexpr u64 longest_safetensors_header = 100'000'000;

}  // namespace detail

/// The tensors of a .safetensors file, sorted by name. The elements stay in the mapped file; views
/// have const elements and are valid while this object (or the one it was moved to) lives.
class safetensors {
 public:
  /// From bytes that outlive this object. Raises bad_file for any violation of the format: lengths,
  /// ranges that overlap, leave holes or differ from the sizes, duplicate names; not_supported for
  /// element types that we lack and more than 8 dimensions.
  explicit safetensors(byte_span bytes) { parse(bytes, {op}); }
  /// The same from a file, which errors name.
  safetensors(detail::file_view file, const std::string& path) : file_(std::move(file)) {
    parse(file_.span(), {op, path});
  }

  /// All tensors, sorted by name.
  [[nodiscard]] const std::vector<named_view>& tensors() const noexcept { return tensors_; }
  /// The texts under "__metadata__", sorted by name.
  [[nodiscard]] const std::vector<named_text>& metadata() const noexcept { return metadata_; }
  /// The tensor of this name, or null.
  [[nodiscard]] const any_view<host>* find(std::string_view name) const noexcept {
    const auto it = std::lower_bound(
        tensors_.begin(), tensors_.end(), name,
        [](const named_view& one, std::string_view key) { return one.name < key; });
    return it != tensors_.end() && it->name == name ? &it->view : nullptr;
  }
  /// The tensor of this name. Raises invalid_argument if there is none.
  [[nodiscard]] const any_view<host>& at(std::string_view name) const {
    const any_view<host>* found = find(name);
    if (found == nullptr) [[unlikely]]
      raise(errc::invalid_argument, "safetensors", "the name of a tensor in the file",
            "'" + std::string(name) + "'");
    return *found;
  }

 private:
  static constexpr const char* op = "load_safetensors";

  struct entry {
    std::string name;
    dtype type = dtype::f32;
    shape sizes;
    i64 begin = 0, end = 0;
  };

  void parse(byte_span bytes, const detail::file_source& source) {
    if (bytes.size() < 8) [[unlikely]]
      source.refuse("8 bytes for the length of the header", std::to_string(bytes.size()));
    const u64 length = detail::load_unsigned(bytes.data(), 8);
    if (length > bytes.size() - 8 || length > detail::longest_safetensors_header) [[unlikely]]
      source.refuse("a header of at most 100000000 bytes that ends within the file's " +
                        std::to_string(bytes.size()),
                    std::to_string(length));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data() + 8),
                                static_cast<std::size_t>(length));
    source.check(!text.empty() && text[0] == '{', "a header that begins with '{'",
                 "something else");

    std::vector<entry> entries;
    bool has_metadata = false;
    detail::json_reader json(text, source);
    json.object([&](const std::string& name) {
      if (name == "__metadata__") {
        source.check(!std::exchange(has_metadata, true), "one __metadata__", "two");
        json.object([&](const std::string& key) { metadata_.push_back({key, json.string()}); });
      } else {
        entries.push_back(read_entry(json, name, source));
      }
    });
    json.expect_end();

    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::sort(metadata_.begin(), metadata_.end(), by_name);
    refuse_duplicates(metadata_, source);
    std::sort(entries.begin(), entries.end(), by_name);
    refuse_duplicates(entries, source);
    place(entries, bytes.subspan(8 + static_cast<std::size_t>(length)), source);
  }

  static entry read_entry(detail::json_reader& json, const std::string& name,
                          const detail::file_source& source) {
    entry e;
    e.name = name;
    bool has_type = false, has_sizes = false, has_range = false;
    json.object([&](const std::string& key) {
      if (key == "dtype" && !std::exchange(has_type, true)) {
        const std::string type = json.string();
        const detail::safetensors_type* found = nullptr;
        for (const detail::safetensors_type& t : detail::safetensors_types)
          if (type == t.name) found = &t;
        if (found == nullptr) [[unlikely]]
          source.refuse(errc::not_supported, "a dtype that we have for '" + name + "'",
                        "'" + type + "'");
        e.type = found->type;
      } else if (key == "shape" && !std::exchange(has_sizes, true)) {
        json.array([&] {
          if (e.sizes.rank() == max_rank) [[unlikely]]
            source.refuse(errc::not_supported, "at most 8 dimensions for '" + name + "'", "more");
          e.sizes.push_back(json.integer());
        });
      } else if (key == "data_offsets" && !std::exchange(has_range, true)) {
        json.expect('[');
        e.begin = json.integer();
        json.expect(',');
        e.end = json.integer();
        json.expect(']');
      } else {
        refuse(source, "the keys dtype, shape and data_offsets, each once", name, key);
      }
    });
    if (!(has_type && has_sizes && has_range)) [[unlikely]]
      refuse(source, "the keys dtype, shape and data_offsets", name, "fewer");
    i64 size = 0;
    if (!detail::array_bytes(e.sizes, e.type, size) || e.begin > e.end || e.end - e.begin != size)
        [[unlikely]]
      refuse(source, "data_offsets whose difference is what dtype and shape require", name,
             to_string(int_list{e.begin, e.end}));
    return e;
  }

  /// Assigns each entry its part of `data`; together they must cover it exactly.
  void place(const std::vector<entry>& entries, byte_span data, const detail::file_source& source) {
    std::vector<const entry*> order;
    order.reserve(entries.size());
    for (const entry& e : entries) order.push_back(&e);
    std::sort(order.begin(), order.end(), [](const entry* a, const entry* b) {
      return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
    });
    i64 next = 0;
    for (const entry* e : order) {
      if (e->begin != next) [[unlikely]]
        refuse(source, "data_offsets that begin where those before end", e->name,
               to_string(int_list{e->begin, e->end}));
      next = e->end;
    }
    if (static_cast<u64>(next) != data.size()) [[unlikely]]
      source.refuse(std::to_string(next) + " bytes of elements", std::to_string(data.size()));

    tensors_.reserve(entries.size());
    for (const entry& e : entries) {
      byte_span bytes = data.subspan(static_cast<std::size_t>(e.begin),
                                     static_cast<std::size_t>(e.end - e.begin));
      if (e.type == dtype::bool_ && !detail::are_bools(bytes)) [[unlikely]]
        refuse(source, "booleans that are 0 or 1", e.name, "others");
      // The format does not align elements; misaligned ones are copied.
      const u64 alignment = static_cast<u64>(size_of(e.type));
      if (!bytes.empty() && reinterpret_cast<u64>(bytes.data()) % alignment != 0) {
        copies_.emplace_back(bytes.size(), op);
        std::memcpy(copies_.back().data(), bytes.data(), bytes.size());
        bytes = copies_.back().span();
      }
      tensors_.push_back(
          {e.name, any_view<host>(static_cast<const void*>(bytes.data()), e.type, e.sizes)});
    }
  }

  template <class Entry>
  static void refuse_duplicates(const std::vector<Entry>& sorted,
                                const detail::file_source& source) {
    for (std::size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i].name == sorted[i - 1].name) [[unlikely]]
        refuse(source, "each name once", sorted[i].name, "twice");
  }
  [[noreturn]] FLAGGEMS_COLD static void refuse(const detail::file_source& source,
                                                const char* expected, const std::string& name,
                                                const std::string& got) {
    source.refuse(std::string(expected) + " for '" + name + "'", got);
  }

  detail::file_view file_;
  std::vector<detail::aligned_bytes> copies_;
  std::vector<named_view> tensors_;
  std::vector<named_text> metadata_;
};

/// Maps the .safetensors file `path`. Raises as `safetensors`, and bad_file if it cannot be read or
/// is no regular file.
[[nodiscard]] inline safetensors load_safetensors(const std::string& path) {
  return safetensors(detail::file_view(path, "load_safetensors"), path);
}

/// Writes tensors, in row-major order, to the .safetensors file `path`, widest elements first so
/// that all are aligned. The file is replaced atomically: mappings of the old one stay valid
/// (`tensors` may be views of it), and it is unchanged if this raises. Raises invalid_argument for
/// a name that is repeated or "__metadata__", not_supported for c128, bad_file if the file cannot
/// be written.
inline void save_safetensors(const std::string& path, std::span<const named_view> tensors,
                             std::span<const named_text> metadata = {}) {
  const char* op = "save_safetensors";
  std::vector<const named_view*> order;
  for (const named_view& t : tensors) order.push_back(&t);
  std::sort(order.begin(), order.end(), [](const named_view* a, const named_view* b) {
    const i64 wide_a = size_of(a->view.dtype()), wide_b = size_of(b->view.dtype());
    return wide_a != wide_b ? wide_a > wide_b : a->name < b->name;
  });
  const auto refuse_duplicates = [op](auto entries) {
    std::vector<std::string_view> names;
    for (const auto& e : entries) names.push_back(e.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) [[unlikely]]
      raise(errc::invalid_argument, op, "each name once", "'" + std::string(*twice) + "' twice");
  };
  refuse_duplicates(tensors);
  refuse_duplicates(metadata);

  std::string header = "{";
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const named_text& m : metadata) {
      if (header.back() != '{') header += ',';
      header += detail::json_quoted(m.name) + ':' + detail::json_quoted(m.text);
    }
    header += '}';
  }
  i64 next = 0;
  for (const named_view* t : order) {
    const char* type = nullptr;
    for (const detail::safetensors_type& known : detail::safetensors_types)
      if (known.type == t->view.dtype()) type = known.name;
    if (type == nullptr) [[unlikely]]
      raise(errc::not_supported, op, "a dtype of the format for '" + t->name + "'",
            std::string(to_string(t->view.dtype())));
    check(t->name != "__metadata__", errc::invalid_argument, op, "a name other than __metadata__");
    if (header.size() > 1) header += ',';
    header += detail::json_quoted(t->name) + ":{\"dtype\":\"" + type + "\",\"shape\":[";
    for (const i64 s : t->view.sizes()) {
      if (header.back() != '[') header += ',';
      header += std::to_string(s);
    }
    header += "],\"data_offsets\":[" + std::to_string(next) + ',';
    next += t->view.bytes();
    header += std::to_string(next) + "]}";
  }
  header += '}';
  while (header.size() % 8 != 0) header += ' ';
  check(header.size() <= detail::longest_safetensors_header, errc::invalid_argument, op,
        "a header of at most 100000000 bytes");

  detail::new_file out(path, op);
  const u64 length = header.size();
  out.write(&length, sizeof length);
  out.write(header.data(), header.size());
  for (const named_view* t : order) detail::write_elements(out, t->view);
  out.close();
}

}  // namespace flaggems
