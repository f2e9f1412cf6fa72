// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// C++'s operators on tensors, views and expressions; tensors that an expression keeps; tensors
// without dimensions, whose dtype counts less.
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gemm_epilogue.hpp>
#include <flaggems/ops/gemm_prologue.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <support/ops.hpp>

#include <vector>

namespace flaggems_test {
namespace {

template <class D>
class operators_on : public ::testing::Test {};
using devices = elementwise_devices<chip32>;
TYPED_TEST_SUITE(operators_on, devices);

/// The values of a tensor or an expression, on the host.
template <class D, class X>
std::vector<double> values_of(const X& x) {
  const auto& s = test_stream<D>();
  const auto there = fg::to_host(s, fg::evaluate(s, x * 1));
  std::vector<double> values;
  for (i64 i = 0; i < there.numel(); ++i) values.push_back(static_cast<double>(there.data()[i]));
  return values;
}
using list = std::vector<double>;

TYPED_TEST(operators_on, compare_and_combine) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const auto x = fg::arange<f32>(s, 5);
  const auto y = fg::full<f32>(s, {5}, 2);
  EXPECT_EQ(values_of<D>(fg::cast<i64>(x == y)), (list{0, 0, 1, 0, 0}));
  EXPECT_EQ(values_of<D>(fg::cast<i64>(x != 2)), (list{1, 1, 0, 1, 1}));
  EXPECT_EQ(values_of<D>(fg::cast<i64>(x < y)), (list{1, 1, 0, 0, 0}));
  EXPECT_EQ(values_of<D>(fg::cast<i64>(2 >= x)), (list{1, 1, 1, 0, 0}));
  EXPECT_EQ(values_of<D>(fg::cast<i64>(x.view() > y.view())), (list{0, 0, 0, 1, 1}));
  EXPECT_EQ(values_of<D>(fg::cast<i64>(x + 1 <= y * 2)), (list{1, 1, 1, 1, 0}));
  EXPECT_EQ(values_of<D>(fg::cast<i64>(x > 0 && x < 3)), (list{0, 1, 1, 0, 0}));
  EXPECT_EQ(values_of<D>(fg::cast<i64>(x < 1 || x > 3)), (list{1, 0, 0, 0, 1}));
  EXPECT_EQ(values_of<D>(fg::cast<i64>(!x)), (list{1, 0, 0, 0, 0}));
  EXPECT_EQ(values_of<D>(fg::cast<i64>(!(x < 1))), (list{0, 1, 1, 1, 1}));
  static_assert(std::is_same_v<typename decltype(x < 1 && y)::value_type, bool>);
}

TYPED_TEST(operators_on, assign_in_place) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  auto x = fg::arange<f32>(s, 4);
  const auto y = fg::full<f32>(s, {4}, 2);
  auto& same = (x += y);
  EXPECT_EQ(&same, &x);
  x *= 3;
  x -= fg::square(y);
  x /= 2;
  EXPECT_EQ(values_of<D>(x), (list{1, 2.5, 4, 5.5}));
  EXPECT_TRUE(x.stream() == fg::ref(s));
}

TYPED_TEST(operators_on, expressions_keep_temporary_tensors) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const auto x = fg::arange<f32>(s, 3);
  const i64 before = fg::memory_stats<D>().allocation.current;
  {
    const auto e = fg::full<f32>(s, {3}, 1) * 2 + x;
    const auto other = fg::full<f32>(s, {3}, 100);  // would have the memory of the temporary
    const auto more = -e + fg::where(fg::full<bool>(s, {3}, true), fg::full<f32>(s, {3}, 5), x);
    const auto copy = more;
    EXPECT_EQ(values_of<D>(e), (list{2, 3, 4}));
    EXPECT_EQ(values_of<D>(copy), (list{3, 2, 1}));
    EXPECT_EQ(fg::memory_stats<D>().allocation.current, before + 4);
  }
  EXPECT_EQ(fg::memory_stats<D>().allocation.current, before);
  // An expression that was moved from is as it was.
  auto first = fg::full<f32>(s, {3}, 4) * 2;
  { const auto second = std::move(first); }
  const auto next = fg::full<f32>(s, {3}, 50);
  EXPECT_EQ(values_of<D>(first), (list{8, 8, 8}));  // NOLINT(bugprone-use-after-move)
  // What is assigned to as a temporary comes back as a tensor.
  const auto six = (fg::full<f32>(s, {3}, 5) += 1);
  EXPECT_EQ(values_of<D>(six), (list{6, 6, 6}));
  // A name that is handed over loses nothing.
  auto named = fg::full<f32>(s, {3}, 7);
  EXPECT_EQ(values_of<D>(std::move(named) + 1), (list{8, 8, 8}));
  EXPECT_EQ(named.numel(), 3);  // NOLINT(bugprone-use-after-move): it is shared, not moved
}

