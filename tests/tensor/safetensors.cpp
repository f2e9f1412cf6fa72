// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/tensor/safetensors.hpp>

#include <cstring>
#include <vector>

#include "test_support.hpp"

namespace {

using namespace flaggems;
using flaggems_test::temporary_file;

/// Bytes at an address that is a multiple of 64, so that elements are aligned as in a mapped file.
struct file_bytes {
  explicit file_bytes(const std::string& text) : bytes(text.size(), "test") {
    if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  }
  detail::aligned_bytes bytes;
};

std::string file_of(const std::string& header, const std::string& elements) {
  const u64 length = header.size();
  std::string r(sizeof length, '\0');
  std::memcpy(r.data(), &length, sizeof length);
  return r + header + elements;
}

error refusal(const std::string& text) {
  const file_bytes f(text);
  return flaggems_test::error_of([&] { const safetensors s(f.bytes.span()); });
}

const std::string two =
    R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I16","shape":[1,2],"data_offsets":[8,12]}})";

TEST(safetensors, reads_tensors_and_metadata) {
  const file_bytes f(file_of(
      R"({"__metadata__":{"format":"pt","\u00e9\ud83d\ude00":"x\ny"},"w":{"data_offsets":[0,8],"dtype":"F32","shape":[2]},"empty":{"dtype":"BF16","shape":[0,3],"data_offsets":[8,8]},"scalar":{"dtype":"BOOL","shape":[],"data_offsets":[8,9]}}  )",
      std::string("\0\0\x80\x3f\0\0\0\x40\1", 9)));
  const safetensors s(f.bytes.span());
  ASSERT_EQ(s.tensors().size(), 3u);
  EXPECT_EQ(s.tensors()[0].name, "empty");
  EXPECT_EQ(s.at("w").as<const f32>()[1], 2.0f);
  EXPECT_TRUE(s.at("w").is_const());
  EXPECT_TRUE(s.at("empty").empty());
  EXPECT_TRUE(s.at("scalar").as<const bool>()());
  EXPECT_EQ(s.find("x"), nullptr);
  EXPECT_RAISES(s.at("x"), invalid_argument, "safetensors");
  ASSERT_EQ(s.metadata().size(), 2u);
  EXPECT_EQ(s.metadata()[0].text, "pt");
  EXPECT_EQ(s.metadata()[1].name, "\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(s.metadata()[1].text, "x\ny");
}

TEST(safetensors, misaligned_elements_are_copied) {
  const file_bytes f(file_of(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F64","shape":[1],"data_offsets":[1,9]}})",
      std::string("\7\0\0\0\0\0\0\xf0\x3f", 9)));
  const safetensors s(f.bytes.span());
  EXPECT_EQ(s.at("b").as<const f64>()[0], 1.0);
  EXPECT_EQ(reinterpret_cast<u64>(s.at("b").data()) % 8, 0u);
}

TEST(safetensors, round_trip_of_every_type) {
  const temporary_file file(".safetensors");
  alignas(64) unsigned char memory[dtype_count][24 * 16];
  std::vector<named_view> tensors;
  for (int i = 0; i < dtype_count; ++i) {
    const dtype d = static_cast<dtype>(i);
    if (d == dtype::c128) continue;
    for (std::size_t k = 0; k < sizeof memory[i]; ++k)
      memory[i][k] = static_cast<unsigned char>(d == dtype::bool_ ? k & 1 : k * 29 + 3);
    tensors.push_back({"layer." + std::to_string(i) + "\"\\\n",
                       any_view<>(memory[i], d, {2, 3, 4}).permute({2, 0, 1})});
  }
  const std::vector<named_text> texts = {{"k\t", "v\"\xc3\xa9"}, {"format", "pt"}};
  save_safetensors(file.path(), tensors, texts);
  const safetensors moved_from = load_safetensors(file.path());
  const safetensors& s = moved_from;
  ASSERT_EQ(s.tensors().size(), tensors.size());
  EXPECT_EQ(s.metadata()[1].text, texts[0].text);
  for (const named_view& t : tensors) {
    const any_view<>& read = s.at(t.name);
    ASSERT_EQ(read.dtype(), t.view.dtype());
    ASSERT_EQ(shape(read.sizes()), shape(t.view.sizes()));
    const std::size_t size = static_cast<std::size_t>(size_of(read.dtype()));
    for (i64 i = 0; i < 4; ++i)
      for (i64 j = 0; j < 2; ++j)
        for (i64 k = 0; k < 3; ++k)
          ASSERT_EQ(std::memcmp(read.select(0, i).select(0, j).select(0, k).data(),
                                t.view.select(0, i).select(0, j).select(0, k).data(), size),
                    0);
  }
  safetensors a = load_safetensors(file.path());
  const safetensors b = std::move(a);
  EXPECT_EQ(std::memcmp(b.at(tensors[0].name).data(), s.at(tensors[0].name).data(), 8), 0);

  save_safetensors(file.path(), {});
  EXPECT_EQ(load_safetensors(file.path()).tensors().size(), 0u);
}

TEST(safetensors, writing_refuses_what_the_format_cannot_hold) {
  const temporary_file file(".safetensors");
  alignas(16) f64 a[2] = {};  // as c128 needs
  const any_view<> v = tensor_view<f64>(a, {2});
  const std::vector<named_view> twice = {{"x", v}, {"x", v}};
  const std::vector<named_view> reserved = {{"__metadata__", v}};
  const std::vector<named_view> wide = {{"x", any_view<>(a, dtype::c128, {1})}};
  EXPECT_RAISES(save_safetensors(file.path(), twice), invalid_argument, "save_safetensors");
  EXPECT_RAISES(save_safetensors(file.path(), reserved), invalid_argument, "save_safetensors");
  EXPECT_RAISES(save_safetensors(file.path(), wide), not_supported, "save_safetensors");
  EXPECT_RAISES(save_safetensors("/no/such/folder/x", {}), bad_file, "save_safetensors");
  // What load_safetensors would refuse does not replace a file.
  const std::vector<named_view> bytes = {{"\xff", v}};
  const std::vector<named_text> name = {{"\xed\xa0\x80", "a"}}, value = {{"a", "\xe2\x82"}};
  EXPECT_RAISES(save_safetensors(file.path(), bytes), invalid_argument, "save_safetensors");
  EXPECT_RAISES(save_safetensors(file.path(), {}, name), invalid_argument, "save_safetensors");
  EXPECT_RAISES(save_safetensors(file.path(), {}, value), invalid_argument, "save_safetensors");
  EXPECT_RAISES(load_safetensors("/no/such/file"), bad_file, "load_safetensors");
  EXPECT_RAISES(load_safetensors(::testing::TempDir()), bad_file, "load_safetensors");
}

TEST(safetensors, messages_are_sentences) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})";
  const error e = refusal(file_of(header, std::string(4, '\0')));
  EXPECT_EQ(std::string(e.what()),
            "load_safetensors: expected data_offsets whose difference is what dtype and shape "
            "require for "
            "'a', got [0, 4] [bad_file]");
}

