// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// NumPy's file format for one array (.npy), versions 1 to 3.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <flaggems/tensor/file.hpp>

namespace flaggems {

/// An array from a .npy file, with its memory.
class npy_array {
 public:
  npy_array(detail::aligned_bytes bytes, dtype type, const shape& sizes, const shape& strides)
      : bytes_(std::move(bytes)), view_(bytes_.data(), type, sizes, strides) {}

  /// The elements; valid while this object (or the one it was moved to) lives. Fortran order is
  /// expressed by strides.
  [[nodiscard]] any_view<host> view() const& noexcept { return view_; }
  void view() && = delete;  // would dangle: name the array

 private:
  detail::aligned_bytes bytes_;
  any_view<host> view_;
};

namespace detail {

struct npy_type {
  const char* descr;
  dtype type;
};
// NumPy has no letter for bf16; as ml_dtypes, two bytes without a type.
inline constexpr npy_type npy_types[] = {
    {"<f8", dtype::f64},   {"<f4", dtype::f32}, {"<f2", dtype::f16},   {"<V2", dtype::bf16},
    {"|i1", dtype::i8},    {"<i2", dtype::i16}, {"<i4", dtype::i32},   {"<i8", dtype::i64},
    {"|u1", dtype::u8},    {"<u2", dtype::u16}, {"<u4", dtype::u32},   {"<u8", dtype::u64},
    {"|b1", dtype::bool_}, {"<c8", dtype::c64}, {"<c16", dtype::c128}, {"|V2", dtype::bf16},
    {"<i1", dtype::i8},    {"<u1", dtype::u8},  {"<b1", dtype::bool_}};

/// The header: a Python dictionary with the three keys, each once.
class npy_header {
 public:
  npy_header(const char* p, const char* end, const file_source& source)
      : p_(p), end_(end), source_(source) {
    expect('{');
    bool has_descr = false, has_order = false, has_shape = false;
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !std::exchange(has_descr, true))
        descr = quoted();
      else if (key == "fortran_order" && !std::exchange(has_order, true))
        fortran_order = boolean();
      else if (key == "shape" && !std::exchange(has_shape, true))
        sizes = tuple();
      else
        fail("the keys 'descr', 'fortran_order' and 'shape', each once", key);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (p_ != end_) fail("nothing after the header's dictionary", {p_, 1});
    if (!(has_descr && has_order && has_shape))
      fail("the keys 'descr', 'fortran_order' and 'shape'", "fewer");
  }

  std::string_view descr;
  bool fortran_order = false;
  shape sizes;

 private:
  [[noreturn]] FLAGGEMS_COLD void fail(std::string_view expected, std::string_view got) const {
    source_.refuse(expected, got);
  }
  void skip_spaces() {
    while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\t' || *p_ == '\r')) ++p_;
  }
  FLAGGEMS_NOINLINE bool accept(char c) {
    skip_spaces();
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }
  FLAGGEMS_NOINLINE void expect(char c) {
    if (!accept(c))
      fail(text("a Python dictionary with '") + std::string_view(&c, 1) + "' at this place",
           p_ == end_ ? std::string_view("the header's end") : std::string_view(p_, 1));
  }
  /// Without escapes, so a part of the header.
  std::string_view quoted() {
    skip_spaces();
    if (p_ == end_ || (*p_ != '\'' && *p_ != '"'))
      fail("a quoted string in the header", "something else");
    const char quote = *p_++, *const first = p_;
    while (p_ != end_ && *p_ != quote) {
      if (*p_ == '\\' || static_cast<unsigned char>(*p_) < ' ')
        fail("a plain string in the header", "an escape or control character");
      ++p_;
    }
    if (p_ == end_) fail("a closing quote in the header", "its end");
    return {first, static_cast<std::size_t>(p_++ - first)};
  }
  bool word(const char* expected) {
    const std::size_t n = std::strlen(expected);
    if (static_cast<std::size_t>(end_ - p_) < n || std::memcmp(p_, expected, n) != 0) return false;
    p_ += n;
    return true;
  }
  bool boolean() {
    skip_spaces();
    if (word("True")) return true;
    if (word("False")) return false;
    fail("True or False for 'fortran_order'", "something else");
  }
  shape tuple() {
    shape r;
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      i64 value = 0;
      const char* first = p_;
      for (; p_ != end_ && *p_ >= '0' && *p_ <= '9'; ++p_)
        if (!multiply(value, 10, value) || !add(value, *p_ - '0', value))
          fail("a size below 2^63", "a larger one");
      if (p_ == first) fail("a tuple of sizes that are not negative for 'shape'", "something else");
      (void)word("L");  // a long integer of Python 2
      if (r.rank() == max_rank) source_.refuse(errc::not_supported, "at most 8 dimensions", "more");
      r.push_back(value);
      if (!accept(',')) {
        if (r.rank() == 1) fail("a comma in a tuple of one size", "none");
        expect(')');
        break;
      }
    }
    return r;
  }

