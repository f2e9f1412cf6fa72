// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/quantized_linear.hpp>
#include <support/ops.hpp>

#include <algorithm>
#include <cstring>
#include <limits>

namespace flaggems_test {
namespace {

using fg::u8;
namespace fk = fg::kernels;

std::size_t index(i64 i) { return static_cast<std::size_t>(i); }

/// Random blocks of a format, where a device can read them, and the numbers they stand for: the
/// formats' definitions once more, from ggml's.
template <class Format, class D>
struct quantized_weights {
  i64 rows, columns;
  std::vector<u8> bytes;
  std::vector<double> values;
  fg::tensor<u8, D> storage;

  quantized_weights(i64 n, i64 k) : rows(n), columns(k) {
    std::uniform_int_distribution<int> byte(0, 255);
    for (i64 b = 0; b < n * k / 32; ++b) {
      const double d = scale(), m = std::is_same_v<Format, fk::q4_1> ? scale() : 0;
      int q[32];
      const std::size_t first = bytes.size();
      bytes.resize(first + Format::bytes - (std::is_same_v<Format, fk::q8_0> ? 32 : 16));
      for (int e = 0; e < (std::is_same_v<Format, fk::q8_0> ? 32 : 16); ++e) {
        const int x = byte(generator());
        bytes.push_back(static_cast<u8>(x));
        q[e] = std::is_same_v<Format, fk::q8_0> ? (x < 128 ? x : x - 256) : x % 16;
        if (!std::is_same_v<Format, fk::q8_0>) q[e + 16] = x / 16;
      }
      put(first, d);
      if (std::is_same_v<Format, fk::q4_1>) put(first + 2, m);
      for (int e = 0; e < 32; ++e)
        values.push_back(d * (q[e] - (std::is_same_v<Format, fk::q4_0> ? 8 : 0)) + m);
    }
    // One byte off: blocks have no alignment.
    std::vector<u8> shifted(1, 0);
    shifted.insert(shifted.end(), bytes.begin(), bytes.end());
    storage = fg::from_values<u8>(test_stream<D>(), std::span<const u8>(shifted),
                                  {static_cast<i64>(shifted.size())});
  }
  fg::quantized_matrix<Format, D> view() const { return {storage.data() + 1, rows, columns}; }

