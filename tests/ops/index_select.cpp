// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/index_select.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

std::vector<double> reference(const std::vector<double>& x, const shape& sizes, int dim,
                              const std::vector<double>& index) {
  std::vector<double> y;
  i64 inner = 1, outer = 1;
  for (int d = 0; d < dim; ++d) outer *= sizes[d];
  for (int d = dim + 1; d < sizes.rank(); ++d) inner *= sizes[d];
  for (i64 o = 0; o < outer; ++o)
    for (const double k : index)
      for (i64 i = 0; i < inner; ++i)
        y.push_back(
            x[static_cast<std::size_t>((o * sizes[dim] + static_cast<i64>(k)) * inner + i)]);
  return y;
}

template <class D, class T, class J>
void check(const shape& sizes, i64 dim, i64 n, layout in, layout of_index, layout to) {
  SCOPED_TRACE(std::string(to_string(in)) + ", index " + to_string(of_index) + ", to " +
               to_string(to) + ", sizes " + fg::to_string(sizes) + ", dim " + std::to_string(dim));
  const int d = static_cast<int>(dim < 0 ? dim + sizes.rank() : dim);
  test_tensor<T, D> x(sizes, in, random_integers(sizes, 0, 100));
  test_tensor<J, D> index({n}, of_index, random_integers({n}, 0, sizes[d] - 1));
  shape out_sizes = sizes;
  out_sizes[d] = n;
  test_tensor<T, D> out(out_sizes, to);
  fg::index_select(test_stream<D>(), x.in(), dim, index.in(), out.view());
  expect_equal(out.read(), reference(x.values(), sizes, d, index.values()));
  EXPECT_TRUE(out.gaps_untouched());
  EXPECT_TRUE(x.untouched());
}

template <class Device>
class index_select_layouts : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(index_select_layouts, devices);

TYPED_TEST(index_select_layouts, all) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts)
        for (const i64 dim : {0, 1, 2})
          check<TypeParam, f32, i64>({3, 5, 19}, dim, 7, in, layout::contiguous, to);
    for (const layout of_index : input_layouts)
      check<TypeParam, f32, fg::i32>({4, 6}, -1, 9, layout::strided, of_index, layout::negative);
  });
}

// What chips do with rows of which most is picked, and with rows of words that are no packs.
TYPED_TEST(index_select_layouts, picked_and_words) {
  for (const layout in : {layout::contiguous, layout::offset}) {
    check<TypeParam, bf16, i64>({5, 331}, 1, 70, in, layout::contiguous, in);
    check<TypeParam, fg::u8, fg::i32>({2, 3, 4000}, 2, 9000, in, layout::contiguous,
                                      layout::contiguous);
    for (const i64 n : {2, 4, 6, 12, 20}) {
      check<TypeParam, bf16, i64>({9, n}, 0, 8, in, layout::contiguous, layout::contiguous);
      check<TypeParam, fg::u8, i64>({2, 9, 2 * n}, 1, 8, in, layout::strided, layout::contiguous);
    }
  }
}

