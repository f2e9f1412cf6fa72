// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/observers.hpp>
#include <support/ops.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace flaggems_test {
namespace {

using fg::f16, fg::i32;

std::size_t at(i64 i) { return static_cast<std::size_t>(i); }
constexpr double infinite = std::numeric_limits<double>::infinity();

double as_half(double x) {
  return fg::kernels::number_cast<double>(fg::kernels::number_cast<f16>(static_cast<float>(x)));
}
/// The distance of values to themselves rounded to steps of a range.
double loss_of(const std::vector<double>& x, double low, double high, double most) {
  low = as_half(low);
  const double scale = high == low ? 1 : as_half((high - low) / most);
  double sum = 0;
  for (const double v : x) {
    const double q = std::clamp(std::nearbyint((v - low) / scale), 0.0, most);
    sum += (v - q * scale - low) * (v - q * scale - low);
  }
  return std::sqrt(sum);
}

template <class Device>
class ranges : public ::testing::Test {};
TYPED_TEST_SUITE(ranges, all_devices);

TYPED_TEST(ranges, searched) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const layout of : {layout::contiguous, layout::transposed, layout::negative})
    for (const i64 bits : {2, 4}) {
      std::vector<double> values = random_values({8, 25});
      values[17] = 9;  // far from the others, so that a narrower range is better
      test_tensor<f32, D> x({8, 25}, of, values);
      const std::vector<double> first(x.values().begin(), x.values().begin() + 180);
      const auto [high, low] = fg::choose_qparams_optimized(s, x.in(), 180, 200, 0.8, bits);
      const double a = values_of(low)[0], b = values_of(high)[0];
      const double least = *std::min_element(first.begin(), first.end());
      const double greatest = *std::max_element(first.begin(), first.end());
      const double most = (1 << bits) - 1, step = (greatest - least) / 200;
      EXPECT_TRUE(a >= least && b <= greatest && a < b) << a << " " << b;
      // A local optimum: better than the whole range, and no step off an end is better.
      const double loss = loss_of(first, a, b, most);
      EXPECT_LT(loss, loss_of(first, least, greatest, most));
      EXPECT_LE(loss, loss_of(first, a + step, b, most) * 1.0001);
      EXPECT_LE(loss, loss_of(first, a, b - step, most) * 1.0001);
      EXPECT_TRUE(x.untouched());
    }
  test_tensor<f32, D> same({5}, layout::strided, {2, 2, 2, 2, 2});
  const auto [high, low] = fg::choose_qparams_optimized(s, same.in(), 5, 10, 0.5, 8);
  EXPECT_EQ(values_of(high), std::vector<double>{2});
  EXPECT_EQ(values_of(low), std::vector<double>{2});
}

template <class Case>
class observers : public ::testing::Test {};
using few_cases = cases<on_host<f32, bf16>, on_chips<f32>, on_wide<f32>>;
TYPED_TEST_SUITE(observers, few_cases);

/// One observer's state.
struct state {
  double low, high, scale, zero;
};
/// What the observer of some elements becomes.
state moved(state now, const std::vector<double>& x, bool observes, bool rounds, double by,
            double first, double last, bool symmetric) {
  const double least = *std::min_element(x.begin(), x.end());
  const double greatest = *std::max_element(x.begin(), x.end());
  if (observes) {
    now.low = std::isinf(now.low) ? least : now.low + by * (least - now.low);
    now.high = std::isinf(now.high) ? greatest : now.high + by * (greatest - now.high);
  }
  if (!rounds) return now;
  double low = now.low, high = now.high;
  const bool centred = symmetric && low < 0 && high > 0;
  if (centred) {
    const double above = std::trunc((last - first) / 2);
    const double scale = std::max(-low / (above + 1), high / above);
    low = -scale * (above + 1);
    high = scale * above;
  }
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  now.scale = high == low ? 0.1 : (high - low) / (last - first);
  const bool by_low = std::abs(first) - low / now.scale < std::abs(last) + high / now.scale;
  const double zero = centred  ? (first + last) / 2
                      : by_low ? first - low / now.scale
                               : last - high / now.scale;
  now.zero = std::nearbyint(std::clamp(zero, first, last));
  return now;
}

