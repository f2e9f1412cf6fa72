// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Singular values and vectors. A block has a matrix.
#pragma once

#include <flaggems/kernel/family/factor/svd.hpp>
#include <flaggems/ops/cholesky.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/dispatch/factor.hpp>

#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace flaggems {

namespace operators {
struct linalg_svd;
}

/// What cuSOLVER's algorithms are called in ATen: a hint, as there is one algorithm here.
enum class svd_driver : int { gesvd, gesvdj, gesvda };

/// The driver of ATen's name. Raises invalid_argument for others.
inline svd_driver spelled(std::string_view text, std::type_identity<svd_driver>) {
  if (text == "gesvd") return svd_driver::gesvd;
  if (text == "gesvdj") return svd_driver::gesvdj;
  if (text == "gesvda") return svd_driver::gesvda;
  raise(errc::invalid_argument, "linalg_svd", "a driver of gesvd, gesvdj or gesvda", text);
}

/// Singular vectors and values: A = u diag(s) vh.
template <class T, class Device>
struct singular_factors {
  tensor<T, Device> u, s, vh;
  auto tie() { return std::tie(u, s, vh); }
};

namespace detail {

/// The sizes of u, s and vh.
inline std::tuple<shape, shape, shape> singular_sizes(const char* op, int_list sizes, bool full) {
  check_matrices(op, sizes);
  const i64 m = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1], k = kernels::min_of(m, n);
  const shape batch = batch_sizes(sizes);
  return {batch_of(batch, {m, full ? m : k}), batch_of(batch, {k}),
          batch_of(batch, {full ? n : k, n})};
}

/// `out` if its columns are contiguous, else new matrices of its sizes in `memory`.
template <class S, class T, class D>
tensor_view<T, D> with_contiguous_columns(const char* op, const S& stream,
                                          const tensor_view<T, D>& out, tensor<T, D>& memory) {
  if (out.stride(-2) == 1) return out;
  memory = empty_by_columns<T>(stream, out.shape_of(), op);
  return memory.view();
}

/// Writes s, and unless they are null u and vh, after the checks; x is not empty. With `whole`, u
/// and vh are square.
template <class S, class T, class D>
void svd_launch(const char* op, const S& stream, const tensor_view<const T, D>& x,
                const tensor_view<T, D>* u, const tensor_view<T, D>& s,
                const tensor_view<T, D>* vh) {
  const bool tall = x.size(-2) >= x.size(-1), vectors = u != nullptr;
  const auto from = tall ? x : x.transpose(-2, -1);
  const i64 m = from.size(-2), n = from.size(-1);
  const shape batch = batch_sizes(x.sizes());
  const auto check_all = [&](const tensor<i32, D>& info) {
    check_info(op, stream, input_of(info), "finite matrices whose rotations converge",
               "one with the code ");
  };
  if constexpr (factors_in_workspaces<D>)
    if (!vectors) {
      auto info = empty<i32>(stream, batch, op);
      find_singular_values(op, stream, from, s, info.view());
      return check_all(info);
    }
  // Of a wide matrix the transpose is factored, whose u is the transposed vh.
  tensor<T, D> left_memory, right_memory;
  tensor_view<T, D> to_left, to_right, left, right;
  if (vectors) {
    to_left = tall ? *u : vh->transpose(-2, -1);
    to_right = tall ? vh->transpose(-2, -1) : *u;
    left = with_contiguous_columns(op, stream, to_left, left_memory);
    right_memory = empty_by_columns<T>(stream, batch_of(batch, {n, n}), op);
    right = right_memory.view();
  } else {
    left_memory = empty_by_columns<T>(stream, from.shape_of(), op);
    left = right = left_memory.view();
  }
  copy_into(op, stream, left.narrow(-1, 0, n), from);
  auto info = empty<i32>(stream, batch, op);
  matrix_plan plan(batch);
  plan.add(left);
  plan.add(right);
  plan.add_vector(s);
  plan.add_number(info.view());
  const kernels::row_space space = plan.space();
  const launch_config config = matrix_launch(op, space, work_of(m, n, n, 32), m);
  launch<kernels::jacobi_svd<T>>(stream, config, space, m, n, left.size(-1), plan.operand(0, left),
                                 plan.vector(2, s), plan.operand(1, right),
                                 plan.number(3, info.view()), static_cast<i32>(vectors ? 1 : 0));
  if (vectors) {
    if (left.data() != to_left.data()) copy_into(op, stream, to_left, input_of(left));
    copy_into(op, stream, to_right.narrow(-1, 0, n), input_of(right));
  }
  check_all(info);
}

