// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/stack.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class stacks : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(stacks, devices);

TYPED_TEST(stacks, all) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> a({2, 3}, layout::transposed, random_integers({2, 3}, 0, 100)),
      b({2, 3}, layout::strided, random_integers({2, 3}, 0, 100)), out({2, 2, 3}, layout::negative);
  test_tensor<f32, D> one({}, layout::contiguous, {5}), row({3}, layout::contiguous, {7, 8, 9});
  const auto &x = a.values(), &y = b.values();
  fg::stack(s, std::tuple(a.in(), b.in()), out.view(), 1);
  expect_equal(out.read(),
               {x[0], x[1], x[2], y[0], y[1], y[2], x[3], x[4], x[5], y[3], y[4], y[5]});
  EXPECT_TRUE(out.gaps_untouched());
  const std::vector<fg::tensor_view<const f32, D>> list{a.in(), b.in()};
  const auto last = fg::stack(s, list, -1);
  EXPECT_EQ(last.shape_of(), (shape{2, 3, 2}));
  expect_equal(values_of(last),
               {x[0], y[0], x[1], y[1], x[2], y[2], x[3], y[3], x[4], y[4], x[5], y[5]});
  expect_equal(values_of(fg::hstack(s, list)),
               {x[0], x[1], x[2], y[0], y[1], y[2], x[3], x[4], x[5], y[3], y[4], y[5]});
  expect_equal(values_of(fg::hstack(s, std::tuple(one.in(), row.in()))), {5, 7, 8, 9});
  const auto rows = fg::hstack(s, std::tuple(row.in().narrow(0, 0, 0), a.in(), b.in()));
  EXPECT_EQ(rows.shape_of(), (shape{4, 3}));  // the first tensor has one dimension
  const auto below = fg::vstack(s, std::tuple(row.in(), a.in()));
  EXPECT_EQ(below.shape_of(), (shape{3, 3}));
  expect_equal(values_of(below), {7, 8, 9, x[0], x[1], x[2], x[3], x[4], x[5]});
  const auto blocks = fg::block_diag(s, std::tuple(one.in(), row.in(), a.in()));
  EXPECT_EQ(blocks.shape_of(), (shape{4, 7}));
  expect_equal(values_of(blocks), {5, 0, 0, 0, 0,    0,    0,     //
                                   0, 7, 8, 9, 0,    0,    0,     //
                                   0, 0, 0, 0, x[0], x[1], x[2],  //
                                   0, 0, 0, 0, x[3], x[4], x[5]});
}

TYPED_TEST(stacks, chunks) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const layout how : output_layouts) {
    test_tensor<f32, D> a({3, 2}, how, {1, 2, 3, 4, 5, 6}), b({2}, how, {7, 8}), out({2, 5}, how);
    fg::chunk_cat(s, std::tuple(a.in(), b.in()), out.view(), 0, 2);
    expect_equal(out.read(), {1, 2, 3, 4, 7, 5, 6, 0, 0, 8});
    EXPECT_TRUE(out.gaps_untouched());
    const auto inner = fg::chunk_cat(s, std::tuple(a.in(), a.in().narrow(1, 0, 1)), 1, 2);
    EXPECT_EQ(inner.shape_of(), (shape{3, 2, 2}));
    expect_equal(values_of(inner), {1, 1, 2, 0, 3, 3, 4, 0, 5, 5, 6, 0});
    const auto last = fg::chunk_cat(s, std::tuple(a.in(), a.in().narrow(1, 0, 1)), -1, 2);
    expect_equal(values_of(last), values_of(inner));
  }
}

/// How often the kernel of a few rows in turns has been launched.
int interleaved = 0;

