// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of 8-bit integers, which are exact modulo 2^32: the operators at every level, and the
// blocked product of the levels whose instructions are modelled.
#include <support/gemm.hpp>
#include <support/gemm_blocks.hpp>

#include <cstring>
#include <random>
#include <vector>

namespace flaggems_test {
namespace {

namespace fk = flaggems::kernels;
using fg::i32, fg::i8, fg::u32, fg::u8;

/// Any bytes, a quarter of them of the greatest magnitude; or nothing but that.
enum class bytes { any, extreme };
template <class T>
std::vector<T> draw(std::mt19937& random, i64 n, bytes kind) {
  std::vector<T> x(index(n));
  for (T& e : x)
    e = static_cast<T>(kind == bytes::extreme || random() % 4 == 0
                           ? (std::is_same_v<T, i8> ? 0x80u : 0xffu)
                           : random());
  return x;
}

/// The product in i64, modulo 2^32.
template <class A, class B>
std::vector<i32> product(const std::vector<A>& a, const std::vector<B>& b, i64 m, i64 n, i64 k,
                         bool ta, bool tb) {
  std::vector<i32> out(index(m * n));
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j) {
      i64 sum = 0;
      for (i64 q = 0; q < k; ++q)
        sum +=
            i64{a[index(ta ? q * m + i : i * k + q)]} * i64{b[index(tb ? j * k + q : q * n + j)]};
      out[index(i * n + j)] = static_cast<i32>(static_cast<u32>(static_cast<fg::u64>(sum)));
    }
  return out;
}

template <class A, class B>
void check_mm(std::mt19937& random, i64 m, i64 n, i64 k, bytes kind) {
  const fg::stream<host> s;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      SCOPED_TRACE(fg::to_string(shape{m, n, k}) + (ta ? " t" : " n") + (tb ? "t" : "n"));
      const auto a = draw<A>(random, m * k, kind);
      const auto b = draw<B>(random, k * n, kind);
      const auto view = [](const auto& x, i64 rows, i64 columns, bool transposed) {
        using T = typename std::remove_cvref_t<decltype(x)>::value_type;
        const fg::tensor_view<const T> v(x.data(),
                                         transposed ? shape{columns, rows} : shape{rows, columns});
        return transposed ? fg::tensor_view<const T>(v.t()) : v;
      };
      std::vector<i32> out(index(m * n), 7), across(index(m * n), 7);
      const auto x = view(a, m, k, ta);
      const auto y = view(b, k, n, tb);
      fg::mm(s, x, y, fg::tensor_view<i32>(out.data(), shape{m, n}));
      const auto want = product(a, b, m, n, k, ta, tb);
      ASSERT_EQ(out, want);
      fg::mm(s, x, y, fg::tensor_view<i32>(across.data(), shape{n, m}).t());
      for (i64 i = 0; i < m; ++i)
        for (i64 j = 0; j < n; ++j)
          ASSERT_EQ(across[index(j * m + i)], want[index(i * n + j)]) << i << ", " << j;
    }
}

#if FLAGGEMS_TEST_HOST  // the host's levels
template <class Types>
class gemm_int8 : public ::testing::Test {};
template <class A, class B>
struct types_of {
  using a = A;
  using b = B;
};
using all_types =
    ::testing::Types<types_of<i8, i8>, types_of<u8, i8>, types_of<i8, u8>, types_of<u8, u8>>;
TYPED_TEST_SUITE(gemm_int8, all_types);

TYPED_TEST(gemm_int8, mm_at_every_level) {
  at_every_level<host>([] {
    std::mt19937 random(1);
    for (const bytes kind : {bytes::any, bytes::extreme})
      for (const shape& at :
           {shape{1, 1, 1}, shape{1, 70, 100}, shape{3, 5, 200}, shape{20, 130, 1},
            shape{33, 49, 3}, shape{17, 65, 64}, shape{5, 64, 192}, shape{40, 17, 65},
            shape{70, 101, 1100}, shape{19, 33, 2500}})
        check_mm<typename TypeParam::a, typename TypeParam::b>(random, at[0], at[1], at[2], kind);
  });
}

template <class A, class B, class Isa>
std::vector<i32> run_blocks(const std::vector<A>& a, const std::vector<B>& b, i64 m, i64 n, i64 k,
                            bool ta, bool tb, int workers) {
  std::vector<i32> to(index(m * n));
  run_workers<Isa>(a.data(), b.data(), reinterpret_cast<u32*>(to.data()), 1u, m, n, k, ta, tb,
                   small_blocks(workers, 8 * 1024));
  return to;
}

template <class A, class B, class Isa>
void check_blocks() {
  std::mt19937 random(2);
  for (const bytes kind : {bytes::any, bytes::extreme})
    for (const shape& at : {shape{1, 1, 1}, shape{7, 50, 3}, shape{33, 49, 130},
                            shape{70, 101, 260}, shape{40, 35, 2500}})
      for (const bool ta : {false, true})
        for (const bool tb : {false, true}) {
          const i64 m = at[0], n = at[1], k = at[2];
          SCOPED_TRACE(fg::to_string(at) + (ta ? " t" : " n") + (tb ? "t" : "n"));
          const auto a = draw<A>(random, m * k, kind);
          const auto b = draw<B>(random, k * n, kind);
          const auto want = product(a, b, m, n, k, ta, tb);
          for (const int workers : {1, 3})
            ASSERT_EQ((run_blocks<A, B, Isa>(a, b, m, n, k, ta, tb, workers)), want)
                << workers << " workers";
        }
}

