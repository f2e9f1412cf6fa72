// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Padding: a copy of the input into the middle of the output, and what lies around it, by a fill or
// by copies from the output itself, dimension by dimension.
#pragma once

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/moves.hpp>

#include <optional>
#include <string_view>
#include <type_traits>

namespace flaggems {

/// The mode of ATen's name. Raises invalid_argument for others.
inline pad_mode spelled(std::string_view text, std::type_identity<pad_mode>) {
  if (text == "constant") return pad_mode::constant;
  if (text == "reflect") return pad_mode::reflect;
  if (text == "replicate") return pad_mode::replicate;
  if (text == "circular") return pad_mode::circular;
  raise(errc::invalid_argument, "pad", "a mode of constant, reflect, replicate or circular", text);
}

namespace detail {

template <class V = f64>
struct pad_move {
  const char* name;
  int_list pad;  // before and after the last dimension, the one before it, ...; negative: less
  pad_mode mode = pad_mode::constant;
  V value = 0;
  int dims = 0;  // how many are padded; 0: any

  [[nodiscard]] i64 before(int rank, int d) const { return at(2 * (rank - 1 - d)); }
  [[nodiscard]] i64 after(int rank, int d) const { return at(2 * (rank - 1 - d) + 1); }

  [[nodiscard]] shape sizes(const shape& x) const {
    const int n = pad.size();
    if (n % 2 != 0 || n > 2 * x.rank() || (dims != 0 && n != 2 * dims)) [[unlikely]]
      raise_shapes(name,
                   dims != 0 ? "two numbers for each of the operator's dimensions"
                             : "two numbers for each of some last dimensions",
                   x, pad);
    if (mode != pad_mode::constant && value != V(0)) [[unlikely]]
      raise(errc::invalid_argument, name, "a value for the mode constant only", text(value));
    shape r = x;
    for (int d = 0; d < x.rank(); ++d) {
      const i64 l = before(x.rank(), d), h = after(x.rank(), d);
      if (l < -x[d] || h < -x[d]) [[unlikely]]
        raise_shapes(name, "to take away no more than there is", x, pad);
      const i64 kept = x[d] - cut(l) - cut(h);
      const bool wraps = mode == pad_mode::circular, mirrors = mode == pad_mode::reflect;
      const i64 most = mirrors ? kept - 1 : kept;
      const i64 longest = l > h ? l : h;
      if (!add(x[d], l, r[d]) || !add(r[d], h, r[d])) [[unlikely]]
        raise_sizes(name, "fewer than 2^63 elements", pad);
      if (kept < 0 || r[d] < 0) [[unlikely]]
        raise_shapes(name, "to take away no more than there is", x, pad);
      if ((mirrors || wraps) && longest > 0 && longest > most) [[unlikely]]
        raise_shapes(name,
                     mirrors ? "to add fewer elements than the dimension has"
                             : "to add no more elements than the dimension has",
                     x, pad);
      if (mode == pad_mode::replicate && longest > 0 && x[d] == 0) [[unlikely]]
        raise_shapes(name, "elements to repeat", x, pad);
    }
    return r;
  }

  template <class X>
  [[nodiscard]] shape strides(const X& x, const shape& sizes) const {
    const bool keeps = mode == pad_mode::constant;
    return strides_in(
        keeps ? suggested_format(x.sizes(), x.strides()) : memory_format::contiguous_format, sizes,
        {}, name);
  }
  template <class S, class X, class Out>
  void run(const S& stream, const X& x, const Out& out) const {
    const int rank = x.rank();
    i64 low[max_rank], high[max_rank];
    for (int d = 0; d < rank; ++d) {
      i64 &l = low[d] = before(rank, d), &h = high[d] = after(rank, d);
      // Of a dimension that is taken away whole, the element next to what is added is repeated.
      const bool repeats = mode == pad_mode::replicate && (l > 0 || h > 0);
      if (!repeats || cut(l) + cut(h) < x.size(d)) continue;
      i64 &less = l < 0 ? l : h, &more = l < 0 ? h : l;
      ++less, --more;
    }
    X from = x;
    Out middle = out;
    for (int d = 0; d < rank; ++d) {
      from = from.narrow(d, cut(low[d]), x.size(d) - cut(low[d]) - cut(high[d]));
      middle = middle.narrow(d, low[d] > 0 ? low[d] : 0, from.size(d));
    }
    if (by_one_launch(stream, from, out, low)) return;
    if (mode == pad_mode::constant && from.numel() != out.numel()) fill(name, stream, out, value);
    if (!from.empty()) copy_into(name, stream, middle, from);
    if (mode == pad_mode::constant) return;
    // Of dimension d: those before it are still the input's, those behind it have their padding.
    for (int d = rank - 1; d >= 0; --d) {
      const i64 l = low[d], h = high[d], n = from.size(d);
      Out band = out;
      for (int e = 0; e < d; ++e) band = band.narrow(e, low[e] > 0 ? low[e] : 0, from.size(e));
      const i64 first = l > 0 ? l : 0;
      if (l > 0) put(stream, band.narrow(d, 0, l), around(band, d, first, n, l, true));
      if (h > 0) put(stream, band.narrow(d, first + n, h), around(band, d, first, n, h, false));
    }
  }

