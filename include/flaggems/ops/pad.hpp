// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Padding: a copy of the input into the middle of the output, and what lies around it, by a fill or
// by copies from the output itself, dimension by dimension.
#pragma once

#include <flaggems/ops/arrange.hpp>

#include <optional>
#include <string_view>
#include <type_traits>

namespace flaggems {

/// What the elements around the input are: a number, the input mirrored at its edge, its edge, or
/// its other end.
enum class pad_mode { constant, reflect, replicate, circular };

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
    shape r = x;
    for (int d = 0; d < x.rank(); ++d) {
      const i64 l = before(x.rank(), d), h = after(x.rank(), d);
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
      if (mode == pad_mode::replicate && longest > 0 && kept == 0) [[unlikely]]
        raise_shapes(name, "elements to repeat", x, pad);
    }
    return r;
  }

  template <class S, class X, class Out>
  void run(const S& stream, const X& x, const Out& out) const {
    const int rank = x.rank();
    X from = x;
    Out middle = out;
    for (int d = 0; d < rank; ++d) {
      const i64 l = before(rank, d), h = after(rank, d);
      from = from.narrow(d, cut(l), x.size(d) - cut(l) - cut(h));
      middle = middle.narrow(d, l > 0 ? l : 0, from.size(d));
    }
    if (mode == pad_mode::constant && from.numel() != out.numel()) fill(name, stream, out, value);
    if (!from.empty()) copy_into(name, stream, middle, from);
    if (mode == pad_mode::constant) return;
    // Of dimension d: those before it are still the input's, those behind it have their padding.
    for (int d = rank - 1; d >= 0; --d) {
      const i64 l = before(rank, d), h = after(rank, d), n = from.size(d);
      Out band = out;
      for (int e = 0; e < d; ++e)
        band = band.narrow(e, before(rank, e) > 0 ? before(rank, e) : 0, from.size(e));
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
  template <class S, class T, class D>
  void put(const S& stream, const tensor_view<T, D>& to, const tensor_view<T, D>& from) const {
    if (!to.empty()) copy_into(name, stream, to, tensor_view<const T, D>(from));
  }
};

inline pad_move<> edge_pad(const char* name, int_list pad, pad_mode mode, int dims) {
  return {name, pad, mode, 0, dims};
}
template <class V>
pad_move<V> constant_pad(int_list pad, V value) {
  return {"constant_pad_nd", pad, pad_mode::constant, value};
}

}  // namespace detail

// One line an operator: name, the ATen parameters, and the move made of them.
#define FLAGGEMS_COMMA ,
#define FLAGGEMS_MOVE(name, move, ...)                                \
  template <stream_like S, tensor_like X, tensor_like Out>            \
  void name(const S& stream, const X& x, Out&& out, __VA_ARGS__) {    \
    same_device<S, X, Out>();                                         \
    detail::move_into(detail::move, stream, x, as_view(out));         \
  }                                                                   \
  template <stream_like S, tensor_like X>                             \
  [[nodiscard]] auto name(const S& stream, const X& x, __VA_ARGS__) { \
    same_device<S, X>();                                              \
    return detail::move_new(detail::move, stream, x);                 \
  }

/// out = x between `value`: pad[0] of them before and pad[1] after each row of the last dimension,
/// pad[2] and pad[3] of the one before it, and so on; negative numbers take elements away. out has
/// x's dtype and shares no memory with it. Raises shape_mismatch, or invalid_argument for a value
/// that the dtype does not hold.
/// aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0)
FLAGGEMS_MOVE(constant_pad_nd, constant_pad(pad FLAGGEMS_COMMA value), int_list pad,
              scalar_operand auto value)
template <stream_like S, tensor_like X>
[[nodiscard]] auto constant_pad_nd(const S& stream, const X& x, int_list pad) {
  return constant_pad_nd(stream, x, pad, 0);
}
/// constant_pad_nd, or by a mode the input around itself: mirrored at its edge (reflect), its edge
/// (replicate), its other end (circular). Raises shape_mismatch where it is too small for that.
/// aten::pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None)
FLAGGEMS_MOVE(pad,
              pad_move<>{
                  "pad" FLAGGEMS_COMMA pad FLAGGEMS_COMMA mode FLAGGEMS_COMMA value.value_or(0)},
              int_list pad, pad_mode mode = pad_mode::constant, std::optional<f64> value = {})
/// pad by reflection along the last dimension. aten::reflection_pad1d(Tensor self, SymInt[2]
/// padding)
FLAGGEMS_MOVE(reflection_pad1d,
              edge_pad("reflection_pad1d" FLAGGEMS_COMMA padding FLAGGEMS_COMMA
                           pad_mode::reflect FLAGGEMS_COMMA 1),
              int_list padding)
/// pad by reflection along two dimensions. aten::reflection_pad2d(Tensor self, SymInt[4] padding)
FLAGGEMS_MOVE(reflection_pad2d,
              edge_pad("reflection_pad2d" FLAGGEMS_COMMA padding FLAGGEMS_COMMA
                           pad_mode::reflect FLAGGEMS_COMMA 2),
              int_list padding)
/// pad by reflection along three dimensions. aten::reflection_pad3d(Tensor self, SymInt[6] padding)
FLAGGEMS_MOVE(reflection_pad3d,
              edge_pad("reflection_pad3d" FLAGGEMS_COMMA padding FLAGGEMS_COMMA
                           pad_mode::reflect FLAGGEMS_COMMA 3),
              int_list padding)
/// pad by the edge along the last dimension. aten::replication_pad1d(Tensor self, SymInt[2]
/// padding)
FLAGGEMS_MOVE(replication_pad1d,
              edge_pad("replication_pad1d" FLAGGEMS_COMMA padding FLAGGEMS_COMMA
                           pad_mode::replicate FLAGGEMS_COMMA 1),
              int_list padding)
/// pad by the edge along two dimensions. aten::replication_pad2d(Tensor self, SymInt[4] padding)
FLAGGEMS_MOVE(replication_pad2d,
              edge_pad("replication_pad2d" FLAGGEMS_COMMA padding FLAGGEMS_COMMA
                           pad_mode::replicate FLAGGEMS_COMMA 2),
              int_list padding)
/// pad by the edge along three dimensions. aten::replication_pad3d(Tensor self, SymInt[6] padding)
FLAGGEMS_MOVE(replication_pad3d,
              edge_pad("replication_pad3d" FLAGGEMS_COMMA padding FLAGGEMS_COMMA
                           pad_mode::replicate FLAGGEMS_COMMA 3),
              int_list padding)
#undef FLAGGEMS_MOVE
#undef FLAGGEMS_COMMA

}  // namespace flaggems
