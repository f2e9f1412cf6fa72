// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions: matrix products of the weight and the input's windows, which are copied next to
// each other; with few filters a group (depthwise) sums of products of views of the windows.
#pragma once

#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/pad.hpp>
#include <flaggems/ops/plan/norm.hpp>
#include <flaggems/ops/pointwise.hpp>

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace flaggems {

/// The zeros around a convolution's input: none, or as many as give an output of its size; of an
/// odd number the greater part is behind.
enum class conv_padding { valid, same };

/// The padding of ATen's name. Raises invalid_argument for others.
inline conv_padding spelled(std::string_view text, std::type_identity<conv_padding>) {
  if (text == "valid") return conv_padding::valid;
  if (text == "same") return conv_padding::same;
  raise(errc::invalid_argument, "conv", "a padding of valid or same", text);
}

namespace detail {

/// What is asked of a convolution over `dims` dimensions. A list has a number for each, or one for
/// all; `padding` counts where there is no `mode`.
struct conv_request {
  const char* name;
  int dims;
  int_list stride, padding, dilation;
  i64 groups;
  std::optional<conv_padding> mode;
};

/// Its sizes: of windows [kernel] at `result` places of the padded input.
struct conv_plan {
  struct along {
    i64 kernel, stride, dilation, before, after, padded, result;
  };
  int dims = 0;
  i64 batch = 0, groups = 1, channels = 0, features = 0;  // channels and features of a group
  along at[3]{};

  conv_plan(const conv_request& ask, const shape& x, const shape& w) : dims(ask.dims) {
    const char* op = ask.name;
    if ((x.rank() != dims + 1 && x.rank() != dims + 2) || w.rank() != dims + 2) [[unlikely]]
      raise(errc::shape_mismatch, op,
            "an input of rank " + text(dims + 1) + " or " + text(dims + 2) +
                " and a weight of rank " + text(dims + 2),
            to_string(x) + " and " + to_string(w));
    const int first = x.rank() - dims;
    const i64 all = x[first - 1];
    batch = first == 2 ? x[0] : 1;
    groups = ask.groups;
    if (groups < 1 || w[0] % groups != 0) [[unlikely]]
      raise(errc::invalid_argument, op,
            "a number of groups that divides " + text(w[0]) + " filters", text(groups));
    if (!multiply(w[1], groups, channels) || channels != all) [[unlikely]]
      raise(errc::shape_mismatch, op,
            "a weight for the input's channels in " + text(groups) + " groups",
            to_string(x) + " and " + to_string(w));
    channels = w[1];
    features = w[0] / groups;
    for (int d = 0; d < dims; ++d) {
      along& a = at[d];
      a.kernel = w[2 + d];
      a.stride = number(ask, ask.stride, d, "stride", 1);
      a.dilation = number(ask, ask.dilation, d, "dilation", 1);
      i64 reach = 0, padding = 0;
      if (a.kernel < 1 || !multiply(a.dilation, a.kernel - 1, reach) || !add(reach, 1, reach))
          [[unlikely]]
        raise_sizes(op, "a kernel of at least one element", w);
      if (!ask.mode) {
        a.before = a.after = number(ask, ask.padding, d, "padding", 0);
      } else if (*ask.mode == conv_padding::same) {
        if (a.stride != 1) [[unlikely]]
          raise(errc::invalid_argument, op, "a stride of 1 with padding 'same'", text(a.stride));
        a.before = (reach - 1) / 2;
        a.after = reach - 1 - a.before;
      }
      if (!add(a.before, a.after, padding) || !add(x[first + d], padding, a.padded)) [[unlikely]]
        raise_sizes(op, "fewer than 2^63 padded elements", x);
      if (a.padded < reach) [[unlikely]]
        raise(errc::shape_mismatch, op,
              "a padded input of at least the kernel's reach " + text(reach), text(a.padded));
      a.result = (a.padded - reach) / a.stride + 1;
    }
  }

  /// The sizes of the output, without a batch if the input has none.
  [[nodiscard]] shape out(bool has_batch) const {
    shape r;
    if (has_batch) r.push_back(batch);
    r.push_back(groups * features);
    for (int d = 0; d < dims; ++d) r.push_back(at[d].result);
    return r;
  }
  [[nodiscard]] i64 window() const {
    i64 n = 1;
    for (int d = 0; d < dims; ++d) n *= at[d].kernel;
    return n;
  }
  [[nodiscard]] i64 places() const {
    i64 n = 1;
    for (int d = 0; d < dims; ++d) n *= at[d].result;
    return n;
  }
  [[nodiscard]] bool is_padded() const {
    for (int d = 0; d < dims; ++d)
      if (at[d].before != 0 || at[d].after != 0) return true;
    return false;
  }

  /// The windows of a padded input: its leading dimensions, then [kernel...], then [result...].
  template <class X>
  [[nodiscard]] auto windows(const X& x) const {
    const int first = x.rank() - dims;
    shape sizes, strides;
    for (int d = 0; d < first; ++d) {
      sizes.push_back(x.size(d));
      strides.push_back(x.stride(d));
    }
    for (int d = 0; d < dims; ++d) {
      sizes.push_back(at[d].kernel);
      strides.push_back(at[d].kernel == 1 ? 0 : x.stride(first + d) * at[d].dilation);
    }
    for (int d = 0; d < dims; ++d) {
      sizes.push_back(at[d].result);
      strides.push_back(at[d].result == 1 ? 0 : x.stride(first + d) * at[d].stride);
    }
    return x.as_strided(sizes, strides);
  }

 private:
  static i64 number(const conv_request& ask, int_list list, int d, const char* what, i64 least) {
    if (list.size() != 1 && list.size() != ask.dims) [[unlikely]]
      raise(errc::invalid_argument, ask.name, text(what) + " of one number or " + text(ask.dims),
            text(list.size()));
    const i64 n = list[list.size() == 1 ? 0 : d];
    if (n < least) [[unlikely]]
      raise(errc::invalid_argument, ask.name, text(what) + " of at least " + text(least), text(n));
    return n;
  }
};

/// out [B, G, F, places...] = the sums over channels and windows, one formula for each summand.
template <class C, class S, class T, class D, class Bias>
void convolve_by_summands(const char* op, const S& stream, const conv_plan& plan,
                          const tensor_view<const T, D>& x, const tensor_view<const T, D>& weight,
                          const Bias& bias, const tensor_view<T, D>& out) {
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

/// The same as products of matrices: weight [G, F, channels * window] and the copied windows.
template <class S, class T, class D, class Bias>
void convolve_by_products(const char* op, const S& stream, const conv_plan& plan,
                          const tensor_view<const T, D>& x, const tensor_view<const T, D>& weight,
                          const Bias& bias, const tensor_view<T, D>& out) {
  const i64 depth = plan.channels * plan.window(), places = plan.places();
  const auto filters = weight.view({plan.groups, plan.features, depth});
  const auto run = [&](const tensor_view<const T, D>& columns, const tensor_view<T, D>& to) {
    const i64 n = to.size(0);
    const auto a = filters.unsqueeze(0).expand({n, plan.groups, plan.features, depth});
    const auto b = columns.transpose(-2, -1);
    if (bias)
      gemm(op, stream, a, b, to,
           bias->unflatten(0, {plan.groups, plan.features})
               .unsqueeze(0)
               .unsqueeze(-1)
               .expand(to.shape_of()),
           1, 1);
    else
      gemm(op, stream, a, b, to, no_bias_view{}, 1, 0);
  };
  if (plan.dims == 1 && plan.at[0].kernel == 1)  // each window is an element
    return run(plan.windows(x).squeeze(2).unflatten(1, {plan.groups, plan.channels}), out);
  const i64 most =
      images_at_once(plan.batch, plan.groups * depth * places * static_cast<i64>(sizeof(T)));
  auto copied = empty<T>(stream, {most, plan.groups, depth, places}, op);
  for (i64 begin = 0; begin < plan.batch; begin += most) {
    const i64 n = plan.batch - begin < most ? plan.batch - begin : most;
    const auto columns = copied.view().narrow(0, 0, n);
    const auto windows = plan.windows(x.narrow(0, begin, n));
    copy_into(op, stream, columns.view(windows.shape_of()), windows);
    run(tensor_view<const T, D>(columns), out.narrow(0, begin, n));
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

  tensor_view<const T, D> x(has_batch ? input.view() : input.unsqueeze(0));
  tensor<T, D> padded, packed;
  if (plan.is_padded()) {
    shape sizes = x.shape_of();
    i64 around[6];
    for (int d = 0; d < plan.dims; ++d) {
      const auto& a = plan.at[plan.dims - 1 - d];
      sizes[sizes.rank() - 1 - d] = a.padded;
      around[2 * d] = a.before, around[2 * d + 1] = a.after;
    }
    padded = empty<T>(stream, sizes, op);
    pad_move<>{op, int_list(around, 2 * plan.dims)}.run(stream, x, padded.view());
    x = std::as_const(padded).view();
  }
  tensor_view<T, D> to(has_batch ? out.view() : out.unsqueeze(0));
  to = to.unflatten(1, {plan.groups, plan.features});
  // With few features a group a product has too few rows.
  constexpr i64 few_features = 4, few_summands = 32;
  const i64 summands = plan.channels * plan.window();
  if (plan.features < few_features && summands > 0 && summands <= few_summands)
    return convolve_by_summands<C>(op, stream, plan, x, tensor_view<const T, D>(weight), added, to);

  tensor_view<const T, D> filters(weight);
  if (!filters.is_contiguous()) {
    packed = empty<T>(stream, filters.shape_of(), op);
    copy_into(op, stream, packed.view(), filters);
    filters = std::as_const(packed).view();
  }
  const shape flat{plan.batch, plan.groups, plan.features, plan.places()};
  if (plan.dims == 1) return convolve_by_products(op, stream, plan, x, filters, added, to);
  if (to.is_contiguous())
    return convolve_by_products(op, stream, plan, x, filters, added, to.view(flat));
  auto dense = empty<T>(stream, to.shape_of(), op);
  convolve_by_products(op, stream, plan, x, filters, added, dense.view().view(flat));
  copy_into(op, stream, to, std::as_const(dense).view());
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
  const bool fits = weight.rank() == 4 && weight.size(1) == 1 && (x.rank() == 3 || x.rank() == 4) &&
                    kernel_size.size() == 2 && kernel_size[0] == weight.size(2) &&
                    kernel_size[1] == weight.size(3);
  if (!fits) [[unlikely]]
    raise(errc::shape_mismatch, op, "an image and a weight [F, 1, kernel_size...]",
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

}  // namespace flaggems