 private:
  static i64 cut(i64 k) { return k < 0 ? -k : 0; }
  [[nodiscard]] i64 at(int k) const { return k < pad.size() ? pad[k] : 0; }
  /// What is copied to the `count` elements before (or after) the n from `first` on.
  template <class Out>
  Out around(const Out& band, int d, i64 first, i64 n, i64 count, bool in_front) const {
    if (mode == pad_mode::reflect)
      return band.narrow(d, in_front ? first + 1 : first + n - 1 - count, count).flip({d});
    if (mode == pad_mode::circular)
      return band.narrow(d, in_front ? first + n - count : first, count);
    shape wide(band.sizes());
    wide[d] = count;
    return band.narrow(d, in_front ? first : first + n - 1, 1).expand(wide);
  }
  /// `from`, the input without what negative padding takes, begins at low[d] of the output, or 0.
  template <class S, class T, class From, class D>
  bool by_one_launch(const S& stream, const tensor_view<From, D>& from,
                     const tensor_view<T, D>& out, const i64 (&low)[max_rank]) const {
    if constexpr (sizeof(T) <= 8) {
      if (from.empty() || from.numel() == out.numel()) return false;
      const auto number_given = scalar_of(value);
      check_range<T>(name, number_given);
      const T outside = kernels::number_cast<T>(number_given);
      i64 begin[max_rank];
      for (int d = 0; d < out.rank(); ++d) begin[d] = low[d] > 0 ? low[d] : 0;
      return copy_padded<sizeof(T)>(name, stream, layout_of(out), layout_of(from), out.numel(),
                                    begin, mode,
                                    kernels::bit_cast<kernels::uint_of_size<sizeof(T)>>(outside));
    } else {
      return false;
    }
  }
  template <class S, class T, class D>
  void put(const S& stream, const tensor_view<T, D>& to, const tensor_view<T, D>& from) const {
    if (!to.empty()) copy_into(name, stream, to, tensor_view<const T, D>(from));
  }
};

template <class V>
pad_move<V> constant_pad(int_list pad, V value) {
  return {"constant_pad_nd", pad, pad_mode::constant, value};
}

}  // namespace detail

// One line an operator: name, the parameters of ATen, and the move made of them.
/// out = x between `value`: pad[0] of them before and pad[1] after each row of the last dimension,
/// pad[2] and pad[3] of the one before it, and so on; negative numbers take elements away. out has
/// x's dtype and shares no memory with it. Raises shape_mismatch, or invalid_argument for a value
/// that the dtype does not hold.
/// aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0)
FLAGGEMS_MOVE(constant_pad_nd, (int_list pad, scalar_operand auto value), constant_pad(pad, value))
template <stream_like S, tensor_like X>
[[nodiscard]] auto constant_pad_nd(const S& stream, const X& x, int_list pad) {
  return constant_pad_nd(stream, x, pad, 0);
}
/// constant_pad_nd, or by a mode the input around itself: mirrored at its edge (reflect), its edge
/// (replicate), its other end (circular). Raises shape_mismatch where it is too small for that, and
/// invalid_argument for a value other than 0 there.
/// aten::pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None)
FLAGGEMS_MOVE(pad,
              (int_list pad, pad_mode mode = pad_mode::constant, std::optional<f64> value = {}),
              pad_move<>{"pad", pad, mode, value.value_or(0)})
#define FLAGGEMS_EDGE_PAD(name, how, count) \
  FLAGGEMS_MOVE(name, (int_list padding), pad_move<>{#name, padding, pad_mode::how, 0, count})
/// pad by reflection along the last dimension. aten::reflection_pad1d(Tensor self, SymInt[2]
/// padding)
FLAGGEMS_EDGE_PAD(reflection_pad1d, reflect, 1)
/// pad by reflection along two dimensions. aten::reflection_pad2d(Tensor self, SymInt[4] padding)
FLAGGEMS_EDGE_PAD(reflection_pad2d, reflect, 2)
/// pad by reflection along three dimensions. aten::reflection_pad3d(Tensor self, SymInt[6] padding)
FLAGGEMS_EDGE_PAD(reflection_pad3d, reflect, 3)
/// pad by the edge along the last dimension. aten::replication_pad1d(Tensor self, SymInt[2]
/// padding)
FLAGGEMS_EDGE_PAD(replication_pad1d, replicate, 1)
/// pad by the edge along two dimensions. aten::replication_pad2d(Tensor self, SymInt[4] padding)
FLAGGEMS_EDGE_PAD(replication_pad2d, replicate, 2)
/// pad by the edge along three dimensions. aten::replication_pad3d(Tensor self, SymInt[6] padding)
FLAGGEMS_EDGE_PAD(replication_pad3d, replicate, 3)
#undef FLAGGEMS_EDGE_PAD

}  // namespace flaggems
