// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// LU factors of matrices, with partial pivoting, and determinants. A block factors a matrix.
#pragma once

#include <flaggems/kernel/family/factor/lu.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/dispatch/factor.hpp>
#include <flaggems/ops/plan/indices.hpp>
#include <flaggems/ops/plan/matrices.hpp>
#include <flaggems/ops/triangle.hpp>

#include <tuple>

namespace flaggems {

namespace operators {
struct linalg_lu_factor_ex;
struct lu_unpack;
}  // namespace operators

/// L and U in one matrix, and the rows that were exchanged.
template <class T, class Device>
struct lu_factors {
  tensor<T, Device> lu;
  tensor<i32, Device> pivots;
  auto tie() { return std::tie(lu, pivots); }
};
/// The same, and a number that is 0 where no element of U's diagonal is 0.
template <class T, class Device>
struct lu_factors_and_info {
  tensor<T, Device> lu;
  tensor<i32, Device> pivots, info;
  auto tie() { return std::tie(lu, pivots, info); }
};
/// A permutation and two triangles. What was not asked for has no elements.
template <class T, class Device>
struct lu_parts {
  tensor<T, Device> p, l, u;
  auto tie() { return std::tie(p, l, u); }
};
/// The sign of a determinant, 0 if the matrix is singular, and the logarithm of its magnitude.
template <class T, class Device>
struct signed_logarithm {
  tensor<T, Device> sign, logabsdet;
  auto tie() { return std::tie(sign, logabsdet); }
};

namespace detail {

/// The sizes of the pivots of matrices.
inline shape pivot_sizes(int_list sizes) {
  const int r = sizes.size();
  return batch_of(batch_sizes(sizes), {kernels::min_of(sizes[r - 1], sizes[r - 2])});
}
/// The sizes of P, L and U.
inline std::tuple<shape, shape, shape> part_sizes(int_list sizes, bool permutes = true,
                                                  bool triangles = true) {
  const i64 m = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1], k = kernels::min_of(m, n);
  const shape batch = batch_sizes(sizes), none{0};
  return {permutes ? batch_of(batch, {m, m}) : none, triangles ? batch_of(batch, {m, k}) : none,
          triangles ? batch_of(batch, {k, n}) : none};
}

template <class S, class T, class D>
void lu_into(const char* op, const S& stream, const tensor_view<const T, D>& x,
             const tensor_view<T, D>& lu, const tensor_view<i32, D>& pivots,
             const tensor_view<i32, D>& info, bool pivot) {
  check_matrices(op, x.sizes());
  check_factors(op, x, lu, pivot_sizes(x.sizes()), pivots, info);
  if (info.empty() ||
      replaced<operators::linalg_lu_factor_ex>(op, stream, x, lu, pivots, info, pivot))
    return;
  if (x.empty()) return fill(op, stream, info, 0);
  if constexpr (factors_in_workspaces<D>) {
    factor_lu(op, stream, x, lu, pivots, info, pivot);
  } else {
    copy_into(op, stream, lu, x);
    const i64 m = lu.size(-2), n = lu.size(-1);
    matrix_plan plan(batch_sizes(lu.sizes()));
    plan.add(lu);
    plan.add_vector(pivots);
    plan.add_number(info);
    const kernels::row_space space = plan.space();
    const launch_config config =
        matrix_launch(op, space, work_of(m, n, kernels::min_of(m, n)), m * n / 16);
    launch<kernels::lu_factor<T>>(stream, config, space, m, n, plan.operand(0, lu),
                                  plan.vector(1, pivots), plan.number(2, info),
                                  static_cast<i32>(pivot ? 1 : 0));
  }
}
template <class S, class D>
void check_nonzero_diagonal(const char* op, const S& stream,
                            const tensor_view<const i32, D>& info) {
  check_info(op, stream, info, "a U without zeros on its diagonal", "one at place ");
}

/// New LU factors of x, of contiguous columns.
template <class S, class T, class D>
auto lu_of(const char* op, const S& stream, const tensor_view<const T, D>& x, bool pivot = true) {
  check_matrices(op, x.sizes());
  lu_factors_and_info<T, D> out{empty_by_columns<T>(stream, x.shape_of(), op),
                                empty<i32>(stream, pivot_sizes(x.sizes()), op),
                                empty<i32>(stream, batch_sizes(x.sizes()), op)};
  lu_into(op, stream, x, out.lu.view(), out.pivots.view(), out.info.view(), pivot);
  return out;
}

/// p = the permutation that pivots stand for.
template <class S, class T, class D>
void permutation_into(const char* op, const S& stream, const tensor_view<const i32, D>& pivots,
                      const tensor_view<T, D>& p) {
  if (p.empty()) return;
  const i64 m = p.size(-1);
  auto orders = empty<i64>(stream, batch_of(batch_sizes(p.sizes()), {m}), op);
  matrix_plan plan(batch_sizes(p.sizes()));
  plan.add_vector(orders.view());
  plan.add_vector(pivots);
  const kernels::row_space space = plan.space();
  const launch_config config = matrix_launch(op, space, work_of(m, 8), m);
  launch<kernels::lu_order>(stream, config, space, m, pivots.size(-1), plan.vector(1, pivots),
                            plan.vector(0, orders.view()));
  using at = coordinate<D>;
  using same = call<to_bool, kernels::eq_fn, at, leaf<i64, D>>;
  const at row(p.shape_of(), p.rank() - 2);
  const leaf<i64, D> order{input_of(orders).unsqueeze(-2).expand(p.sizes())};
  assign_node(op, stream, p,
              choice<same, number<T>, number<T>>{same{{}, {row, order}}, {T(1)}, {T(0)}});
}

/// Writes the triangles of LU factors; `p` is written by permutation_into.
template <class S, class T, class D>
void triangles_into(const char* op, const S& stream, const tensor_view<const T, D>& lu,
                    const tensor_view<T, D>& l, const tensor_view<T, D>& u) {
  const i64 k = kernels::min_of(lu.size(-2), lu.size(-1));
  if (!l.empty()) {
    using at = coordinate<D>;
    const at row(l.shape_of(), l.rank() - 2), column(l.shape_of(), l.rank() - 1);
    using below = call<to_bool, kernels::gt_fn, at, at>;
    using same = call<to_bool, kernels::eq_fn, at, at>;
    using rest = choice<same, number<T>, number<T>>;
    assign_node(
        op, stream, l,
        choice<below, leaf<T, D>, rest>{below{{}, {row, column}}, leaf<T, D>{lu.narrow(-1, 0, k)},
                                        rest{same{{}, {row, column}}, {T(1)}, {T(0)}}});
  }
  triangle<operators::triu, false>(op, stream, lu.narrow(-2, 0, k), u, 0);
}

template <class S, class T, class D>
void unpack_into(const char* op, const S& stream, const tensor_view<const T, D>& lu,
                 const tensor_view<const i32, D>& pivots, bool unpack_data, bool unpack_pivots,
                 const tensor_view<T, D>& p, const tensor_view<T, D>& l,
                 const tensor_view<T, D>& u) {
  check_matrices(op, lu.sizes());
  check_operand_sizes(op, "pivots", pivot_sizes(lu.sizes()), pivots.sizes());
  const auto [p_sizes, l_sizes, u_sizes] = part_sizes(lu.sizes(), unpack_pivots, unpack_data);
  check_output_sizes(op, p_sizes, p);
  check_output_sizes(op, l_sizes, l);
  check_output_sizes(op, u_sizes, u);
  check_separate(op, p, lu, pivots);
  check_separate(op, l, lu, pivots, p);
  check_separate(op, u, lu, pivots, p, l);
  if (unpack_pivots) check_indices(op, stream, pivots, lu.size(-2) + 1);
  if (replaced<operators::lu_unpack>(op, stream, lu, pivots, p, l, u)) return;
  if (unpack_pivots) permutation_into(op, stream, pivots, p);
  if (unpack_data) triangles_into(op, stream, lu, l, u);
}

/// The determinants of x, or their signs and the logarithms of their magnitudes.
template <class S, class T, class D>
void determinant_into(const char* op, const S& stream, const tensor_view<const T, D>& x,
                      const tensor_view<T, D>* sign, const tensor_view<T, D>& magnitude) {
  check_square(op, x.sizes());
  const shape batch = batch_sizes(x.sizes());
  check_output_sizes(op, batch, magnitude);
  check_separate(op, magnitude, x);
  if (sign != nullptr) {
    check_output_sizes(op, batch, *sign);
    check_separate(op, *sign, x, magnitude);
  }
  if (magnitude.empty()) return;
  const auto factors = lu_of(op, stream, x);
  const auto lu = input_of(factors.lu);
  const auto pivots = input_of(factors.pivots);
  const tensor_view<T, D>& signs = sign != nullptr ? *sign : magnitude;
  matrix_plan plan(batch);
  plan.add_number(magnitude);
  plan.add_number(signs);
  plan.add(lu);
  plan.add_vector(pivots);
  const kernels::row_space space = plan.space();
  const i64 n = x.size(-1);
  const launch_config config = matrix_launch(op, space, work_of(n, 16), n);
  launch<kernels::lu_determinant<T>>(
      stream, config, space, n, plan.operand(2, lu), plan.vector(3, pivots), plan.number(1, signs),
      plan.number(0, magnitude), static_cast<i32>(sign != nullptr ? 1 : 0));
}

}  // namespace detail

