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

/// Raises if a number becomes infinite, or none, as an element of the floating-point type T.
template <class T, class V>
void check_finite(const char* op, V value) {
  const f64 number = kernels::number_cast<f64>(value),
            stored = kernels::number_cast<f64>(kernels::number_cast<T>(value));
  if ((__builtin_isfinite(number) && !__builtin_isfinite(stored)) ||
      (__builtin_isnan(stored) && !__builtin_isnan(number))) [[unlikely]]
    raise_number<T>(op, text(value));
}

template <class S, class X, class V>
void fill(const char* op, const S& stream, const X& x, V value) {
  using T = typename X::value_type;
  if constexpr (kernels::is_floating<T>)
    check_finite<T>(op, value);
  else if constexpr (kernels::is_integer<T> && kernels::is_floating<V>)
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

/// Every element of x becomes `value`, converted to x's dtype; integers have no fraction of it.
/// Raises invalid_argument for a number outside the dtype's range: NaN for an integer, 1e6 for f16.
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

/// The dtype of a sequence of such numbers, if T does not say it.
template <class T, class... V>
using arange_element =
    std::conditional_t<!std::is_void_v<T>, T,
                       std::conditional_t<(kernels::is_floating<V> || ...), f32, i64>>;

/// start, end and step, as they are computed with.
template <class T>
struct arange_parts {
  typename sequence<T>::value start, end, step;
};
template <element T, class... V>
arange_parts<T> arange_numbers(V... numbers) {
  using value = typename sequence<T>::value;
  static_assert(kind_of<T> == kind::floating || !(kernels::is_floating<V> || ...),
                "flaggems: arange: a sequence of integers has no fractions");
  if constexpr (std::is_same_v<value, i64>) (check_integer<i64>("arange", numbers), ...);
  return {kernels::number_cast<value>(numbers)...};
}

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
/// out: 1-D, ceil((end - start) / step) elements; of a floating-point dtype if a number is. Raises
/// invalid_argument for a zero step, bounds against its direction or integers that the dtype cannot
/// hold, shape_mismatch for another size.
/// aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out)
template <stream_like S, scalar_operand V1, scalar_operand V2, scalar_operand V3, tensor_like Out>
void arange(const S& stream, V1 start, V2 end, V3 step, Out&& out) {
  same_device<S, Out>();
  using T = value_t<Out>;
  const auto [first, limit, by] = detail::arange_numbers<T>(start, end, step);
  const auto to = as_view(out);
  const i64 n = detail::arange_size<T>(first, limit, by);
  if (to.rank() != 1 || to.size(0) != n) [[unlikely]]
    raise(errc::shape_mismatch, "arange", "an output of sizes [" + detail::text(n) + "]",
          to_string(shape(to.sizes())));
  if (n != 0 && detail::replaced<operators::arange>("arange", stream, first, limit, by, to)) return;
  detail::assign_node("arange", stream, to, detail::sequence<T>{first, by});
}

/// start, start + step, ... before `end`, in a new 1-D tensor. If T does not say its dtype, that is
/// f32 if one of the numbers is floating-point, else i64.
/// aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype)
template <class T = void, stream_like S, scalar_operand V1, scalar_operand V2,
          scalar_operand V3 = int>
[[nodiscard]] auto arange(const S& stream, V1 start, V2 end, V3 step = 1) {
  using dtype = detail::arange_element<T, V1, V2, V3>;
  const auto [first, limit, by] = detail::arange_numbers<dtype>(start, end, step);
  auto out = empty<dtype>(stream, {detail::arange_size<dtype>(first, limit, by)}, "arange");
  arange(stream, first, limit, by, out);
  return out;
}

/// 0, 1, ..., before `end`, in a new 1-D tensor. aten::arange(Scalar end, *, ScalarType? dtype)
template <class T = void, stream_like S, scalar_operand V>
[[nodiscard]] auto arange(const S& stream, V end) {
  return arange<T>(stream, 0, end, 1);
}

}  // namespace flaggems
