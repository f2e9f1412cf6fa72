// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What is asked of a convolution, and the sizes that follow.
#pragma once

#include <flaggems/ops/plan/checks.hpp>

#include <optional>
#include <string_view>
#include <type_traits>

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
      if (a.kernel < 1) [[unlikely]]
        raise_sizes(op, "a kernel of at least one element", w);
      if (!multiply(a.dilation, a.kernel - 1, reach) || !add(reach, 1, reach)) [[unlikely]]
        raise(errc::invalid_argument, op, "a kernel over fewer than 2^63 elements",
              text(a.kernel) + " elements with dilation " + text(a.dilation));
      if (!ask.mode) {
        a.before = a.after = number(ask, ask.padding, d, "padding", 0);
      } else if (*ask.mode == conv_padding::same) {
        if (a.stride != 1) [[unlikely]]
          raise(errc::invalid_argument, op, "a stride of 1 with padding 'same'", text(a.stride));
        a.before = (reach - 1) / 2;
        a.after = reach - 1 - a.before;
      }
      if (!add(a.before, a.after, padding) || !add(x[first + d], padding, a.padded)) [[unlikely]]
        raise(errc::invalid_argument, op, "fewer than 2^63 padded elements",
              text(x[first + d]) + " elements with padding " + text(a.before) + " and " +
                  text(a.after));
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
  /// Whether there are elements between windows' places.
  [[nodiscard]] bool skips() const {
    for (int d = 0; d < dims; ++d)
      if (at[d].stride != 1) return true;
    return false;
  }
  /// Whether windows lie next to each other, and have so many channels and filters that the product
  /// for each of their elements pays.
  [[nodiscard]] bool is_shifted() const {
    constexpr i64 least = 16;
    return !skips() && window() > 1 && channels >= least && features >= least &&
           features <= batch * places();
  }
  /// The padded elements along d in memory: whole strides along the last of several dimensions, so
  /// that its places lie at one distance in all lines.
  [[nodiscard]] i64 pitch(int d) const {
    const along& a = at[d];
    if (d == 0 || d + 1 < dims) return a.padded;
    return (a.padded + a.stride - 1) / a.stride * a.stride;
  }
  /// The places of a line of the last dimension, with those where no window begins.
  [[nodiscard]] i64 line() const { return pitch(dims - 1) / at[dims - 1].stride; }

  /// Whether padded images, channels last, have the lines of windows as they are: a window's are as
  /// far apart everywhere, and so are windows.
  [[nodiscard]] bool has_window_lines() const {
    const along &outer = at[0], &inner = at[1];
    return dims == 2 && groups == 1 && outer.kernel > 1 && outer.stride == 1 &&
           (inner.dilation == 1 || inner.kernel == 1);
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

}  // namespace detail
}  // namespace flaggems