 private:
  static double scale() {
    std::uniform_real_distribution<float> d(-0.2F, 0.2F);
    return static_cast<double>(static_cast<float>(f16(d(generator()))));
  }
  void put(std::size_t at, double x) {
    const auto bits = f16(static_cast<float>(x)).bits;
    bytes[at] = static_cast<u8>(bits & 255);
    bytes[at + 1] = static_cast<u8>(bits >> 8);
  }
};

/// Values rounded to f32.
std::vector<double> rounded(std::vector<double> values) {
  for (double& x : values) x = static_cast<double>(static_cast<float>(x));
  return values;
}

template <class Format, class D, class T = f32, class Out = f32>
void check(const shape& sizes, i64 n, layout in, layout to) {
  SCOPED_TRACE(std::to_string(Format::bytes) + " bytes a block " +
               std::string(fg::to_string(sizes)) + " " + to_string(in) + " to " + to_string(to));
  const i64 k = sizes[sizes.rank() - 1], m = sizes.numel() / k;
  const quantized_weights<Format, D> w(n, k);
  test_tensor<T, D> x(sizes, in, random_values(sizes));
  shape result = sizes;
  result[result.rank() - 1] = n;
  test_tensor<Out, D> out(result, to);
  fg::quantized_linear(test_stream<D>(), x.in(), w.view(), out.view());
  std::vector<double> want(index(m * n));
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j)
      for (i64 q = 0; q < k; ++q)
        want[index(i * n + j)] += x.values()[index(i * k + q)] * w.values[index(j * k + q)];
  tolerance tol = tolerance_of<Out>();
  tol.atol = 2e-6 * static_cast<double>(k);
  expect_close<Out>(out.read(), want, tol);
  EXPECT_TRUE(out.gaps_untouched());
}

// ---- activations of 8 bits

constexpr fg::quantized_linear_options in_bytes{fg::activation_format::q8};

/// x as the operator rounds it: its definition once more, in f32; and, in `either`, one step of the
/// rounding where the product lies so near to the middle of two integers that it depends on the
/// level (without a fused multiply-add it is rounded first) which of them it becomes.
std::vector<double> rounded_to_bytes(const std::vector<double>& x, std::vector<double>& either) {
  std::vector<double> y(x.size());
  either.assign(x.size(), 0);
  for (std::size_t b = 0; b < x.size(); b += 32) {
    float largest = 0;
    for (std::size_t e = b; e < b + 32; ++e)
      largest = std::fmax(largest, std::fabs(static_cast<float>(x[e])));
    if (largest == 0) continue;
    for (std::size_t e = b; e < b + 32; ++e) {
      // The nearest integer of the product before it is rounded.
      const double product = x[e] * static_cast<double>(127 / largest);
      const double step = static_cast<double>(largest / 127);
      y[e] = std::nearbyint(product) * step;
      // Half a unit in the last place of a number below 128.
      if (std::fabs(product - std::floor(product) - 0.5) <= 0x1p-18) either[e] = step;
    }
  }
  return y;
}

template <class Format, class D, class T = f32, class Out = f32>
void check_bytes(const shape& sizes, i64 n, layout in, layout to) {
  SCOPED_TRACE(std::to_string(Format::bytes) + " bytes a block " +
               std::string(fg::to_string(sizes)) + " " + to_string(in) + " to " + to_string(to) +
               " " + std::to_string(n));
  const i64 k = sizes[sizes.rank() - 1], m = sizes.numel() / k;
  const quantized_weights<Format, D> w(n, k);
  test_tensor<T, D> x(sizes, in, random_values(sizes));
  shape result = sizes;
  result[result.rank() - 1] = n;
  test_tensor<Out, D> out(result, to);
  fg::quantized_linear(test_stream<D>(), x.in(), w.view(), out.view(), in_bytes);
  std::vector<double> either;
  const std::vector<double> exact = x.values(), rounded = rounded_to_bytes(exact, either);
  const auto got = out.read();
  double moved = 0;
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j) {
      double want = 0, of_exact = 0, size = 0, middle = 0;
      for (i64 q = 0; q < k; ++q) {
        const double weight = w.values[index(j * k + q)];
        want += rounded[index(i * k + q)] * weight;
        of_exact += exact[index(i * k + q)] * weight;
        size += std::fabs(rounded[index(i * k + q)] * weight);
        middle += either[index(i * k + q)] * std::fabs(weight);
      }
      // Blocks are exact but for their scales; an offset is a sum of its own.
      const double bound = 1e-6 * size + 2e-6 * static_cast<double>(k) + middle +
                           (sizeof(Out) == 2 ? std::fabs(want) / 128 : 0);
      EXPECT_NEAR(got[index(i * n + j)], want, bound);
      moved = std::fmax(moved, std::fabs(want - of_exact));
    }
  // It is not the product of the exact activations. (Equal ones are integers times a scale.)
  if (in != layout::broadcast) {
    EXPECT_GT(moved, 1e-4);
  }
  EXPECT_TRUE(out.gaps_untouched());
}

template <class Device>
class quantized_test : public ::testing::Test {};
using devices = devices_and_own<host, chip32>;
TYPED_TEST_SUITE(quantized_test, devices);

template <class Format, class D>
void check_format() {
  for (const i64 k : {32, 96, 576})
    for (const i64 m : {1, 2, 9})
      for (const i64 n : {1, 4, 11})
        check<Format, D>({m, k}, n, layout::contiguous, layout::contiguous);
}
TYPED_TEST(quantized_test, formats) {
  at_every_level<TypeParam>([] {
    check_format<fk::q4_0, TypeParam>();
    check_format<fk::q4_1, TypeParam>();
    check_format<fk::q8_0, TypeParam>();
  });
}

