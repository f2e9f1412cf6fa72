// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's blocked matrix product: the error bound over random shapes and values, blocks and
// shares of any number, and of the levels whose instructions are modelled.
#include <support/gemm_blocks.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace flaggems_test {
namespace {

namespace fg = flaggems;
namespace fk = flaggems::kernels;
using fg::bf16, fg::f16, fg::host, fg::i64, fg::shape;

std::size_t index(i64 i) { return static_cast<std::size_t>(i); }

enum class values { normal, cancelling, subnormal, infinite, nan };

template <class T>
std::vector<T> draw(std::mt19937& random, i64 n, values kind) {
  std::normal_distribution<double> normal;
  std::vector<T> x(index(n));
  const double least = sizeof(T) == 8 ? 1e-310 : std::is_same_v<T, f16> ? 1e-6 : 1e-40;
  for (T& e : x) {
    double v = normal(random);
    if (kind == values::cancelling)
      v = std::ldexp(v, static_cast<int>(random() % (std::is_same_v<T, f16> ? 4 : 10)));
    if (kind == values::subnormal && random() % 2 == 0) v *= least;
    e = T(v);
  }
  if (kind == values::infinite || kind == values::nan)
    for (i64 e = 0; e < (n + 19) / 20; ++e)
      x[index(static_cast<i64>(random()) % n)] =
          T(kind == values::nan
                ? std::numeric_limits<double>::quiet_NaN()
                : std::numeric_limits<double>::infinity() * (random() % 2 == 0 ? 1.0 : -1.0));
  return x;
}

/// out[i, j] is within c(k) eps |a| |b| of the sum in double; what the bf16 levels flush is allowed
/// for. NaN and infinities agree.
template <class T, class Out>
void expect_product(const T* a, const T* b, const Out* out, i64 m, i64 n, i64 k, i64 a_row,
                    i64 a_along, i64 b_row, i64 b_along, bool flushes) {
  using limits = std::numeric_limits<std::conditional_t<sizeof(T) == 8, double, float>>;
  using real = std::conditional_t<sizeof(T) == 8, long double, double>;
  const real unit = limits::epsilon() / 2;
  const real rounding = std::is_same_v<Out, bf16>  ? real(0x1p-8)
                        : std::is_same_v<Out, f16> ? real(0x1p-11)
                                                   : real(0);
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j) {
      real sum = 0, size = 0, lost = 0;
      for (i64 q = 0; q < k; ++q) {
        const real x = static_cast<real>(static_cast<double>(a[i * a_row + q * a_along]));
        const real y = static_cast<real>(static_cast<double>(b[j * b_row + q * b_along]));
        sum += x * y;
        size += std::fabs(x * y);
        if (flushes && (std::fabs(x) < real(0x1p-126) || std::fabs(y) < real(0x1p-126)))
          lost += std::fabs(x * y);
      }
      const real got = static_cast<real>(static_cast<double>(out[i * n + j]));
      if (std::isnan(sum) || std::isinf(sum)) {
        ASSERT_TRUE(std::isnan(sum) ? std::isnan(got) : got == sum)
            << i << ", " << j << ": " << got << ", expected " << sum;
        continue;
      }
      const real smallest = std::is_same_v<Out, f16>    ? real(0x1p-24)
                            : std::is_same_v<Out, bf16> ? real(0x1p-133)
                                                        : static_cast<real>(limits::denorm_min());
      const real bound = static_cast<real>(k + 2) * unit * size + rounding * std::fabs(sum) +
                         static_cast<real>(k + 2) * (flushes ? real(0x1p-125) : smallest) + lost;
      ASSERT_LE(std::fabs(got - sum), bound * real(1.01) + smallest)
          << i << ", " << j << ": " << static_cast<double>(got) << ", expected "
          << static_cast<double>(sum) << " of " << shape{m, n, k}[0] << "x" << n << "x" << k;
    }
}

