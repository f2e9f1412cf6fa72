// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Random matrix products of small integers through every public form. All sums and results are
// integers that the accumulator holds, so every element must be exact, whatever kernel, level,
// number of threads or cut of the sum was chosen.
//
//   FLAGGEMS_TEST_PRODUCTS   products of each device (default 5,000), shared among its tests; the
//                            preset `full` has 200,000
//   FLAGGEMS_TEST_SEED       another draw (default 1)
#include <flaggems/ops/gemm_epilogue.hpp>
#include <flaggems/ops/gemm_packed.hpp>
#include <flaggems/ops/gemm_prologue.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <support/gemm.hpp>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace flaggems_test {
namespace {

using fg::epilogue, fg::product;
using fg::i32, fg::i8, fg::u8;

i64 setting(const char* name, i64 otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

class threads_guard {
 public:
  explicit threads_guard(int threads) : before_(host::num_threads()) {
    host::set_num_threads(threads);
  }
  ~threads_guard() { host::set_num_threads(before_); }
  threads_guard(const threads_guard&) = delete;
  threads_guard& operator=(const threads_guard&) = delete;

 private:
  int before_;
};

enum class form { mm, bmm, addmm, linear, bias, epilogue, prologue, packed };
constexpr const char* form_names[] = {"mm",   "bmm",      "addmm",    "linear",
                                      "bias", "epilogue", "prologue", "packed"};

/// One product: its form, sizes and layouts.
struct product_case {
  form what = form::mm;
  i64 batch = 1, m = 1, n = 1, k = 1;
  layout a = layout::contiguous, b = layout::contiguous, out = layout::contiguous;
  int threads = 1;
  fg::isa_level level{};

  static product_case draw(std::mt19937_64& random, const std::vector<form>& forms, bool on_host) {
    const auto below = [&](i64 bound) {
      return static_cast<i64>(random() % static_cast<std::uint64_t>(bound));
    };
    product_case c;
    c.what = forms[index(below(static_cast<i64>(forms.size())))];
    const auto size = [&](i64 most) { return 1 + below(below(4) == 0 ? (most + 9) / 10 : most); };
    if (!on_host) {
      // Every twentieth is large; the emulator takes as long for them as for all others.
      c.m = size(12), c.n = 1 + below(60 / c.m), c.k = size(90);
      if (below(20) == 0) c.m = size(70), c.n = size(70);
      // Whole vectors, which go to tiles without a copy.
      if (c.m > 16 && below(2) == 0) c.n = (c.n + 7) / 8 * 8, c.k = (c.k + 7) / 8 * 8;
    } else if (const i64 kind = below(12); kind == 0) {  // few rows or columns, a short sum
      c.m = 1 + below(3), c.n = 1 + below(200000 / c.m), c.k = 1 + below(40);
    } else if (kind == 1) {  // a wide result of a short sum
      c.m = 1 + below(40), c.n = 1 + below(400000 / c.m), c.k = 1 + below(12);
    } else if (kind == 2) {  // several blocks of the sum
      c.m = size(70), c.n = size(70), c.k = 1 + below(5000);
    } else if (kind < 6) {
      c.m = size(40), c.n = size(400), c.k = size(400);
    } else {
      c.m = size(400), c.n = size(400), c.k = size(400);
      while (c.m * c.n * c.k > 8'000'000) c.k = (c.k + 1) / 2;
    }
    if (below(2) == 0) std::swap(c.m, c.n);
    if (c.what == form::bmm) {
      c.batch = 1 + below(4);
      if (c.m * c.n * c.k > 2'000'000) c.batch = 1;
    }
    c.a = input_layouts[below(6)];
    c.b = input_layouts[below(6)];
    c.out = output_layouts[below(5)];
    c.threads = static_cast<int>(1 + below(4));
    c.level = static_cast<fg::isa_level>(below(static_cast<int>(fg::detected_isa()) + 1));
    return c;
  }
  [[nodiscard]] std::string text() const {
    return std::string(form_names[static_cast<int>(what)]) + " " + std::to_string(batch) + " of " +
           std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + ", " +
           to_string(a) + " * " + to_string(b) + " to " + to_string(out) + ", " +
           std::to_string(threads) + " threads, " + std::string(fg::to_string(level));
  }
};

/// Small integers of T.
template <class T>
std::vector<double> small_integers(const shape& sizes, std::mt19937_64& random) {
  std::vector<double> values(index(sizes.numel()));
  const int low = std::is_same_v<T, u8> ? 0 : -3;
  for (double& x : values) x = low + static_cast<int>(random() % 7);
  return values;
}

/// [batch, m, n] sums of a[b, i, q] * w[b, j, q], both in row-major order.
std::vector<double> exact_sums(const product_case& c, const std::vector<double>& a,
                               const std::vector<double>& w) {
  std::vector<double> sums(index(c.batch * c.m * c.n));
  std::vector<int> columns(index(c.k * c.n)), row(index(c.n));  // w transposed
  for (i64 b = 0; b < c.batch; ++b) {
    for (i64 j = 0; j < c.n; ++j)
      for (i64 q = 0; q < c.k; ++q)
        columns[index(q * c.n + j)] = static_cast<int>(w[index((b * c.n + j) * c.k + q)]);
    for (i64 i = 0; i < c.m; ++i) {
      for (int& sum : row) sum = 0;
      for (i64 q = 0; q < c.k; ++q) {
        const int x = static_cast<int>(a[index((b * c.m + i) * c.k + q)]);
        if (x == 0) continue;
        const int* const from = columns.data() + q * c.n;
        for (i64 j = 0; j < c.n; ++j) row[index(j)] += x * from[j];
      }
      for (i64 j = 0; j < c.n; ++j) sums[index((b * c.m + i) * c.n + j)] = row[index(j)];
    }
  }
  return sums;
}

/// Runs one product and compares every element.
template <class D, class A, class B, class Out, bool Every>
void check_product(const product_case& c, std::mt19937_64& random) {
  const auto& s = test_stream<D>();
  const bool batched = c.what == form::bmm;
  const auto sizes = [&](i64 rows, i64 columns) {
    return batched ? shape{c.batch, rows, columns} : shape{rows, columns};
  };
  const shape a_sizes = sizes(c.m, c.k), w_sizes = sizes(c.n, c.k), sums = sizes(c.m, c.n);
  test_tensor<A, D> a(a_sizes, c.a, small_integers<A>(a_sizes, random));
  test_tensor<B, D> w(w_sizes, c.b, small_integers<B>(w_sizes, random));
  test_tensor<Out, D> out(sums, c.out, small_integers<Out>(sums, random));
  const std::vector<double> before = out.values();
  test_tensor<Out, D> bias({c.n}, layout::strided, small_integers<Out>({c.n}, random));
  test_tensor<Out, D> residual(sums, c.a, small_integers<Out>(sums, random));
  std::vector<double> want;
  const auto add = [&](double product_times, auto&& aux) {
    for (std::size_t e = 0; e < want.size(); ++e) want[e] = product_times * want[e] + aux(e);
  };
  const auto of_column = [&](std::size_t e) { return bias.values()[e % index(c.n)]; };
  if (c.what == form::prologue) {
    std::vector<double> twice = a.values();
    for (double& x : twice) x *= 2;
    want = exact_sums(c, twice, w.values());
  } else {
    want = exact_sums(c, a.values(), w.values());
  }

  if constexpr (!fg::kernels::is_byte<A> || std::is_same_v<Out, i32>) switch (c.what) {
      case form::mm: fg::mm(s, a.in(), w.in().t(), out.view()); break;
      case form::bmm: fg::bmm(s, a.in(), w.in().transpose(1, 2), out.view()); break;
      case form::linear: fg::linear(s, a.in(), w.in(), out.view()); break;
      case form::bias:
        fg::linear(s, a.in(), w.in(), bias.in(), out.view());
        add(1, of_column);
        break;
      case form::addmm:
        if constexpr (std::is_same_v<A, Out>)
          fg::addmm(s, out.view(), a.in(), w.in().t(), out.view(), {-1, 2});
        add(2, [&](std::size_t e) { return -before[e]; });
        break;
      default: break;
    }
  if constexpr (Every) switch (c.what) {
      case form::epilogue:
        fg::linear(s, a.in(), w.in(), out.view(),
                   epilogue(product * 2 + bias.in() + residual.in()));
        add(2, [&](std::size_t e) { return of_column(e) + residual.values()[e]; });
        break;
      case form::packed:
        fg::linear(s, a.in(), fg::pack_matrix(s, w.in()), out.view(),
                   epilogue(product + residual.in()));
        add(1, [&](std::size_t e) { return residual.values()[e]; });
        break;
      case form::prologue:
        if constexpr (!fg::kernels::is_byte<A>) fg::mm(s, a.in() * 2, w.in().t(), out.view());
        break;
      default: break;
    }
  const std::vector<double> got = out.read();
  i64 wrong = 0, first = -1;
  const auto rounded = [&](std::size_t e) {
    return fg::kernels::number_cast<f64>(
        fg::kernels::number_cast<Out>(fg::kernels::number_cast<f32>(want[e])));
  };
  for (std::size_t e = 0; e < got.size(); ++e)
    if (got[e] != rounded(e)) {
      if (first < 0) first = static_cast<i64>(e);
      ++wrong;
    }
  ASSERT_EQ(wrong, 0) << "of " << got.size() << " elements, the first at row " << first / c.n
                      << ", column " << first % c.n << ": " << got[index(first)] << ", expected "
                      << rounded(index(first));
  ASSERT_TRUE(out.gaps_untouched()) << "written aux the result";
}

/// `share` of the products of the host, twice that of a chip's, in some of the forms.
template <class D, class A, class B, class Out, bool Every = false>
void check_random_products(double share) {
  constexpr bool on_host = std::is_same_v<D, host>;
  const i64 seed = setting("FLAGGEMS_TEST_SEED", 1);
  const i64 all = setting("FLAGGEMS_TEST_PRODUCTS", 5000);
  // Chips have half of the tests.
  const i64 count = static_cast<i64>(static_cast<double>(on_host ? all : 2 * all) * share);
  std::vector<form> forms;
  if (!fg::kernels::is_byte<A> || std::is_same_v<Out, i32>)
    forms = {form::mm, form::bmm, form::linear, form::bias};
  if (std::is_same_v<A, Out>) forms.push_back(form::addmm);
  if (Every) forms.insert(forms.end(), {form::epilogue, form::packed});
  if (Every && !fg::kernels::is_byte<A>) forms.push_back(form::prologue);
  for (i64 n = 0; n < count && !::testing::Test::HasFatalFailure(); ++n) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed * 1'000'003 + n));
    const product_case c = product_case::draw(random, forms, on_host);
    SCOPED_TRACE("product " + std::to_string(n) + " of seed " + std::to_string(seed) + ": " +
                 c.text());
    const threads_guard threads(c.threads);
    const fg::isa_guard level(on_host ? c.level : fg::isa());
    check_product<D, A, B, Out, Every>(c, random);
  }
}

