// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/cross_entropy.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using values = std::vector<double>;
constexpr i64 ignored = -100;

/// Logits of sizes [N, C, inner], in a row-major order, and how losses are computed.
struct problem {
  i64 n, classes, inner;
  values x, weight, log_sums;
  double smoothing;

  problem(const shape& sizes, const values& logits, const values& weights, double smooth)
      : n(sizes[0]),
        classes(sizes[1]),
        inner(sizes.rank() > 2 ? sizes[2] : 1),
        x(logits),
        weight(weights),
        smoothing(smooth) {
    for (i64 row = 0; row < rows(); ++row) {
      double most = x[place(row, 0)], sum = 0;
      for (i64 k = 1; k < classes; ++k) most = std::max(most, x[place(row, k)]);
      for (i64 k = 0; k < classes; ++k) sum += std::exp(x[place(row, k)] - most);
      log_sums.push_back(most + std::log(sum));
    }
  }

  i64 rows() const { return n * inner; }
  std::size_t place(i64 row, i64 c) const {
    return static_cast<std::size_t>((row / inner * classes + c) * inner + row % inner);
  }
  double log_of(i64 row, i64 c) const {
    return x[place(row, c)] - log_sums[static_cast<std::size_t>(row)];
  }
  double weight_of(i64 c) const { return weight.empty() ? 1 : weight[static_cast<std::size_t>(c)]; }
  double loss(i64 row, i64 target) const {
    if (target == ignored) return 0;
    double all = 0;
    for (i64 c = 0; smoothing > 0 && c < classes; ++c) all -= weight_of(c) * log_of(row, c);
    return -(1 - smoothing) * weight_of(target) * log_of(row, target) +
           smoothing / static_cast<double>(classes) * all;
  }
  double loss(i64 row, const values& t) const {
    double sum = 0;
    for (i64 c = 0; c < classes; ++c)
      sum -= weight_of(c) * log_of(row, c) *
             (t[place(row, c)] * (1 - smoothing) + smoothing / static_cast<double>(classes));
    return sum;
  }
};

template <class T>
tolerance near() {
  tolerance tol = tolerance_of<T>();
  if (sizeof(T) == 4) tol = {2e-6, 4e-6};
  if (sizeof(T) == 8) tol = {1e-12, 1e-12};
  return tol;
}

/// x of T [n, classes] or [n, classes, inner], class indices and probabilities.
template <class D, class T, class J = i64>
void check(i64 n, i64 classes, i64 inner, layout in, layout to, bool has_weight, double smoothing) {
  const shape sizes = inner == 1 ? shape{n, classes} : shape{n, classes, inner};
  const shape rows = inner == 1 ? shape{n} : shape{n, inner};
  SCOPED_TRACE(std::string(to_string(in)) + ", to " + to_string(to) + ", sizes " +
               fg::to_string(sizes) + (has_weight ? ", weights" : "") + ", smoothing " +
               std::to_string(smoothing));
  const auto& stream = test_stream<D>();
  test_tensor<T, D> x(sizes, in, random_values(sizes, -4, 4)),
      t(sizes, to, random_values(sizes, 0, 1));
  test_tensor<f32, D> w({classes}, in, random_values({classes}, 0, 2));
  values indices;
  for (i64 r = 0; r < n * inner; ++r)
    indices.push_back(static_cast<double>(r % 5 == 3 ? ignored : r * 7 % classes));
  test_tensor<J, D> target(rows, in == layout::broadcast ? layout::strided : in, indices);
  const problem of(sizes, x.values(), has_weight ? w.values() : values(), smoothing);
  const std::optional weight = has_weight ? std::optional(w.in()) : std::nullopt;
  values losses, soft;
  double sum = 0, counted = 0, soft_sum = 0;
  for (i64 r = 0; r < of.rows(); ++r) {
    const i64 c = static_cast<i64>(indices[static_cast<std::size_t>(r)]);
    losses.push_back(of.loss(r, c));
    soft.push_back(of.loss(r, t.values()));
    sum += losses.back();
    counted += c == ignored ? 0 : of.weight_of(c);
    soft_sum += soft.back();
  }
  fg::cross_entropy_options options{fg::reduction::none, ignored, smoothing};
  test_tensor<T, D> out(rows, to);
  fg::cross_entropy_loss(stream, x.in(), target.in(), weight, out.view(), options);
  expect_close<T>(out.read(), losses, near<T>());
  fg::cross_entropy_loss(stream, x.in(), t.in(), weight, out.view(), options);
  tolerance wide = near<T>();  // of many terms
  wide.atol *= 4 * std::sqrt(static_cast<double>(classes));
  expect_close<T>(out.read(), soft, wide);
  EXPECT_TRUE(out.gaps_untouched());
  test_tensor<T, D> one(shape{});
  const auto total = [&](const auto& classes_of, fg::reduction reduced) {
    options.reduced = reduced;
    fg::cross_entropy_loss(stream, x.in(), classes_of, weight, one.view(), options);
    return one.read();
  };
  expect_close<T>(total(target.in(), fg::reduction::sum), values{sum}, near<T>());
  expect_close<T>(total(target.in(), fg::reduction::mean), values{sum / counted}, near<T>());
  expect_close<T>(total(t.in(), fg::reduction::mean),
                  values{soft_sum / static_cast<double>(of.rows())}, near<T>());
  EXPECT_TRUE(x.untouched());
  EXPECT_TRUE(target.untouched());
}

