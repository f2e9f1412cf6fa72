// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions: matrix products of the weight and the input's windows, which are copied next to
// each other; with few filters a group (depthwise) sums of products of views of the windows.
#pragma once

#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/pad.hpp>
#include <flaggems/ops/plan/convolution.hpp>
#include <flaggems/ops/plan/norm.hpp>
#include <flaggems/ops/pointwise.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace flaggems {

namespace detail {

/// x with the zeros of a convolution around it.
template <class S, class T, class D>
tensor<T, D> padded_images(const char* op, const S& stream, const conv_plan& plan,
                           const tensor_view<const T, D>& x) {
  shape sizes = x.shape_of();
  i64 around[6];
  for (int d = 0; d < plan.dims; ++d) {
    const auto& a = plan.at[plan.dims - 1 - d];
    sizes[sizes.rank() - 1 - d] = a.padded;
    around[2 * d] = a.before, around[2 * d + 1] = a.after;
  }
  auto padded = empty<T>(stream, sizes, op);
  pad_move<>{op, int_list(around, 2 * plan.dims)}.run(stream, x, padded.view());
  return padded;
}

/// out [B, G, F, places...] = the sums over channels and windows, one formula for each summand.
template <class C, class S, class T, class D, class Bias>
void convolve_by_summands(const char* op, const S& stream, const conv_plan& plan,
                          const tensor_view<const T, D>& input,
                          const tensor_view<const T, D>& weight, const Bias& bias,
                          const tensor_view<T, D>& out) {
  tensor_view<const T, D> x = input;
  tensor<T, D> padded;
  if (plan.is_padded()) {
    padded = padded_images(op, stream, plan, input);
    x = std::as_const(padded).view();
  }
  const auto channels = x.unflatten(1, {plan.groups, plan.channels});
  const auto factors = weight.unflatten(0, {plan.groups, plan.features});
  const auto to_places = [&](auto v) {  // [G, F] beside the output
    for (int d = 0; d < plan.dims; ++d) v = v.unsqueeze(-1);
    return v;
  };
  tensor<C, D> rounded_later;
  tensor_view<C, D> sums;
  if constexpr (std::is_same_v<T, C>) {
    sums = out;
  } else {
    rounded_later = empty<C>(stream, out.shape_of(), op);
    sums = rounded_later.view();
  }
  const i64 window = plan.window(), count = plan.channels * window;
  for (i64 k = 0; k < count; ++k) {
    auto elements = plan.windows(channels.select(2, k / window));
    auto factor = factors.select(2, k / window);
    i64 rest = k % window, own = window;
    for (int d = 0; d < plan.dims; ++d) {
      own /= plan.at[d].kernel;
      elements = elements.select(2, rest / own);
      factor = factor.select(2, rest / own);
      rest %= own;
    }
    const auto product = mul(cast<C>(elements.unsqueeze(2)), cast<C>(to_places(factor)));
    const bool is_last = k + 1 == count && !std::is_same_v<T, C>;
    const tensor_view<const C, D> before(sums);
    if (k > 0 && is_last)
      assign_node(op, stream, out, cast<T>(add(before, product)).node);
    else if (k > 0)
      assign_node(op, stream, sums, add(before, product).node);
    else if (bias)
      assign_node(
          op, stream, sums,
          add(cast<C>(to_places(bias->unflatten(0, {plan.groups, plan.features}))), product).node);
    else
      assign_node(op, stream, sums, product.node);
    if (k == 0 && is_last) assign_node(op, stream, out, cast<T>(before).node);
  }
}

/// So many images of a batch at once that their windows, of `image` bytes each, take some tens of
/// MiB.
inline i64 images_at_once(i64 batch, i64 image) {
  constexpr i64 bytes = i64{1} << 26;  // limit
  const i64 several = image >= bytes ? 1 : image == 0 ? batch : bytes / image;
  return several < batch ? several : batch;
}

/// x [B, G, C, sizes...] with zeros around it, as [B * G, padded..., C].
template <class S, class T, class D>
tensor<T, D> padded_channels_last(const char* op, const S& stream, const conv_plan& plan,
                                  const tensor_view<const T, D>& x) {
  shape sizes{x.size(0) * x.size(1)};
  for (int d = 0; d < plan.dims; ++d) sizes.push_back(plan.pitch(d));
  sizes.push_back(plan.channels);
  auto all = empty<T>(stream, sizes, op);
  tensor_view<T, D> inside = all.view();
  for (int d = 0; d < plan.dims; ++d) {
    const i64 before = plan.at[d].before, n = x.size(3 + d);
    const auto zeros = [&](i64 begin, i64 count) {
      if (count > 0) fill(op, stream, inside.narrow(1 + d, begin, count), 0);
    };
    zeros(0, before);
    zeros(before + n, plan.pitch(d) - before - n);
    inside = inside.narrow(1 + d, before, n);
  }
  copy_into(op, stream, inside.unflatten(0, {x.size(0), x.size(1)}), x.movedim(2, -1));
  return all;
}

/// How a window's elements follow each other: as a filter's, or the last dimension outermost and
/// channels innermost, where windows along that dimension may share memory.
enum class window_order { as_filters, channels_last };

/// The windows of a padded input as rows: element k of the one at place p of image i is at data +
/// i * image + p * step + k.
template <class T, class D>
struct conv_windows {
  tensor<T, D> memory;
  i64 step = 0, places = 0;  // with those at the end of a line that are no window's

