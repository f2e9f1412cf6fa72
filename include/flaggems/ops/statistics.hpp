// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions that are made of others: extremes with their places, variances, norms, and whether
// tensors are equal.
#pragma once

#include <flaggems/kernel/family/row/programs/statistics.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/dispatch/column_statistics.hpp>
#include <flaggems/ops/dispatch/rows.hpp>
#include <flaggems/ops/dispatch/scatter.hpp>
#include <flaggems/ops/nonzero.hpp>
#include <flaggems/ops/plan/norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>

#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace flaggems {
namespace detail {

/// The sizes of a reduction's result, and whether an output has them, can be written, and shares no
/// memory with x.
template <class X, class Out>
void check_reduced(const char* op, const X& x, const Out& out, int_list dims, bool keepdim) {
  check_output_sizes(op, reduced_shape(op, x, dims, keepdim), out);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(x));
}
/// out = the sum of an expression, in C.
template <class C, class S, class X, class T, class D>
void sum_into(const char* op, const S& stream, const X& x, const tensor_view<T, D>& out,
              int_list dims, bool keepdim) {
  reduce_values<operators::sum, kernels::sum_of, C>(op, stream, x, out, dims, keepdim,
                                                    reduction_result::total);
}

/// values = the largest (smallest) elements along a dimension, places = where they are.
template <class Op, bool Max, class S, class T, class D>
void extreme_into(const char* op, const S& stream, const tensor_view<const T, D>& x, i64 dim,
                  bool keepdim, const tensor_view<T, D>& given_values,
                  const tensor_view<i64, D>& given_places) {
  const int d = normalize_dim(dim, x.rank(), op);
  const i64 one = d;
  check_reduced(op, x, given_values, int_list(&one, x.rank() == 0 ? 0 : 1), keepdim);
  check_same_sizes(op, given_values, given_places);
  check_writable(op, given_places);
  const placed_layout written(layout_of(given_places));
  check_no_overlap(op, written, layout_of(x));
  check_no_overlap(op, written, layout_of(given_values));
  if (x.rank() == 0) {
    assign_node(op, stream, given_places, number<i64>{0});
    return copy_into(op, stream, given_values, x);
  }
  reduce_index<Op, Max>(op, stream, x, given_places, d, keepdim);
  if (given_values.empty()) return;
  tensor_view<T, D> values = given_values;
  tensor_view<const i64, D> places = given_places;
  if (keepdim) values = values.select(d, 0), places = places.select(d, 0);
  shape strides(x.strides());
  strides.erase(d);
  if (values.rank() == 0) {
    values = values.unsqueeze(0), places = places.unsqueeze(0);
    strides.push_back(0);
  }
  launch_gather(
      op, stream,
      indexed_elements<const T, i64, D>{x.data(), strides, x.size(d), x.stride(d), places}, values);
}

/// center = the means of x over dims, which are kept, and total = the sums of the squares of what x
/// differs from them by. In C; in two passes.
template <class C, class S, class T, class D>
void squares_about_means(const char* op, const S& stream, const tensor_view<const T, D>& x,
                         int_list dims, bool keepdim, const tensor_view<C, D>& center,
                         const tensor_view<C, D>& total) {
  reduce_values<operators::mean, kernels::sum_of, C>(op, stream, x, center, dims, true,
                                                     reduction_result::mean);
  sum_into<C>(op, stream, square(sub(cast<C>(x), tensor_view<const C, D>(center))), total, dims,
              keepdim);
}