/// P A = L U: lu has L below its diagonal, whose own has ones, and U from the diagonal on; row k
/// was exchanged with row pivots[k], counted from 1. info is 0, or the first place, counted from 1,
/// at which U's diagonal is 0.
///
/// Shapes: a, lu [..., m, n], pivots [..., min(m, n)] and info [...] of i32; f32 or f64. `lu` may
/// be a. Without `pivot` no rows are exchanged, and P is the identity. With `check_errors`, waits
/// for the stream and raises invalid_argument if an info is not 0. Raises shape_mismatch,
/// invalid_argument or overlap before anything is written.
/// aten::linalg_lu_factor_ex.out(Tensor A, *, bool pivot=True, bool check_errors=False, Tensor(a!)
/// LU, Tensor(b!) pivots, Tensor(c!) info)
template <stream_like S, tensor_like X, tensor_like LU, tensor_like Pivots, tensor_like Info>
void linalg_lu_factor_ex(const S& stream, const X& a, LU&& lu, Pivots&& pivots, Info&& info,
                         bool pivot = true, bool check_errors = false) {
  constexpr const char* op = "linalg_lu_factor_ex";
  same_device<S, X, LU, Pivots, Info>();
  if constexpr (detail::check_factor_types<const X&, LU>()) {
    detail::lu_into(op, stream, detail::input_of(a), as_view(lu), as_view(pivots), as_view(info),
                    pivot);
    if (check_errors)
      detail::check_nonzero_diagonal(op, stream,
                                     detail::input_of(contiguous(stream, as_view(info))));
  }
}
/// linalg_lu_factor_ex in new tensors; columns of lu are contiguous.
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_lu_factor_ex(const S& stream, const X& a, bool pivot = true,
                                       bool check_errors = false) {
  constexpr const char* op = "linalg_lu_factor_ex";
  auto out = detail::lu_of(op, stream, detail::input_of(a), pivot);
  if (check_errors) detail::check_nonzero_diagonal(op, stream, detail::input_of(out.info));
  return out;
}

