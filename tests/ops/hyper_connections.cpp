// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/hyper_connections.hpp>
#include <support/ops.hpp>

#include <algorithm>
#include <cmath>

namespace flaggems_test {
namespace {

using values = std::vector<double>;

/// Row-major numbers of up to four dimensions.
struct block {
  shape sizes;
  values data;
  template <class... I>
  double& operator()(I... at) {
    std::size_t k = 0;
    int d = 0;
    ((k = k * static_cast<std::size_t>(sizes[d++]) + static_cast<std::size_t>(at)), ...);
    return data[k];
  }
};
block zeros_of(const shape& sizes) {
  return {sizes, values(static_cast<std::size_t>(sizes.numel()))};
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Divides columns, rows, columns, ... by their sums plus eps.
void balance(block& m, i64 token, i64 n, i64 passes, double eps) {
  for (i64 pass = 0; pass < passes; ++pass)
    for (i64 i = 0; i < n; ++i) {
      double total = eps;
      for (i64 j = 0; j < n; ++j) total += pass % 2 == 0 ? m(token, j, i) : m(token, i, j);
      for (i64 j = 0; j < n; ++j) (pass % 2 == 0 ? m(token, j, i) : m(token, i, j)) /= total;
    }
}

/// The products of a token's streams and rows of fn over the root of the mean square.
block products(block x, block fn, double eps) {
  const i64 tokens = x.sizes[0], n = x.sizes[1], width = x.sizes[2], rows = fn.sizes[0];
  block made = zeros_of({tokens, rows});
  for (i64 t = 0; t < tokens; ++t) {
    double squares = 0;
    for (i64 k = 0; k < n * width; ++k)
      squares += x(t, k / width, k % width) * x(t, k / width, k % width);
    const double root = std::sqrt(squares / static_cast<double>(n * width) + eps);
    for (i64 r = 0; r < rows; ++r) {
      double sum = 0;
      for (i64 k = 0; k < n * width; ++k) sum += x(t, k / width, k % width) * fn(r, k);
      made(t, r) = sum / root;
    }
  }
  return made;
}

template <class Case>
class hyper_connections : public ::testing::Test {};
using stream_cases = cases<on_host<f32, bf16, f16>, on_chips<bf16>, on_wide<f32>>;
TYPED_TEST_SUITE(hyper_connections, stream_cases);

TYPED_TEST(hyper_connections, before_a_layer) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const i64 tokens = 3, width = 10;
  at_every_level<D>([&] {
    for (const i64 n : {4, 3})
      for (const layout how : {layout::contiguous, layout::strided}) {
        const i64 mixes = 2 * n + n * n;
        const shape sizes{tokens, n, width}, of_fn{mixes, n * width};
        test_tensor<T, D> x(sizes, how, random_values(sizes));
        test_tensor<f32, D> fn(of_fn, how, random_values(of_fn, -0.2, 0.2)),
            scale({3}, how, {0.5, 1.5, 1}), base({mixes}, how, random_values({mixes}));
        const fg::hyper_connection_options options{1e-6, 1e-3, 1e-6, 2, 3};
        const auto [post, comb, read] =
            fg::mhc_pre(s, x.in(), fn.in(), scale.in(), base.in(), options);
        block m = products({sizes, x.values()}, {of_fn, fn.values()}, 1e-6);
        block streams{sizes, x.values()};
        values want_post, want_read;
        block want = zeros_of({tokens, n, n});
        for (i64 t = 0; t < tokens; ++t) {
          const auto mix = [&](i64 k, double by) {
            return m(t, k) * by + base.values()[static_cast<std::size_t>(k)];
          };
          for (i64 i = 0; i < n; ++i) {
            want_post.push_back(2 * sigmoid(mix(n + i, 1.5)));
            double total = 0;
            for (i64 j = 0; j < n; ++j) total += std::exp(mix(2 * n + i * n + j, 1));
            for (i64 j = 0; j < n; ++j)
              want(t, i, j) = std::exp(mix(2 * n + i * n + j, 1)) / total + 1e-6;
          }
          balance(want, t, n, 5, 1e-6);
          for (i64 h = 0; h < width; ++h) {
            double sum = 0;
            for (i64 j = 0; j < n; ++j) sum += (sigmoid(mix(j, 0.5)) + 1e-3) * streams(t, j, h);
            want_read.push_back(sum);
          }
        }
        EXPECT_EQ(post.shape_of(), (shape{tokens, n, 1}));
        expect_close<f32>(values_of(post), want_post, {1e-5, 1e-6});
        expect_close<f32>(values_of(comb), want.data, {1e-5, 1e-6});
        expect_close<T>(values_of(read), want_read);
        EXPECT_TRUE(x.untouched() && fn.untouched());
        // Of one token without other dimensions.
        const auto one =
            fg::mhc_pre(s, x.in().select(0, 1), fn.in(), scale.in(), base.in(), options);
        EXPECT_EQ(std::get<2>(one).shape_of(), (shape{width}));
        expect_close<T>(values_of(std::get<2>(one)),
                        values(want_read.begin() + width, want_read.begin() + 2 * width));
      }
  });
}

TYPED_TEST(hyper_connections, behind_a_layer) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const i64 n : {1, 4, 6})
      for (const layout in : input_layouts)
        for (const layout to : {layout::contiguous, layout::strided}) {
          SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to));
          const i64 width = n == 4 ? 1030 : 9;
          const shape sizes{2, n, width}, of_comb{2, n, n};
          test_tensor<T, D> x({2, width}, in, random_values({2, width})),
              streams(sizes, in, random_values(sizes)), out(sizes, to);
          test_tensor<f32, D> post({2, n, 1}, in, random_values({2, n, 1})),
              comb(of_comb, in, random_values(of_comb));
          fg::mhc_post(s, x.in(), streams.in(), post.in(), comb.in(), out.view());
          block own{{2, width}, x.values()}, from{sizes, streams.values()},
              by{of_comb, comb.values()}, more{{2, n}, post.values()};
          values want;
          for (i64 t = 0; t < 2; ++t)
            for (i64 i = 0; i < n; ++i)
              for (i64 h = 0; h < width; ++h) {
                double sum = more(t, i) * own(t, h);
                for (i64 j = 0; j < n; ++j) sum += by(t, j, i) * from(t, j, h);
                want.push_back(sum);
              }
          const tolerance tol = sizeof(T) == 4 ? tolerance{1e-5, 1e-5} : tolerance_of<T>();
          expect_close<T>(out.read(), want, tol);
          EXPECT_TRUE(out.gaps_untouched() && streams.untouched());
          expect_close<T>(values_of(fg::mhc_post(s, x.in(), streams.in(), post.in(), comb.in())),
                          want, tol);
        }
  });
}