/// Runs `program`, whose results are a number for each row, where dims are the last ones and rows
/// are no longer than few threads do well with; gives whether that is so. `out`: views of the
/// results, with sizes 1 in the place of dims or without those, or null.
template <class Program, class S, class T, class D, class... Out>
bool launch_statistics(const char* op, const S& stream, const tensor_view<const T, D>& x,
                       int_list dims, const Program& program, const Out*... out) {
  constexpr i64 most = i64{1} << 16;  // limit
  const u32 folded = normalize_dims(dims, x.rank(), op);
  const int reduced = __builtin_popcount(folded), kept = x.rank() - reduced;
  if (x.rank() == 0 || reduced == 0 || folded >> kept != (1u << reduced) - 1u) return false;
  norm_plan plan(x.sizes(), reduced, false);
  const auto first = static_cast<std::size_t>(kept);
  const auto add = [&](const auto* to) {
    if (to != nullptr) plan.add_by_row(x.sizes().first(first), to->strides().first(first));
  };
  plan.add(x);
  (add(out), ...);
  const kernels::norm_space space = plan.space();
  if (space.length > most || space.inner_rank > 1 || x.stride(-1) != 1) return false;
  const auto target = [&]<class To>(int k, const To* to) {
    return to != nullptr ? plan.by_row_target(k, *to)
                         : kernels::row_target<typename To::value_type>{nullptr, {}};
  };
  const auto results = [&]<int... K>(std::integer_sequence<int, K...>) {
    return kernels::make_operands(target(K, out)...);
  }
  (std::make_integer_sequence<int, static_cast<int>(sizeof...(Out))>());
  launch_rows(stream, norm_launch(op, space, 2), space,
              row_operands_of(inputs(plan.arg(0, x)), kernels::operands<>(), kernels::operands<>(),
                              kernels::operands<>(), results),
              program);
  return true;
}

/// The variance, or its root, over dims, and the mean, which is written if it has a place.
template <class S, class T, class D>
void variance_into(const char* op, const S& stream, const tensor_view<const T, D>& x, int_list dims,
                   std::optional<f64> correction, bool keepdim, bool root,
                   const tensor_view<T, D>& out, const tensor_view<T, D>* mean_out) {
  using C = arithmetic_t<T>;
  check_reduced(op, x, out, dims, keepdim);
  if (mean_out != nullptr) {
    check_reduced(op, x, *mean_out, dims, keepdim);
    check_no_overlap(op, placed_layout(layout_of(*mean_out)), layout_of(out));
  }
  if (out.empty()) return;
  const i64 count = x.numel() / out.numel();
  const f64 left = kernels::max_of(static_cast<f64>(count) - correction.value_or(1), 0.0);
  const auto whole = [&](const auto& program) {
    return launch_statistics(op, stream, x, dims, program, &out, mean_out);
  };
  const auto columns = [&](const auto& program) {
    return launch_column_statistics<C>(op, stream, x, dims, keepdim, program, &out, mean_out);
  };
  const C scale = static_cast<C>(static_cast<f64>(count) / left), by = static_cast<C>(left);
  if (count > 0 && (root ? whole(kernels::variance_program<C, true>{scale})
                         : whole(kernels::variance_program<C, false>{scale})))
    return;
  if (count > 0 && (root ? columns(kernels::column_variance<C, true>{by})
                         : columns(kernels::column_variance<C, false>{by})))
    return;
  auto center = empty<C>(stream, reduced_shape(op, x, dims, true), op);
  auto total = empty<C>(stream, out.shape_of(), op);
  squares_about_means<C>(op, stream, x, dims, keepdim, center.view(), total.view());
  if (root)
    assign_node(op, stream, out, cast<T>(sqrt(div(total, by))).node);
  else
    assign_node(op, stream, out, cast<T>(div(total, by)).node);
  if (mean_out != nullptr)
    assign_node(op, stream, *mean_out,
                as_type<T, leaf<C, D>>{{std::as_const(center).view().view(mean_out->shape_of())}});
}

/// out = the norm of order `ord` of an expression, in C, over at least one element if `ord` is
/// infinite.
template <class C, class S, class X, class T, class D>
void norm_of(const char* op, const S& stream, const X& x, f64 ord, int_list dims, bool keepdim,
             const tensor_view<T, D>& out) {
  const auto magnitude = abs(x);
  if (__builtin_isinf(ord)) {
    if (ord > 0)
      reduce_values<operators::amax, kernels::max_of_all, C>(op, stream, magnitude, out, dims,
                                                             keepdim, reduction_result::extreme);
    else
      reduce_values<operators::amin, kernels::min_of_all, C>(op, stream, magnitude, out, dims,
                                                             keepdim, reduction_result::extreme);
    return;
  }
  if (ord == 1) return sum_into<C>(op, stream, magnitude, out, dims, keepdim);
  if (ord == 0) return sum_into<C>(op, stream, cast<C>(ne(x, 0)), out, dims, keepdim);
  auto total = empty<C>(stream, out.shape_of(), op);
  if (ord == 2)
    sum_into<C>(op, stream, square(x), total.view(), dims, keepdim);
  else
    sum_into<C>(op, stream, pow(magnitude, static_cast<C>(ord)), total.view(), dims, keepdim);
  if (ord == 2)
    assign_node(op, stream, out, cast<T>(sqrt(total)).node);
  else
    assign_node(op, stream, out, cast<T>(pow(total, static_cast<C>(1 / ord))).node);
}
template <class S, class T, class D>
void norm_into(const char* op, const S& stream, const tensor_view<const T, D>& x, f64 ord,
               int_list dims, bool keepdim, const tensor_view<T, D>& out) {
  using C = arithmetic_t<T>;
  check_reduced(op, x, out, dims, keepdim);
  if (out.empty()) return;
  if (x.empty() && (ord < 0 || __builtin_isinf(ord))) [[unlikely]]
    raise(errc::invalid_argument, op, "at least one element for a norm of order " + text(ord),
          "sizes " + to_string(x.shape_of()));
  if (ord == 2 && !x.empty() &&
      launch_column_statistics<C>(op, stream, x, dims, keepdim, kernels::column_norm<C>(), &out))
    return;
  norm_of<C>(op, stream, cast<C>(x), ord, dims, keepdim, out);
}

