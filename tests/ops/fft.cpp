// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/complex.hpp>
#include <flaggems/ops/fft.hpp>
#include <support/matrices.hpp>

namespace flaggems_test {
namespace {

template <class Case>
class ffts : public ::testing::Test {};
TYPED_TEST_SUITE(ffts, factor_cases);

/// Real and imaginary parts in turn, of rows of n complex numbers.
std::vector<double> transformed(const std::vector<double>& x, i64 n, i64 length, double scale) {
  const auto ends = static_cast<std::size_t>(length);
  std::vector<double> out, cosines(ends), sines(ends);
  for (std::size_t k = 0; k < ends; ++k) {
    const double angle =
        -2 * std::acos(-1.0) * static_cast<double>(k) / static_cast<double>(length);
    cosines[k] = std::cos(angle), sines[k] = std::sin(angle);
  }
  for (std::size_t row = 0; row < x.size() / static_cast<std::size_t>(2 * n); ++row)
    for (std::size_t k = 0; k < ends; ++k) {
      double re = 0, im = 0;
      std::size_t root = 0;
      for (i64 j = 0; j < (std::min)(n, length); ++j) {
        const std::size_t at =
            row * static_cast<std::size_t>(2 * n) + static_cast<std::size_t>(2 * j);
        re += x[at] * cosines[root] - x[at + 1] * sines[root];
        im += x[at] * sines[root] + x[at + 1] * cosines[root];
        root += k;
        if (root >= ends) root -= ends;
      }
      out.push_back(re * scale), out.push_back(im * scale);
    }
  return out;
}

TYPED_TEST(ffts, of_complex_and_real_rows) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const i64 n : {1, 2, 3, 4, 5, 8, 12, 17, 30, 64, 77, 100}) {
      auto close = tolerance_of<T>(static_cast<double>(n));
      test_tensor<T, D> x({3, n, 2}, layout::contiguous, random_values({3, n, 2})),
          out({3, n, 2}, layout::contiguous);
      const auto z = fg::view_as_complex(x.in());
      const auto want = transformed(x.values(), n, n, 1);
      fg::fft_fft(s, z, fg::view_as_complex(out.view()));
      expect_close<T>(out.read(), want, close);
      const auto real = x.in().select(-1, 0);
      auto parts = x.values();
      for (std::size_t i = 1; i < parts.size(); i += 2) parts[i] = 0;
      const auto of_real = fg::fft(s, real, std::nullopt, -1, fg::fft_norm::ortho);
      const auto got = fg::view_as_real(of_real);
      expect_close<T>(values_of(fg::clone(s, got)),
                      transformed(parts, n, n, 1 / std::sqrt(static_cast<double>(n))), close);
    }
  });
}

TYPED_TEST(ffts, of_other_lengths_and_dimensions) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  for (const i64 n : {4, 6, 9}) {
    test_tensor<T, D> x({2, 6, 2}, layout::contiguous, random_values({2, 6, 2}));
    const auto z = fg::view_as_complex(x.in());
    const auto all = fg::fft_fft(s, z, n, 1, fg::fft_norm::forward);
    const auto want = transformed(x.values(), 6, n, 1 / static_cast<double>(n));
    expect_close<T>(values_of(fg::clone(s, fg::view_as_real(all))), want,
                    tolerance_of<T>(static_cast<double>(n)));
    // The same along the first dimension of the transpose, into a transpose.
    test_tensor<T, D> out({2, n, 2});
    fg::fft_fft(s, z.transpose(0, 1), fg::view_as_complex(out.view()).transpose(0, 1), n, 0,
                fg::fft_norm::forward);
    expect_close<T>(out.read(), want, tolerance_of<T>(static_cast<double>(n)));
  }
  test_tensor<T, D> none({0, 3});
  EXPECT_EQ(fg::fft_fft(s, none.in()).numel(), 0);
}

#if FLAGGEMS_TEST_HOST  // about the host
/// The norm of got - want over that of want.
double error_of_norm(const std::vector<double>& got, const std::vector<double>& want) {
  double error = 0, all = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    all += want[i] * want[i];
  }
  return std::sqrt(error / all);
}

template <class T>
class ffts_of_lengths : public ::testing::Test {};
using precisions = ::testing::Types<f32, f64>;
TYPED_TEST_SUITE(ffts_of_lengths, precisions);