  /// [n, G, places, depth]
  [[nodiscard]] tensor_view<const T, D> rows(i64 groups, i64 depth) const {
    const i64 images = memory.size(0), image = memory.stride(0);
    return memory.view().as_strided({images / groups, groups, places, depth},
                                    {groups * image, image, step, 1});
  }
};
template <class S, class T, class D>
conv_windows<T, D> windows_of(const char* op, const S& stream, const conv_plan& plan,
                              const tensor_view<const T, D>& x, window_order order) {
  const int last = plan.dims - 1;
  const conv_plan::along& inner = plan.at[last];
  const bool by_filter = order == window_order::as_filters;
  const bool overlaps = !by_filter && (inner.dilation == 1 || inner.kernel == 1);
  bool is_plain = overlaps;  // the padded input has the windows as they are
  for (int d = 0; d < last; ++d) is_plain = is_plain && plan.at[d].kernel * plan.at[d].stride == 1;
  conv_windows<T, D> r;
  r.memory = padded_channels_last(op, stream, plan, x);
  if (!is_plain) {
    // [B * G, result..., last, kernel..., C]: of the last dimension all elements, or its windows;
    // or [B * G, result..., C, kernel...].
    const auto own = std::as_const(r.memory).view();
    shape sizes{own.size(0)}, strides{own.stride(0)};
    const auto add = [&](i64 n, i64 step) {
      sizes.push_back(n);
      strides.push_back(n == 1 ? 0 : step);
    };
    const auto results = [&](int d) {
      add(plan.at[d].result, own.stride(1 + d) * plan.at[d].stride);
    };
    const auto kernel = [&](int d) {
      add(plan.at[d].kernel, own.stride(1 + d) * plan.at[d].dilation);
    };
    for (int d = 0; d < last; ++d) results(d);
    if (overlaps)
      add(own.size(1 + last), own.stride(1 + last));
    else
      results(last);
    if (by_filter) add(plan.channels, 1);
    if (!by_filter && !overlaps) kernel(last);
    for (int d = 0; d < last; ++d) kernel(d);
    if (by_filter)
      kernel(last);
    else
      add(plan.channels, 1);
    auto copied = empty<T>(stream, sizes, op);
    copy_into(op, stream, copied.view(), own.as_strided(sizes, strides));
    r.memory = std::move(copied);
  }
  const i64 element = plan.channels * (plan.window() / inner.kernel);
  r.step = (overlaps ? inner.stride : inner.kernel) * element;
  const i64 lines = plan.places() / inner.result;
  r.places = (lines - 1) * (overlaps ? plan.line() : inner.result) + inner.result;
  return r;
}

/// weight [G, F, C, kernel...] as [G, F, last, other kernel dimensions..., C], as the windows are.
template <class S, class T, class D>
tensor<T, D> filters_of(const char* op, const S& stream, const tensor_view<const T, D>& weight) {
  const auto from = weight.movedim(-1, 2).movedim(3, -1);
  auto filters = empty<T>(stream, from.shape_of(), op);
  copy_into(op, stream, filters.view(), from);
  return filters;
}

/// The products for images whose lines have `line` places, of which windows begin at the first
/// ones: multiply(sums) for all `places` of them, [n, G, F, places]; then those of the output.
/// Returns what multiply does: whether anything was written.
template <class S, class T, class D, class F>
bool multiply_lines(const char* op, const S& stream, const conv_plan& plan, i64 line, i64 places,
                    const tensor_view<T, D>& to, const F& multiply) {
  const i64 n = to.size(0), result = plan.at[plan.dims - 1].result;
  if (line == result && (plan.dims == 1 || to.is_contiguous()))
    return multiply(to.view({n, plan.groups, plan.features, plan.places()}));
  // Rows of whole vectors, which the copy engine writes.
  const i64 all = plan.places() / result * line, pitch = kernels::round_up(all, i64{16});
  auto wide = empty<T>(stream, {n, plan.groups, plan.features, pitch}, op);
  if (!multiply(wide.view().narrow(-1, 0, places))) return false;
  shape sizes;
  for (int d = 0; d < plan.dims; ++d) sizes.push_back(d + 1 < plan.dims ? plan.at[d].result : line);
  const auto lines = std::as_const(wide).view().narrow(-1, 0, all).unflatten(-1, sizes);
  copy_into(op, stream, to, lines.narrow(-1, 0, result));
  return true;
}

/// bias [G * F] for results [n, G, F, places].
template <class View>
auto expanded_bias(const conv_plan& plan, const View& bias, const shape& sizes) {
  return bias.unflatten(0, {plan.groups, plan.features}).unsqueeze(0).unsqueeze(-1).expand(sizes);
}

/// Images [n, C, H, W], channels last, with zeros between lines and between images, which
/// neighbours share: the windows of place p of image i are at data + i * image + p * step, their
/// next line so many places on.
template <class T, class D>
struct spaced_images {
  tensor<T, D> memory;
  i64 image, line;  ///< in elements, and the places of a line
};
/// Such images have all lines of the plan's windows as they are.
template <class T, class S, class D>
spaced_images<T, D> space_images(const char* op, const S& stream, const conv_plan& plan,
                                 const tensor_view<const T, D>& x) {
  const conv_plan::along &outer = plan.at[0], &inner = plan.at[1];
  const i64 n = x.size(0), C = plan.channels, H = x.size(2), W = x.size(3);
  const i64 beside = W + kernels::max_of(inner.before, inner.after);
  const i64 line = kernels::max_of(kernels::ceil_div(beside, inner.stride), inner.result);
  const i64 pitch = line * inner.stride, lines = H + kernels::max_of(outer.before, outer.after);
  const i64 first = outer.before * pitch + inner.before;  // pixels in front of the first image
  spaced_images<T, D> r{empty<T>(stream, {(first + n * lines * pitch) * C}, op), lines * pitch * C,
                        line};
  const auto all = r.memory.view();
  fill(op, stream, all, 0);
  copy_into(op, stream, all.as_strided({n, H, W, C}, {r.image, pitch * C, C, 1}, first * C),
            x.movedim(1, -1));
  return r;
}

/// The same where kernels multiply lines in pieces, by images that have the windows' as they are.
/// False, having written nothing, where they do not.
template <class S, class T, class D, class Bias>
bool convolve_by_pieces(const char* op, const S& stream, const conv_plan& plan,
                        const tensor_view<const T, D>& x, const tensor_view<const T, D>& weight,
                        const Bias& bias, const tensor_view<T, D>& out) {
  if (!plan.has_window_lines()) return false;
  const conv_plan::along& inner = plan.at[1];
  const i64 C = plan.channels, step = C * inner.stride, terms = C * inner.kernel;
  if (!takes_windows<T>(stream, plan.features, plan.places(), step, terms)) return false;
  const auto by_place = weight.movedim(1, -1);
  auto filters = empty<T>(stream, by_place.shape_of(), op);
  copy_into(op, stream, filters.view(), by_place);
  const i64 image = C * plan.pitch(0) * plan.pitch(1) * static_cast<i64>(sizeof(T));
  const i64 most = images_at_once(plan.batch, image);
  for (i64 begin = 0; begin < plan.batch; begin += most) {
    const i64 n = plan.batch - begin < most ? plan.batch - begin : most;
    const auto images = space_images(op, stream, plan, x.narrow(0, begin, n));
    const i64 places = (plan.at[0].result - 1) * images.line + inner.result;
    const line_pieces pieces{terms, plan.at[0].dilation * images.line};
    const auto rows = images.memory.view().as_strided({n, 1, places, terms},
                                                      {images.image, images.image, step, 1});
    const auto a = std::as_const(filters).view().flatten(1, -1).unsqueeze(0).unsqueeze(0).expand(
        {n, 1, plan.features, C * plan.window()});
    const auto multiply = [&](const tensor_view<T, D>& sums) {
      if (!bias) return multiply_windows(op, stream, a, rows, pieces, sums, no_bias_view{});
      const auto added = expanded_bias(plan, *bias, sums.shape_of());
      return multiply_windows(op, stream, a, rows, pieces, sums,
                              bias_view<decltype(added), f32>{added, 1});
    };
    // (All parts have the same strides.)
    if (!multiply_lines(op, stream, plan, images.line, places, out.narrow(0, begin, n), multiply))
      return false;
  }
  return true;
}

/// The same as products of matrices: the filters and the windows. out [B, G, F, result...].
template <class S, class T, class D, class Bias>
void convolve_by_products(const char* op, const S& stream, const conv_plan& plan,
                          const tensor_view<const T, D>& x, const tensor_view<const T, D>& weight,
                          const Bias& bias, const tensor_view<T, D>& out) {
  const i64 depth = plan.channels * plan.window();
  const auto run = [&](const tensor_view<const T, D>& filters, const tensor_view<const T, D>& rows,
                       const tensor_view<T, D>& to) {
    const auto a = filters.unsqueeze(0).expand({to.size(0), plan.groups, plan.features, depth});
    if (bias)
      gemm(op, stream, a, rows, to, expanded_bias(plan, *bias, to.shape_of()), 1, 1);
    else
      gemm(op, stream, a, rows, to, no_bias_view{}, 1, 0);
    return true;
  };
  const auto channels = x.unflatten(1, {plan.groups, plan.channels});
  const auto factors = weight.unflatten(0, {plan.groups, plan.features});
  // (A window of one element; of several dimensions the places have to be one.)
  if (plan.window() == 1 && !plan.is_padded() && factors.stride(2) == 1 &&
      (plan.dims == 1 || out.is_contiguous())) {
    const auto elements = plan.windows(channels).flatten(3, 2 + plan.dims);  // no kernel
    const auto product = [&](const tensor_view<const T, D>& from, const tensor_view<T, D>& to) {
      run(factors.flatten(2, -1), from.flatten(3, -1).transpose(-2, -1), to.flatten(3, -1));
    };
    if (plan.dims == 1 || (x.is_contiguous() && !plan.skips())) return product(elements, out);
    const i64 image = plan.groups * plan.channels * plan.places() * static_cast<i64>(sizeof(T));
    const i64 most = images_at_once(plan.batch, image);
    for (i64 begin = 0; begin < plan.batch; begin += most) {
      const i64 n = plan.batch - begin < most ? plan.batch - begin : most;
      const auto from = elements.narrow(0, begin, n);
      auto copied = empty<T>(stream, from.shape_of(), op);
      copy_into(op, stream, copied.view(), from);
      product(std::as_const(copied).view(), out.narrow(0, begin, n));
    }
    return;
  }
  // What is smaller is brought into the order of the other.
  const bool keeps = plan.features > plan.batch * plan.places();
  if constexpr (has_window_products<S, T>)
    if (!keeps && convolve_by_pieces(op, stream, plan, x, weight, bias, out)) return;
  tensor<T, D> packed;
  if (!keeps) packed = filters_of(op, stream, factors);
  const auto filters = (keeps ? as_row(op, stream, factors, packed) : std::as_const(packed).view())
                           .view({plan.groups, plan.features, depth});
  const i64 result = plan.at[plan.dims - 1].result, lines = plan.places() / result;
  const i64 image = plan.groups * (depth / plan.at[plan.dims - 1].kernel) * lines *
                    plan.pitch(plan.dims - 1) * static_cast<i64>(sizeof(T));
  const i64 most = images_at_once(plan.batch, image);
  for (i64 begin = 0; begin < plan.batch; begin += most) {
    const i64 n = plan.batch - begin < most ? plan.batch - begin : most;
    const auto windows = windows_of(op, stream, plan, channels.narrow(0, begin, n),
                                    keeps ? window_order::as_filters : window_order::channels_last);
    const auto rows = windows.rows(plan.groups, depth);
    multiply_lines(op, stream, plan, windows.places == plan.places() ? result : plan.line(),
                   windows.places, out.narrow(0, begin, n),
                   [&](const tensor_view<T, D>& sums) { return run(filters, rows, sums); });
  }
}

/// The same where windows lie next to each other, without a copy of them: the lines of the padded
/// images follow each other, and the products of each element of the filters are added, the images
/// shifted by its place. The sums are in the output's dtype.
template <class S, class T, class D, class Bias>
void convolve_by_shifts(const char* op, const S& stream, const conv_plan& plan,
                        const tensor_view<const T, D>& x, const tensor_view<const T, D>& weight,
                        const Bias& bias, const tensor_view<T, D>& out) {
  const i64 G = plan.groups, F = plan.features, C = plan.channels, window = plan.window();
  tensor_view<const T, D> by_tap = weight.unflatten(0, {G, F});
  for (int d = 0; d < plan.dims; ++d) by_tap = by_tap.movedim(-1, 0);
  auto taps = empty<T>(stream, by_tap.shape_of(), op);
  copy_into(op, stream, taps.view(), by_tap);
  i64 places = 1, plane = 1, pitch[3];  // all places from a window's first to the last one's
  for (int d = plan.dims - 1; d >= 0; --d) {
    places += (plan.at[d].result - 1) * plane;
    pitch[d] = plane;
    plane *= plan.at[d].padded;
  }
  const bool whole = places == plan.places() && (plan.dims == 1 || out.is_contiguous());
  const i64 step = shifted_places<D>();
  const i64 most = images_at_once(plan.batch, G * C * plane * static_cast<i64>(sizeof(T)));
  for (i64 begin = 0; begin < plan.batch; begin += most) {
    const i64 n = plan.batch - begin < most ? plan.batch - begin : most;
    const auto images = padded_images(op, stream, plan, x.narrow(0, begin, n));
    const auto to = out.narrow(0, begin, n);
    tensor<T, D> wide;
    if (!whole) wide = empty<T>(stream, {n, G, F, places}, op);
    const tensor_view<T, D> sums = whole ? to.flatten(3, -1) : wide.view();
    for (i64 first = 0; first < places; first += step) {
      const i64 count = places - first < step ? places - first : step;
      const auto part = sums.narrow(-1, first, count);
      for (i64 k = 0; k < window; ++k) {
        i64 shift = first;
        for (i64 d = plan.dims - 1, rest = k; d >= 0; rest /= plan.at[d--].kernel)
          shift += rest % plan.at[d].kernel * plan.at[d].dilation * pitch[d];
        const auto a = std::as_const(taps)
                           .view()
                           .view({window, G, F, C})
                           .select(0, k)
                           .unsqueeze(0)
                           .expand({n, G, F, C});
        const auto b = std::as_const(images).view().flatten(2, -1).as_strided(
            {n, G, count, C}, {G * C * plane, C * plane, 1, plane}, shift);
        if (k > 0)
          gemm(op, stream, a, b, part, tensor_view<const T, D>(part), 1, 1);
        else if (bias)
          gemm(op, stream, a, b, part,
               bias->unflatten(0, {G, F}).unsqueeze(0).unsqueeze(-1).expand(part.shape_of()), 1, 1);
        else
          gemm(op, stream, a, b, part, no_bias_view{}, 1, 0);
      }
    }
    if (whole) continue;
    shape strides(wide.view().strides());
    strides.erase(3);
    for (int d = 0; d < plan.dims; ++d) strides.push_back(pitch[d]);
    copy_into(op, stream, to, std::as_const(wide).view().as_strided(to.shape_of(), strides));
  }
}

template <class S, class X, class W, class B, class Out>
void convolve_into(const conv_request& ask, const S& stream, const X& input, const W& weight,
                   const B& bias, const Out& out) {
  using T = typename Out::value_type;
  using D = device_of<S>;
  using C = arithmetic_t<T>;
  static_assert(std::is_same_v<std::remove_const_t<typename X::value_type>, T> &&
                    std::is_same_v<std::remove_const_t<typename W::value_type>, T>,
                "flaggems: input, weight and output of a convolution have one dtype");
  static_assert(kind_of<T> == kind::floating, "flaggems: convolutions are of floating point");
  const char* op = ask.name;
  const conv_plan plan(ask, input.shape_of(), weight.shape_of());
  const bool has_batch = input.rank() == ask.dims + 2;
  check_output_sizes(op, plan.out(has_batch), out);
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_overlap(op, written, layout_of(input));
  check_no_overlap(op, written, layout_of(weight));
  auto added = optional_view<T, D>(bias);
  check_weight(op, "bias", added, {plan.groups * plan.features}, written);
  if (out.empty()) return;

  const tensor_view<const T, D> x(has_batch ? input.view() : input.unsqueeze(0));
  const tensor_view<const T, D> filters(weight);
  tensor_view<T, D> to(has_batch ? out.view() : out.unsqueeze(0));
  to = to.unflatten(1, {plan.groups, plan.features});
  // With few features a group a product has too few rows.
  constexpr i64 few_features = 4, few_summands = 32;
  const i64 summands = plan.channels * plan.window();
  if (plan.features < few_features && summands > 0 && summands <= few_summands)
    return convolve_by_summands<C>(op, stream, plan, x, filters, added, to);
  if constexpr (std::is_same_v<T, C> && adds_shifted_images<D>)
    if (plan.is_shifted()) return convolve_by_shifts(op, stream, plan, x, filters, added, to);
  convolve_by_products(op, stream, plan, x, filters, added, to);
}
template <class S, class X, class W, class B>
auto convolve_new(const conv_request& ask, const S& stream, const X& input, const W& weight,
                  const B& bias) {
  const auto x = as_view(input);
  const auto w = as_view(weight);
  const conv_plan plan(ask, x.shape_of(), w.shape_of());
  auto out = empty<value_t<const X&>>(stream, plan.out(x.rank() == ask.dims + 2), ask.name);
  convolve_into(ask, stream, x, w, bias, out.view());
  return out;
}

}  // namespace detail