/// As linalg_lu_factor_ex with check_errors.
/// aten::linalg_lu_factor.out(Tensor A, *, bool pivot=True, Tensor(a!) LU, Tensor(b!) pivots)
template <stream_like S, tensor_like X, tensor_like LU, tensor_like Pivots>
void linalg_lu_factor(const S& stream, const X& a, LU&& lu, Pivots&& pivots, bool pivot = true) {
  constexpr const char* op = "linalg_lu_factor";
  same_device<S, X, LU, Pivots>();
  if constexpr (detail::check_factor_types<const X&, LU>()) {
    const auto x = detail::input_of(a);
    detail::check_matrices(op, x.sizes());
    auto info = empty<i32>(stream, detail::batch_sizes(x.sizes()), op);
    detail::lu_into(op, stream, x, as_view(lu), as_view(pivots), info.view(), pivot);
    detail::check_nonzero_diagonal(op, stream, detail::input_of(info));
  }
}
/// linalg_lu_factor in new tensors; columns of lu are contiguous.
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_lu_factor(const S& stream, const X& a, bool pivot = true) {
  constexpr const char* op = "linalg_lu_factor";
  auto all = detail::lu_of(op, stream, detail::input_of(a), pivot);
  detail::check_nonzero_diagonal(op, stream, detail::input_of(all.info));
  return lu_factors<value_t<const X&>, device_of<S>>{std::move(all.lu), std::move(all.pivots)};
}

