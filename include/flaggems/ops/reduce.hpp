// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions over any set of dimensions: sum prod mean amax amin argmax argmin any all. The input
// may be an expression: `sum(stream, square(x), out, {1})` reads x once and stores nothing in
// between.
#pragma once

#include <flaggems/kernel/family/reduce/reduce.hpp>
#include <flaggems/ops/dispatch/reduce.hpp>
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
  u32 folded = 0;  // a bit for each dimension
  shape in, out;   // out: with or without the folded dimensions, as keepdim says
  i64 count = 1;   // elements folded into one

  reduced_dims(const char* op, const shape& sizes, int_list dims, bool keepdim) : in(sizes) {
    (void)checked_numel(sizes, op);  // operands may broadcast to more than any tensor has
    folded = normalize_dims(dims, sizes.rank(), op);
    for (int d = 0; d < sizes.rank(); ++d) {
      if (folds(d)) count *= sizes[d];
      if (!folds(d))
        out.push_back(sizes[d]);
      else if (keepdim)
        out.push_back(1);
    }
  }
  [[nodiscard]] bool folds(int d) const { return (folded >> d & 1u) != 0; }
};

/// Checks a reduction of any tensors.
FLAGGEMS_NOINLINE inline reduced_dims check_reduction(const char* op, const memory_layout& out,
                                                      layout_list in, int_list dims, bool keepdim,
                                                      bool needs_elements) {
  const reduced_dims plan(op, broadcast_of(op, in), dims, keepdim);
  if (!same_sizes(out.sizes, plan.out)) [[unlikely]]
    raise_output_sizes(op, plan.out, out.sizes);
  if (needs_elements && plan.count == 0) [[unlikely]]
    raise(errc::invalid_argument, op, "at least one element to reduce",
          "sizes " + to_string(plan.in));
  check_writable(op, out);
  for (const memory_layout& x : in)
    if (!is_position(x)) check_apart(op, out, x);
  return plan;
}

/// Both halves of a reduction's iteration space, filled operand by operand. Operand 0 is the
/// output.
class reduction_plan {
 public:
  const reduced_dims& dims;
  iteration kept, reduced;

  explicit reduction_plan(const reduced_dims& d) : reduction_plan(d, halves(d, d.in)) {}

  void add_output(int_list strides) {
    shape own = dims.in;
    const bool all = dims.out.rank() == dims.in.rank();
    int next = 0;
    for (int d = 0; d < own.rank(); ++d) {
      const bool folds = dims.folds(d);
      own[d] = folds ? 0 : strides[next];
      if (all || !folds) ++next;
    }
    add(own);
  }
  void add_input(const memory_layout& x) {
    if (is_position(x)) return add(contiguous_strides(dims.in));
    shape own = dims.in;
    const int missing = own.rank() - x.sizes.size();
    for (int d = 0; d < own.rank(); ++d)
      own[d] = d < missing || x.sizes[d - missing] == 1 ? 0 : x.strides[d - missing];
    add(own);
  }
  /// The index of an element: along the folded dimension, or in row-major order over all.
  void add_place() {
    shape places = dims.in;
    i64 stride = 1;
    for (int d = places.rank() - 1; d >= 0; --d) {
      places[d] = dims.folds(d) ? stride : 0;
      if (dims.folds(d)) stride *= dims.in[d];
    }
    add(places);
  }

 private:
  /// A list of all dimensions as one of the kept and one of the folded ones.
  struct halves {
    shape kept, reduced;
    halves(const reduced_dims& dims, const shape& all) {
      for (int d = 0; d < all.rank(); ++d) (dims.folds(d) ? reduced : kept).push_back(all[d]);
    }
  };
  reduction_plan(const reduced_dims& d, const halves& sizes)
      : dims(d), kept(sizes.kept), reduced(sizes.reduced), sizes_(sizes) {}
  /// An operand with these strides, 0 where it is broadcast.
  void add(const shape& strides) {
    const halves own(dims, strides);
    kept.add(sizes_.kept, own.kept);
    reduced.add(sizes_.reduced, own.reduced);
  }

  halves sizes_;
};

inline constexpr i64 reduce_outer_chunk = 1024;

/// Everything but the types of a reduction's launch: the space, before it is cut.
struct reduction_layout {
  kernels::reduction_space space{};
  iteration all{std::span<const i64>()};
  i64 elements;
  bool lanes_reduced;

  explicit reduction_layout(reduction_plan& plan) : elements(plan.dims.in.numel()) {
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
  }

