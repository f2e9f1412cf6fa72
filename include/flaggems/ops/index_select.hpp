// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/dispatch/index_select.hpp>
#include <flaggems/ops/plan/indices.hpp>
#include <flaggems/ops/plan/rows.hpp>
#include <flaggems/tensor/dtype.hpp>

namespace flaggems {
namespace operators {
struct index_select;
}

namespace detail {

/// The sizes of x with those of `index` in the place of dimension d.
template <class X, class Index>
shape lookup_shape(const char* op, const X& x, int d, const Index& index) {
  if (x.rank() - 1 + index.rank() > max_rank) [[unlikely]]
    raise(errc::invalid_argument, op, "a result of at most 8 dimensions",
          detail::text(x.rank() - 1 + index.rank()));
  shape sizes;
  for (int i = 0; i < d; ++i) sizes.push_back(x.size(i));
  for (const i64 n : shape(index.sizes())) sizes.push_back(n);
  for (int i = d + 1; i < x.rank(); ++i) sizes.push_back(x.size(i));
  return sizes;
}

/// Whether the output has those sizes.
FLAGGEMS_NOINLINE_ONCE bool has_lookup_sizes(const memory_layout& out, const memory_layout& x,
                                             int d, const memory_layout& index) {
  const int rank = index.sizes.size(), more = rank - 1;
  bool same = out.sizes.size() == x.sizes.size() + more;
  for (int i = 0; same && i < x.sizes.size(); ++i)
    same = i == d || out.sizes[i < d ? i : i + more] == x.sizes[i];
  for (int i = 0; same && i < rank; ++i) same = out.sizes[d + i] == index.sizes[i];
  return same;
}

/// Does not compile unless a lookup takes these types; gives whether it does.
template <class X, class Index, class Out>
constexpr bool check_lookup_types() {
  constexpr bool same = std::is_same_v<value_t<X>, value_t<Out>>;
  constexpr bool counts =
      std::is_same_v<value_t<Index>, i32> || std::is_same_v<value_t<Index>, i64>;
  static_assert(same, "flaggems: the output has the dtype of the elements that are looked up");
  static_assert(counts, "flaggems: indices are of dtype i32 or i64");
  return same && counts && check_elements_written<element_t<Out>>();
}

/// out[a..., i..., b...] = x[a..., index[i...], b...], `index` standing for dimension d of x.
template <class Op, class S, class T, class J, class D>
void look_up(const char* op, const S& stream, const tensor_view<const T, D>& x, int d,
             const tensor_view<const J, D>& index, const tensor_view<T, D>& out) {
  if (!has_lookup_sizes(layout_of(out), layout_of(x), d, layout_of(index))) [[unlikely]]
    raise_output_sizes(op, lookup_shape(op, x, d, index), out.sizes());
  check_output(op, out);
  const placed_layout written = layout_of(out);
  check_no_overlap(op, written, layout_of(x));
  check_no_overlap(op, written, layout_of(index));
  check_indices(op, stream, index, x.size(d));
  if (out.empty() || replaced<Op>(op, stream, x, d, index, out)) return;

  launch_lookup(op, stream, x, d, index, out);
}

/// `index` with exactly one dimension.
template <class J, class D>
tensor_view<const J, D> index_vector(const char* op, const tensor_view<const J, D>& index) {
  if (index.rank() > 1) [[unlikely]]
    raise(errc::invalid_argument, op, "an index of at most one dimension",
          "sizes " + to_string(shape(index.sizes())));
  return index.rank() == 1 ? index : index.unsqueeze(0);
}

}  // namespace detail

/// out[..., i, ...] = x[..., index[i], ...] along `dim`.
///
/// Shapes: index [n] or []; out: x's sizes with n in the place of size(dim). Any dtype of at
/// most 8 bytes; out has x's. `out` shares no memory with an input. Raises out_of_range for a
/// dimension that does not exist. Indices outside [0, size(dim)) raise it, too, where the host can
/// read them, and give zeros elsewhere. Raises invalid_argument, shape_mismatch or overlap. All
/// before anything is written. aten::index_select.out(Tensor self, int dim, Tensor index, *,
/// Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Index, tensor_like Out>
void index_select(const S& stream, const X& x, i64 dim, const Index& index, Out&& out) {
  constexpr const char* op = "index_select";
  same_device<S, X, i64, Index, Out>();
  if constexpr (detail::check_lookup_types<const X&, Index, Out>()) {
    using T = value_t<const X&>;
    using D = device_of<S>;
    tensor_view<const T, D> from(as_view(x));
    tensor_view<T, D> to(as_view(out));
    const int d = normalize_dim(dim, from.rank(), op);
    const auto places =
        detail::index_vector(op, tensor_view<const value_t<Index>, D>(as_view(index)));
    if (from.rank() == 0) {  // one element, as a vector
      if (places.numel() != 1) [[unlikely]]
        raise(errc::invalid_argument, op, "one index for a 0-dimensional tensor",
              detail::text(places.numel()));
      from = from.unsqueeze(0);
      if (to.rank() == 0) to = to.unsqueeze(0);
    }
    detail::look_up<operators::index_select>(op, stream, from, d, places, to);
  }
}

/// index_select in a new tensor.
template <stream_like S, tensor_like X, tensor_like Index>
[[nodiscard]] auto index_select(const S& stream, const X& x, i64 dim, const Index& index) {
  constexpr const char* op = "index_select";
  const auto from = as_view(x);
  const tensor_view<const value_t<Index>, device_t<const Index&>> given(as_view(index));
  const auto places = detail::index_vector(op, given);
  const int d = normalize_dim(dim, from.rank(), op);
  shape sizes(from.sizes());
  if (sizes.rank() > 0) sizes[d] = places.numel();
  auto out = empty<value_t<const X&>>(stream, sizes, op);
  index_select(stream, x, dim, index, out);
  return out;
}

}  // namespace flaggems