template <class S, class T, class D>
void log_sum_exp_into(const S& stream, const tensor_view<const T, D>& x, int_list dims,
                      bool keepdim, const tensor_view<T, D>& out) {
  constexpr const char* op = "logsumexp";
  using C = arithmetic_t<T>;
  check_reduced(op, x, out, dims, keepdim);
  if (out.empty()) return;
  if (x.empty()) return fill(op, stream, out, -std::numeric_limits<f64>::infinity());
  if (launch_statistics(op, stream, x, dims, kernels::log_sum_exp_program<C>(), &out)) return;
  if (launch_column_statistics<C>(op, stream, x, dims, keepdim, kernels::column_log_sum_exp<C>(),
                                  &out))
    return;
  auto most = empty<C>(stream, reduced_shape(op, x, dims, true), op);
  reduce_values<operators::amax, kernels::max_of_all, C>(op, stream, x, most.view(), dims, true,
                                                         reduction_result::extreme);
  // An infinite one would be subtracted from itself.
  const C infinity = std::numeric_limits<C>::infinity();
  assign_node(op, stream, most.view(), where(eq(abs(most), infinity), C(0), most).node);
  auto total = empty<C>(stream, out.shape_of(), op);
  sum_into<C>(op, stream, exp(sub(x, most)), total.view(), dims, keepdim);
  assign_node(op, stream, out,
              cast<T>(add(log(total), std::as_const(most).view().view(out.shape_of()))).node);
}

template <class S, class X>
bool all_true(const char* op, const S& stream, const X& x) {
  auto result = empty<bool>(stream, {}, op);
  reduce_values<operators::all, all_fold, bool>(op, stream, x, result.view(), {}, false,
                                                reduction_result::total);
  return read_element(stream, result.view());
}

}  // namespace detail