TYPED_TEST(quantized_test, bytes) {
  using D = TypeParam;
  at_every_level<D>([] {
    for (const i64 k : {32, 96, 576})
      for (const i64 m : {1, 2, 3, 9}) {
        check_bytes<fk::q4_0, D>({m, k}, 11, layout::contiguous, layout::contiguous);
        check_bytes<fk::q4_1, D>({m, k}, 33, layout::contiguous, layout::contiguous);
        check_bytes<fk::q8_0, D>({m, k}, 4, layout::contiguous, layout::contiguous);
      }
    for (const layout in : input_layouts)
      for (const layout to : output_layouts) {
        check_bytes<fk::q4_1, D>({2, 3, 64}, 7, in, to);
        check_bytes<fk::q4_1, D>({64}, 7, in, to);
      }
  });
}

TYPED_TEST(quantized_test, layouts) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts) {
        check<fk::q4_1, TypeParam>({2, 3, 64}, 7, in, to);
        check<fk::q4_1, TypeParam>({64}, 7, in, to);
      }
  });
}

TYPED_TEST(quantized_test, rows) {
  using D = TypeParam;
  const quantized_weights<fk::q4_1, D> w(9, 96);
  const quantized_weights<fk::q4_0, D> w4(5, 64);
  const quantized_weights<fk::q8_0, D> w8(5, 64);
  at_every_level<D>([&] {
    // Exact: a product of 4 and 11 bits, and one rounding.
    test_tensor<f32, D> all({9, 96}, layout::strided), all4({5, 64}), all8({5, 64});
    fg::dequantize(test_stream<D>(), w.view(), all.view());
    expect_equal(all.read(), rounded(w.values));
    EXPECT_TRUE(all.gaps_untouched());
    fg::dequantize(test_stream<D>(), w4.view(), all4.view());
    expect_equal(all4.read(), rounded(w4.values));
    fg::dequantize(test_stream<D>(), w8.view(), all8.view());
    expect_equal(all8.read(), rounded(w8.values));

    const std::vector<double> at = {3, 0, 8, 8, 1, 2};
    test_tensor<i64, D> indices({2, 3}, layout::transposed, at);
    test_tensor<f32, D> out({2, 3, 96}, layout::negative);
    fg::quantized_embedding(test_stream<D>(), w.view(), indices.in(), out.view());
    std::vector<double> want;
    for (const double i : at)
      want.insert(want.end(), w.values.begin() + static_cast<i64>(i) * 96,
                  w.values.begin() + static_cast<i64>(i + 1) * 96);
    expect_equal(out.read(), rounded(want));
    EXPECT_TRUE(out.gaps_untouched());

    // In new tensors.
    const auto made = fg::dequantize(test_stream<D>(), w.view());
    static_assert(std::is_same_v<decltype(made), const fg::tensor<f32, D>>);
    EXPECT_EQ(made.shape_of(), (shape{9, 96}));
    expect_equal(values_of(made), rounded(w.values));
    const auto rows = fg::quantized_embedding(test_stream<D>(), w.view(), indices.in());
    EXPECT_EQ(rows.shape_of(), (shape{2, 3, 96}));
    expect_equal(values_of(rows), rounded(want));
  });
}

#if FLAGGEMS_TEST_HOST  // about the host
// Ends of the panels, the tiles and the pieces of the summed dimension; several threads.
TEST(quantized_linear, sizes_of_the_host) {
  at_every_level<host>([] {
    for (const i64 m : {3, 4, 5, 6, 7, 13})
      for (const i64 n : {1, 2, 3, 5, 23})
        check<fk::q4_1, host>({m, 64}, n, layout::contiguous, layout::contiguous);
    check<fk::q4_0, host>({5, 1600}, 29, layout::contiguous, layout::contiguous);
    check<fk::q8_0, host>({1, 1600}, 129, layout::contiguous, layout::contiguous);
    check<fk::q8_0, host>({6, 32}, 4500, layout::contiguous, layout::transposed);
    check<fk::q4_1, host>({2, 3, 1568}, 31, layout::strided, layout::strided);
    check<fk::q4_1, host>({3, 1, 96}, 300, layout::transposed, layout::negative);
    check<fk::q4_0, host>({29, 416}, 50, layout::contiguous, layout::contiguous);
    check<fk::q8_0, host>({2, 24, 96}, 131, layout::strided, layout::transposed);
    check<fk::q4_1, host, bf16, bf16>({33, 64}, 5, layout::contiguous, layout::contiguous);
  });
}