TYPED_TEST(hyper_connections, head) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  for (const layout how : output_layouts) {
    const shape sizes{3, 4, 7}, of_fn{4, 28};
    test_tensor<T, D> x(sizes, how, random_values(sizes)), out({3, 7}, how);
    test_tensor<f32, D> fn(of_fn, how, random_values(of_fn, -0.2, 0.2)), scale({1}, how, {0.75}),
        base({4}, how, random_values({4}));
    fg::hc_head_fused_kernel(s, x.in(), fn.in(), scale.in(), base.in(), out.view(), 7, 1e-6, 1e-3,
                             4);
    block m = products({sizes, x.values()}, {of_fn, fn.values()}, 1e-6), streams{sizes, x.values()};
    values want;
    for (i64 t = 0; t < 3; ++t)
      for (i64 h = 0; h < 7; ++h) {
        double sum = 0;
        for (i64 j = 0; j < 4; ++j)
          sum += (sigmoid(m(t, j) * 0.75 + base.values()[static_cast<std::size_t>(j)]) + 1e-3) *
                 streams(t, j, h);
        want.push_back(sum);
      }
    expect_close<T>(out.read(), want);
    EXPECT_TRUE(out.gaps_untouched());
  }
}

template <class Device>
class balanced_matrices : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(balanced_matrices, devices);

