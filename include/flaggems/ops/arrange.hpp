// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators whose elements are those of their inputs in other places: each is a few copies between
// views, so that all share the kernels of copies.
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/index_select.hpp>
#include <flaggems/ops/moves.hpp>

#include <limits>
#include <optional>
#include <vector>

namespace flaggems {
namespace detail {

struct flip_move {
  static constexpr const char* name = "flip";
  int_list dims;
  [[nodiscard]] shape sizes(const shape& x) const {
    if (dims.size() != 0) static_cast<void>(normalize_dims(dims, x.rank(), name));
    return x;
  }
  template <class S, class X, class Out>
  void run(const S& stream, const X& x, const Out& out) const {
    copy_into(name, stream, out, x.flip(dims));
  }
  template <class X>
  [[nodiscard]] shape strides(const X& x, const shape& sizes) const {
    return dense_strides(sizes, x.strides());
  }
};

struct roll_move {
  int_list shifts, dims;
  const char* name = "roll";
  [[nodiscard]] shape sizes(const shape& x) const {
    const bool flat = dims.size() == 0 && shifts.size() == 1;
    if (!flat && (dims.size() != shifts.size() || shifts.size() == 0)) [[unlikely]]
      raise_shapes(name, "as many shifts as dimensions, or one shift", shifts, dims);
    for (const i64 dim : dims) static_cast<void>(existing_dim(dim, x.rank(), name));
    return x;
  }
  template <class S, class X, class Out>
  void run(const S& stream, const X& x, const Out& out) const {
    if (x.rank() == 0) return copy_into(name, stream, out, x);
    if (dims.size() != 0) {
      if (!by_one_launch(stream, x, out)) along(stream, x, out, 0);
      return;
    }
    // All elements as one row; what is no such row becomes one first.
    const i64 n = x.numel(), zero = 0;
    const int_list first(&zero, 1);
    if (x.is_contiguous() && out.is_contiguous())
      return roll_move{shifts, first, name}.run(stream, x.view({n}), out.view({n}));
    using T = typename Out::value_type;
    const auto own = copied<T>(name, stream, x);
    auto moved = empty<T>(stream, x.shape_of(), name);
    roll_move{shifts, first, name}.run(stream, input_of(own).view({n}), moved.view().view({n}));
    copy_into(name, stream, out, input_of(moved));
  }

