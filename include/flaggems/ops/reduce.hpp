// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions over any set of dimensions: sum prod mean amax amin argmax argmin any all. The input
// may be an expression: `sum(stream, square(x), out, {1})` reads x once and stores nothing in
// between.
#pragma once

#include <flaggems/ops/dispatch/reduce.hpp>
#include <flaggems/ops/expr.hpp>
#include <flaggems/tensor/complex_views.hpp>

#include <optional>

namespace flaggems {
namespace operators {
struct sum;
struct mean;
struct prod;
struct amax;
struct amin;
struct any;
struct all;
struct argmax;
struct argmin;
}  // namespace operators

namespace detail {

/// Checks and runs a reduction of a node by a Reducer. `make_sink(count)` makes the sink of
/// results, without their address.
template <class Op, class Reducer, class C, class S, class Node, class T, class D, class MakeSink>
void reduce_node(const char* op, const S& stream, const Node& node, const tensor_view<T, D>& out,
                 int_list dims, reduction_options options, const MakeSink& make_sink) {
  constexpr bool indexed = Reducer::needs_index;
  static_assert(Node::leaves + (indexed ? 1 : 0) < max_operands,
                "flaggems: a reduction has at most 15 tensors, one less if it gives an index");
  check_elements_written<T>();
  check_ranks(op, node, node_role::result);
  memory_layout leaves[Node::leaves];
  node.for_each_leaf(collect_layouts{leaves});
  const layout_list in(leaves, std::size_t{Node::leaves});
  const memory_layout to = layout_of(out);
  if constexpr (!has_implementation<Op, D>) {
    const dense_rows dense(op, to, in, dims, options.keepdim);
    if (dense.all) {
      return launch_dense_reduction<Reducer, C>(op, stream, dense, in, node, out.data(),
                                                make_sink(dense.length));
    }
  }
  const reduced_dims plan = check_reduction(op, to, in, dims, options);
  if (out.empty()) return;
  if constexpr (!indexed)  // the neutral value (0 / 0 for a mean)
    if (plan.count == 0) return launch_no_parts<Reducer, C>(op, stream, out, make_sink(0));
  if (offer<Op>(op, stream, std::tie(node), out, folded_dims(plan), options.keepdim)) return;
  launch_reduction<Reducer, C, indexed>(op, stream, plan, to, in, node, out, make_sink(plan.count));
}

template <class X>
using node_of_operand = decltype(node_of(std::declval<const X&>()));
template <class X>
using dtype_of_operand = typename node_of_operand<X>::element;

/// Does not compile.
template <class... T>
constexpr void refuse_complex() {
  static_assert((!kernels::is_complex<T> && ...),
                "flaggems: of the reductions sum and mean have complex numbers, with a complex "
                "result");
}
/// All dimensions of a tensor, or those listed, which count from the end where negative.
class all_dims {
 public:
  all_dims(const char* op, int rank, int_list dims) : size_(dims.size() == 0 ? rank : dims.size()) {
    if (size_ > max_rank) [[unlikely]]
      raise(errc::out_of_range, op, "each dimension once", text(size_) + " dimensions");
    for (int k = 0; k < size_; ++k)
      dims_[k] = dims.size() == 0 ? k : normalize_dim(dims[k], rank, op);
  }
  [[nodiscard]] int_list list() const { return {dims_, size_}; }