template <class T>
void check_random_shapes(int count, unsigned seed) {
  const fg::stream<host> s;
  std::mt19937 random(seed);
  constexpr values kinds[] = {values::normal,    values::normal,   values::cancelling,
                              values::subnormal, values::infinite, values::nan};
  for (int t = 0; t < count && !::testing::Test::HasFatalFailure(); ++t) {
    const auto size = [&](int most) {
      const unsigned kind = random() % 8;
      return static_cast<i64>(kind == 0 ? 1 + random() % 4
                                        : 1 + random() % static_cast<unsigned>(most));
    };
    i64 m = size(70), n = size(110), k = size(90);
    if (t % 50 == 0) k = 300 + static_cast<i64>(random() % 700);
    if (t % 50 == 1) m = 100 + static_cast<i64>(random() % 100);
    if (t % 10 == 1) {  // few rows or columns
      (random() % 2 == 0 ? m : n) = 1 + static_cast<i64>(random() % 18);
      k = 60 + static_cast<i64>(random() % 200);
    }
    if (t % 3 == 0) {  // without packing
      m = 1 + m % 64;
      n = 1 + n % 64;
      k = 1 + k % 64;
    }
    const bool ta = random() % 2 == 0, tb = random() % 2 == 0;
    const values kind = kinds[random() % 6];
    const auto a = draw<T>(random, m * k, kind), b = draw<T>(random, k * n, kind);
    const auto view = [](const std::vector<T>& x, i64 rows, i64 columns, bool transposed) {
      const fg::tensor_view<const T> v(x.data(),
                                       transposed ? shape{columns, rows} : shape{rows, columns});
      return transposed ? fg::tensor_view<const T>(v.t()) : v;
    };
    const auto level = static_cast<fg::isa_level>(
        random() % static_cast<unsigned>(static_cast<int>(fg::detected_isa()) + 1));
    SCOPED_TRACE("shape " + std::to_string(t) + " of seed " + std::to_string(seed) + ": " +
                 std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                 (ta ? " t" : " n") + (tb ? "t" : "n") + ", values " +
                 std::to_string(static_cast<int>(kind)) + ", level " +
                 std::string(fg::to_string(level)));
    const fg::isa_guard guard(level);
    std::vector<T> out(index(m * n));
    const auto run = [&](std::vector<T>& to) {
      fg::mm(s, view(a, m, k, ta), view(b, k, n, tb), fg::tensor_view<T>(to.data(), shape{m, n}));
    };
    run(out);
    expect_product(a.data(), b.data(), out.data(), m, n, k, ta ? 1 : k, ta ? m : 1, tb ? k : 1,
                   tb ? 1 : n, std::is_same_v<T, bf16> && level >= fg::isa_level::avx512_bf16);
    std::vector<T> again(out.size());
    run(again);
    ASSERT_EQ(std::memcmp(out.data(), again.data(), out.size() * sizeof(T)), 0) << "other bits";
  }
}

// Wide, deep, and of 16 bits: sums are kept apart while the second operand is read in place.
TEST(gemm_blocks, wide_result_of_bf16) {
  const fg::stream<host> s;
  std::mt19937 random(6);
  const i64 m = 12, n = 40000, k = 600;
  const auto a = draw<float>(random, m * k, values::normal);
  const auto b = draw<float>(random, k * n, values::normal);
  std::vector<bf16> out(index(m * n));
  fg::mm(s, fg::tensor_view<const float>(a.data(), shape{m, k}),
         fg::tensor_view<const float>(b.data(), shape{k, n}),
         fg::tensor_view<bf16>(out.data(), shape{m, n}));
  expect_product(a.data(), b.data() + n - 50, out.data() + n - 50, 1, 50, k, k, 1, 1, n, false);
  expect_product(a.data(), b.data(), out.data(), 1, 50, k, k, 1, 1, n, false);
}