TYPED_TEST(observers, follow_and_round) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const shape sizes{3, 4, 5};
  for (const int axis : {-1, 0, 1, 2})  // -1: one for all elements
    for (const bool symmetric : {false, true})
      for (const int switches : {0, 1, 2, 3}) {
        SCOPED_TRACE(std::to_string(axis) + " " + std::to_string(switches));
        const bool observes = (switches & 1) != 0, rounds = (switches & 2) != 0;
        const i64 rows = axis < 0 ? 1 : sizes[axis];
        test_tensor<T, D> x(sizes, layout::transposed, random_values(sizes));
        std::vector<double> lows(at(rows), -0.5), highs(at(rows), 0.75);
        lows[0] = infinite, highs[0] = -infinite;
        if (!observes) lows[0] = -1, highs[0] = 2;
        test_tensor<f32, D> low({rows}, layout::strided, lows),
            high({rows}, layout::negative, highs),
            scale({rows}, layout::contiguous, std::vector<double>(at(rows), 0.25));
        test_tensor<i32, D> zero({rows}, layout::strided, std::vector<double>(at(rows), 3));
        test_tensor<i64, D> on({1}, layout::contiguous, {observes ? 1.0 : 0.0}),
            quant({}, layout::contiguous, {rounds ? 1.0 : 0.0});
        const auto [out, mask] = fg::fused_moving_avg_obs_fq_helper(
            s, x.in(), on.in(), quant.in(), low.view(), high.view(), scale.view(), zero.view(),
            0.25, -8, 7, axis < 0 ? 0 : axis, axis >= 0, symmetric);
        std::vector<double> want_low, want_high, want_scale, want_zero;
        std::vector<state> states;
        const auto row_of = [&](i64 e) {
          if (axis < 0) return i64{0};
          for (int d = 2; d > axis; --d) e /= sizes[d];
          return e % sizes[axis];
        };
        for (i64 r = 0; r < rows; ++r) {
          std::vector<double> own;
          for (i64 e = 0; e < sizes.numel(); ++e)
            if (row_of(e) == r) own.push_back(x.values()[at(e)]);
          const state one = moved({lows[at(r)], highs[at(r)], 0.25, 3}, own, observes, rounds, 0.25,
                                  -8, 7, symmetric);
          states.push_back(one);
          want_low.push_back(one.low), want_high.push_back(one.high);
          want_scale.push_back(one.scale), want_zero.push_back(one.zero);
        }
        expect_close<f32>(low.read(), want_low, {1e-5, 1e-6});
        expect_close<f32>(high.read(), want_high, {1e-5, 1e-6});
        expect_close<f32>(scale.read(), want_scale, {1e-5, 1e-7});
        expect_equal(zero.read(), want_zero);
        const auto got = values_of(out), inside = values_of(mask);
        for (i64 e = 0; e < sizes.numel(); ++e) {
          const double v = x.values()[at(e)];
          if (!rounds) {
            EXPECT_EQ(got[at(e)], v);
            EXPECT_EQ(inside[at(e)], 1);
            continue;
          }
          const state& one = states[at(row_of(e))];
          const double steps = v / one.scale;
          if (std::abs(steps - std::floor(steps) - 0.5) < 1e-3) continue;  // beside a step
          const double q = std::nearbyint(steps) + one.zero;
          EXPECT_EQ(inside[at(e)], q >= -8 && q <= 7 ? 1 : 0);
          EXPECT_NEAR(got[at(e)], (std::clamp(q, -8.0, 7.0) - one.zero) * one.scale,
                      (std::is_same_v<T, f32> ? 1e-5 : 1e-2) * std::max(1.0, std::abs(v)));
        }
        EXPECT_TRUE(x.untouched() && low.gaps_untouched() && zero.gaps_untouched());
      }
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(observers, refuse_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 3}), none({0, 3}), low({1}), high({1}), scale({1}), two({2});
  test_tensor<i32> zero({1});
  test_tensor<i64> on({1}), many({2});
  const auto search = [&](i64 numel, i64 bins, i64 bits) {
    static_cast<void>(fg::choose_qparams_optimized(s, x.in(), numel, bins, 0.5, bits));
  };
  EXPECT_RAISES(search(7, 10, 4), invalid_argument, "choose_qparams_optimized");
  EXPECT_RAISES(search(0, 10, 4), invalid_argument, "choose_qparams_optimized");
  EXPECT_RAISES(search(6, 0, 4), invalid_argument, "choose_qparams_optimized");
  EXPECT_RAISES(search(6, 10, 31), invalid_argument, "choose_qparams_optimized");
  constexpr const char* op = "fused_moving_avg_obs_fq_helper";
  const auto observe = [&](auto& from, auto& observer, auto& least, i64 last, i64 axis, bool rows) {
    static_cast<void>(fg::fused_moving_avg_obs_fq_helper(s, from.in(), observer.in(), on.in(),
                                                         least.view(), high.view(), scale.view(),
                                                         zero.view(), 0.1, 0, last, axis, rows));
  };
  EXPECT_RAISES(observe(none, on, low, 7, 0, false), invalid_argument, op);
  EXPECT_RAISES(observe(x, many, low, 7, 0, false), shape_mismatch, op);
  EXPECT_RAISES(observe(x, on, two, 7, 0, false), shape_mismatch, op);
  EXPECT_RAISES(observe(x, on, low, 7, 0, true), shape_mismatch, op);
  EXPECT_RAISES(observe(x, on, low, 0, 0, false), invalid_argument, op);
  EXPECT_RAISES(observe(x, on, low, 7, 2, false), out_of_range, op);
  EXPECT_RAISES(observe(x, on, high, 7, 0, false), overlap, op);
  EXPECT_TRUE(low.untouched() && high.untouched() && scale.untouched() && zero.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
