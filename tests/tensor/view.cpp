// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/tensor/dtype.hpp>
#include <flaggems/tensor/view.hpp>

#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "test_support.hpp"

struct far_device;
template <>
inline constexpr bool flaggems::host_accessible<far_device> = false;

namespace {

using namespace flaggems;

template <i64... E>
using fixed = tensor_view<f32, host, extents<E...>>;

// Static sizes cost nothing: a pointer, the strides, and the sizes that are not in the type.
static_assert(std::is_empty_v<extents<2, 3>> && std::is_empty_v<extents<>>);
static_assert(sizeof(fixed<>) == sizeof(void*));
static_assert(sizeof(fixed<4>) == sizeof(void*) + 8);
static_assert(sizeof(fixed<2, 3>) == sizeof(void*) + 2 * 8);
static_assert(sizeof(fixed<2, dynamic_extent>) == sizeof(void*) + 3 * 8);
// Of any rank: beside all sizes and strides, the rank and the number of elements.
static_assert(sizeof(tensor_view<f32>) == sizeof(void*) + 2 * 8 * max_rank + 2 * 8);
static_assert(fixed<2, 3>::rank() == 2);

static_assert(std::is_trivially_copyable_v<tensor_view<f32>>);
static_assert(std::is_trivially_copyable_v<fixed<2, dynamic_extent>>);
static_assert(std::is_trivially_destructible_v<tensor_view<f32>>);

// const may be added, not removed; static sizes may be forgotten, not made up.
static_assert(std::is_convertible_v<tensor_view<f32>, tensor_view<const f32>>);
static_assert(!std::is_constructible_v<tensor_view<f32>, tensor_view<const f32>>);
static_assert(std::is_convertible_v<fixed<2, 3>, tensor_view<f32>>);
static_assert(std::is_convertible_v<fixed<2, 3>, tensor_view<const f32>>);
static_assert(!std::is_convertible_v<tensor_view<f32>, fixed<2, 3>>);
static_assert(std::is_constructible_v<fixed<2, 3>, tensor_view<f32>>);
static_assert(!std::is_constructible_v<tensor_view<f32>, tensor_view<f64>>);
static_assert(!std::is_constructible_v<tensor_view<f32>, tensor_view<f32, far_device>>);
static_assert(std::is_same_v<tensor_view<const f32>::value_type, f32>);
static_assert(std::is_same_v<tensor_view<const f32>::element_type, const f32>);

template <class View>
concept readable = requires(const View& v) {
  v(0, 0);
};
// (Memory that the host cannot read is refused by a message: compile_fail/host_accessible.cpp.)
static_assert(readable<tensor_view<f32>>);
template <class View>
concept indexed = requires(const View& v) {
  v[0];
};
static_assert(indexed<fixed<2>> && indexed<tensor_view<f32>> && !indexed<fixed<2, 3>>);

struct owner {
  std::vector<f32> values = std::vector<f32>(6);
  tensor_view<f32> view() { return {values.data(), {2, 3}}; }
  [[nodiscard]] tensor_view<const f32> view() const { return {values.data(), {2, 3}}; }
};
struct has_other_view {
  [[nodiscard]] int view() const { return 0; }
};
static_assert(tensor_like<owner> && tensor_like<owner&> && tensor_like<const owner&>);
static_assert(tensor_like<fixed<2>> && tensor_like<const tensor_view<bf16, far_device>&>);
static_assert(!tensor_like<int> && !tensor_like<has_other_view> && !tensor_like<shape>);
static_assert(std::is_same_v<element_t<owner&>, f32> &&
              std::is_same_v<element_t<const owner&>, const f32> &&
              std::is_same_v<value_t<const owner&>, f32> &&
              std::is_same_v<device_t<tensor_view<f32, far_device>>, far_device>);

// All of it works in constant expressions.
constexpr bool constant_expression() {
  i32 a[24] = {};
  for (int i = 0; i < 24; ++i) a[i] = i;
  const tensor_view<i32> v(a, {2, 3, 4});
  const auto w = v.select(0, 1).t().flip({0}).slice(0, 1, -1);
  return w.size(0) == 2 && w(0, 0) == 14 && v.reshape({4, -1})(3, 5) == 23;
}
static_assert(constant_expression());

TEST(view, describes_what_it_was_given) {
  f32 a[24];
  const tensor_view<f32> v(a, {2, 3, 4});
  EXPECT_EQ(v.data(), a);
  EXPECT_EQ(v.rank(), 3);
  EXPECT_EQ(v.size(-1), 4);
  EXPECT_EQ(v.stride(0), 12);
  EXPECT_EQ(v.numel(), 24);
  EXPECT_EQ(v.bytes(), 96);
  EXPECT_TRUE(v.is_contiguous());
  EXPECT_FALSE(v.empty());
  EXPECT_EQ(to_string(v.sizes()), "[2, 3, 4]");
  EXPECT_EQ(to_string(v.strides()), "[12, 4, 1]");
  EXPECT_RAISES(v.size(3), out_of_range, "size");
  EXPECT_RAISES(v.stride(-4), out_of_range, "stride");

  const tensor_view<f32> scalar(a, {});
  EXPECT_EQ(scalar.numel(), 1);
  EXPECT_EQ(to_string(scalar.sizes()), "[]");
  EXPECT_EQ(&scalar(), a);
  EXPECT_RAISES(scalar.size(0), out_of_range, "size");

  const tensor_view<f32> none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.data(), nullptr);

