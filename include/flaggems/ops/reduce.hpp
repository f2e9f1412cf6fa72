// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions over any set of dimensions: sum prod mean amax amin argmax argmin any all. The input
// may be an expression: `sum(stream, square(x), out, {1})` reads x once and stores nothing in
// between.
#pragma once

#include <flaggems/kernels/reduce.hpp>
#include <flaggems/ops/expr.hpp>

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

/// Which dimensions a reduction folds, and the sizes that leaves.
struct reduced_dims {
  bool folds[max_rank] = {};
  shape in, out;  // out: with or without the folded dimensions, as keepdim says
  i64 count = 1;  // elements folded into one

  reduced_dims(const char* op, const shape& sizes, int_list dims, bool keepdim) : in(sizes) {
    (void)checked_numel(sizes, op);  // operands may broadcast to more than any tensor has
    const int rank = sizes.rank();
    for (i64 d : std::span<const i64>(dims)) {
      const int k = normalize_dim(d, rank, op);
      if (folds[k]) [[unlikely]]
        raise(errc::invalid_argument, op, "each dimension once",
              "dimension " + detail::text(k) + " twice");
      folds[k] = true;
    }
    if (std::span<const i64>(dims).empty())
      for (int d = 0; d < rank; ++d) folds[d] = true;
    for (int d = 0; d < rank; ++d) {
      if (folds[d]) count *= sizes[d];
      if (!folds[d])
        out.push_back(sizes[d]);
      else if (keepdim)
        out.push_back(1);
    }
  }
};

/// Both halves of a reduction's iteration space, filled operand by operand. Operand 0 is the
/// output.
struct reduction_plan {
  const reduced_dims& dims;
  iteration kept, reduced;

  explicit reduction_plan(const reduced_dims& d)
      : dims(d), kept(half(d.in, false)), reduced(half(d.in, true)) {}

  /// The output: `strides` are of the dimensions in `dims.out`.
  void add_output(std::span<const i64> strides) {
    shape own;
    std::size_t next = 0;
    for (int d = 0; d < dims.in.rank(); ++d) {
      const bool there = !dims.folds[d] || dims.out.rank() == dims.in.rank();
      if (!dims.folds[d]) own.push_back(strides[next]);
      if (there) ++next;
    }
    kept.add(half(dims.in, false), own);
    reduced.add(half(dims.in, true), zeros(half(dims.in, true).rank()));
  }
  template <class T, class D>
  void operator()(const tensor_view<T, D>& v) {
    const auto [sizes, strides] = aligned(v.sizes(), v.strides());
    kept.add(half(sizes, false), half(strides, false));
    reduced.add(half(sizes, true), half(strides, true));
  }
  void position() {
    shape strides = dims.in;
    i64 stride = 1;
    for (int d = dims.in.rank() - 1; d >= 0; --d) {
      strides[d] = stride;
      stride *= dims.in[d];
    }
    add_index(strides);
  }
  /// An operand whose element at an offset is that offset.
  void add_index(const shape& strides) {
    kept.add(half(dims.in, false), half(strides, false));
    reduced.add(half(dims.in, true), half(strides, true));
  }

 private:
  [[nodiscard]] shape half(const shape& list, bool folded) const {
    shape r;
    for (int d = 0; d < list.rank(); ++d)
      if (dims.folds[d] == folded) r.push_back(list[d]);
    return r;
  }
  static shape zeros(int rank) {
    shape r;
    for (int d = 0; d < rank; ++d) r.push_back(0);
    return r;
  }
  /// Sizes and strides of an operand at the full rank, broadcast dimensions in front.
  [[nodiscard]] std::pair<shape, shape> aligned(std::span<const i64> sizes,
                                                std::span<const i64> strides) const {
    std::pair<shape, shape> r;
    const int missing = dims.in.rank() - static_cast<int>(sizes.size());
    for (int d = 0; d < dims.in.rank(); ++d) {
      const auto own = static_cast<std::size_t>(d - missing);
      r.first.push_back(d < missing ? 1 : sizes[own]);
      r.second.push_back(d < missing ? 0 : strides[own]);
    }
    return r;
  }
};