TEST(safetensors, bad_files_are_refused) {
  const std::string twelve(12, '\0');
  const auto one = [](const std::string& type, const std::string& sizes, const std::string& range) {
    return R"({"a":{"dtype":")" + type + R"(","shape":)" + sizes + R"(,"data_offsets":)" + range +
           "}}";
  };
  std::string huge_length = file_of(two, twelve);
  std::memset(huge_length.data(), 0xff, 8);
  std::string longer = file_of(two, twelve);
  longer[0] = static_cast<char>(longer[0] + 13);
  const std::string bad[] = {
      "",
      "1234567",
      huge_length,
      longer,
      file_of("", twelve),
      file_of(" {}", ""),
      file_of("{}", "x"),  // bytes that belong to nobody
      file_of(two, twelve + "x"),
      file_of(two, twelve.substr(1)),
      file_of("{} {}", ""),
      file_of("{", ""),
      file_of("[]", ""),
      file_of("null", ""),
      file_of(R"({"a":1})", ""),
      file_of(R"({"a":{}})", ""),
      file_of(R"({"a":{},})", ""),
      file_of(R"({a:{}})", ""),
      file_of(R"({'a':{}})", ""),
      // sizes and ranges that do not fit
      file_of(one("F32", "[2]", "[0,4]"), std::string(4, '\0')),
      file_of(one("F32", "[1]", "[4,0]"), ""),
      file_of(one("F32", "[1]", "[4,8]"), std::string(8, '\0')),  // a hole in front
      file_of(one("F32", "[-1]", "[0,4]"), std::string(4, '\0')),
      file_of(one("F32", "[1.0]", "[0,4]"), std::string(4, '\0')),
      file_of(one("F32", "[1e0]", "[0,4]"), std::string(4, '\0')),
      file_of(one("F32", "[01]", "[0,4]"), std::string(4, '\0')),
      file_of(one("F32", "[true]", "[0,4]"), std::string(4, '\0')),
      file_of(one("F32", "[1,]", "[0,4]"), std::string(4, '\0')),
      file_of(one("F32", "[1]", "[0]"), std::string(4, '\0')),
      file_of(one("F32", "[1]", "[0,4,8]"), std::string(4, '\0')),
      file_of(one("F32", "[4611686018427387904,4]", "[0,0]"), ""),  // 2^64 elements: wraps to 0
      file_of(one("F64", "[2305843009213693952]", "[0,0]"), ""),    // 2^64 bytes
      file_of(one("F32", "[9223372036854775808]", "[0,4]"), std::string(4, '\0')),
      file_of(one("F32", "[0,4611686018427387904,4]", "[0,0]"), ""),
      file_of(one("BOOL", "[1]", "[0,1]"), "\2"),
      // overlaps, holes, names
      file_of(
          R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[8],"data_offsets":[4,12]}})",
          twelve),
      file_of(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
          std::string(4, '\0')),
      file_of(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[8,12]}})",
          twelve),
      file_of(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
          std::string(8, '\0')),
      file_of(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"),
      file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}})", "x"),
      file_of(R"({"__metadata__":{"a":"b","a":"c"}})", ""),
      file_of(R"({"__metadata__":{},"__metadata__":{}})", ""),
      file_of(R"({"__metadata__":{"a":1}})", ""),
      // strings
      file_of("{\"a\n\":{}}", ""),
      file_of("{\"\xff\":{}}", ""),
      file_of("{\"\xc0\x80\":{}}", ""),
      file_of("{\"\xed\xa0\x80\":{}}", ""),
      file_of(R"({"\ud800":{}})", ""),
      file_of(R"({"\udc00":{}})", ""),
      file_of(R"({"\x41":{}})", ""),
      file_of(R"({"\u00g0":{}})", ""),
      file_of("{\"a", ""),
      file_of("{\"\\", ""),
      file_of("{\"\\u12", ""),
      file_of("{\"\xe2\x82", ""),
  };
  for (const std::string& text : bad) {
    const error failure = refusal(text);
    EXPECT_EQ(failure.code(), errc::bad_file) << failure.what() << '\n' << text;
    EXPECT_EQ(std::string(failure.op()), "load_safetensors");
  }
  EXPECT_EQ(refusal(file_of(one("F4", "[1]", "[0,4]"), "xxxx")).code(), errc::not_supported);
  EXPECT_EQ(refusal(file_of(one("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), "xxxx")).code(),
            errc::not_supported);
}

TEST(safetensors, every_truncation_is_refused_and_no_flipped_bit_harms) {
  const std::string whole = file_of(two, std::string(12, '\1'));
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_EQ(refusal(whole.substr(0, n)).code(), errc::bad_file) << n;
  int refused = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const file_bytes f(flipped);
    try {
      const safetensors s(f.bytes.span());
      i64 bytes = 0;
      for (const named_view& t : s.tensors()) bytes += t.view.bytes();
      EXPECT_EQ(bytes, 12) << flipped;
    } catch (const error& failure) {
      EXPECT_TRUE(failure.code() == errc::bad_file || failure.code() == errc::not_supported);
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