/// p, l, u = the permutation and the triangles of LU factors: A = P L U.
///
/// Shapes: lu_data [..., m, n], lu_pivots [..., min(m, n)] of i32, p [..., m, m], l [..., m, k], u
/// [..., k, n], k = min(m, n); what is not to be unpacked has sizes [0]. Raises shape_mismatch,
/// invalid_argument, overlap, or out_of_range (of pivots, where the host can read them) before
/// anything is written. aten::lu_unpack.out(Tensor LU_data, Tensor LU_pivots, bool
/// unpack_data=True, bool unpack_pivots=True, *, Tensor(a!) P, Tensor(b!) L, Tensor(c!) U)
template <stream_like S, tensor_like X, tensor_like Pivots, tensor_like P, tensor_like L,
          tensor_like U>
void lu_unpack(const S& stream, const X& lu_data, const Pivots& lu_pivots, P&& p, L&& l, U&& u,
               bool unpack_data = true, bool unpack_pivots = true) {
  same_device<S, X, Pivots, P, L, U>();
  if constexpr (detail::check_factor_types<const X&, P, L, U>())
    detail::unpack_into("lu_unpack", stream, detail::input_of(lu_data), detail::input_of(lu_pivots),
                        unpack_data, unpack_pivots, as_view(p), as_view(l), as_view(u));
}
/// lu_unpack in new tensors.
template <stream_like S, tensor_like X, tensor_like Pivots>
requires(std::is_same_v<value_t<const Pivots&>, i32>)
    [[nodiscard]] auto lu_unpack(const S& stream, const X& lu_data, const Pivots& lu_pivots,
                                 bool unpack_data = true, bool unpack_pivots = true) {
  constexpr const char* op = "lu_unpack";
  using T = value_t<const X&>;
  const auto x = as_view(lu_data);
  detail::check_matrices(op, x.sizes());
  const auto [p, l, u] = detail::part_sizes(x.sizes(), unpack_pivots, unpack_data);
  lu_parts<T, device_of<S>> out{empty<T>(stream, p, op), empty<T>(stream, l, op),
                                empty<T>(stream, u, op)};
  lu_unpack(stream, lu_data, lu_pivots, out.p, out.l, out.u, unpack_data, unpack_pivots);
  return out;
}

