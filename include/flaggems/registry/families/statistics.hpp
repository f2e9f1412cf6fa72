// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/diff.hpp>
#include <flaggems/ops/distance.hpp>
#include <flaggems/ops/outer.hpp>
#include <flaggems/ops/statistics.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// Reductions made of others, and products of vectors.
struct statistics {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND((flaggems::max), arithmetic_types, line("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)").without_out()),
        FLAGGEMS_BIND((flaggems::max), numeric_types, line("max(Tensor self) -> Tensor").without_out()),
        FLAGGEMS_BIND((flaggems::min), arithmetic_types, line("min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)").without_out()),
        FLAGGEMS_BIND((flaggems::min), numeric_types, line("min(Tensor self) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::aminmax, numeric_types, "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)"),
        FLAGGEMS_BIND(flaggems::count_nonzero, numeric_types, "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor"),
        FLAGGEMS_BIND(flaggems::count_nonzero, numeric_types, line("count_nonzero(Tensor self, int? dim=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::nansum, floating_types, "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::logsumexp, floating_types, line("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor").to_float().also("special_logsumexp")),
        FLAGGEMS_BIND(flaggems::var, floating_types, "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::stddev, floating_types, "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::var_mean, floating_types, "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)"),
        FLAGGEMS_BIND(flaggems::linalg_vector_norm, floating_types, "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::norm, floating_types, line("norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor").out("out")),
        FLAGGEMS_BIND(flaggems::norm, floating_types, "norm.Scalar(Tensor self, Scalar p=2) -> Tensor"),
        FLAGGEMS_BIND(flaggems::trace, numeric_types, "trace(Tensor self) -> Tensor"),
        FLAGGEMS_BIND(flaggems::is_all_true, type_list<bool>, line("_is_all_true(Tensor self) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::is_any_true, type_list<bool>, line("_is_any_true(Tensor self) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::assert_async, numeric_types, "_assert_async(Tensor self) -> ()"),
        FLAGGEMS_BIND(flaggems::assert_async, numeric_types, "_assert_async.msg(Tensor self, str assert_msg) -> ()"),
        FLAGGEMS_BIND(flaggems::functional_assert_async, numeric_types, line("_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::is_nonzero, numeric_types, "is_nonzero(Tensor self) -> bool"),
        FLAGGEMS_BIND(flaggems::diff, numeric_types, line("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::equal, numeric_types, "equal(Tensor self, Tensor other) -> bool"),
        FLAGGEMS_BIND(flaggems::allclose, numeric_types, "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool"),
        FLAGGEMS_BIND(flaggems::outer, numeric_types, line("outer(Tensor self, Tensor vec2) -> Tensor").promotes().also("ger")),
        FLAGGEMS_BIND(flaggems::dist, floating_types, line("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor").outputs_after(2)),
        FLAGGEMS_BIND(flaggems::pairwise_distance, floating_types, line("pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::cdist, floating_types, line("cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::cdist, floating_types, "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor"),
        FLAGGEMS_BIND(flaggems::cdist, floating_types, "_euclidean_dist(Tensor x1, Tensor x2) -> Tensor"),
        FLAGGEMS_BIND(flaggems::cdist_backward, floating_types, line("_cdist_backward(Tensor grad_output, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor").version(2)),
        FLAGGEMS_BIND(flaggems::pdist, floating_types, line("pdist(Tensor self, float p=2) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::pdist, floating_types, "_pdist_forward(Tensor self, float p=2) -> Tensor"),
        FLAGGEMS_BIND(flaggems::pdist_backward, floating_types, "_pdist_backward(Tensor grad_output, Tensor self, float p, Tensor pdist) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::renorm, floating_types, "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor"),
        FLAGGEMS_BIND(flaggems::linalg_matrix_norm, floating_types, line("linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor").version(2)),
        FLAGGEMS_BIND(flaggems::linalg_matrix_norm, floating_types, line("linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor").out("str_ord_out")),
        FLAGGEMS_BIND(flaggems::dot, arithmetic_or_complex_types, "dot(Tensor self, Tensor tensor) -> Tensor"),
        FLAGGEMS_BIND(flaggems::vdot, arithmetic_or_complex_types, "vdot(Tensor self, Tensor other) -> Tensor"),
        FLAGGEMS_BIND(flaggems::linalg_vecdot, inexact_types, "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor"),
        FLAGGEMS_BIND(flaggems::addr, arithmetic_types, line("addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor").options_from("beta")),
        FLAGGEMS_BIND(flaggems::addmv, arithmetic_types, line("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor").options_from("beta")),
        FLAGGEMS_BIND(flaggems::kron, numeric_types, line("kron(Tensor self, Tensor other) -> Tensor").promotes()));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
