// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/complex.hpp>
#include <flaggems/ops/eigenvalues.hpp>
#include <support/matrices.hpp>

#include <complex>

namespace flaggems_test {
namespace {

using number = std::complex<double>;

template <class Case>
class eigenvalues : public ::testing::Test {};
TYPED_TEST_SUITE(eigenvalues, factor_cases);

template <class Tensor>
std::vector<number> numbers_of(const Tensor& z) {
  const auto parts =
      values_of(fg::clone(test_stream<typename Tensor::device_type>(), fg::view_as_real(z)));
  std::vector<number> all;
  for (std::size_t i = 0; i < parts.size(); i += 2) all.emplace_back(parts[i], parts[i + 1]);
  return all;
}

/// Each expected number has one that was found, not taken by another.
void expect_numbers(std::vector<number> got, const std::vector<number>& want, double off) {
  ASSERT_EQ(got.size(), want.size());
  for (const number& w : want) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < got.size(); ++k)
      if (std::abs(got[k] - w) < std::abs(got[best] - w)) best = k;
    EXPECT_LE(std::abs(got[best] - w), off) << w;
    got.erase(got.begin() + static_cast<std::ptrdiff_t>(best));
  }
}

/// Q B Q^T for a random reflector Q: a matrix whose eigenvalues are those of B.
stack disguised(const stack& b) {
  const i64 n = b.rows;
  const auto v = random_values({n});
  double square = 0;
  for (const double x : v) square += x * x;
  const stack q = identity(n, b.count()).with([&](i64 i, i64 j, double x) {
    return x - 2 * v[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(j)] / square;
  });
  return q * b * q;
}

TYPED_TEST(eigenvalues, of_known_matrices) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const double exact = std::is_same_v<T, f32> ? 2e-4 : 1e-10;
  at_every_level<D>([&] {
    for (const i64 n : {1, 2, 3, 5, 8, 21})
      for (const layout how : output_layouts) {
        // Blocks of two rows with conjugate eigenvalues, numbers, and something above.
        std::vector<number> want;
        stack b = random_stack(1, n, n).upper();
        for (i64 i = 0; i < n;) {
          const double x = static_cast<double>(i) - 3, y = 1 + 0.25 * static_cast<double>(i);
          if (i % 3 == 0 && i + 1 < n) {
            b.at(0, i, i) = b.at(0, i + 1, i + 1) = x;
            b.at(0, i, i + 1) = y, b.at(0, i + 1, i) = -y;
            want.emplace_back(x, y), want.emplace_back(x, -y);
            i += 2;
          } else {
            b.at(0, i, i) = x;
            want.emplace_back(x, 0);
            i += 1;
          }
        }
        const stack a = disguised(b);
        test_tensor<T, D> x({1, n, n}, how, a.values), out({1, n, 2}, layout::contiguous);
        fg::linalg_eigvals(s, x.in(), fg::view_as_complex(out.view()));
        std::vector<number> got;
        const auto parts = out.read();
        for (std::size_t i = 0; i < parts.size(); i += 2) got.emplace_back(parts[i], parts[i + 1]);
        expect_numbers(got, want, exact * static_cast<double>(n));
        expect_numbers(numbers_of(fg::linalg_eigvals(s, x.in())), got, 0);
      }
  });
}

TYPED_TEST(eigenvalues, of_special_matrices) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  // A cycle, of which steps with the usual shifts get nowhere: the roots of one.
  test_tensor<T, D> cycle({4, 4}, layout::contiguous,
                          {0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0});
  expect_numbers(numbers_of(fg::linalg_eigvals(s, cycle.in())), {{1, 0}, {-1, 0}, {0, 1}, {0, -1}},
                 1e-5);
  test_tensor<T, D> two({2, 2, 2}, layout::contiguous, {2, 1, 0, 3, 0, 0, 0, 0}), none({2, 0, 0}),
      nan({2, 2}, layout::contiguous, {1, std::nan(""), 0, 1});
  const auto got = numbers_of(fg::linalg_eigvals(s, two.in()));
  expect_numbers({got[0], got[1]}, {2, 3}, 1e-6);
  expect_numbers({got[2], got[3]}, {0, 0}, 0);
  EXPECT_EQ(fg::linalg_eigvals(s, none.in()).numel(), 0);
  EXPECT_RAISES(fg::linalg_eigvals(s, nan.in()), invalid_argument, "linalg_eigvals");
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(eigenvalues_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> row({4}), wide({2, 3}), memory({2, 2, 2});
  const auto z = fg::view_as_complex(memory.view());
  test_tensor<f32> x({2, 2});
  EXPECT_RAISES(fg::linalg_eigvals(s, row.in()), invalid_argument, "linalg_eigvals");
  EXPECT_RAISES(fg::linalg_eigvals(s, wide.in()), shape_mismatch, "linalg_eigvals");
  EXPECT_RAISES(fg::linalg_eigvals(s, x.in(), z), shape_mismatch, "linalg_eigvals");
  EXPECT_RAISES(fg::linalg_eigvals(s, memory.in().select(2, 0), z.select(0, 0)), overlap,
                "linalg_eigvals");
  EXPECT_TRUE(memory.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