// torch.result_type: tensors with dimensions, then those without, then numbers.
template <class T>
using view_of = fg::tensor_view<T, host>;
template <class T>
using scalar_of = fg::tensor_view<T, host, fg::extents<>>;
template <class A, class B, class Result>
constexpr bool promotes =
    std::is_same_v<typename decltype(std::declval<A>() + std::declval<B>())::value_type, Result>&&
        std::is_same_v<typename decltype(std::declval<B>() + std::declval<A>())::value_type,
                       Result>;
static_assert(promotes<view_of<bf16>, scalar_of<f32>, bf16>);
static_assert(promotes<view_of<f32>, scalar_of<f64>, f32>);
static_assert(promotes<view_of<std::int32_t>, scalar_of<f16>, f16>);
static_assert(promotes<view_of<std::int32_t>, scalar_of<i64>, std::int32_t>);
static_assert(promotes<view_of<bool>, scalar_of<std::uint8_t>, std::uint8_t>);
static_assert(promotes<view_of<i64>, scalar_of<bool>, i64>);
static_assert(promotes<scalar_of<f32>, scalar_of<bf16>, f32>);
static_assert(promotes<scalar_of<std::int32_t>, double, f32>);
static_assert(promotes<view_of<bf16>, decltype(std::declval<scalar_of<f32>>() * 2), bf16>);
static_assert(promotes<view_of<bf16>, decltype(std::declval<view_of<f32>>() * 2), f32>);

TYPED_TEST(operators_on, tensors_without_dimensions) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const auto x = fg::full<bf16>(s, {3}, 1.5);
  const auto factor = fg::full<f32>(s, {}, 2);
  EXPECT_EQ(values_of<D>(x * fg::as_scalar(factor)), (list{3, 3, 3}));
  const auto kept = x + fg::as_scalar(fg::full<f32>(s, {}, 1));  // a temporary
  static_assert(std::is_same_v<typename decltype(kept)::value_type, bf16>);
  EXPECT_EQ(values_of<D>(kept), (list{2.5, 2.5, 2.5}));
  // What only the run shows is refused rather than given another dtype than PyTorch's.
  EXPECT_RAISES(static_cast<void>(fg::mul(s, x, factor)), dtype_mismatch, "mul");
  EXPECT_RAISES(static_cast<void>(fg::evaluate(s, x * factor + 1)), dtype_mismatch, "evaluate");
  EXPECT_RAISES(static_cast<void>(fg::evaluate(s, fg::where(x > 0, x, factor))), dtype_mismatch,
                "evaluate");
  auto flags = fg::empty<bool>(s, {3});
  EXPECT_RAISES(fg::lt(s, x, factor, flags), dtype_mismatch, "lt");
  EXPECT_RAISES(static_cast<void>(fg::as_scalar(x)), shape_mismatch, "as_scalar");
  EXPECT_RAISES(static_cast<void>(fg::sum(s, x * factor)), dtype_mismatch, "sum");
  EXPECT_RAISES(static_cast<void>(fg::any(s, x == factor)), dtype_mismatch, "any");
  const auto square = fg::full<bf16>(s, {3, 3}, 1);
  EXPECT_RAISES(static_cast<void>(fg::mm(s, square * factor, square)), dtype_mismatch, "mm");
  EXPECT_RAISES(static_cast<void>(fg::epilogue(fg::product * fg::full<fg::f64>(s, {}, 2))),
                dtype_mismatch, "epilogue");
  // It is compared as one of the promoted dtype, as a number is.
  const auto tenths = fg::full<bf16>(s, {3}, 0.1);
  const auto tenth = fg::full<f32>(s, {}, 0.1);
  EXPECT_EQ(values_of<D>(fg::cast<i64>(tenths == fg::as_scalar(tenth))), (list{1, 1, 1}));
  // The same dtype, a higher kind, an output of one's own, dimensions after all: nothing to refuse.
  EXPECT_EQ(values_of<D>(fg::mul(s, factor, factor)), (list{4}));
  const auto whole = fg::full<std::int32_t>(s, {3}, 3);
  EXPECT_EQ(values_of<D>(fg::mul(s, whole, factor)), (list{6, 6, 6}));
  auto out = fg::empty<bf16>(s, {3});
  fg::mul(s, x, factor, out);
  EXPECT_EQ(values_of<D>(out), (list{3, 3, 3}));
  EXPECT_EQ(values_of<D>(fg::mul(s, x, factor.reshape({1}))), (list{3, 3, 3}));
}

}  // namespace
}  // namespace flaggems_test