 private:
  i64 dims_[max_rank];
  int size_;
};

/// The result of a reduction: the reduced value; that divided by the count; or the value, where no
/// elements are an error.
enum class reduction_result { total, mean, extreme };

/// Runs a reduction whose result is a number.
template <class Op, template <class> class Reducer, class C, class S, class X, class T, class D>
void reduce_values(const char* op, const S& stream, const X& x, const tensor_view<T, D>& out,
                   int_list dims, bool keepdim, reduction_result result) {
  const bool divide = result == reduction_result::mean;
  static_assert(kind_of<C> != kind::floating || kind_of<T> >= kind::floating,
                "flaggems: a floating-point result needs a floating-point output");
  reduce_node<Op, Reducer<C>, C>(
      op, stream, root_of(x), out, dims,
      {.keepdim = keepdim, .needs_elements = result == reduction_result::extreme}, [=](i64 count) {
        return kernels::value_sink<T, C>{{}, divide ? static_cast<C>(count) : C(1)};
      });
}
template <class Op, template <class> class Reducer, class C, class S, class X, class T, class D>
void reduce_values(const char*, const S&, const X&, const tensor_view<const T, D>&, int_list, bool,
                   reduction_result) {
  check_elements_written<const T>();
}
template <class Op, template <class> class Reducer, class C, class S, class X, class T, class D>
requires(kernels::is_complex<T> || kernels::is_complex<dtype_of_operand<X>>) void reduce_values(
    const char* op, const S& stream, const X& x, const tensor_view<T, D>& out, int_list dims,
    bool keepdim, reduction_result result) {
  constexpr bool is_sum = std::is_same_v<Op, operators::sum> || std::is_same_v<Op, operators::mean>;
  if constexpr (!is_sum || !kernels::is_complex<T> || !kernels::is_complex<dtype_of_operand<X>>) {
    refuse_complex<T, dtype_of_operand<X>>();
  } else if constexpr (tensor_like<X>) {
    if (as_view(x).rank() == 0) {  // no dimension of its own to reduce
      for (int part = 0; part < 2; ++part)
        reduce_values<Op, kernels::sum_of, C>(op, stream, part_of(as_view(x), part),
                                              part_of(out, part), dims, keepdim, result);
      return;
    }
    const auto parts = parts_of(op, as_view(x));
    const all_dims reduced(op, as_view(x).rank(), dims);
    reduce_values<Op, kernels::sum_of, C>(op, stream, parts, parts_of(op, out), reduced.list(),
                                          keepdim, result);
  } else {  // each part of the formula
    reduce_values<Op, kernels::sum_of, C>(op, stream,
                                          make_call<numeric>(kernels::real_part_fn{}, x),
                                          part_of(out, 0), dims, keepdim, result);
    reduce_values<Op, kernels::sum_of, C>(op, stream,
                                          make_call<numeric>(kernels::imag_part_fn{}, x),
                                          part_of(out, 1), dims, keepdim, result);
  }
}

template <class Op, bool Max, class S, class X, class T, class D>
void reduce_index(const char* op, const S& stream, const X& x, const tensor_view<T, D>& out,
                  std::optional<i64> dim, bool keepdim) {
  const auto& node = root_of(x);
  using C = arithmetic_t<typename std::decay_t<decltype(node)>::element>;
  const int_list dims = dim ? int_list(&*dim, 1) : int_list();
  reduce_node<Op, kernels::index_of<C, Max>, C>(op, stream, node, out, dims,
                                                {.keepdim = keepdim, .needs_elements = true},
                                                [](i64) { return kernels::index_sink<i64>{}; });
}
template <class Op, bool Max, class S, class X, class T, class D>
requires(kernels::is_complex<dtype_of_operand<X>>) void reduce_index(const char*, const S&,
                                                                     const X&,
                                                                     const tensor_view<T, D>&,
                                                                     std::optional<i64>, bool) {
  refuse_complex<dtype_of_operand<X>>();
}

/// The accumulator and the result of sums and products: i64 for integers and bool.
template <class T>
using sum_type = std::conditional_t<(kind_of<T> >= kind::floating), T, i64>;

/// The sizes of the result.
template <class X>
shape reduced_shape(const char* op, const X& x, int_list dims, bool keepdim) {
  broadcast_sizes sizes{{}, op};
  node_of(x).for_each_leaf(sizes);
  return reduced_dims(op, sizes.sizes, dims, keepdim).out;
}

}  // namespace detail

#define FLAGGEMS_COMMA ,
// One line per reduction: name, reducer, type of the accumulator, dtype of a new result, and which
// result.
#define FLAGGEMS_REDUCTION(name, fold, folds_in, gives, result)                           \
  template <stream_like S, tensor_operand X, tensor_like Out>                             \
  void name(const S& stream, const X& x, Out&& out, const dim_list& dims = {},            \
            bool keepdim = false) {                                                       \
    using T [[maybe_unused]] = detail::dtype_of_operand<X>;                               \
    using O [[maybe_unused]] = value_t<Out>;                                              \
    detail::reduce_values<operators::name, fold, folds_in>(                               \
        #name, stream, x, as_view(out), dims, keepdim, detail::reduction_result::result); \
  }                                                                                       \
  template <class Result = void, stream_like S, tensor_operand X>                         \
  requires(!tensor_like<Result>) [[nodiscard]] auto name(                                 \
      const S& stream, const X& x, const dim_list& dims = {}, bool keepdim = false) {     \
    using T [[maybe_unused]] = detail::dtype_of_operand<X>;                               \
    auto out = empty<detail::type_or<Result, gives>>(                                     \
        stream, detail::reduced_shape(#name, x, dims, keepdim), #name);                   \
    name(stream, x, out, dims, keepdim);                                                  \
    return out;                                                                           \
  }

namespace detail {
/// The accumulator of a sum: f64 if input or output are, f32 for other floats, i64 for integers; of
/// complex numbers that of their parts.
template <class T, class O>
using sum_fold = std::conditional_t<
    std::is_same_v<kernels::real_of<T>, f64> || std::is_same_v<kernels::real_of<O>, f64>, f64,
    std::conditional_t<(kind_of<T> >= kind::floating) || (kind_of<O> >= kind::floating), f32, i64>>;
template <class C>
using any_fold = kernels::any_of;
template <class C>
using all_fold = kernels::all_of;
template <class T, class O>
struct mean_check {
  static_assert(kind_of<O> >= kind::floating, "flaggems: mean gives floating-point tensors");
  using type = sum_fold<T, O>;
};
template <class T, class O>
using mean_fold = typename mean_check<T, O>::type;
template <class T, class Result>
struct mean_type {
  static_assert(kind_of<T> >= kind::floating || !std::is_void_v<Result>,
                "flaggems: mean takes floating-point tensors");
  using type = T;
};
/// Values are converted to the result's dtype first, as in ATen: a sum of bool is whether any value
/// is not 0, a product whether all are not. (Of integers it makes no difference.)
template <class O>
struct folds_into {
  template <class C>
  using sum = kernels::sum_of<C>;
  template <class C>
  using prod = kernels::prod_of<C>;
  template <class T>
  using type = sum_fold<T, O>;
};
template <>
struct folds_into<bool> {
  template <class C>
  using sum = kernels::any_of;
  template <class C>
  using prod = kernels::all_of;
  template <class T>
  using type = bool;
};
/// The result of any and all: u8 for u8, else bool.
template <class T>
using truth_type = std::conditional_t<std::is_same_v<T, u8>, u8, bool>;
}  // namespace detail

/// out[kept] = sum of x over `dims`, one or a list (all if empty). Integers and bool give i64.
///
/// Shapes: out has x's sizes without `dims`, or with 1 in their place if `keepdim`. 16-bit floats
/// are summed in f32, in blocks; for an output of bool, elements are converted first, so that the
/// sum is whether any is not 0. An empty sum is 0. Complex tensors of at most 7 dimensions have
/// complex sums. Raises out_of_range, shape_mismatch or overlap.
/// aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype,
/// Tensor(a!) out)
FLAGGEMS_REDUCTION(sum, detail::folds_into<O>::template sum,
                   typename detail::folds_into<O>::template type<T>, detail::sum_type<T>, total)
/// out[kept] = mean of x over `dims`; for integers a floating-point dtype of the result must be
/// given: mean<float>(stream, x). An empty mean is NaN. Otherwise as `sum`. aten::mean.out(Tensor
/// self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype, Tensor(a!) out)
FLAGGEMS_REDUCTION(mean, kernels::sum_of, detail::mean_fold<T FLAGGEMS_COMMA O>,
                   typename detail::mean_type<T FLAGGEMS_COMMA Result>::type, mean)
/// out[kept] = product of x over `dims`; an empty product is 1. Otherwise as `sum`.
/// aten::prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype, Tensor(a!)
/// out)
FLAGGEMS_REDUCTION(prod, detail::folds_into<O>::template prod,
                   typename detail::folds_into<O>::template type<T>, detail::sum_type<T>, total)
/// out[kept] = largest element over `dims`; NaN if there is one. Raises invalid_argument if there
/// is no element. aten::amax.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_REDUCTION(amax, kernels::max_of_all, detail::arithmetic_t<T>, T, extreme)
/// out[kept] = smallest element over `dims`; otherwise as `amax`.
/// aten::amin.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_REDUCTION(amin, kernels::min_of_all, detail::arithmetic_t<T>, T, extreme)
/// out[kept] = whether any element over `dims` is not zero. NaN is not zero; of nothing: false.
/// The result is of bool, of u8 if x is.
/// aten::any.dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_REDUCTION(any, detail::any_fold, bool, detail::truth_type<T>, total)
/// out[kept] = whether all elements over `dims` are not zero; of nothing: true.
/// The result is of bool, of u8 if x is.
/// aten::all.dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_REDUCTION(all, detail::all_fold, bool, detail::truth_type<T>, total)
#undef FLAGGEMS_REDUCTION
#undef FLAGGEMS_COMMA

// One line per operator that gives an index: name, whether of the largest element.
#define FLAGGEMS_INDEX_REDUCTION(name, largest)                                           \
  template <stream_like S, tensor_operand X, tensor_like Out>                             \
  void name(const S& stream, const X& x, Out&& out, std::optional<i64> dim = {},          \
            bool keepdim = false) {                                                       \
    if constexpr (detail::check_indices_written<Out>())                                   \
      detail::reduce_index<operators::name, largest>(#name, stream, x, as_view(out), dim, \
                                                     keepdim);                            \
  }                                                                                       \
  template <stream_like S, tensor_operand X>                                              \
  [[nodiscard]] auto name(const S& stream, const X& x, std::optional<i64> dim = {},       \
                          bool keepdim = false) {                                         \
    const i64 one[1] = {dim.value_or(0)};                                                 \
    const int_list dims = dim ? int_list(std::span<const i64>(one)) : int_list{};         \
    auto out = empty<i64>(stream, detail::reduced_shape(#name, x, dims, keepdim), #name); \
    name(stream, x, out, dim, keepdim);                                                   \
    return out;                                                                           \
  }

/// out[kept] = index of the largest element along `dim`, or in row-major order if there is no
/// `dim`; the first among equals, or the first NaN. Raises invalid_argument if there is
/// no element. aten::argmax.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_INDEX_REDUCTION(argmax, true)
/// out[kept] = index of the smallest element, or of the first NaN; otherwise as `argmax`.
/// aten::argmin.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_INDEX_REDUCTION(argmin, false)
#undef FLAGGEMS_INDEX_REDUCTION

namespace detail {
FLAGGEMS_REDUCTION_ONCE(sum_of);  // and mean
FLAGGEMS_REDUCTION_ONCE(max_of_all);
FLAGGEMS_REDUCTION_ONCE(min_of_all);
}  // namespace detail

}  // namespace flaggems
