// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes of elements at indices: scatter and index_* along one dimension, index_put for several.
#pragma once

#include <flaggems/ops/gather.hpp>

#include <string_view>
#include <type_traits>

namespace flaggems {
namespace operators {
struct scatter;
struct index_put;
}  // namespace operators

/// How elements are joined that go to one place, by ATen's names: sum (add), prod (multiply), mean,
/// amax and amin.
enum class scatter_reduction { sum, prod, mean, amax, amin };

/// The reduction of ATen's name. Raises invalid_argument for others.
inline scatter_reduction spelled(std::string_view text, std::type_identity<scatter_reduction>) {
  if (text == "sum" || text == "add") return scatter_reduction::sum;
  if (text == "prod" || text == "multiply") return scatter_reduction::prod;
  if (text == "mean") return scatter_reduction::mean;
  if (text == "amax") return scatter_reduction::amax;
  if (text == "amin") return scatter_reduction::amin;
  raise(errc::invalid_argument, "scatter", "a reduction of sum, prod, mean, amax or amin", text);
}

namespace detail {

/// What elements can be joined.
using joined_types = type_list<f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool>;

inline kernels::joining joining_of(scatter_reduction how) {
  switch (how) {
    case scatter_reduction::prod: return kernels::joining::product;
    case scatter_reduction::amax: return kernels::joining::largest;
    case scatter_reduction::amin: return kernels::joining::smallest;
    default: return kernels::joining::sum;
  }
}
/// A number that elements of T are multiplied with, for integers truncated; raises invalid_argument
/// for one that the type does not hold.
template <class T, class V>
kernels::joined_type<T> multiplier(const char* op, V value) {
  using C = kernels::joined_type<T>;
  using kept = std::conditional_t<kind_of<T> == kind::floating, C, T>;
  const auto given = scalar_of(value);
  check_range<kept>(op, given);
  return kernels::number_cast<C>(kernels::number_cast<kept>(given));
}
/// What joins with any element to that element.
template <class T>
T neutral_of(scatter_reduction how) {
  using C = kernels::joined_type<T>;
  switch (how) {
    case scatter_reduction::prod: return kernels::number_cast<T>(C(1));
    case scatter_reduction::amax:
      return kernels::number_cast<T>(std::is_same_v<T, bool> ? C(0) : kernels::lowest<C>());
    case scatter_reduction::amin: return kernels::number_cast<T>(kernels::highest<C>());
    default: return kernels::number_cast<T>(C(0));
  }
}

template <class V>
concept fills = scalar_operand<V> || tensor_like<V>;

/// A number in a device's memory, as often as wanted.
template <class T, class S>
class everywhere {
 public:
  everywhere(const char* op, const S& stream, T value) : memory_(empty<T>(stream, {}, op)) {
    assign_node(op, stream, memory_.view(), number<T>{value});
  }
  [[nodiscard]] tensor_view<const T, device_of<S>> view(const shape& sizes) const {
    return memory_.view().expand(sizes);
  }

 private:
  tensor<T, device_of<S>> memory_;
};

/// Raises for outputs that cannot be written, or share memory with what is read.
template <class Out, class X, class Index, class Source>
void check_scatter_memory(const char* op, const Out& out, const X& x, const Index& index,
                          const Source& source) {
  check_output_sizes(op, x.shape_of(), out);
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_partial_overlap(op, written, layout_of(x));
  check_no_overlap(op, written, layout_of(index));
  check_no_overlap(op, written, layout_of(source));
}

/// One write along a dimension: what all of scatter and index_* are. Its tensors have dimensions.
template <class S, class T, class J, class D>
struct scatter_call {
  const char* op;
  const S& stream;
  tensor_view<T, D> out;
  int dim;
  tensor_view<const J, D> index;
  tensor_view<const T, D> source;  // of the index's sizes