/// Whether the operands of a reduction over the last dimensions are contiguous, as in most calls.
struct contiguous_rows {
  const reduced_dims& dims;
  i64 rows = 1, length = 1;  // results, and the elements of each
  bool all;

  explicit contiguous_rows(const reduced_dims& d, bool contiguous_output)
      : dims(d), all(contiguous_output) {
    const int rank = d.in.rank();
    for (int k = 0; k < rank; ++k) {
      all = all && (d.folds[k] || length == 1);
      (d.folds[k] ? length : rows) *= d.in[k];
    }
    all = all && (length > 1 || rows == 1);
  }
  template <class T, class D>
  void operator()(const tensor_view<T, D>& v) {
    all = all && v.is_contiguous() && v.rank() == dims.in.rank() && v.numel() == rows * length;
  }
  void position() { all = false; }
};

inline constexpr i64 reduce_inner_chunk = 16384;
inline constexpr i64 reduce_outer_chunk = 1024;

/// Everything but the types of a reduction's launch.
struct reduction_layout {
  kernels::reduction_space space{};
  iteration all{std::span<const i64>()};
  bool lanes_reduced;

  reduction_layout(reduction_plan& plan, i64 elements) {
    iteration &k = plan.kept, &r = plan.reduced;
    k.collapse();
    r.collapse();
    const auto least = [](const iteration& it) {
      const i64 s = it.rank() > 0 ? it.stride(1, it.rank() - 1) : 0;
      return s < 0 ? -s : s;
    };
    lanes_reduced =
        k.rank() == 0 || (r.rank() > 0 && least(r) != 0 && (least(k) == 0 || least(r) <= least(k)));
    if (r.rank() == 0) lanes_reduced = k.rank() == 0;
    const int kept_outer = k.rank() - (!lanes_reduced && k.rank() > 0 ? 1 : 0);
    const int reduced_outer = r.rank() - (lanes_reduced && r.rank() > 0 ? 1 : 0);
    space.kept_rank = kept_outer;
    space.reduced_rank = reduced_outer;
    space.outputs = space.steps = space.parts = space.inner = 1;
    for (int d = 0; d < kept_outer; ++d) {
      space.kept_sizes[d] = k.size(d);
      space.outputs *= k.size(d);
      all.append(k, d);
    }
    for (int d = 0; d < reduced_outer; ++d) {
      space.reduced_sizes[d] = r.size(d);
      space.steps *= r.size(d);
      all.append(r, d);
    }
    const iteration& lanes = lanes_reduced ? r : k;
    if (lanes.rank() > 0) {
      space.inner = lanes.size(lanes.rank() - 1);
      all.append(lanes, lanes.rank() - 1);
    }
    cut(elements);
  }
  reduction_layout(const contiguous_rows& c, int operands)
      : all(iteration::rows(c.rows, c.length, operands)), lanes_reduced(true) {
    space.kept_rank = 1;
    space.kept_sizes[0] = space.outputs = c.rows;
    space.inner = c.length;
    space.steps = space.parts = 1;
    cut(c.rows * c.length);
  }

 private:
  void cut(i64 elements) {
    space.chunk = lanes_reduced ? reduce_inner_chunk : reduce_outer_chunk;
    if (space.chunk > space.inner) space.chunk = space.inner;
    space.chunks = kernels::ceil_div(space.inner, space.chunk);
    (lanes_reduced ? space.steps : space.outputs) *= space.chunks;
    // Few results of many elements: cut the folding, by a rule that knows no thread count, so that
    // the same input gives the same bits on any number of threads.
    if (lanes_reduced && space.outputs < 64 && elements / space.outputs >= 4 * reduce_inner_chunk)
      space.parts = (std::min)(space.steps, i64{64});
  }
};