/// u and vh may be null.
template <class S, class T, class D>
void svd_into(const char* op, const S& stream, const tensor_view<const T, D>& x,
              const tensor_view<T, D>* u, const tensor_view<T, D>& s, const tensor_view<T, D>* vh,
              bool full) {
  const auto [u_sizes, s_sizes, vh_sizes] = singular_sizes(op, x.sizes(), full);
  check_output_sizes(op, s_sizes, s);
  check_separate(op, s, x);
  if (u != nullptr) {
    check_output_sizes(op, u_sizes, *u);
    check_output_sizes(op, vh_sizes, *vh);
    check_separate(op, *u, x, s);
    check_separate(op, *vh, x, s, *u);
  }
  if (x.empty()) {  // bases of whatever space there is
    if (u != nullptr) write_identity(op, stream, *u), write_identity(op, stream, *vh);
    return;
  }
  if (!replaced<operators::linalg_svd>(op, stream, x, u, s, vh))
    svd_launch(op, stream, x, u, s, vh);
}

/// New singular values and vectors; columns of u and vh are contiguous.
template <class S, class T, class D>
auto svd_of(const char* op, const S& stream, const tensor_view<const T, D>& x, bool full,
            bool compute_uv = true) {
  const auto [u_sizes, s_sizes, vh_sizes] = singular_sizes(op, x.sizes(), full);
  singular_factors<T, D> out{
      compute_uv ? empty_by_columns<T>(stream, u_sizes, op) : empty<T>(stream, {0}, op),
      empty<T>(stream, s_sizes, op),
      compute_uv ? empty_by_columns<T>(stream, vh_sizes, op) : empty<T>(stream, {0}, op)};
  const auto u = out.u.view(), vh = out.vh.view();
  svd_into(op, stream, x, compute_uv ? &u : nullptr, out.s.view(), compute_uv ? &vh : nullptr,
           full);
  return out;
}

}  // namespace detail

/// a = u diag(s) vh, where the columns of u and the rows of vh are orthonormal, and s descends.
///
/// Shapes: a [..., m, n], s [..., k], k = min(m, n), u [..., m, m] and vh [..., n, n], or unless
/// `full_matrices` u [..., m, k] and vh [..., k, n]; f32 or f64. They share no memory. The sign of
/// a column of u and its row of vh is any. Waits for the stream, and raises invalid_argument if a
/// is not finite (code 1) or rotations do not converge (2). Raises shape_mismatch,
/// invalid_argument or overlap before anything is written.
/// aten::linalg_svd.U(Tensor A, bool full_matrices=True, *, str? driver=None, Tensor(a!) U,
/// Tensor(b!) S, Tensor(c!) Vh)
template <stream_like S, tensor_like X, tensor_like U, tensor_like Values, tensor_like Vh>
void linalg_svd(const S& stream, const X& a, U&& u, Values&& s, Vh&& vh, bool full_matrices = true,
                [[maybe_unused]] const std::optional<svd_driver>& driver = {}) {
  same_device<S, X, U, Values, Vh>();
  if constexpr (detail::check_factor_types<const X&, U, Values, Vh>()) {
    using view = tensor_view<value_t<const X&>, device_of<S>>;
    const view left(as_view(u)), right(as_view(vh));
    detail::svd_into("linalg_svd", stream, detail::input_of(a), &left, view(as_view(s)), &right,
                     full_matrices);
  }
}
/// linalg_svd in new tensors; columns of u and vh are contiguous.
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_svd(const S& stream, const X& a, bool full_matrices = true,
                              [[maybe_unused]] const std::optional<svd_driver>& driver = {}) {
  return detail::svd_of("linalg_svd", stream, detail::input_of(a), full_matrices);
}

