// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/expr.hpp>

#include <optional>

namespace flaggems {

namespace operators {
struct arange;
}

namespace detail {

/// A number as ATen's Scalar holds it: bool, i64, u64, f64 or c128.
template <class V>
auto scalar_of(V value) {
  using widest = std::conditional_t<std::is_signed_v<V>, i64, u64>;
  if constexpr (kind_of<V> == kind::complex_number)
    return kernels::number_cast<c128>(value);
  else if constexpr (kind_of<V> == kind::floating)
    return kernels::number_cast<f64>(value);
  else if constexpr (kind_of<V> == kind::integer)
    return static_cast<widest>(value);
  else
    return value;
}

/// Raises unless `value`, before it is truncated or rounded, is in the range of dtype T. Any value
/// is in that of bool.
template <class T, class V>
void check_range(const char* op, V value) {
  if constexpr (kind_of<V> == kind::complex_number) {
    using part = kernels::real_of<T>;
    if constexpr (!kernels::is_complex<T> && !std::is_same_v<T, bool>)
      if (value.im != 0) [[unlikely]]
        raise(errc::invalid_argument, op, "a real number for " + text(to_string(dtype_of<T>)),
              "one with an imaginary part");
    check_range<part>(op, value.re);
    if constexpr (kernels::is_complex<T>) check_range<part>(op, value.im);
  } else if constexpr (kernels::is_complex<T>) {
    check_range<kernels::real_of<T>>(op, value);
  } else if constexpr (kind_of<V> == kind::integer && kernels::is_integer<T>) {
    check_integer<T>(op, value);
  } else if constexpr (kind_of<V> != kind::boolean && !std::is_same_v<T, bool>) {
    const auto number = static_cast<f64>(value);
    bool fits = false;
    if constexpr (kernels::is_integer<T>) {
      using range = kernels::integer_range<T, f64>;  // NaN is in none
      fits = number >= range::least && number < range::end &&
             number <= static_cast<f64>(range::highest);
    } else {
      fits = !(__builtin_fabs(number) > greatest_number<T>());
      if constexpr (std::is_same_v<T, f32> || std::is_same_v<T, f64>)
        fits = fits || __builtin_isinf(number);
      else
        fits = fits || (T::format::has_infinity && __builtin_isinf(number));
    }
    if (!fits) [[unlikely]]
      raise_number<T>(op, text(value));
  }
}

template <class S, class X, number_operand V>
void fill(const char* op, const S& stream, const X& x, V value) {
  using T = typename X::value_type;
  const auto number_given = scalar_of(value);
  check_range<T>(op, number_given);
  assign_node(op, stream, x, number<T>{kernels::number_cast<T>(number_given)});
}

/// Sets every element of x to the one of `value`, which is read in stream order.
template <class S, class X, class T, class D>
void fill_from(const char* op, const S& stream, const X& x, const tensor_view<const T, D>& value) {
  const auto from_node = [&](const tensor_view<const T, D>& v) {
    using node = as_type<typename X::value_type, leaf<T, D>>;
    assign_node(op, stream, x, node{{v}});
  };
  if (overlap(x, value) != overlap_kind::partial) return from_node(value);
  auto own = empty<T>(stream, {}, op);
  assign_node(op, stream, own.view(), leaf<T, D>{value});
  from_node(std::as_const(own).view());
}

template <class T, class S, class V>
auto filled(const char* op, const S& stream, const shape& sizes, V value) {
  auto out = empty<T>(stream, sizes, op);
  fill(op, stream, out.view(), value);
  return out;
}

}  // namespace detail

/// Sets every element of x to `value`, converted to x's dtype (truncated for integers). Raises
/// invalid_argument for a number outside the dtype's range: NaN or 127.5 for i8, 1e6 for f16 (an
/// infinity is in the range of floats that have one).
/// aten::fill_.Scalar(Tensor(a!) self, Scalar value)
template <stream_like S, tensor_like X, number_operand V>
void fill_(const S& stream, X&& x, V value) {
  same_device<S, X>();
  detail::fill("fill_", stream, as_view(x), value);
}
/// Sets every element of x to the one of the tensor `value`, converted as by copy_.
///
/// value: 0-dimensional, of any dtype; it may be an element of x. It is read in stream order,
/// without a copy to the host; a tensor of the host is read during the call, and for another device
/// passed as a number. Raises shape_mismatch for other dimensions, and overlap if x overlaps
/// itself, before anything is written. aten::fill_.Tensor(Tensor(a!) self, Tensor value)
template <stream_like S, tensor_like X, tensor_like V>
void fill_(const S& stream, X&& x, const V& value) {
  same_device<S, X>();
  const auto from = as_view(value);
  if (from.rank() != 0) [[unlikely]]
    raise(errc::shape_mismatch, "fill_", "a value of no dimensions",
          "sizes " + to_string(from.shape_of()));
  if constexpr (std::is_same_v<device_t<const V&>, device_of<S>> ||
                !detail::host_reads<device_t<const V&>>) {
    same_device<S, V>();
    detail::fill_from("fill_", stream, as_view(x),
                      tensor_view<const value_t<const V&>, device_of<S>>(from));
  } else {
    detail::fill("fill_", stream, as_view(x), from());
  }
}

/// Sets every element of x to 0. aten::zero_(Tensor(a!) self)
template <stream_like S, tensor_like X>
void zero_(const S& stream, X&& x) {
  same_device<S, X>();
  detail::fill("zero_", stream, as_view(x), 0);
}

/// A new contiguous tensor of the given sizes, filled with `value`. Raises as fill_.
/// aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype)
template <element T, stream_like S, number_operand V>
[[nodiscard]] auto full(const S& stream, const shape& sizes, V value) {
  return detail::filled<T>("full", stream, sizes, value);
}

/// A new tensor of zeros. aten::zeros(SymInt[] size, *, ScalarType? dtype)
template <element T = f32, stream_like S>
[[nodiscard]] auto zeros(const S& stream, const shape& sizes) {
  return detail::filled<T>("zeros", stream, sizes, 0);
}

/// A new tensor of ones. aten::ones(SymInt[] size, *, ScalarType? dtype)
template <element T = f32, stream_like S>
[[nodiscard]] auto ones(const S& stream, const shape& sizes) {
  return detail::filled<T>("ones", stream, sizes, 1);
}

namespace detail {
template <class T, class S, class X, class V>
auto filled_like(const char* op, const S& stream, const X& x, V value, memory_format format) {
  auto out = empty_as<type_or<T, value_t<const X&>>>(stream, as_view(x), format, op);
  fill(op, stream, out.view(), value);
  return out;
}
}  // namespace detail

/// A new tensor of x's sizes and dtype (or dtype T), filled with `value`, in row-major order or the
/// given memory format. Raises as fill_, and invalid_argument if x is not of the rank that the
/// format is for.
/// aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype, MemoryFormat?
/// memory_format=contiguous_format)
template <class T = void, stream_like S, tensor_like X, number_operand V>
[[nodiscard]] auto full_like(const S& stream, const X& x, V value,
                             memory_format format = memory_format::contiguous_format) {
  return detail::filled_like<T>("full_like", stream, x, value, format);
}
/// A new tensor of zeros, as full_like.
/// aten::zeros_like(Tensor self, *, ScalarType? dtype, MemoryFormat?
/// memory_format=contiguous_format)
template <class T = void, stream_like S, tensor_like X>
[[nodiscard]] auto zeros_like(const S& stream, const X& x,
                              memory_format format = memory_format::contiguous_format) {
  return detail::filled_like<T>("zeros_like", stream, x, 0, format);
}
/// A new tensor of ones, as full_like.
/// aten::ones_like(Tensor self, *, ScalarType? dtype, MemoryFormat?
/// memory_format=contiguous_format)
template <class T = void, stream_like S, tensor_like X>
[[nodiscard]] auto ones_like(const S& stream, const X& x,
                             memory_format format = memory_format::contiguous_format) {
  return detail::filled_like<T>("ones_like", stream, x, 1, format);
}

/// A new tensor without dimensions. aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None)
template <element T = f32, stream_like S, number_operand V>
[[nodiscard]] auto scalar_tensor(const S& stream, V s) {
  return detail::filled<T>("scalar_tensor", stream, {}, s);
}
/// A new tensor of x's dtype (or dtype T) and the given sizes, filled with a number. Raises as
/// fill_. aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None)
template <class T = void, stream_like S, tensor_like X, number_operand V>
[[nodiscard]] auto new_full(const S& stream, const X&, int_list size, V fill_value) {
  return detail::filled<detail::type_or<T, value_t<const X&>>>("new_full", stream, shape(size),
                                                               fill_value);
}
/// A new tensor of zeros, as new_full. aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType?
/// dtype=None)
template <class T = void, stream_like S, tensor_like X>
[[nodiscard]] auto new_zeros(const S& stream, const X&, int_list size) {
  return detail::filled<detail::type_or<T, value_t<const X&>>>("new_zeros", stream, shape(size), 0);
}
/// A new tensor of ones, as new_full. aten::new_ones(Tensor self, SymInt[] size, *, ScalarType?
/// dtype=None)
template <class T = void, stream_like S, tensor_like X>
[[nodiscard]] auto new_ones(const S& stream, const X&, int_list size) {
  return detail::filled<detail::type_or<T, value_t<const X&>>>("new_ones", stream, shape(size), 1);
}

namespace detail {

/// The dtype of a sequence of such numbers, unless T is given.
template <class T, class... V>
using arange_element =
    std::conditional_t<!std::is_void_v<T>, T,
                       std::conditional_t<((kind_of<V> == kind::floating) || ...), f32, i64>>;

/// start, end and step, as they are computed with, and how many numbers there are.
template <class T>
struct arange_plan {
  typename sequence<T>::value start, end, step;
  i64 size;
};

/// Raises unless `step` leads from start to end.
template <class V>
void check_bounds(V start, V end, V step) {
  if (step == 0) [[unlikely]]
    raise(errc::invalid_argument, "arange", "a step that is not zero", "0");
  if ((step > 0 && end < start) || (step < 0 && end > start)) [[unlikely]]
    raise(errc::invalid_argument, "arange", "bounds in the direction of the step",
          detail::text(start) + ", " + detail::text(end) + ", " + detail::text(step));
}

/// How many numbers start, start + step, ... lie before `end`.
inline i64 arange_size(f64 start, f64 end, f64 step) {
  const f64 n = __builtin_ceil((end - start) / step);
  if (!(n >= 0 && n <= 0x1p62)) [[unlikely]]
    raise(errc::invalid_argument, "arange", "0 to 2^62 elements", detail::text(n));
  return static_cast<i64>(n);
}
inline i64 arange_size(i64 start, i64 end, i64 step) {
  // Unsigned: the distance of two i64 may exceed the largest i64.
  const u64 distance = step > 0 ? static_cast<u64>(end) - static_cast<u64>(start)
                                : static_cast<u64>(start) - static_cast<u64>(end);
  const u64 by = step > 0 ? static_cast<u64>(step) : u64{0} - static_cast<u64>(step);
  const u64 n = distance / by + (distance % by != 0 ? 1 : 0);
  if (n > u64{1} << 62) [[unlikely]]
    raise(errc::invalid_argument, "arange", "at most 2^62 elements", detail::text(n));
  return static_cast<i64>(n);
}

/// A number as i64, truncated. Raises if it is out of range.
template <class V>
i64 arange_integer(V value) {
  check_range<i64>("arange", scalar_of(value));
  return kernels::number_cast<i64>(scalar_of(value));
}

/// Raises for invalid bounds or steps, and for integers that T cannot hold.
template <element T, class... V>
arange_plan<T> plan_arange(V... numbers) {
  if constexpr (kind_of<T> == kind::floating) {
    const f64 given[] = {kernels::number_cast<f64>(scalar_of(numbers))...};
    const auto [start, end, step] = given;
    if (!__builtin_isfinite(start) || !__builtin_isfinite(end) || step != step) [[unlikely]]
      raise(errc::invalid_argument, "arange", "finite bounds and a step that is a number",
            detail::text(start) + ", " + detail::text(end) + ", " + detail::text(step));
    check_bounds(start, end, step);
    return {start, end, step, arange_size(start, end, step)};
  } else {
    const i64 whole[] = {arange_integer(numbers)...};
    const auto [start, end, step] = whole;
    i64 n = 0;
    if constexpr (!((kind_of<V> == kind::floating) || ...)) {
      check_bounds(start, end, step);
      n = arange_size(start, end, step);
    } else {  // the fractions count here, even a step's that is 0 without
      const f64 given[] = {kernels::number_cast<f64>(scalar_of(numbers))...};
      check_bounds(given[0], given[1], given[2]);
      n = arange_size(given[0], given[1], given[2]);
    }
    if (n != 0) {  // the first and the last
      const u64 last = static_cast<u64>(start) + static_cast<u64>(n - 1) * static_cast<u64>(step);
      check_integer<T>("arange", start);
      check_integer<T>("arange", static_cast<i64>(last));
    }
    return {start, end, step, n};
  }
}

template <class S, class T, class D>
void arange_into(const S& stream, const arange_plan<T>& plan, const tensor_view<T, D>& out) {
  if (out.rank() != 1 || out.size(0) != plan.size) [[unlikely]]
    raise(errc::shape_mismatch, "arange", "an output of sizes [" + detail::text(plan.size) + "]",
          to_string(shape(out.sizes())));
  if (plan.size != 0 &&
      replaced<operators::arange>("arange", stream, plan.start, plan.end, plan.step, out))
    return;
  assign_node("arange", stream, out, sequence<T>{plan.start, plan.step});
}

}  // namespace detail

/// out[k] = start + k * step, computed in f64 (or i64 for integers) and rounded once.
///
/// out: 1-D, ceil((end - start) / step) elements. For an integer dtype floating-point numbers are
/// truncated, but for the size, as in ATen 2.15: steps of 0.5 give `start` everywhere. Raises
/// invalid_argument for a zero step, bounds against its direction, NaN, or integers that the dtype
/// cannot hold, shape_mismatch for another size. aten::arange.start_out(Scalar start, Scalar end,
/// Scalar step=1, *, Tensor(a!) out)
template <stream_like S, scalar_operand V1, scalar_operand V2, scalar_operand V3, tensor_like Out>
void arange(const S& stream, V1 start, V2 end, V3 step, Out&& out) {
  same_device<S, Out>();
  if constexpr (detail::check_elements_written<element_t<Out>>())
    detail::arange_into(stream, detail::plan_arange<value_t<Out>>(start, end, step), as_view(out));
}

/// start, start + step, ... before `end`, in a new 1-D tensor. Unless T is given, its dtype is f32
/// if one of the numbers is floating-point, else i64.
/// aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype)
template <class T = void, stream_like S, scalar_operand V1, scalar_operand V2,
          scalar_operand V3 = int>
[[nodiscard]] auto arange(const S& stream, V1 start, V2 end, V3 step = 1) {
  using E = detail::arange_element<T, V1, V2, V3>;
  const auto plan = detail::plan_arange<E>(start, end, step);
  auto out = empty<E>(stream, {plan.size}, "arange");
  detail::arange_into(stream, plan, out.view());
  return out;
}

/// 0, 1, ..., before `end`, in a new 1-D tensor. aten::arange(Scalar end, *, ScalarType? dtype)
template <class T = void, stream_like S, scalar_operand V>
[[nodiscard]] auto arange(const S& stream, V end) {
  return arange<T>(stream, 0, end, 1);
}

/// A new tensor of dtype T, uninitialised, whose dimensions lie in memory in this order, the last
/// one with stride 1. physical_layout: each dimension once. Raises out_of_range or
/// invalid_argument. aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType?
/// dtype=None)
template <element T = f32, stream_like S>
[[nodiscard]] auto empty_permuted(const S& stream, int_list size, int_list physical_layout) {
  constexpr const char* op = "empty_permuted";
  const shape sizes(size);
  if (physical_layout.size() != sizes.rank()) [[unlikely]]
    detail::raise_shapes(op, "an order of the dimensions", size, physical_layout);
  shape strides = sizes;
  u32 seen = 0;
  i64 step = 1;
  for (int k = sizes.rank() - 1; k >= 0; --k) {
    const int d = normalize_dim(physical_layout[k], sizes.rank(), op);
    if ((seen >> d & 1u) != 0) [[unlikely]]
      detail::raise_sizes(op, "each dimension once", physical_layout);
    seen |= u32{1} << d;
    strides[d] = step;
    if (!detail::multiply(step, sizes[d] > 1 ? sizes[d] : 1, step)) [[unlikely]]
      detail::raise_sizes(op, "fewer than 2^63 elements", size);
  }
  return tensor<T, device_of<S>>(ref(stream), sizes, strides, op);
}

/// Integers as a new tensor [n] of i64. aten::_list_to_tensor(int[] self)
template <stream_like S>
[[nodiscard]] auto list_to_tensor(const S& stream, int_list self) {
  auto out = empty<i64>(stream, {self.size()}, "list_to_tensor");
  detail::copy_in(ref(stream), out, self.data());
  return out;
}

/// A new tensor without dimensions, uninitialised, which orders calls that pass it on.
/// aten::_make_dep_token(*, ScalarType? dtype=None, MemoryFormat? memory_format=None)
template <element T = f32, stream_like S>
[[nodiscard]] auto make_dep_token(
    const S& stream, [[maybe_unused]] memory_format format = memory_format::contiguous_format) {
  return empty<T>(stream, {}, "make_dep_token");
}

namespace detail {
/// Raises unless least <= size <= most; absent ends are the least and the greatest of i64.
inline void check_constrained(const char* op, i64 size, std::optional<i64> least,
                              std::optional<i64> most) {
  if (least && most && *most < *least) [[unlikely]]
    raise(errc::invalid_argument, op, "min <= max", text(*least) + " and " + text(*most));
  if ((least && size < *least) || (most && size > *most)) [[unlikely]]
    raise(errc::invalid_argument, op,
          "a size of at least " + (least ? text(*least) : text("-2^63")) + " and at most " +
              (most ? text(*most) : text("2^63 - 1")),
          text(size));
}
template <class S, class X>
auto passed_on(const char* op, const S& stream, const X& token) {
  auto out = empty<value_t<const X&>>(stream, as_view(token).shape_of(), op);
  if (!out.empty()) assign(stream, out, as_view(token), op);
  return out;
}
}  // namespace detail

/// dep_token in a new tensor, if min <= size <= max; a bound may be absent. Raises
/// invalid_argument. aten::_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor
/// dep_token)
template <stream_like S, number_operand V, tensor_like X>
[[nodiscard]] auto functional_sym_constrain_range(const S& stream, V size, std::optional<i64> min,
                                                  std::optional<i64> max, const X& dep_token) {
  constexpr const char* op = "functional_sym_constrain_range";
  detail::check_constrained(op, detail::arange_integer(size), min, max);
  return detail::passed_on(op, stream, dep_token);
}
/// The same of a size, which is not negative; a max is greater than 2.
/// aten::_functional_sym_constrain_range_for_size(Scalar size, int? min, int? max, Tensor
/// dep_token)
template <stream_like S, number_operand V, tensor_like X>
[[nodiscard]] auto functional_sym_constrain_range_for_size(const S& stream, V size,
                                                           std::optional<i64> min,
                                                           std::optional<i64> max,
                                                           const X& dep_token) {
  constexpr const char* op = "functional_sym_constrain_range_for_size";
  if (max && *max <= 2) [[unlikely]]
    raise(errc::invalid_argument, op, "a max greater than 2", detail::text(*max));
  detail::check_constrained(op, detail::arange_integer(size), min.value_or(0), max);
  return detail::passed_on(op, stream, dep_token);
}

}  // namespace flaggems