template <class T, class D>
kernels::target<T> reduction_target(const reduction_layout& layout, const tensor_view<T, D>& out) {
  kernels::target<T> t{out.data(), {}};
  layout.all.copy_strides(0, t.strides);
  return t;
}

/// A contiguous [outputs, parts] buffer as the place of partial results.
template <class T>
kernels::target<T> partial_target(const kernels::reduction_space& space, T* data) {
  kernels::target<T> t{data, {}};
  i64 stride = space.parts;
  for (int d = space.kept_rank - 1; d >= 0; --d) {
    t.strides[d] = stride;
    stride *= space.kept_sizes[d];
  }
  t.strides[space.kept_rank + space.reduced_rank] = 1;
  return t;
}

/// `sink` is where results go, `parts` where the partial results of a cut reduction do; the
/// kernels are few because each is compiled for every instruction set of the host.
template <class Reducer, class C, class S, class E, class Index, class Sink, class Parts>
void launch_reduction(const char* op, const S& stream, const reduction_layout& layout, i64 elements,
                      const E& e, const Index& index, const Sink& sink, const Parts& parts) {
  launch_config config;
  config.op = op;
  config.work = work_of(elements, 8);
  if (layout.lanes_reduced) {
    using either = kernels::either_sink<Sink, Parts>;
    config.tiles = layout.space.outputs * layout.space.parts;
    launch<kernels::reduce_inner<Reducer, E, Index, either>>(
        stream, config, layout.space, e, index, either{sink, parts, layout.space.parts > 1});
  } else {
    config.tiles = layout.space.outputs;
    config.scratch = 4 * scratch_bytes<i64>(layout.space.chunk);
    launch<kernels::reduce_outer<Reducer, E, Index, Sink>>(stream, config, layout.space, e, index,
                                                           sink);
  }
}
/// The second half of a cut reduction.
template <class Reducer, class C, class S, class Sink>
void launch_parts(const char* op, const S& stream, const reduction_layout& layout, const C* values,
                  const i64* indices, const Sink& sink) {
  launch_config config;
  config.op = op;
  config.tiles = layout.space.outputs;
  config.work = work_of(layout.space.outputs, layout.space.parts, 8);
  launch<kernels::reduce_parts<Reducer, C, Sink>>(stream, config, layout.space, values, indices,
                                                  sink);
}

template <class Reducer, class C, bool Indexed, class S, class Node, class T, class D,
          class MakeSink>
void reduce_node(const char* op, const S& stream, const Node& node, const reduced_dims& dims,
                 const tensor_view<T, D>& out, const shape* index_strides,
                 const MakeSink& make_sink) {
  static_assert(Node::leaves + (Indexed ? 1 : 0) < max_operands,
                "flaggems: a reduction has at most 15 tensors, one less if it gives an index");
  i64 elements = 1;
  for (int d = 0; d < dims.in.rank(); ++d) elements *= dims.in[d];
  const auto run = [&](const reduction_layout& layout) {
    int next = 1;
    const auto e = node.template build<C>(layout.all, next);
    const auto sink = make_sink(reduction_target(layout, out));
    const bool cut = layout.space.parts > 1;
    std::optional<tensor<C, D>> values;  // partial results
    if (cut) values = empty<C>(stream, shape{layout.space.outputs * layout.space.parts}, op);
    C* const partial = cut ? values->data() : nullptr;
    const auto to_values = partial_target(layout.space, partial);
    if constexpr (Indexed) {
      kernels::position<i64> index{};
      layout.all.copy_strides(next, index.strides);
      auto indices =
          empty<i64>(stream, shape{cut ? layout.space.outputs * layout.space.parts : i64{0}}, op);
      const kernels::indexed_state_sink<C> parts{to_values,
                                                 partial_target(layout.space, indices.data())};
      launch_reduction<Reducer, C>(op, stream, layout, elements, e, index, sink, parts);
      if (cut) launch_parts<Reducer, C>(op, stream, layout, partial, indices.data(), sink);
    } else {
      launch_reduction<Reducer, C>(op, stream, layout, elements, e, kernels::no_index{}, sink,
                                   kernels::state_sink<C>{to_values});
      if (cut)
        launch_parts<Reducer, C>(op, stream, layout, partial, static_cast<const i64*>(nullptr),
                                 sink);
    }
  };
  if constexpr (!Indexed) {
    contiguous_rows rows(dims, out.is_contiguous());
    node.for_each_leaf(rows);
    if (rows.all) return run(reduction_layout(rows, Node::leaves + 1));
  }
  reduction_plan plan(dims);
  plan.add_output(out.strides());
  node.for_each_leaf(plan);
  if constexpr (Indexed) plan.add_index(*index_strides);
  run(reduction_layout(plan, elements));
}