// Ends of the groups, of the panels and of their pieces; several threads.
TEST(quantized_linear, sizes_in_bytes) {
  at_every_level<host>([] {
    for (const i64 m : {4, 5, 6, 7, 13})
      for (const i64 n : {1, 15, 16, 17, 40})
        check_bytes<fk::q4_1, host>({m, 64}, n, layout::contiguous, layout::contiguous);
    check_bytes<fk::q4_0, host>({1, 1600}, 331, layout::contiguous, layout::contiguous);
    check_bytes<fk::q8_0, host>({1, 1600}, 129, layout::contiguous, layout::contiguous);
    check_bytes<fk::q4_0, host>({5, 1600}, 29, layout::contiguous, layout::contiguous);
    check_bytes<fk::q8_0, host>({6, 1600}, 45, layout::contiguous, layout::transposed);
    check_bytes<fk::q4_1, host>({2, 3, 1568}, 31, layout::strided, layout::strided);
    check_bytes<fk::q4_1, host>({3, 1, 96}, 300, layout::transposed, layout::negative);
    check_bytes<fk::q4_0, host>({131, 96}, 35, layout::contiguous, layout::contiguous);
    check_bytes<fk::q8_0, host>({37, 640}, 70, layout::contiguous, layout::contiguous);
    check_bytes<fk::q4_1, host>({2, 22, 640}, 33, layout::strided, layout::strided);
    check_bytes<fk::q4_1, host>({520, 64}, 34, layout::contiguous, layout::contiguous);
    check_bytes<fk::q4_1, host, bf16, bf16>({3, 64}, 5, layout::contiguous, layout::contiguous);
    check_bytes<fk::q8_0, host, fg::f16, f32>({1, 96}, 5, layout::contiguous, layout::contiguous);
  });
}

/// Blocks whose integers are all as large as they can be, of one sign or of both.
template <class Format>
void check_largest(i64 m) {
  constexpr bool bytes = std::is_same_v<Format, fk::q8_0>;
  for (const int low : {bytes ? 0x80 : 0x00, bytes ? 0x7f : 0xff})
    for (const bool alternate : {false, true}) {
      const i64 n = 17, k = 96;
      std::vector<u8> data(index(n * k / 32) * Format::bytes, static_cast<u8>(low));
      for (std::size_t b = 0; b < data.size(); b += Format::bytes) {
        data[b] = 0, data[b + 1] = 0x3c;                                            // 1
        if (std::is_same_v<Format, fk::q4_1>) data[b + 2] = 0, data[b + 3] = 0xbc;  // -1
      }
      std::vector<double> x(index(m * k));
      for (std::size_t e = 0; e < x.size(); ++e) x[e] = alternate && e % 2 == 1 ? -127 : 127;
      const double value = bytes ? (low == 0x80 ? -128 : 127)
                                 : low % 16 - (std::is_same_v<Format, fk::q4_0> ? 8 : 1);
      test_tensor<f32> in({m, k}, layout::contiguous, x), out({m, n});
      fg::quantized_linear(test_stream<host>(), in.in(),
                           fg::quantized_matrix<Format>(data.data(), n, k), out.view(), in_bytes);
      expect_equal(out.read(), std::vector<double>(index(m * n), alternate ? 0 : value * 127 * 96));
    }
}
TEST(quantized_linear, largest_integers) {
  at_every_level<host>([] {
    for (const i64 m : {1, 7}) {
      check_largest<fk::q4_0>(m);
      check_largest<fk::q4_1>(m);
      check_largest<fk::q8_0>(m);
    }
  });
}
#endif

