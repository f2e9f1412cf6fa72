// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Factors of symmetric matrices that need not be definite. A block factors a matrix, or solves for
// a column.
#pragma once

#include <flaggems/kernel/family/factor/ldl.hpp>
#include <flaggems/ops/cholesky.hpp>

#include <tuple>

namespace flaggems {

namespace operators {
struct linalg_ldl_factor_ex;
struct linalg_ldl_solve;
}  // namespace operators

/// L and D in one matrix, and the rows that were exchanged.
template <class T, class Device>
struct ldl_factors {
  tensor<T, Device> ld;
  tensor<i32, Device> pivots;
  auto tie() { return std::tie(ld, pivots); }
};
/// The same, and a number that is 0 where no element of D's diagonal is 0.
template <class T, class Device>
struct ldl_factors_and_info {
  tensor<T, Device> ld;
  tensor<i32, Device> pivots, info;
  auto tie() { return std::tie(ld, pivots, info); }
};

namespace detail {

template <class S, class T, class D>
void ldl_into(const char* op, const S& stream, const tensor_view<const T, D>& x,
              const tensor_view<T, D>& ld, const tensor_view<i32, D>& pivots,
              const tensor_view<i32, D>& info) {
  check_square(op, x.sizes());
  check_factors(op, x, ld, batch_sizes(x.sizes(), 1), pivots, info);
  if (info.empty() || replaced<operators::linalg_ldl_factor_ex>(op, stream, x, ld, pivots, info))
    return;
  triangle<operators::tril, true>(op, stream, x, ld, 0);
  const i64 n = x.size(-1);
  matrix_plan plan(batch_sizes(x.sizes()));
  plan.add(ld);
  plan.add_vector(pivots);
  plan.add_number(info);
  const kernels::row_space space = plan.space();
  const launch_config config = matrix_launch(op, space, work_of(n, n, n), n * n / 16);
  launch<kernels::ldl_factor<T>>(stream, config, space, n, plan.operand(0, ld),
                                 plan.vector(1, pivots), plan.number(2, info));
}
template <class S, class T, class D>
auto ldl_of(const char* op, const S& stream, const tensor_view<const T, D>& x) {
  check_square(op, x.sizes());
  ldl_factors_and_info<T, D> out{empty_by_columns<T>(stream, x.shape_of(), op),
                                 empty<i32>(stream, batch_sizes(x.sizes(), 1), op),
                                 empty<i32>(stream, batch_sizes(x.sizes()), op)};
  ldl_into(op, stream, x, out.ld.view(), out.pivots.view(), out.info.view());
  return out;
}
template <class S, class D>
void check_nonzero_blocks(const char* op, const S& stream, const tensor_view<const i32, D>& info) {
  check_info(op, stream, info, "a D without zeros on its diagonal", "one at place ");
}

}  // namespace detail

/// self = L D L^T: ld has L below its diagonal, whose own has ones, and blocks of D of one or two
/// rows. pivots and what is exchanged are those of LAPACK's sytrf: a positive number is the row,
/// counted from 1, that its row was exchanged with; a block of two rows has a negative one twice,
/// of the row that its second one was exchanged with. info is 0, or the first place, counted from
/// 1, at which D is singular.
///
/// Shapes: self, ld [..., n, n], pivots [..., n] and info [...] of i32; f32 or f64, for which
/// `hermitian` means nothing. Of self only the lower triangle is read; `ld` may be self. With
/// `check_errors`, waits for the stream and raises invalid_argument if an info is not 0. Raises
/// shape_mismatch, invalid_argument or overlap before anything is written.
/// aten::linalg_ldl_factor_ex.out(Tensor self, *, bool hermitian=False, bool check_errors=False,
/// Tensor(a!) LD, Tensor(b!) pivots, Tensor(c!) info)
template <stream_like S, tensor_like X, tensor_like LD, tensor_like Pivots, tensor_like Info>
void linalg_ldl_factor_ex(const S& stream, const X& self, LD&& ld, Pivots&& pivots, Info&& info,
                          [[maybe_unused]] bool hermitian = false, bool check_errors = false) {
  constexpr const char* op = "linalg_ldl_factor_ex";
  same_device<S, X, LD, Pivots, Info>();
  if constexpr (detail::check_factor_types<const X&, LD>()) {
    detail::ldl_into(op, stream, detail::input_of(self), as_view(ld), as_view(pivots),
                     as_view(info));
    if (check_errors)
      detail::check_nonzero_blocks(op, stream, detail::input_of(contiguous(stream, as_view(info))));
  }
}
/// linalg_ldl_factor_ex in new tensors; columns of ld are contiguous.
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_ldl_factor_ex(const S& stream, const X& self,
                                        [[maybe_unused]] bool hermitian = false,
                                        bool check_errors = false) {
  constexpr const char* op = "linalg_ldl_factor_ex";
  auto out = detail::ldl_of(op, stream, detail::input_of(self));
  if (check_errors) detail::check_nonzero_blocks(op, stream, detail::input_of(out.info));
  return out;
}

/// As linalg_ldl_factor_ex with check_errors.
/// aten::linalg_ldl_factor.out(Tensor self, *, bool hermitian=False, Tensor(a!) LD, Tensor(b!)
/// pivots)
template <stream_like S, tensor_like X, tensor_like LD, tensor_like Pivots>
void linalg_ldl_factor(const S& stream, const X& self, LD&& ld, Pivots&& pivots,
                       [[maybe_unused]] bool hermitian = false) {
  constexpr const char* op = "linalg_ldl_factor";
  same_device<S, X, LD, Pivots>();
  if constexpr (detail::check_factor_types<const X&, LD>()) {
    const auto x = detail::input_of(self);
    detail::check_square(op, x.sizes());
    auto info = empty<i32>(stream, detail::batch_sizes(x.sizes()), op);
    detail::ldl_into(op, stream, x, as_view(ld), as_view(pivots), info.view());
    detail::check_nonzero_blocks(op, stream, detail::input_of(info));
  }
}
/// linalg_ldl_factor in new tensors; columns of ld are contiguous.
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_ldl_factor(const S& stream, const X& self,
                                     [[maybe_unused]] bool hermitian = false) {
  constexpr const char* op = "linalg_ldl_factor";
  auto all = detail::ldl_of(op, stream, detail::input_of(self));
  detail::check_nonzero_blocks(op, stream, detail::input_of(all.info));
  return ldl_factors<value_t<const X&>, device_of<S>>{std::move(all.ld), std::move(all.pivots)};
}

/// out = the solution of A out = b, where ld and pivots are what linalg_ldl_factor gives of A.
///
/// Shapes: ld [..., n, n], pivots [..., n] of i32, b, out [..., n, k]; batches broadcast. f32 or
/// f64; `out` may be b. Raises shape_mismatch, invalid_argument or overlap before anything is
/// written. aten::linalg_ldl_solve.out(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False,
/// Tensor(a!) out)
template <stream_like S, tensor_like LD, tensor_like Pivots, tensor_like B, tensor_like Out>
void linalg_ldl_solve(const S& stream, const LD& ld, const Pivots& pivots, const B& b, Out&& out,
                      [[maybe_unused]] bool hermitian = false) {
  constexpr const char* op = "linalg_ldl_solve";
  same_device<S, LD, Pivots, B, Out>();
  if constexpr (detail::check_factor_types<const LD&, const B&, Out>()) {
    using T = value_t<const LD&>;
    const auto factor = detail::input_of(ld), given = detail::input_of(b);
    const auto places = detail::input_of(pivots);
    const auto to = as_view(out);
    const shape sizes = detail::solved_sizes(op, factor, given);
    detail::check_operand_sizes(op, "pivots", detail::batch_sizes(factor.sizes(), 1),
                                places.sizes());
    check_output_sizes(op, sizes, to);
    const auto right_side = given.expand(sizes);
    check_output(op, to, right_side);
    detail::check_separate(op, to, factor, places);
    if (to.empty() ||
        detail::replaced<operators::linalg_ldl_solve>(op, stream, factor, places, right_side, to))
      return;
    detail::copy_into(op, stream, to, right_side);
    const i64 n = to.size(-2);
    detail::matrix_plan plan(detail::batch_sizes(to.sizes()), to.size(-1));
    plan.add_columns(to);
    plan.add(factor);
    plan.add_vector(places);
    const kernels::row_space space = plan.space();
    const launch_config config = detail::matrix_launch(op, space, work_of(n, n, 4), n);
    launch<kernels::ldl_solve<T>>(stream, config, space, n, plan.operand(1, factor),
                                  plan.vector(2, places), plan.operand(0, to));
  }
}
/// linalg_ldl_solve in a new tensor, whose columns are contiguous.
template <stream_like S, tensor_like LD, tensor_like Pivots, tensor_like B>
requires(std::is_same_v<value_t<const Pivots&>, i32>)
    [[nodiscard]] auto linalg_ldl_solve(const S& stream, const LD& ld, const Pivots& pivots,
                                        const B& b, bool hermitian = false) {
  constexpr const char* op = "linalg_ldl_solve";
  auto out = detail::empty_by_columns<value_t<const LD&>>(
      stream, detail::solved_sizes(op, as_view(ld), as_view(b)), op);
  linalg_ldl_solve(stream, ld, pivots, b, out, hermitian);
  return out;
}

}  // namespace flaggems
