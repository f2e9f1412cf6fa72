// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How the threads of a SIMT device share a reduction: by sizes alone, so that equal inputs give
// equal bits.
#pragma once

#include <flaggems/kernel/family/reduce/simt/columns.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/expr.hpp>
#include <flaggems/ops/plan/reduce.hpp>

namespace flaggems::detail {

/// The least power of two that is at least n, and at most `most`, a power of two.
constexpr i64 group_for(i64 n, i64 most) noexcept {
  if (n >= most) return most;
  return n > 1 ? i64{1} << (64 - __builtin_clzll(static_cast<u64>(n - 1))) : 1;
}

/// Which power of two.
constexpr int bits_of(i64 n) noexcept { return __builtin_ctzll(static_cast<u64>(n)); }

/// n / 2^bits, rounded up.
constexpr i64 ceil_shift(i64 n, int bits) noexcept { return n > 0 ? ((n - 1) >> bits) + 1 : 0; }

/// The parts of a result of which each of `blocks` blocks has `vectors` vectors a thread: no more
/// than are resident, since what is done once a block shows.
template <class Numbers>
constexpr i64 parts_for(i64 blocks, i64 vectors) noexcept {
  if (vectors < 2 * Numbers::vectors_per_thread) return 1;
  return kernels::max_of(i64{1}, kernels::min_of(Numbers::resident_blocks / blocks, vectors / 4));
}

/// The kernels of reductions along rows: any; vector-aligned rows, or ones with head and tail
/// (simt_reduce_rows); short ones (simt_reduce_short).
enum class along_rows { any, vectorized, sided, short_ones };

/// Whether a formula reads 16-bit floats or less only, so that narrow functions suffice where its
/// reduction is rounded to as few bits.
template <class E>
inline constexpr bool reads_small_floats = false;
template <class T, class C>
inline constexpr bool reads_small_floats<kernels::arg<T, C>> = kernels::is_small_float<T>;
template <class C>
inline constexpr bool reads_small_floats<kernels::literal<C>> = true;
template <class R, class F, class... E>
inline constexpr bool reads_small_floats<kernels::node<R, F, E...>> = std::is_same_v<R, f32> &&
                                                                      (reads_small_floats<E> &&
                                                                       ...);

/// A formula by the narrow forms of its functions.
template <class E>
E narrowed(const E& leaf) {
  return leaf;
}
template <class R, class F, class... E>
auto narrowed_node(const F& f, const E&... e) {
  const auto narrow = narrow_form(f);
  return kernels::node<R, std::remove_const_t<decltype(narrow)>, E...>{narrow, e...};
}
template <class R, class F, class A>
auto narrowed(const kernels::node<R, F, A>& e) {
  return narrowed_node<R>(e.f, narrowed(e.a));
}
template <class R, class F, class A, class B>
auto narrowed(const kernels::node<R, F, A, B>& e) {
  return narrowed_node<R>(e.f, narrowed(e.a), narrowed(e.b));
}
template <class R, class F, class A, class B, class D>
auto narrowed(const kernels::node<R, F, A, B, D>& e) {
  return narrowed_node<R>(e.f, narrowed(e.a), narrowed(e.b), narrowed(e.d));
}

/// What a reduction's operands are like: the vectors' size, the tensors that are read, and whether
/// elements take long.
struct row_options {
  i64 width;
  int leaves;
  bool is_long;
};

/// How columns are distributed: lanes per thread, and whether results may be split.
struct column_options {
  i64 width;
  bool may_cut;
};

/// The distribution over threads, by a device's Numbers. `space` comes with its kept and reduced
/// dimensions, `inner`, `outputs` and `steps`; the rest is set here.
template <class Numbers>
struct simt_shares {
  static constexpr i64 threads = Numbers::threads, busy = Numbers::busy_threads;
  static_assert((threads & (threads - 1)) == 0, "flaggems: reductions have 2^n threads a block");
  i64 tiles;
  kernels::reduction_shares of_threads;
  along_rows kernel = along_rows::any;
  i64 block = threads;