  const tensor_view<f32> empty(a, {2, 0, 3});
  EXPECT_TRUE(empty.is_contiguous());
  EXPECT_EQ(empty.stride(0), 3);  // as PyTorch: a size of 0 counts as 1
}

TEST(view, takes_sizes_in_any_form) {
  f32 a[6];
  const std::vector<i64> vector = {2, 3};
  const std::array<i64, 2> array = {2, 3};
  const i64 c_array[] = {2, 3};
  const shape value{2, 3};
  for (const tensor_view<f32>& v :
       {tensor_view<f32>(a, vector), tensor_view<f32>(a, array), tensor_view<f32>(a, c_array),
        tensor_view<f32>(a, value), tensor_view<f32>(a, std::span<const i64>(array)),
        tensor_view<f32>(a, {2, 3}), tensor_view<f32>(a, {2, 3}, {3, 1})})
    EXPECT_EQ(shape(v.sizes()), value);
}

TEST(view, refuses_impossible_sizes_and_strides) {
  f32 a[1];
  constexpr i64 large = i64{1} << 40, huge = (std::numeric_limits<i64>::max)();
  using view = tensor_view<f32>;
  EXPECT_RAISES(view(a, {2, -1}), invalid_argument, "tensor_view");
  EXPECT_RAISES(view(a, {large, large}), invalid_argument, "tensor_view");
  EXPECT_RAISES(view(a, {large, large, 0}), invalid_argument, "tensor_view");
  EXPECT_RAISES(view(a, {huge / 2}), invalid_argument, "tensor_view");  // bytes, not elements
  EXPECT_RAISES(view(a, {1, 1, 1, 1, 1, 1, 1, 1, 1}), invalid_argument, "tensor_view");
  EXPECT_RAISES(view(a, {2, 3}, {1}), shape_mismatch, "tensor_view");
  EXPECT_RAISES(view(a, {2, 3}, {huge, 1}), shape_mismatch, "tensor_view");
  EXPECT_RAISES(view(a, {3, 3}, {huge / 3, -huge / 3}), shape_mismatch, "tensor_view");
  EXPECT_EQ(view(a, {1}, {huge}).numel(), 1);  // a stride that is never taken
  EXPECT_EQ(view(a, {0, 3}, {huge, huge}).numel(), 0);
  EXPECT_RAISES(view(a, {1}).expand({huge}), shape_mismatch, "expand");
  EXPECT_RAISES(view(a, {1}).as_strided({2, 2}, {huge, 1}), shape_mismatch, "as_strided");
  f32* const null = nullptr;
  EXPECT_RAISES(view(null, {2, 3}), invalid_argument, "tensor_view");
  EXPECT_RAISES(view(null, {}), invalid_argument, "tensor_view");
  EXPECT_RAISES(view(null, {2}, {0}), invalid_argument, "tensor_view");
  EXPECT_RAISES(view().as_strided({2}, {1}), invalid_argument, "as_strided");
  EXPECT_EQ(view(null, {3, 0}).size(0), 3);
}