/// A chip with tiles of GPUs, one of each list.
struct chip_of_large_tiles : fg::simt32 {};
struct chip_of_small_tiles : fg::simt32 {};
/// One with so few units that all rounds of tiles but few are cut.
struct chip_of_few_units : fg::simt32 {};
}  // namespace
}  // namespace flaggems_test

template <>
inline constexpr bool flaggems::host_accessible<flaggems_test::chip_of_large_tiles> = false;
template <>
inline constexpr bool flaggems::host_accessible<flaggems_test::chip_of_small_tiles> = false;
template <>
inline constexpr bool flaggems::host_accessible<flaggems_test::chip_of_few_units> = false;
template <>
struct flaggems::tuning<flaggems::families::gemm, flaggems_test::chip_of_large_tiles>
    : flaggems::default_tuning<flaggems::families::gemm, flaggems_test::chip_of_large_tiles> {
  static constexpr gemm_tile tiles[] = {{128, 128, 64, 3, 2, 2, 2, 100}};
  static constexpr gemm_tile f64_tiles[] = {{128, 128, 64, 3, 2, 4, 1, 100}};
  static constexpr gemm_fma_numbers fma_tiles[] = {{2, 4, 4, 2, 100}};
};
template <>
struct flaggems::tuning<flaggems::families::gemm, flaggems_test::chip_of_small_tiles>
    : flaggems::default_tuning<flaggems::families::gemm, flaggems_test::chip_of_small_tiles> {
  static constexpr gemm_tile tiles[] = {{128, 64, 32, 4, 2, 2, 2, 100}};
  static constexpr gemm_tile f64_tiles[] = {{64, 128, 64, 3, 2, 4, 2, 100}};
  static constexpr gemm_fma_numbers fma_tiles[] = {{2, 2, 4, 3, 100}};
};
template <>
struct flaggems::tuning<flaggems::families::gemm, flaggems_test::chip_of_few_units>
    : flaggems::default_tuning<flaggems::families::gemm, flaggems_test::chip_of_few_units> {
  static constexpr i64 units = 3, terms_of_part = 16;
  static constexpr split_costs split_of_small = {0, 0, 0.5}, split_of_full = {0, 0, 0.5};
  static constexpr gemm_fma_numbers fma_tiles[] = {{1, 2, 4, 2, 100}};
};