  /// Lanes along a reduced dimension, vectors of `width` elements, a power of two.
  /// is_vectorizable(n): there are vectors of n elements everywhere.
  template <class Space, class IsVectorizable>
  static simt_shares inner(Space& space, row_options options,
                           const IsVectorizable& is_vectorizable) {
    const i64 width = options.width;
    const i64 vectors = ceil_shift(space.inner, bits_of(width));
    const i64 all = work_of(vectors, space.steps);  // of a result
    if constexpr (std::is_same_v<Space, kernels::reduction_plane>) {
      if (all <= Numbers::short_row_vectors && (all & (all - 1)) == 0 && space.steps == 1 &&
          work_of(space.outputs, all) >= busy && is_vectorizable(width)) {
        space.parts = space.chunks = 1;
        space.chunk = space.inner;
        return {kernels::ceil_div(space.outputs, threads * kernels::short_rows >> bits_of(all)),
                {space.outputs, 1, bits_of(all), bits_of(all)},
                along_rows::short_ones};
      }
    }
    const bool one_row = std::is_same_v<Space, kernels::reduction_plane> && space.steps == 1;
    i64 group = group_for(kernels::ceil_div(all, Numbers::vectors_per_thread), threads);
    while (group < threads && group < all && work_of(space.outputs, group) < busy) group *= 2;
    space.parts = space.chunks = 1;
    space.chunk = space.inner;
    if (group == threads) {
      const i64 parts = parts_for<Numbers>(
          space.outputs, (options.is_long ? Numbers::long_weight : 1) * all / threads);
      if (parts > 1) cut(space, parts, vectors, width);
    }
    const i64 along = group_for(ceil_shift(space.chunk, bits_of(width)), group);
    const i64 items = space.outputs * space.parts, groups = threads >> bits_of(group);
    auto kernel = along_rows::any;
    if (one_row &&
        space.chunk <= kernels::folded_run * kernels::prefetch_distance<2> * width * group) {
      if (is_vectorizable(width))
        kernel = along_rows::vectorized;
      else if (options.leaves == 1 && group >= width && is_vectorizable(1))
        kernel = along_rows::sided;
    }
    // Few rows that are not cut: threads hide the latency of what has several operands.
    i64 block = threads;
    if (kernel == along_rows::vectorized && options.leaves > 1 && space.parts == 1)
      while (group == block && block < kernels::most_row_threads && 4 * block < all &&
             work_of(space.outputs, block) < busy)
        block = group = 2 * block;
    return {ceil_shift(items, bits_of(groups)),
            {items, space.parts == 1 ? space.steps : kernels::ceil_div(space.steps, space.parts),
             bits_of(group), bits_of(along)},
            kernel,
            block};
  }

  /// Lanes along a kept dimension, `width` per thread.
  template <class Space>
  static simt_shares outer(Space& space, column_options options) {
    const i64 width = options.width;
    const bool may_cut = options.may_cut;
    const i64 lanes = space.inner / width * space.outputs;
    space.parts = space.chunks = 1;
    space.chunk = width;
    const i64 most = threads / group_for(lanes, width == 1 ? Numbers::columns_of_elements
                                                           : Numbers::columns_of_vectors);
    const i64 distance = width == 1 ? kernels::prefetch_distance<1> : kernels::prefetch_distance<2>;
    i64 down = 1;
    while (down < most && work_of(lanes, down) < 2 * busy && space.steps >= 2 * distance * down)
      down *= 2;
    const i64 blocks = kernels::ceil_div(lanes, threads / down);
    if (may_cut) space.parts = parts_for<Numbers>(blocks, space.steps / down);
    // A thread counts the steps of its part in 31 bits. (More parts than that would never end.)
    constexpr i64 most_parts = i64{1} << 16;  // limit
    if (may_cut)
      space.parts = kernels::max_of(space.parts, kernels::min_of(space.steps >> 30, most_parts));
    return {blocks * space.parts,
            {lanes, kernels::ceil_div(space.steps, space.parts), bits_of(down), 0}};
  }