/// The dimensions that are folded, in order.
inline shape folded_dims(const reduced_dims& dims) {
  shape list;
  for (int d = 0; d < dims.in.rank(); ++d)
    if (dims.folds[d]) list.push_back(d);
  return list;
}

[[noreturn]] FLAGGEMS_COLD inline void raise_no_elements(const char* op, int_list sizes) {
  raise(errc::invalid_argument, op, "at least one element to reduce", "sizes " + to_string(sizes));
}

/// Runs a reduction whose result is a number; `divide` divides it by the count.
template <class Op, template <class> class Reducer, class C, class S, class X, class T, class D>
void reduce_values(const char* op, const S& stream, const X& x, const tensor_view<T, D>& out,
                   int_list dims, bool keepdim, bool divide, bool needs_elements) {
  static_assert(kind_of<C> != kind::floating || kind_of<T> == kind::floating,
                "flaggems: a floating-point result needs a floating-point output");
  const auto& node = root_of(x);
  broadcast_sizes sizes{{}, op};
  node.for_each_leaf(sizes);
  const reduced_dims plan(op, sizes.sizes, dims, keepdim);
  check_output_sizes(op, plan.out, out);
  if (needs_elements && plan.count == 0) [[unlikely]]
    raise_no_elements(op, plan.in);
  check_writable(op, out);
  node.for_each_leaf(check_disjoint<tensor_view<T, D>>{out, op});
  if (out.empty()) return;
  if (plan.count != 0 && offer<Op>(op, stream, std::tie(node), out, folded_dims(plan), keepdim))
    return;
  const C divisor = divide ? static_cast<C>(plan.count) : C(1);
  if (plan.count == 0)  // nothing to fold: the neutral value (0 / 0 for a mean)
    return assign_node(op, stream, out,
                       number<T>{kernels::number_cast<T>(
                           divide ? std::numeric_limits<C>::quiet_NaN() : Reducer<C>::neutral())});
  reduce_node<Reducer<C>, C, false>(op, stream, node, plan, out, nullptr, [&](const auto& target) {
    return kernels::value_sink<T, C>{target, divisor};
  });
}
template <class Op, template <class> class Reducer, class C, class S, class X, class T, class D>
void reduce_values(const char*, const S&, const X&, const tensor_view<const T, D>&, int_list, bool,
                   bool, bool) {
  check_elements_written<const T>();
}