TYPED_TEST(index_select_layouts, empty) {
  test_tensor<f32, TypeParam> x({3, 4}), out({0, 4});
  test_tensor<i64, TypeParam> none({0});
  fg::index_select(test_stream<TypeParam>(), x.in(), 0, none.in(), out.view());
  EXPECT_EQ(fg::index_select(test_stream<TypeParam>(), x.in(), 1, none.in()).shape_of(),
            (shape{3, 0}));
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(index_select, every_element_size) {
  check<host, bf16, i64>({5, 33}, 0, 8, layout::contiguous, layout::contiguous, layout::contiguous);
  check<host, f64, i64>({5, 33}, 1, 8, layout::contiguous, layout::contiguous, layout::contiguous);
  check<host, fg::u8, i64>({5, 33}, 0, 8, layout::contiguous, layout::offset, layout::offset);
}

// Rows are copied by vectors, by the C library, or past the caches, as long as they are.
TEST(index_select, rows_of_any_length) {
  at_every_level<host>([] {
    const i64 before = fg::detail::stream_threshold.load(fg::detail::memory_order::relaxed);
    for (const i64 threshold : {i64{1}, i64{1} << 40}) {
      fg::detail::stream_threshold.store(threshold, fg::detail::memory_order::relaxed);
      for (const i64 n : {1, 4, 7, 8, 15, 16, 17, 33, 127, 128, 129, 255, 256, 257, 300, 1000})
        for (const layout to : {layout::contiguous, layout::offset}) {
          check<host, f32, i64>({21, n}, 0, 40, layout::contiguous, layout::contiguous, to);
          check<host, bf16, fg::i32>({21, n}, 0, 9, layout::offset, layout::strided, to);
        }
      check<host, f32, i64>({2, 9, 300}, 2, 70, layout::contiguous, layout::contiguous,
                            layout::contiguous);
      check<host, f64, fg::i32>({9, 30, 2}, 1, 71, layout::transposed, layout::contiguous,
                                layout::transposed);
    }
    fg::detail::stream_threshold.store(before, fg::detail::memory_order::relaxed);
  });
}

TEST(index_select, zero_dimensional) {
  test_tensor<f32> x({}, layout::contiguous, {5}), out(shape{});
  test_tensor<i64> zero({1}), scalar_zero(shape{});
  fg::index_select(test_stream<host>(), x.in(), 0, zero.in(), out.view());
  expect_equal(out.read(), {5});
  test_tensor<f32> row({3}, layout::contiguous, {1, 2, 3});
  expect_equal(values_of(fg::index_select(test_stream<host>(), row.in(), 0, scalar_zero.in())),
               {1});
}

TEST(index_select, bits_stay) {
  fg::tensor<f32> x =
      fg::from_values(test_stream<host>(), {fg::kernels::bit_cast<f32>(0x7fa12345u)});
  test_tensor<i64> zero({1});
  const auto y = fg::index_select(test_stream<host>(), x, 0, zero.in());
  fg::u32 bits = 0;
  std::memcpy(&bits, y.data(), sizeof(bits));
  EXPECT_EQ(bits, 0x7fa12345u);
}
#endif

TEST(index_select, bad_indices_on_a_chip_give_zeros) {
  test_tensor<f32, chip32> x({3, 4}, layout::contiguous, std::vector<double>(12, 7.0));
  test_tensor<i64, chip32> index({3}, layout::contiguous, {-1, 1, 3});
  const auto rows = fg::index_select(test_stream<chip32>(), x.in(), 0, index.in());
  expect_equal(values_of(rows), {0, 0, 0, 0, 7, 7, 7, 7, 0, 0, 0, 0});
  const auto columns =
      fg::index_select(test_stream<chip32>(), x.in().narrow(1, 0, 3), 1, index.in());
  expect_equal(values_of(columns), {0, 7, 0, 0, 7, 0, 0, 7, 0});
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(index_select, refuses_bad_arguments) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({4, 6}, layout::contiguous, random_values({4, 6})), out({2, 6});
  test_tensor<i64> good({2}), high({2}, layout::contiguous, {0, 4}),
      low({2}, layout::contiguous, {-1, 0}), square({2, 2}), three({3});
  EXPECT_RAISES(fg::index_select(stream, x.in(), 0, high.in(), out.view()), out_of_range,
                "index_select");
  EXPECT_RAISES(fg::index_select(stream, x.in(), 0, low.in(), out.view()), out_of_range,
                "index_select");
  EXPECT_RAISES(fg::index_select(stream, x.in(), 2, good.in(), out.view()), out_of_range,
                "index_select");
  EXPECT_RAISES(fg::index_select(stream, x.in(), 0, square.in(), out.view()), invalid_argument,
                "index_select");
  EXPECT_RAISES(fg::index_select(stream, x.in(), 0, three.in(), out.view()), shape_mismatch,
                "index_select");
  EXPECT_RAISES(fg::index_select(stream, x.in(), 0, good.in(), x.view().narrow(0, 0, 2)), overlap,
                "index_select");
  EXPECT_RAISES(
      fg::index_select(stream, x.in(), 0, good.in(), out.view().narrow(0, 0, 1).expand({2, 6})),
      overlap, "index_select");
  EXPECT_RAISES(fg::index_select(stream, x.in().select(0, 0).select(0, 0), 0, good.in()),
                invalid_argument, "index_select");
  EXPECT_TRUE(x.untouched());
  EXPECT_TRUE(out.untouched());
}

#endif

}  // namespace
}  // namespace flaggems_test
