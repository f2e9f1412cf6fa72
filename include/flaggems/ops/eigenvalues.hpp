// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Eigenvalues of general matrices. A block has a matrix.
#pragma once

#include <flaggems/kernel/family/factor/eigenvalues.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/plan/matrices.hpp>

#include <type_traits>

namespace flaggems {

namespace operators {
struct linalg_eigvals;
}

namespace detail {

template <class S, class T, class D, class Z>
void eigenvalues_into(const S& stream, const tensor_view<const T, D>& x,
                      const tensor_view<Z, D>& out) {
  constexpr const char* op = "linalg_eigvals";
  check_square(op, x.sizes());
  check_output_sizes(op, batch_sizes(x.sizes(), 1), out);
  check_separate(op, out, x);
  if (out.empty() || replaced<operators::linalg_eigvals>(op, stream, x, out)) return;
  const shape batch = batch_sizes(x.sizes());
  auto work = empty_by_columns<T>(stream, x.shape_of(), op);
  auto info = empty<i32>(stream, batch, op);
  copy_into(op, stream, work.view(), x);
  matrix_plan plan(batch);
  plan.add(work.view());
  plan.add_vector(out);
  plan.add_number(info.view());
  const kernels::row_space space = plan.space();
  const i64 n = x.size(-1);
  const launch_config config = matrix_launch(op, space, work_of(n, n, n, 16), n);
  launch<kernels::hessenberg_qr<T>>(stream, config, space, n, plan.operand(0, work.view()),
                                    plan.vector(1, out), plan.number(2, info.view()));
  check_info(op, stream, input_of(info), "finite matrices whose steps converge",
             "one with the code ");
}

}  // namespace detail

/// out = the eigenvalues of matrices, in any order; conjugate ones are neighbours.
///
/// Shapes: self [..., n, n], f32 or f64, out [..., n], complex of that precision. They share no
/// memory. Matrices are not balanced: of badly scaled ones, small eigenvalues are less exact. Waits
/// for the stream, and raises invalid_argument if a matrix is not finite (code 1) or the steps do
/// not converge (2). Raises shape_mismatch, invalid_argument or overlap before anything is written.
/// aten::linalg_eigvals.out(Tensor self, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void linalg_eigvals(const S& stream, const X& self, Out&& out) {
  same_device<S, X, Out>();
  if constexpr (detail::check_factor_types<const X&>()) {
    using Z = kernels::complex<value_t<const X&>>;
    static_assert(std::is_same_v<value_t<Out>, Z>,
                  "flaggems: eigenvalues are complex, of the input's precision");
    detail::eigenvalues_into(stream, detail::input_of(self),
                             tensor_view<Z, device_of<S>>(as_view(out)));
  }
}
/// linalg_eigvals in a new tensor. aten::_linalg_eigvals(Tensor self)
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_eigvals(const S& stream, const X& self) {
  constexpr const char* op = "linalg_eigvals";
  const auto x = as_view(self);
  detail::check_square(op, x.sizes());
  auto out =
      empty<kernels::complex<value_t<const X&>>>(stream, detail::batch_sizes(x.sizes(), 1), op);
  linalg_eigvals(stream, self, out);
  return out;
}

}  // namespace flaggems