 private:
  /// As padding by the other end: element 0 comes to `by` of each dimension.
  template <class S, class X, class Out>
  bool by_one_launch(const S& stream, const X& x, const Out& out) const {
    i64 by[max_rank] = {};
    for (int k = 0; k < dims.size(); ++k) {
      const int d = normalize_dim(dims[k], x.rank(), name);
      const i64 n = x.size(d);
      if (n > 0) by[d] = (by[d] + shifts[k] % n + n) % n;
    }
    using T = typename Out::value_type;
    return copy_padded<sizeof(T)>(name, stream, layout_of(out), layout_of(x), out.numel(), by,
                                  pad_mode::circular);
  }
  /// Dimension dims[k] in two parts, each rolled along the others. The shifts of a dimension that
  /// is named twice add up.
  template <class S, class X, class Out>
  void along(const S& stream, const X& x, const Out& out, int k) const {
    if (out.empty()) return;
    if (k == dims.size()) return copy_into(name, stream, out, x);
    const int d = normalize_dim(dims[k], x.rank(), name);
    const i64 n = x.size(d);
    i64 by = 0;
    for (int j = 0; j < dims.size(); ++j) {
      if (normalize_dim(dims[j], x.rank(), name) != d) continue;
      if (j < k) return along(stream, x, out, k + 1);
      by = (by + shifts[j] % n + n) % n;
    }
    along(stream, x.narrow(d, 0, n - by), out.narrow(d, by, n - by), k + 1);
    along(stream, x.narrow(d, n - by, by), out.narrow(d, 0, by), k + 1);
  }
};

/// A roll by half of each dimension, forth or back.
template <bool Back>
struct shift_move {
  static constexpr const char* name = Back ? "fft_ifftshift" : "fft_fftshift";
  int_list dims;
  [[nodiscard]] shape sizes(const shape& x) const {
    if (dims.size() > max_rank) [[unlikely]]
      raise(errc::invalid_argument, name, "at most 8 dimensions", text(dims.size()));
    for (const i64 dim : dims) static_cast<void>(existing_dim(dim, x.rank(), name));
    return x;
  }
  template <class S, class X, class Out>
  void run(const S& stream, const X& x, const Out& out) const {
    i64 at[max_rank], by[max_rank];
    const int n = dims.size() == 0 ? x.rank() : dims.size();
    for (int k = 0; k < n; ++k) {
      at[k] = dims.size() == 0 ? k : dims[k];
      const i64 middle = x.size(at[k]) / 2;
      by[k] = Back ? -middle : middle;
    }
    roll_move{int_list(by, n), int_list(at, n), name}.run(stream, x, out);
  }
};

struct rot90_move {
  static constexpr const char* name = "rot90";
  i64 k;
  int_list dims;
  [[nodiscard]] shape sizes(const shape& x) const {
    if (dims.size() != 2) [[unlikely]]
      raise_sizes(name, "two dimensions", dims);
    if (x.rank() < 2) [[unlikely]]
      raise(errc::invalid_argument, name, "a tensor of at least two dimensions", text(x.rank()));
    const int a = existing_dim(dims[0], x.rank(), name), b = existing_dim(dims[1], x.rank(), name);
    if (a == b) [[unlikely]]
      raise_sizes(name, "two different dimensions", dims);
    shape r = x;
    if (k % 2 != 0) r[a] = x[b], r[b] = x[a];
    return r;
  }
  template <class S, class X, class Out>
  void run(const S& stream, const X& x, const Out& out) const {
    const i64 a = dims[0], b = dims[1], turns = (k % 4 + 4) % 4;
    copy_into(name, stream, out,
              turns == 0   ? x
              : turns == 1 ? x.flip({b}).transpose(a, b)
              : turns == 2 ? x.flip(dims)
                           : x.flip({a}).transpose(a, b));
  }
  template <class X>
  [[nodiscard]] shape strides(const X& x, const shape& sizes) const {
    if (k % 4 == 0) return contiguous_strides(sizes);
    const auto turned = k % 2 == 0 ? x : x.transpose(dims[0], dims[1]);
    return dense_strides(sizes, turned.strides());
  }
};

/// Repeats along dimensions; x has as many as there are repeats once those in front are added.
struct repeat_move {
  const char* name;
  int_list given;
  bool is_tile = false;
  /// One for each dimension: tile has those of the last ones.
  [[nodiscard]] shape repeats(int rank) const {
    shape r(given);
    while (is_tile && r.rank() < rank) r.insert(0, 1);
    return r;
  }
  [[nodiscard]] shape sizes(const shape& x) const {
    shape r = repeats(x.rank());
    const int more = r.rank() - x.rank();
    if (more < 0) [[unlikely]]
      raise_shapes(name, "at least as many repeats as dimensions", x, given);
    for (int d = 0; d < r.rank(); ++d) {
      if (r[d] < 0) [[unlikely]]
        raise_sizes(name, "repeats that are not negative", given);
      if (!multiply(r[d], d < more ? 1 : x[d - more], r[d])) [[unlikely]]
        raise_sizes(name, "fewer than 2^63 elements", given);
    }
    return r;
  }
  template <class S, class X, class Out>
  void run(const S& stream, const X& x, const Out& out) const {
    const shape times = repeats(x.rank());
    X from = x;
    while (from.rank() < times.rank()) from = from.unsqueeze(0);
    put(stream, from, out, times, 0);
  }