// One line an operator: name, and over how many dimensions.
#define FLAGGEMS_CONVOLUTION(name, dims)                                                          \
  template <stream_like S, tensor_like X, tensor_like W, optional_tensor B, tensor_like Out>      \
  void name(const S& stream, const X& input, const W& weight, const B& bias, Out&& out,           \
            int_list stride = {1}, int_list padding = {0}, int_list dilation = {1},               \
            i64 groups = 1) {                                                                     \
    same_device<S, X, W, B, Out>();                                                               \
    detail::convolve_into({#name, dims, stride, padding, dilation, groups, std::nullopt}, stream, \
                          as_view(input), as_view(weight), bias, as_view(out));                   \
  }                                                                                               \
  template <stream_like S, tensor_like X, tensor_like W, optional_tensor B, tensor_like Out>      \
  void name(const S& stream, const X& input, const W& weight, const B& bias, Out&& out,           \
            int_list stride, conv_padding padding, int_list dilation = {1}, i64 groups = 1) {     \
    same_device<S, X, W, B, Out>();                                                               \
    detail::convolve_into({#name, dims, stride, {}, dilation, groups, padding}, stream,           \
                          as_view(input), as_view(weight), bias, as_view(out));                   \
  }                                                                                               \
  template <stream_like S, tensor_like X, tensor_like W, optional_tensor B = std::nullopt_t>      \
  [[nodiscard]] auto name(const S& stream, const X& input, const W& weight,                       \
                          const B& bias = std::nullopt, int_list stride = {1},                    \
                          int_list padding = {0}, int_list dilation = {1}, i64 groups = 1) {      \
    same_device<S, X, W, B>();                                                                    \
    return detail::convolve_new({#name, dims, stride, padding, dilation, groups, std::nullopt},   \
                                stream, input, weight, bias);                                     \
  }                                                                                               \
  template <stream_like S, tensor_like X, tensor_like W, optional_tensor B>                       \
  [[nodiscard]] auto name(const S& stream, const X& input, const W& weight, const B& bias,        \
                          int_list stride, conv_padding padding, int_list dilation = {1},         \
                          i64 groups = 1) {                                                       \
    same_device<S, X, W, B>();                                                                    \
    return detail::convolve_new({#name, dims, stride, {}, dilation, groups, padding}, stream,     \
                                input, weight, bias);                                             \
  }

/// out[b, f, i] = bias[f] + the sum over channels c of f's group and k of weight[f, c, k]
/// input[b, c, i * stride + k * dilation - padding], where input is 0 outside.
///
/// input [B, C, L] or [C, L], weight [F, C / groups, K], bias [F] or std::nullopt, out [B, F, ...]
/// or [F, ...]; any strides, one floating-point dtype; sums are in f32 or f64. Padding is a number,
/// or conv_padding::valid or same (of stride 1). out shares no memory with an input. Raises
/// invalid_argument, shape_mismatch or overlap before anything is written.
/// aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1]
/// padding=0, SymInt[1] dilation=1, SymInt groups=1)
FLAGGEMS_CONVOLUTION(conv1d, 1)
/// conv1d over two dimensions. aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None,
/// SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1, SymInt groups=1)
FLAGGEMS_CONVOLUTION(conv2d, 2)
/// conv1d over three dimensions. aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None,
/// SymInt[3] stride=1, SymInt[3] padding=0, SymInt[3] dilation=1, SymInt groups=1)
FLAGGEMS_CONVOLUTION(conv3d, 3)
#undef FLAGGEMS_CONVOLUTION

namespace detail {
/// Raises unless kernel_size is the weight's and it has one channel of each of x's.
template <class X, class W>
void check_depthwise(const char* op, const X& x, const W& weight, int_list kernel_size) {
  const int n = kernel_size.size();
  if (n != 1 && n != 2) [[unlikely]]
    raise(errc::invalid_argument, op, "a kernel_size of one number or 2", text(n));
  const i64 h = kernel_size[0], w = kernel_size[n - 1];
  const bool fits = weight.rank() == 4 && weight.size(1) == 1 && (x.rank() == 3 || x.rank() == 4) &&
                    h == weight.size(2) && w == weight.size(3);
  if (!fits) [[unlikely]]
    raise(errc::shape_mismatch, op,
          "an image and a weight [F, 1, " + text(h) + ", " + text(w) + "]",
          to_string(x.sizes()) + " and " + to_string(weight.sizes()));
}
}  // namespace detail

/// conv2d with a group for each channel; kernel_size is that of weight [F, 1, ...], F a multiple of
/// the channels. Otherwise as conv1d. aten::_conv_depthwise2d(Tensor self, Tensor weight, SymInt[2]
/// kernel_size, Tensor? bias, SymInt[2] stride, SymInt[2] padding, SymInt[2] dilation)
template <stream_like S, tensor_like X, tensor_like W, optional_tensor B, tensor_like Out>
void conv_depthwise2d(const S& stream, const X& x, const W& weight, int_list kernel_size,
                      const B& bias, Out&& out, int_list stride, int_list padding,
                      int_list dilation) {
  constexpr const char* op = "conv_depthwise2d";
  same_device<S, X, W, B, Out>();
  const auto v = as_view(x);
  detail::check_depthwise(op, v, as_view(weight), kernel_size);
  detail::convolve_into({op, 2, stride, padding, dilation, v.size(-3), std::nullopt}, stream, v,
                        as_view(weight), bias, as_view(out));
}
template <stream_like S, tensor_like X, tensor_like W, optional_tensor B>
[[nodiscard]] auto conv_depthwise2d(const S& stream, const X& x, const W& weight,
                                    int_list kernel_size, const B& bias, int_list stride,
                                    int_list padding, int_list dilation) {
  constexpr const char* op = "conv_depthwise2d";
  same_device<S, X, W, B>();
  const auto v = as_view(x);
  detail::check_depthwise(op, v, as_view(weight), kernel_size);
  return detail::convolve_new({op, 2, stride, padding, dilation, v.size(-3), std::nullopt}, stream,
                              x, weight, bias);
}

namespace detail {
/// How many dimensions a convolution is over that its operands do not name. Raises shape_mismatch
/// unless one to three.
template <class X, class W>
int dims_of_convolution(const char* op, const X& x, const W& weight) {
  const int dims = weight.rank() - 2;
  if (dims < 1 || dims > 3 || (x.rank() != dims + 1 && x.rank() != dims + 2)) [[unlikely]]
    raise_shapes(op, "an input and a weight over one to three dimensions", x.shape_of(),
                 weight.shape_of());
  return dims;
}
}  // namespace detail

/// conv1d to conv3d, by the weight's rank. aten::_convolution_mode(Tensor input, Tensor weight,
/// Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, SymInt groups)
template <stream_like S, tensor_like X, tensor_like W, optional_tensor B>
[[nodiscard]] auto convolution_mode(const S& stream, const X& input, const W& weight, const B& bias,
                                    int_list stride, conv_padding padding, int_list dilation,
                                    i64 groups) {
  constexpr const char* op = "convolution_mode";
  same_device<S, X, W, B>();
  const int dims = detail::dims_of_convolution(op, as_view(input), as_view(weight));
  return detail::convolve_new({op, dims, stride, {}, dilation, groups, padding}, stream, input,
                              weight, bias);
}

/// conv1d to conv3d, by the weight's rank, without a bias. The hints of ATen's schema change no
/// result here. aten::cudnn_convolution.out(Tensor self, Tensor weight, SymInt[] padding, SymInt[]
/// stride, SymInt[] dilation, SymInt groups, bool benchmark, bool deterministic, bool allow_tf32,
/// *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like W, tensor_like Out>
void cudnn_convolution(const S& stream, const X& self, const W& weight, Out&& out, int_list padding,
                       int_list stride, int_list dilation, i64 groups) {
  constexpr const char* op = "cudnn_convolution";
  same_device<S, X, W, Out>();
  const int dims = detail::dims_of_convolution(op, as_view(self), as_view(weight));
  detail::convolve_into({op, dims, stride, padding, dilation, groups, std::nullopt}, stream,
                        as_view(self), as_view(weight), std::nullopt, as_view(out));
}
template <stream_like S, tensor_like X, tensor_like W>
[[nodiscard]] auto cudnn_convolution(const S& stream, const X& self, const W& weight,
                                     int_list padding, int_list stride, int_list dilation,
                                     i64 groups) {
  constexpr const char* op = "cudnn_convolution";
  same_device<S, X, W>();
  const int dims = detail::dims_of_convolution(op, as_view(self), as_view(weight));
  return detail::convolve_new({op, dims, stride, padding, dilation, groups, std::nullopt}, stream,
                              self, weight, std::nullopt);
}

}  // namespace flaggems
