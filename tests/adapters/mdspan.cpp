// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// With std::mdspan where the compiler has it (-std=c++23), and another one whose namespace is
// given; else with that of tests/support, which checks the standard's preconditions.
#include <version>
#if !defined(FLAGGEMS_MDSPAN_NAMESPACE) && !defined(__cpp_lib_mdspan)
#include <support/mdspan.hpp>
#define FLAGGEMS_MDSPAN_NAMESPACE support::md
#endif
#include <flaggems/adapters/mdspan.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "../tensor/test_support.hpp"

namespace {

using namespace flaggems;
namespace md = FLAGGEMS_MDSPAN_NAMESPACE;

constexpr std::size_t any = std::dynamic_extent;

template <class T, class Extents, class Layout = md::layout_right>
using mdspan_of = md::mdspan<T, Extents, Layout>;
template <class T, std::size_t Rank, class Layout = md::layout_right, class Index = int>
using dmdspan = md::mdspan<T, md::dextents<Index, Rank>, Layout>;

/// An mdspan of sizes, in the order of its layout.
template <class Mdspan, class T, std::size_t Rank>
Mdspan over(T* data, const std::array<typename Mdspan::index_type, Rank>& sizes) {
  return Mdspan(data, typename Mdspan::mapping_type(typename Mdspan::extents_type(sizes)));
}

/// 0, 1, 2, ...
std::vector<f32> numbers(int n) {
  std::vector<f32> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

TEST(mdspan, of_row_major_elements) {
  auto values = numbers(24);
  const auto m = over<dmdspan<f32, 3>>(values.data(), std::array{2, 3, 4});
  const auto v = from_mdspan(m);
  static_assert(std::is_same_v<decltype(v), const tensor_view<f32, host, extents<-1, -1, -1>>>);
  EXPECT_EQ(v.data(), values.data());
  EXPECT_TRUE(v.is_contiguous());
  EXPECT_EQ(v(1, 2, 3), 23);
  EXPECT_EQ(&v(1, 0, 2), &(m[std::array{1, 0, 2}]));
  v(0, 1, 2) = -1;
  EXPECT_EQ((m[std::array{0, 1, 2}]), -1);
}

TEST(mdspan, of_column_major_elements) {
  auto values = numbers(24);
  const auto m = over<dmdspan<f32, 3, md::layout_left>>(values.data(), std::array{2, 3, 4});
  const auto v = from_mdspan(m);
  EXPECT_EQ(shape(v.strides()), shape({1, 2, 6}));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) EXPECT_EQ(v(i, j, k), (m[std::array{i, j, k}]));
}

TEST(mdspan, of_strided_elements) {
  auto values = numbers(24);
  using mdspan = dmdspan<f32, 2, md::layout_stride>;
  const mdspan m(values.data(),
                 mdspan::mapping_type(mdspan::extents_type(std::array{3, 2}), std::array{2, 9}));
  const auto v = from_mdspan(m);
  EXPECT_EQ(shape(v.strides()), shape({2, 9}));
  EXPECT_EQ(v(2, 1), 13);
}

TEST(mdspan, of_memory_of_another_device) {
  f32 values[4] = {};
  const auto m = over<dmdspan<f32, 2>>(values, std::array{2, 2});
  const auto v = from_mdspan<struct other_device>(m);
  static_assert(std::is_same_v<decltype(v), const tensor_view<f32, other_device, extents<-1, -1>>>);
  EXPECT_EQ(v.data(), values);
}

TEST(mdspan, static_extents_are_kept_both_ways) {
  auto values = numbers(12);
  using fixed = mdspan_of<f32, md::extents<std::size_t, 3, 4>>;
  const auto m = over<fixed>(values.data(), std::array<std::size_t, 2>{3, 4});
  const auto v = from_mdspan(m);
  static_assert(std::is_same_v<decltype(v), const tensor_view<f32, host, extents<3, 4>>>);
  const auto mixed = from_mdspan(
      over<mdspan_of<const f32, md::extents<int, any, 4>>>(values.data(), std::array{3, 4}));
  static_assert(
      std::is_same_v<decltype(mixed), const tensor_view<const f32, host, extents<-1, 4>>>);
  EXPECT_EQ(mixed.size(0), 3);

  const auto back = to_mdspan(v);
  static_assert(std::is_same_v<decltype(back),
                               const md::mdspan<f32, md::extents<i64, 3, 4>, md::layout_stride>>);
  EXPECT_EQ((back[std::array<i64, 2>{2, 3}]), 11);
  static_assert(std::is_same_v<decltype(to_mdspan(mixed)),
                               md::mdspan<const f32, md::extents<i64, any, 4>, md::layout_stride>>);
  EXPECT_EQ(to_mdspan(mixed).extent(0), 3);
  EXPECT_EQ(to_mdspan<fixed>(v).data_handle(), values.data());
}

TEST(mdspan, there_and_back_as_documented) {
  std::vector<float> values(12);
  // [mdspan]
  const auto v = flaggems::from_span(values, {3, 4});      // a vector, an array, a std::span
  using matrix = md::mdspan<float, md::dextents<int, 2>>;  // md is std
  const auto m = flaggems::to_mdspan<matrix>(v);           // raises for another order of elements
  const auto w = flaggems::from_mdspan(m);  // of rank 2 by its type, and any operator's argument
  using columns = md::mdspan<float, md::dextents<int, 2>, md::layout_stride>;
  const auto part = flaggems::to_mdspan<columns>(v.slice(1, 1, 3));
  // [/mdspan]
  EXPECT_EQ(w.data(), values.data());
  EXPECT_EQ(w.stride(0), 4);
  EXPECT_NEAR(softmax(stream_ref<host>(), w, 1)(2, 3), 0.25, 1e-6);
  EXPECT_EQ(part.extent(1), 2);
}

TEST(mdspan, of_rank_0) {
  f32 value = 3;
  using scalar = mdspan_of<f32, md::extents<int>>;
  const auto v = from_mdspan(over<scalar>(&value, std::array<int, 0>{}));
  EXPECT_EQ(v.rank(), 0);
  EXPECT_EQ(v(), 3);
  const auto same = [&](const auto& m) {
    EXPECT_EQ(m.rank(), 0u);
    EXPECT_EQ((m[std::array<typename std::remove_cvref_t<decltype(m)>::index_type, 0>{}]), 3);
  };
  same(to_mdspan(v));
  same(to_mdspan<scalar>(v.view()));
  same(to_mdspan<mdspan_of<const f32, md::extents<i64>, md::layout_left>>(v));
  const auto strided = to_mdspan(v);
  EXPECT_EQ(from_mdspan(strided)(), 3);
}

TEST(mdspan, without_elements) {
  f32* const none = nullptr;
  const auto v = from_mdspan(over<dmdspan<f32, 2>>(none, std::array{0, 7}));
  EXPECT_EQ(v.numel(), 0);
  EXPECT_EQ(v.size(1), 7);
  const tensor_view<f32> empty(nullptr, {3, 0, 5}, {-1, 0, 99});
  const auto strided = to_mdspan<dmdspan<f32, 3, md::layout_stride>>(empty);
  EXPECT_EQ(strided.extent(2), 5);
  EXPECT_EQ(strided.extent(1), 0);
  EXPECT_EQ((to_mdspan<dmdspan<f32, 3>>(empty).extent(0)), 3);
  EXPECT_EQ((to_mdspan<dmdspan<f32, 3, md::layout_left>>(empty).extent(0)), 3);
}

TEST(mdspan, of_views_and_tensors) {
  const stream_ref<host> stream;
  auto x = from_values<f32>(stream, {1, 2, 3, 4, 5, 6}, {2, 3});
  const auto m = to_mdspan<dmdspan<f32, 2>>(x);
  m[std::array{1, 2}] = 9;
  EXPECT_EQ(x(1, 2), 9);
  EXPECT_EQ((to_mdspan<dmdspan<f32, 2, md::layout_left>>(x.t())[std::array{2, 1}]), 9);
  EXPECT_EQ((to_mdspan<dmdspan<f32, 2, md::layout_stride>>(x.slice(1, 1))[std::array{1, 1}]), 9);
  const auto& fixed = x;
  EXPECT_EQ((to_mdspan<dmdspan<const f32, 1>>(fixed.select(0, 1))[std::array{0}]), 4);
}

TEST(mdspan, what_does_not_fit_is_refused) {
  auto values = numbers(24);
  const tensor_view<f32> v(values.data(), {4, 6});
  using right = dmdspan<f32, 2>;
  using left = dmdspan<f32, 2, md::layout_left>;
  using strided = dmdspan<f32, 2, md::layout_stride>;
  EXPECT_RAISES((to_mdspan<dmdspan<f32, 3>>(v)), shape_mismatch, "to_mdspan");
  EXPECT_RAISES((to_mdspan<mdspan_of<f32, md::extents<int, 4, 5>>>(v)), shape_mismatch,
                "to_mdspan");
  EXPECT_RAISES(to_mdspan<right>(v.t()), shape_mismatch, "to_mdspan");
  EXPECT_RAISES(to_mdspan<left>(v), shape_mismatch, "to_mdspan");
  EXPECT_RAISES(to_mdspan<right>(v.slice(1, 0, 5)), shape_mismatch, "to_mdspan");
  EXPECT_RAISES(to_mdspan<right>(v.flip({0})), shape_mismatch, "to_mdspan");
  EXPECT_RAISES(to_mdspan<strided>(v.flip({0})), invalid_argument, "to_mdspan");
  EXPECT_RAISES(to_mdspan<strided>(v.select(0, 0).expand({3, 6})), invalid_argument, "to_mdspan");
  const tensor_view<f32> windows(values.data(), {5, 4}, {2, 1});  // each overlaps the next
  EXPECT_RAISES(to_mdspan<strided>(windows), invalid_argument, "to_mdspan");
  // Interleaved, [[0, 2], [3, 5]]: places of their own, but the standard wants each stride to be at
  // least the product of a smaller one and its size.
  EXPECT_RAISES(to_mdspan<strided>(v.as_strided({2, 2}, {3, 2})), invalid_argument, "to_mdspan");
  // What no element's place depends on is not refused.
  EXPECT_EQ(to_mdspan<strided>(v.select(0, 1).expand({1, 6})).extent(1), 6);
  const i64 huge = (std::numeric_limits<i64>::max)();
  const tensor_view<f32> one(values.data(), {1, 1}, {-huge, huge});
  EXPECT_EQ((to_mdspan<strided>(one)[std::array{0, 0}]), 0);
  EXPECT_EQ((to_mdspan<right>(one)[std::array{0, 0}]), 0);
  // Numbers of the mdspan that are too small for it.
  using small = md::mdspan<f32, md::dextents<i8, 2>, md::layout_stride>;
  std::vector<f32> many(400);
  const tensor_view<f32> large(many.data(), {20, 20});
  EXPECT_EQ(to_mdspan<small>(large.slice(0, 0, 6).slice(1, 0, 7)).extent(0), 6);  // 1 + 5 * 20 + 6
  EXPECT_RAISES(to_mdspan<small>(large.slice(0, 0, 8)), shape_mismatch, "to_mdspan");
  EXPECT_RAISES((to_mdspan<dmdspan<f32, 1, md::layout_right, i8>>(large.view({-1}))),
                shape_mismatch, "to_mdspan");
  // And of an mdspan that no view can have.
  EXPECT_RAISES(from_mdspan(over<right>(static_cast<f32*>(nullptr), std::array{2, 2})),
                invalid_argument, "tensor_view");
}

TEST(mdspan, random_views_there_and_back) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<i64>(random() % static_cast<unsigned>(n)); };
  auto values = numbers(4096);
  using strided = dmdspan<f32, 3, md::layout_stride>;
  int kept = 0, refused = 0;
  for (int k = 0; k < 5000; ++k) {
    const shape sizes = {below(4), 1 + below(4), 1 + below(4)};
    const shape strides = {below(40) - 5, below(40) - 5, below(8) - 1};
    const tensor_view<f32> v(values.data() + 1000, sizes, strides);
    // The standard's words: some order of the dimensions in which each stride is at least the
    // product of the one before and its size; and positive. A size of 1 may have any stride.
    std::vector<int> order;
    for (int i = 0; i < 3; ++i)
      if (sizes[i] > 1) order.push_back(i);
    bool valid = v.empty();
    do {
      bool here = true;
      for (std::size_t i = 0; i < order.size(); ++i)
        here = here && strides[order[i]] > 0 &&
               (i == 0 || strides[order[i]] >= strides[order[i - 1]] * sizes[order[i - 1]]);
      valid = valid || here;
    } while (std::next_permutation(order.begin(), order.end()));
    try {
      const auto m = to_mdspan<strided>(v);
      ASSERT_TRUE(valid);
      const auto back = from_mdspan(m);
      ASSERT_EQ(back.shape_of(), sizes);
      for (i64 i = 0; i < sizes[0]; ++i)
        for (i64 j = 0; j < sizes[1]; ++j)
          for (i64 l = 0; l < sizes[2]; ++l) {
            ASSERT_EQ(back(i, j, l), v(i, j, l));
            ASSERT_EQ(
                (m[std::array{static_cast<int>(i), static_cast<int>(j), static_cast<int>(l)}]),
                v(i, j, l));
          }
      ++kept;
    } catch (const error& e) {
      ASSERT_FALSE(valid) << e.what();
      ASSERT_EQ(e.code(), errc::invalid_argument);
      ++refused;
    }
  }
  EXPECT_GT(kept, 500);
  EXPECT_GT(refused, 500);
}