// Rows in lanes, rows as matrices, and convolutions, of all radices.
TYPED_TEST(ffts_of_lengths, are_close) {
  using T = TypeParam;
  const auto& s = test_stream<host>();
  const double unit = std::numeric_limits<T>::epsilon();
  at_every_level<host>([&] {
    for (const i64 n : {1,   2,   3,   6,   7,   8,   11,   15,   16,   17,   21,  25,  31,
                        48,  49,  64,  97,  105, 121, 128,  169,  210,  211,  240, 256, 257,
                        331, 384, 500, 512, 625, 662, 1000, 1009, 1024, 1155, 2003})
      for (const i64 rows : {1, 5, 19}) {
        if (rows == 19 && n > 260) continue;
        test_tensor<T> x({rows, n, 2}, layout::contiguous, random_values({rows, n, 2})),
            out({rows, n, 2});
        fg::fft_fft(s, fg::view_as_complex(x.in()), fg::view_as_complex(out.view()));
        EXPECT_TRUE(out.gaps_untouched());
        EXPECT_LE(error_of_norm(out.read(), transformed(x.values(), n, n, 1)),
                  unit * (2 + std::log2(static_cast<double>(n))))
            << rows << " rows of " << n;
      }
  });
}

/// Element (r, k) of x is at offset + r * row + k * step; what is written is dense and along
/// columns.
template <class T>
void expect_of_strides(i64 rows, i64 n, i64 row, i64 step, i64 offset, i64 size) {
  using Z = fg::complex<T>;
  const auto& s = test_stream<host>();
  test_tensor<T> x({size, 2}, layout::contiguous, random_values({size, 2})), out({rows, n, 2}),
      across({n, rows, 2});
  const auto* data = fg::view_as_complex(x.in()).data() + offset;
  const fg::tensor_view<const Z> z(data, {rows, n}, {row, step});
  const std::vector<double> all = x.values();
  std::vector<double> values;
  for (i64 r = 0; r < rows; ++r)
    for (i64 k = 0; k < n; ++k)
      for (i64 part = 0; part < 2; ++part)
        values.push_back(all[static_cast<std::size_t>(2 * (offset + r * row + k * step) + part)]);
  const auto want = transformed(values, n, n, 1 / static_cast<double>(n));
  const double most = std::numeric_limits<T>::epsilon() * 16;
  const auto norm = fg::fft_norm::forward;
  fg::fft_fft(s, z, fg::view_as_complex(out.view()), std::nullopt, -1, norm);
  EXPECT_LE(error_of_norm(out.read(), want), most) << rows << ", " << n << ", " << row;
  const auto columns = fg::view_as_complex(across.view());
  fg::fft_fft(s, z, columns.transpose(0, 1), std::nullopt, -1, norm);
  EXPECT_EQ(values_of(fg::clone(s, across.in().transpose(0, 1))), out.read());
}

TYPED_TEST(ffts_of_lengths, take_any_strides) {
  using T = TypeParam;
  at_every_level<host>([&] {
    for (const i64 n : {12, 64, 60, 263, 320})
      for (const i64 rows : {1, 3, 16, 21}) {
        expect_of_strides<T>(rows, n, 1, rows, 0, n * rows);            // columns
        expect_of_strides<T>(rows, n, 1, rows + 3, 0, n * (rows + 3));  // columns with gaps
        expect_of_strides<T>(rows, n, -n, -1, rows * n - 1, rows * n);  // backwards
        expect_of_strides<T>(rows, n, 0, 2, 0, 2 * n);                  // the same row
        expect_of_strides<T>(rows, n, 2 * n + 1, 1, 0, rows * (2 * n + 1));
      }
  });
}

// Batches of two dimensions that are no single one, so that vectors of rows cross their ends.
TYPED_TEST(ffts_of_lengths, take_batches_with_gaps) {
  using T = TypeParam;
  using Z = fg::complex<T>;
  const auto& s = test_stream<host>();
  at_every_level<host>([&] {
    for (const i64 n : {12, 37, 320}) {
      test_tensor<T> x({6 * 9 * n, 2}, layout::contiguous, random_values({6 * 9 * n, 2})),
          out({6, 9, n, 2});
      const auto* data = fg::view_as_complex(x.in()).data();
      const auto to = fg::view_as_complex(out.view());
      for (const auto& strides : {shape{9 * n, n, 1}, shape{9 * n, 1, 9}}) {
        const fg::tensor_view<const Z> z(data, {6, 7, n}, strides);
        const auto want = fg::fft_fft(s, fg::clone(s, z));
        fg::fft_fft(s, z, to.narrow(1, 1, 7));
        const auto got = fg::clone(s, fg::view_as_real(to.narrow(1, 1, 7)));
        EXPECT_LE(error_of_norm(values_of(got), values_of(fg::clone(s, fg::view_as_real(want)))),
                  4 * std::numeric_limits<T>::epsilon())
            << n;
      }
      const auto around = values_of(fg::clone(s, out.in().select(1, 8)));
      EXPECT_EQ(around, std::vector<double>(around.size(), 0.0));
    }
  });
}