  /// Into what the host's workers take.
  void cut() {
    space.chunk = lanes_reduced ? kernels::reduced_chunk : reduce_outer_chunk;
    if (space.chunk > space.inner) space.chunk = space.inner;
    space.chunks = kernels::ceil_div(space.inner, space.chunk);
    (lanes_reduced ? space.steps : space.outputs) *= space.chunks;
    // Few results of many elements: cut the folding, by a rule that knows no thread count, so that
    // the same input gives the same bits on any number of threads.
    if (lanes_reduced && space.outputs < 64 &&
        elements / space.outputs >= 4 * kernels::reduced_chunk)
      space.parts = (std::min)(space.steps, i64{64});
  }
};

FLAGGEMS_NOINLINE inline reduction_layout plan_reduction(const reduced_dims& dims,
                                                         const memory_layout& out, layout_list in,
                                                         bool indexed) {
  reduction_plan plan(dims);
  plan.add_output(out.strides);
  for (const memory_layout& x : in) plan.add_input(x);
  if (indexed) plan.add_place();
  return reduction_layout(plan);
}

template <class T, class D>
kernels::target<T> reduction_target(const reduction_layout& layout, const tensor_view<T, D>& out) {
  kernels::target<T> t{out.data(), {}};
  layout.all.copy_strides(0, t.strides);
  return t;
}