 private:
  /// Cuts a result into about `parts`: ranges of rows if there are as many, else pieces of a row.
  template <class Space>
  static void cut(Space& space, i64 parts, i64 vectors, i64 width) {
    if (space.steps >= parts) {
      space.parts = parts;
      return;
    }
    space.chunks = kernels::ceil_div(parts, space.steps);
    space.chunk = kernels::ceil_div(vectors, space.chunks) * width;
    space.chunks = kernels::ceil_div(space.inner, space.chunk);
    space.steps *= space.chunks;
    space.parts = space.steps;
  }
};

/// The common case: tensors of one shape, contiguous, reduced along their last dimensions into a
/// disjoint contiguous output. A few comparisons detect it; it needs no further checks or plan.
struct dense_rows {
  i64 rows = 1, length = 1;  // results, and the elements of each
  bool all = false;

  FLAGGEMS_NOINLINE_ONCE dense_rows(const char* op, const memory_layout& out, layout_list in,
                                    int_list dims, bool keepdim) {
    const int_list sizes = in[0].sizes;
    for (const memory_layout& x : in)
      if (is_position(x) || !is_contiguous(x.sizes, x.strides) || !same_sizes(x.sizes, sizes))
        return;
    const u32 folded = normalize_dims(dims, sizes.size(), op);
    int next = out.sizes.size() - 1;
    bool fits = true;
    for (int d = sizes.size() - 1; d >= 0; --d) {
      const bool folds = (folded >> d & 1u) != 0;
      const i64 n = sizes[d];
      if (folds) {
        fits = fits && (n == 1 || rows == 1);
        length *= n;
      }
      if (!folds || keepdim) {
        const i64 left = folds ? 1 : n;
        fits = fits && next >= 0 && out.sizes[next] == left &&
               (left == 1 || out.strides[next] == rows);
        rows *= left;
        --next;
      }
    }
    const auto begin = reinterpret_cast<u64>(out.data);
    const byte_range written{begin, begin + static_cast<u64>(rows * out.item)};
    for (const memory_layout& x : in) {
      const auto data = reinterpret_cast<u64>(x.data);
      fits = fits && !written.intersects({data, data + static_cast<u64>(rows * length * x.item)});
    }
    // Rows of one element are best read as columns, few long ones are split (reduction_layout), and
    // there may be no elements.
    all = fits && next < 0 && rows > 0 && (length > 1 || (length == 1 && rows == 1)) &&
          length < 4 * kernels::reduced_chunk;
  }
};

// The operands of a reduction on a SIMT device: its space, and strides over [kept..., reduced...,
// lanes] of the operands, the output and the elements' indices.

/// Any.
struct simt_space {
  template <class T, class C>
  using arg = kernels::arg<T, C>;
  const iteration& all;
  kernels::reduction_space space;
  bool lanes_reduced;

  void copy_strides(int operand, i64 (&to)[max_rank]) const { all.copy_strides(operand, to); }
  void copy_output_strides(i64 (&to)[max_rank]) const { copy_strides(0, to); }
  void copy_place_strides(int operand, i64 (&to)[max_rank]) const { copy_strides(operand, to); }
};

/// At most one kept and one reduced dimension besides the lanes'.
struct simt_plane {
  template <class T, class C>
  using arg = kernels::arg<T, C>;
  const iteration& all;
  bool has_kept, has_reduced, lanes_reduced;
  kernels::reduction_plane space;