namespace flaggems_test {
namespace {

template <class Device>
class gemm_exact_on : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(gemm_exact_on, devices);
TYPED_TEST(gemm_exact_on, f32) { check_random_products<TypeParam, f32, f32, f32, true>(0.25); }
TYPED_TEST(gemm_exact_on, bf16) { check_random_products<TypeParam, bf16, bf16, bf16, true>(0.2); }
#if !FLAGGEMS_TEST_REDUCED
TYPED_TEST(gemm_exact_on, f64) { check_random_products<TypeParam, f64, f64, f64>(0.05); }
#endif
TYPED_TEST(gemm_exact_on, i8) { check_random_products<TypeParam, i8, i8, i32>(0.05); }

#if FLAGGEMS_TEST_HOST
template <class Device>
class gemm_exact_by : public ::testing::Test {};
#if FLAGGEMS_TEST_REDUCED
using chips_of_tiles = ::testing::Types<chip_of_large_tiles>;
#else
using chips_of_tiles = ::testing::Types<chip_of_large_tiles, chip_of_small_tiles>;
#endif
TYPED_TEST_SUITE(gemm_exact_by, chips_of_tiles);
TYPED_TEST(gemm_exact_by, f32) { check_random_products<TypeParam, f32, f32, f32>(0.01); }
TYPED_TEST(gemm_exact_by, f64) { check_random_products<TypeParam, f64, f64, f64>(0.01); }
TYPED_TEST(gemm_exact_by, bf16) { check_random_products<TypeParam, bf16, bf16, bf16>(0.01); }
// Tiles at all borders, sums of more and of fewer steps than are in flight.
TYPED_TEST(gemm_exact_by, several_tiles) {
#if FLAGGEMS_TEST_REDUCED
  const std::vector<shape> sizes = {{130, 24, 40}};
#else
  const std::vector<shape> sizes = {{150, 264, 72}, {129, 40, 200}, {24, 136, 7}};
#endif
  for (const shape& at : sizes)
    for (const layout how : {layout::contiguous, layout::transposed}) {
      std::mt19937_64 random(9);
      product_case c;
      c.m = at[0], c.n = at[1], c.k = at[2];
      c.a = how;
      c.b = how == layout::contiguous ? layout::transposed : layout::contiguous;
      SCOPED_TRACE(c.text());
      check_product<TypeParam, f32, f32, f32, false>(c, random);
      check_product<TypeParam, f64, f64, f64, false>(c, random);
      check_product<TypeParam, bf16, bf16, bf16, false>(c, random);
      if (FLAGGEMS_TEST_REDUCED) continue;
      c.a = c.b;
      check_product<TypeParam, f32, f32, f32, false>(c, random);
      check_product<TypeParam, f64, f64, f64, false>(c, random);
    }
}

// Sums of the last round of tiles are cut into parts; with all of a result's ways out.
int launches_that_merge = 0;
TEST(gemm_exact, last_round_in_parts) {
  using D = chip_of_few_units;
  launches_that_merge = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    launches_that_merge += e.kernel.find("gemm_merge_tiles") != e.kernel.npos;
  });
  for (const form what : {form::mm, form::bias, form::addmm, form::bmm}) {
    std::mt19937_64 random(9);
    product_case c;
    c.what = what;
    c.m = 70, c.n = 200, c.k = 40;  // eight tiles, six of which run at once
    if (what == form::bmm) c.batch = 2, c.n = 70;
    SCOPED_TRACE(c.text());
    check_product<D, bf16, bf16, bf16, false>(c, random);
    check_product<D, f32, f32, f32, false>(c, random);
    if (FLAGGEMS_TEST_REDUCED) continue;
    check_product<D, f64, f64, f64, false>(c, random);
    c.k = 200;  // integers are cut from more terms on
    check_product<D, i32, i32, i32, false>(c, random);
  }
  fg::set_launch_hook(before);
  EXPECT_EQ(launches_that_merge, FLAGGEMS_TEST_REDUCED ? 8 : 16);
}
TEST(gemm_exact, schedules_of_tiles) {
  constexpr fg::split_costs costs = {1000, 0.01, 0.75};
  const auto of = [&](i64 tiles, i64 k) {
    return fg::detail::schedule_tiles({64, 2, 50, 8}, tiles, k, 10, 100, costs);
  };
  // All blocks busy, sums too short, a last round of few tiles, of more, of many, no other round.
  EXPECT_EQ(of(40, 4096).parts, 1);
  EXPECT_EQ(of(44, 128).parts, 1);
  EXPECT_EQ(of(44, 128).whole, 44);
  EXPECT_EQ(of(44, 4096).whole, 40);
  EXPECT_EQ(of(44, 4096).parts, 5);
  EXPECT_EQ(of(48, 4096).parts, 5);  // two rounds of short parts
  EXPECT_EQ(of(56, 4096).parts, 1);
  EXPECT_EQ(of(5, 4096).whole, 0);
  EXPECT_LT(of(44, 4096).time, 0.8 * of(60, 4096).time);
}

