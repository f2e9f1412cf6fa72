// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Least squares by singular values.
#pragma once

#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/svd.hpp>

#include <limits>

namespace flaggems {

namespace operators {
struct linalg_lstsq;
}

/// What LAPACK's algorithms are called in ATen. They decide what is given beside the solution: gels
/// takes every rank to be full and gives none, gelsd and gelss give singular values.
enum class lstsq_driver : int { gels, gelsy, gelsd, gelss };

/// The driver of ATen's name. Raises invalid_argument for others.
inline lstsq_driver spelled(std::string_view text, std::type_identity<lstsq_driver>) {
  if (text == "gels") return lstsq_driver::gels;
  if (text == "gelsy") return lstsq_driver::gelsy;
  if (text == "gelsd") return lstsq_driver::gelsd;
  if (text == "gelss") return lstsq_driver::gelss;
  raise(errc::invalid_argument, "linalg_lstsq", "a driver of gels, gelsy, gelsd or gelss", text);
}

/// A solution, and what is known of it; what is not has no elements.
template <class T, class Device>
struct least_squares {
  tensor<T, Device> solution, residuals;
  tensor<i64, Device> rank;
  tensor<T, Device> singular_values;
  auto tie() { return std::tie(solution, residuals, rank, singular_values); }
};

namespace detail {

template <class T>
inline constexpr f64 rounding_of = static_cast<f64>(std::numeric_limits<T>::epsilon());

/// What the sizes and the driver of a call say.
struct lstsq_plan {
  lstsq_driver driver;
  bool of_vectors, with_residuals;
  i64 m, n, k;
  shape batch, solution, residuals, rank, values;

  template <class A, class B>
  lstsq_plan(const A& a, const B& b, const std::optional<lstsq_driver>& given)
      : driver(given.value_or(lstsq_driver::gelsy)) {
    constexpr const char* op = "linalg_lstsq";
    check_matrices(op, a.sizes());
    const int behind = a.rank() - b.rank();
    const shape own = batch_sizes(a.sizes());
    // ATen takes b for vectors where it has all sizes of a but the last.
    of_vectors = behind == 1 && same_sizes(int_list(a.sizes().data(), a.rank() - 1), b.sizes());
    if (b.rank() == 0 || behind < 0 || behind > 1 || (!of_vectors && b.rank() < 2) ||
        b.size(of_vectors ? -1 : -2) != a.size(-2)) [[unlikely]]
      raise_shapes(op, "matrices of as many rows", a.sizes(), b.sizes());
    m = a.size(-2), n = a.size(-1), k = of_vectors ? 1 : b.size(-1);
    batch = broadcast_shapes(own, batch_sizes(b.sizes(), of_vectors ? 1 : 2), op);
    solution = of_vectors ? batch_of(batch, {n}) : batch_of(batch, {n, k});
    const shape none{0};
    rank = driver == lstsq_driver::gels ? none : own;
    values = driver == lstsq_driver::gelsd || driver == lstsq_driver::gelss
                 ? batch_of(own, {kernels::min_of(m, n)})
                 : none;
    with_residuals = m > n && driver != lstsq_driver::gelsy;
    residuals = !with_residuals ? none : of_vectors ? batch : batch_of(batch, {k});
  }