// A row's infinities and NaN stay in it, and a finite row's neighbours do not matter.
TYPED_TEST(ffts_of_lengths, keep_rows_apart) {
  using T = TypeParam;
  const auto& s = test_stream<host>();
  for (const i64 n : {8, 15, 127, 300, 331}) {
    auto values = random_values({20, n, 2});
    test_tensor<T> x({20, n, 2}, layout::contiguous, values);
    values[static_cast<std::size_t>(3 * 2 * n)] = std::numeric_limits<double>::quiet_NaN();
    values[static_cast<std::size_t>(7 * 2 * n + 1)] = std::numeric_limits<double>::infinity();
    test_tensor<T> y({20, n, 2}, layout::contiguous, values);
    const auto of_finite = fg::fft_fft(s, fg::view_as_complex(x.in()));
    const auto of_others = fg::fft_fft(s, fg::view_as_complex(y.in()));
    const auto want = values_of(fg::clone(s, fg::view_as_real(of_finite)));
    const auto got = values_of(fg::clone(s, fg::view_as_real(of_others)));
    for (std::size_t i = 0; i < got.size(); i += 2) {
      const auto row = i / static_cast<std::size_t>(2 * n);
      if (row == 3 || row == 7)
        EXPECT_FALSE(std::isfinite(got[i]) && std::isfinite(got[i + 1])) << row << " of " << n;
      else
        EXPECT_TRUE(got[i] == want[i] && got[i + 1] == want[i + 1]) << row << " of " << n;
    }
  }
}

// Of real numbers, and of fewer or more elements than are given.
TYPED_TEST(ffts_of_lengths, are_those_of_padded_rows) {
  using T = TypeParam;
  const auto& s = test_stream<host>();
  at_every_level<host>([&] {
    for (const i64 n : {9, 32, 256, 270, 347})
      for (const i64 given : {1, 8, 31, 400})
        for (const i64 rows : {2, 17}) {
          test_tensor<T> x({rows, given, 2}, layout::contiguous, random_values({rows, given, 2}));
          const auto got = fg::fft_fft(s, fg::view_as_complex(x.in()), n);
          const double most = std::numeric_limits<T>::epsilon() * 12;
          EXPECT_LE(error_of_norm(values_of(fg::clone(s, fg::view_as_real(got))),
                                  transformed(x.values(), given, n, 1)),
                    most);
          const auto real = fg::clone(s, x.in().select(-1, 1));
          std::vector<double> parts = x.values();
          for (std::size_t i = 0; i < parts.size(); i += 2)
            parts[i] = parts[i + 1], parts[i + 1] = 0;
          const auto of_real = fg::fft_fft(s, real, n);
          EXPECT_LE(error_of_norm(values_of(fg::clone(s, fg::view_as_real(of_real))),
                                  transformed(parts, given, n, 1)),
                    most);
        }
  });
}

TEST(ffts_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3}), scalar(shape{}), none({0}), memory({3, 2});
  const auto z = fg::view_as_complex(memory.view());
  EXPECT_RAISES(fg::fft_fft(s, scalar.in()), shape_mismatch, "fft_fft");
  EXPECT_RAISES(fg::fft_fft(s, none.in()), invalid_argument, "fft_fft");
  EXPECT_RAISES(fg::fft_fft(s, x.in(), 0), invalid_argument, "fft_fft");
  EXPECT_RAISES(fg::fft_fft(s, x.in(), std::nullopt, 1), out_of_range, "fft_fft");
  EXPECT_RAISES(fg::fft_fft(s, x.in(), z, 4), shape_mismatch, "fft_fft");
  EXPECT_RAISES(fg::fft_fft(s, z, z), overlap, "fft_fft");
  EXPECT_RAISES(spelled("other", std::type_identity<fg::fft_norm>()), invalid_argument, "fft_fft");
  EXPECT_TRUE(memory.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