/// out = the singular values of matrices, in descending order. out [..., min(m, n)]; otherwise as
/// linalg_svd. aten::linalg_svdvals.out(Tensor A, *, str? driver=None, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void linalg_svdvals(const S& stream, const X& a, Out&& out,
                    [[maybe_unused]] const std::optional<svd_driver>& driver = {}) {
  same_device<S, X, Out>();
  if constexpr (detail::check_factor_types<const X&, Out>()) {
    using view = tensor_view<value_t<const X&>, device_of<S>>;
    const view* const none = nullptr;
    detail::svd_into("linalg_svdvals", stream, detail::input_of(a), none, view(as_view(out)), none,
                     false);
  }
}
/// linalg_svdvals in a new tensor.
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_svdvals(const S& stream, const X& a,
                                  const std::optional<svd_driver>& driver = {}) {
  constexpr const char* op = "linalg_svdvals";
  auto out = empty<value_t<const X&>>(
      stream, std::get<1>(detail::singular_sizes(op, as_view(a).sizes(), false)), op);
  linalg_svdvals(stream, a, out, driver);
  return out;
}

/// self = u diag(s) v^T, u [..., m, k] and v [..., n, k], or [..., m, m] and [..., n, n] unless
/// `some`, or, unless `compute_uv`, those with zeros. Otherwise as linalg_svd.
/// aten::svd.U(Tensor self, bool some=True, bool compute_uv=True, *, Tensor(a!) U, Tensor(b!) S,
/// Tensor(c!) V)
template <stream_like S, tensor_like X, tensor_like U, tensor_like Values, tensor_like V>
void svd(const S& stream, const X& self, U&& u, Values&& s, V&& v, bool some = true,
         bool compute_uv = true) {
  constexpr const char* op = "svd";
  same_device<S, X, U, Values, V>();
  if constexpr (detail::check_factor_types<const X&, U, Values, V>()) {
    using view = tensor_view<value_t<const X&>, device_of<S>>;
    const auto x = detail::input_of(self);
    const view left(as_view(u));
    detail::check_matrices(op, as_view(v).sizes());
    const view right(as_view(v).transpose(-2, -1));
    if (compute_uv) return detail::svd_into(op, stream, x, &left, view(as_view(s)), &right, !some);
    const auto [u_sizes, s_sizes, vh_sizes] = detail::singular_sizes(op, x.sizes(), true);
    check_output_sizes(op, u_sizes, left);
    check_output_sizes(op, vh_sizes, right);
    detail::check_separate(op, left, x, as_view(s));
    detail::check_separate(op, right, x, as_view(s), left);
    const view* const none = nullptr;
    detail::svd_into(op, stream, x, none, view(as_view(s)), none, false);
    detail::fill(op, stream, left, 0);
    detail::fill(op, stream, right, 0);
  }
}
/// svd in new tensors.
template <stream_like S, tensor_like X>
[[nodiscard]] auto svd(const S& stream, const X& self, bool some = true, bool compute_uv = true) {
  constexpr const char* op = "svd";
  using T = value_t<const X&>;
  const auto [u, s, vh] = detail::singular_sizes(op, as_view(self).sizes(), !some || !compute_uv);
  shape v(vh);
  const int r = v.rank();
  v[r - 2] = vh[r - 1], v[r - 1] = vh[r - 2];
  std::tuple out{compute_uv ? detail::empty_by_columns<T>(stream, u, op) : empty<T>(stream, u, op),
                 empty<T>(stream, s, op),
                 compute_uv ? empty<T>(stream, v, op) : detail::empty_by_columns<T>(stream, v, op)};
  svd(stream, self, std::get<0>(out), std::get<1>(out), std::get<2>(out), some, compute_uv);
  return out;
}

}  // namespace flaggems