  /// Values that are at most so many times the first one count as 0.
  [[nodiscard]] f64 least(const std::optional<f64>& rcond, f64 rounding) const {
    if (driver == lstsq_driver::gels) return 0;
    if (rcond) return *rcond < 0 ? rounding : *rcond;
    return rounding * static_cast<f64>(kernels::max_of(m, n));
  }
};

/// The same matrix of a and b for each of the batch, in memory of its own.
template <class S, class T, class D>
tensor<T, D> spread(const S& stream, const lstsq_plan& plan, const tensor_view<const T, D>& x,
                    i64 rows, i64 columns) {
  auto all = empty<T>(stream, batch_of(plan.batch, {rows, columns}), "linalg_lstsq");
  copy_into("linalg_lstsq", stream, all.view(), x.expand(all.sizes()));
  return all;
}
/// out = a b, or a^T b, of row-major batches.
template <class S, class T, class D>
void multiply_batch(const S& stream, const lstsq_plan& plan, const tensor<T, D>& a,
                    const tensor<T, D>& b, tensor<T, D>& out, bool transposed) {
  const auto flat = [&](const auto& x) {
    return x.view({plan.batch.numel(), x.size(-2), x.size(-1)});
  };
  const auto left = flat(a.view()), right = flat(b.view());
  bmm(stream, transposed ? left.transpose(1, 2) : left, right, flat(out.view()));
}
/// out = the sums of x along a dimension.
template <class S, class X, class T, class D>
void sum_along(const S& stream, const X& x, i64 dim, const tensor_view<T, D>& out) {
  reduce_values<operators::sum, kernels::sum_of, T>(
      "linalg_lstsq", stream, x, out, int_list(&dim, 1), false, reduction_result::total);
}

/// x = V D U^T b, where D has the inverses of those singular values that are greater than the first
/// one times `least`; and how many those are.
template <class S, class T, class D>
void solve_by_values(const S& stream, const lstsq_plan& plan, const singular_factors<T, D>& parts,
                     const tensor<T, D>& b, T least, tensor<T, D>& x, tensor<i64, D>& rank) {
  constexpr const char* op = "linalg_lstsq";
  const auto s = input_of(parts.s);
  const i64 count = s.size(-1);
  if (count == 0) {  // no equations, or no unknowns
    fill(op, stream, x.view(), 0);
    return fill(op, stream, rank.view(), 0);
  }
  const auto first = s.narrow(-1, 0, 1).expand(s.sizes());
  if (plan.driver != lstsq_driver::gels)
    sum_along(stream, cast<i64>(gt(s, mul(first, least))), -1, rank.view());
  const auto u = spread(stream, plan, input_of(parts.u), plan.m, count);
  const auto vh = spread(stream, plan, input_of(parts.vh), count, plan.n);
  auto turned = empty<T>(stream, batch_of(plan.batch, {count, plan.k}), op);
  multiply_batch(stream, plan, u, b, turned, true);
  const auto wide = [&](const auto& v) { return v.unsqueeze(-1).expand(turned.sizes()); };
  assign(stream, turned.view(),
         where(gt(wide(s), mul(wide(first), least)), div(turned.view(), wide(s)), T(0)), op);
  multiply_batch(stream, plan, vh, turned, x, true);
}

/// The sums of squares of a x - b, in the place of b.
template <class S, class T, class D>
void write_residuals(const S& stream, const lstsq_plan& plan, const tensor<T, D>& a,
                     const tensor<T, D>& x, tensor<T, D>& b, const tensor_view<T, D>& out) {
  auto image = empty<T>(stream, b.shape_of(), "linalg_lstsq");
  multiply_batch(stream, plan, a, x, image, false);
  assign(stream, b.view(), sub(image.view(), b.view()), "linalg_lstsq");
  sum_along(stream, mul(b.view(), b.view()), -2, plan.of_vectors ? out.unsqueeze(-1) : out);
}

template <class S, class T, class D>
void lstsq_into(const S& stream, const tensor_view<const T, D>& a, const tensor_view<const T, D>& b,
                const tensor_view<T, D>& solution, const tensor_view<T, D>& residuals,
                const tensor_view<i64, D>& rank, const tensor_view<T, D>& values,
                const std::optional<f64>& rcond, const std::optional<lstsq_driver>& driver) {
  constexpr const char* op = "linalg_lstsq";
  const lstsq_plan plan(a, b, driver);
  check_output_sizes(op, plan.solution, solution);
  check_output_sizes(op, plan.residuals, residuals);
  check_output_sizes(op, plan.rank, rank);
  check_output_sizes(op, plan.values, values);
  check_separate(op, solution, a, b);
  check_separate(op, residuals, a, b, solution);
  check_separate(op, rank, a, b, solution, residuals);
  check_separate(op, values, a, b, solution, residuals, rank);
  if (replaced<operators::linalg_lstsq>(op, stream, a, b, solution, residuals, rank, values, rcond,
                                        plan.driver))
    return;
  const f64 least = plan.least(rcond, rounding_of<T>);
  const auto parts = svd_of(op, stream, a, false);
  auto sides = spread(stream, plan, plan.of_vectors ? b.unsqueeze(-1) : b, plan.m, plan.k);
  auto x = empty<T>(stream, batch_of(plan.batch, {plan.n, plan.k}), op);
  auto ranks = empty<i64>(stream, plan.rank, op);
  solve_by_values(stream, plan, parts, sides, static_cast<T>(least), x, ranks);
  copy_into(op, stream, plan.of_vectors ? solution.unsqueeze(-1) : solution, input_of(x));
  copy_into(op, stream, rank, input_of(ranks));
  if (!values.empty()) copy_into(op, stream, values, input_of(parts.s));
  if (plan.with_residuals)
    write_residuals(stream, plan, spread(stream, plan, a, plan.m, plan.n), x, sides, residuals);
}

/// The strides of ATen's solution, which it takes from memory for the longer of x and b.
inline shape solution_strides(const lstsq_plan& plan) {
  return plan.of_vectors ? contiguous_strides(plan.solution) : strides_by_columns(plan.solution);
}

}  // namespace detail

/// solution = the x for which the length of self x - b is least, and of those the shortest one;
/// residuals = the squares of these lengths; rank, singular_values = those of self.
///
/// Shapes: self [..., m, n], b [..., m, k] or, for one side each, self's but the last; batches
/// broadcast. solution [..., n, k] or [..., n]; residuals [..., k] or [...], of sizes [0] unless m
/// > n and the driver is another than gelsy; rank [...] of i64, of sizes [0] with gels;
/// singular_values [..., min(m, n)] with gelsd and gelss, else of sizes [0]. The driver is gelsy
/// unless another is given: all are computed by singular values. Those that are at most rcond times
/// the first count as 0, but with gels; rcond is the rounding error times max(m, n) unless it is
/// given, and the rounding error if it is negative. f32 or f64; the outputs share no memory with
/// another operand. Waits for the stream, and raises as linalg_svd.
/// aten::linalg_lstsq.out(Tensor self, Tensor b, float? rcond=None, *, str? driver=None, Tensor(a!)
/// solution, Tensor(b!) residuals, Tensor(c!) rank, Tensor(d!) singular_values)
template <stream_like S, tensor_like A, tensor_like B, tensor_like Solution, tensor_like Residuals,
          tensor_like Rank, tensor_like Values>
void linalg_lstsq(const S& stream, const A& self, const B& b, Solution&& solution,
                  Residuals&& residuals, Rank&& rank, Values&& singular_values,
                  const std::optional<f64>& rcond = {},
                  const std::optional<lstsq_driver>& driver = {}) {
  same_device<S, A, B, Solution, Residuals, Rank, Values>();
  if constexpr (detail::check_factor_types<const A&, const B&, Solution, Residuals, Values>()) {
    using view = tensor_view<value_t<const A&>, device_of<S>>;
    detail::lstsq_into(stream, detail::input_of(self), detail::input_of(b), view(as_view(solution)),
                       view(as_view(residuals)), tensor_view<i64, device_of<S>>(as_view(rank)),
                       view(as_view(singular_values)), rcond, driver);
  }
}
/// linalg_lstsq in new tensors.
template <stream_like S, tensor_like A, tensor_like B>
[[nodiscard]] auto linalg_lstsq(const S& stream, const A& self, const B& b,
                                const std::optional<f64>& rcond = {},
                                const std::optional<lstsq_driver>& driver = {}) {
  constexpr const char* op = "linalg_lstsq";
  using T = value_t<const A&>;
  using D = device_of<S>;
  const detail::lstsq_plan plan(as_view(self), as_view(b), driver);
  least_squares<T, D> out{
      tensor<T, D>(ref(stream), plan.solution, detail::solution_strides(plan), op),
      empty<T>(stream, plan.residuals, op), empty<i64>(stream, plan.rank, op),
      empty<T>(stream, plan.values, op)};
  linalg_lstsq(stream, self, b, out.solution, out.residuals, out.rank, out.singular_values, rcond,
               driver);
  return out;
}

}  // namespace flaggems