template <class Op, bool Max, class S, class X, class T, class D>
void reduce_index(const char* op, const S& stream, const X& x, const tensor_view<T, D>& out,
                  std::optional<i64> dim, bool keepdim) {
  static_assert(std::is_same_v<T, i64>, "flaggems: argmax and argmin write i64 indices");
  const auto& node = root_of(x);
  using C = arithmetic_t<typename std::decay_t<decltype(node)>::element>;
  broadcast_sizes sizes{{}, op};
  node.for_each_leaf(sizes);
  const i64 one[1] = {dim.value_or(0)};
  const reduced_dims plan(
      op, sizes.sizes,
      dim && sizes.sizes.rank() > 0 ? int_list(std::span<const i64>(one)) : int_list{}, keepdim);
  if (dim && sizes.sizes.rank() == 0) (void)normalize_dim(*dim, 1, op);
  check_output_sizes(op, plan.out, out);
  if (plan.count == 0) [[unlikely]]
    raise_no_elements(op, plan.in);
  check_writable(op, out);
  node.for_each_leaf(check_disjoint<tensor_view<T, D>>{out, op});
  if (out.empty() || offer<Op>(op, stream, std::tie(node), out, folded_dims(plan), keepdim)) return;
  shape places = plan.in;  // the index of an element: along dim, or row-major over all
  i64 stride = 1;
  for (int d = places.rank() - 1; d >= 0; --d) {
    places[d] = plan.folds[d] ? stride : 0;
    if (plan.folds[d]) stride *= plan.in[d];
  }
  reduce_node<kernels::index_of<C, Max>, C, true>(
      op, stream, node, plan, out, &places,
      [&](const auto& target) { return kernels::index_sink<i64>{target}; });
}

/// What sums and products accumulate in and give: i64 for integers and bool.
template <class T>
using sum_type = std::conditional_t<kind_of<T> == kind::floating, T, i64>;
template <class X>
using dtype_of_operand = typename decltype(node_of(std::declval<const X&>()))::element;

/// The sizes that are left of an operand's.
template <class X>
shape reduced_shape(const char* op, const X& x, int_list dims, bool keepdim) {
  broadcast_sizes sizes{{}, op};
  node_of(x).for_each_leaf(sizes);
  return reduced_dims(op, sizes.sizes, dims, keepdim).out;
}

/// C++17's "type or default".
template <class T, class Default>
using type_or = std::conditional_t<std::is_void_v<T>, Default, T>;

}  // namespace detail

