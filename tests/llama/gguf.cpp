// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <llama/gguf.hpp>

#include <llama/gguf_builder.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>

namespace {

using llama::gguf;
using llama::test::as_bytes;
using llama::test::gguf_builder;
using llama::test::small_model;

// The text of the error that `run` raises, which must be bad_file and one line; "" if it raises
// none.
std::string failure(const std::function<void()>& run) {
  try {
    run();
  } catch (const flaggems::error& problem) {
    EXPECT_EQ(problem.code(), flaggems::errc::bad_file);
    const std::string text = problem.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  return {};
}

// A copy in a block of exactly its size, so that AddressSanitizer sees one byte too many.
struct exact {
  explicit exact(std::string_view text)
      : size(text.size()), data(std::make_unique<char[]>(size == 0 ? 1 : size)) {
    std::copy(text.begin(), text.end(), data.get());
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return as_bytes({data.get(), size}); }
  std::size_t size;
  std::unique_ptr<char[]> data;
};

// Everything the reader offers, on bytes that may be wrong.
void read_all(std::span<const std::byte> bytes, bool convert = true) {
  const gguf file = gguf::parse(bytes);
  std::size_t sum = 0;
  for (const llama::tensor_info& tensor : file.tensors())
    for (const std::byte b : tensor.bytes) sum += static_cast<std::size_t>(b);
  for (std::size_t i = 0; convert && i < file.metadata_count(); ++i) {
    const std::string_view key = file.metadata_key(i);
    EXPECT_TRUE(file.has(key));
    failure([&] { sum += file.find<std::string_view>(key)->size(); });
    failure([&] { sum += static_cast<std::size_t>(*file.find<double>(key) != 0); });
    failure([&] { sum += file.find_array<std::string_view>(key)->size(); });
    failure([&] { sum += file.find_array<std::int64_t>(key)->size(); });
  }
  EXPECT_NE(sum, static_cast<std::size_t>(-1));
}

void expect_refused(const gguf_builder& builder, const std::string& part) {
  const std::string bytes = builder.bytes();
  const std::string text = failure([&] { read_all(as_bytes(bytes)); });
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' lacks '" << part << "'";
}

TEST(Gguf, ReadsMetadataAndTensors) {
  const std::string bytes = small_model().bytes();
  const gguf file = gguf::parse(as_bytes(bytes));
  EXPECT_EQ(file.version(), 3U);
  EXPECT_EQ(file.get<std::string_view>("general.architecture"), "llama");
  EXPECT_EQ(file.get<int>("llama.block_count"), 2);
  EXPECT_EQ(file.get<double>("llama.block_count"), 2.0);
  EXPECT_EQ(file.get<float>("llama.rope.freq_base"), 10000.0F);
  EXPECT_FALSE(file.get<bool>("tokenizer.ggml.add_bos_token"));
  EXPECT_EQ(file.get_or<int>("absent", 7), 7);
  EXPECT_FALSE(file.find<int>("absent").has_value());
  EXPECT_EQ(file.find_array<std::string_view>("tokenizer.ggml.merges")->at(2), "he ll");
  EXPECT_EQ(file.find_array<int>("tokenizer.ggml.token_type")->front(), 3);
  ASSERT_EQ(file.tensors().size(), 3U);
  const llama::tensor_info& a = file.tensor("a");
  EXPECT_EQ(a.type, llama::tensor_type::q4_1);
  EXPECT_EQ(a.dims[0], 64U);
  EXPECT_EQ(a.dims[1], 2U);
  EXPECT_EQ(a.elements(), 128U);
  ASSERT_EQ(a.bytes.size(), 80U);
  EXPECT_EQ(a.bytes[79], std::byte{1});
  EXPECT_EQ(file.tensor("b").bytes[0], std::byte{2});
  EXPECT_EQ(file.find_tensor("absent"), nullptr);
}

TEST(Gguf, ReadsVersion2AndOtherAlignments) {
  gguf_builder builder;
  builder.version = 2;
  builder.alignment = 8;
  builder.u32("general.alignment", 8);
  builder.tensor("x", {3}, 1, "abcdef");
  builder.tensor("y", {1}, 0, "wxyz");
  const std::string bytes = builder.bytes();
  const gguf file = gguf::parse(as_bytes(bytes));
  EXPECT_EQ(file.alignment(), 8U);
  EXPECT_EQ(static_cast<char>(file.tensor("y").bytes[0]), 'w');
}

TEST(Gguf, ConvertsIntegersOnlyIfTheyFit) {
  gguf_builder builder;
  builder.number("negative", 11, std::int64_t{-5});
  builder.number("large", 10, std::uint64_t{1} << 40);
  const std::string bytes = builder.bytes();
  const gguf file = gguf::parse(as_bytes(bytes));
  EXPECT_EQ(file.get<std::int8_t>("negative"), -5);
  EXPECT_EQ(file.get<std::uint64_t>("large"), std::uint64_t{1} << 40);
  EXPECT_NE(failure([&] { (void)file.get<std::uint32_t>("negative"); }).find("-5"),
            std::string::npos);
  EXPECT_NE(failure([&] { (void)file.get<int>("large"); }).find("32 bits"), std::string::npos);
  EXPECT_NE(failure([&] { (void)file.get<std::string_view>("large"); }).find("string"),
            std::string::npos);
  EXPECT_NE(failure([&] { (void)file.get<bool>("large"); }).find("bool"), std::string::npos);
  EXPECT_NE(failure([&] { (void)file.get<int>("none"); }).find("'none'"), std::string::npos);
  EXPECT_NE(failure([&] { (void)file.find_array<int>("large"); }).find("array"), std::string::npos);
}

TEST(Gguf, RefusesUnsupportedQuantisationOnUse) {
  const std::string bytes = small_model().bytes();
  const gguf file = gguf::parse(as_bytes(bytes));
  EXPECT_NE(file.find_tensor("c"), nullptr);
  const std::string text = failure([&] { (void)file.tensor("c"); });
  EXPECT_NE(text.find("unsupported quantisation Q6_K of tensor 'c'"), std::string::npos) << text;
  EXPECT_NE(failure([&] { (void)file.tensor("d"); }).find("tensor 'd'"), std::string::npos);
}

TEST(Gguf, RefusesWrongFiles) {
  EXPECT_NE(failure([] { read_all({}); }).find("GGUF"), std::string::npos);
  EXPECT_NE(failure([] { read_all(as_bytes("GGML0123456789")); }).find("GGUF"), std::string::npos);
  gguf_builder builder;
  for (const std::uint32_t version : {0U, 1U, 4U, 0x03000000U}) {
    builder.version = version;
    expect_refused(builder, "version 2 or 3");
  }
  builder.version = 3;
  for (const auto& [tensors, entries] : {std::pair{~std::uint64_t{0}, std::uint64_t{0}},
                                         {std::uint64_t{1} << 62, std::uint64_t{1}},
                                         {std::uint64_t{0}, ~std::uint64_t{0}},
                                         {std::uint64_t{1}, std::uint64_t{0}}}) {
    const std::string bytes = builder.bytes(tensors, entries);
    EXPECT_NE(failure([&] { read_all(as_bytes(bytes)); }), "") << tensors << ' ' << entries;
  }
}

TEST(Gguf, RefusesWrongMetadata) {
  {
    gguf_builder builder;
    builder.number("k", 13, 0);
    expect_refused(builder, "type from 0 to 12");
  }
  {
    gguf_builder builder;
    builder.u32("twice", 1);
    builder.u32("twice", 1);
    expect_refused(builder, "'twice' twice");
  }
  for (const std::uint32_t alignment : {0U, 3U, 48U}) {
    gguf_builder builder;
    builder.u32("general.alignment", alignment);
    expect_refused(builder, "power of two");
  }
  for (const std::uint64_t length :
       {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1000}}) {
    gguf_builder builder;  // a string that is longer than the file
    builder.number("k", 8, length);
    expect_refused(builder, "end of the file");
    for (const std::uint32_t element : {0U, 8U, 9U, 12U}) {
      gguf_builder arrays;
      struct __attribute__((packed)) {
        std::uint32_t type;
        std::uint64_t count;
      } const header{element, length};
      arrays.number("k", 9, header);
      expect_refused(arrays, "array that fits");
    }
  }
  gguf_builder deep;
  deep.nested("deep", 9);
  expect_refused(deep, "nested");
  gguf_builder fine;
  fine.nested("deep", 8);
  const std::string bytes = fine.bytes();
  EXPECT_EQ(failure([&] { read_all(as_bytes(bytes)); }), "");
}

TEST(Gguf, RefusesWrongTensors) {
  const auto with = [](std::vector<std::uint64_t> dims, std::uint32_t type, std::uint64_t offset) {
    gguf_builder builder;
    builder.tensor("good", {8}, 0, std::string(32, 'x'));
    builder.tensor_at("bad", dims, type, offset);
    return builder;
  };
  constexpr std::uint64_t huge = std::uint64_t{1} << 32;
  expect_refused(with({}, 0, 32), "rank from 1 to 4");
  expect_refused(with({1, 1, 1, 1, 1}, 0, 32), "rank from 1 to 4");
  expect_refused(with({1}, 4, 32), "number 4");
  expect_refused(with({1}, 9999, 32), "number 9999");
  expect_refused(with({33}, 2, 32), "multiple of 32");
  expect_refused(with({huge, huge}, 0, 32), "2^63");
  expect_refused(with({huge, huge / 4}, 0, 32), "2^63");
  expect_refused(with({huge / 2, huge, 0}, 0, 32), "2^63");
  expect_refused(with({1}, 0, 32), "truncated");
  expect_refused(with({1}, 0, ~std::uint64_t{31}), "truncated");
  expect_refused(with({1}, 0, 4), "multiples of 32");
  expect_refused(with({8}, 0, 0), "overlap");
  gguf_builder twice;
  twice.tensor("t", {1}, 0, "abcd");
  twice.tensor("t", {1}, 0, "abcd");
  expect_refused(twice, "'t' twice");
}

TEST(Gguf, NamesFromFilesArePrintable) {
  gguf_builder builder;
  builder.tensor_at("evil\n\x1b[31m" + std::string(500, 'z'), {1}, 0, 0);
  expect_refused(builder, "'evil??[31mzzz");
}

TEST(Gguf, EveryTruncationIsRefused) {
  const gguf_builder builder = small_model();
  const std::string whole = builder.bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    // Tensor "c" takes 210 bytes and is followed by 14 bytes of padding that nothing needs.
    const bool complete = length + 14 >= whole.size();
    const exact part(std::string_view(whole).substr(0, length));
    EXPECT_EQ(failure([&] { read_all(part.bytes()); }) == "", complete) << length;
  }
}