 private:
  /// As one copy, where each repeated dimension becomes two; if those are too many, the dimensions
  /// from `first` on are repeated one by one.
  template <class S, class X, class Out>
  void put(const S& stream, const X& x, const Out& out, const shape& times, int first) const {
    int rank = out.rank();
    for (int d = first; d < out.rank(); ++d) rank += times[d] != 1 && x.size(d) != 1 ? 1 : 0;
    if (rank > max_rank) {
      while (times[first] == 1 || x.size(first) == 1) ++first;
      const i64 n = x.size(first);
      shape rest = times;
      rest[first] = 1;
      for (i64 k = 0; k < times[first]; ++k)
        put(stream, x, out.narrow(first, k * n, n), rest, first + 1);
      return;
    }
    X from = x;
    Out to = out;
    for (int d = out.rank() - 1; d >= 0; --d) {
      if (times[d] == 1 || x.size(d) == 1) continue;
      to = to.unflatten(d, {times[d], x.size(d)});
      from = from.unsqueeze(d);
    }
    copy_into(name, stream, to, from.expand(shape(to.sizes())));
  }
};

/// Each element `times` times along a dimension.
struct interleave_move {
  static constexpr const char* name = "repeat_interleave";
  i64 times;
  std::optional<i64> dim, output_size;
  [[nodiscard]] shape sizes(const shape& x) const {
    if (times < 0) [[unlikely]]
      raise(errc::invalid_argument, name, "repeats that are not negative", text(times));
    shape r = dim ? x : shape{x.numel()};
    if (r.rank() == 0) r.push_back(1);
    i64& n = r[dim ? existing_dim(*dim, x.rank(), name) : 0];
    if (!multiply(n, times, n)) [[unlikely]]
      raise(errc::invalid_argument, name, "fewer than 2^63 elements", text(times));
    if (output_size && *output_size != n) [[unlikely]]
      raise(errc::invalid_argument, name, "an output_size of " + text(n), text(*output_size));
    return r;
  }
  template <class S, class X, class Out>
  void run(const S& stream, const X& x, const Out& out) const {
    if (x.rank() == 0) return copy_into(name, stream, out, x.view({1}).expand({times}));
    if (dim || x.rank() == 1)
      return along(stream, x, out, dim ? normalize_dim(*dim, x.rank(), name) : 0);
    const auto row = copied<typename Out::value_type>(name, stream, x);
    along(stream, input_of(row).view({x.numel()}), out, 0);
  }