template <class Case>
class cross_entropy : public ::testing::Test {};
using some_cases = cases<on_host<f32, bf16, f64>, on_chips<f32>>;
TYPED_TEST_SUITE(cross_entropy, some_cases);

TYPED_TEST(cross_entropy, contiguous) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 classes : {1, 2, 15, 64, 301})
      for (const bool has_weight : {false, true})
        check<D, T>(9, classes, 1, layout::contiguous, layout::contiguous, has_weight,
                    classes % 2 == 0 ? 0.0 : 0.1);
    check<D, T>(9, 40, 1, layout::contiguous, layout::contiguous, true, 1.0);
  });
}

template <class Device>
class cross_entropy_layouts : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(cross_entropy_layouts, devices);

// The digits of logits far from 0 count.
TYPED_TEST(cross_entropy_layouts, of_large_logits) {
  const auto& stream = test_stream<TypeParam>();
  at_every_level<TypeParam>([&] {
    for (const double at : {0.0, 1e5, 1e6, -1e6, 3.4e38}) {
      const double step = at > 1e7 ? 0 : 1;
      test_tensor<f32, TypeParam> x({1, 3}, layout::contiguous, {at, at + step, at + step / 2}),
          all({1, 3}, layout::contiguous, {1, 0, 0}), out({1});
      test_tensor<i64, TypeParam> target({1}, layout::contiguous, {0});
      const double want = step + std::log(std::exp(-step) + 1 + std::exp(-step / 2));
      constexpr tolerance close{1e-6, 0};
      const auto run = [&](const auto& t, double smoothing) {
        fg::cross_entropy_loss(stream, x.in(), t, std::nullopt, out.view(),
                               {fg::reduction::none, ignored, smoothing});
        return out.read();
      };
      expect_close<f32>(run(target.in(), 0), {want}, close);
      expect_close<f32>(run(all.in(), 0), {want}, close);
      expect_close<f32>(run(target.in(), 0.5), {want / 2 + (want - step / 2) / 2}, close);
    }
  });
}

TYPED_TEST(cross_entropy_layouts, all) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts) {
        check<TypeParam, f32>(6, 19, 1, in, to, true, 0.1);
        check<TypeParam, f32, fg::i32>(3, 19, 4, in, to, false, 0.0);
      }
  });
}

// A block holds all of one row, of another a cluster of blocks does not.
TYPED_TEST(cross_entropy_layouts, many_classes) {
  check<TypeParam, f32>(4, 6001, 1, layout::contiguous, layout::contiguous, false, 0.0);
  check<TypeParam, bf16>(2, 262144, 1, layout::contiguous, layout::contiguous, false, 0.0);
  check<TypeParam, f32>(2, 40001, 1, layout::contiguous, layout::contiguous, true, 0.25);
}

TYPED_TEST(cross_entropy_layouts, special_values) {
  const auto& stream = test_stream<TypeParam>();
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const auto losses = [&](const values& x, const values& targets) {
    const shape sizes{static_cast<i64>(targets.size()), 3};
    test_tensor<f32, TypeParam> in(sizes, layout::contiguous, x);
    test_tensor<i64, TypeParam> t({sizes[0]}, layout::contiguous, targets);
    return values_of(
        fg::cross_entropy_loss(stream, in.in(), t.in(), std::nullopt, {fg::reduction::none}));
  };
  // A class that cannot be; one that must be; a NaN; an ignored row of NaN; all classes impossible.
  const values got =
      losses({-inf, 0, 0, 0, inf, 0, nan, 0, 0, nan, inf, 0, -inf, -inf, -inf}, {0, 1, 1, -100, 2});
  EXPECT_EQ(got[0], inf);
  EXPECT_TRUE(std::isnan(got[1]));
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_EQ(got[3], 0);
  EXPECT_TRUE(std::isnan(got[4]));
  // 0-dimensional targets, all rows ignored, and no rows.
  test_tensor<f32, TypeParam> one({3}, layout::contiguous, {0, 0, 0}), none({0, 3});
  test_tensor<i64, TypeParam> first(shape{}, layout::contiguous, {1}),
      skipped(shape{}, layout::contiguous, {-100}), no_targets({0});
  EXPECT_NEAR(values_of(fg::cross_entropy_loss(stream, one.in(), first.in()))[0], std::log(3.0),
              1e-6);
  EXPECT_TRUE(std::isnan(values_of(fg::cross_entropy_loss(stream, one.in(), skipped.in()))[0]));
  EXPECT_TRUE(std::isnan(values_of(fg::cross_entropy_loss(stream, none.in(), no_targets.in()))[0]));
  EXPECT_EQ(values_of(fg::cross_entropy_loss(stream, none.in(), no_targets.in(), std::nullopt,
                                             {fg::reduction::sum}))[0],
            0);
}