  explicit simt_plane(const reduction_layout& layout)
      : all(layout.all),
        has_kept(layout.space.kept_rank > 0),
        has_reduced(layout.space.reduced_rank > 0),
        lanes_reduced(layout.lanes_reduced),
        space{layout.space.inner, 0, 1, layout.space.outputs, layout.space.steps, 1} {}
  void copy_strides(int operand, i64 (&to)[max_rank]) const {
    int from = 0;
    to[0] = has_kept ? all.stride(operand, from++) : 0;
    to[1] = has_reduced ? all.stride(operand, from++) : 0;
    to[2] = from < all.rank() ? all.stride(operand, from) : 0;
  }
  void copy_output_strides(i64 (&to)[max_rank]) const { copy_strides(0, to); }
  void copy_place_strides(int operand, i64 (&to)[max_rank]) const { copy_strides(operand, to); }
};

/// Contiguous rows, one after the other, with results side by side.
struct simt_rows {
  template <class T, class C>
  using arg = kernels::arg<T, C>;
  static constexpr bool lanes_reduced = true;
  kernels::reduction_plane space;

  explicit simt_rows(const dense_rows& dense) : space{dense.length, 0, 1, dense.rows, 1, 1} {}
  void copy_strides(int, i64 (&to)[max_rank]) const { to[0] = space.inner, to[1] = 0, to[2] = 1; }
  static void copy_output_strides(i64 (&to)[max_rank]) { to[0] = 1, to[1] = to[2] = 0; }
  static void copy_place_strides(int, i64 (&to)[max_rank]) { to[0] = to[1] = 0, to[2] = 1; }
};

inline int lane_dimension(const kernels::reduction_plane&) { return 2; }
inline int lane_dimension(const kernels::reduction_space& s) {
  return s.kept_rank + s.reduced_rank;
}

/// Whether all leaves have vectors of `width` elements along the lanes, at every position; those
/// that are the same along the lanes do if they `may_splat`.
template <class Operands>
bool is_vectorizable(const Operands& operands, layout_list in, int lanes, i64 width,
                     bool may_splat) {
  if (operands.space.inner % width != 0) return false;
  int operand = 0;
  for (const memory_layout& x : in) {
    ++operand;
    if (is_position(x)) continue;
    i64 strides[max_rank] = {};
    operands.copy_strides(operand, strides);
    if (strides[lanes] == 0 && may_splat) continue;
    if (strides[lanes] != 1 ||
        reinterpret_cast<u64>(x.data) % static_cast<u64>(width * x.item) != 0)
      return false;
    for (int d = 0; d < lanes; ++d)
      if (strides[d] % width != 0) return false;
  }
  return true;
}

// The second pass of a split reduction: partial results are [part, output], with the kept
// dimensions of the first pass, and reduced along the parts.

inline kernels::reduction_plane space_of_parts(const kernels::reduction_plane& first,
                                               bool lanes_reduced) {
  return {lanes_reduced ? 1 : first.inner, 0, 1, first.outputs, first.parts, 1};
}
inline kernels::reduction_space space_of_parts(const kernels::reduction_space& first,
                                               bool lanes_reduced) {
  kernels::reduction_space s = first;
  s.reduced_rank = 1;
  s.reduced_sizes[0] = s.steps = first.parts;
  if (lanes_reduced) s.inner = 1;
  return s;
}
/// The strides of the partial results, and those of the output brought to the same dimensions.
inline void strides_of_parts(const kernels::reduction_plane& parts, i64 (&own)[max_rank],
                             i64 (&)[max_rank], const kernels::reduction_plane&) {
  own[0] = parts.inner, own[1] = parts.inner * parts.outputs, own[2] = 1;
}
inline void strides_of_parts(const kernels::reduction_space& parts, i64 (&own)[max_rank],
                             i64 (&out)[max_rank], const kernels::reduction_space& first) {
  const int kept = parts.kept_rank;
  i64 stride = parts.inner;
  for (int d = kept - 1; d >= 0; --d) {
    own[d] = stride;
    stride *= parts.kept_sizes[d];
  }
  own[kept] = stride, own[kept + 1] = 1;
  const i64 lanes = out[kept + first.reduced_rank];
  out[kept] = 0, out[kept + 1] = lanes;
}

template <class Reducer, class S, class Space, class E, class Index, class Sink, class Parts>
void launch_simt_columns(const char* op, const S& stream, Space& space, column_options options,
                         const E& e, const Index& index, const Sink& sink, Parts make_parts) {
  using C = typename E::value_type;
  using shares_type = simt_shares<tuning<families::reduce, device_of<S>>>;
  constexpr i64 threads = shares_type::threads;
  const i64 width = options.width;
  const shares_type shares = shares_type::outer(space, options);
  launch_config config;
  config.op = op;
  config.tiles = shares.tiles;
  config.work = work_of(space.outputs, space.inner, space.steps, 8);
  config.threads = int{threads};
  config.scratch = scratch_bytes<C>(threads * (width + 1)) +
                   (Reducer::needs_index ? scratch_bytes<i64>(threads * (width + 1)) : 0);
  launch<kernels::simt_reduce_outer<Reducer, Space, E, Index, Sink, int{threads}>>(
      stream, config, space, shares.of_threads, e, index, sink, make_parts(space));
}

/// A reduction of few rows that clusters share, if the device has clusters and `vectors` of a row's
/// operands are neither few nor many; else gives false.
template <class Reducer, class S, class E, class Index, class Sink, class IsVectorizable>
bool launch_cluster_reduction(const char* op, const S& stream, const kernels::reduction_plane& rows,
                              i64 width, i64 vectors, const E& e, const Index&, const Sink& sink,
                              const IsVectorizable& is_vectorizable) {
  using device = device_of<S>;
  using numbers = tuning<families::reduce, device>;
  if (!device::capabilities::clusters || rows.steps != 1 ||
      rows.outputs * numbers::cluster > tuning<families::any, device>::units ||
      vectors < numbers::shared_vectors || vectors > numbers::most_shared_vectors ||
      !is_vectorizable())
    return false;
  kernels::reduction_plane space = rows;
  space.chunk = kernels::ceil_div(space.inner, numbers::cluster * width) * width;
  space.parts = kernels::ceil_div(space.inner, space.chunk);
  launch_config config;
  config.op = op;
  config.tiles = space.outputs;
  config.work = work_of(space.outputs, space.inner, 8);
  config.threads = numbers::threads;
  config.cluster = numbers::cluster;
  using kernel = kernels::simt_reduce_cluster<Reducer, E, Index, Sink, numbers::threads>;
  if (most_cluster<kernel>(stream, config, space, e, sink) < numbers::cluster) return false;
  launch<kernel>(stream, config, space, e, sink);
  return true;
}

/// Runs a reduction on a SIMT device. Kept lanes are vectorized by `width`.
template <class Reducer, class C, class S, class Operands, class Node, class T, class Sink>
void run_simt_reduction(const char* op, const S& stream, const Operands& operands, layout_list in,
                        const Node& node, T* out, Sink sink) {
  const bool lanes_reduced = operands.lanes_reduced;
  using space_type = decltype(operands.space);
  space_type space = operands.space;
  using state = typename Reducer::state;
  using device = device_of<S>;
  int next = 1;
  const auto built = node.template build<C>(operands, next);
  const auto e = [&] {
    if constexpr (kernels::is_small_float<T> &&
                  reads_small_floats<std::remove_const_t<decltype(built)>>)
      return narrowed(built);
    else
      return built;
  }();
  using row = std::remove_cvref_t<decltype(e.at(kernels::coordinates{}))>;
  constexpr i64 width = kernels::row_vectors<row>::most;
  sink.out = {out, {}};
  operands.copy_output_strides(sink.out.strides);
  const auto index = [&] {
    if constexpr (Reducer::needs_index) {
      kernels::position<i64> places{};
      operands.copy_place_strides(next, places.strides);
      return places;
    } else {
      return kernels::no_index{};
    }
  }();
  pool_block<device> values, indices;  // partial results
  const auto partial = [&](const space_type& cut) -> kernels::partial_states<state> {
    if (cut.parts == 1) return {};
    const i64 count = cut.parts * cut.outputs * (lanes_reduced ? 1 : cut.inner);
    const auto memory = [&](i64 item) {
      return pool_block<device>(work_of(count, item), ref(stream), op);
    };
    values = memory(sizeof(C));
    if constexpr (Reducer::needs_index) {
      indices = memory(sizeof(i64));
      return {static_cast<C*>(values.data()), static_cast<i64*>(indices.data())};
    } else {
      return {static_cast<C*>(values.data())};
    }
  };
  if (lanes_reduced) {
    const i64 elements = work_of(space.outputs, space.inner, space.steps);
    constexpr int leaves = kernels::row_vectors<row>::leaves;
    using shares_type = simt_shares<tuning<families::reduce, device>>;
    if constexpr (std::is_same_v<space_type, kernels::reduction_plane> && leaves > 1 &&
                  !Reducer::needs_index)
      if (launch_cluster_reduction<Reducer>(
              op, stream, space, width, work_of(ceil_shift(space.inner, bits_of(width)), leaves), e,
              index, sink,
              [&] { return is_vectorizable(operands, in, lane_dimension(space), width, true); }))
        return;
    const shares_type shares = shares_type::inner(
        space, {width, leaves, kernels::is_long<row>},
        [&](i64 n) { return is_vectorizable(operands, in, lane_dimension(space), n, leaves > 1); });
    launch_config config;
    config.op = op;
    config.tiles = shares.tiles;
    config.work = work_of(elements, 8);
    constexpr int threads = int{shares_type::threads};
    config.threads = static_cast<int>(shares.block);
    using formula = std::remove_const_t<decltype(e)>;
    using places = std::remove_const_t<decltype(index)>;
    if constexpr (std::is_same_v<space_type, kernels::reduction_plane>) {
      if (shares.kernel == along_rows::short_ones)
        return launch<kernels::simt_reduce_short<Reducer, formula, places, Sink, threads>>(
            stream, config, space, shares.of_threads, e, index, sink);
    }
    const auto run = [&]<class Kernel>(std::type_identity<Kernel>) {
      launch<Kernel>(stream, config, space, shares.of_threads, e, index, sink, partial(space));
    };
    if (shares.kernel == along_rows::any)
      run(std::type_identity<
          kernels::simt_reduce_inner<Reducer, space_type, formula, places, Sink, threads>>{});
    if constexpr (std::is_same_v<space_type, kernels::reduction_plane>) {
      if (shares.kernel == along_rows::vectorized)
        run(std::type_identity<kernels::simt_reduce_rows<Reducer, kernels::row_sides::none, formula,
                                                         places, Sink, threads>>{});
      if constexpr (leaves == 1) {
        if (shares.kernel == along_rows::sided)
          run(std::type_identity<kernels::simt_reduce_rows<Reducer, kernels::row_sides::elements,
                                                           formula, places, Sink, threads>>{});
      }
    }
  } else {
    launch_simt_columns<Reducer>(
        op, stream, space,
        {.width = is_vectorizable(operands, in, lane_dimension(space), width,
                                  kernels::row_vectors<row>::leaves > 1)
                      ? width
                      : 1,
         .may_cut = true},
        e, index, sink, partial);
  }
  if (space.parts == 1) return;
  space_type combined = space_of_parts(space, lanes_reduced);
  kernels::arg<C, C> states{static_cast<const C*>(values.data()), {}};
  strides_of_parts(combined, states.strides, sink.out.strides, space);
  const auto places = [&] {
    if constexpr (Reducer::needs_index) {
      kernels::arg<i64, i64> own{static_cast<const i64*>(indices.data()), {}};
      for (int d = 0; d < max_rank; ++d) own.strides[d] = states.strides[d];
      return own;
    } else {
      return kernels::no_index{};
    }
  }();
  launch_simt_columns<Reducer>(
      op, stream, combined, {.width = 1, .may_cut = false}, states, places, sink,
      [](const space_type&) -> kernels::partial_states<state> { return {}; });
}

}  // namespace flaggems::detail