 private:
  template <class S, class X, class Out>
  void along(const S& stream, const X& x, const Out& out, int d) const {
    if (x.rank() < max_rank) {
      const Out to = out.unflatten(d, {x.size(d), times});
      return copy_into(name, stream, to, x.unsqueeze(d + 1).expand(shape(to.sizes())));
    }
    for (i64 k = 0; k < times; ++k) copy_into(name, stream, out.slice(d, k, out.size(d), times), x);
  }
};

/// A view of x under a rule for the dimensions from `first` on; those in front one by one where
/// the rule's are too many.
template <class S, class X, class Out, class F>
void copy_rearranged(const char* op, const S& stream, const X& x, const Out& out, int added,
                     const F& f) {
  if (x.rank() + added <= max_rank) return f(x, out);
  for (i64 i = 0; i < x.size(0); ++i)
    copy_rearranged(op, stream, x.select(0, i), out.select(0, i), added, f);
}

struct pixel_shuffle_move {
  static constexpr const char* name = "pixel_shuffle";
  i64 factor;
  [[nodiscard]] shape sizes(const shape& x) const {
    if (x.rank() < 3) [[unlikely]]
      raise(errc::invalid_argument, name, "at least three dimensions", text(x.rank()));
    shape r = x;
    i64 &c = r[x.rank() - 3], &h = r[x.rank() - 2], &w = r[x.rank() - 1];
    i64 square = 0;
    if (factor <= 0 || !multiply(factor, factor, square) || c % square != 0) [[unlikely]]
      raise(errc::invalid_argument, name,
            "a positive factor whose square divides " + text(c) + " channels", text(factor));
    c /= square, h *= factor, w *= factor;
    return r;
  }
  template <class S, class X, class Out>
  void run(const S& stream, const X& x, const Out& out) const {
    const i64 r = factor;
    copy_rearranged(name, stream, x, out, 2, [&](const auto& from, const auto& to) {
      const int c = from.rank() - 3;
      copy_into(name, stream, to.unflatten(c + 1, {-1, r}).unflatten(c + 3, {-1, r}),
                from.unflatten(c, {-1, r, r}).movedim(c + 1, c + 3).movedim(c + 1, c + 4));
    });
  }
};

struct pixel_unshuffle_move {
  static constexpr const char* name = "pixel_unshuffle";
  i64 factor;
  [[nodiscard]] shape sizes(const shape& x) const {
    if (x.rank() < 3) [[unlikely]]
      raise(errc::invalid_argument, name, "at least three dimensions", text(x.rank()));
    shape r = x;
    i64 &c = r[x.rank() - 3], &h = r[x.rank() - 2], &w = r[x.rank() - 1];
    if (factor <= 0 || h % factor != 0 || w % factor != 0) [[unlikely]]
      raise(errc::invalid_argument, name, "a positive factor that divides height and width",
            text(factor));
    c *= factor * factor, h /= factor, w /= factor;
    return r;
  }
  template <class S, class X, class Out>
  void run(const S& stream, const X& x, const Out& out) const {
    const i64 r = factor;
    copy_rearranged(name, stream, x, out, 2, [&](const auto& from, const auto& to) {
      const int c = from.rank() - 3;
      copy_into(name, stream, to.unflatten(c, {-1, r, r}),
                from.unflatten(c + 1, {-1, r})
                    .unflatten(c + 3, {-1, r})
                    .movedim(c + 2, c + 1)
                    .movedim(c + 4, c + 2));
    });
  }
};

struct channel_shuffle_move {
  static constexpr const char* name = "channel_shuffle";
  i64 groups;
  [[nodiscard]] shape sizes(const shape& x) const {
    if (x.rank() < 3) [[unlikely]]
      raise(errc::invalid_argument, name, "at least three dimensions", text(x.rank()));
    if (groups <= 0 || x[1] % groups != 0) [[unlikely]]
      raise(errc::invalid_argument, name,
            "a positive number of groups that divides " + text(x[1]) + " channels", text(groups));
    return x;
  }
  template <class S, class X, class Out>
  void run(const S& stream, const X& x, const Out& out) const {
    const auto put = [&](const auto& from, const auto& to) {  // the channels are dimension 0
      copy_into(name, stream, to.unflatten(0, {-1, groups}),
                from.unflatten(0, {groups, -1}).transpose(0, 1));
    };
    if (x.rank() < max_rank)
      copy_into(name, stream, out.unflatten(1, {-1, groups}),
                x.unflatten(1, {groups, -1}).transpose(1, 2));
    else
      for (i64 i = 0; i < x.size(0); ++i) put(x.select(0, i), out.select(0, i));
  }
};

struct diag_embed_move {
  const char* name;
  i64 offset, dim1, dim2;
  [[nodiscard]] shape sizes(const shape& x) const {
    if (x.rank() == 0) [[unlikely]]
      raise(errc::invalid_argument, name, "at least one dimension", "0");
    const int rank = x.rank() + 1;
    const int a = existing_dim(dim1, rank, name), b = existing_dim(dim2, rank, name);
    if (a == b) [[unlikely]]
      raise(errc::invalid_argument, name, "two different dimensions",
            text(dim1) + " and " + text(dim2));
    constexpr i64 least = (std::numeric_limits<i64>::min)();
    const i64 away = offset >= 0 ? offset : offset == least ? least : -offset;
    i64 n = 0;
    if (away < 0 || !add(x[x.rank() - 1], away, n)) [[unlikely]]
      raise(errc::invalid_argument, name, "fewer than 2^63 elements", text(offset));
    shape r = x;
    r.erase(x.rank() - 1);
    r.insert(a < b ? a : b, n);
    r.insert(a < b ? b : a, n);
    return r;
  }
  template <class S, class X, class Out>
  void run(const S& stream, const X& x, const Out& out) const {
    fill(name, stream, out, 0);
    copy_into(name, stream, out.diagonal(offset, dim1, dim2), x);
  }
};

struct diag_move {
  static constexpr const char* name = "diag";
  i64 offset;
  [[nodiscard]] shape sizes(const shape& x) const {
    if (x.rank() != 1 && x.rank() != 2) [[unlikely]]
      raise_sizes(name, "one or two dimensions", x);
    if (x.rank() == 1) return embedded().sizes(x);
    return diagonal({x, contiguous_strides(x), 0}, offset, 0, 1).sizes;
  }
  template <class S, class X, class Out>
  void run(const S& stream, const X& x, const Out& out) const {
    if (x.rank() == 1) return embedded().run(stream, x, out);
    copy_into(name, stream, out, x.diagonal(offset));
  }

