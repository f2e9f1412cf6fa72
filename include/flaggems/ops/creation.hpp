// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/expr.hpp>

namespace flaggems {

namespace operators {
struct arange;
}

namespace detail {

/// Raises unless an element of the integer type T can be `value` without its fraction.
template <class T>
void check_fits(const char* op, f64 value) {
  constexpr int bits = static_cast<int>(8 * sizeof(T)) - (std::is_signed_v<T> ? 1 : 0);
  const f64 end = __builtin_ldexp(1.0, bits), whole = __builtin_trunc(value);  // NaN fits nothing
  if (!(whole >= (std::is_signed_v<T> ? -end : 0.0) && whole < end)) [[unlikely]]
    raise_number<T>(op, text(value));
}

template <class S, class X, class V>
void fill(const char* op, const S& stream, const X& x, V value) {
  using T = typename X::value_type;
  if constexpr (kernels::is_integer<T> && kernels::is_floating<V>)
    check_fits<T>(op, kernels::number_cast<f64>(value));
  else
    check_integer<T>(op, value);
  if constexpr (is_complex_number<T>)
    refuse_complex<T, number<V>>();
  else
    assign_node(op, stream, x, number<T>{kernels::number_cast<T>(value)});
}
template <class T, class S, class V>
auto filled(const char* op, const S& stream, const shape& sizes, V value) {
  auto out = empty<T>(stream, sizes, op);
  fill(op, stream, out.view(), value);
  return out;
}

}  // namespace detail

/// Every element of x becomes `value`, converted to x's dtype. Raises invalid_argument for a number
/// outside the range of an integer dtype, NaN among them.
/// aten::fill_.Scalar(Tensor(a!) self, Scalar value)
template <stream_like S, tensor_like X, scalar_operand V>
void fill_(const S& stream, X&& x, V value) {
  same_device<S, X>();
  detail::fill("fill_", stream, as_view(x), value);
}

/// Every element of x becomes 0. aten::zero_(Tensor(a!) self)
template <stream_like S, tensor_like X>
void zero_(const S& stream, X&& x) {
  same_device<S, X>();
  detail::fill("zero_", stream, as_view(x), 0);
}

/// A new contiguous tensor of the given sizes, every element `value`. Raises as fill_.
/// aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype)
template <element T, stream_like S, scalar_operand V>
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

/// How many numbers start, start + step, ... lie before `end`. Raises unless T can hold them all.
template <class T, class V>
i64 arange_size(V start, V end, V step) {
  if constexpr (kind_of<V> == kind::floating) {
    if (!__builtin_isfinite(start) || !__builtin_isfinite(end) || !(step < 0 || step > 0))
        [[unlikely]]
      raise(errc::invalid_argument, "arange", "finite bounds and a step that is not zero",
            detail::text(start) + ", " + detail::text(end) + ", " + detail::text(step));
  } else if (step == 0) [[unlikely]] {
    raise(errc::invalid_argument, "arange", "a step that is not zero", "0");
  }
  if ((step > 0 && end < start) || (step < 0 && end > start)) [[unlikely]]
    raise(errc::invalid_argument, "arange", "bounds in the direction of the step",
          detail::text(start) + ", " + detail::text(end) + ", " + detail::text(step));
  const auto too_many = [] {
    raise(errc::invalid_argument, "arange", "at most 2^62 elements", "more");
  };
  if constexpr (kind_of<V> == kind::floating) {
    const double n = __builtin_ceil((end - start) / step);
    if (!(n <= 0x1p62)) [[unlikely]]
      too_many();
    return static_cast<i64>(n);
  } else {
    // Unsigned: the distance of two i64 may be more than the greatest one.
    const u64 distance = step > 0 ? static_cast<u64>(end) - static_cast<u64>(start)
                                  : static_cast<u64>(start) - static_cast<u64>(end);
    const u64 by = step > 0 ? static_cast<u64>(step) : u64{0} - static_cast<u64>(step);
    const u64 n = distance / by + (distance % by != 0 ? 1 : 0);
    if (n > u64{1} << 62) [[unlikely]]
      too_many();
    if constexpr (kernels::is_integer<T>) {
      if (n != 0) {  // the first and the last; the sum is between start and end
        check_integer<T>("arange", start);
        check_integer<T>(
            "arange", static_cast<i64>(static_cast<u64>(start) + (n - 1) * static_cast<u64>(step)));
      }
    }
    return static_cast<i64>(n);
  }
}

}  // namespace detail

/// out[k] = start + k * step, computed in f64 (or i64 for integers) and rounded once.
///
/// out: 1-D, ceil((end - start) / step) elements. Raises invalid_argument for a zero step, bounds
/// against its direction or integers that the dtype cannot hold, shape_mismatch for another size.
/// aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out)
template <stream_like S, tensor_like Out>
void arange(const S& stream, typename detail::sequence<value_t<Out>>::value start,
            typename detail::sequence<value_t<Out>>::value end,
            typename detail::sequence<value_t<Out>>::value step, Out&& out) {
  same_device<S, Out>();
  using T = value_t<Out>;
  const auto to = as_view(out);
  const i64 n = detail::arange_size<T>(start, end, step);
  if (to.rank() != 1 || to.size(0) != n) [[unlikely]]
    raise(errc::shape_mismatch, "arange", "an output of sizes [" + detail::text(n) + "]",
          to_string(shape(to.sizes())));
  if (n != 0 && detail::replaced<operators::arange>("arange", stream, start, end, step, to)) return;
  detail::assign_node("arange", stream, to, detail::sequence<T>{start, step});
}

/// start, start + step, ... before `end`, in a new 1-D tensor.
/// aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype)
template <element T = i64, stream_like S>
[[nodiscard]] auto arange(const S& stream, typename detail::sequence<T>::value start,
                          typename detail::sequence<T>::value end,
                          typename detail::sequence<T>::value step = 1) {
  auto out = empty<T>(stream, {detail::arange_size<T>(start, end, step)}, "arange");
  arange(stream, start, end, step, out);
  return out;
}

/// 0, 1, ..., before `end`, in a new 1-D tensor. aten::arange(Scalar end, *, ScalarType? dtype)
template <element T = i64, stream_like S>
[[nodiscard]] auto arange(const S& stream, typename detail::sequence<T>::value end) {
  return arange<T>(stream, 0, end, 1);
}

}  // namespace flaggems
