// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/views.hpp>
#include <support/moves.hpp>

#include <limits>

namespace flaggems_test {
namespace {

template <class Device>
class view_copies : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(view_copies, devices);

TYPED_TEST(view_copies, all) {
  using D = TypeParam;
  using at = std::vector<i64>;
  static const i64 order[] = {2, 0, 1}, wide[] = {2, 3, 1, 5}, flat[] = {4, 15};
  const move_case<f32, D> table[] = {
      {"alias_copy",
       {3, 4},
       {3, 4},
       [](const grid& x, const at& i) { return x.at(i); },
       FLAGGEMS_MOVE_CASE(alias_copy)},
      {"lift_fresh_copy",
       {3, 4},
       {3, 4},
       [](const grid& x, const at& i) { return x.at(i); },
       FLAGGEMS_MOVE_CASE(lift_fresh_copy)},
      {"permute_copy",
       {3, 4, 5},
       {5, 3, 4},
       [](const grid& x, const at& i) {
         return x.at({i[1], i[2], i[0]});
       },
       FLAGGEMS_MOVE_CASE(permute_copy, order)},
      {"transpose_copy",
       {3, 4, 5},
       {3, 5, 4},
       [](const grid& x, const at& i) {
         return x.at({i[0], i[2], i[1]});
       },
       FLAGGEMS_MOVE_CASE(transpose_copy, 1, -1)},
      {"t_copy",
       {3, 4},
       {4, 3},
       [](const grid& x, const at& i) {
         return x.at({i[1], i[0]});
       },
       FLAGGEMS_MOVE_CASE(t_copy)},
      {"expand_copy",
       {3, 1, 5},
       {2, 3, 1, 5},
       [](const grid& x, const at& i) {
         return x.at({i[1], i[2], i[3]});
       },
       FLAGGEMS_MOVE_CASE(expand_copy, wide)},
      {"squeeze_copy",
       {3, 1, 5},
       {3, 5},
       [](const grid& x, const at& i) {
         return x.at({i[0], 0, i[1]});
       },
       FLAGGEMS_MOVE_CASE(squeeze_copy)},
      {"squeeze_copy.dims",
       {1, 3, 1},
       {1, 3},
       [](const grid& x, const at& i) {
         return x.at({i[0], i[1], 0});
       },
       FLAGGEMS_MOVE_CASE(squeeze_copy, 2)},
      {"unsqueeze_copy",
       {3, 5},
       {3, 5, 1},
       [](const grid& x, const at& i) {
         return x.at({i[0], i[1]});
       },
       FLAGGEMS_MOVE_CASE(unsqueeze_copy, -1)},
      {"narrow_copy",
       {3, 9},
       {3, 4},
       [](const grid& x, const at& i) {
         return x.at({i[0], i[1] + 2});
       },
       FLAGGEMS_MOVE_CASE(narrow_copy, 1, 2, 4)},
      {"select_copy",
       {3, 9},
       {3},
       [](const grid& x, const at& i) {
         return x.at({i[0], 7});
       },
       FLAGGEMS_MOVE_CASE(select_copy, 1, -2)},
      {"slice_copy",
       {3, 9},
       {3, 3},
       [](const grid& x, const at& i) {
         return x.at({i[0], 2 + 2 * i[1]});
       },
       FLAGGEMS_MOVE_CASE(slice_copy, 1, 2, -1, 2)},
      {"slice_copy of all",
       {3, 2},
       {3, 2},
       [](const grid& x, const at& i) { return x.at(i); },
       FLAGGEMS_MOVE_CASE(slice_copy)},
      {"diagonal_copy",
       {3, 4, 5},
       {4, 3},
       [](const grid& x, const at& i) {
         return x.at({i[1], i[0], i[1] + 1});
       },
       FLAGGEMS_MOVE_CASE(diagonal_copy, 1, 0, 2)},
      {"unfold_copy",
       {2, 9},
       {2, 3, 4},
       [](const grid& x, const at& i) {
         return x.at({i[0], 2 * i[1] + i[2]});
       },
       FLAGGEMS_MOVE_CASE(unfold_copy, 1, 4, 2)},
  };
  at_every_level<D>([&] {
    for (const auto& one : table) check_move(one);
  });
  test_tensor<f32, D> x({4, 3, 5}, layout::contiguous, random_integers({4, 3, 5}, 0, 100));
  for (const layout how : {layout::contiguous, layout::strided, layout::transposed}) {
    test_tensor<f32, D> y({4, 3, 5}, how, x.values()), copied({4, 15}, how);
    expect_equal(values_of(fg::view_copy(test_stream<D>(), y.in(), flat)), x.values());
    fg::view_copy(test_stream<D>(), y.in(), copied.view(), flat);
    expect_equal(copied.read(), x.values());
  }
  // This needs a layout that has such a view.
  static const i64 sizes[] = {2, 2}, strides[] = {15, 1};
  test_tensor<f32, D> out({2, 2});
  fg::as_strided_copy(test_stream<D>(), x.in(), out.view(), sizes, strides, 1);
  const auto& v = x.values();
  expect_equal(out.read(), {v[1], v[2], v[16], v[17]});
  static const i64 two[] = {2}, beyond[] = {i64{1} << 40}, back[] = {-1};
  test_tensor<f32, D> pair({2});
  for (const i64 far : {i64{1} << 62, (i64{1} << 61) + 1, std::numeric_limits<i64>::min(),
                        i64{1} << 60, -(i64{1} << 60)})
    EXPECT_EQ(code_of([&] {
                fg::as_strided_copy(test_stream<D>(), x.in(), pair.view(), two, shape{1}, far);
              }),
              fg::errc::invalid_argument)
        << far;
  EXPECT_RAISES(fg::as_strided_copy(test_stream<D>(), x.in(), pair.view(), two, beyond),
                invalid_argument, "as_strided_copy");
  EXPECT_RAISES(fg::as_strided_copy(test_stream<D>(), x.in(), two, back), invalid_argument,
                "as_strided_copy");
  EXPECT_TRUE(pair.untouched());
}

TYPED_TEST(view_copies, parts) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({2, 5}, layout::transposed, random_integers({2, 5}, 0, 100));
  const auto& v = x.values();
  const auto rows = fg::unbind_copy(s, x.in());
  ASSERT_EQ(rows.size(), 2u);
  expect_equal(values_of(rows[1]), {v[5], v[6], v[7], v[8], v[9]});
  const auto halves = fg::split_copy(s, x.in(), 3, 1);
  ASSERT_EQ(halves.size(), 2u);
  expect_equal(values_of(halves[1]), {v[3], v[4], v[8], v[9]});
  const auto given = fg::split_with_sizes_copy(s, x.in(), {1, 0, 4}, -1);
  ASSERT_EQ(given.size(), 3u);
  EXPECT_EQ(given[1].shape_of(), (shape{2, 0}));
  expect_equal(values_of(given[0]), {v[0], v[5]});
}

#if FLAGGEMS_TEST_HOST  // about the host
template <class A, class B>
void expect_view(const A& a, const B& b) {
  EXPECT_EQ(a.data(), b.data());
  EXPECT_EQ(a.shape_of(), b.shape_of());
  EXPECT_EQ(shape(a.strides()), shape(b.strides()));
}

TEST(views, functions_are_members) {
  const auto x = fg::empty<f32>(test_stream<host>(), {4, 3, 5});
  const auto v = x.view();
  expect_view(fg::permute(x, {2, 0, 1}), v.permute({2, 0, 1}));
  expect_view(fg::transpose(x, 0, 2), v.transpose(0, 2));
  expect_view(fg::t(v.select(0, 0)), v.select(0, 0).t());
  expect_view(fg::movedim(x, 0, 2), v.movedim(0, 2));
  expect_view(fg::expand(v.narrow(1, 0, 1), {4, 7, 5}), v.narrow(1, 0, 1).expand({4, 7, 5}));
  expect_view(fg::broadcast_to(x, {2, 4, 3, 5}), v.expand({2, 4, 3, 5}));
  expect_view(fg::expand_as(v.narrow(2, 1, 1), x), v.narrow(2, 1, 1).expand({4, 3, 5}));
  expect_view(fg::view(x, {12, -1}), v.view({12, 5}));
  expect_view(fg::reshape(x, {60}), v.view({60}));
  expect_view(fg::flatten(x, 1), v.view({4, 15}));
  expect_view(fg::unflatten(x, 0, {2, -1}), v.view({2, 2, 3, 5}));
  expect_view(fg::squeeze(v.narrow(0, 1, 1)), v.select(0, 1));
  expect_view(fg::squeeze(v.narrow(0, 1, 1), 0), v.select(0, 1));
  expect_view(fg::unsqueeze(x, 1), v.unsqueeze(1));
  expect_view(fg::narrow(x, 1, 1, 2), v.narrow(1, 1, 2));
  expect_view(fg::select(x, 1, -1), v.select(1, 2));
  expect_view(fg::diagonal(x, 1, 1, 2), v.diagonal(1, 1, 2));
  expect_view(fg::as_strided(x, {2}, {3}, 1), v.as_strided({2}, {3}, 1));
  expect_view(fg::alias(x), v);
  expect_view(fg::lift(x), v);
  expect_view(fg::lift_fresh(x), v);
  expect_view(fg::unsafe_view(x, {x.numel()}), v.view({x.numel()}));
  expect_view(fg::unsafe_chunk(x, 2, 2)[1], v.narrow(2, 3, 2));
  expect_view(fg::reshape_alias(x, {2, 2}, {1, 2}), v.as_strided({2, 2}, {1, 2}));
  expect_view(fg::split(x, 2)[1], v.narrow(0, 2, 2));
  expect_view(fg::chunk(x, 2, 2)[1], v.narrow(2, 3, 2));
}

TEST(views, broadcast_tensors) {
  test_tensor<f32> x({3, 1}), y({4}), odd({2});
  const auto both = fg::broadcast_tensors(x.in(), y.view());
  EXPECT_EQ(std::get<0>(both).shape_of(), (shape{3, 4}));
  EXPECT_EQ(shape(std::get<0>(both).strides()), (shape{1, 0}));
  EXPECT_EQ(std::get<1>(both).shape_of(), (shape{3, 4}));
  EXPECT_EQ(std::get<1>(both).data(), y.view().data());
  EXPECT_RAISES(fg::broadcast_tensors(y.in(), odd.in()), shape_mismatch, "broadcast_tensors");
}

TEST(views, unfold) {
  const auto x = fg::empty<f32>(test_stream<host>(), {4, 3, 5});
  const auto v = x.view();
  const auto windows = fg::unfold(x, 2, 3, 2);
  EXPECT_EQ(windows.shape_of(), (shape{4, 3, 2, 3}));
  expect_view(windows.select(2, 1), v.narrow(2, 2, 3));
  EXPECT_EQ(v.unfold(0, 0, 1).shape_of(), (shape{5, 3, 5, 0}));
  expect_view(v.view({60}).select(0, 7).unfold(0, 1, 4), v.view({60}).narrow(0, 7, 1));
  EXPECT_RAISES(v.unfold(0, 5, 1), invalid_argument, "unfold");
  EXPECT_RAISES(v.unfold(0, 2, 0), invalid_argument, "unfold");
  EXPECT_RAISES(v.unfold(3, 1, 1), out_of_range, "unfold");
}

TEST(views, parts) {
  const auto x = fg::empty<f32>(test_stream<host>(), {4, 3, 5});
  const auto v = x.view();
  i64 n = 0;
  for (const auto row : fg::unbind(x, 1)) expect_view(row, v.select(1, n++));
  EXPECT_EQ(n, 3);
  const auto parts = fg::tensor_split(x, 3, 2);
  ASSERT_EQ(parts.size(), 3);
  expect_view(parts[0], v.narrow(2, 0, 2));
  expect_view(parts[1], v.narrow(2, 2, 2));
  expect_view(parts[2], v.narrow(2, 4, 1));
  EXPECT_EQ(fg::tensor_split(x, 7, 2)[6].shape_of(), (shape{4, 3, 0}));
  expect_view(fg::split_with_sizes(x, {1, 2}, 1)[1], v.narrow(1, 1, 2));
  EXPECT_RAISES(fg::tensor_split(x, 0), invalid_argument, "tensor_split");
  EXPECT_RAISES(fg::split_with_sizes(x, {1, 1}, 1), invalid_argument, "split_with_sizes");
  EXPECT_RAISES(fg::split_with_sizes(x, {4, -1}, 1), invalid_argument, "split_with_sizes");
  EXPECT_RAISES(fg::unbind(x, 3), out_of_range, "unbind");
}

TEST(views, copies_refuse_bad_outputs) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3, 4}), out({3, 4});
  EXPECT_RAISES(fg::t_copy(s, x.in(), out.view()), shape_mismatch, "t_copy");
  EXPECT_RAISES(fg::expand_copy(s, x.in(), {3, 5}), shape_mismatch, "expand");
  EXPECT_RAISES(fg::permute_copy(s, x.in(), {0, 0}), invalid_argument, "permute");
  test_tensor<f32> square({3, 3});
  EXPECT_RAISES(fg::t_copy(s, square.in(), square.view()), overlap, "t_copy");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