/// x0, y0, ..., x1, y1, ...: from many tensors, and from few, whose elements a vector of a chip
/// has; some begin elsewhere than at a vector.
template <class T, class D>
void check_turns(int count) {
  const auto& s = test_stream<D>();
  const auto width = static_cast<i64>(16 / sizeof(T));
  for (const i64 n : {i64{1}, width - 1, width, width + 1, 2 * width, i64{64}, i64{203}})
    for (const i64 skipped : {i64{0}, i64{1}, width / 2, width}) {
      if (n == 0) continue;
      std::vector<test_tensor<T, D>> operands;
      std::vector<fg::tensor_view<const T, D>> list;
      for (int k = 0; k < count; ++k)
        operands.emplace_back(shape{n + skipped}, layout::contiguous,
                              random_integers({n + skipped}, 0, 100));
      for (auto& x : operands) list.push_back(x.in().narrow(0, skipped, n));
      const auto made = fg::stack(s, list, -1);
      std::vector<double> want;
      for (i64 i = skipped; i < n + skipped; ++i)
        for (const auto& x : operands) want.push_back(x.values()[static_cast<std::size_t>(i)]);
      expect_equal(values_of(made), want);
      test_tensor<T, D> out({n, i64{count}}, layout::offset);
      fg::stack(s, list, out.view(), 1);
      expect_equal(out.read(), want);
      EXPECT_TRUE(out.gaps_untouched());
    }
}
TYPED_TEST(stacks, in_turns) {
  interleaved = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    interleaved += e.kernel.find("interleave_rows") != e.kernel.npos;
  });
  for (const int count : {2, 3, 4, 5, 16, 17}) {
    check_turns<fg::u8, TypeParam>(count);
    check_turns<bf16, TypeParam>(count);
    check_turns<f32, TypeParam>(count);
    check_turns<f64, TypeParam>(count);
  }
  fg::set_launch_hook(before);
  EXPECT_EQ(interleaved > 100, fg::has_simt<TypeParam>) << interleaved;
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(stack, promotes_and_refuses) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({4, 6}), cube({2, 2, 2}), out({2, 4, 6});
  test_tensor<i64> whole({4, 6}, layout::contiguous, {7});
  const auto mixed = fg::stack(s, std::tuple(x.in(), whole.in()));
  static_assert(std::is_same_v<fg::value_t<decltype(mixed)>, f32>);
  EXPECT_EQ(mixed.data()[24], 7);
  EXPECT_RAISES(fg::stack(s, std::tuple(x.in(), cube.in())), shape_mismatch, "stack");
  EXPECT_RAISES(fg::stack(s, std::tuple(x.in(), x.in()), 3), out_of_range, "stack");
  EXPECT_RAISES(fg::chunk_cat(s, std::tuple(x.in(), cube.in()), 1, 2), shape_mismatch, "chunk_cat");
  EXPECT_RAISES(fg::chunk_cat(s, std::tuple(x.in()), 0, 0), invalid_argument, "chunk_cat");
  EXPECT_RAISES(fg::chunk_cat(s, std::tuple(x.in(), cube.in()), -1, 2), invalid_argument,
                "chunk_cat");
  EXPECT_RAISES(fg::chunk_cat(s, std::tuple(x.in()), -3, 2), out_of_range, "chunk_cat");
  EXPECT_RAISES(fg::chunk_cat(s, std::tuple(out.in().select(0, 0)), out.view(), 0, 2),
                shape_mismatch, "chunk_cat");
  EXPECT_RAISES(fg::block_diag(s, std::tuple(cube.in())), invalid_argument, "block_diag");
  EXPECT_RAISES(fg::stack(s, std::tuple(x.in(), x.in()), out.view(), 1), shape_mismatch, "stack");
  EXPECT_RAISES(fg::stack(s, std::tuple(out.in().select(0, 1), x.in()), out.view()), overlap,
                "stack");
  EXPECT_RAISES(fg::stack(s, std::vector<fg::tensor_view<const f32>>()), invalid_argument, "stack");
  EXPECT_RAISES(fg::hstack(s, std::tuple(x.in(), cube.in())), shape_mismatch, "hstack");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
