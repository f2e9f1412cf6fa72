// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Dropout of elements and of features, and rrelu: what activations do at random in training. The
// gradients are masked_scale and rrelu_with_noise_backward.
#pragma once

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/random.hpp>

namespace flaggems {

namespace detail {

/// Which elements stay, as expressions of T: 1 with probability 1 - p, else 0.
template <class T>
auto kept(const char* op, f64 p, const philox_generator& generator) {
  using node = draws<T, kernels::bernoulli_fn<f64>>;
  return expr<node>(node{bernoulli_of(op, 1 - p), generator});
}
template <class T>
void advance_kept(philox_generator& generator, i64 n) {
  generator = after_draws<T, kernels::bernoulli_fn<f64>>(generator, n);
}
/// x with what the mask keeps, scaled so that the mean stays.
struct plain_kind {
  template <class X, class M>
  auto operator()(const X& x, const M& mask, f64 p) const {
    return masked_scale(x, mask, scale(p));
  }
  static f64 scale(f64 p) { return p < 1 ? 1 / (1 - p) : 0; }
};
/// The same with the least value of selu in the place of what is dropped: x * mask * scale + mask *
/// step + base, so that the mean 0 and the variance 1 of selu's results stay.
struct alpha_kind {
  template <class X, class M>
  auto operator()(const X& x, const M& mask, f64 p) const {
    constexpr f64 alpha = 1.7580993408473766;
    const f64 scale = p < 1 ? 1 / __builtin_sqrt((alpha * alpha * p + 1) * (1 - p)) : 0;
    const f64 step = alpha * scale;
    return add(add(mul(x, mul(mask, scale)), mul(mask, step)), step * (p - 1));
  }
};

/// The sizes of what decides about features: [N, C, 1, ...].
inline shape feature_sizes(const char* op, int_list sizes) {
  if (sizes.size() < 2) [[unlikely]]
    raise(errc::invalid_argument, op, "an input of 2 dimensions or more",
          "sizes " + to_string(shape(sizes)));
  shape r(sizes);
  for (int d = 2; d < r.rank(); ++d) r[d] = 1;
  return r;
}

/// Dropout of a kind into `out`, which may be x: of elements, each on its own.
template <class Kind, class S, class X, class Out>
void drop_elements(const char* op, const S& stream, const X& x, f64 p, bool train,
                   philox_generator& generator, Out&& out) {
  using T = value_t<const X&>;
  check_probability(op, p);
  if (!train || p == 0) return assign(stream, out, x, op);
  assign(stream, out, Kind()(x, kept<T>(op, p, generator), p), op);
  advance_kept<T>(generator, as_view(x).numel());
}
/// Of features, by a mask in a tensor that broadcasts to x.
template <class Kind, class S, class X, class Out>
void drop_features(const char* op, const S& stream, const X& x, f64 p, bool train,
                   philox_generator& generator, Out&& out) {
  check_probability(op, p);
  const shape sizes = feature_sizes(op, as_view(x).sizes());
  if (!train || p == 0) return assign(stream, out, x, op);
  philox_generator next = generator;
  auto mask = empty<value_t<const X&>>(stream, sizes, op);
  draw_into(op, stream, mask, bernoulli_of(op, 1 - p), next);
  assign(stream, out, Kind()(x, mask, p), op);
  generator = next;
}

}  // namespace detail

// name(stream, x, p, train, generator, out), in a new tensor, and name_ in place.
#define FLAGGEMS_DROPOUT(name, drop, kind)                                               \
  template <stream_like S, tensor_like X, tensor_like Out>                               \
  void name(const S& stream, const X& x, f64 p, bool train, philox_generator& generator, \
            Out&& out) {                                                                 \
    if constexpr (element_type_in<floating_types, 1, X>()) {                             \
      detail::check_output_sizes(#name, shape(as_view(x).sizes()), as_view(out));        \
      detail::drop<detail::kind>(#name, stream, x, p, train, generator, out);            \
    }                                                                                    \
  }                                                                                      \
  template <stream_like S, tensor_like X>                                                \
  [[nodiscard]] auto name(const S& stream, const X& x, f64 p, bool train,                \
                          philox_generator& generator) {                                 \
    auto out = detail::empty_in_order<value_t<const X&>>(stream, x, #name);              \
    name(stream, x, p, train, generator, out);                                           \
    return out;                                                                          \
  }                                                                                      \
  template <stream_like S, tensor_like X>                                                \
  void name##_(const S& stream, X&& x, f64 p, bool train, philox_generator& generator) { \
    if constexpr (element_type_in<floating_types, 1, X>())                               \
      detail::drop<detail::kind>(#name "_", stream, x, p, train, generator, x);          \
  }
/// x / (1 - p) with probability 1 - p, else 0, each element on its own; x itself if not `train`.
/// Floating-point only. A NaN or an infinity that is dropped becomes NaN, as in ATen. Raises
/// invalid_argument for p outside [0, 1], shape_mismatch or overlap before anything is written.
/// aten::dropout(Tensor input, float p, bool train)
FLAGGEMS_DROPOUT(dropout, drop_elements, plain_kind)
/// As dropout, but all elements of a channel, x[n, c, ...], together. Raises invalid_argument for
/// an x of fewer than 2 dimensions, too. aten::feature_dropout(Tensor input, float p, bool train)
FLAGGEMS_DROPOUT(feature_dropout, drop_features, plain_kind)
/// As dropout, but what is dropped becomes the least value of selu, and all is scaled so that mean
/// and variance stay. aten::alpha_dropout(Tensor input, float p, bool train)
FLAGGEMS_DROPOUT(alpha_dropout, drop_elements, alpha_kind)
/// alpha_dropout by channels, as feature_dropout. aten::feature_alpha_dropout(Tensor input, float
/// p, bool train)
FLAGGEMS_DROPOUT(feature_alpha_dropout, drop_features, alpha_kind)
#undef FLAGGEMS_DROPOUT

/// out = dropout of x, and mask = whether an element was kept, for masked_scale of the gradient;
/// without `train` (not given: true) x and true. The outputs have x's sizes and share no memory;
/// `out` may be x. Raises as dropout.
/// aten::native_dropout.out(Tensor input, float p, bool? train, *, Tensor(a!) out0, Tensor(b!)
/// out1)
template <stream_like S, tensor_like X, tensor_like Out, tensor_like Mask>
void native_dropout(const S& stream, const X& x, f64 p, std::optional<bool> train,
                    philox_generator& generator, Out&& out, Mask&& mask) {
  constexpr const char* op = "native_dropout";
  if constexpr (element_type_in<floating_types, 1, X>() &&
                element_type_in<type_list<bool>, 7, Mask>()) {
    detail::check_probability(op, p);
    detail::check_output_sizes(op, shape(as_view(x).sizes()), as_view(out));
    detail::check_output_sizes(op, shape(as_view(x).sizes()), as_view(mask));
    check_disjoint_output(op, as_view(mask), as_view(x), as_view(out));
    using T = value_t<const X&>;
    if (!train.value_or(true)) {
      assign(stream, out, x, op);
      return detail::fill(op, stream, as_view(mask), true);
    }
    const auto kept = detail::kept<T>(op, p, generator);
    assign(stream, out, masked_scale(x, kept, detail::plain_kind::scale(p)), op);
    assign(stream, mask, ne(kept, 0), op);
    detail::advance_kept<T>(generator, as_view(x).numel());
  }
}
/// The same in new tensors. aten::native_dropout(Tensor input, float p, bool? train)
template <stream_like S, tensor_like X>
[[nodiscard]] auto native_dropout(const S& stream, const X& x, f64 p, std::optional<bool> train,
                                  philox_generator& generator) {
  auto out = detail::empty_in_order<value_t<const X&>>(stream, x, "native_dropout");
  auto mask = detail::empty_in_order<bool>(stream, x, "native_dropout");
  native_dropout(stream, x, p, train, generator, out, mask);
  return std::pair(std::move(out), std::move(mask));
}

/// In training: noise = a number uniform in [lower, upper) for x <= 0, else 1, and out = x * noise;
/// otherwise leaky_relu with the mean of the bounds, and noise stays. All are of the same sizes;
/// `out` may be x. Floating-point only. Raises invalid_argument for bounds that are not finite or
/// in the other order, shape_mismatch or overlap before anything is written.
/// aten::rrelu_with_noise.out(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar
/// upper=0.3333333333333333, bool training=False, Generator? generator=None, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Noise, tensor_like Out>
void rrelu_with_noise(const S& stream, const X& x, Noise&& noise, f64 lower, f64 upper,
                      bool training, philox_generator& generator, Out&& out) {
  constexpr const char* op = "rrelu_with_noise";
  using T = value_t<const X&>;
  if constexpr (element_type_in<floating_types, 1, X>()) {
    const auto slopes = detail::uniform_of(op, lower, upper);
    const shape sizes(as_view(x).sizes());
    detail::check_output_sizes(op, sizes, as_view(out));
    if (!training) return assign(stream, out, leaky_relu(x, (lower + upper) / 2), op);
    detail::check_output_sizes(op, sizes, as_view(noise));
    check_disjoint_output(op, as_view(noise), as_view(x), as_view(out));
    check_output(op, as_view(out), as_view(x));
    using node = detail::draws<T, kernels::uniform_fn<f64>>;
    assign(stream, noise, where(le(x, 0), expr<node>(node{slopes, generator}), 1), op);
    assign(stream, out, mul(x, noise), op);
    generator = detail::after_draws<T, kernels::uniform_fn<f64>>(generator, sizes.numel());
  }
}
/// The same in a new tensor. aten::rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar
/// lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None)
template <stream_like S, tensor_like X, tensor_like Noise>
[[nodiscard]] auto rrelu_with_noise(const S& stream, const X& x, Noise&& noise, f64 lower,
                                    f64 upper, bool training, philox_generator& generator) {
  auto out = detail::empty_in_order<value_t<const X&>>(stream, x, "rrelu_with_noise");
  rrelu_with_noise(stream, x, noise, lower, upper, training, generator, out);
  return out;
}
/// The same with a new tensor of the noise, which outside training is a copy of what is given.
/// aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar
/// upper=0.3333333333333333, bool training=False, Generator? generator=None) -> (Tensor, Tensor
/// noise_out)
template <stream_like S, tensor_like X, tensor_like Noise>
[[nodiscard]] auto rrelu_with_noise_functional(const S& stream, const X& x, const Noise& noise,
                                               f64 lower, f64 upper, bool training,
                                               philox_generator& generator) {
  auto drawn =
      detail::copied<value_t<const Noise&>>("rrelu_with_noise_functional", stream, as_view(noise));
  auto out = rrelu_with_noise(stream, x, drawn, lower, upper, training, generator);
  return std::pair(std::move(out), std::move(drawn));
}
/// The same without memory for the noise. aten::rrelu(Tensor self, Scalar lower=0.125, Scalar
/// upper=0.3333333333333333, bool training=False, Generator? generator=None)
template <stream_like S, tensor_like X>
[[nodiscard]] auto rrelu(const S& stream, const X& x, f64 lower, f64 upper, bool training,
                         philox_generator& generator) {
  constexpr const char* op = "rrelu";
  using T = value_t<const X&>;
  using node = detail::draws<T, kernels::uniform_fn<f64>>;
  const auto slopes = detail::uniform_of(op, lower, upper);
  if (!training) return evaluate(stream, leaky_relu(x, (lower + upper) / 2), op);
  auto out = evaluate(stream, mul(x, where(le(x, 0), expr<node>(node{slopes, generator}), 1)), op);
  generator = detail::after_draws<T, kernels::uniform_fn<f64>>(generator, out.view().numel());
  return out;
}

}  // namespace flaggems