// ---- spans and ranges

TEST(span, views_of_ranges) {
  auto values = numbers(6);
  const auto v = from_span(values);
  static_assert(std::is_same_v<decltype(v), const tensor_view<f32, host, extents<-1>>>);
  EXPECT_EQ(v.data(), values.data());
  EXPECT_EQ(v.size(0), 6);
  const auto& fixed = values;
  static_assert(
      std::is_same_v<decltype(from_span(fixed)), tensor_view<const f32, host, extents<-1>>>);
  std::array<i32, 3> three = {1, 2, 3};
  static_assert(std::is_same_v<decltype(from_span(three)), tensor_view<i32, host, extents<3>>>);
  EXPECT_EQ(from_span(three)(2), 3);
  bool flags[4] = {true, false, true, true};
  static_assert(std::is_same_v<decltype(from_span(flags)), tensor_view<bool, host, extents<4>>>);
  EXPECT_FALSE(from_span(flags)(1));
  const std::span<const f32, 2> part(values.data() + 4, 2);
  static_assert(
      std::is_same_v<decltype(from_span(part)), tensor_view<const f32, host, extents<2>>>);
  EXPECT_EQ(from_span(std::span(values).subspan(3))(0), 3);  // spans own nothing
  EXPECT_EQ(
      from_span(std::vector<f32>().size() == 0 ? std::span<f32>() : std::span(values)).numel(), 0);
}

TEST(span, with_sizes) {
  auto values = numbers(6);
  const auto v = from_span(values, {2, 3});
  static_assert(std::is_same_v<decltype(v), const tensor_view<f32>>);
  EXPECT_EQ(v(1, 0), 3);
  EXPECT_RAISES(from_span(values, {2, 2}), shape_mismatch, "from_span");
  EXPECT_RAISES(from_span(values, {-2, -3}), invalid_argument, "from_span");
  EXPECT_RAISES(from_span(values, {-1, 3}), invalid_argument, "from_span");
  EXPECT_EQ(from_span(std::span<f32>(), {4, 0}).size(0), 4);
}

constexpr int sum_of_three() {
  constexpr std::array<i32, 3> three = {1, 2, 3};
  const auto v = from_span(three);
  return v(0) + v(1) + v(2);
}
static_assert(sum_of_three() == 6);

}  // namespace
