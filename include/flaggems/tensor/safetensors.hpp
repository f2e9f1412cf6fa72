// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Hugging Face's file format for named tensors: the length of a JSON header, the header, the
// elements. https://github.com/huggingface/safetensors (docs: "Format")
#pragma once

#include <flaggems/tensor/file.hpp>
#include <flaggems/tensor/json.hpp>

#include <cstdlib>
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
  std::string_view name;
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

// Pointers are sorted, by std::qsort: sorts of std would be compiled for each type and order.
/// Which of two pointers to a T comes first by its name, as std::qsort asks.
template <class T>
int compare_names(const void* a, const void* b) {
  return (*static_cast<const T* const*>(a))->name.compare((*static_cast<const T* const*>(b))->name);
}
/// Pointers to all of some, in order.
template <class T>
std::vector<const T*> ordered(std::span<const T> some,
                              int (*compare)(const void*, const void*) = compare_names<T>) {
  std::vector<const T*> order(some.size());
  for (std::size_t i = 0; i < some.size(); ++i) order[i] = &some[i];
  if (!order.empty()) std::qsort(order.data(), order.size(), sizeof(const T*), compare);
  return order;
}
/// A name that occurs twice, or null. They are ordered by name.
template <class T>
const std::string* repeated_name(const std::vector<const T*>& order) {
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i]->name == order[i - 1]->name) return &order[i]->name;
  return nullptr;
}

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
    std::size_t first = 0;
    for (std::size_t last = tensors_.size(); first < last;) {
      const std::size_t middle = first + (last - first) / 2;
      if (tensors_[middle].name < name)
        first = middle + 1;
      else
        last = middle;
    }
    return first < tensors_.size() && tensors_[first].name == name ? &tensors_[first].view
                                                                   : nullptr;
  }
  /// The tensor of this name. Raises invalid_argument if there is none.
  [[nodiscard]] FLAGGEMS_ONCE const any_view<host>& at(std::string_view name) const {
    const any_view<host>* found = find(name);
    if (found == nullptr) [[unlikely]]
      raise(errc::invalid_argument, "safetensors", "the name of a tensor in the file",
            detail::text("'") + name + "'");
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

  FLAGGEMS_ONCE void parse(byte_span bytes, const detail::file_source& source) {
    if (bytes.size() < 8) [[unlikely]]
      source.refuse("8 bytes for the length of the header", detail::text(bytes.size()));
    const u64 length = detail::load_unsigned(bytes.data(), 8);
    if (length > bytes.size() - 8 || length > detail::longest_safetensors_header) [[unlikely]]
      source.refuse("a header of at most 100000000 bytes that ends within the file's " +
                        detail::text(bytes.size()),
                    detail::text(length));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data() + 8),
                                static_cast<std::size_t>(length));
    source.check(!text.empty() && text[0] == '{', "a header that begins with '{'",
                 "something else");

    std::vector<entry> entries;
    bool has_metadata = false;
    detail::json_reader json(text, source);
    std::vector<named_text> texts;
    for (json.open('{'); json.next('}');) {
      const std::string_view name = json.key();
      if (name != "__metadata__") {
        entries.emplace_back().name = name;
        read_entry(json, entries.back(), source);
        continue;
      }
      source.check(!std::exchange(has_metadata, true), "one __metadata__", "two");
      for (json.open('{'); json.next('}');) {
        texts.emplace_back().name = json.key();
        texts.back().text = json.string();
      }
    }
    json.expect_end();

    const auto texts_by_name = detail::ordered<named_text>(texts);
    refuse_repeated(detail::repeated_name(texts_by_name), source);
    metadata_.resize(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) metadata_[i] = *texts_by_name[i];
    const auto by_name = detail::ordered<entry>(entries);
    refuse_repeated(detail::repeated_name(by_name), source);
    const byte_span data = bytes.subspan(8 + static_cast<std::size_t>(length));
    check_ranges(entries, data, source);
    place(by_name, data, source);
  }

  static void read_entry(detail::json_reader& json, entry& e, const detail::file_source& source) {
    const std::string& name = e.name;
    bool has_type = false, has_sizes = false, has_range = false;
    for (json.open('{'); json.next('}');) {
      const std::string_view key = json.key();
      if (key == "dtype" && !std::exchange(has_type, true)) {
        const std::string_view type = json.string();
        const detail::safetensors_type* found = nullptr;
        for (const detail::safetensors_type& t : detail::safetensors_types)
          if (type == t.name) found = &t;
        if (found == nullptr) [[unlikely]]
          refuse(source, "a dtype that we have", name, detail::text("'") + type + "'",
                 errc::not_supported);
        e.type = found->type;
      } else if (key == "shape" && !std::exchange(has_sizes, true)) {
        for (json.open('['); json.next(']');) {
          if (e.sizes.rank() == max_rank) [[unlikely]]
            refuse(source, "at most 8 dimensions", name, "more", errc::not_supported);
          e.sizes.push_back(json.integer());
        }
      } else if (key == "data_offsets" && !std::exchange(has_range, true)) {
        json.expect('[');
        e.begin = json.integer();
        json.expect(',');
        e.end = json.integer();
        json.expect(']');
      } else {
        refuse(source, "the keys dtype, shape and data_offsets, each once", name, key);
      }
    }
    if (!(has_type && has_sizes && has_range)) [[unlikely]]
      refuse(source, "the keys dtype, shape and data_offsets", name, "fewer");
    i64 size = 0;
    if (!detail::array_bytes(e.sizes, e.type, size) || e.begin > e.end || e.end - e.begin != size)
        [[unlikely]]
      refuse(source, "data_offsets whose difference is what dtype and shape require", name,
             to_string(int_list{e.begin, e.end}));
  }

  static int compare_ranges(const void* a, const void* b) {
    const entry &x = **static_cast<const entry*const*>(a),
                &y = **static_cast<const entry*const*>(b);
    const bool differ = x.begin != y.begin;
    return (differ ? x.begin < y.begin : x.end < y.end) ? -1 : differ || x.end != y.end ? 1 : 0;
  }
  /// The entries' parts of `data` must cover it exactly.
  static void check_ranges(const std::vector<entry>& entries, byte_span data,
                           const detail::file_source& source) {
    i64 next = 0;
    for (const entry* e : detail::ordered<entry>(entries, compare_ranges)) {
      if (e->begin != next) [[unlikely]]
        refuse(source, "data_offsets that begin where those before end", e->name,
               to_string(int_list{e->begin, e->end}));
      next = e->end;
    }
    if (static_cast<u64>(next) != data.size()) [[unlikely]]
      source.refuse(detail::text(next) + " bytes of elements", detail::text(data.size()));
  }

  /// Makes the views. The format does not align elements; misaligned ones are copied.
  FLAGGEMS_ONCE void place(const std::vector<const entry*>& entries, byte_span data,
                           const detail::file_source& source) {
    const auto needs_copy = [&](const entry& e) {
      const u64 address = reinterpret_cast<u64>(data.data()) + static_cast<u64>(e.begin);
      return e.begin != e.end && address % static_cast<u64>(size_of(e.type)) != 0;
    };
    constexpr std::size_t alignment = 64;
    std::size_t copied = 0;
    for (const entry* e : entries)
      if (needs_copy(*e))
        copied +=
            (static_cast<std::size_t>(e->end - e->begin) + alignment - 1) / alignment * alignment;
    if (copied != 0) copies_ = detail::aligned_bytes(copied, op);

    std::byte* to = copies_.data();
    tensors_.resize(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const entry& e = *entries[i];
      byte_span bytes = data.subspan(static_cast<std::size_t>(e.begin),
                                     static_cast<std::size_t>(e.end - e.begin));
      if (e.type == dtype::bool_ && !detail::are_bools(bytes)) [[unlikely]]
        refuse(source, "booleans that are 0 or 1", e.name, "others");
      if (needs_copy(e)) {
        std::memcpy(to, bytes.data(), bytes.size());
        bytes = {to, bytes.size()};
        to += (bytes.size() + alignment - 1) / alignment * alignment;
      }
      tensors_[i].name = e.name;
      tensors_[i].view = any_view<host>(static_cast<const void*>(bytes.data()), e.type, e.sizes);
    }
  }

  static void refuse_repeated(const std::string* name, const detail::file_source& source) {
    if (name != nullptr) [[unlikely]]
      refuse(source, "each name once", *name, "twice");
  }
  [[noreturn]] FLAGGEMS_COLD static void refuse(const detail::file_source& source,
                                                const char* expected, std::string_view name,
                                                std::string_view got, errc code = errc::bad_file) {
    source.refuse(code, detail::text(expected) + " for '" + name + "'", got);
  }

  detail::file_view file_;
  detail::aligned_bytes copies_;
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
/// a name that is repeated or "__metadata__" and for names and texts that are not UTF-8,
/// not_supported for c128, bad_file if the file cannot be written.
FLAGGEMS_ONCE void save_safetensors(const std::string& path, std::span<const named_view> tensors,
                                    std::span<const named_text> metadata = {}) {
  const char* op = "save_safetensors";
  const std::string* const repeated[] = {
      detail::repeated_name(detail::ordered<named_view>(tensors)),
      detail::repeated_name(detail::ordered<named_text>(metadata))};
  for (const std::string* name : repeated)
    if (name != nullptr) [[unlikely]]
      raise(errc::invalid_argument, op, "each name once", detail::text("'") + *name + "' twice");
  const auto check_text = [op](const std::string& text, const char* what) {
    if (!detail::is_utf8(text)) [[unlikely]]
      raise(errc::invalid_argument, op, detail::text(what) + " in UTF-8", "other bytes");
  };
  for (const named_view& t : tensors) check_text(t.name, "names");
  for (const named_text& m : metadata) check_text(m.name, "names"), check_text(m.text, "texts");
  const auto order = detail::ordered<named_view>(tensors, [](const void* a, const void* b) {
    const i64 wide_a = size_of((*static_cast<const named_view* const*>(a))->view.dtype());
    const i64 wide_b = size_of((*static_cast<const named_view* const*>(b))->view.dtype());
    return wide_a != wide_b ? (wide_a > wide_b ? -1 : 1) : detail::compare_names<named_view>(a, b);
  });

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
    std::string_view type;
    for (const detail::safetensors_type& known : detail::safetensors_types)
      if (known.type == t->view.dtype()) type = known.name;
    if (type.empty()) [[unlikely]]
      raise(errc::not_supported, op, detail::text("a dtype of the format for '") + t->name + "'",
            to_string(t->view.dtype()));
    check(t->name != "__metadata__", errc::invalid_argument, op, "a name other than __metadata__");
    if (header.size() > 1) header += ',';
    header += detail::json_quoted(t->name) + ":{\"dtype\":\"";
    header += type;
    header += "\",\"shape\":[";
    for (const i64 s : t->view.sizes()) {
      if (header.back() != '[') header += ',';
      header += detail::text(s);
    }
    header += "],\"data_offsets\":[" + detail::text(next) + ",";
    next += t->view.bytes();
    header += detail::text(next) + "]}";
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