TYPED_TEST(quantized_test, special_values_in_bytes) {
  using D = TypeParam;
  const quantized_weights<fk::q4_1, D> w(8, 64);
  at_every_level<D>([&] {
    for (const i64 m : {1, 5}) {
      // Zeros; what is too small for a scale; a NaN or an infinity, which spoils its row alone.
      for (const double tiny : {0.0, 1e-38, 1e-45}) {
        test_tensor<f32, D> x({m, 64}, layout::contiguous,
                              std::vector<double>(index(m * 64), tiny)),
            out({m, 8});
        fg::quantized_linear(test_stream<D>(), x.in(), w.view(), out.view(), in_bytes);
        expect_equal(out.read(), std::vector<double>(index(m * 8), 0.0));
      }
      for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        auto values = random_values({m, 64});
        values[index((m - 1) * 64 + 40)] = bad;
        test_tensor<f32, D> x({m, 64}, layout::contiguous, values), out({m, 8});
        fg::quantized_linear(test_stream<D>(), x.in(), w.view(), out.view(), in_bytes);
        const auto got = out.read();
        for (i64 e = 0; e < m * 8; ++e) EXPECT_EQ(std::isnan(got[index(e)]), e >= (m - 1) * 8) << e;
      }
      // Of 3e38 and of 1e-36.
      for (const double scale : {3e38, 1e-36}) {
        auto values = random_values({m, 64});
        for (double& x : values) x = static_cast<double>(static_cast<float>(x * scale / 2));
        test_tensor<f32, D> x({m, 64}, layout::contiguous, values), out({m, 8});
        fg::quantized_linear(test_stream<D>(), x.in(), w.view(), out.view(), in_bytes);
        for (const double y : out.read()) EXPECT_TRUE(std::isfinite(y) || scale > 1) << y;
      }
    }
  });
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

#if FLAGGEMS_ARCH_X86
/// What tiles (AMX) multiply, packed as for them, and their instruction (tdpbssd) as a loop:
/// results are those of the operator.
template <class Format>
void check_tiles() {
  using panel = fk::byte_panel_amx<Format>;
  using rows = typename panel::activations;
  const i64 m = 21, n = 37, k = 96, blocks = k / 32;
  const quantized_weights<Format, host> w(n, k);
  test_tensor<f32> x({m, k}, layout::contiguous, random_values({m, k})), out({m, n});
  fg::quantized_linear(test_stream<host>(), x.in(), w.view(), out.view(), in_bytes);
  const auto want = out.read();
  std::vector<u8> integers(index(rows::bytes(m, k)));
  const auto number = [](const u8* p) {
    float f;
    std::memcpy(&f, p, sizeof f);
    return static_cast<double>(f);
  };
  for (i64 i = 0; i < m; ++i)
    fk::byte_rounding<Format>::row(x.in().data() + i * k, blocks, rows::row_block,
                                   integers.data() + rows::integers(i, k),
                                   reinterpret_cast<f32*>(integers.data() + rows::scales(i, k)));
  std::vector<u8> packed(index(blocks * panel::block_bytes));
  for (i64 j = 0; j < n; j += panel::columns) {
    panel::put(w.view().data(), w.view().row_bytes(), j, n, 0, blocks, packed.data());
    for (i64 i = 0; i < m; ++i)
      for (i64 c = 0; c < std::min(panel::columns + i64{0}, n - j); ++c) {
        double sum = 0, size = 0;  // size: |A| |B|, before anything cancels
        for (i64 q = 0; q < blocks; ++q) {
          const u8* const block = packed.data() + q * panel::block_bytes;
          const u8* const row = integers.data() + rows::integers(i, k) + q * 32;
          const u8* const factor = integers.data() + rows::scales(i, k) + q * rows::factors * 4;
          const u8* const scale = block + panel::columns * 32 + c * 4;
          int dot = 0, magnitude = 0;
          for (int e = 0; e < 32; ++e) {
            const int product =
                static_cast<fg::i8>(row[e]) *
                static_cast<fg::i8>(block[(e / 4 * panel::columns + c) * 4 + e % 4]);
            dot += product;
            magnitude += std::abs(product);
          }
          const double factors = number(scale) * number(factor);
          const double addend = panel::adds ? number(scale + panel::columns * 4) *
                                                  number(factor + rows::row_block * 4)
                                            : 0;
          sum += dot * factors + addend;
          size += magnitude * std::fabs(factors) + std::fabs(addend);
        }
        // Two roundings a term, one an addition, and one of the zero points' sum.
        const double bound = static_cast<double>(4 * blocks) * 0x1p-24 * size;
        EXPECT_NEAR(want[index(i * n + j + c)], sum, bound) << i << ", " << j + c;
      }
  }
}
TEST(quantized_linear, packed_for_tiles) {
  if (fg::isa() < fg::isa_level::avx2) GTEST_SKIP() << "packing takes AVX2";
  check_tiles<fk::q4_0>();
  check_tiles<fk::q4_1>();
  check_tiles<fk::q8_0>();
}
#endif