  /// An implementation gets `out` as it is so far.
  void write(kernels::joining how) const {
    if (index.empty()) return;
    if (replaced<operators::scatter>(op, stream, out, dim, index, source, how)) return;
    launch_scatter_along(op, stream, out, dim, index, source, how);
  }
  /// Adds the source times alpha, a number in the type that the product is computed in.
  void add(kernels::joined_type<T> alpha) const {
    using C = kernels::joined_type<T>;
    if (alpha == C(1)) return write(kernels::joining::sum);
    auto scaled = empty<T>(stream, source.shape_of(), op);
    using times = call<numeric, kernels::mul_fn, leaf<T, D>, number<C>>;
    assign_node(op, stream, scaled.view(), as_type<T, times>{times{{}, {{source}, {alpha}}}});
    scatter_call r = *this;
    r.source = scaled.view();
    r.write(kernels::joining::sum);
  }
  /// Joins; without the elements that are there if not `include_self`.
  void reduce(scatter_reduction how, bool include_self) const {
    if (index.empty()) return;
    const auto with = [&](const auto& values) {
      scatter_call r = *this;
      r.source = values.view(index.shape_of());
      return r;
    };
    if (!include_self)
      with(everywhere<T, S>(op, stream, neutral_of<T>(how))).write(kernels::joining::replace);
    write(joining_of(how));
    if (how != scatter_reduction::mean) return;
    auto counts = empty<i64>(stream, out.shape_of(), op);
    assign_node(op, stream, counts.view(), number<i64>{include_self ? 1 : 0});
    const everywhere<i64, S> one(op, stream, 1);
    launch_scatter(op, stream, elements_along(counts.view(), dim, index),
                   one.view(index.shape_of()), meeting_dims{1} << dim, kernels::joining::sum);
    const auto divisor = maximum(counts, 1);
    if constexpr (kind_of<T> == kind::floating) {
      assign_node(op, stream, out, div(out, cast<T>(divisor)).node);
    } else {
      using wide = std::conditional_t<kernels::is_unsigned_integer<T>, u64, i64>;
      const auto quotient = div(cast<wide>(out), cast<wide>(divisor), rounding_mode::floor);
      assign_node(op, stream, out, cast<T>(quotient).node);
    }
  }
};

/// Checks a scatter, copies x to out, and calls run(scatter_call).
template <class S, class T, class J, class D, class Run>
void scatter_into(const char* op, const S& stream, const tensor_view<const T, D>& given, i64 dim,
                  const tensor_view<const J, D>& given_index,
                  const tensor_view<const T, D>& given_source, const tensor_view<T, D>& given_out,
                  const Run& run) {
  const int d = normalize_dim(dim, given.rank(), op);
  const auto x = with_dims(given);
  const auto index = with_dims(given_index);
  const auto source = with_dims(given_source);
  check_scatter_memory(op, given_out, given, given_index, given_source);
  const auto out = with_dims(given_out);
  tensor_view<const T, D> used = source;
  if (!index.empty()) {
    check_along(op, index.sizes(), x.sizes(), d);
    check_along(op, index.sizes(), source.sizes(), -1);
    for (int k = 0; k < index.rank(); ++k) used = used.narrow(k, 0, index.size(k));
    check_many_indices(op, stream, index, x.size(d));
  }
  if (out.empty()) return;
  copy_unless_same(op, stream, out, x);
  if (!index.empty()) run(scatter_call<S, T, J, D>{op, stream, out, d, index, used});
}
/// The same of index_*: an index vector for one dimension of the source. Indices below 0 count from
/// the end if it `wraps`.
template <class S, class T, class J, class D, class Run>
void index_into_dim(const char* op, const S& stream, const tensor_view<const T, D>& given, i64 dim,
                    const tensor_view<const J, D>& given_index,
                    const tensor_view<const T, D>& given_source, const tensor_view<T, D>& given_out,
                    const Run& run, bool wraps = false) {
  const int d = normalize_dim(dim, given.rank(), op);
  const auto x = with_dims(given);
  const auto index = index_vector(op, given_index);
  tensor_view<const T, D> source = with_dims(given_source);
  shape wanted = x.shape_of();
  wanted[d] = index.numel();
  if (!same_sizes(source.sizes(), wanted)) [[unlikely]]
    raise_other_sizes(op, wanted, source.sizes());
  check_scatter_memory(op, given_out, given, given_index, given_source);
  const auto out = with_dims(given_out);
  check_indices(op, stream, index, x.size(d), {}, wraps);
  if (out.empty()) return;
  copy_unless_same(op, stream, out, x);
  if (source.empty()) return;
  const auto run_at = [&](auto along) {
    for (int k = 0; k < d; ++k) along = along.unsqueeze(0);
    for (int k = d + 1; k < x.rank(); ++k) along = along.unsqueeze(-1);
    using index_type = typename decltype(along)::value_type;
    run(scatter_call<S, T, index_type, D>{op, stream, out, d, along.expand(wanted), source});
  };
  if (!wraps) return run_at(index);
  auto places = empty<i64>(stream, index.shape_of(), op);
  const auto at = cast<i64>(index);
  assign_node(op, stream, places.view(), where(lt(at, 0), add(at, x.size(d)), at).node);
  run_at(input_of(places));
}
template <class S, class X, class Index, class Source, class Out, class Run>
void wrapped_index_into_dim(const char* op, const S& stream, const X& x, i64 dim,
                            const Index& index, const Source& source, const Out& out,
                            const Run& run) {
  index_into_dim(op, stream, x, dim, index, source, out, run, true);
}

/// The sizes of a source of index_*.
template <class X, class Index>
shape sizes_of_source(const char* op, const X& x, i64 dim, const Index& index) {
  shape sizes = with_dims(x).shape_of();
  sizes[normalize_dim(dim, x.rank(), op)] = index.numel();
  return sizes;
}

/// Does not compile unless a write takes these types; gives whether it does.
template <class X, class Index, class Source, class Out>
constexpr bool check_scatter_types() {
  static_assert(std::is_same_v<value_t<X>, value_t<Source>>,
                "flaggems: the source has the dtype of the tensor that it goes to");
  return check_lookup_types<X, Index, Out>() && std::is_same_v<value_t<X>, value_t<Source>>;
}

}  // namespace detail

// One line an operator along a dimension: name, the check that runs it, the source's name, the
// argument, which is checked first, and the member of scatter_call that takes it, and the
// parameters behind the source: into an output, out of place, and in place.
#define FLAGGEMS_SCATTER_CALL(named, by, source, argument, how, to)           \
  {                                                                           \
    constexpr const char* op = named;                                         \
    const auto with = argument;                                               \
    detail::by(op, stream, detail::input_of(x), dim, detail::input_of(index), \
               detail::input_of(source), to, [&](const auto& call) { how; }); \
  }
#define FLAGGEMS_SCATTER(name, by, source, argument, how, ...)                                    \
  template <stream_like S, tensor_like X, tensor_like Index, tensor_like Source, tensor_like Out> \
  void name(const S& stream, const X& x, i64 dim, const Index& index, const Source& source,       \
            Out&& out __VA_OPT__(, ) __VA_ARGS__) {                                               \
    using T [[maybe_unused]] = value_t<const X&>;                                                 \
    same_device<S, X, i64, Index, Source, Out>();                                                 \
    if constexpr (detail::check_scatter_types<const X&, Index, const Source&, Out>())             \
      FLAGGEMS_SCATTER_CALL(#name, by, source, argument, how, as_view(out))                       \
  }                                                                                               \
  template <stream_like S, tensor_like X, tensor_like Index, tensor_like Source>                  \
  [[nodiscard]] auto name(const S& stream, const X& x, i64 dim, const Index& index,               \
                          const Source& source __VA_OPT__(, ) __VA_ARGS__) {                      \
    using T [[maybe_unused]] = value_t<const X&>;                                                 \
    auto out = empty_like(stream, x, #name);                                                      \
    same_device<S, X, i64, Index, Source>();                                                      \
    if constexpr (detail::check_scatter_types<const X&, Index, const Source&, decltype(out)&>())  \
      FLAGGEMS_SCATTER_CALL(#name, by, source, argument, how, out.view())                         \
    return out;                                                                                   \
  }                                                                                               \
  template <stream_like S, tensor_like X, tensor_like Index, tensor_like Source>                  \
  void name##_(const S& stream, X&& x, i64 dim, const Index& index,                               \
               const Source& source __VA_OPT__(, ) __VA_ARGS__) {                                 \
    using T [[maybe_unused]] = value_t<X>;                                                        \
    same_device<S, X, i64, Index, Source>();                                                      \
    if constexpr (detail::check_scatter_types<X, Index, const Source&, X>())                      \
      FLAGGEMS_SCATTER_CALL(#name "_", by, source, argument, how, as_view(x))                     \
  }

/// out = x, but out[.., index[.., i, ..], ..] = src[.., i, ..] along `dim`.
///
/// Shapes: index has x's dimensions, no more elements than src along each, and no more than x along
/// each but `dim`; out has x's sizes and dtype, and may be x. Of several elements for one place the
/// last one stays on the host, any one elsewhere. Indices outside [0, size(dim)) raise out_of_range
/// where the host can read them, and write nothing elsewhere. Raises shape_mismatch or overlap. All
/// before anything is written. aten::scatter.src_out(Tensor self, int dim, Tensor index, Tensor
/// src,
/// *, Tensor(a!) out)
FLAGGEMS_SCATTER(scatter, scatter_into, src, kernels::joining::replace, call.write(with))
/// scatter where elements are added to or multiplied with those of x (`reduce`), in the order of
/// src: the same bits in every run. Sums of 16-bit floats are computed in f32.
/// aten::scatter.reduce_out( Tensor self, int dim, Tensor index, Tensor src, *, str reduce,
/// Tensor(a!) out)
FLAGGEMS_SCATTER(scatter, scatter_into, src, reduce, call.reduce(with, true),
                 scatter_reduction reduce)
/// scatter where elements are added to those of x, in the order of src: the same bits in every run.
/// aten::scatter_add.out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out)
FLAGGEMS_SCATTER(scatter_add, scatter_into, src, kernels::joining::sum, call.write(with))
/// scatter where all elements for one place are reduced, with the one of x if `include_self`. The
/// mean of integers is rounded down. aten::scatter_reduce.two_out(Tensor self, int dim, Tensor
/// index, Tensor src, str reduce, *, bool include_self=True, Tensor(a!) out)
FLAGGEMS_SCATTER(scatter_reduce, scatter_into, src, reduce, call.reduce(with, include_self),
                 scatter_reduction reduce, bool include_self = true)
/// out = x, but index i of `dim` of source in the place of index[i]. index has one dimension; the
/// rest as scatter. aten::index_copy.out(Tensor self, int dim, Tensor index, Tensor source, *,
/// Tensor(a!) out)
FLAGGEMS_SCATTER(index_copy, index_into_dim, source, kernels::joining::replace, call.write(with))
/// out = x, to whose index[i] of `dim` alpha times index i of source is added, in order: the same
/// bits in every run. alpha: a number, truncated for integers. Raises invalid_argument for an alpha
/// that the dtype does not hold. aten::index_add.out(Tensor self, int dim, Tensor index, Tensor
/// source, *, Scalar alpha=1, Tensor(a!) out)
FLAGGEMS_SCATTER(index_add, index_into_dim, source, detail::multiplier<T>(op, alpha),
                 call.add(with), scalar_operand auto alpha)
/// index_add with alpha 1.
FLAGGEMS_SCATTER(index_add, index_into_dim, source, kernels::joining::sum, call.write(with))
/// index_copy where all elements for one place are reduced, with the one of x if `include_self`.
/// aten::index_reduce.out(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool
/// include_self=True, Tensor(a!) out)
FLAGGEMS_SCATTER(index_reduce, index_into_dim, source, reduce, call.reduce(with, include_self),
                 scatter_reduction reduce, bool include_self = true)
#undef FLAGGEMS_SCATTER
#undef FLAGGEMS_SCATTER_CALL

// The same with a number, or the one of a tensor without dimensions, in the place of the source.
#define FLAGGEMS_SCATTER_NUMBER(op, by, to, sizes_of_source, how)                           \
  const auto from = detail::input_of(x);                                                    \
  const auto places = detail::input_of(index);                                              \
  const detail::everywhere<T, S> source(op, stream, detail::filling<T>(op, stream, value)); \
  detail::by(op, stream, from, dim, places, source.view(sizes_of_source), to,               \
             [&](const auto& call) { how; });
#define FLAGGEMS_SCATTER_VALUE(name, by, takes, made, sizes_of_source, how, ...)       \
  template <stream_like S, tensor_like X, tensor_like Index, tensor_like Out, class V> \
  requires takes<V>                                                                    \
  void name(const S& stream, const X& x, i64 dim, const Index& index, Out&& out,       \
            const V& value __VA_OPT__(, ) __VA_ARGS__) {                               \
    using T = value_t<const X&>;                                                       \
    same_device<S, X, i64, Index, Out>();                                              \
    if constexpr (detail::check_lookup_types<const X&, Index, Out>()) {                \
      FLAGGEMS_SCATTER_NUMBER(#name, by, as_view(out), sizes_of_source, how)           \
    }                                                                                  \
  }                                                                                    \
  template <stream_like S, tensor_like X, tensor_like Index, class V>                  \
  requires takes<V>                                                                    \
  [[nodiscard]] auto name(const S& stream, const X& x, i64 dim, const Index& index,    \
                          const V& value __VA_OPT__(, ) __VA_ARGS__) {                 \
    using T = value_t<const X&>;                                                       \
    auto out = made(stream, x, #name);                                                 \
    same_device<S, X, i64, Index>();                                                   \
    if constexpr (detail::check_lookup_types<const X&, Index, decltype(out)&>()) {     \
      FLAGGEMS_SCATTER_NUMBER(#name, by, out.view(), sizes_of_source, how)             \
    }                                                                                  \
    return out;                                                                        \
  }                                                                                    \
  template <stream_like S, tensor_like X, tensor_like Index, class V>                  \
  requires takes<V>                                                                    \
  void name##_(const S& stream, X&& x, i64 dim, const Index& index,                    \
               const V& value __VA_OPT__(, ) __VA_ARGS__) {                            \
    using T = value_t<X>;                                                              \
    same_device<S, X, i64, Index>();                                                   \
    if constexpr (detail::check_lookup_types<X, Index, X>()) {                         \
      FLAGGEMS_SCATTER_NUMBER(#name "_", by, as_view(x), sizes_of_source, how)         \
    }                                                                                  \
  }

/// scatter of a number. aten::scatter.value_out(Tensor self, int dim, Tensor index, Scalar value,
/// *, Tensor(a!) out)
FLAGGEMS_SCATTER_VALUE(scatter, scatter_into, scalar_operand, empty_like, places.shape_of(),
                       call.write(kernels::joining::replace))
/// scatter of a number with a reduction. aten::scatter.value_reduce_out(Tensor self, int dim,
/// Tensor index, Scalar value, *, str reduce, Tensor(a!) out)
FLAGGEMS_SCATTER_VALUE(scatter, scatter_into, scalar_operand, empty_like, places.shape_of(),
                       call.reduce(reduce, true), scatter_reduction reduce)
/// out = x, but `value` at the indices of `dim`, of which those below 0 count from the end. value:
/// a number, or a tensor without dimensions, for which it waits. Otherwise as index_copy.
/// aten::index_fill.int_Scalar_out(Tensor self, int dim, Tensor index, Scalar value, *, Tensor(a!)
/// out)
FLAGGEMS_SCATTER_VALUE(index_fill, wrapped_index_into_dim, detail::fills, detail::empty_in_order<T>,
                       detail::sizes_of_source("index_fill", from, dim, places),
                       call.write(kernels::joining::replace))
#undef FLAGGEMS_SCATTER_VALUE
#undef FLAGGEMS_SCATTER_NUMBER

namespace detail {
template <class S, class T, class D, class List>
void index_put_into(const char* op, const S& stream, const tensor_view<const T, D>& x,
                    const List& indices, const tensor_view<const T, D>& values,
                    const tensor_view<T, D>& out, bool accumulate) {
  const index_list<S, D> list(op, stream, x.shape_of(), indices);
  shape sizes = list.result_sizes();
  if (!broadcasts_to(values.sizes(), sizes)) [[unlikely]]
    raise(errc::shape_mismatch, op, "values that broadcast to " + to_string(sizes),
          to_string(values.shape_of()));
  check_output_sizes(op, x.shape_of(), out);
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_partial_overlap(op, written, layout_of(x));
  check_no_overlap(op, written, layout_of(values));
  list.check(written);
  if (out.empty()) return;
  const tensor_view<T, D> seen = list.operand(out);
  if (replaced<operators::index_put>(op, stream, list.operand(x), list.views(), values, seen,
                                     accumulate))
    return;
  copy_unless_same(op, stream, out, x);
  if (sizes.numel() == 0) return;
  element_offsets<S, D> offsets(op, stream, list.index_sizes(), list.step_of(seen));
  const auto to = list.elements(seen, offsets);
  if (sizes.rank() == 0) sizes.push_back(1);
  launch_scatter(op, stream, to, values.expand(sizes), list.meeting(),
                 accumulate ? kernels::joining::sum : kernels::joining::replace);
}
}  // namespace detail

/// out = x, but `values` at indices as index takes them.
///
/// values: broadcast to the sizes of index's result, of x's dtype. With `accumulate` they are added
/// to x, in order: the same bits in every run; else of several for one place the last one stays on
/// the host, any one elsewhere. out may be x. Raises as index, before anything is written.
/// aten::index_put.out(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, *,
/// Tensor(a!) out)
template <stream_like S, tensor_like X, class List, tensor_like Values, tensor_like Out>
requires(!tensor_like<List>) void index_put(const S& stream, const X& x, const List& indices,
                                            const Values& values, Out&& out,
                                            bool accumulate = false) {
  using T = value_t<const X&>;
  same_device<S, X, i64, Values, Out>();
  static_assert(std::is_same_v<T, value_t<Out>> && std::is_same_v<T, value_t<const Values&>>,
                "flaggems: values and output have the dtype of the input");
  detail::index_put_into("index_put", stream, detail::input_of(x), indices,
                         detail::input_of(values), as_view(out), accumulate);
}
template <stream_like S, tensor_like X, class List, tensor_like Values>
requires(!tensor_like<List>)
    [[nodiscard]] auto index_put(const S& stream, const X& x, const List& indices,
                                 const Values& values, bool accumulate = false) {
  auto out = detail::empty_in_order<value_t<const X&>>(stream, x, "index_put");
  index_put(stream, x, indices, values, out, accumulate);
  return out;
}
/// index_put in place. aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool
/// accumulate=False)
template <stream_like S, tensor_like X, class List, tensor_like Values>
requires(!tensor_like<List>) void index_put_(const S& stream, X&& x, const List& indices,
                                             const Values& values, bool accumulate = false) {
  using T = value_t<X>;
  same_device<S, X, i64, Values>();
  static_assert(std::is_same_v<T, value_t<const Values&>>,
                "flaggems: values have the dtype of the input");
  detail::index_put_into("index_put_", stream, detail::input_of(x), indices,
                         detail::input_of(values), as_view(x), accumulate);
}

/// index_put_; indices are checked whatever `unsafe` says. aten::_index_put_impl_(Tensor(a!) self,
/// Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False)
template <stream_like S, tensor_like X, class List, tensor_like Values>
requires(!tensor_like<List>) void index_put_impl_(const S& stream, X&& x, const List& indices,
                                                  const Values& values, bool accumulate = false,
                                                  [[maybe_unused]] bool unsafe = false) {
  index_put_(stream, x, indices, values, accumulate);
}

}  // namespace flaggems