TEST(gemm_exact, bf16_to_f32) { check_random_products<host, bf16, bf16, f32, true>(0.2); }
TEST(gemm_exact, u8_i8) { check_random_products<host, u8, i8, i32>(0.05); }
TEST(gemm_exact, i8_to_f32) { check_random_products<host, i8, i8, f32, true>(0.05); }
#if !FLAGGEMS_TEST_REDUCED
TEST(gemm_exact, f16) { check_random_products<host, f16, f16, f16>(0.08); }
TEST(gemm_exact, i32) { check_random_products<host, i32, i32, i32>(0.04); }
#endif

// Short sums of a wide result: the sums that wait for the epilogue take more room than the panels.
TEST(gemm_exact, wide_results_of_short_sums) {
  at_every_level<host>([] {
    for (const shape& at : {shape{32, 60000, 8}, shape{17, 100000, 3}, shape{18, 384, 2}})
      for (const int threads : {1, 3}) {
        std::mt19937_64 random(9);
        product_case c;
        c.what = form::epilogue;
        c.m = at[0], c.n = at[1], c.k = at[2];
        const threads_guard guard(threads);
        SCOPED_TRACE(c.text());
        check_product<host, bf16, bf16, f32, true>(c, random);
        check_product<host, f32, f32, f32, true>(c, random);
      }
  });
}
// Few columns that lie across the sum: a copy of them must not lie where panels are packed.
TEST(gemm_exact, few_columns_across_the_sum) {
  at_every_level<host>([] {
    for (const shape& at : {shape{64, 8, 1024}, shape{329, 9, 128}, shape{2048, 8, 512}})
      for (const layout l : {layout::contiguous, layout::transposed})
        for (const int threads : {1, 2, 4}) {
          std::mt19937_64 random(9);
          product_case c;
          c.m = at[0], c.n = at[1], c.k = at[2];
          c.b = l;
          const threads_guard guard(threads);
          SCOPED_TRACE(c.text());
          check_product<host, bf16, bf16, f32, true>(c, random);
          check_product<host, bf16, bf16, bf16, true>(c, random);
          check_product<host, f32, f32, f32, true>(c, random);
        }
  });
}
#endif

}  // namespace
}  // namespace flaggems_test
