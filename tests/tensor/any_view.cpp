// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/tensor/any_view.hpp>

#include <vector>

#include "test_support.hpp"

namespace {

using namespace flaggems;

static_assert(std::is_trivially_copyable_v<any_view<>>);
static_assert(std::is_convertible_v<tensor_view<const bf16>, any_view<>>);
static_assert(std::is_convertible_v<tensor_view<f32, host, extents<2>>, any_view<>>);
static_assert(!std::is_constructible_v<any_view<>, tensor_view<f32, struct other_device>>);
static_assert(!std::is_constructible_v<any_view<>, int>);

TEST(any_view, keeps_what_a_typed_view_says) {
  i16 a[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const tensor_view<i16> v(a, {3, 4});
  const any_view w = v.t();
  EXPECT_EQ(w.dtype(), dtype::i16);
  EXPECT_EQ(w.data(), a);
  EXPECT_EQ(w.size(-1), 3);
  EXPECT_EQ(w.stride(1), 4);
  EXPECT_EQ(w.bytes(), 24);
  EXPECT_FALSE(w.is_contiguous());
  EXPECT_FALSE(w.is_const());
  EXPECT_EQ(w.as<i16>()(3, 2), 11);
  EXPECT_EQ(w.as<const i16>()(1, 2), 9);
  EXPECT_EQ(w.select(0, 3).as<i16>()[2], 11);
  const any_view<> none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.as<f32>().numel(), 0);
}

TEST(any_view, views_of_a_typed_view) {
  f64 a[12] = {};
  const tensor_view<const f64> v(a, {1, 3, 4});
  const any_view w = v;
  const auto expect = [](const any_view<>& got, const any_view<>& want) {
    EXPECT_EQ(got.data(), want.data());
    EXPECT_EQ(got.dtype(), want.dtype());
    EXPECT_EQ(got.is_const(), want.is_const());
    EXPECT_EQ(shape(got.sizes()), shape(want.sizes()));
    EXPECT_EQ(shape(got.strides()), shape(want.strides()));
  };
  const auto expect_parts = [&](const auto& got, const auto& want) {
    ASSERT_EQ(got.size(), want.size());
    auto at = got.begin();
    for (const auto& part : want) expect(*at, part), ++at;
  };
  expect(w.squeeze({0, 1}), v.squeeze({0, 1}));
  expect(w.squeeze(0), v.squeeze(0));
  expect(w.unfold(2, 3, 1), v.unfold(2, 3, 1));
  expect(w.as_strided({2, 2}, {4, 1}, 3), v.as_strided({2, 2}, {4, 1}, 3));
  expect_parts(w.unbind(1), v.unbind(1));
  expect_parts(w.split(3, 2), v.split(3, 2));
  expect_parts(w.chunk(2, 1), v.chunk(2, 1));
  expect_parts(w.tensor_split(3, 2), v.tensor_split(3, 2));
  EXPECT_RAISES(w.as_strided({2}, {-1, 1}), shape_mismatch, "as_strided");
  EXPECT_RAISES(any_view<>().as_strided({2}, {1}), invalid_argument, "as_strided");
  EXPECT_RAISES(w.split(0), invalid_argument, "split");
  EXPECT_RAISES(w.chunk(0), invalid_argument, "chunk");
  EXPECT_RAISES(w.tensor_split(0), invalid_argument, "tensor_split");
  EXPECT_RAISES(w.unbind(3), out_of_range, "unbind");
}

TEST(any_view, refuses_the_wrong_type_and_writing_const) {
  f32 a[2] = {1, 2};
  const any_view<> w = tensor_view<const f32>(a, {2});
  EXPECT_TRUE(w.is_const());
  EXPECT_RAISES(w.as<const i32>(), dtype_mismatch, "any_view::as");
  EXPECT_RAISES(w.as<f32>(), invalid_argument, "any_view::as");
  const flaggems::error told = flaggems_test::error_of([&] { (void)w.as<f32>(); });
  EXPECT_EQ(std::string(told.got()), "a view of const elements (as<const T>() reads it)");
  EXPECT_EQ(w.as<const f32>()(1), 2);
  EXPECT_RAISES(visit_mutable(w, [](auto) {}), invalid_argument, "any_view::as");
  EXPECT_RAISES(visit<i8>(
                    w, [](auto) {}, "argmax"),
                dtype_mismatch, "argmax");
}

TEST(any_view, misaligned_pointers_are_refused) {
  alignas(16) unsigned char memory[64] = {};
  for (int k = 0; k < dtype_count; ++k) {
    const dtype type = static_cast<dtype>(k);
    const i64 size = size_of(type);
    for (i64 offset = 0; offset < 16; ++offset) {
      void* const p = memory + offset;
      if (offset % size == 0) {
        const any_view<> v(p, type, {2});
        visit(v, [&](auto typed) { EXPECT_EQ(typed.data(), p); });
      } else {
        EXPECT_RAISES(any_view<>(p, type, {2}), invalid_argument, "any_view");
        EXPECT_EQ(any_view<>(p, type, {2, 0}).numel(), 0);
      }
    }
  }
  const auto misaligned = [&](int offset) { return reinterpret_cast<f32*>(memory + offset); };
  EXPECT_EQ((tensor_view<f32>(misaligned(4), {2})).numel(), 2);
  EXPECT_EQ((tensor_view<f32>(misaligned(1), {0})).numel(), 0);
  for (const int offset : {1, 2, 3, 6}) {
    EXPECT_RAISES((tensor_view<f32>(misaligned(offset), {2})), invalid_argument, "tensor_view");
    EXPECT_RAISES((tensor_view<const f32>(misaligned(offset), {2, 2}, {0, 1})), invalid_argument,
                  "tensor_view");
  }
  static_assert(alignof(c64) == 8 && alignof(c128) == 16);
}

TEST(any_view, from_bytes) {
  alignas(8) unsigned char memory[64] = {};
  any_view<> w(memory, dtype::f64, {2, 4});
  visit_mutable(w, [](auto v) {
    if constexpr (!std::is_same_v<typename decltype(v)::value_type, c64> &&
                  !std::is_same_v<typename decltype(v)::value_type, c128>)
      v(1, 3) = typename decltype(v)::value_type(1.0f);
  });
  EXPECT_EQ(w.as<f64>()(1, 3), 1.0);
  const any_view<> half(memory, dtype::f64, {2, 2}, {4, 2});
  EXPECT_EQ(half.size(1), 2);
  const any_view<> read_only(static_cast<const void*>(memory), dtype::u8, {64});
  EXPECT_TRUE(read_only.is_const());
  EXPECT_RAISES(any_view<>(memory, dtype::f64, {-1}), invalid_argument, "any_view");
  EXPECT_RAISES(any_view<>(memory, dtype::f64, {i64{1} << 60}), shape_mismatch, "any_view");
  EXPECT_RAISES(any_view<>(memory, dtype::f64, {2}, {1, 1}), shape_mismatch, "any_view");
  void* const null = nullptr;
  EXPECT_RAISES(any_view<>(null, dtype::f64, {2}), invalid_argument, "any_view");
  EXPECT_EQ(any_view<>(null, dtype::f64, {2, 0}).size(0), 2);
  EXPECT_RAISES(any_view<>(memory, static_cast<dtype>(dtype_count), {1}), dtype_mismatch,
                "any_view");
}

TEST(any_view, visit_finds_every_type) {
  alignas(16) unsigned char memory[16] = {};
  for (int i = 0; i < dtype_count; ++i) {
    const any_view<> w(memory, static_cast<dtype>(i), {1});
    EXPECT_EQ(visit(w, [](auto v) { return dtype_of<typename decltype(v)::value_type>; }),
              w.dtype());
  }
  i32 a[3] = {1, 2, 3};
  const any_view<> w = tensor_view<i32>(a, {3});
  EXPECT_EQ((visit<i32, i64>(
                w, [](auto v) { return static_cast<int>(v[2]); }, "sum")),
            3);
}

}  // namespace