TYPED_TEST(balanced_matrices, sinkhorn) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const i64 n : {4, 3})
      for (const layout in : input_layouts)
        for (const layout to : {layout::contiguous, layout::strided}) {
          const shape sizes{2, 3, n, n};
          test_tensor<f32, D> m(sizes, in, random_values(sizes)), out(sizes, to), powers(sizes, to);
          fg::sinkhorn_forward(s, m.in(), out.view(), powers.view(), 7);
          values e;
          for (const double x : m.values()) e.push_back(std::exp(x));
          block want{{6, n, n}, e};
          for (i64 t = 0; t < 6; ++t) balance(want, t, n, 14, 0);
          expect_close<f32>(out.read(), want.data, {1e-5, 1e-6});
          expect_close<f32>(powers.read(), e);
          EXPECT_TRUE(out.gaps_untouched() && powers.gaps_untouched() && m.untouched());
        }
  });
  test_tensor<f64, D> one({5, 5}, layout::contiguous, random_values({5, 5}));
  const auto got = fg::sinkhorn_forward(s, one.in(), 0);
  expect_equal(values_of(got.first), values_of(got.second));
  test_tensor<f32, D> none({0, 4, 4});
  EXPECT_EQ(fg::sinkhorn_forward(s, none.in()).first.numel(), 0);
}

TYPED_TEST(balanced_matrices, gradient) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const double step = 1e-4;
  at_every_level<D>([&] {
    for (const i64 n : {4, 3})
      for (const layout how : {layout::contiguous, layout::strided}) {
        const shape sizes{3, n, n};
        const values logits = random_values(sizes), by = random_values(sizes);
        const auto result_of = [&](const values& x) {
          block m{sizes, {}};
          for (const double v : x) m.data.push_back(std::exp(v));
          for (i64 t = 0; t < 3; ++t) balance(m, t, n, 400, 0);
          return m.data;
        };
        const auto loss = [&](const values& x) {
          const values r = result_of(x);
          double sum = 0;
          for (std::size_t k = 0; k < r.size(); ++k) sum += r[k] * by[k];
          return sum;
        };
        test_tensor<f32, D> r(sizes, how, result_of(logits)), g(sizes, how, by);
        values want;
        for (std::size_t k = 0; k < logits.size(); ++k) {
          values more = logits, less = logits;
          more[k] += step, less[k] -= step;
          want.push_back((loss(more) - loss(less)) / (2 * step));
        }
        expect_close<f32>(values_of(fg::mhc_bwd(s, r.in(), g.in())), want, {1e-3, 1e-4});
        // Without a step nothing is subtracted.
        values plain;
        for (std::size_t k = 0; k < by.size(); ++k) plain.push_back(r.values()[k] * g.values()[k]);
        expect_close<f32>(values_of(fg::mhc_bwd(s, r.in(), g.in(), 0)), plain);
      }
  });
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(hyper_connections_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 4, 3}), fn({24, 12}), scale({3}), base({24}), few({23}), flat({2, 3}),
      post({2, 4, 1}), comb({2, 4, 4}), out({2, 4, 3}), head({4, 12}), one({1}), four({4});
  EXPECT_RAISES(fg::mhc_pre(s, x.in(), fn.in(), scale.in(), few.in()), shape_mismatch, "mhc_pre");
  EXPECT_RAISES(fg::mhc_pre(s, scale.in(), fn.in(), scale.in(), base.in()), invalid_argument,
                "mhc_pre");
  EXPECT_RAISES(fg::mhc_pre(s, x.in(), fn.in(), scale.in(), base.in(), {1e-6, 0, 0, 1, 0}),
                invalid_argument, "mhc_pre");
  EXPECT_RAISES(fg::mhc_post(s, x.in(), x.in(), post.in(), comb.in(), out.view()), shape_mismatch,
                "mhc_post");
  EXPECT_RAISES(fg::mhc_post(s, flat.in(), out.in(), post.in(), comb.in(), out.view()), overlap,
                "mhc_post");
  EXPECT_RAISES(
      fg::hc_head_fused_kernel(s, x.in(), head.in(), one.in(), four.in(), flat.view(), 3, 0, 0, 3),
      shape_mismatch, "hc_head_fused_kernel");
  EXPECT_RAISES(fg::sinkhorn_forward(s, x.in()), invalid_argument, "sinkhorn_forward");
  EXPECT_RAISES(fg::sinkhorn_forward(s, comb.in(), -1), invalid_argument, "sinkhorn_forward");
  EXPECT_RAISES(fg::sinkhorn_forward(s, comb.in(), comb.view(), comb.view()), overlap,
                "sinkhorn_forward");
  EXPECT_RAISES(fg::mhc_bwd(s, comb.in(), comb.in().narrow(0, 0, 1)), shape_mismatch, "mhc_bwd");
  EXPECT_TRUE(out.untouched() && flat.untouched() && comb.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