/// Threads share what is packed: no bit may depend on their number, nor on who else multiplies.
template <class T>
void check_threads(const std::vector<shape>& sizes) {
  struct threads_guard {
    int before = host::num_threads();
    ~threads_guard() { host::set_num_threads(before); }
  } guard;
  std::mt19937 random(7);
  for (const shape& size : sizes)
    for (const bool tb : {false, true}) {
      const i64 batch = size[0], m = size[1], n = size[2], k = size[3];
      const auto a = draw<T>(random, batch * m * k, values::normal);
      const auto b = draw<T>(random, batch * k * n, values::normal);
      const fg::tensor_view<const T> x(a.data(), shape{batch, m, k});
      const fg::tensor_view<const T> y(b.data(), tb ? shape{batch, n, k} : shape{batch, k, n});
      const auto run = [&] {
        const fg::stream<host> s;
        std::vector<T> out(index(batch * m * n));
        const fg::tensor_view<T> to(out.data(), shape{batch, m, n});
        if (tb)
          fg::bmm(s, x, y.transpose(1, 2), to);
        else
          fg::bmm(s, x, y, to);
        return out;
      };
      host::set_num_threads(1);
      const auto one = run();
      const auto expect_same = [&](const std::vector<T>& out, const char* who, int threads) {
        EXPECT_EQ(std::memcmp(out.data(), one.data(), one.size() * sizeof(T)), 0)
            << batch << " of " << m << "x" << n << "x" << k << ", " << who << " " << threads;
      };
      for (const int threads : {2, 3, 5, 8}) {
        host::set_num_threads(threads);
        expect_same(run(), "threads", threads);
      }
      std::vector<std::vector<T>> outs(3);  // one of them has the pool, the others run alone
      std::vector<std::thread> callers;
      for (auto& out : outs) callers.emplace_back([&] { out = run(); });
      for (auto& caller : callers) caller.join();
      for (const auto& out : outs) expect_same(out, "callers", 3);
    }
}
TEST(gemm_blocks, threads_f32) {
  check_threads<float>({shape{1, 300, 400, 700}, shape{1, 17, 1000, 300}, shape{2, 150, 200, 600},
                        shape{3, 140, 60, 50}, shape{21, 33, 30, 40}});
}
TEST(gemm_blocks, threads_f64) { check_threads<double>({shape{1, 200, 100, 800}}); }
TEST(gemm_blocks, threads_bf16) {
  check_threads<bf16>({shape{1, 200, 150, 1100}, shape{3, 40, 300, 70}});
}

// Small products move tiles back at the ends: every number of rows and columns around the tiles',
// results between others that stay, a bias, and values that must not spread.
template <class T>
void check_small_sides() {
  const fg::stream<host> s;
  std::mt19937 random(8);
  for (int level = 0; level <= static_cast<int>(fg::detected_isa()); ++level) {
    const fg::isa_guard guard(static_cast<fg::isa_level>(level));
    for (const i64 k : {1, 7, 64})
      for (const i64 m : {1, 2, 3, 4, 5, 6, 7, 9, 13, 17, 64, 103})
        for (i64 n = 1; n <= 100; n += n < 20 ? 1 : 11)
          for (const int form : {0, 1, 2, 3}) {
            const bool ta = form % 2 != 0, tb = form / 2 != 0;
            const auto a = draw<T>(random, m * k, form == 1 ? values::nan : values::normal);
            const auto b = draw<T>(random, k * n, form == 2 ? values::infinite : values::normal);
            const fg::tensor_view<const T> x(a.data(), ta ? shape{k, m} : shape{m, k});
            const fg::tensor_view<const T> y(b.data(), tb ? shape{n, k} : shape{k, n});
            std::vector<T> wide(index((m + 1) * (n + 3)), T(7)), out(index(m * n));
            const auto to = fg::tensor_view<T>(wide.data(), shape{m + 1, n + 3})
                                .narrow(0, 0, m)
                                .narrow(1, 1, n);
            const auto multiply = [&](const auto& left, const auto& right) {
              fg::mm(s, left, right, to);
            };
            if (ta && tb)
              multiply(x.t(), y.t());
            else if (ta)
              multiply(x.t(), y);
            else if (tb)
              multiply(x, y.t());
            else
              multiply(x, y);
            for (i64 i = 0; i < m + 1; ++i)
              for (i64 j = 0; j < n + 3; ++j) {
                const T value = wide[index(i * (n + 3) + j)];
                if (i < m && j >= 1 && j <= n)
                  out[index(i * n + j - 1)] = value;
                else
                  ASSERT_EQ(value, T(7)) << "written beside the result";
              }
            SCOPED_TRACE("level " + std::to_string(level) + ", form " + std::to_string(form));
            expect_product(a.data(), b.data(), out.data(), m, n, k, ta ? 1 : k, ta ? m : 1,
                           tb ? k : 1, tb ? 1 : n, false);
            if (::testing::Test::HasFatalFailure()) return;
            // 2 * product + 0.5 * bias, and a result whose columns lie along the rows.
            std::vector<T> added(out.size()), turned(out.size());
            const std::vector<T> bias = draw<T>(random, n, values::normal);
            const auto add = [&](const auto& left, const auto& right) {
              fg::addmm(s, fg::tensor_view<const T>(bias.data(), shape{n}), left, right,
                        fg::tensor_view<T>(added.data(), shape{m, n}), {0.5, 2});
              fg::mm(s, left, right, fg::tensor_view<T>(turned.data(), shape{n, m}).t());
            };
            if (form == 0) {
              add(x, y);
              for (std::size_t e = 0; e < out.size(); ++e) {
                const T want = T(2) * out[e] + T(0.5) * bias[e % index(n)];
                ASSERT_NEAR(added[e], want, 1e-5 * (1 + std::fabs(want)));
                ASSERT_NEAR(turned[e % index(n) * index(m) + e / index(n)], out[e],
                            1e-4 * (1 + std::fabs(out[e])));
              }
            }
          }
  }
}
TEST(gemm_blocks, small_sides) {
  check_small_sides<float>();
  check_small_sides<double>();
}