  const char *p_, *end_;
  const file_source& source_;
};

}  // namespace detail

namespace detail {

FLAGGEMS_ONCE npy_array read_npy(byte_span bytes, const file_source& source) {
  source.check(bytes.size() >= 10 && std::memcmp(bytes.data(), "\x93NUMPY", 6) == 0,
               "a file that begins with \\x93NUMPY and a version", "something else");
  const int major = static_cast<int>(bytes[6]), minor = static_cast<int>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0) [[unlikely]]
    source.refuse("version 1.0, 2.0 or 3.0", text(major) + "." + text(minor));
  const std::size_t start = major == 1 ? 10 : 12;
  source.check(bytes.size() >= start, "the length of the header", "the end");
  const u64 length = load_unsigned(bytes.data() + 8, major == 1 ? 2 : 4);
  if (length > bytes.size() - start) [[unlikely]]
    source.refuse("a header of " + text(length) + " bytes", text(bytes.size() - start));
  const char* first = reinterpret_cast<const char*>(bytes.data() + start);
  const npy_header header(first, first + length, source);

  const npy_type* found = nullptr;
  for (const npy_type& t : npy_types)
    if (header.descr == t.descr) found = &t;
  if (found == nullptr) [[unlikely]]
    source.refuse(
        errc::not_supported,
        "little-endian elements of a type we have (<f8 <f4 <f2 <V2 |i1 ... <u8 |b1 <c8 <c16)",
        text("'") + header.descr + "'");

  const byte_span elements = bytes.subspan(start + static_cast<std::size_t>(length));
  i64 expected = 0;
  if (!array_bytes(header.sizes, found->type, expected) ||
      static_cast<u64>(expected) != elements.size()) [[unlikely]]
    source.refuse("the elements of an array of sizes " + to_string(header.sizes) + " and type " +
                      header.descr,
                  text(elements.size()) + " bytes");
  source.check(found->type != dtype::bool_ || are_bools(elements), "booleans that are 0 or 1",
               "others");

  aligned_bytes copy(elements.size(), source.op);
  if (!elements.empty()) std::memcpy(copy.data(), elements.data(), elements.size());
  shape strides = contiguous_strides(header.sizes);
  if (header.fortran_order) {
    i64 step = 1;
    for (int i = 0; i < header.sizes.rank(); ++i) {
      strides[i] = step;
      step *= header.sizes[i] == 0 ? 1 : header.sizes[i];
    }
  }
  return npy_array(std::move(copy), found->type, header.sizes, strides);
}

}  // namespace detail

/// Parses the array of a .npy file in memory; copies the elements. Raises bad_file unless it is
/// exactly one array; not_supported for big-endian and structured elements and for more than 8
/// dimensions.
[[nodiscard]] inline npy_array parse_npy(byte_span bytes) {
  return detail::read_npy(bytes, {"load_npy"});
}

/// Loads the array of the .npy file `path`. Raises as `parse_npy`, and bad_file if it cannot be
/// read or is no regular file; read pipes yourself and use `parse_npy`.
[[nodiscard]] inline npy_array load_npy(const std::string& path) {
  return detail::read_npy(detail::file_view(path, "load_npy").span(), {"load_npy", path});
}

/// Writes `v` to the .npy file `path` (version 1.0, C order), as numpy.save does; bf16 as '<V2', as
/// ml_dtypes does. The file is replaced atomically: mappings of the old one stay valid, and it is
/// unchanged if this raises. Raises not_supported for 8-bit floats, which the format cannot
/// distinguish, and bad_file if the file cannot be written.
FLAGGEMS_ONCE void save_npy(const std::string& path, const any_view<host>& v) {
  const char* op = "save_npy";
  const char* descr = nullptr;
  for (const detail::npy_type& t : detail::npy_types)
    if (descr == nullptr && t.type == v.dtype()) descr = t.descr;
  if (descr == nullptr) [[unlikely]]
    raise(errc::not_supported, op, "a dtype that NumPy has, or bf16", to_string(v.dtype()));
  detail::text header =
      detail::text("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (";
  for (int d = 0; d < v.rank(); ++d) {
    if (d > 0) header += ", ";
    header += detail::text(v.size(d));
  }
  header += v.rank() == 1 ? ",), }" : "), }";
  // Elements are aligned to 64 bytes.
  while ((10 + header.view().size() + 1) % 64 != 0) header += " ";
  header += "\n";
  const std::string_view text = header;
  const unsigned char head[10] = {0x93,
                                  'N',
                                  'U',
                                  'M',
                                  'P',
                                  'Y',
                                  1,
                                  0,
                                  static_cast<unsigned char>(text.size() & 255u),
                                  static_cast<unsigned char>(text.size() >> 8)};
  detail::new_file out(path, op);
  out.write(head, sizeof head);
  out.write(text.data(), text.size());
  detail::write_elements(out, v);
  out.close();
}

}  // namespace flaggems
