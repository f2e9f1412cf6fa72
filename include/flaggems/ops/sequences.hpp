// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// New tensors whose elements are a function of their place: eye, linspace, logspace, range and the
// windows of signal processing.
#pragma once

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>

namespace flaggems {
namespace detail {

inline void check_steps(const char* op, i64 n) {
  if (n < 0) [[unlikely]]
    raise(errc::invalid_argument, op, "a size that is not negative", text(n));
}
/// The numbers first, first + step, ... as an expression in f64. (S makes what callers compute of
/// them depend on their parameters, or each file that includes this compiled it.)
template <class S>
auto numbers_from(const S&, f64 first, f64 step) {
  return expr<sequence<f64>>(sequence<f64>{first, step});
}
/// n numbers from start to end at equal distances, both exact.
template <class S>
auto spaced(const S& stream, f64 start, f64 end, i64 n) {
  const f64 last = static_cast<f64>(n - 1);
  const f64 whole = end - start;  // of two finite numbers it may be infinite
  const f64 quotient = __builtin_isinf(whole) ? end / last - start / last : whole / last;
  const f64 step = n > 1 ? quotient : 0;
  return where(lt(numbers_from(stream, 0, 1), static_cast<f64>(n) / 2),
               numbers_from(stream, start, step),
               add(mul(numbers_from(stream, -last, 1), step), n > 1 ? end : start));
}
/// A bound of numbers of dtype T, in f64, for integers truncated. Raises invalid_argument if it is
/// out of T's range.
template <class T, class V>
f64 bound_of(const char* op, V value) {
  check_range<T>(op, scalar_of(value));
  if constexpr (kernels::is_integer<T>)
    return kernels::number_cast<f64>(kernels::number_cast<T>(scalar_of(value)));
  else
    return kernels::number_cast<f64>(scalar_of(value));
}
template <class T, class S, class E>
auto sequence_of(const char* op, const S& stream, i64 n, const E& values) {
  auto out = empty<T>(stream, {n}, op);
  assign_node(op, stream, out.view(), cast<T>(values).node);
  return out;
}

}  // namespace detail

/// A new matrix [n, m] with ones on its diagonal and zeros elsewhere; m is n if absent. Raises
/// invalid_argument for negative sizes. aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None)
template <element T = f32, stream_like S>
[[nodiscard]] auto eye(const S& stream, i64 n, i64 m) {
  auto out = detail::filled<T>("eye", stream, {n, m}, 0);
  if (!out.empty()) detail::fill("eye", stream, out.view().diagonal(), 1);
  return out;
}
/// aten::eye(SymInt n, *, ScalarType? dtype=None)
template <element T = f32, stream_like S>
[[nodiscard]] auto eye(const S& stream, i64 n) {
  return eye<T>(stream, n, n);
}

/// `steps` numbers from start to end at equal distances, in a new vector; computed in f64. Of
/// integers the bounds and the numbers are truncated. Raises invalid_argument for negative steps,
/// or a number that the dtype does not hold. aten::linspace(Scalar start, Scalar end, int steps, *,
/// ScalarType? dtype=None)
template <element T = f32, stream_like S, scalar_operand V1, scalar_operand V2>
[[nodiscard]] auto linspace(const S& stream, V1 start, V2 end, i64 steps) {
  detail::check_steps("linspace", steps);
  return detail::sequence_of<T>("linspace", stream, steps,
                                detail::spaced(stream, detail::bound_of<T>("linspace", start),
                                               detail::bound_of<T>("linspace", end), steps));
}
/// base to the numbers of linspace, in a new vector. aten::logspace(Scalar start, Scalar end, int
/// steps, float base=10.0, *, ScalarType? dtype=None)
template <element T = f32, stream_like S, scalar_operand V1, scalar_operand V2>
[[nodiscard]] auto logspace(const S& stream, V1 start, V2 end, i64 steps, f64 base = 10) {
  detail::check_steps("logspace", steps);
  return detail::sequence_of<T>(
      "logspace", stream, steps,
      pow(base, detail::spaced(stream, detail::bound_of<T>("logspace", start),
                               detail::bound_of<T>("logspace", end), steps)));
}
/// start, start + step, ... up to `end` and with it, in a new vector: arange with its end. Raises
/// invalid_argument as arange.
/// aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None)
template <element T = f32, stream_like S, scalar_operand V1, scalar_operand V2,
          scalar_operand V3 = int>
[[nodiscard]] auto range(const S& stream, V1 start, V2 end, V3 step = 1) {
  auto plan = detail::plan_arange<T>(start, end, step);
  if constexpr (kernels::is_integer<T> && !((detail::kind_of<V1> == detail::kind::floating) ||
                                            (detail::kind_of<V2> == detail::kind::floating) ||
                                            (detail::kind_of<V3> == detail::kind::floating))) {
    const auto away = [](i64 low, i64 high) {
      return static_cast<u64>(high) - static_cast<u64>(low);
    };
    const bool rises = plan.step > 0;
    const u64 distance = rises ? away(plan.start, plan.end) : away(plan.end, plan.start);
    if (distance % (rises ? away(0, plan.step) : away(plan.step, 0)) == 0) ++plan.size;
  } else {
    const f64 from = kernels::number_cast<f64>(start), by = kernels::number_cast<f64>(step);
    plan.size = static_cast<i64>((kernels::number_cast<f64>(end) - from) / by) + 1;
  }
  if constexpr (kernels::is_integer<T>)
    detail::check_integer<T>("range", plan.start + (plan.size - 1) * plan.step);
  auto out = empty<T>(stream, {plan.size}, "range");
  detail::assign_node("range", stream, out.view(), detail::sequence<T>{plan.start, plan.step});
  return out;
}

// One line a window: name, its formula of the angle, 0 to 2 pi, and of the place, 0 to 1, and its
// own parameters.
#define FLAGGEMS_WINDOW(name, formula, ...)                                                        \
  template <element T = f32, stream_like S>                                                        \
  requires(detail::kind_of<T> == detail::kind::floating) [[nodiscard]] auto name(                  \
      const S& stream, i64 window_length, bool periodic = true __VA_OPT__(, ) __VA_ARGS__) {       \
    detail::check_steps(#name, window_length);                                                     \
    if (window_length <= 1) return detail::filled<T>(#name, stream, {window_length}, 1);           \
    const f64 n = static_cast<f64>(periodic ? window_length : window_length - 1);                  \
    [[maybe_unused]] const auto angle = detail::numbers_from(stream, 0, 6.283185307179586477 / n); \
    [[maybe_unused]] const auto place = detail::numbers_from(stream, 0, 1 / n);                    \
    return detail::sequence_of<T>(#name, stream, window_length, formula);                          \
  }

/// The Hann window of a length, in a new vector; computed in f64. A periodic one is that of one
/// more element, without the last. Raises invalid_argument for a negative length.
/// aten::hann_window.periodic(SymInt window_length, bool periodic, *, ScalarType? dtype=None)
FLAGGEMS_WINDOW(hann_window, 0.5 - 0.5 * cos(angle))
/// The Hamming window alpha - beta cos(angle); otherwise as hann_window.
/// aten::hamming_window.periodic_alpha_beta(SymInt window_length, bool periodic, float alpha, float
/// beta, *, ScalarType? dtype=None)
FLAGGEMS_WINDOW(hamming_window, alpha - beta * cos(angle), f64 alpha = 0.54, f64 beta = 0.46)
/// The Blackman window; otherwise as hann_window.
/// aten::blackman_window.periodic(SymInt window_length, bool periodic, *, ScalarType? dtype=None)
FLAGGEMS_WINDOW(blackman_window, 0.42 - 0.5 * cos(angle) + 0.08 * cos(angle + angle))
/// The triangular window of Bartlett; otherwise as hann_window.
/// aten::bartlett_window.periodic(SymInt window_length, bool periodic, *, ScalarType? dtype=None)
FLAGGEMS_WINDOW(bartlett_window, 1.0 - abs(place + place - 1.0))
#undef FLAGGEMS_WINDOW

}  // namespace flaggems
