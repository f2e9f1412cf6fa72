// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/sequences.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class sequences : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(sequences, devices);

using at = std::vector<i64>;

TYPED_TEST(sequences, all) {
  const auto& s = test_stream<TypeParam>();
  const double pi = 3.14159265358979323846;
  const auto check = [](const auto& got, i64 n, auto want) {
    EXPECT_EQ(got.shape_of(), (shape{n}));
    using T = fg::value_t<decltype(got)>;
    expect_close<T>(values_of(got),
                    filled_by({n}, [&](const at& i) { return want(static_cast<double>(i[0])); }));
  };
  expect_equal(values_of(fg::eye(s, 2, 3)), {1, 0, 0, 0, 1, 0});
  expect_equal(values_of(fg::eye<i64>(s, 2)), {1, 0, 0, 1});
  EXPECT_EQ(fg::eye(s, 0, 3).shape_of(), (shape{0, 3}));
  check(fg::linspace(s, -1, 2.5, 36), 36, [](double k) { return -1 + 0.1 * k; });
  check(fg::linspace<i64>(s, 0, 10, 4), 4, [](double k) { return std::trunc(10 * k / 3); });
  check(fg::linspace<i64>(s, 0, 1.9, 20), 20, [](double k) { return k < 19 ? 0 : 1; });
  EXPECT_EQ(values_of(fg::linspace<f64>(s, 0.1, 0.7, 7)).back(), 0.7);
  EXPECT_EQ(values_of(fg::linspace<f64>(s, -1.5e308, 1.5e308, 5)),
            (std::vector<double>{-1.5e308, -7.5e307, 0, 7.5e307, 1.5e308}));
  check(fg::linspace(s, 3, 5, 1), 1, [](double) { return 3; });
  EXPECT_EQ(fg::linspace(s, 3, 5, 0).numel(), 0);
  check(fg::logspace(s, 0, 3, 4), 4, [](double k) { return std::pow(10, k); });
  check(fg::logspace(s, 1, 4, 4, 2), 4, [](double k) { return std::pow(2, k + 1); });
  check(fg::range(s, 1, 4, 0.5), 7, [](double k) { return 1 + 0.5 * k; });
  check(fg::range<i64>(s, 5, 1, -2), 3, [](double k) { return 5 - 2 * k; });
  for (const bool periodic : {false, true})
    for (const i64 n : {2, 9}) {
      const double all = static_cast<double>(periodic ? n : n - 1);
      const auto angle = [=](double k) { return 2 * pi * k / all; };
      check(fg::hann_window(s, n, periodic), n,
            [&](double k) { return 0.5 - 0.5 * std::cos(angle(k)); });
      check(fg::hamming_window<f64>(s, n, periodic), n,
            [&](double k) { return 0.54 - 0.46 * std::cos(angle(k)); });
      check(fg::blackman_window(s, n, periodic), n, [&](double k) {
        return 0.42 - 0.5 * std::cos(angle(k)) + 0.08 * std::cos(2 * angle(k));
      });
      check(fg::bartlett_window(s, n, periodic), n,
            [&](double k) { return 1 - std::abs(2 * k / all - 1); });
    }
  expect_equal(values_of(fg::hann_window(s, 1)), {1});
  EXPECT_EQ(fg::blackman_window(s, 0).numel(), 0);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(sequences_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  EXPECT_RAISES(fg::eye(s, -1), invalid_argument, "eye");
  EXPECT_RAISES(fg::linspace(s, 0, 1, -1), invalid_argument, "linspace");
  EXPECT_RAISES(fg::logspace(s, 0, 1, -1), invalid_argument, "logspace");
  EXPECT_RAISES(fg::linspace<fg::u8>(s, 0, 300, 4), invalid_argument, "linspace");
  EXPECT_RAISES(fg::linspace<fg::f16>(s, -1e6, 0, 4), invalid_argument, "linspace");
  EXPECT_RAISES(fg::logspace<fg::u8>(s, 0, 300, 4), invalid_argument, "logspace");
  // Of integers that f64 does not hold.
  constexpr i64 large = (i64{1} << 53) + 1;
  const auto beyond = fg::range<i64>(s, large, large + 3);
  ASSERT_EQ(beyond.size(0), 4);
  for (i64 k = 0; k < 4; ++k) EXPECT_EQ(beyond.data()[k], large + k);
  EXPECT_EQ(fg::range<i64>(s, 0, 7, 2).size(0), 4);
  EXPECT_RAISES(fg::range(s, 0, 1, 0), invalid_argument, "arange");
  EXPECT_RAISES(fg::range<fg::i8>(s, 125, 128), invalid_argument, "range");
  expect_equal(values_of(fg::range<fg::i8>(s, 125, 127)), {125, 126, 127});
  EXPECT_RAISES(fg::hann_window(s, -1), invalid_argument, "hann_window");
}
#endif

}  // namespace
}  // namespace flaggems_test