TEST(gemm_int8_blocks, baseline) {
  check_blocks<i8, i8, fk::isa_baseline>();
  check_blocks<u8, i8, fk::isa_baseline>();
}
#if FLAGGEMS_MODEL_ISA
TEST(gemm_int8_blocks, modelled_dot_products) {
  check_blocks<i8, i8, fk::isa_avx512_bf16>();
  check_blocks<u8, i8, fk::isa_avx512_bf16>();
}
TEST(gemm_int8_blocks, modelled_tiles) {
  check_blocks<i8, i8, fk::isa_amx>();
  check_blocks<u8, i8, fk::isa_amx>();
  check_blocks<i8, u8, fk::isa_amx>();
  check_blocks<u8, u8, fk::isa_amx>();
}
#endif
#endif

// ---- the operators on every device
template <class Device>
class gemm_int8_devices : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(gemm_int8_devices, devices);

std::vector<double> product_of(const std::vector<double>& a, const std::vector<double>& b, i64 m,
                               i64 n, i64 k, bool tb) {
  std::vector<double> out(index(m * n));
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j)
      for (i64 q = 0; q < k; ++q)
        out[index(i * n + j)] += a[index(i * k + q)] * b[index(tb ? j * k + q : q * n + j)];
  return out;
}

TYPED_TEST(gemm_int8_devices, layouts) {
  using D = TypeParam;
  for (const shape& at : {shape{5, 19, 37}, shape{21, 18, 70}}) {
    const i64 m = at[0], n = at[1], k = at[2];
    const auto x = random_integers({m, k}, -128, 127), y = random_integers({k, n}, -128, 127);
    for (const layout la : {layout::contiguous, layout::transposed, layout::negative})
      for (const layout lb : input_layouts)
        for (const layout lo : output_layouts) {
          test_tensor<i8, D> a({m, k}, la, x), b({k, n}, lb, y);
          test_tensor<i32, D> out({m, n}, lo);
          fg::mm(test_stream<D>(), a.in(), b.in(), out.view());
          expect_equal(out.read(), product_of(a.values(), b.values(), m, n, k, false));
          EXPECT_TRUE(out.gaps_untouched());
        }
  }
}

TYPED_TEST(gemm_int8_devices, linear_bmm_and_addmm) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<u8, D> x({2, 3, 40}, layout::contiguous, random_integers({2, 3, 40}, 0, 255));
  test_tensor<i8, D> w({21, 40}, layout::contiguous, random_integers({21, 40}, -128, 127));
  test_tensor<i32, D> bias({21}, layout::contiguous, random_integers({21}, -1000000, 1000000));
  test_tensor<i32, D> out({2, 3, 21});
  auto want = product_of(x.values(), w.values(), 6, 21, 40, true);
  fg::linear(s, x.in(), w.in(), out.view());
  expect_equal(out.read(), want);
  for (std::size_t e = 0; e < want.size(); ++e) want[e] += bias.values()[e % 21];
  fg::linear(s, x.in(), w.in(), bias.in(), out.view());
  expect_equal(out.read(), want);

  test_tensor<i8, D> a({2, 20, 33}, layout::contiguous, random_integers({2, 20, 33}, -128, 127));
  test_tensor<i8, D> b({1, 33, 18}, layout::contiguous, random_integers({1, 33, 18}, -128, 127));
  test_tensor<i32, D> products({2, 20, 18});
  fg::bmm(s, a.in(), b.in(), products.view());
  want = product_of(a.values(), b.values(), 40, 18, 33, false);
  expect_equal(products.read(), want);

  const std::vector<double> before = random_integers({20, 18}, -1000, 1000);
  test_tensor<i32, D> sums({20, 18}, layout::contiguous, before);
  fg::addmm(s, sums.in(), a.in().select(0, 0), b.in().select(0, 0), sums.view(),
            {.beta = 2, .alpha = -3});
  for (std::size_t e = 0; e < before.size(); ++e) want[e] = 2 * before[e] - 3 * want[e];
  want.resize(before.size());
  expect_equal(sums.read(), want);
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host
// A sum beyond 2^31 comes round.
TEST(gemm_int8_sums, modulo_2_to_32) {
  const i64 k = 140000;
  const fg::stream<host> s;
  for (const i64 m : {1, 18}) {
    const std::vector<i8> a(index(m * k), i8{-128});
    std::vector<i32> out(index(m * m));
    const fg::tensor_view<const i8> x(a.data(), shape{m, k});
    fg::mm(s, x, x.t(), fg::tensor_view<i32>(out.data(), shape{m, m}));
    for (const i32 e : out) ASSERT_EQ(e, static_cast<i32>(static_cast<u32>(k * 16384)));
  }
}

TEST(gemm_int8_sums, same_bits_with_any_number_of_threads) {
  std::mt19937 random(3);
  for (const int threads : {1, 2, 5}) {
    host::set_num_threads(threads);
    check_mm<i8, i8>(random, 150, 130, 300, bytes::any);
  }
}
#endif

}  // namespace
}  // namespace flaggems_test