TEST(gemm_blocks, random_shapes_f32) { check_random_shapes<float>(600, 1); }
TEST(gemm_blocks, random_shapes_f64) { check_random_shapes<double>(200, 2); }
TEST(gemm_blocks, random_shapes_bf16) { check_random_shapes<bf16>(200, 3); }
TEST(gemm_blocks, random_shapes_f16) { check_random_shapes<f16>(100, 4); }

/// Runs the kernel of level Isa as `workers` workers, with blocks far smaller than caches ask for.
template <class T, class Isa, class Out>
std::vector<Out> run_blocks(const std::vector<T>& a, const std::vector<T>& b, i64 m, i64 n, i64 k,
                            bool ta, bool tb, int workers, bool direct) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  fk::gemm_plan plan = small_blocks(workers, 16 * 1024);
  plan.s_bytes = std::is_same_v<Out, C> ? 0 : 32 * 1024;
  const fk::gemm_place anywhere{n + m, 1 << 30, 0, 0};
  if (direct && std::is_same_v<T, C>) {
    plan.a_place = anywhere;
    if (!tb || k == 1) plan.b_place = anywhere;
  }
  std::vector<Out> to(index(m * n));
  run_workers<Isa>(a.data(), b.data(), to.data(), C(1), m, n, k, ta, tb, plan);
  return to;
}

template <class T, class Isa, class Out = T>
void check_blocks(bool modelled) {
  std::mt19937 random(5);
  for (const shape& sizes : {shape{1, 1, 1}, shape{7, 50, 3}, shape{33, 49, 130},
                             shape{70, 101, 260}, shape{40, 35, 900}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const bool direct : {false, true}) {
          const values kind = tb ? values::normal : values::subnormal;
          const i64 m = sizes[0], n = sizes[1], k = sizes[2];
          SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                       (ta ? " t" : " n") + (tb ? "t" : "n") + (direct ? ", direct" : ""));
          const auto a = draw<T>(random, m * k, kind), b = draw<T>(random, k * n, kind);
          const auto one = run_blocks<T, Isa, Out>(a, b, m, n, k, ta, tb, 1, direct);
          expect_product(a.data(), b.data(), one.data(), m, n, k, ta ? 1 : k, ta ? m : 1,
                         tb ? k : 1, tb ? 1 : n, modelled);
          if (::testing::Test::HasFatalFailure()) return;
          for (const int workers : {2, 3, 7}) {
            if (modelled && workers != 3) continue;
            const auto many = run_blocks<T, Isa, Out>(a, b, m, n, k, ta, tb, workers, direct);
            ASSERT_EQ(std::memcmp(many.data(), one.data(), one.size() * sizeof(Out)), 0)
                << workers << " workers";
          }
        }
}

TEST(gemm_blocks, blocks_and_shares) {
  check_blocks<float, fk::isa_baseline>(false);
  check_blocks<double, fk::isa_baseline>(false);
  check_blocks<bf16, fk::isa_baseline>(false);
}
#if FLAGGEMS_MODEL_ISA
TEST(gemm_blocks, modelled_dot_products) {
  check_blocks<bf16, fk::isa_avx512_bf16>(true);
  check_blocks<bf16, fk::isa_avx512_bf16, float>(true);
}
TEST(gemm_blocks, modelled_tiles) {
  check_blocks<bf16, fk::isa_amx>(true);
  check_blocks<bf16, fk::isa_amx, float>(true);
}
#endif

}  // namespace
}  // namespace flaggems_test
