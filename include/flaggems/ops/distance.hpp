// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Distances between rows, rows kept within a norm, and norms of matrices: reductions of formulas,
// so that no difference is stored.
#pragma once

#include <flaggems/ops/checks.hpp>
#include <flaggems/ops/gather.hpp>
#include <flaggems/ops/rounding.hpp>
#include <flaggems/ops/statistics.hpp>
#include <flaggems/ops/svd.hpp>
#include <flaggems/ops/triangle.hpp>

#include <optional>
#include <string_view>
#include <type_traits>

namespace flaggems {

namespace detail {

/// Does not compile unless all have one floating-point dtype; gives whether they have.
template <class... X>
constexpr bool one_floating_type() {
  using T = std::remove_const_t<value_t<std::tuple_element_t<0, std::tuple<X...>>>>;
  constexpr bool right =
      kind_of<T> == kind::floating && (std::is_same_v<T, std::remove_const_t<value_t<X>>> && ...);
  static_assert(right, "flaggems: the tensors have one floating-point dtype");
  return right;
}

/// out = the norm of order p over the last dimension of an expression of that length.
template <class S, class X, class T, class D>
void rows_norm(const char* op, const S& stream, const X& x, i64 length, f64 p, bool keepdim,
               const tensor_view<T, D>& out) {
  if (out.empty()) return;
  if (length == 0) return fill(op, stream, out, 0);
  const i64 last[] = {-1};
  norm_of<arithmetic_t<T>>(op, stream, x, p, int_list(last, 1), keepdim, out);
}

/// Of two tensors that broadcast: their sizes without the last one, or with 1 there.
template <class X, class Y>
shape pairwise_shape(const X& x1, const Y& x2, bool keepdim) {
  constexpr const char* op = "pairwise_distance";
  shape sizes = broadcast_shapes(x1.shape_of(), x2.shape_of(), op);
  if (sizes.rank() == 0) [[unlikely]]
    raise(errc::shape_mismatch, op, "tensors of at least one dimension", "none");
  sizes.erase(sizes.rank() - 1);
  if (keepdim) sizes.push_back(1);
  return sizes;
}

/// [..., P, R] of x1 [..., P, M] and x2 [..., R, M].
template <class X, class Y>
shape cdist_shape(const X& x1, const Y& x2) {
  constexpr const char* op = "cdist";
  if (x1.rank() < 2 || x2.rank() < 2 || x1.size(-1) != x2.size(-1)) [[unlikely]]
    raise(errc::shape_mismatch, op, "two tensors [..., rows, M]",
          to_string(x1.shape_of()) + " and " + to_string(x2.shape_of()));
  shape sizes = broadcast_shapes(x1.unsqueeze(-2).shape_of(), x2.unsqueeze(-3).shape_of(), op);
  sizes.erase(sizes.rank() - 1);
  return sizes;
}
inline void check_order(const char* op, f64 p, std::optional<i64> compute_mode = {}) {
  if (!(p >= 0)) [[unlikely]]
    raise(errc::invalid_argument, op, "an order of at least 0", text(p));
  if (compute_mode && (*compute_mode < 0 || *compute_mode > 2)) [[unlikely]]
    raise(errc::invalid_argument, op, "a compute_mode of 0 to 2", text(*compute_mode));
}

/// [..., P, M] of grad and distances [..., P, R].
template <class G, class X, class Y, class Z>
shape cdist_backward_shape(const G& grad, const X& x1, const Y& x2, const Z& distances) {
  constexpr const char* op = "cdist_backward";
  shape sizes = cdist_shape(x1, x2);
  check_output_sizes(op, sizes, grad);
  check_output_sizes(op, sizes, distances);
  if (sizes.numel() == 0) return x1.shape_of();
  sizes[sizes.rank() - 1] = x1.size(-1);
  return sizes;
}

/// n (n - 1) / 2 of x [n, M].
template <class X>
i64 count_pairs(const X& x) {
  if (x.rank() != 2) [[unlikely]]
    raise(errc::shape_mismatch, "pdist", "a tensor [rows, M]", to_string(x.shape_of()));
  return x.size(0) * (x.size(0) - 1) / 2;
}

template <class S, class T, class D>
void renorm_into(const char* op, const S& stream, const tensor_view<const T, D>& x, f64 p, i64 dim,
                 f64 maxnorm, const tensor_view<T, D>& out) {
  using C = arithmetic_t<T>;
  if (!(p > 0) || !(maxnorm >= 0) || x.rank() < 2) [[unlikely]]
    raise(errc::invalid_argument, op, "p > 0, maxnorm >= 0 and at least two dimensions",
          text(p) + ", " + text(maxnorm) + " and " + text(x.rank()));
  const int along = normalize_dim(dim, x.rank(), op);
  static_cast<void>(check_same_shape(op, out, x));
  if (out.empty()) return;
  i64 others[max_rank] = {};
  int n = 0;
  shape sizes;
  for (int d = 0; d < x.rank(); ++d) {
    if (d != along) others[n++] = d;
    sizes.push_back(d == along ? x.size(d) : 1);
  }
  auto norms = empty<C>(stream, sizes, op);
  norm_of<C>(op, stream, cast<C>(x), p, int_list(others, n), true, norms.view());
  const C most = static_cast<C>(maxnorm);
  const auto factor = where(gt(norms, most), div(most, add(norms, C(1e-7))), C(1));
  assign_node(op, stream, out, cast<T>(mul(cast<C>(x), factor)).node);
}

/// The two dimensions of a matrix norm, counted from 0.
struct matrix_dims {
  i64 rows, columns;
  matrix_dims(const char* op, int rank, int_list dims) {
    if (dims.size() != 2) [[unlikely]]
      raise(errc::invalid_argument, op, "two dimensions", text(dims.size()));
    rows = normalize_dim(dims[0], rank, op);
    columns = normalize_dim(dims[1], rank, op);
    if (rows == columns) [[unlikely]]
      raise(errc::invalid_argument, op, "two different dimensions", text(rows) + " twice");
  }
};
/// What a norm is of the singular values, which descend.
enum class spectral : u8 { greatest, least, total };

template <class S, class T, class D>
void spectral_norm_into(const char* op, const S& stream, const tensor_view<const T, D>& x,
                        const matrix_dims& matrix, spectral what, bool keepdim,
                        const tensor_view<T, D>& out) {
  if constexpr (std::is_same_v<T, f64> || std::is_same_v<T, f32>) {
    shape order;  // the matrices last
    for (i64 d = 0; d < x.rank(); ++d)
      if (d != matrix.rows && d != matrix.columns) order.push_back(d);
    order.push_back(matrix.rows);
    order.push_back(matrix.columns);
    const auto values = linalg_svdvals(stream, x.permute(order));
    const auto to = keepdim ? out.permute(order).select(-1, 0).select(-1, 0) : out;
    const i64 last = -1;
    if (what == spectral::total)
      return sum_into<T>(op, stream, values, to, int_list(&last, 1), false);
    const i64 at = what == spectral::greatest ? 0 : values.size(-1) - 1;
    copy_into(op, stream, to, values.view().select(-1, at));
  } else {
    raise(errc::not_supported, op, "f32 or f64 for a norm of singular values",
          to_string(dtype_of<T>));
  }
}
template <class S, class T, class D>
auto empty_for_matrix_norm(const S& stream, const tensor_view<T, D>& x, int_list dims,
                           bool keepdim) {
  constexpr const char* op = "linalg_matrix_norm";
  static_cast<void>(matrix_dims(op, x.rank(), dims));
  return empty<std::remove_const_t<T>>(stream, reduced_shape(op, x, dims, keepdim), op);
}
template <class S, class T, class D>
void matrix_norm_into(const S& stream, const tensor_view<const T, D>& x, f64 ord, int_list dims,
                      bool keepdim, const tensor_view<T, D>& out) {
  constexpr const char* op = "linalg_matrix_norm";
  using C = arithmetic_t<T>;
  const matrix_dims matrix(op, x.rank(), dims);
  const bool by_columns = ord == 1 || ord == -1, by_both = ord == 2 || ord == -2;
  if (!by_columns && !by_both && !__builtin_isinf(ord)) [[unlikely]]
    raise(errc::invalid_argument, op, "an order of 1, -1, 2, -2, inf or -inf", text(ord));
  const i64 first = by_columns ? matrix.rows : matrix.columns;
  const i64 second = by_columns ? matrix.columns : matrix.rows;
  check_reduced(op, x, out, dims, keepdim);
  if (out.empty()) return;
  if (x.size(second) == 0 || (by_both && x.size(first) == 0)) [[unlikely]]
    raise(errc::invalid_argument, op, "at least one element for a norm of order " + text(ord),
          "sizes " + to_string(x.shape_of()));
  if (by_both)
    return spectral_norm_into(op, stream, x, matrix, ord > 0 ? spectral::greatest : spectral::least,
                              keepdim, out);
  auto sums = empty<C>(stream, reduced_shape(op, x, int_list(&first, 1), true), op);
  sum_into<C>(op, stream, abs(cast<C>(x)), sums.view(), int_list(&first, 1), true);
  // Over both, as the first has one element left.
  norm_of<C>(op, stream, sums, ord > 0 ? kernels::infinity_of<f64>() : -kernels::infinity_of<f64>(),
             dims, keepdim, out);
}
}  // namespace detail

/// out[...] = the norm of order p of x1 - x2 + eps over the last dimension.
///
/// x1, x2 [..., M] broadcast; out [...], or [..., 1] with keepdim; one floating-point dtype; sums
/// are in f32 or f64. out shares no memory with an input. Raises shape_mismatch or overlap before
/// anything is written. aten::pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06,
/// bool keepdim=False)
template <stream_like S, tensor_like X, tensor_like Y, tensor_like Out>
void pairwise_distance(const S& stream, const X& x1, const Y& x2, Out&& out, f64 p = 2,
                       f64 eps = 1e-6, bool keepdim = false) {
  constexpr const char* op = "pairwise_distance";
  same_device<S, X, Y, Out>();
  if constexpr (detail::one_floating_type<X, Y, Out>()) {
    using C = detail::arithmetic_t<value_t<Out>>;
    const auto a = detail::input_of(x1);
    const auto b = detail::input_of(x2);
    const auto to = as_view(out);
    check_output_sizes(op, detail::pairwise_shape(a, b, keepdim), to);
    check_disjoint_output(op, to, a, b);
    const shape all = broadcast_shapes(a.shape_of(), b.shape_of(), op);
    const i64 length = all[all.rank() - 1];
    detail::rows_norm(op, stream, add(sub(cast<C>(a), cast<C>(b)), static_cast<C>(eps)), length, p,
                      keepdim, to);
  }
}
template <stream_like S, tensor_like X, tensor_like Y>
[[nodiscard]] auto pairwise_distance(const S& stream, const X& x1, const Y& x2, f64 p = 2,
                                     f64 eps = 1e-6, bool keepdim = false) {
  auto out = empty<value_t<const X&>>(
      stream, detail::pairwise_shape(as_view(x1), as_view(x2), keepdim), "pairwise_distance");
  pairwise_distance(stream, x1, x2, out, p, eps, keepdim);
  return out;
}

/// out[..., i, j] = the norm of order p of x1[..., i] - x2[..., j].
///
/// x1 [..., P, M], x2 [..., R, M], whose leading dimensions broadcast; out [..., P, R]; one
/// floating-point dtype; sums are in f32 or f64, of differences whatever compute_mode. out shares
/// no memory with an input. Raises shape_mismatch, invalid_argument or overlap before anything is
/// written. aten::cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None)
template <stream_like S, tensor_like X, tensor_like Y, tensor_like Out>
void cdist(const S& stream, const X& x1, const Y& x2, Out&& out, f64 p = 2,
           std::optional<i64> compute_mode = {}) {
  constexpr const char* op = "cdist";
  same_device<S, X, Y, Out>();
  if constexpr (detail::one_floating_type<X, Y, Out>()) {
    using C = detail::arithmetic_t<value_t<Out>>;
    const auto a = detail::input_of(x1);
    const auto b = detail::input_of(x2);
    const auto to = as_view(out);
    detail::check_order(op, p, compute_mode);
    check_output_sizes(op, detail::cdist_shape(a, b), to);
    check_disjoint_output(op, to, a, b);
    detail::rows_norm(op, stream, sub(cast<C>(a.unsqueeze(-2)), cast<C>(b.unsqueeze(-3))),
                      a.size(-1), p, false, to);
  }
}
template <stream_like S, tensor_like X, tensor_like Y>
[[nodiscard]] auto cdist(const S& stream, const X& x1, const Y& x2, f64 p = 2,
                         std::optional<i64> compute_mode = {}) {
  auto out =
      empty<value_t<const X&>>(stream, detail::cdist_shape(as_view(x1), as_view(x2)), "cdist");
  cdist(stream, x1, x2, out, p, compute_mode);
  return out;
}

/// grad_x1 = the gradient of cdist(x1, x2) with respect to x1, from that of its result.
///
/// grad, cdist [..., P, R], x1 [..., P, M], x2 [..., R, M], whose leading dimensions broadcast to
/// those of grad; grad_x1 [..., P, M]; one floating-point dtype; sums are in f32 or f64. Where a
/// distance is 0 its gradient is 0. grad_x1 shares no memory with an input. Raises shape_mismatch,
/// invalid_argument or overlap before anything is written. aten::_cdist_backward.out(Tensor grad,
/// Tensor x1, Tensor x2, float p, Tensor cdist, *, Tensor(a!) out)
template <stream_like S, tensor_like G, tensor_like X, tensor_like Y, tensor_like Z,
          tensor_like Out>
void cdist_backward(const S& stream, const G& grad, const X& x1, const Y& x2, f64 p, const Z& cdist,
                    Out&& grad_x1) {
  constexpr const char* op = "cdist_backward";
  same_device<S, G, X, Y, Z, Out>();
  if constexpr (detail::one_floating_type<G, X, Y, Z, Out>()) {
    using C = detail::arithmetic_t<value_t<Out>>;
    const auto g = detail::input_of(grad), z = detail::input_of(cdist);
    const auto a = detail::input_of(x1), b = detail::input_of(x2);
    const auto to = as_view(grad_x1);
    detail::check_order(op, p);
    check_output_sizes(op, detail::cdist_backward_shape(g, a, b, z), to);
    check_disjoint_output(op, to, g, a, b, z);
    if (to.empty()) return;
    if (p == 0 || g.empty()) return detail::fill(op, stream, to, 0);
    const auto d = sub(cast<C>(a.unsqueeze(-2)), cast<C>(b.unsqueeze(-3)));
    const auto of_pair = cast<C>(g.unsqueeze(-1)), norm = cast<C>(z.unsqueeze(-1));
    const i64 others[] = {-2};
    const auto add_up = [&](const auto& term) {
      detail::sum_into<C>(op, stream, mul(of_pair, term), to, int_list(others, 1), false);
    };
    if (p == 1) return add_up(sign(d));
    if (p == 2) return add_up(where(eq(norm, C(0)), C(0), div(d, norm)));
    if (__builtin_isinf(p)) return add_up(mul(sign(d), cast<C>(eq(abs(d), norm))));
    const C power = static_cast<C>(p - 1);
    const auto term = mul(sign(d), div(pow(abs(d), power), pow(norm, power)));
    if (p < 1) return add_up(where(eq(d, C(0)), C(0), term));
    add_up(where(eq(norm, C(0)), C(0), term));
  }
}
template <stream_like S, tensor_like G, tensor_like X, tensor_like Y, tensor_like Z>
[[nodiscard]] auto cdist_backward(const S& stream, const G& grad, const X& x1, const Y& x2, f64 p,
                                  const Z& cdist) {
  auto out = empty<value_t<const X&>>(
      stream, detail::cdist_backward_shape(as_view(grad), as_view(x1), as_view(x2), as_view(cdist)),
      "cdist_backward");
  cdist_backward(stream, grad, x1, x2, p, cdist, out);
  return out;
}

/// out = the norms of order p of x[i] - x[j] for i < j, by i, then j; one launch an i.
///
/// x [N, M], out [N (N - 1) / 2], one floating-point dtype; sums are in f32 or f64. out shares no
/// memory with x. Raises shape_mismatch, invalid_argument or overlap before anything is written.
/// aten::pdist(Tensor self, float p=2)
template <stream_like S, tensor_like X, tensor_like Out>
void pdist(const S& stream, const X& x, Out&& out, f64 p = 2) {
  constexpr const char* op = "pdist";
  same_device<S, X, Out>();
  if constexpr (detail::one_floating_type<X, Out>()) {
    using C = detail::arithmetic_t<value_t<Out>>;
    const auto rows = detail::input_of(x);
    const auto to = as_view(out);
    detail::check_order(op, p);
    check_output_sizes(op, {detail::count_pairs(rows)}, to);
    check_disjoint_output(op, to, rows);
    i64 first = 0;
    for (i64 i = 0, left = rows.size(0) - 1; left > 0; ++i, first += left, --left)
      detail::rows_norm(op, stream,
                        sub(cast<C>(rows.narrow(0, i, 1)), cast<C>(rows.narrow(0, i + 1, left))),
                        rows.size(1), p, false, to.narrow(0, first, left));
  }
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto pdist(const S& stream, const X& x, f64 p = 2) {
  auto out = empty<value_t<const X&>>(stream, {detail::count_pairs(as_view(x))}, "pdist");
  pdist(stream, x, out, p);
  return out;
}

namespace detail {
/// The elements of x, one for each pair i < j of n rows, as a symmetric matrix with zeros between.
template <class S, class T, class D>
tensor<T, D> pairs_as_matrix(const char* op, const S& stream, const tensor_view<const T, D>& x,
                             i64 n) {
  const shape sizes{n, n};
  const expr<coordinate<D>> i(coordinate<D>(sizes, 0)), j(coordinate<D>(sizes, 1));
  const auto low = minimum(i, j);
  const auto high = maximum(i, j);
  // Pairs with a smaller row first: low (2 n - 1 - low) / 2, an integer.
  const auto before = div(mul(low, sub(2 * n - 1, low)), i64(2), rounding_mode::floor);
  const auto is_pair = ne(i, j);
  auto places = empty<i64>(stream, sizes, op);
  assign(stream, places, where(is_pair, sub(add(before, sub(high, low)), 1), i64(0)), op);
  auto out = empty<T>(stream, sizes, op);
  shape none{0, 0};
  launch_gather(
      op, stream,
      indexed_elements<const T, i64, D>{x.data(), none, x.numel(), x.stride(0), input_of(places)},
      out.view());
  assign(stream, out, where(is_pair, out, kernels::number_cast<T>(0)), op);
  return out;
}
}  // namespace detail

/// grad_self = the gradient of pdist(self), from that of its result, whose distances are `pdist`.
///
/// grad_output, pdist [N (N - 1) / 2], self, grad_self [N, M], one floating-point dtype; sums are
/// in f32 or f64. Where a distance is 0 its gradient is 0. grad_self shares no memory with an
/// input. Raises shape_mismatch, invalid_argument or overlap before anything is written.
/// aten::_pdist_backward.out(Tensor grad_output, Tensor self, float p, Tensor pdist, *, Tensor(a!)
/// out)
template <stream_like S, tensor_like G, tensor_like X, tensor_like Z, tensor_like Out>
void pdist_backward(const S& stream, const G& grad_output, const X& self, f64 p, const Z& pdist,
                    Out&& grad_self) {
  constexpr const char* op = "pdist_backward";
  same_device<S, G, X, Z, Out>();
  if constexpr (detail::one_floating_type<G, X, Z, Out>()) {
    const auto g = detail::input_of(grad_output), z = detail::input_of(pdist);
    const auto x = detail::input_of(self);
    const auto to = as_view(grad_self);
    detail::check_order(op, p);
    const shape pairs{detail::count_pairs(x)};
    for (const auto* list : {&g, &z})
      if (!detail::same_sizes(list->sizes(), pairs)) [[unlikely]]
        detail::raise_other_sizes(op, pairs, list->sizes());
    check_output_sizes(op, x.shape_of(), to);
    check_disjoint_output(op, to, g, x, z);
    if (to.empty()) return;
    if (pairs[0] == 0) return detail::fill(op, stream, to, 0);
    const auto grads = detail::pairs_as_matrix(op, stream, g, x.size(0));
    const auto distances = detail::pairs_as_matrix(op, stream, z, x.size(0));
    cdist_backward(stream, grads, x, x, p, distances, to);
  }
}
template <stream_like S, tensor_like G, tensor_like X, tensor_like Z>
[[nodiscard]] auto pdist_backward(const S& stream, const G& grad_output, const X& self, f64 p,
                                  const Z& pdist) {
  auto out = empty<value_t<const X&>>(stream, as_view(self).shape_of(), "pdist_backward");
  pdist_backward(stream, grad_output, self, p, pdist, out);
  return out;
}

/// out = x, where each part x.select(dim, i) whose norm of order p is above maxnorm is scaled to
/// that (divided by its norm + 1e-7).
///
/// x, out: the same sizes of at least two dimensions, one floating-point dtype; `out` may be `x`.
/// Raises out_of_range, invalid_argument, shape_mismatch or overlap before anything is written.
/// aten::renorm.out(Tensor self, Scalar p, int dim, Scalar maxnorm, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void renorm(const S& stream, const X& x, Out&& out, f64 p, i64 dim, f64 maxnorm) {
  same_device<S, X, Out>();
  if constexpr (detail::one_floating_type<X, Out>())
    detail::renorm_into("renorm", stream, detail::input_of(x), p, dim, maxnorm, as_view(out));
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto renorm(const S& stream, const X& x, f64 p, i64 dim, f64 maxnorm) {
  auto out = empty<value_t<const X&>>(stream, as_view(x).shape_of(), "renorm");
  renorm(stream, x, out, p, dim, maxnorm);
  return out;
}
/// x = renorm(x). aten::renorm_(Tensor(a!) self, Scalar p, int dim, Scalar maxnorm)
template <stream_like S, tensor_like X>
void renorm_(const S& stream, X&& x, f64 p, i64 dim, f64 maxnorm) {
  same_device<S, X>();
  if constexpr (detail::one_floating_type<X>())
    detail::renorm_into("renorm_", stream, detail::input_of(x), p, dim, maxnorm, as_view(x));
}

/// The norms of matrices that ATen has by name: of Frobenius, and nuclear.
enum class matrix_norm_order : u8 { fro, nuc };
/// ATen's name of one. Raises invalid_argument for others.
inline matrix_norm_order spelled(std::string_view text, std::type_identity<matrix_norm_order>) {
  if (text == "fro") return matrix_norm_order::fro;
  if (text == "nuc") return matrix_norm_order::nuc;
  raise(errc::invalid_argument, "linalg_matrix_norm", "an order of fro or nuc", text);
}

/// out[kept] = a norm of the matrices of two dimensions: the largest sum of |x| of a column for
/// ord = 1, of a row for infinity, the largest singular value for 2, and the smallest for their
/// negatives.
///
/// x of at least two dimensions, one floating-point dtype, f32 or f64 for 2 and -2; sums are in f32
/// or f64. out shares no memory with x. Raises invalid_argument for other orders, and
/// where linalg_svdvals does, not_supported for singular values of other dtypes; out_of_range,
/// shape_mismatch or overlap. All before anything is written. aten::linalg_matrix_norm.out(Tensor
/// self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!)
/// out)
template <stream_like S, tensor_like X, tensor_like Out>
void linalg_matrix_norm(const S& stream, const X& x, Out&& out, f64 ord,
                        const dim_list& dims = {-2, -1}, bool keepdim = false) {
  same_device<S, X, Out>();
  if constexpr (detail::one_floating_type<X, Out>())
    detail::matrix_norm_into(stream, detail::input_of(x), ord, dims, keepdim, as_view(out));
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_matrix_norm(const S& stream, const X& x, f64 ord,
                                      const dim_list& dims = {-2, -1}, bool keepdim = false) {
  auto out = detail::empty_for_matrix_norm(stream, as_view(x), dims, keepdim);
  linalg_matrix_norm(stream, x, out, ord, dims, keepdim);
  return out;
}

/// out[kept] = the norm of Frobenius of the matrices of two dimensions, or the nuclear one, the sum
/// of their singular values. Otherwise as linalg_matrix_norm of a number.
/// aten::linalg_matrix_norm.str_ord_out(Tensor self, str ord='fro', int[] dim=[-2, -1], bool
/// keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void linalg_matrix_norm(const S& stream, const X& x, Out&& out, matrix_norm_order ord,
                        const dim_list& dims = {-2, -1}, bool keepdim = false) {
  constexpr const char* op = "linalg_matrix_norm";
  same_device<S, X, Out>();
  if constexpr (detail::one_floating_type<X, Out>()) {
    const auto v = detail::input_of(x);
    const auto to = as_view(out);
    const detail::matrix_dims matrix(op, v.rank(), dims);
    detail::check_reduced(op, v, to, dims, keepdim);
    if (ord == matrix_norm_order::nuc)
      return detail::spectral_norm_into(op, stream, v, matrix, detail::spectral::total, keepdim,
                                        to);
    using C = detail::arithmetic_t<value_t<Out>>;
    detail::norm_of<C>(op, stream, cast<C>(v), 2, dims, keepdim, to);
  }
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_matrix_norm(const S& stream, const X& x, matrix_norm_order ord,
                                      const dim_list& dims = {-2, -1}, bool keepdim = false) {
  auto out = detail::empty_for_matrix_norm(stream, as_view(x), dims, keepdim);
  linalg_matrix_norm(stream, x, out, ord, dims, keepdim);
  return out;
}

}  // namespace flaggems