// The same bits for any number of threads.
TEST(quantized_linear, bits_in_bytes) {
  const quantized_weights<fk::q4_1, host> w(301, 608);
  const int before = host::num_threads();
  for (const i64 m : {1, 3, 140}) {
    test_tensor<f32> x({m, 608}, layout::contiguous, random_values({m, 608}));
    std::vector<double> first;
    for (const int threads : {1, 2, 3}) {
      host::set_num_threads(threads);
      test_tensor<f32> out({m, 301});
      fg::quantized_linear(test_stream<host>(), x.in(), w.view(), out.view(), in_bytes);
      if (first.empty()) first = out.read();
      expect_equal(out.read(), first);
    }
  }
  host::set_num_threads(before);
}

TEST(quantized_linear, extreme_values) {
  const quantized_weights<fk::q4_1, host> w(8, 64);
  at_every_level<host>([&] {
    // Products of tiny and of huge activations neither vanish nor overflow.
    for (const double scale : {1e-36, 1e36}) {
      std::vector<double> values = random_values({1, 64});
      for (double& x : values) x = static_cast<double>(static_cast<float>(x * scale));
      test_tensor<f32> x({1, 64}, layout::contiguous, values), out({1, 8});
      fg::quantized_linear(test_stream<host>(), x.in(), w.view(), out.view());
      const auto got = out.read();
      for (i64 j = 0; j < 8; ++j) {
        double want = 0, size = 0;
        for (i64 q = 0; q < 64; ++q) {
          want += values[index(q)] * w.values[index(j * 64 + q)];
          size += std::fabs(values[index(q)]) * 3;
        }
        EXPECT_NEAR(got[index(j)], want, 1e-6 * size);
      }
    }
    // A NaN stays one, and only in its row.
    std::vector<double> values = random_values({2, 64});
    values[70] = std::nan("");
    test_tensor<f32> x({2, 64}, layout::contiguous, values), out({2, 8});
    fg::quantized_linear(test_stream<host>(), x.in(), w.view(), out.view());
    const auto both = out.read();
    for (std::size_t e = 0; e < 16; ++e) EXPECT_EQ(std::isnan(both[e]), e >= 8);
    fg::quantized_linear(test_stream<host>(), x.in().select(0, 1), w.view(),
                         out.view().select(0, 0));
    for (const double y : out.read()) EXPECT_TRUE(std::isnan(y));
  });
}

TEST(quantized_linear, other_types) {
  at_every_level<host>([] {
    check<fk::q4_1, host, bf16, bf16>({3, 64}, 5, layout::contiguous, layout::contiguous);
    check<fk::q8_0, host, fg::f16, f32>({1, 96}, 5, layout::contiguous, layout::contiguous);
  });
}