TEST(view, operations_refuse_bad_arguments) {
  f32 a[24];
  const tensor_view<f32> v(a, {2, 3, 4});
  const tensor_view<f32> scalar(a, {});
  EXPECT_RAISES(v.slice(3), out_of_range, "slice");
  EXPECT_RAISES(v.slice(0, 0, 2, 0), invalid_argument, "slice");
  EXPECT_RAISES(v.slice(0, 0, 2, -1), invalid_argument, "slice");
  EXPECT_RAISES(scalar.slice(0), out_of_range, "slice");
  EXPECT_RAISES(v.narrow(1, 2, 2), out_of_range, "narrow");
  EXPECT_RAISES(v.narrow(1, 4, 0), out_of_range, "narrow");
  EXPECT_RAISES(v.narrow(1, 0, -1), out_of_range, "narrow");
  EXPECT_RAISES(v.select(0, 2), out_of_range, "select");
  EXPECT_RAISES(v.select(0, -3), out_of_range, "select");
  EXPECT_RAISES(scalar.select(0, 0), out_of_range, "select");
  EXPECT_RAISES(v.permute({0, 1}), shape_mismatch, "permute");
  EXPECT_RAISES(v.permute({0, 1, 1}), invalid_argument, "permute");
  EXPECT_RAISES(v.permute({0, 1, 3}), out_of_range, "permute");
  EXPECT_RAISES(v.transpose(0, 3), out_of_range, "transpose");
  EXPECT_RAISES(v.t(), invalid_argument, "t");
  EXPECT_RAISES(v.movedim(0, 3), out_of_range, "movedim");
  EXPECT_RAISES(v.expand({3, 4}), shape_mismatch, "expand");
  EXPECT_RAISES(v.expand({3, 3, 4}), shape_mismatch, "expand");
  EXPECT_RAISES(v.expand({-1, 2, 3, 4}), shape_mismatch, "expand");
  EXPECT_RAISES(v.broadcast_to({2, 3, 5}), shape_mismatch, "broadcast_to");
  const tensor_view<f32> one = v.select(0, 0).select(0, 0).select(0, 0);
  EXPECT_RAISES(one.broadcast_to({i64{1} << 31, i64{1} << 31}), shape_mismatch, "broadcast_to");
  EXPECT_RAISES(v.reshape({5, -1}), shape_mismatch, "reshape");
  EXPECT_RAISES(v.reshape({-1, -1}), invalid_argument, "reshape");
  EXPECT_RAISES(v.reshape({-2, 12}), invalid_argument, "reshape");
  EXPECT_RAISES(v.view({25}), shape_mismatch, "view");
  EXPECT_RAISES(v.slice(2, 0, 0).reshape({0, -1}), shape_mismatch, "reshape");
  const error any = flaggems_test::error_of([&] { (void)v.slice(2, 0, 0).reshape({0, -1}); });
  EXPECT_NE(std::string(any.what()).find("no size of 0 if one is -1"), std::string::npos);
  EXPECT_RAISES(v.permute({2, 1, 0}).view({24}), invalid_argument, "view");
  EXPECT_RAISES(v.squeeze(3), out_of_range, "squeeze");
  EXPECT_RAISES(v.unsqueeze(4), out_of_range, "unsqueeze");
  EXPECT_RAISES(v.flip({0, -3}), invalid_argument, "flip");
  EXPECT_RAISES(v.flatten(2, 1), invalid_argument, "flatten");
  EXPECT_RAISES(v.unflatten(1, {2, -1}), shape_mismatch, "unflatten");
  EXPECT_RAISES(v.unflatten(1, {}), invalid_argument, "unflatten");
  EXPECT_RAISES(v.diagonal(0, 1, -2), invalid_argument, "diagonal");
  EXPECT_RAISES(scalar.diagonal(), out_of_range, "diagonal");
  EXPECT_RAISES(v.split(0), invalid_argument, "split");
  EXPECT_RAISES(v.split(-1), invalid_argument, "split");
  EXPECT_RAISES(v.chunk(0), invalid_argument, "chunk");
  EXPECT_RAISES(v.split(1)[2], out_of_range, "split");
  const tensor_view<f32> full(a, {1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_RAISES(full.unsqueeze(0), invalid_argument, "shape");
  EXPECT_RAISES(full.unflatten(0, {1, 1}), invalid_argument, "unflatten");

  const error failure = flaggems_test::error_of([&] { (void)v.select(-1, 7); });
  EXPECT_EQ(std::string(failure.what()),
            "select: expected an index in [-4, 3] of dimension 2, got 7 [out_of_range]");
}

TEST(view, arguments_at_the_ends_of_i64_do_not_overflow) {
  f32 a[24];
  const tensor_view<f32> v(a, {2, 3, 4});
  constexpr i64 lowest = (std::numeric_limits<i64>::min)();
  constexpr i64 highest = (std::numeric_limits<i64>::max)();
  EXPECT_EQ(v.slice(2, lowest, highest, highest).size(2), 1);
  EXPECT_EQ(v.slice(2, highest, lowest).size(2), 0);
  EXPECT_EQ(v.diagonal(highest).size(-1), 0);
  EXPECT_EQ(v.diagonal(lowest).size(-1), 0);
  EXPECT_EQ(v.split(highest).size(), 1);
  EXPECT_EQ(v.chunk(highest).size(), 2);
  EXPECT_RAISES(v.select(0, lowest), out_of_range, "select");
  EXPECT_RAISES(v.narrow(0, 0, highest), out_of_range, "narrow");
  EXPECT_RAISES(v.narrow(0, lowest, 1), out_of_range, "narrow");
  EXPECT_RAISES(v.size(lowest), out_of_range, "size");
  EXPECT_RAISES(v.reshape({highest, highest}), invalid_argument, "reshape");
}

TEST(view, strides_that_reach_no_element_may_be_any_number) {
  u8 a[4] = {1, 2, 3, 4};
  constexpr i64 lowest = (std::numeric_limits<i64>::min)();
  constexpr i64 highest = (std::numeric_limits<i64>::max)();
  for (const i64 stride : {lowest, highest, i64{1} << 62}) {
    const tensor_view<u8> none(a, {5, 0, 3}, {stride, 1, stride});
    EXPECT_EQ(none.select(0, 4).data(), a);
    EXPECT_EQ(none.narrow(2, 2, 1).data(), a);
    EXPECT_EQ(none.slice(0, 1, 5, 2).data(), a);
    EXPECT_EQ(none.flip({0, 2}).data(), a);
    EXPECT_EQ(none.diagonal(1, 0, 2).data(), a);
    EXPECT_EQ(none.unsqueeze(0).numel(), 0);
    EXPECT_EQ(none.unflatten(0, {5, 1}).numel(), 0);
    const tensor_view<u8> line(a, {1, 4, 1}, {stride, 1, stride});
    EXPECT_EQ(line.unsqueeze(0).unsqueeze(-1).flatten()(3), 4);
    EXPECT_EQ(line.flip({0, 1, 2})(0, 0, 0), 4);
    EXPECT_EQ(line.view({2, 2})(1, 1), 4);
  }
  const tensor_view<u8> far(a, {2}, {i64{1} << 62});
  EXPECT_EQ(far.unsqueeze(0).view({2, 1}).stride(0), i64{1} << 62);
  const tensor_view<u8> wide(a, {0, highest});
  EXPECT_RAISES(wide.unflatten(0, {2, 0}), invalid_argument, "unflatten");
}

TEST(view, operations_of_0_dimensional_and_empty_views) {
  f32 a[24];
  const tensor_view<f32> scalar(a, {});
  EXPECT_EQ(scalar.flatten().rank(), 1);
  EXPECT_EQ(scalar.reshape({1, 1}).numel(), 1);
  EXPECT_EQ(scalar.unsqueeze(-1).size(0), 1);
  EXPECT_EQ(scalar.permute({}).rank(), 0);
  EXPECT_EQ(scalar.transpose(0, -1).rank(), 0);
  EXPECT_EQ(scalar.t().rank(), 0);
  EXPECT_EQ(scalar.expand({2, 3}).numel(), 6);
  EXPECT_EQ(scalar.squeeze(0).rank(), 0);
  EXPECT_EQ(scalar.flip({}).rank(), 0);
  EXPECT_EQ(tensor_view<f32>(a, {1}).reshape({}).rank(), 0);
  EXPECT_EQ(&scalar(), a);
  EXPECT_RAISES(scalar.expand({2, 3})(), invalid_argument, "tensor_view");
  EXPECT_RAISES(scalar.reshape({1})(), invalid_argument, "tensor_view");

  const tensor_view<f32> empty(a, {0, 3});
  EXPECT_EQ(empty.reshape({3, -1, 2}).size(1), 0);
  EXPECT_EQ(empty.reshape({0, 100}).size(1), 100);
  EXPECT_EQ(empty.flatten().size(0), 0);
  EXPECT_EQ(empty.split(5).size(), 1);
  EXPECT_EQ(empty.split(0).size(), 1);
  EXPECT_EQ(empty.chunk(3).size(), 3);
  EXPECT_EQ(empty.unflatten(0, {0, 7}).size(1), 7);
  EXPECT_EQ(empty.t().flip({0, 1}).size(1), 0);
}

TEST(view, strides_are_pytorchs) {
  f32 a[24];
  const tensor_view<f32> v(a, {2, 3, 4});
  EXPECT_EQ(to_string(v.unsqueeze(0).strides()), "[24, 12, 4, 1]");
  EXPECT_EQ(to_string(v.unsqueeze(-1).strides()), "[12, 4, 1, 1]");
  EXPECT_EQ(to_string(v.transpose(0, 2).unsqueeze(1).strides()), "[1, 12, 4, 12]");
  EXPECT_EQ(to_string(v.expand({5, 2, 3, 4}).strides()), "[0, 12, 4, 1]");
  EXPECT_EQ(to_string(v.diagonal(0, 0, 1).strides()), "[1, 16]");
  EXPECT_EQ(to_string(v.flip({1}).strides()), "[12, -4, 1]");
  EXPECT_EQ(to_string(v.slice(2, 1, 4, 2).strides()), "[12, 4, 2]");
}

TEST(view, static_extents) {
  f32 a[6] = {0, 1, 2, 3, 4, 5};
  const fixed<2, 3> v(a);
  EXPECT_EQ(v(1, 2), 5);
  EXPECT_EQ(v.sizes(), (shape{2, 3}));
  const fixed<2, dynamic_extent> half(v);
  EXPECT_EQ(half.size(1), 3);
  EXPECT_EQ(half(1, 0), 3);
  const tensor_view<const f32> any = v;
  EXPECT_EQ(any(0, 2), 2);
  const tensor_view<const f32, host, extents<dynamic_extent, 3>> back(any);
  EXPECT_EQ(back.size(0), 2);
  EXPECT_EQ(v.t()(2, 1), 5);
  EXPECT_EQ(as_view(v).select(0, 1)[2], 5);
  const fixed<3, 2> columns(a, {3, 2}, {1, 3});
  EXPECT_EQ(columns(2, 1), 5);
  EXPECT_FALSE(columns.is_contiguous());
  using square = tensor_view<const f32, host, extents<3, 3>>;
  EXPECT_RAISES(square(any.as_strided({2, 3}, {3, 1})), shape_mismatch, "extents");
}

TEST(view, anything_with_a_view_is_tensor_like) {
  owner x;
  as_view(x)(1, 1) = 7;
  const owner& y = x;
  EXPECT_EQ(as_view(y)(1, 1), 7);
}

TEST(view, shapes) {
  EXPECT_EQ(broadcast_shapes({2, 1, 3}, {4, 1}, "add"), (shape{2, 4, 3}));
  EXPECT_EQ(broadcast_shapes({}, {4, 0}, "add"), (shape{4, 0}));
  EXPECT_EQ(broadcast_shapes({1}, {0}, "add"), (shape{0}));
  EXPECT_RAISES(broadcast_shapes({2}, {3}, "add"), shape_mismatch, "add");
  EXPECT_RAISES(broadcast_shapes({2}, {0}, "add"), shape_mismatch, "add");
  EXPECT_EQ(normalize_dim(-1, 3, "sum"), 2);
  EXPECT_EQ(normalize_dim(-1, 0, "sum"), 0);
  EXPECT_RAISES(normalize_dim(3, 3, "sum"), out_of_range, "sum");
  EXPECT_EQ(without_dim({2, 3, 4}, -2, "sum"), (shape{2, 4}));
  EXPECT_EQ(without_dim({2, 3, 4}, 2, "sum"), (shape{2, 3}));
  EXPECT_EQ(without_dim({5}, 0, "sum"), shape{});
  EXPECT_EQ(without_dim({}, -1, "sum"), shape{});
  EXPECT_RAISES(without_dim({2, 3}, 2, "sum"), out_of_range, "sum");
  EXPECT_EQ(normalize_dims({0, -1}, 3, "sum"), 5u);
  EXPECT_EQ(normalize_dims({}, 3, "sum"), 7u);
  EXPECT_RAISES(normalize_dims({0, -3}, 3, "sum"), invalid_argument, "sum");
  EXPECT_RAISES(shape({1, 2, 3, 4, 5, 6, 7, 8, 9}), invalid_argument, "shape");
  EXPECT_EQ(to_string(shape{2, 3}), "[2, 3]");
  EXPECT_EQ(to_string(shape{}), "[]");
  EXPECT_EQ(checked_numel({3, 0, 5}, "full"), 0);
  EXPECT_EQ((shape{3, 4}).numel(), 12);
}

}  // namespace
