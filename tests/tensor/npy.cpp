// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/tensor/npy.hpp>

#include <cstring>
#include <vector>

#include "test_support.hpp"

namespace {

using namespace flaggems;
using flaggems_test::temporary_file;

byte_span span_of(const std::string& bytes) {
  return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
}

/// A file with this header text (its padding added) and these elements.
std::string npy(const std::string& header, const std::string& elements, int major = 1) {
  std::string text = header + '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    file += static_cast<char>(static_cast<unsigned char>(text.size() >> (8 * i)));
  return file + text + elements;
}
std::string f4(const std::string& shape, const std::string& elements) {
  return npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", elements);
}

TEST(npy, files_of_numpy_are_read) {
  // numpy.save of numpy.array([[1, 2, 3], [4, 5, 6]], '<i2') and of its transpose, NumPy 2.4.
  const std::string elements("\1\0\2\0\3\0\4\0\5\0\6\0", 12);
  std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(117, ' ');
  const std::string file = npy(header, elements);
  EXPECT_EQ(file.size(), 128u + 12u);
  const npy_array c = parse_npy(span_of(file));
  EXPECT_EQ(c.view().as<i16>()(1, 0), 4);
  EXPECT_TRUE(c.view().is_contiguous());

  const npy_array fortran = parse_npy(
      span_of(npy("{'descr': '<i2', 'fortran_order': True, 'shape': (3, 2), }", elements, 2)));
  EXPECT_EQ(to_string(fortran.view().strides()), "[1, 3]");
  EXPECT_EQ(fortran.view().as<i16>()(0, 1), 4);
  EXPECT_EQ(fortran.view().as<i16>()(2, 1), 6);
  EXPECT_EQ(reinterpret_cast<u64>(fortran.view().data()) % 64, 0u);
}

TEST(npy, round_trip_of_every_type) {
  const temporary_file file(".npy");
  alignas(64) unsigned char memory[24 * 16];
  for (std::size_t i = 0; i < sizeof memory; ++i) memory[i] = static_cast<unsigned char>(i * 37);
  for (int i = 0; i < dtype_count; ++i) {
    const dtype d = static_cast<dtype>(i);
    std::vector<unsigned char> elements(memory, memory + 24 * size_of(d));
    if (d == dtype::bool_)
      for (unsigned char& b : elements) b &= 1;
    const any_view<> v(elements.data(), d, {2, 3, 4});
    if (d == dtype::f8e4m3 || d == dtype::f8e5m2) {
      EXPECT_RAISES(save_npy(file.path(), v), not_supported, "save_npy");
      continue;
    }
    for (const any_view<>& written : {v, v.permute({2, 0, 1}), v.flip({1}), v.select(1, 2),
                                      v.slice(0, 0, 0), v.select(0, 0).select(0, 0).select(0, 0)}) {
      save_npy(file.path(), written);
      const npy_array read = load_npy(file.path());
      ASSERT_EQ(read.view().dtype(), d);
      ASSERT_EQ(shape(read.view().sizes()), shape(written.sizes()));
      ASSERT_EQ(file.read().size() % 64, static_cast<std::size_t>(written.bytes()) % 64);
      std::string expected;
      auto sink = [&](const std::byte* p, std::size_t n) {
        expected.append(reinterpret_cast<const char*>(p), n);
      };
      if (!written.empty())
        detail::for_each_run(static_cast<const std::byte*>(written.data()), written.sizes(),
                             written.strides(), size_of(d), 0, sink);
      ASSERT_EQ(std::string(static_cast<const char*>(read.view().data()),
                            static_cast<std::size_t>(read.view().bytes())),
                expected);
    }
  }
}

TEST(npy, writes_what_numpy_writes) {
  const temporary_file file(".npy");
  i16 a[6] = {1, 2, 3, 4, 5, 6};
  save_npy(file.path(), tensor_view<i16>(a, {2, 3}));
  std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(117, ' ');
  EXPECT_EQ(file.read(), npy(header, std::string("\1\0\2\0\3\0\4\0\5\0\6\0", 12)));
  save_npy(file.path(), tensor_view<i16>(a, {6}));
  EXPECT_NE(file.read().find("'shape': (6,), }"), std::string::npos);
  save_npy(file.path(), tensor_view<i16>(a, {}));
  EXPECT_NE(file.read().find("'shape': (), }"), std::string::npos);
}

TEST(npy, headers_in_other_forms) {
  const std::string four(4, '\0');
  const auto rank_of = [](const std::string& bytes) {
    const auto array = parse_npy(span_of(bytes));
    return array.view().rank();
  };
  EXPECT_EQ(rank_of(f4("()", four)), 0);
  EXPECT_EQ(rank_of(f4("(1,)", four)), 1);
  EXPECT_EQ(rank_of(f4("(1,1)", four)), 2);
  EXPECT_EQ(rank_of(f4("( 1 , 1 , )", four)), 2);
  EXPECT_EQ(rank_of(f4("(1L, 1L)", four)), 2);
  EXPECT_EQ(rank_of(f4("(0, 5)", "")), 2);
  EXPECT_EQ(rank_of(npy("{\"shape\":(1,),\"fortran_order\":False,\"descr\":\"<f4\"}", four)), 1);
}

TEST(npy, bad_headers_are_refused) {
  const std::string four(4, '\0');
  for (const std::string& bytes : {
           f4("(1)", four),
           f4("1", four),
           f4("(-1,)", four),
           f4("(1,", four),
           f4("(2,)", four),
           f4("(1,)", four + '\0'),
           f4("(9223372036854775808,)", four),
           f4("(a,)", four),
           f4("(0, 4611686018427387904, 4)", ""),
           f4("(4611686018427387904, 2)", four),
           f4("(2305843009213693953, 2)", four),
           npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", four),
           npy("{'descr': '<f4', 'fortran_order': False}", four),
           npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", four),
           npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", four),
           npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", four),
           npy("{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}", four),
           npy("'descr'", four),
           npy("{}", four),
           npy("", four),
           npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", "\2"),
           npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", four, 4),
       }) {
    const error failure = flaggems_test::error_of([&] { (void)parse_npy(span_of(bytes)); });
    EXPECT_EQ(failure.code(), errc::bad_file) << failure.what() << bytes;
  }
  for (const char* descr : {"'>f4'", "'|O'", "'<f16'", "'<U3'", "'|V1'", "'<M8[ns]'"}) {
    const std::string header =
        std::string("{'descr': ") + descr + ", 'fortran_order': False, 'shape': (1,)}";
    EXPECT_RAISES(parse_npy(span_of(npy(header, four))), not_supported, "load_npy");
  }
  // Legal, but beyond us; as in safetensors.
  EXPECT_RAISES(parse_npy(span_of(f4("(1,1,1,1,1,1,1,1,1)", four))), not_supported, "load_npy");
  EXPECT_RAISES(load_npy("/no/such/file.npy"), bad_file, "load_npy");
  i32 a[1] = {};
  EXPECT_RAISES(save_npy("/no/such/folder/file.npy", tensor_view<i32>(a, {1})), bad_file,
                "save_npy");
}

TEST(npy, every_truncation_is_refused_and_no_flipped_bit_harms) {
  const std::string whole = f4("(2, 3)", std::string(24, '\x3f'));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    // On the heap and of its exact size, so that a sanitizer sees a read beyond it.
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_RAISES(parse_npy({reinterpret_cast<const std::byte*>(cut.data()), n}), bad_file,
                  "load_npy");
  }
  int refused = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::vector<char> flipped(whole.begin(), whole.end());
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    try {
      const npy_array a =
          parse_npy({reinterpret_cast<const std::byte*>(flipped.data()), flipped.size()});
      EXPECT_EQ(a.view().bytes(), 24);
    } catch (const error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
}

}  // namespace