TEST(quantized_linear, output_around_the_weights) {
  using matrix = fg::quantized_matrix<fk::q4_1>;
  const quantized_weights<fk::q4_1, host> weights(2, 64);
  // Rows of 64 f32, and after each a part of the weights.
  alignas(64) fg::u8 memory[2 * 512] = {};
  const i64 bytes = weights.view().bytes();
  ASSERT_LE(bytes, 256);
  std::copy_n(weights.view().data(), bytes, memory + 256);
  const fg::tensor_view<f32> out(static_cast<f32*>(static_cast<void*>(memory)), {2, 64}, {128, 1});
  fg::dequantize(test_stream<host>(), matrix(memory + 256, 2, 64), out);
  test_tensor<f32> want({2, 64});
  fg::dequantize(test_stream<host>(), weights.view(), want.view());
  for (i64 i = 0; i < 2; ++i)
    for (i64 k = 0; k < 64; ++k) EXPECT_EQ(out(i, k), want.view()(i, k));
  EXPECT_EQ(code_of([&] { fg::dequantize(test_stream<host>(), matrix(memory + 192, 2, 64), out); }),
            fg::errc::overlap);
}

TEST(quantized_linear, bad_input) {
  using matrix = fg::quantized_matrix<fk::q4_1>;
  const auto& s = test_stream<host>();
  const quantized_weights<fk::q4_1, host> weights(4, 64);
  const matrix w = weights.view();
  test_tensor<f32> x({2, 64}), narrow({2, 32}), out({2, 4}), row({64}), rows({2, 64});
  const auto mismatch = fg::errc::shape_mismatch, range = fg::errc::out_of_range;
  EXPECT_EQ(code_of([&] { matrix(w.data(), 4, 63); }), fg::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { matrix(w.data(), -1, 64); }), fg::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { matrix(w.data(), i64{1} << 60, 64); }), fg::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)w.narrow(3, 2); }), range);
  EXPECT_EQ(code_of([&] { fg::quantized_linear(s, narrow.in(), w, out.view()); }), mismatch);
  EXPECT_EQ(code_of([&] { fg::quantized_linear(s, x.in(), w, x.view()); }), mismatch);
  EXPECT_EQ(code_of([&] { fg::quantized_linear(s, x.in(), w, x.view().narrow(1, 0, 4)); }),
            fg::errc::overlap);
  EXPECT_EQ(code_of([&] { fg::dequantize(s, w, x.view()); }), mismatch);
  try {
    test_tensor<i64> at({2}, layout::contiguous, {0, 0});
    fg::quantized_embedding(s, matrix(w.data(), 0, 64), at.in(), rows.view());
    ADD_FAILURE();
  } catch (const fg::error& e) {
    EXPECT_EQ(e.code(), range);
    EXPECT_NE(std::string(e.what()).find("indices in [0, 0), got 0"), std::string::npos);
  }
  for (const double bad : {-1.0, 4.0}) {
    test_tensor<i64> at({2}, layout::contiguous, {0, bad});
    EXPECT_EQ(code_of([&] { fg::quantized_embedding(s, w, at.in(), rows.view()); }), range);
    EXPECT_RAISES((void)fg::quantized_embedding<bf16>(s, w, at.in()), out_of_range,
                  "quantized_embedding");
  }
  test_tensor<i64> three({3});
  EXPECT_EQ(code_of([&] { fg::quantized_embedding(s, w, three.in(), rows.view()); }), mismatch);
  EXPECT_TRUE(out.untouched() && x.untouched() && rows.untouched());
}

TEST(quantized_linear, empty) {
  const auto& s = test_stream<host>();
  const fg::quantized_matrix<fk::q4_1> none(nullptr, 3, 0), nothing(nullptr, 0, 64);
  using matrix = fg::quantized_matrix<fk::q8_0>;
  const unsigned char block[1] = {};
  constexpr i64 huge = std::numeric_limits<i64>::max() / 32 * 32;
  EXPECT_RAISES(matrix(nullptr, 3, 32), invalid_argument, "quantized_matrix");
  EXPECT_RAISES(matrix(block, 1, huge), invalid_argument, "quantized_matrix");
  EXPECT_RAISES(matrix(block, huge, 32), invalid_argument, "quantized_matrix");
  test_tensor<f32> x({2, 0}), out({2, 3}), y({2, 64}), zero({2, 0});
  fg::quantized_linear(s, x.in(), none, out.view());
  expect_equal(out.read(), std::vector<double>(6, 0.0));
  fg::quantized_linear(s, y.in(), nothing, zero.view());
}

#endif

}  // namespace
}  // namespace flaggems_test