/// a = p l u, of a permutation and two triangles; without `pivot` no rows are exchanged, and p has
/// sizes [0].
///
/// Shapes as lu_unpack, of a [..., m, n]. Raises as linalg_lu_factor_ex.
/// aten::linalg_lu.out(Tensor A, *, bool pivot=True, Tensor(a!) P, Tensor(b!) L, Tensor(c!) U)
template <stream_like S, tensor_like X, tensor_like P, tensor_like L, tensor_like U>
void linalg_lu(const S& stream, const X& a, P&& p, L&& l, U&& u, bool pivot = true) {
  constexpr const char* op = "linalg_lu";
  same_device<S, X, P, L, U>();
  if constexpr (detail::check_factor_types<const X&, P, L, U>()) {
    const auto x = detail::input_of(a);
    detail::check_separate(op, as_view(p), x);
    detail::check_separate(op, as_view(l), x);
    detail::check_separate(op, as_view(u), x);
    const auto factors = detail::lu_of(op, stream, x, pivot);
    detail::unpack_into(op, stream, detail::input_of(factors.lu), detail::input_of(factors.pivots),
                        true, pivot, as_view(p), as_view(l), as_view(u));
  }
}
/// linalg_lu in new tensors.
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_lu(const S& stream, const X& a, bool pivot = true) {
  constexpr const char* op = "linalg_lu";
  using T = value_t<const X&>;
  const auto x = as_view(a);
  detail::check_matrices(op, x.sizes());
  const auto [p, l, u] = detail::part_sizes(x.sizes(), pivot);
  lu_parts<T, device_of<S>> out{empty<T>(stream, p, op), empty<T>(stream, l, op),
                                empty<T>(stream, u, op)};
  linalg_lu(stream, a, out.p, out.l, out.u, pivot);
  return out;
}

/// out = the determinants of matrices, 1 of one without rows.
///
/// Shapes: a [..., n, n], out [...]; f32 or f64. Raises shape_mismatch, invalid_argument or overlap
/// before anything is written. aten::linalg_det.out(Tensor A, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void linalg_det(const S& stream, const X& a, Out&& out) {
  same_device<S, X, Out>();
  if constexpr (detail::check_factor_types<const X&, Out>()) {
    const tensor_view<value_t<const X&>, device_of<S>>* const no_sign = nullptr;
    detail::determinant_into("linalg_det", stream, detail::input_of(a), no_sign, as_view(out));
  }
}
/// linalg_det in a new tensor.
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_det(const S& stream, const X& a) {
  const auto x = as_view(a);
  detail::check_square("linalg_det", x.sizes());
  auto out = empty<value_t<const X&>>(stream, detail::batch_sizes(x.sizes()), "linalg_det");
  linalg_det(stream, a, out);
  return out;
}

/// sign, logabsdet = the signs of determinants, and the logarithms of their magnitudes: 0 and -inf
/// of a singular matrix.
///
/// Shapes: a [..., n, n], sign, logabsdet [...]; f32 or f64. Raises as linalg_det.
/// aten::linalg_slogdet.out(Tensor A, *, Tensor(a!) sign, Tensor(b!) logabsdet)
template <stream_like S, tensor_like X, tensor_like Sign, tensor_like Log>
void linalg_slogdet(const S& stream, const X& a, Sign&& sign, Log&& logabsdet) {
  same_device<S, X, Sign, Log>();
  if constexpr (detail::check_factor_types<const X&, Sign, Log>()) {
    const tensor_view<value_t<const X&>, device_of<S>> signs(as_view(sign));
    detail::determinant_into("linalg_slogdet", stream, detail::input_of(a), &signs,
                             as_view(logabsdet));
  }
}
/// linalg_slogdet in new tensors.
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_slogdet(const S& stream, const X& a) {
  using T = value_t<const X&>;
  const auto x = as_view(a);
  detail::check_square("linalg_slogdet", x.sizes());
  const shape batch = detail::batch_sizes(x.sizes());
  signed_logarithm<T, device_of<S>> out{empty<T>(stream, batch, "linalg_slogdet"),
                                        empty<T>(stream, batch, "linalg_slogdet")};
  linalg_slogdet(stream, a, out.sign, out.logabsdet);
  return out;
}

}  // namespace flaggems
