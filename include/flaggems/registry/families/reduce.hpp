// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/reduce.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems {

/// A list of dimensions that was given and is empty: of ATen's any and all, nothing is reduced.
struct no_dimensions {};

#define FLAGGEMS_OF_ELEMENTS(name)                                              \
  template <class S, tensor_like X>                                             \
  [[nodiscard]] auto name(const S& stream, const X& x, no_dimensions, bool) {   \
    return name(stream, x.unsqueeze(-1), -1);                                   \
  }                                                                             \
  template <class S, tensor_like X, tensor_like Out>                            \
  void name(const S& stream, const X& x, const Out& out, no_dimensions, bool) { \
    name(stream, x.unsqueeze(-1), out, -1);                                     \
  }
FLAGGEMS_OF_ELEMENTS(any)
FLAGGEMS_OF_ELEMENTS(all)
#undef FLAGGEMS_OF_ELEMENTS

}  // namespace flaggems

namespace flaggems::operator_families {

/// Dimensions, of which None means all.
struct dims_choice {
  static constexpr std::string_view parameter = "dim";
  template <class, class>
  using example = int_list;
  template <class, class, class D, class F>
  static void choose(const boxed<D>& dims, const F& f) {
    if (dims.kind() == boxed_kind::integers && dims.integers().size() == 0)
      f(no_dimensions());
    else
      f(dims.is_none() ? int_list() : dims.integers());
  }
};
using types_with_dims = bindings::with_choice<numeric_types, dims_choice>;

/// Reductions.
struct reduce {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND_RESULT(flaggems::sum, numeric_or_complex_types, line("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor").out("IntList_out")),
        FLAGGEMS_BIND_RESULT(flaggems::sum, numeric_or_complex_types, "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor"),
        FLAGGEMS_BIND_RESULT(flaggems::mean, inexact_types, line("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor").out("out")),
        FLAGGEMS_BIND_RESULT(flaggems::mean, inexact_types, line("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor").out("dtype_out")),
        FLAGGEMS_BIND_RESULT(flaggems::prod, numeric_types, line("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor").out("int_out")),
        FLAGGEMS_BIND_RESULT(flaggems::prod, numeric_types, "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::amax, numeric_types, line("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor").exact_out()),
        FLAGGEMS_BIND(flaggems::amin, numeric_types, line("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor").exact_out()),
        FLAGGEMS_BIND(flaggems::any, numeric_types, line("any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor").out("out")),
        FLAGGEMS_BIND(flaggems::any, types_with_dims, "any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::any, numeric_types, line("any(Tensor self) -> Tensor").out("all_out")),
        FLAGGEMS_BIND(flaggems::all, numeric_types, line("all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor").out("out")),
        FLAGGEMS_BIND(flaggems::all, types_with_dims, "all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::all, numeric_types, line("all(Tensor self) -> Tensor").out("all_out")),
        FLAGGEMS_BIND(flaggems::argmax, arithmetic_types, "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::argmin, arithmetic_types, "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