TYPED_TEST(cross_entropy_layouts, no_classes) {
  const auto& stream = test_stream<TypeParam>();
  test_tensor<f32, TypeParam> x({2, 0}), nothing({0, 0});
  test_tensor<i64, TypeParam> skipped({2}, layout::contiguous, {-100, -100}), no_targets({0});
  const auto total = [&](const auto& in, const auto& target, fg::reduction reduced) {
    return values_of(fg::cross_entropy_loss(stream, in, target, std::nullopt, {reduced}))[0];
  };
  EXPECT_TRUE(std::isnan(total(x.in(), skipped.in(), fg::reduction::mean)));
  EXPECT_EQ(total(x.in(), skipped.in(), fg::reduction::sum), 0);
  EXPECT_TRUE(std::isnan(total(nothing.in(), no_targets.in(), fg::reduction::mean)));
  EXPECT_TRUE(std::isnan(total(nothing.in(), nothing.in(), fg::reduction::mean)));
}

TYPED_TEST(cross_entropy_layouts, bad_input) {
  const auto& stream = test_stream<TypeParam>();
  test_tensor<f32, TypeParam> x({4, 3}, layout::contiguous, random_values({4, 3})), w({3}),
      out({4}), scalar(shape{}), two({2});
  test_tensor<i64, TypeParam> t({4}, layout::contiguous, {0, 1, 2, 0}),
      wrong({4}, layout::contiguous, {0, 1, 3, 0});
  const auto run = [&](const auto& in, const auto& target, const auto& weight, const auto& to,
                       fg::reduction reduced, double smoothing = 0) {
    fg::cross_entropy_loss(stream, in, target, weight, to, {reduced, ignored, smoothing});
  };
  using fg::reduction;
  constexpr auto op = "cross_entropy_loss";
  EXPECT_RAISES(run(x.in(), t.in().narrow(0, 0, 3), w.in(), scalar.view(), reduction::mean),
                shape_mismatch, op);
  EXPECT_RAISES(run(x.in(), x.in().t(), w.in(), scalar.view(), reduction::mean), shape_mismatch,
                op);
  EXPECT_RAISES(run(x.in(), t.in(), two.in(), scalar.view(), reduction::mean), shape_mismatch, op);
  EXPECT_RAISES(run(x.in(), t.in(), w.in(), out.view(), reduction::mean), shape_mismatch, op);
  EXPECT_RAISES(run(x.in(), t.in(), w.in(), scalar.view(), reduction::none), shape_mismatch, op);
  EXPECT_RAISES(run(x.in(), t.in(), w.in(), scalar.view(), reduction::mean, 1.5), invalid_argument,
                op);
  EXPECT_RAISES(run(x.in(), t.in(), w.in(), scalar.view(), reduction::mean, std::nan("")),
                invalid_argument, op);
  EXPECT_RAISES(run(x.in(), t.in(), w.in(), scalar.view(), static_cast<reduction>(7)),
                invalid_argument, op);
  EXPECT_RAISES(run(scalar.in(), scalar.in(), w.in(), scalar.view(), reduction::mean),
                invalid_argument, op);
  EXPECT_RAISES(run(x.in(), t.in(), w.in(), x.view().select(1, 0), reduction::none), overlap, op);
  if constexpr (fg::host_accessible<TypeParam>) {
    EXPECT_RAISES(run(x.in(), wrong.in(), w.in(), scalar.view(), reduction::mean), out_of_range,
                  op);
  } else {
    run(x.in(), wrong.in(), w.in(), out.view(), reduction::none);
    EXPECT_TRUE(std::isnan(out.read()[2]));
    EXPECT_FALSE(std::isnan(out.read()[1]));
  }
  EXPECT_TRUE(scalar.untouched());
  EXPECT_TRUE(x.untouched());
}

}  // namespace
}  // namespace flaggems_test
