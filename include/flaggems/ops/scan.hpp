// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Scans: out[i] is a sum, product, largest or smallest element of elements 0 to i along a
// dimension.
#pragma once

#include <flaggems/device/checks.hpp>
#include <flaggems/ops/dispatch/scan.hpp>
#include <flaggems/ops/plan/indices.hpp>
#include <flaggems/ops/promotion.hpp>
#include <flaggems/tensor/dtype.hpp>

namespace flaggems {
namespace operators {
struct cumsum;
struct cumprod;
struct logcumsumexp;
struct cummax;
struct cummin;
}  // namespace operators

namespace detail {

/// What a scan of T with results of O computes in: f64 or f32 for floats, else i64.
template <class T, class O>
using scan_type = std::conditional_t<
    std::is_same_v<T, f64> || std::is_same_v<O, f64>, f64,
    std::conditional_t<kind_of<T> == kind::floating || kind_of<O> == kind::floating, f32, i64>>;
/// What cummax and cummin compare in.
template <class T>
using compared_type = std::conditional_t<std::is_same_v<T, bool>, i32, kernels::compute_type<T>>;

/// Checks a scan, and runs it. `places` has no data where the operation has none.
template <class Op, class Scan, class S, class T, class O, class D>
void scan_into(const char* op, const S& stream, const tensor_view<const T, D>& x, i64 dim,
               const tensor_view<O, D>& out, const tensor_view<i64, D>& places) {
  constexpr bool has_places = Scan::has_places;
  const int d = normalize_dim(dim, x.rank(), op);
  check_same_shape(op, out, x);
  if constexpr (has_places) {
    check_same_sizes(op, x, places);
    check_writable(op, places);
    const placed_layout written(layout_of(places));
    check_no_overlap(op, written, layout_of(x));
    check_no_overlap(op, written, layout_of(out));
  }
  if (x.empty()) return;
  if constexpr (has_places) {
    if (replaced<Op>(op, stream, x, d, out, places)) return;
  } else {
    if (replaced<Op>(op, stream, x, d, out)) return;
  }
  if (x.rank() == 0) {
    launch_scan<Scan>(op, stream, x.unsqueeze(0), 0, out.unsqueeze(0),
                      has_places ? places.unsqueeze(0) : places);
  } else {
    launch_scan<Scan>(op, stream, x, d, out, places);
  }
}

/// Elements that a scan takes, whose running sums and products are i64 if they are integers.
using scanned_types = type_list<f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool>;
template <class T, class Result>
using scan_result = std::conditional_t<!std::is_void_v<Result>, Result,
                                       std::conditional_t<kind_of<T> == kind::floating, T, i64>>;

/// A scan of sums or products, in the type that holds them.
template <class Op, template <class> class Operation, class S, class X, class Out>
void fold_into(const char* op, const S& stream, const X& x, Out&& out, i64 dim) {
  using T = value_t<const X&>;
  using O = value_t<Out>;
  using D = device_of<S>;
  same_device<S, X, Out>();
  static_assert(kind_of<T> <= kind_of<O> && !std::is_same_v<O, bool>,
                "flaggems: the output has a kind that holds the sums: integers or floats");
  if constexpr (element_type_in<scanned_types, 1, X>())
    scan_into<Op, Operation<scan_type<T, O>>>(op, stream, tensor_view<const T, D>(as_view(x)), dim,
                                              as_view(out), tensor_view<i64, D>());
}

}  // namespace detail

// One line a scan: name, its operation.
#define FLAGGEMS_SCAN(name, operation)                                                           \
  template <stream_like S, tensor_like X, tensor_like Out>                                       \
  void name(const S& stream, const X& x, Out&& out, i64 dim) {                                   \
    detail::fold_into<operators::name, kernels::operation>(#name, stream, x, out, dim);          \
  }                                                                                              \
  template <class Result = void, stream_like S, tensor_like X>                                   \
  requires(!tensor_like<Result>) [[nodiscard]] auto name(const S& stream, const X& x, i64 dim) { \
    auto out = empty<detail::scan_result<value_t<const X&>, Result>>(                            \
        stream, as_view(x).shape_of(), #name);                                                   \
    name(stream, x, out, dim);                                                                   \
    return out;                                                                                  \
  }                                                                                              \
  template <stream_like S, tensor_like X>                                                        \
  void name##_(const S& stream, X&& x, i64 dim) {                                                \
    detail::fold_into<operators::name, kernels::operation>(#name "_", stream, x, x, dim);        \
  }

/// out[i] = x[0] + ... + x[i] along `dim`. Integers and bool give i64 unless the output or Result
/// says another dtype, 16-bit floats are summed in f32. out has x's sizes and may be x itself.
/// Raises out_of_range, shape_mismatch or overlap before anything is written.
/// aten::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out)
FLAGGEMS_SCAN(cumsum, scan_sum)
/// out[i] = x[0] * ... * x[i] along `dim`; otherwise as cumsum.
/// aten::cumprod.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out)
FLAGGEMS_SCAN(cumprod, scan_prod)
#undef FLAGGEMS_SCAN

/// out[i] = log(e^x[0] + ... + e^x[i]) along `dim`, without overflow, for floating-point x.
/// Otherwise as cumsum. aten::logcumsumexp.out(Tensor self, int dim, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void logcumsumexp(const S& stream, const X& x, Out&& out, i64 dim) {
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Out>();
  static_assert(std::is_same_v<T, value_t<Out>>, "flaggems: the output has the dtype of the input");
  if constexpr (element_type_in<floating_types, 1, X>())
    detail::scan_into<operators::logcumsumexp, kernels::scan_log_sum_exp<kernels::compute_type<T>>>(
        "logcumsumexp", stream, tensor_view<const T, D>(as_view(x)), dim, as_view(out),
        tensor_view<i64, D>());
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto logcumsumexp(const S& stream, const X& x, i64 dim) {
  auto out = empty_like(stream, x, "logcumsumexp");
  logcumsumexp(stream, x, out, dim);
  return out;
}

// One line a running extreme: name, whether of the largest element.
#define FLAGGEMS_RUNNING_EXTREME(name, largest)                                            \
  template <stream_like S, tensor_like X, tensor_like Values, tensor_like Indices>         \
  void name(const S& stream, const X& x, Values&& values, Indices&& indices, i64 dim) {    \
    using T = value_t<const X&>;                                                           \
    using D = device_of<S>;                                                                \
    same_device<S, X, Values, Indices>();                                                  \
    static_assert(std::is_same_v<T, value_t<Values>>,                                      \
                  "flaggems: values have the dtype of the input");                         \
    if constexpr (element_type_in<detail::scanned_types, 1, X>() &&                        \
                  detail::check_indices_written<Indices>())                                \
      detail::scan_into<operators::name,                                                   \
                        kernels::scan_extreme<detail::compared_type<T>, largest>>(         \
          #name, stream, tensor_view<const T, D>(as_view(x)), dim, as_view(values),        \
          as_view(indices));                                                               \
  }                                                                                        \
  template <stream_like S, tensor_like X>                                                  \
  [[nodiscard]] auto name(const S& stream, const X& x, i64 dim) {                          \
    const auto sizes = as_view(x).shape_of();                                              \
    values_and_indices<value_t<const X&>, device_of<S>> out{                               \
        empty<value_t<const X&>>(stream, sizes, #name), empty<i64>(stream, sizes, #name)}; \
    name(stream, x, out.values, out.indices, dim);                                         \
    return out;                                                                            \
  }

/// values[i] = the largest of x[0] ... x[i] along `dim`, indices[i] = the last place where it is.
/// From the first NaN on values are NaN. All have x's sizes; values may be x itself, indices share
/// no memory with either. Raises out_of_range, shape_mismatch or overlap before anything is
/// written. aten::cummax.out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices)
FLAGGEMS_RUNNING_EXTREME(cummax, true)
/// The smallest instead; otherwise as cummax.
/// aten::cummin.out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices)
FLAGGEMS_RUNNING_EXTREME(cummin, false)
#undef FLAGGEMS_RUNNING_EXTREME

/// cummax by the name of ATen's kernel.
/// aten::_cummax_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim)
template <stream_like S, tensor_like X, tensor_like Values, tensor_like Indices>
void cummax_helper(const S& stream, const X& x, Values&& values, Indices&& indices, i64 dim) {
  cummax(stream, x, values, indices, dim);
}
/// cummin by the name of ATen's kernel.
/// aten::_cummin_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim)
template <stream_like S, tensor_like X, tensor_like Values, tensor_like Indices>
void cummin_helper(const S& stream, const X& x, Values&& values, Indices&& indices, i64 dim) {
  cummin(stream, x, values, indices, dim);
}

}  // namespace flaggems