#define FLAGGEMS_COMMA ,
// One line a reduction: name, its fold, the type it folds in, the type of a new result, whether it
// divides by the count, whether it needs at least one element.
#define FLAGGEMS_REDUCTION(name, fold, folds_in, gives, divides, needs)                          \
  template <stream_like S, tensor_operand X, tensor_like Out>                                    \
  void name(const S& stream, const X& x, Out&& out, int_list dims = {}, bool keepdim = false) {  \
    using T [[maybe_unused]] = detail::dtype_of_operand<X>;                                      \
    using O [[maybe_unused]] = value_t<Out>;                                                     \
    detail::reduce_values<operators::name, fold, folds_in>(#name, stream, x, as_view(out), dims, \
                                                           keepdim, divides, needs);             \
  }                                                                                              \
  template <class Result = void, stream_like S, tensor_operand X>                                \
  requires(!tensor_like<Result>) [[nodiscard]] auto name(                                        \
      const S& stream, const X& x, int_list dims = {}, bool keepdim = false) {                   \
    using T [[maybe_unused]] = detail::dtype_of_operand<X>;                                      \
    auto out = empty<detail::type_or<Result, gives>>(                                            \
        stream, detail::reduced_shape(#name, x, dims, keepdim), #name);                          \
    name(stream, x, out, dims, keepdim);                                                         \
    return out;                                                                                  \
  }

namespace detail {
/// What a sum folds in: f64 if input or output are, f32 for other floats, i64 for integers.
template <class T, class O>
using sum_fold = std::conditional_t<
    std::is_same_v<T, f64> || std::is_same_v<O, f64>, f64,
    std::conditional_t<kind_of<T> == kind::floating || kind_of<O> == kind::floating, f32, i64>>;
template <class C>
using any_fold = kernels::any_of;
template <class C>
using all_fold = kernels::all_of;
template <class T, class O>
struct mean_check {
  static_assert(kind_of<O> == kind::floating, "flaggems: mean gives floating-point tensors");
  using type = sum_fold<T, O>;
};
template <class T, class O>
using mean_fold = typename mean_check<T, O>::type;
template <class T>
struct mean_type {
  static_assert(kind_of<T> == kind::floating, "flaggems: mean takes floating-point tensors");
  using type = T;
};
}  // namespace detail

/// out[kept] = sum of x over `dims` (all if empty). Integers and bool give i64.
///
/// Shapes: out has x's sizes without `dims`, or with 1 in their place if `keepdim`. 16-bit floats
/// are summed in f32, in blocks. An empty sum is 0. Raises out_of_range, shape_mismatch or overlap.
/// aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype,
/// Tensor(a!) out)
FLAGGEMS_REDUCTION(sum, kernels::sum_of, detail::sum_fold<T FLAGGEMS_COMMA O>, detail::sum_type<T>,
                   false, false)
/// out[kept] = mean of x over `dims`; floating-point only; an empty mean is NaN. Otherwise as
/// `sum`. aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype,
/// Tensor(a!) out)
FLAGGEMS_REDUCTION(mean, kernels::sum_of, detail::mean_fold<T FLAGGEMS_COMMA O>,
                   typename detail::mean_type<T>::type, true, false)
/// out[kept] = product of x over `dims`; an empty product is 1. Otherwise as `sum`.
/// aten::prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype, Tensor(a!)
/// out)
FLAGGEMS_REDUCTION(prod, kernels::prod_of, detail::sum_fold<T FLAGGEMS_COMMA O>,
                   detail::sum_type<T>, false, false)
/// out[kept] = largest element over `dims`; NaN if there is one. Raises invalid_argument if there
/// is no element. aten::amax.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_REDUCTION(amax, kernels::max_of_all, detail::arithmetic_t<T>, T, false, true)
/// out[kept] = smallest element over `dims`; otherwise as `amax`.
/// aten::amin.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_REDUCTION(amin, kernels::min_of_all, detail::arithmetic_t<T>, T, false, true)
/// out[kept] = whether any element over `dims` is not zero. NaN is not zero; of nothing: false.
/// aten::any.dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_REDUCTION(any, detail::any_fold, bool, bool, false, false)
/// out[kept] = whether all elements over `dims` are not zero; of nothing: true.
/// aten::all.dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_REDUCTION(all, detail::all_fold, bool, bool, false, false)
#undef FLAGGEMS_REDUCTION
#undef FLAGGEMS_COMMA

// One line an operator that gives the index of an element: name, whether it is the largest's.
#define FLAGGEMS_INDEX_REDUCTION(name, largest)                                                   \
  template <stream_like S, tensor_operand X, tensor_like Out>                                     \
  void name(const S& stream, const X& x, Out&& out, std::optional<i64> dim = {},                  \
            bool keepdim = false) {                                                               \
    detail::reduce_index<operators::name, largest>(#name, stream, x, as_view(out), dim, keepdim); \
  }                                                                                               \
  template <stream_like S, tensor_operand X>                                                      \
  [[nodiscard]] auto name(const S& stream, const X& x, std::optional<i64> dim = {},               \
                          bool keepdim = false) {                                                 \
    const i64 one[1] = {dim.value_or(0)};                                                         \
    const int_list dims = dim ? int_list(std::span<const i64>(one)) : int_list{};                 \
    auto out = empty<i64>(stream, detail::reduced_shape(#name, x, dims, keepdim), #name);         \
    name(stream, x, out, dim, keepdim);                                                           \
    return out;                                                                                   \
  }

/// out[kept] = index of the largest element along `dim`, or in row-major order if there is no
/// `dim`; the first among equals, or the first NaN. Raises invalid_argument if there is
/// no element. aten::argmax.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_INDEX_REDUCTION(argmax, true)
/// out[kept] = index of the smallest element, or of the first NaN; otherwise as `argmax`.
/// aten::argmin.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_INDEX_REDUCTION(argmin, false)
#undef FLAGGEMS_INDEX_REDUCTION

}  // namespace flaggems