/// A contiguous [outputs, parts] buffer as the place of partial results.
template <class T>
FLAGGEMS_NOINLINE kernels::target<T> partial_target(const kernels::reduction_space& space,
                                                    T* data) {
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
void launch_reduction(const char* op, const S& stream, const reduction_layout& layout, const E& e,
                      const Index& index, const Sink& sink, const Parts& parts) {
  launch_config config;
  config.op = op;
  config.work = work_of(layout.elements, 8);
  if (layout.lanes_reduced) {
    using either = kernels::either_sink<Sink, Parts>;
    config.tiles = layout.space.outputs * layout.space.parts;
    launch<kernels::reduce_inner<Reducer, E, Index, either>>(
        stream, config, layout.space, e, index, either{sink, parts, layout.space.parts > 1});
  } else {
    config.tiles = layout.space.outputs;
    config.scratch = 3 * scratch_bytes<i64>(layout.space.chunk);  // states, or values and indices
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

/// Memory for the partial results of a cut reduction.
template <class C, class S>
FLAGGEMS_NOINLINE tensor<C, device_of<S>> partial_results(const char* op, const S& stream,
                                                          const kernels::reduction_space& space) {
  return empty<C>(stream, shape{space.outputs * space.parts}, op);
}

template <class Reducer, class C, bool Indexed, class S, class Node, class T, class D, class Sink>
void run_reduction(const char* op, const S& stream, const reduction_layout& layout,
                   const Node& node, const tensor_view<T, D>& out, Sink sink) {
  int next = 1;
  const auto e = node.template build<C>(layout.all, next);
  sink.out = reduction_target(layout, out);
  const kernels::reduction_space& space = layout.space;
  const bool cut = space.parts > 1;
  std::optional<tensor<C, D>> values;  // partial results
  std::optional<tensor<i64, D>> indices;
  kernels::target<C> to_values{};
  if (cut) {
    values.emplace(partial_results<C>(op, stream, space));
    to_values = partial_target(space, values->data());
  }
  if constexpr (Indexed) {
    kernels::target<i64> to_indices{};
    if (cut) {
      indices.emplace(partial_results<i64>(op, stream, space));
      to_indices = partial_target(space, indices->data());
    }
    kernels::position<i64> index{};
    layout.all.copy_strides(next, index.strides);
    launch_reduction<Reducer, C>(op, stream, layout, e, index, sink,
                                 kernels::indexed_state_sink<C>{to_values, to_indices});
  } else {
    launch_reduction<Reducer, C>(op, stream, layout, e, kernels::no_index{}, sink,
                                 kernels::state_sink<C>{to_values});
  }
  if (cut)
    launch_parts<Reducer, C>(op, stream, layout, to_values.data,
                             static_cast<const i64*>(Indexed ? indices->data() : nullptr), sink);
}

/// The dimensions that are folded, in order.
inline shape folded_dims(const reduced_dims& dims) {
  shape list;
  for (int d = 0; d < dims.in.rank(); ++d)
    if (dims.folds(d)) list.push_back(d);
  return list;
}

template <class Reducer, class C, class S, class Node, class T, class Sink>
void run_dense_reduction(const char* op, const S& stream, const dense_rows& dense, const Node& node,
                         T* out, Sink sink) {
  int next = 1;
  const auto e = node.template build<C>(flat_space{}, next);
  sink.out = {out, {1}};
  launch_config config;
  config.op = op;
  config.tiles = dense.rows;
  config.work = work_of(dense.rows, dense.length, 8);
  launch<kernels::reduce_rows<Reducer, std::remove_const_t<decltype(e)>, Sink>>(
      stream, config, dense.rows, dense.length, e, sink);
}

/// Checks and runs a reduction of a node by a Reducer. `make_sink(count)` is where results go, but
/// for their place; `when_empty` what to do where there is nothing to fold.
template <class Op, class Reducer, class C, bool Indexed, class S, class Node, class T, class D,
          class MakeSink, class WhenEmpty>
void reduce_node(const char* op, const S& stream, const Node& node, const tensor_view<T, D>& out,
                 int_list dims, bool keepdim, bool needs_elements, const MakeSink& make_sink,
                 const WhenEmpty& when_empty) {
  static_assert(Node::leaves + (Indexed ? 1 : 0) < max_operands,
                "flaggems: a reduction has at most 15 tensors, one less if it gives an index");
  check_elements_written<T>();
  memory_layout leaves[Node::leaves];
  node.for_each_leaf(collect_layouts{leaves});
  const layout_list in(leaves, std::size_t{Node::leaves});
  const memory_layout to = layout_of(out);
  if constexpr (!has_implementation<Op, D>) {
    const dense_rows dense(op, to, in, dims, keepdim);
    if (dense.all) {
      if constexpr (has_vectors<D>) {
        run_dense_reduction<Reducer, C>(op, stream, dense, node, out.data(),
                                        make_sink(dense.length));
      } else {
        run_chip_reduction<Reducer, C>(op, stream, chip_rows(dense), true, in, node, out.data(),
                                       make_sink(dense.length));
      }
      return;
    }
  }
  const reduced_dims plan = check_reduction(op, to, in, dims, keepdim, needs_elements);
  if (out.empty()) return;
  if (plan.count == 0) return when_empty();
  if (offer<Op>(op, stream, std::tie(node), out, folded_dims(plan), keepdim)) return;
  reduction_layout layout = plan_reduction(plan, to, in, Indexed);
  if constexpr (has_vectors<D>) {
    layout.cut();
    run_reduction<Reducer, C, Indexed>(op, stream, layout, node, out, make_sink(plan.count));
  } else {
    const auto run = [&](const auto& operands) {
      run_chip_reduction<Reducer, C>(op, stream, operands, layout.lanes_reduced, in, node,
                                     out.data(), make_sink(plan.count));
    };
    if (layout.space.kept_rank <= 1 && layout.space.reduced_rank <= 1)
      run(chip_plane(layout.all, layout.space));
    else
      run(chip_space{layout.all, layout.space});
  }
}

template <class X>
using node_of_operand = decltype(node_of(std::declval<const X&>()));

/// Runs a reduction whose result is a number; `divide` divides it by the count.
template <class Op, template <class> class Reducer, class C, class S, class X, class T, class D>
void reduce_values(const char* op, const S& stream, const X& x, const tensor_view<T, D>& out,
                   int_list dims, bool keepdim, bool divide, bool needs_elements) {
  static_assert(kind_of<C> != kind::floating || kind_of<T> == kind::floating,
                "flaggems: a floating-point result needs a floating-point output");
  reduce_node<Op, Reducer<C>, C, false>(
      op, stream, root_of(x), out, dims, keepdim, needs_elements,
      [=](i64 count) {
        return kernels::value_sink<T, C>{{}, divide ? static_cast<C>(count) : C(1)};
      },
      [&] {  // the neutral value (0 / 0 for a mean)
        assign_node(op, stream, out,
                    number<T>{kernels::number_cast<T>(divide ? std::numeric_limits<C>::quiet_NaN()
                                                             : Reducer<C>::neutral())});
      });
}
template <class Op, template <class> class Reducer, class C, class S, class X, class T, class D>
void reduce_values(const char*, const S&, const X&, const tensor_view<const T, D>&, int_list, bool,
                   bool, bool) {
  check_elements_written<const T>();
}
template <class Op, template <class> class Reducer, class C, class S, class X, class T, class D>
requires(is_complex_number<T> || has_complex<node_of_operand<X>>) void reduce_values(
    const char*, const S&, const X&, const tensor_view<T, D>&, int_list, bool, bool, bool) {
  refuse_complex<T, node_of_operand<X>>();
}

template <class Op, bool Max, class S, class X, class T, class D>
void reduce_index(const char* op, const S& stream, const X& x, const tensor_view<T, D>& out,
                  std::optional<i64> dim, bool keepdim) {
  const auto& node = root_of(x);
  using C = arithmetic_t<typename std::decay_t<decltype(node)>::element>;
  const int_list dims = dim ? int_list(&*dim, 1) : int_list();
  reduce_node<Op, kernels::index_of<C, Max>, C, true>(
      op, stream, node, out, dims, keepdim, true, [](i64) { return kernels::index_sink<i64>{}; },
      [] {});
}
template <class Op, bool Max, class S, class X, class T, class D>
requires(has_complex<node_of_operand<X>>) void reduce_index(const char*, const S&, const X&,
                                                            const tensor_view<T, D>&,
                                                            std::optional<i64>, bool) {
  refuse_complex<T, node_of_operand<X>>();
}

/// What sums and products accumulate in and give: i64 for integers and bool.
template <class T>
using sum_type = std::conditional_t<kind_of<T> == kind::floating, T, i64>;
template <class X>
using dtype_of_operand = typename node_of_operand<X>::element;

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
  void name(const S& stream, const X& x, Out&& out, const dim_list& dims = {},                   \
            bool keepdim = false) {                                                              \
    using T [[maybe_unused]] = detail::dtype_of_operand<X>;                                      \
    using O [[maybe_unused]] = value_t<Out>;                                                     \
    detail::reduce_values<operators::name, fold, folds_in>(#name, stream, x, as_view(out), dims, \
                                                           keepdim, divides, needs);             \
  }                                                                                              \
  template <class Result = void, stream_like S, tensor_operand X>                                \
  requires(!tensor_like<Result>) [[nodiscard]] auto name(                                        \
      const S& stream, const X& x, const dim_list& dims = {}, bool keepdim = false) {            \
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
template <class T, class Result>
struct mean_type {
  static_assert(kind_of<T> == kind::floating || !std::is_void_v<Result>,
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
/// What any and all give: bool, but u8 of u8.
template <class T>
using truth_type = std::conditional_t<std::is_same_v<T, u8>, u8, bool>;
}  // namespace detail

/// out[kept] = sum of x over `dims`, one or a list (all if empty). Integers and bool give i64.
///
/// Shapes: out has x's sizes without `dims`, or with 1 in their place if `keepdim`. 16-bit floats
/// are summed in f32, in blocks; for an output of bool, elements are converted first, so that it
/// says whether any is not 0. An empty sum is 0. Raises out_of_range, shape_mismatch or overlap.
/// aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype,
/// Tensor(a!) out)
FLAGGEMS_REDUCTION(sum, detail::folds_into<O>::template sum,
                   typename detail::folds_into<O>::template type<T>, detail::sum_type<T>, false,
                   false)
/// out[kept] = mean of x over `dims`; of integers, the result's dtype must be given, which is of
/// floating point: mean<float>(stream, x). An empty mean is NaN. Otherwise as
/// `sum`. aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype,
/// Tensor(a!) out)
FLAGGEMS_REDUCTION(mean, kernels::sum_of, detail::mean_fold<T FLAGGEMS_COMMA O>,
                   typename detail::mean_type<T FLAGGEMS_COMMA Result>::type, true, false)
/// out[kept] = product of x over `dims`; an empty product is 1. Otherwise as `sum`.
/// aten::prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype, Tensor(a!)
/// out)
FLAGGEMS_REDUCTION(prod, detail::folds_into<O>::template prod,
                   typename detail::folds_into<O>::template type<T>, detail::sum_type<T>, false,
                   false)
/// out[kept] = largest element over `dims`; NaN if there is one. Raises invalid_argument if there
/// is no element. aten::amax.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_REDUCTION(amax, kernels::max_of_all, detail::arithmetic_t<T>, T, false, true)
/// out[kept] = smallest element over `dims`; otherwise as `amax`.
/// aten::amin.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_REDUCTION(amin, kernels::min_of_all, detail::arithmetic_t<T>, T, false, true)
/// out[kept] = whether any element over `dims` is not zero. NaN is not zero; of nothing: false.
/// The result is of bool, of u8 if x is.
/// aten::any.dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_REDUCTION(any, detail::any_fold, bool, detail::truth_type<T>, false, false)
/// out[kept] = whether all elements over `dims` are not zero; of nothing: true.
/// The result is of bool, of u8 if x is.
/// aten::all.dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out)
FLAGGEMS_REDUCTION(all, detail::all_fold, bool, detail::truth_type<T>, false, false)
#undef FLAGGEMS_REDUCTION
#undef FLAGGEMS_COMMA

// One line an operator that gives the index of an element: name, whether it is the largest's.
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

}  // namespace flaggems
