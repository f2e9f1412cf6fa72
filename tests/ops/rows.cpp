// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What authors of operators along one dimension build on: operands of every stride as rows, weights
// among them as expanded views.
#include <flaggems/ops/rows.hpp>
#include <support/ops.hpp>
#include <support/user_kernels.hpp>

namespace flaggems_test {
namespace {

namespace fk = flaggems::kernels;

template <class D>
void scale(fg::tensor_view<const f32, D> x, fg::tensor_view<const f32, D> weight,
           fg::tensor_view<const f32, D> first, fg::tensor_view<f32, D> out, int dim) {
  // [weights]
  // A weight for each element of a row, and a number for each row.
  const auto w = weight.expand(x.sizes());               // [n] -> [..., n], strides 0
  const auto f = first.unsqueeze(-1).expand(x.sizes());  // [...] -> [..., n], stride 0 in a row
  flaggems::row_plan plan(x.sizes(), dim);
  plan.add(x);
  plan.add(w);
  plan.add(f);
  plan.add(out);
  // [/weights]
  const auto space = plan.space();
  fg::launch_config config;
  config.op = "scaled_rows";
  config.tiles = space.rows;
  fg::launch<scaled_rows>(test_stream<D>(), config, space, plan.arg(0, x), plan.arg(1, w),
                          plan.arg(2, f), plan.target(3, out));
}

template <class D>
void row_sum(fg::tensor_view<const f32, D> x, fg::tensor_view<f32, D> out, int dim) {
  fg::launch_config config;
  config.op = "row_sums";
  // [reduced]
  flaggems::check_output_sizes("row_sums", flaggems::without_dim(x.sizes(), dim, "row_sums"), out);
  const auto o = out.unsqueeze(dim);  // [..., ...] -> [..., 1, ...]
  flaggems::row_plan plan(x.sizes(), dim);
  plan.add(x);
  plan.add(o);
  const auto space = plan.space();
  if (space.rows == 0) return;  // not plan.empty(): rows of length 0 are written too
  config.tiles = space.rows;
  flaggems::launch<row_sums>(test_stream<D>(), config, space, plan.arg(0, x), plan.target(1, o));
  // [/reduced]
}

template <class Device>
class rows : public ::testing::Test {};
using devices = devices_and_own<host, chip32, simt64>;
TYPED_TEST_SUITE(rows, devices);

using values = std::vector<double>;

/// The program `all_of_a_row` along the last dimension, against a loop in double.
template <class D>
void check_all_of_a_row(i64 count, i64 n, layout how, bool has_weight) {
  SCOPED_TRACE(std::to_string(count) + " rows of " + std::to_string(n) + ", " + to_string(how));
  const shape sizes{count, n};
  test_tensor<f32, D> x(sizes, how, random_values(sizes)),
      y(sizes, layout::contiguous, random_values(sizes));
  test_tensor<f32, D> w({n}, layout::contiguous, random_values({n})), scale({count, 1});
  test_tensor<f32, D> a(sizes, how), b(sizes), dot({count, 1}), picked({count, 1}), sum({count, 1});
  values scales, places;
  for (i64 r = 0; r < count; ++r) {
    scales.push_back(static_cast<double>(r) - 1.5);
    places.push_back(static_cast<double>(r % 4 == 0 ? -1 : r % 4 == 1 ? n : r * 7 % n));
  }
  test_tensor<f32, D> by({count, 1}, layout::contiguous, scales);
  test_tensor<i64, D> at({count, 1}, layout::contiguous, places);
  fg::row_plan plan(x.view().sizes(), 1);
  const auto weight = w.in().expand(x.view().sizes());
  plan.add(x.in());
  plan.add(y.in());
  plan.add(weight);
  plan.add(by.in());
  plan.add(at.in());
  plan.add(a.view());
  plan.add(b.view());
  plan.add(dot.view());
  plan.add(picked.view());
  plan.add(sum.view());
  const auto space = plan.space();
  auto weights = plan.arg(2, weight);
  if (!has_weight) weights.data = nullptr;
  fg::launch_config config;
  config.op = "all_of_a_row";
  using fg::row_inputs, fg::row_outputs;
  fg::launch_rows(test_stream<D>(), config, space,
                  fg::row_operands_of(
                      row_inputs(plan.arg(0, x.in()), plan.arg(1, y.in())),
                      row_outputs(plan.target(5, a.view()), plan.target(6, b.view())),
                      row_inputs(weights), row_inputs(plan.arg(3, by.in()), plan.arg(4, at.in())),
                      row_outputs(plan.target(7, dot.view()), plan.target(8, picked.view()),
                                  plan.target(9, sum.view()))),
                  all_of_a_row());
  values want_a, want_b, want_dot, want_picked, want_sum;
  for (i64 r = 0; r < count; ++r) {
    const auto row = [&](const values& v, i64 k) { return v[static_cast<std::size_t>(r * n + k)]; };
    const auto weight_of = [&](i64 k) {
      return has_weight ? w.values()[static_cast<std::size_t>(k)] : 1.0;
    };
    double mean = 0, product = 0, weighted = 0;
    for (i64 k = 0; k < n; ++k) {
      mean += row(x.values(), k) / static_cast<double>(n);
      product += row(x.values(), k) * row(y.values(), k);
    }
    for (i64 k = 0; k < n; ++k) {
      weighted += row(x.values(), k) * weight_of(k) * mean;
      want_a.push_back(row(x.values(), k) * weight_of(k) - mean);
      want_b.push_back(row(y.values(), k) * scales[static_cast<std::size_t>(r)]);
    }
    const i64 place = static_cast<i64>(places[static_cast<std::size_t>(r)]);
    want_dot.push_back(product);
    want_picked.push_back(place >= 0 && place < n ? row(x.values(), place) : 0.0);
    want_sum.push_back(weighted);
  }
  const tolerance tol{1e-4, 1e-4 * std::sqrt(static_cast<double>(n))};
  expect_close<f32>(a.read(), want_a, tol);
  expect_close<f32>(b.read(), want_b, tol);
  expect_close<f32>(dot.read(), want_dot, tol);
  expect_close<f32>(picked.read(), want_picked, tol);
  expect_close<f32>(sum.read(), want_sum, tol);
  EXPECT_TRUE(a.gaps_untouched());
}

TYPED_TEST(rows, programs_have_all_of_their_contract) {
  at_every_level<TypeParam>([] {
    for (const i64 n : {1, 3, 16, 40, 300, 1001}) {
      check_all_of_a_row<TypeParam>(9, n, layout::contiguous, true);
      check_all_of_a_row<TypeParam>(9, n, layout::strided, true);
      check_all_of_a_row<TypeParam>(9, n, layout::contiguous, false);
    }
  });
  // Of 6,000 a block holds all, of 40,000 a cluster of blocks does not.
  check_all_of_a_row<TypeParam>(3, 6000, layout::contiguous, true);
  check_all_of_a_row<TypeParam>(2, 40000, layout::contiguous, true);
}

TYPED_TEST(rows, weights_are_expanded_views) {
  at_every_level<TypeParam>([] {
    const shape sizes{3, 4, 19};
    for (const layout in : input_layouts)
      for (const layout to : output_layouts)
        for (const layout own : {layout::contiguous, layout::negative}) {
          test_tensor<f32, TypeParam> x(sizes, in, random_integers(sizes, -9, 9));
          test_tensor<f32, TypeParam> weight({19}, own, random_integers({19}, -9, 9));
          test_tensor<f32, TypeParam> first({3, 4}, own, random_integers({3, 4}, -99, 99));
          test_tensor<f32, TypeParam> out(sizes, to);
          scale<TypeParam>(x.in(), weight.in(), first.in(), out.view(), 2);
          std::vector<double> want(x.values());
          for (std::size_t k = 0; k < want.size(); ++k)
            want[k] = want[k] * weight.values()[k % 19] + first.values()[k / 19];
          expect_equal(out.read(), want);
          EXPECT_TRUE(out.gaps_untouched());
        }
  });
}

TYPED_TEST(rows, an_output_may_lack_the_dimension) {
  at_every_level<TypeParam>([] {
    for (const shape& sizes : {shape{3, 19, 4}, shape{3, 0, 4}, shape{3, 19, 0}})
      for (const layout to : output_layouts) {
        test_tensor<f32, TypeParam> x(sizes, layout::contiguous, random_integers(sizes, -9, 9));
        const i64 n = sizes[1], m = sizes[2];
        test_tensor<f32, TypeParam> out({3, m}, to, std::vector<double>(12, 77));
        row_sum<TypeParam>(x.in(), out.view(), 1);
        std::vector<double> want(static_cast<std::size_t>(3 * m));
        for (std::size_t k = 0; k < x.values().size(); ++k) {
          const i64 at = static_cast<i64>(k);
          want[static_cast<std::size_t>(at / (n * m) * m + at % m)] += x.values()[k];
        }
        expect_equal(out.read(), want);
        EXPECT_TRUE(out.gaps_untouched());
      }
  });
}

/// Dimensions are sorted and merged: rows that all operands cross alike are one dimension.
TEST(rows, merges_dimensions) {
  test_tensor<f32> x({3, 4, 5, 19}), turned({5, 4, 3, 19});
  fg::row_plan same({x.sizes()}, 3);
  same.add(x.view());
  EXPECT_EQ(same.space().rank, 1);
  EXPECT_EQ(same.length(), 19);
  fg::row_plan mixed(x.sizes(), 3);
  mixed.add(x.view());
  mixed.add(turned.view().permute({2, 1, 0, 3}));
  const auto space = mixed.space();
  EXPECT_EQ(space.rows, 60);
  EXPECT_GT(space.rank, 1);
}

/// An operand that was forgotten, and one that is asked for too early, are found.
TEST(rows, operands_of_a_plan) {
  test_tensor<f32> x({3, 19}), y({3, 19});
  for (const bool dense : {false, true}) {
    fg::row_plan plan(x.sizes(), 1, dense);
    plan.add(x.view());
    EXPECT_RAISES(static_cast<void>(plan.arg(0, x.view())), out_of_range, "row_plan");
    EXPECT_EQ(plan.space().length, 19);
    EXPECT_EQ(plan.arg(0, x.view()).data, x.view().data());
    EXPECT_RAISES(static_cast<void>(plan.target(1, y.view())), out_of_range, "row_plan");
    EXPECT_RAISES(static_cast<void>(plan.arg(-1, x.view())), out_of_range, "row_plan");
  }
}

/// What kernels have no code for (kernel/expr/simt/register_rows.hpp, row_thread_groups) is never
/// asked of them.
TEST(rows, held_as_kernels_have_it) {
  for (const i64 n : {1, 8, 63, 64, 65, 127, 128, 255, 512, 513, 1024, 2048, 4097, 16384, 65536})
    for (const i64 count : {1, 64, 65, 511, 513, 4096, 1 << 20})
      for (const int width : {2, 4, 8})
        for (const i64 off : {0, 1})
          for (const i64 long_row_vectors : {1024, 2048, 4096})
            for (const bool many_aux : {false, true}) {
              SCOPED_TRACE(std::to_string(count) + " of " + std::to_string(n) + " vectors");
              const fg::detail::register_rows<fg::simt32> resident(
                  count, n * width + off, width, off == 0, long_row_vectors,
                  {.many_aux = many_aux, .paired = many_aux});
              const bool blocks = resident.groups.shift < 0;
              const bool clusters = resident.groups.shift == fg::kernels::row_threads::cluster;
              EXPECT_TRUE(resident.vectors == 8 || !clusters);
              EXPECT_TRUE(resident.vectors != 8 || blocks);
              EXPECT_TRUE(resident.rows() == 1 || blocks == (resident.vectors > 1));
              EXPECT_TRUE(!many_aux || resident.vectors != 2 || !resident.is_aligned || blocks);
            }
}

}  // namespace
}  // namespace flaggems_test
