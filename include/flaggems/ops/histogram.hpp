// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How often numbers occur: of integers, and in intervals.
#pragma once

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/nonzero.hpp>
#include <flaggems/ops/plan/norm.hpp>
#include <flaggems/ops/statistics.hpp>
#include <flaggems/tensor/optional.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace flaggems {
namespace detail {

/// counts = zeros, with ones (or weights) added at places; those that are negative are ignored.
template <class S, class T, class D>
void count_into(const char* op, const S& stream, const tensor_view<const i64, D>& places,
                const tensor_view<const T, D>& weights, const tensor_view<T, D>& counts) {
  fill(op, stream, counts, 0);
  if (!places.empty())
    launch_scatter_along(op, stream, counts, 0, places, weights, kernels::joining::sum);
}

/// What weights are summed in.
template <class Weights>
using weight_sum = std::conditional_t<
    std::is_same_v<Weights, std::nullopt_t>, i64,
    std::conditional_t<std::is_same_v<typename optional_element<Weights, i64>::type, f32>, f32,
                       f64>>;

/// The range of a histogram: what is given, or that of finite elements.
template <class S, class T, class D>
std::pair<f64, f64> histogram_range(const S& stream, const tensor_view<const T, D>& x, f64 least,
                                    f64 most) {
  constexpr const char* op = "histc";
  if (least == most && !x.empty()) {
    const auto [low, high] = aminmax(stream, x);
    least = kernels::number_cast<f64>(read_element(stream, low.view()));
    most = kernels::number_cast<f64>(read_element(stream, high.view()));
  }
  if (!__builtin_isfinite(kernels::number_cast<arithmetic_t<T>>(least)) ||
      !__builtin_isfinite(kernels::number_cast<arithmetic_t<T>>(most))) [[unlikely]]
    raise(errc::invalid_argument, op, "a range that is finite in the dtype",
          text(least) + " to " + text(most));
  if (least == most) return {least - 1, most + 1};
  if (least > most) [[unlikely]]
    raise(errc::invalid_argument, op, "min <= max", text(least) + " and " + text(most));
  return {least, most};
}

}  // namespace detail

/// out[k] = how often k occurs in x, a vector of integers that are not negative, in a new tensor of
/// i64; or the sum of the weights where it does, of f32 if they are, else of f64. It has
/// max(x) + 1 elements, at least minlength, and waits for the stream. Raises invalid_argument for
/// other ranks and negative numbers, or shape_mismatch.
/// aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0)
template <stream_like S, tensor_like X, optional_tensor Weights = std::nullopt_t>
[[nodiscard]] auto bincount(const S& stream, const X& x, const Weights& weights = std::nullopt,
                            i64 minlength = 0) {
  constexpr const char* op = "bincount";
  using T = value_t<const X&>;
  using D = device_of<S>;
  using C = detail::weight_sum<Weights>;
  same_device<S, X, Weights>();
  static_assert(detail::kind_of<T> == detail::kind::integer, "flaggems: bincount counts integers");
  const tensor_view<const T, D> v(as_view(x));
  if (v.rank() != 1) [[unlikely]]
    detail::raise_sizes(op, "a vector", v.sizes());
  if (minlength < 0) [[unlikely]]
    raise(errc::invalid_argument, op, "a minlength that is not negative", detail::text(minlength));
  if constexpr (!std::is_same_v<Weights, std::nullopt_t>) {
    using W = typename detail::optional_element<Weights, i64>::type;
    const auto given = detail::optional_view<W, D>(weights);
    if (given) check_same_sizes(op, v, *given);
  }
  i64 size = minlength;
  if (!v.empty()) {
    const auto [low, high] = aminmax(stream, v);
    const T least = detail::read_element(stream, low.view());
    if (least < 0) [[unlikely]]
      raise(errc::invalid_argument, op, "integers that are not negative", detail::text(least));
    const T most = detail::read_element(stream, high.view());
    if (static_cast<u64>(most) >= static_cast<u64>(kernels::highest<i64>())) [[unlikely]]
      raise(errc::invalid_argument, op, "integers below 2^63 - 1", detail::text(most));
    size = kernels::max_of(size, static_cast<i64>(most) + 1);
  }
  auto places = empty<i64>(stream, {v.numel()}, op);
  if (!v.empty()) assign(stream, places, cast<i64>(v), op);
  auto counts = empty<C>(stream, {size}, op);
  const auto all = [&](const auto& ones) {
    detail::count_into(op, stream, detail::input_of(places), ones, counts.view());
  };
  if constexpr (std::is_same_v<Weights, std::nullopt_t>) {
    const auto one = detail::filled<C>(op, stream, {1}, 1);
    all(detail::input_of(one).expand({v.numel()}));
  } else {
    const auto own = detail::copied<C>(op, stream, as_view(weights));
    all(detail::input_of(own));
  }
  return counts;
}

/// out[k] = how many elements of x lie in interval k of `bins` equal ones from min to max, the last
/// one closed; if both are equal, from the least element to the largest, for which it waits. Others
/// and NaN are not counted. x is of floating point, out a vector of its dtype. Raises
/// invalid_argument (bins, a range that is reversed or not finite in the dtype), shape_mismatch or
/// overlap.
/// aten::histc.out(Tensor self, int bins=100, Scalar min=0, Scalar max=0, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void histc(const S& stream, const X& x, Out&& out, i64 bins = 100, f64 min = 0, f64 max = 0) {
  constexpr const char* op = "histc";
  using T = value_t<const X&>;
  using D = device_of<S>;
  using C = detail::arithmetic_t<T>;
  same_device<S, X, Out>();
  static_assert(std::is_same_v<T, value_t<Out>>, "flaggems: the output has the dtype of the input");
  if constexpr (element_type_in<floating_types, 1, X>()) {
    const tensor_view<const T, D> v(as_view(x));
    const tensor_view<T, D> to(as_view(out));
    if (bins < 1) [[unlikely]]
      raise(errc::invalid_argument, op, "at least one bin", detail::text(bins));
    detail::check_output_sizes(op, {bins}, to);
    detail::check_separate(op, to, v);
    const auto [least, most] = detail::histogram_range(stream, v, min, max);
    const C low = static_cast<C>(least), high = static_cast<C>(most);
    C by = 1;  // a power of 2 with which no difference overflows, nor its product with bins
    while (!__builtin_isfinite((high * by - low * by) * static_cast<C>(bins))) by /= 2;
    auto places = empty<i64>(stream, {v.numel()}, op);
    if (!v.empty()) {
      const auto number = cast<C>(v);
      const auto place =
          minimum(cast<i64>(div(mul(sub(mul(number, by), low * by), static_cast<C>(bins)),
                                high * by - low * by)),
                  bins - 1);
      assign(stream, places.view().view(v.shape_of()),
             where(logical_and(ge(number, low), le(number, high)), place, i64(-1)), op);
    }
    auto counts = empty<i64>(stream, {bins}, op);
    const auto one = detail::filled<i64>(op, stream, {1}, 1);
    detail::count_into(op, stream, detail::input_of(places),
                       detail::input_of(one).expand({v.numel()}), counts.view());
    detail::copy_into(op, stream, to, detail::input_of(counts));
  }
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto histc(const S& stream, const X& x, i64 bins = 100, f64 min = 0, f64 max = 0) {
  if (bins < 1) [[unlikely]]
    raise(errc::invalid_argument, "histc", "at least one bin", detail::text(bins));
  auto out = empty<value_t<const X&>>(stream, {bins}, "histc");
  histc(stream, x, out, bins, min, max);
  return out;
}

}  // namespace flaggems
