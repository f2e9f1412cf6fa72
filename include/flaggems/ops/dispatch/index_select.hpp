// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How elements are looked up: rows and elements on vector workers; a lookup as a leaf of a formula,
// or a gather of columns from staged rows, on SIMT devices.
#pragma once

#include <flaggems/kernel/family/index/index_select.hpp>
#include <flaggems/kernel/family/index/simt/index_select.hpp>
#include <flaggems/kernel/family/index/simt/looked_up.hpp>
#include <flaggems/kernel/family/index/vector/index_select.hpp>
#include <flaggems/launch/streaming.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/pointwise.hpp>
#include <flaggems/ops/plan/indices.hpp>
#include <flaggems/ops/plan/rows.hpp>

namespace flaggems::kernels {
template <class Isa>
inline constexpr bool has_checked_indices<host_block<Isa>> = true;
}

namespace flaggems::detail {

/// The element type as which elements of T are copied.
template <class T>
struct word_of {
  static_assert(sizeof(T) <= 8, "flaggems: lookups take elements of at most 8 bytes");
  using type = kernels::uint_of_size<static_cast<int>(sizeof(T))>;
};

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
FLAGGEMS_NOINLINE_ONCE u64 common_row_word(const memory_layout& a, const memory_layout& b) {
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

/// A lookup on a SIMT device whose kernels treat elements as `Word`s of their size.
template <class Word, class S, class T, class J, class D>
void simt_look_up(const char* op, const S& stream, const tensor_view<const T, D>& x, int d,
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
  const bool vectorized = inner >= 0 && it.stride(2, inner) == 0 &&
                          from.step % kernels::common_vec_size<Word, leaf> == 0;
  launch_strided(stream, config, it, layouts, to, leaf{from}, vectorized);
}

/// Gathers elements of contiguous rows on a SIMT device, if so many are gathered that reading whole
/// rows costs no more; false if they are fewer, or rows are too long.
template <class Word, class S, class T, class J, class D>
bool select_from_rows(const char* op, const S& stream, const tensor_view<const T, D>& x, int d,
                      const tensor_view<const J, D>& index, const tensor_view<T, D>& out) {
  using kernel = kernels::select_columns<Word, J>;
  using numbers = tuning<families::index, D>;
  if (d + 1 != x.rank() || index.rank() != 1) return false;
  const i64 n = x.size(d), bytes = n * i64{sizeof(Word)};
  if (n == 0 || n > kernel::most_bytes / i64{sizeof(Word)} || index.numel() > i64{1} << 30 ||
      bytes / (numbers::access / 2) > index.numel() || x.stride(d) != 1 || out.stride(d) != 1 ||
      (index.stride(0) != 1 && index.numel() > 1))
    return false;
  // A block picks from its rows alone: few rows would keep few blocks busy with many picks.
  if (index.numel() > numbers::many_picks * kernel::max_threads &&
      out.numel() / index.numel() < numbers::least_rows)
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

/// check_indices of many: on vector workers by a launch, after which a wrong one is looked for.
template <class S, class J, class D>
void check_many_indices(const char* op, const S& stream, const tensor_view<J, D>& index, i64 size) {
  if constexpr (has_vectors<D> && is_synchronous<D>) {
    const i64 n = index.numel();
    if (n >= tuning<families::index, D>::checked_at_once && index.is_contiguous()) {
      using kernel = kernels::find_outside<std::remove_const_t<J>>;
      i32 wrong = 0;
      launch_config config;
      config.op = op;
      config.tiles = kernels::ceil_div(n, kernel::tile);
      config.work = work_of(n, sizeof(J));
      launch<kernel>(stream, config, n, static_cast<const J*>(index.data()), size, &wrong);
      if (wrong == 0) return;
    }
  }
  check_indices(op, stream, index, size);
}

/// The elements at indices, all checked, by the kernels that suit the device and the layouts.
template <class S, class T, class J, class D>
void launch_lookup(const char* op, const S& stream, const tensor_view<const T, D>& x, int d,
                   const tensor_view<const J, D>& index, const tensor_view<T, D>& out) {
  using word = typename word_of<T>::type;
  if constexpr (has_vectors<D>) {
    const iteration it = lookup_space(x, d, index, out);
    const auto [to, from] = arguments_of<word>(it, x, d, index, out);
    kernels::tiling space = it.tiles(tuning<families::index, D>::tile);
    space.streamed = is_streamed<D>(2 * it.numel() * i64{sizeof(T)});
    launch_config config;
    config.op = op;
    config.tiles = space.tiles;
    config.work = work_of(it.numel(), sizeof(T), 2);
    launch<kernels::index_select<word, J>>(stream, config, space, to, from);
  } else {
    if (select_from_rows<word>(op, stream, x, d, index, out)) return;
    // Rows that vectors do not make up go by the widest words that do.
    if constexpr (sizeof(T) < 8) {
      const bool is_inside = d + 1 < x.rank() && x.size(d) > 0;
      const u64 bytes = is_inside ? common_row_word(layout_of(out), layout_of(x)) : 0;
      if (bytes == 8)
        return simt_look_up<u64>(op, stream, as_words<const u64>(x), d, index, as_words<u64>(out));
      if constexpr (sizeof(T) < 4)
        if (bytes == 4)
          return simt_look_up<u32>(op, stream, as_words<const u32>(x), d, index,
                                   as_words<u32>(out));
    }
    simt_look_up<word>(op, stream, x, d, index, out);
  }
}

}  // namespace flaggems::detail
