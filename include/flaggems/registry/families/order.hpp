// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/histogram.hpp>
#include <flaggems/ops/order_statistics.hpp>
#include <flaggems/ops/search.hpp>
#include <flaggems/ops/segment_reduce.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/topk.hpp>
#include <flaggems/ops/unique.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// Weights of any real dtype, or none.
struct weight_choice {
  static constexpr std::string_view parameter = "weights";
  template <class T, class D>
  using example = std::nullopt_t;
  template <class T, class Dtypes, class D, class F>
  static void choose(const boxed<D>& weights, const F& f) {
    if (weights.is_none()) return f(std::nullopt);
    visit(
        Dtypes{}, weights.view().dtype(),
        [&](auto type) {
          using W = typename decltype(type)::type;
          if constexpr (detail::kind_of<W> == detail::kind::complex_number)
            raise(errc::dtype_mismatch, "bincount", "real weights", "complex ones");
          else
            f(weights.view().template as<const W>());
        },
        "bincount");
  }
};
using counted_types = bindings::with_choice<whole_types, weight_choice>;

/// Sorting, selection and what follows from an order.
struct order {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::topk, numeric_types, line("topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)").out("values").outputs_after(2)),
        FLAGGEMS_BIND(flaggems::sort, numeric_types, line("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)").out("values")),
        FLAGGEMS_BIND(flaggems::sort, numeric_types, line("sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)").out("values_stable")),
        FLAGGEMS_BIND(flaggems::argsort, numeric_types, "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::argsort, numeric_types, "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::kthvalue, numeric_types, line("kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)").out("values").outputs_after(2)),
        FLAGGEMS_BIND(flaggems::median, numeric_types, "median(Tensor self) -> Tensor"),
        FLAGGEMS_BIND(flaggems::median, numeric_types, line("median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)").out("dim_values")),
        FLAGGEMS_BIND(flaggems::nanmedian, numeric_types, "nanmedian(Tensor self) -> Tensor"),
        FLAGGEMS_BIND(flaggems::nanmedian, numeric_types, line("nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)").out("dim_values")),
        FLAGGEMS_BIND(flaggems::mode, numeric_types, line("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)").out("values")),
        FLAGGEMS_BIND(flaggems::quantile, part_types, "quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor"),
        FLAGGEMS_BIND(flaggems::quantile, part_types, line("quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor").outputs_after(2)),
        FLAGGEMS_BIND(flaggems::nanquantile, part_types, "nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor"),
        FLAGGEMS_BIND(flaggems::nanquantile, part_types, line("nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor").outputs_after(2)),
        FLAGGEMS_BIND(flaggems::unique2, numeric_types, line("_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::unique_dim, numeric_types, line("unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::unique_consecutive, numeric_types, line("unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::searchsorted, numeric_types, line("searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor").promotes().outputs_after(2).exact_out()),
        FLAGGEMS_BIND_RESULT(flaggems::searchsorted, numeric_types, line("searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor").outputs_after(2).exact_out()),
        FLAGGEMS_BIND_RESULT(flaggems::bucketize, numeric_types, line("bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor").promotes().exact_out()),
        FLAGGEMS_BIND_RESULT(flaggems::bucketize, numeric_types, line("bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor").exact_out()),
        FLAGGEMS_BIND(flaggems::bincount, counted_types, line("bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::segment_reduce, floating_types, line("segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor").outputs_after(5)),
        FLAGGEMS_BIND(flaggems::segment_reduce_backward, floating_types, line("_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None, Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::histc, floating_types, line("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor")));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
