// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/device/checks.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/device/transfer.hpp>
#include <flaggems/tensor/any_view.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#include <support/devices.hpp>
#include <support/mock_device.hpp>

#include <string>
#include <vector>

namespace {

using flaggems::f32;
using flaggems::host;
using flaggems::i32;
using flaggems::i64;
using support::mock_device;
using host_tensor = flaggems::tensor<f32>;

static_assert(flaggems::tensor_like<host_tensor> && flaggems::tensor_like<const host_tensor&>);
static_assert(std::is_same_v<flaggems::element_t<host_tensor>, f32>);
static_assert(std::is_same_v<flaggems::element_t<const host_tensor&>, const f32>);
static_assert(std::is_same_v<flaggems::device_t<flaggems::tensor<i32, mock_device>>, mock_device>);
static_assert(!std::is_copy_constructible_v<host_tensor>);
static_assert(std::is_nothrow_move_constructible_v<host_tensor>);
static_assert(std::is_nothrow_move_assignable_v<host_tensor>);
static_assert(std::is_convertible_v<host_tensor&, flaggems::tensor_view<f32>>);
static_assert(std::is_convertible_v<const host_tensor&, flaggems::tensor_view<const f32>>);
static_assert(!std::is_convertible_v<const host_tensor&, flaggems::tensor_view<f32>>);

/// The code of the error that f() raises.
template <class F>
flaggems::errc code(F&& f) {
  try {
    static_cast<void>(f());
  } catch (const flaggems::error& e) {
    return e.code();
  }
  return flaggems::errc::bad_file;
}

template <class D>
class tensor : public testing::Test {};
using devices = flaggems_test::devices_and_own<host, mock_device>;
TYPED_TEST_SUITE(tensor, devices);

/// The elements of a contiguous tensor, wherever they are.
template <class S, class X>
auto values_of(const S& s, const X& x) {
  const auto h = flaggems::to_host(s, x);
  return std::vector(h.data(), h.data() + h.numel());
}

template <class D>
void check_views() {
  flaggems::stream<D> s;
  auto t = flaggems::empty<f32>(s, {2, 3, 4});
  s.synchronize();
  t(1, 2, 3) = 5;
  EXPECT_EQ(t.data()[23], 5);
  EXPECT_EQ(std::as_const(t)(1, 2, 3), 5);
  EXPECT_EQ(t.select(0, 1).select(0, 2)(3), 5);
  EXPECT_EQ(t.permute({2, 1, 0})(3, 2, 1), 5);
  EXPECT_EQ(t.reshape({-1})(23), 5);
  EXPECT_EQ(t.view({6, 4})(5, 3), 5);
  EXPECT_EQ(t.slice(2, 3)(1, 2, 0), 5);
  EXPECT_EQ(t.slice(2, 0, 4, 3)(1, 2, 1), 5);
  EXPECT_EQ(std::as_const(t).transpose(0, 2)(3, 2, 1), 5);
}

TYPED_TEST(tensor, has_sizes_and_memory) {
  flaggems::stream<TypeParam> s;
  auto t = flaggems::empty<f32>(s, {2, 3, 4});
  static_assert(std::is_same_v<decltype(t), flaggems::tensor<f32, TypeParam>>);
  EXPECT_EQ(t.rank(), 3);
  EXPECT_EQ(t.numel(), 24);
  EXPECT_EQ(t.bytes(), 96);
  EXPECT_EQ(t.size(-1), 4);
  EXPECT_EQ(t.stride(0), 12);
  EXPECT_EQ(t.shape_of(), (flaggems::shape{2, 3, 4}));
  EXPECT_EQ(t.strides(), (flaggems::shape{12, 4, 1}));
  EXPECT_FALSE(t.empty());
  ASSERT_NE(t.data(), nullptr);
  EXPECT_EQ(t.view().data(), t.data());
  EXPECT_TRUE(t.view().is_contiguous());
  EXPECT_THROW(static_cast<void>(t.size(3)), flaggems::error);
}

// What views index, on the host; where it cannot read the memory, they have no operator().
TYPED_TEST(tensor, views_are_of_its_elements) {
  if constexpr (!flaggems::host_accessible<TypeParam>)
    GTEST_SKIP() << "not for the host to read";
  else
    check_views<TypeParam>();
}

TYPED_TEST(tensor, may_have_no_elements_or_no_dimensions) {
  flaggems::stream<TypeParam> s;
  flaggems::tensor<f32, TypeParam> none;
  EXPECT_EQ(none.shape_of(), (flaggems::shape{0}));
  EXPECT_EQ(none.data(), nullptr);
  auto hollow = flaggems::empty<f32>(s, {3, 0, 2});
  EXPECT_EQ(hollow.numel(), 0);
  EXPECT_EQ(hollow.data(), nullptr);
  EXPECT_EQ(hollow.clone(s).shape_of(), (flaggems::shape{3, 0, 2}));
  EXPECT_EQ(flaggems::to_host(s, hollow).shape_of(), (flaggems::shape{3, 0, 2}));
  auto scalar = flaggems::from_values<f32>(s, {7}, {});
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.numel(), 1);
  EXPECT_EQ(values_of(s, scalar), std::vector<f32>{7});
}

