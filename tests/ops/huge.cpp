// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// More than 2^31 elements: indices, counts and offsets must be 64 bits wide. Mostly through views
// with stride 0; one real tensor where memory allows.
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <support/ops.hpp>

#include <fstream>

namespace flaggems_test {
namespace {

using std::uint8_t;
constexpr i64 many = (i64{1} << 31) + 5;

/// Bytes that can be allocated without swapping; 0 where the system does not tell.
i64 available_memory() {
  std::ifstream in("/proc/meminfo");
  std::string key, unit;
  i64 kib = 0;
  while (in >> key >> kib >> unit)
    if (key == "MemAvailable:") return kib * 1024;
  return 0;
}

TEST(huge, sum_of_a_view_with_stride_zero) {
  const auto& stream = test_stream<host>();
  const auto row = fg::ones<uint8_t>(stream, {65536});
  const auto v = row.view().view({1, 65536}).expand({65536, 65536});  // 2^32 elements
  EXPECT_EQ(v.numel(), i64{1} << 32);
  const auto sums = fg::sum(stream, v.narrow(0, 0, 32769), {0, 1});  // just above 2^31 ones
  EXPECT_EQ(sums.data()[0], i64{32769} * 65536);
}

TEST(huge, one_element_many_times) {
  const auto& stream = test_stream<host>();
  const auto one = fg::full<bool>(stream, {1}, true);
  EXPECT_EQ(fg::all(stream, one.view().expand({many})).data()[0], true);
}

TEST(huge, a_tensor_of_two_gigabytes) {
  if (available_memory() < i64{8} << 30) GTEST_SKIP() << "needs 8 GiB of free memory";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "too slow under a sanitizer";
#endif
  const auto& stream = test_stream<host>();
  auto x = fg::full<uint8_t>(stream, {many}, 1);
  EXPECT_EQ(x.data()[many - 1], 1);
  x.data()[many - 2] = 7;
  EXPECT_EQ(fg::any(stream, fg::eq(x.view().narrow(0, many - 100000, 100000), 7)).data()[0], true);
  // Few elements, far apart: the last one lies beyond 2^31.
  const auto sparse = x.view().slice(0, many - 2 - (i64{2047} << 20), many, i64{1} << 20);
  EXPECT_EQ(sparse.numel(), 2048);
  fg::add_(stream, sparse, 1);
  EXPECT_EQ(x.data()[many - 2], 8);
  EXPECT_EQ(x.data()[many - 1], 1);
  EXPECT_EQ(fg::argmax(stream, sparse).data()[0], 2047);
  EXPECT_EQ(fg::sum(stream, sparse).data()[0], 2047 * 2 + 8);
  EXPECT_EQ(fg::sum(stream, x).data()[0], many + 6 + 2048);
  // Rows that begin beyond 2^31.
  const auto last = x.view().narrow(0, many - 4, 4).view({2, 2}).t();
  expect_equal(values_of(fg::sum(stream, last, {0})),
               {static_cast<double>(x.data()[many - 4] + x.data()[many - 3]),
                static_cast<double>(x.data()[many - 2] + x.data()[many - 1])});
  stream.synchronize();
}

}  // namespace
}  // namespace flaggems_test
