// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/index/index_select.hpp>
#include <flaggems/kernel/family/index/simt/index_select.hpp>
#include <flaggems/kernel/family/index/simt/looked_up.hpp>
#include <flaggems/kernel/family/index/vector/index_select.hpp>
#include <flaggems/launch/streaming.hpp>
#include <flaggems/ops/dispatch/pointwise.hpp>
#include <flaggems/ops/plan/rows.hpp>
#include <flaggems/tensor/dtype.hpp>

namespace flaggems {
namespace kernels {
template <class Isa>
inline constexpr bool has_checked_indices<host_block<Isa>> = true;
}
namespace operators {
struct index_select;
}

namespace detail {

/// Raises out_of_range unless all indices are in [0, size). Where the host cannot read them nothing
/// is checked here: the kernels read nothing outside their operands.
template <class S, class J, class D>
void check_indices(const char* op, const S& stream, const tensor_view<J, D>& index, i64 size) {
  if constexpr (host_reads<D>) {
    if (index.empty()) return;
    if constexpr (!is_synchronous<D>) ref(stream).synchronize();
    iteration it(index.sizes());
    it.add(index.sizes(), index.strides());
    it.collapse();
    const kernels::tiling space = it.tiles(it.numel());
    i64 strides[max_rank];
    it.copy_strides(0, strides);
    for (i64 tile = 0; tile < space.tiles; ++tile) {
      const kernels::coordinates c = space.locate(tile);
      const J* row = index.data() + c.offset(strides);
      const i64 step = strides[c.rank], n = space.length(c);
      bool wrong = false;  // without a branch for each
      for (i64 i = 0; i < n; ++i)
        wrong |= static_cast<u64>(static_cast<i64>(row[i * step])) >= static_cast<u64>(size);
      if (!wrong) continue;
      for (i64 i = 0; i < space.length(c); ++i) {
        const i64 k = static_cast<i64>(row[i * strides[c.rank]]);
        if (k < 0 || k >= size) [[unlikely]]
          raise(errc::out_of_range, op, "indices in [0, " + detail::text(size) + ")",
                detail::text(k));
      }
    }
  }
}

/// The element type as which elements of T are copied.
template <class T>
struct word_of {
  static_assert(sizeof(T) <= 8, "flaggems: lookups take elements of at most 8 bytes");
  using type = kernels::uint_of_size<static_cast<int>(sizeof(T))>;
};

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
FLAGGEMS_NOINLINE inline bool has_lookup_sizes(const memory_layout& out, const memory_layout& x,
                                               int d, const memory_layout& index) {
  const int rank = index.sizes.size(), more = rank - 1;
  bool same = out.sizes.size() == x.sizes.size() + more;
  for (int i = 0; same && i < x.sizes.size(); ++i)
    same = i == d || out.sizes[i < d ? i : i + more] == x.sizes[i];
  for (int i = 0; same && i < rank; ++i) same = out.sizes[d + i] == index.sizes[i];
  return same;
}

/// The iteration space of a lookup, by out, x and the index.
template <class X, class Index, class Out>
iteration lookup_space(const X& x, int d, const Index& index, const Out& out) {
  iteration it(out.sizes());
  i64 of_x[max_rank], of_index[max_rank];  // strides over the output's dimensions
  const auto rank = static_cast<std::size_t>(out.rank());
  for (int i = 0; i < out.rank(); ++i) {
    const bool indexed = i >= d && i < d + index.rank();
    const auto own = static_cast<std::size_t>(indexed ? i - d : i < d ? i : i - index.rank() + 1);
    of_index[i] = indexed ? index.strides()[own] : 0;
    of_x[i] = indexed ? 0 : x.strides()[own];
  }
  it.add(out.sizes(), out.strides());
  it.add(out.sizes(), std::span<const i64>(of_x, rank));
  it.add(out.sizes(), std::span<const i64>(of_index, rank));
  it.collapse();
  return it;
}

/// The arguments of a lookup's kernels.
template <class Word, class J>
struct lookup_arguments {
  kernels::target<Word> to;
  kernels::lookup<Word, J> from;
};
template <class Word, class T, class J, class D>
lookup_arguments<Word, J> arguments_of(const iteration& it, const tensor_view<const T, D>& x, int d,
                                       const tensor_view<const J, D>& index,
                                       const tensor_view<T, D>& out) {
  lookup_arguments<Word, J> r;
  r.to.data = reinterpret_cast<Word*>(out.data());
  r.from.data = reinterpret_cast<const Word*>(x.data());
  r.from.index = index.data();
  r.from.size = x.size(d);
  r.from.step = x.stride(d);
  it.copy_strides(0, r.to.strides);
  it.copy_strides(1, r.from.strides);
  it.copy_strides(2, r.from.index_strides);
  return r;
}

/// The largest power of two bytes that each row of both operands is made of, and begins at a
/// multiple of, along their last dimensions; 1 if those are not contiguous.
FLAGGEMS_NOINLINE inline u64 common_row_word(const memory_layout& a, const memory_layout& b) {
  u64 odd = 0;
  for (const memory_layout* x : {&a, &b}) {
    const int last = x->sizes.size() - 1;
    if (last < 0 || x->strides[last] != 1) return 1;
    odd |= reinterpret_cast<u64>(x->data) | static_cast<u64>(x->sizes[last] * x->item);
    for (int k = 0; k < last; ++k) odd |= static_cast<u64>(x->strides[k] * x->item);
  }
  return odd & (0 - odd);
}
/// A view of words, of which each has several elements of v.
template <class Word, class T, class D>
tensor_view<Word, D> as_words(const tensor_view<T, D>& v) {
  constexpr i64 each = sizeof(Word) / sizeof(T);
  shape sizes(v.sizes()), strides(v.strides());
  sizes[v.rank() - 1] /= each;
  for (int k = 0; k + 1 < v.rank(); ++k) strides[k] /= each;
  return {unchecked_t{}, reinterpret_cast<Word*>(v.data()), sizes, strides};
}

/// A lookup on a chip whose kernels take elements as `Word`s of their size.
template <class Word, class S, class T, class J, class D>
void look_up_on_chip(const char* op, const S& stream, const tensor_view<const T, D>& x, int d,
                     const tensor_view<const J, D>& index, const tensor_view<T, D>& out) {
  const iteration it = lookup_space(x, d, index, out);
  const auto [to, from] = arguments_of<Word>(it, x, d, index, out);
  launch_config config;
  config.op = op;
  config.work = work_of(it.numel(), sizeof(Word), 2);
  const memory_layout layouts[] = {layout_of(out), layout_of(x)};
  if (from.size == 0)  // no index exists
    return launch_strided(stream, config, it, {layouts, 1}, to, kernels::literal<Word>{0});
  using leaf = kernels::looked_up<Word, J>;
  const int inner = it.rank() - 1;
  const bool packed = inner >= 0 && it.stride(2, inner) == 0 &&
                      from.step % kernels::common_pack_size<Word, leaf> == 0;
  launch_strided(stream, config, it, layouts, to, leaf{from}, packed);
}

/// Picks elements of contiguous rows on a chip, where so many are picked that reading all takes no
/// more; false: they are fewer, or rows are too long.
template <class Word, class S, class T, class J, class D>
bool select_from_rows(const char* op, const S& stream, const tensor_view<const T, D>& x, int d,
                      const tensor_view<const J, D>& index, const tensor_view<T, D>& out) {
  using kernel = kernels::select_columns<Word, J>;
  constexpr i64 piece = 32;  // bytes that memory gives at least
  if (d + 1 != x.rank() || index.rank() != 1) return false;
  const i64 n = x.size(d), bytes = n * i64{sizeof(Word)};
  if (n == 0 || n > kernel::most_bytes / i64{sizeof(Word)} || index.numel() > i64{1} << 30 ||
      bytes / (piece / 2) > index.numel() || x.stride(d) != 1 || out.stride(d) != 1 ||
      (index.stride(0) != 1 && index.numel() > 1))
    return false;
  // A block picks from its rows alone: few rows would keep few blocks busy with many picks.
  if (index.numel() > i64{32} * kernel::max_threads && out.numel() / index.numel() < 128)
    return false;
  row_plan plan(out.sizes(), d);
  const auto to = as_words<Word>(out);
  const auto from = as_words<const Word>(x);
  plan.add(from);
  plan.add(to);
  const kernels::row_space space = plan.space();
  launch_config config;
  config.op = op;
  config.tiles = space.rows;
  config.work = work_of(space.rows, bytes, 2);
  config.threads = kernel::max_threads;
  config.blocks_per_unit = kernel::blocks_per_unit;
  config.scratch = scratch_bytes<Word>(kernel::room(n));
  launch<kernel>(stream, config, space, static_cast<i32>(n), plan.arg(0, from), index.data(),
                 plan.target(1, to));
  return true;
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
  check_apart(op, written, layout_of(x));
  check_apart(op, written, layout_of(index));
  check_indices(op, stream, index, x.size(d));
  if (out.empty() || replaced<Op>(op, stream, x, d, index, out)) return;

  using word = typename word_of<T>::type;
  if constexpr (has_vectors<D>) {
    const iteration it = lookup_space(x, d, index, out);
    const auto [to, from] = arguments_of<word>(it, x, d, index, out);
    kernels::tiling space = it.tiles(8192);
    space.streamed = is_streamed<D>(2 * it.numel() * i64{sizeof(T)});
    launch_config config;
    config.op = op;
    config.tiles = space.tiles;
    config.work = work_of(it.numel(), sizeof(T), 2);
    launch<kernels::index_select<word, J>>(stream, config, space, to, from);
  } else {
    if (select_from_rows<word>(op, stream, x, d, index, out)) return;
    // Rows that packs do not make up go by the widest words that do.
    if (sizeof(T) < 8 && d + 1 < x.rank() && x.size(d) > 0) {
      const u64 bytes = common_row_word(layout_of(out), layout_of(x));
      if (bytes == 8)
        return look_up_on_chip<u64>(op, stream, as_words<const u64>(x), d, index,
                                    as_words<u64>(out));
      if (bytes == 4 && sizeof(T) < 4)
        return look_up_on_chip<u32>(op, stream, as_words<const u32>(x), d, index,
                                    as_words<u32>(out));
    }
    look_up_on_chip<word>(op, stream, x, d, index, out);
  }
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
/// Shapes: index [n] or []; out: x's sizes with n in the place of size(dim). Any dtype; out has
/// x's. `out` shares no memory with an input. Raises out_of_range for a dimension that does not
/// exist and, where the host can read them, for indices outside [0, size(dim)); other devices give
/// zeros for those. Raises invalid_argument, shape_mismatch or overlap. All before anything is
/// written. aten::index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out)
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