TYPED_TEST(tensor, moves_and_clones) {
  flaggems::stream<TypeParam> s;
  auto a = flaggems::from_values<i32>(s, {1, 2, 3, 4, 5, 6}, {2, 3});
  auto b = a.clone(s);
  const i32* memory = a.data();
  const i32 nine = 9;
  TypeParam::copy(a.data(), &nine, sizeof nine, flaggems::copy_kind::host_to_device, s.handle());
  EXPECT_EQ(values_of(s, b), (std::vector<i32>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values_of(s, a), (std::vector<i32>{9, 2, 3, 4, 5, 6}));
  auto c = std::move(a);
  EXPECT_EQ(c.data(), memory);
  // NOLINTBEGIN(bugprone-use-after-move): what a moved-from tensor is, is specified
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_EQ(a.shape_of(), flaggems::shape{0});
  EXPECT_EQ(a.device_index(), 0);
  a.record_stream(s);
  EXPECT_EQ(a.clone(s).shape_of(), flaggems::shape{0});
  EXPECT_EQ(flaggems::to_host(s, a).shape_of(), flaggems::shape{0});
  // NOLINTEND(bugprone-use-after-move)
  const auto used = flaggems::memory_stats<TypeParam>().allocation.current;
  b = std::move(c);
  EXPECT_EQ(b.data(), memory);
  EXPECT_EQ(c.data(), nullptr);
  EXPECT_EQ(flaggems::memory_stats<TypeParam>().allocation.current, used - 1);
  auto& self = b;
  b = std::move(self);
  EXPECT_EQ(b.data(), memory);
  EXPECT_EQ(values_of(s, b)[5], 6);
}

TYPED_TEST(tensor, goes_to_the_host_and_back) {
  flaggems::stream<TypeParam> s;
  const std::vector<f32> values{1, 2, 3, 4, 5, 6};
  auto x = flaggems::from_values<f32>(s, std::span(values), {3, 2});
  auto h = flaggems::to_host(s, x);
  static_assert(std::is_same_v<decltype(h), flaggems::tensor<f32, host>>);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(h.data()[i], static_cast<f32>(i + 1));
  auto back = flaggems::from_host(s, h);
  static_assert(std::is_same_v<decltype(back), flaggems::tensor<f32, TypeParam>>);
  EXPECT_NE(static_cast<const void*>(back.data()), static_cast<const void*>(h.data()));
  EXPECT_EQ(values_of(s, back), values);
  auto row = flaggems::to_host(s, x.select(0, 1));
  EXPECT_EQ(row.shape_of(), (flaggems::shape{2}));
  EXPECT_EQ(row(1), 4);
  // In whatever order the elements lie, but without gaps.
  const auto turned = flaggems::to_host(s, x.t());
  EXPECT_EQ(flaggems::shape(turned.strides()), (flaggems::shape{1, 2}));
  EXPECT_EQ(turned(1, 2), 6);
  EXPECT_EQ(flaggems::shape(flaggems::from_host(s, turned).strides()), (flaggems::shape{1, 2}));
  EXPECT_THROW(static_cast<void>(flaggems::to_host(s, x.select(1, 0))), flaggems::error);
  EXPECT_EQ(flaggems::from_values<f32>(s, {1, 2, 3}).shape_of(), (flaggems::shape{3}));
  EXPECT_EQ(flaggems::from_values<f32>(s, {1, 2}).shape_of(), (flaggems::shape{2}));
  EXPECT_EQ(flaggems::from_values<f32>(s, {}).shape_of(), (flaggems::shape{0}));
  EXPECT_EQ(values_of(s, flaggems::from_values<f32>(s, values)), values);
}

TYPED_TEST(tensor, refuses_bad_input) {
  flaggems::stream<TypeParam> s;
  using flaggems::errc;
  EXPECT_EQ(code([&] { return flaggems::empty<f32>(s, {2, -1}); }), errc::invalid_argument);
  EXPECT_EQ(code([&] {
              return flaggems::empty<f32>(s, {i64{1} << 40, i64{1} << 40});
            }),
            errc::invalid_argument);
  EXPECT_EQ(code([&] { return flaggems::empty<f32>(s, {i64{1} << 62}); }), errc::invalid_argument);
  EXPECT_EQ(code([&] { return flaggems::empty<f32>(s, {i64{1} << 50}); }), errc::out_of_memory);
  EXPECT_EQ(code([&] {
              return flaggems::from_values<f32>(s, {1, 2, 3}, {2, 2});
            }),
            errc::shape_mismatch);
}

TYPED_TEST(tensor, empty_like_takes_type_and_sizes) {
  flaggems::stream<TypeParam> s;
  const auto x = flaggems::empty<i32>(s, {4, 5});
  auto y = flaggems::empty_like(s, x);
  static_assert(std::is_same_v<decltype(y), flaggems::tensor<i32, TypeParam>>);
  EXPECT_EQ(y.shape_of(), x.shape_of());
  EXPECT_TRUE(flaggems::empty_like(s, x.t()).is_contiguous());
}

TYPED_TEST(tensor, may_have_other_strides) {
  using flaggems::memory_format, flaggems::shape;
  flaggems::stream<TypeParam> s;
  auto x = flaggems::empty<f32>(s, {2, 3, 4, 5}, memory_format::channels_last);
  EXPECT_EQ(shape(x.strides()), (shape{60, 1, 15, 3}));
  EXPECT_FALSE(x.is_contiguous());
  EXPECT_TRUE(x.is_contiguous(memory_format::channels_last));
  EXPECT_EQ(x.bytes(), 480);
  EXPECT_EQ(shape(x.clone(s).strides()), shape(x.strides()));
  if constexpr (std::is_same_v<TypeParam, host>) {
    EXPECT_EQ(shape(flaggems::to_device(s, x, s).strides()), shape(x.strides()));
  }
  EXPECT_TRUE(flaggems::empty_like(s, x).is_contiguous());
  EXPECT_TRUE(flaggems::empty_like(s, x, memory_format::contiguous_format).is_contiguous());
  const auto same = flaggems::empty_like(s, x, memory_format::preserve_format);
  static_assert(std::is_same_v<decltype(same), const flaggems::tensor<f32, TypeParam>>);
  EXPECT_EQ(shape(same.strides()), shape(x.strides()));
  const auto gaps = x.slice(3, 0, 5, 2);
  EXPECT_TRUE(flaggems::empty_like(s, gaps, memory_format::preserve_format)
                  .is_contiguous(memory_format::channels_last));
  auto volume = flaggems::empty<f32>(s, {2, 3, 2, 4, 5}, memory_format::channels_last_3d);
  EXPECT_TRUE(volume.is_contiguous(memory_format::channels_last_3d));
  EXPECT_TRUE(flaggems::empty<f32>(s, {2, 3}, memory_format::contiguous_format).is_contiguous());
  auto columns = flaggems::empty_strided<f32>(s, {3, 4}, {1, 3});
  EXPECT_EQ(shape(columns.strides()), (shape{1, 3}));
  auto moved = std::move(columns);
  EXPECT_EQ(shape(moved.strides()), (shape{1, 3}));
  EXPECT_TRUE(columns.is_contiguous());
}

TYPED_TEST(tensor, refuses_formats_and_strides_that_it_cannot_have) {
  using flaggems::errc, flaggems::memory_format;
  flaggems::stream<TypeParam> s;
  const auto x = flaggems::empty<f32>(s, {3, 4});
  const auto argument = errc::invalid_argument;
  EXPECT_EQ(code([&] {
              return flaggems::empty<f32>(s, {3, 4}, memory_format::channels_last);
            }),
            argument);
  EXPECT_EQ(code([&] {
              return flaggems::empty<f32>(s, {3, 4}, memory_format::preserve_format);
            }),
            argument);
  EXPECT_EQ(code([&] { return flaggems::empty_like(s, x, memory_format::channels_last_3d); }),
            argument);
  EXPECT_EQ(code([&] {
              return flaggems::empty<f32>(s, {2, -3, 4, 5}, memory_format::channels_last);
            }),
            argument);
  EXPECT_EQ(
      code([&] {
        constexpr i64 many = i64{1} << 40;
        return flaggems::empty<f32>(s, {many, many, many, many}, memory_format::channels_last);
      }),
      argument);
  // Gaps, one place for two elements, negative ones; as many as sizes.
  EXPECT_EQ(code([&] {
              return flaggems::empty_strided<f32>(s, {3, 4}, {8, 1});
            }),
            errc::shape_mismatch);
  EXPECT_EQ(code([&] {
              return flaggems::empty_strided<f32>(s, {3, 4}, {0, 1});
            }),
            errc::shape_mismatch);
  EXPECT_EQ(code([&] {
              return flaggems::empty_strided<f32>(s, {3, 4}, {-4, 1});
            }),
            errc::shape_mismatch);
  EXPECT_EQ(code([&] {
              return flaggems::empty_strided<f32>(s, {3, 4}, {1});
            }),
            errc::shape_mismatch);
}

TYPED_TEST(tensor, is_a_view_of_any_type) {
  flaggems::stream<TypeParam> s;
  auto x = flaggems::empty<i32>(s, {4, 5});
  flaggems::any_view<TypeParam> v = x;
  EXPECT_EQ(v.dtype(), flaggems::dtype::i32);
  EXPECT_EQ(v.data(), x.data());
  EXPECT_FALSE(v.is_const());
  flaggems::any_view<TypeParam> c = std::as_const(x);
  EXPECT_TRUE(c.is_const());
}

TYPED_TEST(tensor, makes_other_streams_wait) {
  flaggems::stream<TypeParam> s, other;
  auto x = flaggems::empty<i32>(s, {4, 5});
  x.record_stream(other);
}

TYPED_TEST(tensor, agrees_with_the_stream_on_the_device) {
  flaggems::stream<TypeParam> s;
  auto x = flaggems::empty<i32>(s, {4});
  flaggems::any_view<TypeParam> any = x;
  flaggems::same_device(s, x, x.view(), std::as_const(x), any, 1, 2.5);
  flaggems::same_device<decltype(s), decltype(x)&, const decltype(any)&, int>();
  flaggems::element_type_in<flaggems::type_list<f32, i32>, 1, decltype(x)>();
}

}  // namespace