 private:
  [[nodiscard]] diag_embed_move embedded() const { return {name, offset, 0, 1}; }
};

}  // namespace detail

// One line an operator: name, the parameters of ATen, and the move made of them.
/// out = x with the order of its elements reversed along `dims`. out has x's dtype and shares no
/// memory with it. aten::flip(Tensor self, int[] dims)
FLAGGEMS_MOVE(flip, (int_list dims), flip_move{dims})
/// out = x with its elements moved by `shifts` along `dims`, one or lists of one length; those that
/// leave at the end come in at the front. Without dims all elements are one row.
/// aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[])
FLAGGEMS_MOVE(roll, (const dim_list& shifts, const dim_list& dims = {}), roll_move{shifts, dims})
/// out = x rolled by half of each dimension in `dims`, all if there are none, so that the element
/// of index 0 comes to the middle, size / 2. aten::fft_fftshift(Tensor self, int[1]? dim=None)
FLAGGEMS_MOVE(fft_fftshift, (const dim_list& dims = {}), shift_move<false>{dims})
/// out = x rolled back from that: the element in the middle comes to index 0.
/// aten::fft_ifftshift(Tensor self, int[1]? dim=None)
FLAGGEMS_MOVE(fft_ifftshift, (const dim_list& dims = {}), shift_move<true>{dims})
/// out = x turned k times by 90 degrees, from the first of two dimensions to the second.
/// aten::rot90(Tensor self, int k=1, int[] dims=[0,1])
FLAGGEMS_MOVE(rot90, (i64 k = 1, int_list dims = {0, 1}), rot90_move{k, dims})
/// out = x as often along each dimension as `repeats` says; the first of more repeats than
/// dimensions are of new ones. aten::repeat(Tensor self, SymInt[] repeats)
FLAGGEMS_MOVE(repeat, (int_list repeats), repeat_move{"repeat", repeats})
/// repeat, where fewer repeats than dimensions are those of the last ones.
/// aten::tile(Tensor self, SymInt[] dims)
FLAGGEMS_MOVE(tile, (int_list dims), repeat_move{"tile", dims, true})
/// Each element of x `repeats` times along `dim`, in a new tensor; without dim, of all elements as
/// one row. Raises invalid_argument for another output_size than the result has.
/// aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt?
/// output_size=None)
template <stream_like S, tensor_like X>
[[nodiscard]] auto repeat_interleave(const S& stream, const X& x, i64 repeats,
                                     std::optional<i64> dim = {},
                                     std::optional<i64> output_size = {}) {
  same_device<S, X>();
  return detail::move_new(detail::interleave_move{repeats, dim, output_size}, stream, x);
}
/// out[..., c, h r + i, w r + j] = x[..., (c r + i) r + j, h, w] for r = upscale_factor.
/// aten::pixel_shuffle(Tensor self, int upscale_factor)
FLAGGEMS_MOVE(pixel_shuffle, (i64 upscale_factor), pixel_shuffle_move{upscale_factor})
/// The inverse of pixel_shuffle. aten::pixel_unshuffle(Tensor self, int downscale_factor)
FLAGGEMS_MOVE(pixel_unshuffle, (i64 downscale_factor), pixel_unshuffle_move{downscale_factor})
/// out[n, c g + k, ...] = x[n, k C / g + c, ...]: the C channels of g groups in turn.
/// aten::channel_shuffle(Tensor self, SymInt groups)
FLAGGEMS_MOVE(channel_shuffle, (i64 groups), channel_shuffle_move{groups})
/// out = zero but for the diagonal of dim1 and dim2, `offset` above the main one, which is the last
/// dimension of x. aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1)
FLAGGEMS_MOVE(diag_embed, (i64 offset = 0, i64 dim1 = -2, i64 dim2 = -1),
              diag_embed_move{"diag_embed", offset, dim1, dim2})
/// The diagonal of a matrix, or the matrix with a vector as its diagonal.
/// aten::diag(Tensor self, int diagonal=0)
FLAGGEMS_MOVE(diag, (i64 diagonal = 0), diag_move{diagonal})

namespace detail {
/// Index k as often as `repeats` says, on the stream's device: it waits for the repeats.
template <class S, class R>
auto interleaved_indices(const S& stream, const R& repeats, std::optional<i64> output_size) {
  constexpr const char* op = "repeat_interleave";
  using J = value_t<const R&>;
  const tensor_view<const J, device_of<S>> v(as_view(repeats));
  if (v.rank() > 1) [[unlikely]]
    raise_sizes(op, "repeats of at most one dimension", v.sizes());
  const auto row = v.rank() == 1 ? v : v.unsqueeze(0);
  const auto own = copied<J>(op, stream, row);
  std::vector<J> given(static_cast<std::size_t>(row.numel()));
  copy_bytes(ref(stream), given.data(), own.data(), own.bytes(), copy_kind::device_to_host);
  ref(stream).synchronize();
  i64 total = 0;
  for (const J repeat : given) {
    const i64 n = static_cast<i64>(repeat);
    if (n < 0) [[unlikely]]
      raise(errc::invalid_argument, op, "repeats that are not negative", text(n));
    if (!add(total, n, total)) [[unlikely]]
      raise(errc::invalid_argument, op, "fewer than 2^63 elements", text(n) + " repeats more");
  }
  if (output_size && *output_size != total) [[unlikely]]
    raise(errc::invalid_argument, op, "an output_size of " + text(total), text(*output_size));
  auto out = empty<i64>(stream, {total}, op);  // raises if it is too large
  std::vector<i64> index;
  index.reserve(static_cast<std::size_t>(total));
  for (std::size_t k = 0; k < given.size(); ++k)
    index.insert(index.end(), static_cast<std::size_t>(given[k]), static_cast<i64>(k));
  copy_bytes(ref(stream), out.data(), index.data(), out.bytes(), copy_kind::host_to_device);
  ref(stream).synchronize();
  return out;
}
template <class R>
concept tensor_of_indices = tensor_like<R> &&
    (std::is_same_v<value_t<R>, i64> || std::is_same_v<value_t<R>, i32>);
}  // namespace detail

/// The indices 0, 1, ... each as often as `repeats` (i64 or i32, one dimension) says, in a new
/// tensor. It waits for the repeats. aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt?
/// output_size=None)
template <stream_like S, detail::tensor_of_indices R>
[[nodiscard]] auto repeat_interleave(const S& stream, const R& repeats,
                                     std::optional<i64> output_size = {}) {
  return detail::interleaved_indices(stream, repeats, output_size);
}
/// Element k along `dim` repeats[k] times, or each repeats[0] times. Without dim all elements are
/// one row. aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *,
/// SymInt? output_size=None)
template <stream_like S, tensor_like X, detail::tensor_of_indices R>
[[nodiscard]] auto repeat_interleave(const S& stream, const X& x, const R& repeats,
                                     std::optional<i64> dim = {},
                                     std::optional<i64> output_size = {}) {
  constexpr const char* op = "repeat_interleave";
  using T = value_t<const X&>;
  tensor_view<const T, device_of<S>> from(as_view(x));
  tensor<T, device_of<S>> row;
  if (!dim && from.rank() != 1) {
    row = detail::copied<T>(op, stream, from);
    from = detail::input_of(row).view({from.numel()});
  } else if (from.rank() == 0) {
    from = from.unsqueeze(0);
  }
  const int d = normalize_dim(dim.value_or(0), from.rank(), op);
  const tensor_view<const value_t<const R&>, device_of<S>> given(as_view(repeats));
  const bool one = given.numel() == 1 && given.rank() <= 1;
  if (!one && given.numel() != from.size(d)) [[unlikely]]
    raise(errc::shape_mismatch, op, "one of repeats for each of " + detail::text(from.size(d)),
          detail::text(given.numel()));
  const auto index = detail::interleaved_indices(
      stream, one ? given.view({1}).expand({from.size(d)}) : given, output_size);
  return index_select(stream, from, d, index);
}

namespace detail {
template <class S, class X>
auto resized(const char* op, const S& stream, const X& x, const shape& sizes,
             memory_format format) {
  using T = value_t<const X&>;
  same_device<S, X>();
  if (format == memory_format::preserve_format) [[unlikely]]  // there is nothing to preserve
    raise(errc::invalid_argument, op, "contiguous_format or a channels_last",
          detail::text(to_string(format)));
  const auto from = copied<T>(op, stream, as_view(x));
  tensor<T, device_of<S>> out(ref(stream), sizes, strides_in(format, sizes, {}, op), op);
  const i64 all = out.numel(), n = kernels::min_of(from.numel(), all);
  // In the order of memory, as if x were resized in its place.
  const auto to = out.view().as_strided({all}, {1});
  copy_into(op, stream, to.narrow(0, 0, n), input_of(from).view({from.numel()}).narrow(0, 0, n));
  if (n < all) fill(op, stream, to.narrow(0, n, all - n), 0);
  return out;
}
}  // namespace detail

/// The elements of x in row-major order as a new tensor of other sizes, in the order of its memory:
/// the first ones, or all with zeros behind them. Raises invalid_argument for preserve_format.
/// aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None)
template <stream_like S, tensor_like X>
[[nodiscard]] auto resize(const S& stream, const X& x, const shape& size,
                          memory_format format = memory_format::contiguous_format) {
  return detail::resized("resize", stream, x, size, format);
}
/// resize to the sizes of another tensor. aten::resize_as(Tensor self, Tensor the_template, *,
/// MemoryFormat? memory_format=None)
template <stream_like S, tensor_like X, tensor_like Y>
[[nodiscard]] auto resize_as(const S& stream, const X& x, const Y& the_template,
                             memory_format format = memory_format::contiguous_format) {
  return detail::resized("resize_as", stream, x, shape(as_view(the_template).sizes()), format);
}
/// resize in row-major order. aten::_resize_output(Tensor self, SymInt[] size, Device device)
template <stream_like S, tensor_like X>
[[nodiscard]] auto resize_output(const S& stream, const X& x, const shape& size) {
  return detail::resized("resize_output", stream, x, size, memory_format::contiguous_format);
}

}  // namespace flaggems
