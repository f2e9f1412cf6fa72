// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of an expression: what its values, rounded to its dtype, would give.
#include <flaggems/ops/gemm_prologue.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <support/gemm.hpp>

#include <vector>

namespace flaggems_test {
namespace {

using fg::epilogue, fg::product;
using fg::i32;

/// A gate [m, k] and what it is multiplied by, of any sizes that broadcast to it.
template <class T, class D>
struct gated {
  test_tensor<T, D> gate, up;
  gated(const shape& sizes, layout l, const shape& up_sizes, layout lu)
      : gate(sizes, l, random_values(sizes)), up(up_sizes, lu, random_values(up_sizes)) {}
  auto expression() { return fg::silu(gate.in()) * up.in(); }
  /// Its values as T. `at`: which element of `up` belongs to an element.
  template <class At>
  std::vector<double> values(At at) const {
    std::vector<double> x = gate.values();
    for (std::size_t e = 0; e < x.size(); ++e)
      x[e] = fg::kernels::number_cast<f64>(
          fg::kernels::number_cast<T>(silu(x[e]) * up.values()[at(e)]));
    return x;
  }
};

/// In a sum, a value beside a tie may be rounded to either side.
template <class T>
tolerance evaluated_tolerance(i64 k) {
  tolerance tol = sum_tolerance<T>(k);
  if (sizeof(T) == 2) tol.atol += 0.02 * std::sqrt(static_cast<double>(k));
  return tol;
}

template <class D, class T>
void check(i64 m, i64 n, i64 k, layout lx, layout lu, layout lw, layout lo) {
  SCOPED_TRACE(std::string(to_string(lx)) + ", " + to_string(lu) + " * " + to_string(lw) + " to " +
               to_string(lo) + ", " + fg::to_string(shape{m, n, k}));
  gated<T, D> x({m, k}, lx, {m, k}, lu);
  test_tensor<T, D> w({n, k}, lw, random_values({n, k}));
  test_tensor<T, D> out({m, n}, lo);
  const auto want = sums_of(x.values([](std::size_t e) { return e; }), w.values(), m, n, k);
  fg::mm(test_stream<D>(), x.expression(), w.in().t(), out.view());
  expect_close<T>(out.read(), want, evaluated_tolerance<T>(k));
  EXPECT_TRUE(out.gaps_untouched());
  if (lo == layout::contiguous)
    expect_equal(values_of(fg::mm(test_stream<D>(), x.expression(), w.in().t())), out.read());
  EXPECT_TRUE(x.gate.untouched() && x.up.untouched() && w.untouched());
}

/// One row, few rows, small products, blocks, and sums of more than a block.
template <class D, class T>
void check_sizes() {
  at_every_level<D>([] {
    constexpr layout flat = layout::contiguous;
    for (const shape& at :
         {shape{1, 70, 100}, shape{16, 30, 300}, shape{20, 21, 22}, shape{70, 90, 70},
          shape{33, 101, 1300}, shape{40, 1, 129}, shape{17, 6, 0}})
      check<D, T>(at[0], at[1], at[2], flat, flat, flat, flat);
    check<D, T>(35, 70, 90, flat, flat, layout::transposed, flat);
  });
}
template <class Case>
class gemm_prologue_types : public ::testing::Test {};
using prologue_cases = unless_reduced<cases<on_host<f32, bf16, f64>, on_chips<bf16>>>;
TYPED_TEST_SUITE(gemm_prologue_types, prologue_cases);

TYPED_TEST(gemm_prologue_types, sizes) {
  check_sizes<typename TypeParam::device, typename TypeParam::type>();
}

template <class Device>
class gemm_prologue_devices : public ::testing::Test {};
using devices = devices_and_own<host, chip32>;
TYPED_TEST_SUITE(gemm_prologue_devices, devices);

template <class D>
void check_layouts() {
  for (const layout lx : input_layouts)
    for (const layout lw : {layout::contiguous, layout::transposed, layout::strided}) {
      check<D, f32>(37, 19, 70, lx, layout::contiguous, lw, layout::contiguous);
      check<D, f32>(37, 19, 70, layout::strided, lx, lw, layout::negative);
    }
  for (const layout lo : output_layouts)
    check<D, f32>(70, 30, 80, layout::contiguous, layout::transposed, layout::contiguous, lo);
}
TYPED_TEST(gemm_prologue_devices, layouts) { check_layouts<TypeParam>(); }

/// A batch, with factors of the columns, the rows and the matrices; a bias, an epilogue.
template <class D>
void check_broadcast() {
  const auto& s = test_stream<D>();
  const i64 batch = 3, m = 23, n = 17, k = 40;
  test_tensor<f32, D> w({n, k}, layout::contiguous, random_values({n, k}));
  test_tensor<f32, D> bias({n}, layout::contiguous, random_values({n}));
  const auto run = [&](const shape& sizes, auto at) {
    SCOPED_TRACE(fg::to_string(sizes));
    gated<f32, D> x({batch, m, k}, layout::contiguous, sizes, layout::contiguous);
    auto want = sums_of(x.values(at), w.values(), batch * m, n, k);
    test_tensor<f32, D> out({batch, m, n}), again({batch, m, n}, layout::transposed);
    fg::linear(s, x.expression(), w.in(), out.view());
    expect_close<f32>(out.read(), want, sum_tolerance<f32>(k));
    fg::bmm(s, x.expression(), w.in().t().unsqueeze(0), again.view());
    expect_close<f32>(again.read(), want, sum_tolerance<f32>(k));
    const auto made = fg::linear(s, x.expression(), w.in());
    static_assert(std::is_same_v<decltype(made), const fg::tensor<f32, D>>);
    EXPECT_EQ(made.shape_of(), (shape{batch, m, n}));
    expect_close<f32>(values_of(made), want, sum_tolerance<f32>(k));
    expect_close<f32>(values_of(fg::bmm(s, x.expression(), w.in().t().unsqueeze(0))), want,
                      sum_tolerance<f32>(k));
    for (std::size_t e = 0; e < want.size(); ++e) want[e] += bias.values()[e % index(n)];
    if constexpr (std::is_same_v<D, host>) {  // it makes another instance of each kernel
      fg::linear(s, x.expression(), w.in(), bias.in(), out.view());
      expect_close<f32>(out.read(), want, sum_tolerance<f32>(k));
      expect_close<f32>(values_of(fg::linear(s, x.expression(), w.in(), fg::with_bias(bias.in()))),
                        want, sum_tolerance<f32>(k));
    }
    fg::linear(s, x.expression(), w.in(), again.view(), epilogue(product + bias.in()));
    expect_close<f32>(again.read(), want, sum_tolerance<f32>(k));
    expect_close<f32>(
        values_of(fg::linear(s, x.expression(), w.in(), epilogue(product + bias.in()))), want,
        sum_tolerance<f32>(k));
    expect_close<f32>(values_of(fg::bmm(s, x.expression(), w.in().t().unsqueeze(0),
                                        epilogue(product + bias.in()))),
                      want, sum_tolerance<f32>(k));
    EXPECT_TRUE(out.gaps_untouched() && again.gaps_untouched());
  };
  run({k}, [&](std::size_t e) { return e % index(k); });
  run({m, 1}, [&](std::size_t e) { return e / index(k) % index(m); });
  run({batch, 1, 1}, [&](std::size_t e) { return e / index(m * k); });
}
TYPED_TEST(gemm_prologue_devices, broadcast_with_bias_and_epilogue) {
  check_broadcast<TypeParam>();
}

/// The bits of a product of the expression's values, stored before.
template <class T>
void check_packed(i64 m, i64 n, i64 k) {
  SCOPED_TRACE(fg::to_string(shape{m, n, k}));
  const auto& s = test_stream<host>();
  gated<T, host> x({m, k}, layout::contiguous, {m, k}, layout::strided);
  test_tensor<T> w({n, k}, layout::contiguous, random_values({n, k}));
  const auto packed = fg::pack_matrix(s, w.in());
  const auto values = fg::evaluate(s, x.expression());
  test_tensor<T> want({m, n}), got({m, n});
  fg::linear(s, values, packed, want.view());
  for (const int threads : {1, 3}) {
    host::set_num_threads(threads);
    fg::linear(s, x.expression(), packed, got.view());
    expect_equal(got.read(), want.read());
    const auto made = fg::linear(s, x.expression(), packed);
    static_assert(std::is_same_v<decltype(made), const fg::tensor<T>>);
    expect_equal(values_of(made), want.read());
  }
}
#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(gemm_prologue, packed_weights_give_the_same_bits) {
  at_every_level<host>([] {
    for (const shape& at : {shape{1, 70, 100}, shape{70, 110, 90}, shape{40, 200, 1100}}) {
      check_packed<f32>(at[0], at[1], at[2]);
      check_packed<bf16>(at[0], at[1], at[2]);
    }
  });
}

TEST(gemm_prologue, integers) {
  test_tensor<i32> a({20, 30}, layout::contiguous, random_integers({20, 30}, -9, 9));
  test_tensor<i32> w({25, 30}, layout::contiguous, random_integers({25, 30}, -9, 9));
  test_tensor<i32> out({20, 25});
  fg::linear(test_stream<host>(), a.in() - 3, w.in(), out.view());
  auto x = a.values();
  for (double& e : x) e -= 3;
  expect_equal(out.read(), sums_of(x, w.values(), 20, 25, 30));
}

TEST(gemm_prologue, bad_input) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({20, 70}), w({70, 50}), out({20, 50}), narrow({20, 50}), row({71});
  const auto mismatch = fg::errc::shape_mismatch, overlap = fg::errc::overlap;
  const auto mm = [&](const auto& gate, const auto& up, const auto& weight, const auto& to) {
    return code_of([&] { fg::mm(s, fg::silu(gate) * up, weight, to); });
  };
  EXPECT_EQ(mm(x.in(), row.in(), w.in(), out.view()), mismatch);
  EXPECT_EQ(mm(narrow.in(), narrow.in(), w.in(), out.view()), mismatch);
  EXPECT_EQ(mm(row.in(), row.in(), w.in(), out.view()), mismatch);
  EXPECT_EQ(mm(x.in(), x.in(), w.in(), x.view()), mismatch);
  EXPECT_EQ(mm(x.in(), x.in(), w.in().t(), out.view()), mismatch);
  // The output is a tensor of the expression, in part or as a whole.
  EXPECT_EQ(mm(x.in(), x.in(), w.in(), x.view().narrow(1, 0, 50)), overlap);
  test_tensor<f32> square({70, 70});
  EXPECT_EQ(mm(x.in().narrow(0, 0, 1), square.in(), square.in(), square.view()), overlap);
  EXPECT_EQ(mm(square.in(), x.in().narrow(0, 0, 1), x.in().narrow(0, 0, 1).expand({70, 70}),
               square.view()),
            overlap);
  const auto packed = fg::pack_matrix(s, w.in().t());
  EXPECT_EQ(code_of([&] { fg::linear(s, fg::silu(row.in()) * row.in(), packed, out.view()); }),
            mismatch);
  EXPECT_TRUE(out.untouched() && x.untouched() && square.untouched());
}

#endif

}  // namespace
}  // namespace flaggems_test