TEST(Gguf, EveryBitFlipIsReadOrRefused) {
  const std::string whole = small_model().bytes();
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      exact copy(whole);
      copy.data[at] = static_cast<char>(copy.data[at] ^ (1 << bit));
      // Conversions throw for every wrong type; often enough is enough.
      refused += failure([&] { read_all(copy.bytes(), at % 16 == 0); }) != "";
    }
  EXPECT_GT(refused, 1000U);
}

TEST(Gguf, RandomDamageIsReadOrRefused) {
  const std::string whole = small_model().bytes();
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 1000; ++round) {
    exact copy(whole);
    for (unsigned i = 0; i <= random() % 8; ++i) {
      const std::size_t at = random() % copy.size;
      copy.data[at] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
    }
    failure([&] { read_all(copy.bytes()); });
  }
}

TEST(Gguf, OpensFilesAndNamesThemInErrors) {
  const std::string path = testing::TempDir() + "flaggems_gguf_test.gguf";
  const std::string bytes = small_model().bytes();
  std::ofstream(path, std::ios::binary) << bytes;
  gguf file = gguf::open(path);
  const std::string_view name = file.get<std::string_view>("general.architecture");
  const gguf moved = std::move(file);
  EXPECT_EQ(name, "llama");
  EXPECT_EQ(moved.tensor("a").bytes[0], std::byte{1});
  EXPECT_NE(failure([&] { (void)moved.tensor("zz"); }).find(path), std::string::npos);
  std::ofstream(path, std::ios::binary) << bytes.substr(0, 100);
  EXPECT_NE(failure([&] { (void)gguf::open(path); }).find(path), std::string::npos);
  std::ofstream(path, std::ios::binary | std::ios::trunc).close();
  EXPECT_NE(failure([&] { (void)gguf::open(path); }).find("0 bytes"), std::string::npos);
  std::remove(path.c_str());
  EXPECT_NE(failure([&] { (void)gguf::open(path); }).find("No such file"), std::string::npos);
  EXPECT_NE(failure([&] { (void)gguf::open("/"); }).find("regular file"), std::string::npos);
  // Not even a pipe, which nobody writes to.
  const std::string pipe = ::testing::TempDir() + "flaggems_pipe_" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(failure([&] { (void)gguf::open(pipe); }).find("regular file"), std::string::npos);
  ::unlink(pipe.c_str());
}

TEST(Gguf, ReadsTheRealModel) {
  const char* path = std::getenv("FLAGGEMS_TEST_MODEL");
  if (path == nullptr)
    GTEST_SKIP() << "FLAGGEMS_TEST_MODEL is not set (examples/llama/fetch_model.py)";
  const gguf file = gguf::open(path);
  EXPECT_EQ(file.get<std::string_view>("general.architecture"), "llama");
  EXPECT_EQ(file.tensors().size(), 272U);
  EXPECT_EQ(file.get<int>("llama.block_count"), 30);
  EXPECT_EQ(file.tensor("token_embd.weight").type, llama::tensor_type::q8_0);
  for (const llama::tensor_info& tensor : file.tensors()) (void)file.tensor(tensor.name);
}

}  // namespace