// One line an extreme: name, the operator of its place, that of all elements, whether the largest.
#define FLAGGEMS_EXTREME(name, place, of_all, largest)                                             \
  template <stream_like S, tensor_like X>                                                          \
  [[nodiscard]] auto(name)(const S& stream, const X& x) {                                          \
    return of_all(stream, as_view(x));                                                             \
  }                                                                                                \
  template <stream_like S, tensor_like X, tensor_like Values, tensor_like Indices>                 \
  void(name)(const S& stream, const X& x, Values&& values, Indices&& indices, i64 dim,             \
             bool keepdim = false) {                                                               \
    using T = value_t<const X&>;                                                                   \
    same_device<S, X, Values, Indices>();                                                          \
    static_assert(std::is_same_v<T, value_t<Values>>,                                              \
                  "flaggems: values have the dtype of the input");                                 \
    if constexpr (detail::check_indices_written<Indices>())                                        \
      detail::extreme_into<operators::place, largest>(#name, stream, detail::input_of(x), dim,     \
                                                      keepdim, as_view(values), as_view(indices)); \
  }                                                                                                \
  template <stream_like S, tensor_like X>                                                          \
  [[nodiscard]] auto(name)(const S& stream, const X& x, i64 dim, bool keepdim = false) {           \
    const auto v = as_view(x);                                                                     \
    const i64 d = normalize_dim(dim, v.rank(), #name);                                             \
    const shape sizes =                                                                            \
        detail::reduced_shape(#name, v, int_list(&d, v.rank() == 0 ? 0 : 1), keepdim);             \
    values_and_indices<value_t<const X&>, device_of<S>> out{                                       \
        empty<value_t<const X&>>(stream, sizes, #name), empty<i64>(stream, sizes, #name)};         \
    (name)(stream, x, out.values, out.indices, dim, keepdim);                                      \
    return out;                                                                                    \
  }

/// The largest elements along `dim` and where they are, the first among equals; NaN, if there is
/// one. Without dim, the largest of all. Raises invalid_argument if there is no element,
/// out_of_range, shape_mismatch or overlap. aten::max.dim_max(Tensor self, int dim, bool
/// keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values)
FLAGGEMS_EXTREME(max, argmax, amax, true)
/// The smallest elements instead; otherwise as max. aten::min.dim_min(Tensor self, int dim, bool
/// keepdim=False, *, Tensor(a!) min, Tensor(b!) min_indices)
FLAGGEMS_EXTREME(min, argmin, amin, false)
#undef FLAGGEMS_EXTREME

/// The smallest and the largest elements along `dim`, or of all.
/// aten::aminmax.out(Tensor self, *, int? dim=None, bool keepdim=False, Tensor(a!) min, Tensor(b!)
/// max)
template <stream_like S, tensor_like X, tensor_like Min, tensor_like Max>
void aminmax(const S& stream, const X& x, Min&& least, Max&& most, std::optional<i64> dim = {},
             bool keepdim = false) {
  const i64 one = dim.value_or(0);
  const int_list dims(&one, dim ? 1 : 0);
  const auto v = as_view(x);
  detail::check_reduced("aminmax", v, as_view(most), dims, keepdim);
  detail::check_no_overlap("aminmax", detail::placed_layout(detail::layout_of(as_view(most))),
                           detail::layout_of(as_view(least)));
  using C = detail::arithmetic_t<value_t<const X&>>;
  detail::reduce_values<operators::amin, kernels::min_of_all, C>(
      "aminmax", stream, v, as_view(least), dims, keepdim, detail::reduction_result::extreme);
  detail::reduce_values<operators::amax, kernels::max_of_all, C>(
      "aminmax", stream, v, as_view(most), dims, keepdim, detail::reduction_result::extreme);
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto aminmax(const S& stream, const X& x, std::optional<i64> dim = {},
                           bool keepdim = false) {
  const i64 one = dim.value_or(0);
  const shape sizes =
      detail::reduced_shape("aminmax", as_view(x), int_list(&one, dim ? 1 : 0), keepdim);
  std::pair out(empty<value_t<const X&>>(stream, sizes, "aminmax"),
                empty<value_t<const X&>>(stream, sizes, "aminmax"));
  aminmax(stream, x, out.first, out.second, dim, keepdim);
  return out;
}

/// out[kept] = how many elements over `dims`, or of all, are not 0, as i64. NaN is not 0.
/// aten::count_nonzero.dim_IntList(Tensor self, int[] dim)
template <stream_like S, tensor_like X, tensor_like Out>
void count_nonzero(const S& stream, const X& x, Out&& out, const dim_list& dims = {}) {
  const auto v = as_view(x);
  detail::sum_into<i64>("count_nonzero", stream, ne(v, 0), as_view(out), dims, false);
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto count_nonzero(const S& stream, const X& x, const dim_list& dims = {}) {
  auto out = empty<i64>(stream, detail::reduced_shape("count_nonzero", as_view(x), dims, false),
                        "count_nonzero");
  count_nonzero(stream, x, out, dims);
  return out;
}

/// Along one dimension, or of all. aten::count_nonzero(Tensor self, int? dim=None)
template <stream_like S, tensor_like X, class Dim>
requires(std::is_same_v<Dim, std::optional<i64>>)
    [[nodiscard]] auto count_nonzero(const S& stream, const X& x, const Dim& dim) {
  return dim ? count_nonzero(stream, x, dim_list(*dim)) : count_nonzero(stream, x);
}

/// sum of floating-point x over `dims`, NaN counted as 0.
/// aten::nansum.out(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None,
/// Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void nansum(const S& stream, const X& x, Out&& out, const dim_list& dims = {},
            bool keepdim = false) {
  using T = value_t<const X&>;
  const auto v = as_view(x);
  detail::sum_into<detail::sum_fold<T, value_t<Out>>>("nansum", stream, where(ne(v, v), T(0.0F), v),
                                                      as_view(out), dims, keepdim);
}
template <class Result = void, stream_like S, tensor_like X>
requires(!tensor_like<Result>)
    [[nodiscard]] auto nansum(const S& stream, const X& x, const dim_list& dims = {},
                              bool keepdim = false) {
  auto out = empty<detail::type_or<Result, value_t<const X&>>>(
      stream, detail::reduced_shape("nansum", as_view(x), dims, keepdim), "nansum");
  nansum(stream, x, out, dims, keepdim);
  return out;
}

// One line a reduction of floating-point numbers to their dtype: name, what computes it, and the
// ATen parameters.
#define FLAGGEMS_STATISTIC(name, compute, ...)                                             \
  template <stream_like S, tensor_like X, tensor_like Out>                                 \
  void name(const S& stream, const X& x, Out&& out, __VA_ARGS__) {                         \
    using T = value_t<const X&>;                                                           \
    same_device<S, X, Out>();                                                              \
    static_assert(std::is_same_v<T, value_t<Out>>,                                         \
                  "flaggems: the output has the dtype of the input");                      \
    if constexpr (element_type_in<floating_types, 1, X>()) {                               \
      constexpr const char* op = #name;                                                    \
      const auto v = detail::input_of(x);                                                  \
      const auto to = as_view(out);                                                        \
      compute;                                                                             \
    }                                                                                      \
  }                                                                                        \
  template <stream_like S, tensor_like X>                                                  \
  [[nodiscard]] auto name(const S& stream, const X& x, __VA_ARGS__) {                      \
    using T = value_t<const X&>;                                                           \
    constexpr const char* op = #name;                                                      \
    auto out = empty<T>(stream, detail::reduced_shape(op, as_view(x), dims, keepdim), op); \
    same_device<S, X>();                                                                   \
    if constexpr (element_type_in<floating_types, 1, X>()) {                               \
      const auto v = detail::input_of(x);                                                  \
      const auto to = out.view();                                                          \
      compute;                                                                             \
    }                                                                                      \
    return out;                                                                            \
  }

/// out[kept] = log of the sum of e^x over `dims`, without overflow. -inf for no element. Raises
/// out_of_range, shape_mismatch or overlap.
/// aten::logsumexp.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_STATISTIC(logsumexp,
                   (static_cast<void>(op), detail::log_sum_exp_into(stream, v, dims, keepdim, to)),
                   const dim_list& dims, bool keepdim = false)
/// out[kept] = the variance over `dims` (all if empty): the sum of squared distances from the mean,
/// divided by their number less `correction` (1 if absent). Computed by distances from an estimate
/// of the mean, 16-bit floats in f32. Raises out_of_range, shape_mismatch or overlap.
/// aten::var.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool
/// keepdim=False, Tensor(a!) out)
FLAGGEMS_STATISTIC(var,
                   (detail::variance_into<S, T, device_of<S>>(op, stream, v, dims, correction,
                                                              keepdim, false, to, nullptr)),
                   const dim_list& dims = {}, std::optional<f64> correction = {},
                   bool keepdim = false)
/// The root of var, ATen's std. aten::std.correction_out(Tensor self, int[1]? dim=None, *, Scalar?
/// correction=None, bool keepdim=False, Tensor(a!) out)
FLAGGEMS_STATISTIC(stddev,
                   (detail::variance_into<S, T, device_of<S>>(op, stream, v, dims, correction,
                                                              keepdim, true, to, nullptr)),
                   const dim_list& dims = {}, std::optional<f64> correction = {},
                   bool keepdim = false)
/// out[kept] = the norm of order `ord` over `dim` (all if empty): the root of order ord of the sum
/// of |x|^ord; the largest |x| for infinity, the smallest for its negative, how many are not 0 for
/// 0. Raises out_of_range, shape_mismatch or overlap, and invalid_argument for norms of no elements
/// of an order that is infinite or below 0. aten::linalg_vector_norm.out(Tensor self,
/// Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out)
FLAGGEMS_STATISTIC(linalg_vector_norm, (detail::norm_into(op, stream, v, ord, dims, keepdim, to)),
                   f64 ord = 2, const dim_list& dims = {}, bool keepdim = false)
/// linalg_vector_norm; 2 without an order. aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1]
/// dim, bool keepdim=False)
FLAGGEMS_STATISTIC(norm, (detail::norm_into(op, stream, v, p.value_or(2), dims, keepdim, to)),
                   std::optional<f64> p = {}, const dim_list& dims = {}, bool keepdim = false)
#undef FLAGGEMS_STATISTIC

/// out = the norm of order p of x - other, which broadcast, as linalg_vector_norm. Both have one
/// floating-point dtype. aten::dist.out(Tensor self, Tensor other, Scalar p=2, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Y, tensor_like Out>
void dist(const S& stream, const X& x, const Y& other, Out&& out, f64 p = 2) {
  using T = value_t<const X&>;
  static_assert(std::is_same_v<T, value_t<const Y&>> && std::is_same_v<T, value_t<Out>> &&
                    detail::kind_of<T> == detail::kind::floating,
                "flaggems: the tensors have one floating-point dtype");
  same_device<S, X, Y, Out>();
  detail::check_no_overlap("dist", detail::placed_layout(detail::layout_of(as_view(out))),
                           detail::layout_of(as_view(x)));
  detail::check_no_overlap("dist", detail::placed_layout(detail::layout_of(as_view(out))),
                           detail::layout_of(as_view(other)));
  const auto difference = evaluate(stream, sub(as_view(x), as_view(other)), "dist");
  detail::norm_into("dist", stream, detail::input_of(difference), p, {}, false, as_view(out));
}
template <stream_like S, tensor_like X, tensor_like Y>
[[nodiscard]] auto dist(const S& stream, const X& x, const Y& other, f64 p = 2) {
  auto out = empty<value_t<const X&>>(stream, {}, "dist");
  dist(stream, x, other, out, p);
  return out;
}

/// The variance and the mean over `dims`, as var. aten::var_mean.correction_out(Tensor self,
/// int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False, Tensor(a!) out0, Tensor(b!)
/// out1)
template <stream_like S, tensor_like X, tensor_like Var, tensor_like Mean>
void var_mean(const S& stream, const X& x, Var&& variance, Mean&& mean, const dim_list& dims = {},
              std::optional<f64> correction = {}, bool keepdim = false) {
  using T = value_t<const X&>;
  same_device<S, X, Var, Mean>();
  static_assert(std::is_same_v<T, value_t<Var>> && std::is_same_v<T, value_t<Mean>>,
                "flaggems: the outputs have the dtype of the input");
  if constexpr (element_type_in<floating_types, 1, X>()) {
    const tensor_view<T, device_of<S>> center(as_view(mean));
    detail::variance_into<S, T, device_of<S>>("var_mean", stream, detail::input_of(x), dims,
                                              correction, keepdim, false, as_view(variance),
                                              &center);
  }
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto var_mean(const S& stream, const X& x, const dim_list& dims = {},
                            std::optional<f64> correction = {}, bool keepdim = false) {
  using T = value_t<const X&>;
  const shape sizes = detail::reduced_shape("var_mean", as_view(x), dims, keepdim);
  std::pair out(empty<T>(stream, sizes, "var_mean"), empty<T>(stream, sizes, "var_mean"));
  var_mean(stream, x, out.first, out.second, dims, correction, keepdim);
  return out;
}

/// out = the sum of a matrix's diagonal, in no dimension; integers give i64. Raises
/// invalid_argument for other ranks. aten::trace.out(Tensor self, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void trace(const S& stream, const X& x, Out&& out) {
  using T = value_t<const X&>;
  const auto v = as_view(x);
  if (v.rank() != 2) [[unlikely]]
    detail::raise_sizes("trace", "two dimensions", v.shape_of());
  detail::sum_into<detail::sum_fold<T, value_t<Out>>>("trace", stream, v.diagonal(), as_view(out),
                                                      {}, false);
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto trace(const S& stream, const X& x) {
  auto out = empty<detail::sum_type<value_t<const X&>>>(stream, {}, "trace");
  trace(stream, x, out);
  return out;
}

/// Whether the one element of x is not 0. It waits for the stream. Raises invalid_argument for
/// another number of elements. aten::is_nonzero(Tensor self)
template <stream_like S, tensor_like X>
[[nodiscard]] bool is_nonzero(const S& stream, const X& x) {
  same_device<S, X>();
  const auto v = as_view(x);
  if (v.numel() != 1) [[unlikely]]
    raise(errc::invalid_argument, "is_nonzero", "one element", detail::text(v.numel()));
  return kernels::number_cast<bool>(detail::read_element(stream, v));
}
/// out = whether all elements of x, of bool, are true. aten::_is_all_true(Tensor self)
template <stream_like S, tensor_like X>
[[nodiscard]] auto is_all_true(const S& stream, const X& x) {
  static_assert(std::is_same_v<value_t<const X&>, bool>, "flaggems: is_all_true takes bool");
  return all(stream, x);
}
/// out = whether any element of x, of bool, is true. aten::_is_any_true(Tensor self)
template <stream_like S, tensor_like X>
[[nodiscard]] auto is_any_true(const S& stream, const X& x) {
  static_assert(std::is_same_v<value_t<const X&>, bool>, "flaggems: is_any_true takes bool");
  return any(stream, x);
}
/// Raises invalid_argument, with the message, if the one element of x is 0. It waits for the
/// stream. aten::_assert_async.msg(Tensor self, str assert_msg)
template <stream_like S, tensor_like X>
void assert_async(const S& stream, const X& x, std::string_view assert_msg = {}) {
  if (!is_nonzero(stream, x)) [[unlikely]]
    raise(errc::invalid_argument, "assert_async", "an element that is not 0",
          assert_msg.empty() ? std::string_view("0") : assert_msg);
}
/// assert_async, then dep_token in a new tensor, on which what follows may depend.
/// aten::_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token)
template <stream_like S, tensor_like X, tensor_like Token>
[[nodiscard]] auto functional_assert_async(const S& stream, const X& x, std::string_view assert_msg,
                                           const Token& dep_token) {
  assert_async(stream, x, assert_msg);
  return detail::copied<value_t<const Token&>>("functional_assert_async", stream,
                                               as_view(dep_token));
}
/// Whether two tensors have the same sizes and equal elements. It waits for the stream.
/// aten::equal(Tensor self, Tensor other)
template <stream_like S, tensor_like X, tensor_like Y>
[[nodiscard]] bool equal(const S& stream, const X& x, const Y& y) {
  same_device<S, X, Y>();
  const auto a = as_view(x);
  const auto b = as_view(y);
  if (!detail::same_sizes(a.sizes(), b.sizes())) return false;
  return a.empty() || detail::all_true("equal", stream, eq(a, b));
}
/// Whether |x - y| <= atol + rtol |y| for all elements, which broadcast together; infinities are
/// close to themselves, and NaN are with `equal_nan`. Integers are compared as f64, unless both
/// tolerances are 0. It waits for the stream. Raises shape_mismatch, or invalid_argument for
/// tolerances below 0. aten::allclose(Tensor self, Tensor
/// other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)
template <stream_like S, tensor_like X, tensor_like Y>
[[nodiscard]] bool allclose(const S& stream, const X& x, const Y& y, f64 rtol = 1e-5,
                            f64 atol = 1e-8, bool equal_nan = false) {
  using C = std::conditional_t<std::is_same_v<value_t<const X&>, f64> ||
                                   detail::kind_of<value_t<const X&>> != detail::kind::floating,
                               f64, f32>;
  same_device<S, X, Y>();
  if (!(rtol >= 0 && atol >= 0)) [[unlikely]]
    raise(errc::invalid_argument, "allclose", "tolerances that are not negative",
          detail::text(rtol) + " and " + detail::text(atol));
  const auto given = as_view(x);
  const auto other = as_view(y);
  const auto a = cast<C>(given);
  const auto b = cast<C>(other);
  const auto away = abs(sub(a, b));
  const auto most = add(mul(abs(b), static_cast<C>(rtol)), static_cast<C>(atol));
  const auto close = logical_or(
      eq(a, b), logical_and(le(away, most), lt(away, std::numeric_limits<C>::infinity())));
  if (broadcast_shapes(given.shape_of(), other.shape_of(), "allclose").numel() == 0) return true;
  if constexpr (detail::kind_of<value_t<const X&>> != detail::kind::floating &&
                detail::kind_of<value_t<const Y&>> != detail::kind::floating)
    if (rtol == 0 && atol == 0) return detail::all_true("allclose", stream, eq(given, other));
  if (!equal_nan) return detail::all_true("allclose", stream, close);
  return detail::all_true("allclose", stream, logical_or(close, logical_and(ne(a, a), ne(b, b))));
}

}  // namespace flaggems
