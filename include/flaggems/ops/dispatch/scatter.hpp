// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How elements are read and written at indices that stand for a dimension of each element: reads by
// the kernels of lookups; writes by one thread for each place, or sorted.
#pragma once

#include <flaggems/kernel/block/simt/machine.hpp>
#include <flaggems/kernel/family/index/simt/gather.hpp>
#include <flaggems/kernel/family/index/simt/joined_lines.hpp>
#include <flaggems/kernel/family/index/simt/writes.hpp>
#include <flaggems/kernel/family/index/vector/scatter.hpp>
#include <flaggems/ops/dispatch/gathered_copy.hpp>
#include <flaggems/ops/dispatch/index_select.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/triangle.hpp>

#include <bit>
#include <numeric>

namespace flaggems::detail {

/// Elements of a tensor at indices: element e of the operation is at base + e under `strides` +
/// index[e] * step, the index in [0, size).
template <class T, class J, class D>
struct indexed_elements {
  T* base;
  shape strides;  // over the dimensions of the operation
  i64 size, step;
  tensor_view<const J, D> index;  // of the sizes of the operation
};

/// The elements of x whose indices in dimension d are given, and in the others their own.
template <class T, class J, class D>
indexed_elements<T, J, D> elements_along(const tensor_view<T, D>& x, int d,
                                         const tensor_view<const J, D>& index) {
  shape strides(x.strides());
  strides[d] = 0;
  return {x.data(), strides, x.size(d), x.stride(d), index};
}

/// The elements of a word of `Bytes`, if one index moves whole words: rows are contiguous and
/// aligned on both sides. Else 1.
template <int Bytes, class T, class J, class D>
int common_width(const indexed_elements<T, J, D>& x, const memory_layout& other) {
  constexpr int width = Bytes / static_cast<int>(sizeof(T));
  const int last = other.sizes.size() - 1;
  const auto is_whole = [](i64 n) { return n % width == 0; };
  const auto is_aligned = [](const void* p) { return reinterpret_cast<u64>(p) % Bytes == 0; };
  if (width == 1 || last < 0 || x.strides[last] != 1 || other.strides[last] != 1 ||
      x.index.stride(last) != 0 || !is_whole(other.sizes[last]) || !is_whole(x.step) ||
      !is_aligned(x.base) || !is_aligned(other.data))
    return 1;
  for (int d = 0; d < last; ++d)
    if (other.sizes[d] != 1 && (!is_whole(x.strides[d]) || !is_whole(other.strides[d]))) return 1;
  return width;
}
/// Sizes, or strides, in words of `width` elements along the last dimension.
inline shape sizes_in_words(int_list sizes, int width) {
  shape r(sizes);
  if (width > 1) r[r.rank() - 1] /= width;
  return r;
}
inline shape strides_in_words(int_list strides, int width) {
  shape r(strides);
  for (int d = 0; d + 1 < r.rank(); ++d) r[d] /= width;
  return r;
}

/// The same on a SIMT device by vectors of indices, where these and the output lie next to each
/// other; whether it could be.
template <class W, class S, class T, class J, class D>
bool gather_by_vectors(const char* op, const S& stream, const indexed_elements<const T, J, D>& x,
                       const tensor_view<T, D>& out) {
  using kernel = kernels::gather_at_vectors<W, J>;
  constexpr i64 width = kernel::width;
  constexpr i64 low[max_rank] = {};
  const memory_layout to = layout_of(out), index = layout_of(x.index);
  const i64 n = out.numel();
  if (n % width != 0 || !takes_vectors(to, n) || !takes_vectors(index, n)) return false;
  const memory_layout from{reinterpret_cast<const unsigned char*>(x.base), to.item, to.sizes,
                           x.strides};
  typename kernel::source source;
  if (!padded_plan(to, from, low, pad_mode::constant).fill(source, width)) return false;
  if (source.columns.divisor % width != 0) return false;
  source.data = reinterpret_cast<const W*>(x.base);
  source.filled = false;
  source.value = W(0);
  launch_config config;
  config.op = op;
  config.work = work_of(n, sizeof(T), 2);
  plan_steps<D>(config, n / width, kernel::at_once);
  launch<kernel>(stream, config, static_cast<u32>(n / width), source, x.index.data(), x.size,
                 x.step, reinterpret_cast<W*>(out.data()));
  return true;
}

/// out = the elements. There are some, and all checks have passed; an index out of range gives 0.
template <class S, class T, class J, class D>
void launch_gather(const char* op, const S& stream, const indexed_elements<const T, J, D>& x,
                   const tensor_view<T, D>& out) {
  const memory_layout layout = layout_of(out);
  const int width = has_vectors<D> ? 1 : common_width<8>(x, layout);
  if constexpr (has_simt<D>) {
    using word = typename word_of<T>::type;
    if constexpr (sizeof(word) <= sizeof(J))
      if (width == 1 && x.size > 0 && gather_by_vectors<word>(op, stream, x, out)) return;
  }
  const shape sizes = sizes_in_words(out.sizes(), width);
  iteration it(sizes);
  it.add(sizes, strides_in_words(out.strides(), width));
  it.add(sizes, strides_in_words(x.strides, width));
  it.add(sizes, x.index.strides());
  it.collapse();
  launch_config config;
  config.op = op;
  config.work = work_of(out.numel(), sizeof(T), 2);
  const auto with = [&]<class W>(W) {
    kernels::target<W> to{reinterpret_cast<W*>(out.data()), {}};
    kernels::lookup<W, J> from{};
    from.data = reinterpret_cast<const W*>(x.base);
    from.index = x.index.data();
    from.size = x.size;
    from.step = x.step / width;
    it.copy_strides(0, to.strides);
    it.copy_strides(1, from.strides);
    it.copy_strides(2, from.index_strides);
    if constexpr (has_vectors<D>) {
      const kernels::tiling space = it.tiles(tuning<families::index, D>::tile);
      config.tiles = space.tiles;
      launch<kernels::index_select<W, J>>(stream, config, space, to, from);
    } else if (x.size == 0) {
      launch_strided(stream, config, it, std::span(&layout, 1), to, kernels::literal<W>{0});
    } else {
      launch_strided(stream, config, it, std::span(&layout, 1), to, kernels::looked_up<W, J>{from},
                     false);
    }
  };
  if constexpr (has_simt<D> && sizeof(T) < 8)
    if (width > 1) return with(u64{});
  with(typename word_of<T>::type{});
}

/// The dimensions of an operation in which several elements may go to one place, as a bit mask.
using meeting_dims = u32;

/// The spaces of a write: its elements, those that meet in the walk, and the operands' strides.
struct scatter_plan {
  iteration it;
  kernels::walk_space walk{};
  i64 source_walk[max_rank] = {}, index_walk[max_rank] = {};

  scatter_plan(int_list sizes, int_list out, int_list source, int_list index, meeting_dims meeting)
      : it(free_sizes(sizes, meeting)) {
    const shape own = free_sizes(sizes, meeting);
    it.add(own, out);
    it.add(own, source);
    it.add(own, index);
    it.collapse();
    walk.count = 1;
    for (int d = 0; d < sizes.size(); ++d) {
      if ((meeting >> d & 1u) == 0 || sizes[d] == 1) continue;
      walk.sizes[walk.rank] = sizes[d];
      source_walk[walk.rank] = source[d];
      index_walk[walk.rank++] = index[d];
      walk.count *= sizes[d];
    }
  }

  /// The arguments of a kernel, and the tiles.
  template <class T, class J>
  void put(kernels::target<T>& to, kernels::scatter_source<T, J>& from) const {
    it.copy_strides(0, to.strides);
    it.copy_strides(1, from.strides);
    it.copy_strides(2, from.index_strides);
    copy_few(from.walk, source_walk, max_rank);
    copy_few(from.index_walk, index_walk, max_rank);
  }
  [[nodiscard]] kernels::tiling tiles(i64 most) const {
    // Along a walk of neighbours one element at a time; else many beside each other.
    const int inner = it.rank() - 1;
    const i64 beside = inner >= 0 ? it.stride(1, inner) : 0;
    const i64 along = walk.rank > 0 ? source_walk[walk.rank - 1] : 0;
    const bool narrow = walk.count > 1 && along != 0 && along * along < beside * beside;
    return it.tiles(narrow ? 1 : most);
  }

 private:
  static shape free_sizes(int_list sizes, meeting_dims meeting) {
    shape r(sizes);
    for (int d = 0; d < r.rank(); ++d)
      if ((meeting >> d & 1u) != 0) r[d] = 1;
    return r;
  }
};

/// The greatest common divisor of dimensions' strides.
class common_step {
 public:
  void add(i64 size, i64 stride) {
    if (size > 1) step_ = std::gcd(step_, stride);
  }
  [[nodiscard]] i64 value() const { return step_ == 0 ? 1 : step_; }

 private:
  i64 step_ = 0;
};

/// The elements' offsets from the lowest address of x, in steps, in new memory of the sizes of an
/// index: add(v, size, stride, wraps) adds a dimension whose indices are v's, an index or a
/// coordinate. All strides are multiples of the step.
template <class S, class D>
class element_offsets {
 public:
  element_offsets(const char* op, const S& stream, const shape& sizes, common_step step)
      : op_(op), stream_(stream), offsets_(empty<i64>(stream, sizes, op)), step_(step.value()) {}

  template <class Node>
  void add(const Node& node, i64 size, i64 elements, bool wraps) {
    using index =
        std::conditional_t<std::is_same_v<typename Node::element, i64>, Node, as_type<i64, Node>>;
    const i64 stride = elements / step_;
    const i64 bias = stride < 0 ? -(size - 1) * stride : 0;
    lowest_ -= bias * step_;
    reach_ += (size - 1) * (stride < 0 ? -stride : stride);
    const kernels::index_offset_fn f{size, stride, bias, wraps};
    const auto assign = [&](const auto& before) {
      using first = std::remove_cvref_t<decltype(before)>;
      assign_node(op_, stream_, offsets_.view(),
                  call<integral, kernels::index_offset_fn, first, index>{f, {before, index{node}}});
    };
    if (any_)
      assign(leaf<i64, D>{std::as_const(offsets_).view()});
    else
      assign(number<i64>{0});
    any_ = true;
  }
  [[nodiscard]] tensor_view<const i64, D> view() const { return offsets_.view(); }
  [[nodiscard]] tensor_view<i64, D> written() { return offsets_.view(); }
  /// From the first element to the lowest one, and the step, in elements; and how many places
  /// offsets may be.
  [[nodiscard]] i64 lowest() const { return lowest_; }
  [[nodiscard]] i64 step() const { return step_; }
  [[nodiscard]] i64 reach() const { return reach_ + 1; }

 private:
  const char* op_;
  const S& stream_;
  tensor<i64, D> offsets_;
  i64 step_;
  i64 lowest_ = 0, reach_ = 0;
  bool any_ = false;
};

/// Writes source, of the operation's sizes, to the elements, or joins it with them. Elements that
/// differ only in the `meeting` dimensions may go to one place. All checks have passed; indices out
/// of range write nothing.
template <class T, class S, class U, class J, class D>
void launch_scatter_as(const char* op, const S& stream, const indexed_elements<U, J, D>& to,
                       const tensor_view<const U, D>& source, meeting_dims meeting,
                       kernels::joining how) {
  const scatter_plan plan(source.sizes(), to.strides, source.strides(), to.index.strides(),
                          meeting);
  kernels::target<T> out{reinterpret_cast<T*>(to.base), {}};
  kernels::scatter_source<T, J> from{};
  plan.put(out, from);
  from.data = reinterpret_cast<const T*>(source.data());
  from.index = to.index.data();
  from.size = to.size;
  from.step = to.step;
  const kernels::tiling space = plan.tiles(tuning<families::index, D>::written);
  launch_config config;
  config.op = op;
  config.tiles = space.tiles;
  config.work = work_of(source.numel(), sizeof(T) + sizeof(J), 2);
  launch<kernels::scatter<T, J>>(stream, config, space, plan.walk, out, from, how);
}

/// Launches writes by threads of a SIMT device with a few steps each (kernels::write_strided).
template <class S, class Writes>
void launch_writes(const S& stream, launch_config& config, const iteration& it,
                   const Writes& writes) {
  constexpr i64 many = tuning<families::pointwise, device_of<S>>::many_vectors;
  const auto run = [&](const iteration& part, const Writes& own) {
    const kernels::strided_space space =
        strided_space_of(part, false, 1, kernels::steps_of_write, 3, many / 2);
    plan_steps<device_of<S>>(config, space.threads);
    launch<kernels::write_strided<Writes>>(stream, config, space, own);
  };
  if (it.is_small()) return run(it, writes);
  it.for_each_narrow_part([&](const iteration& part, const kernels::coordinates& first) {
    Writes own = writes;
    own.move(first);
    run(part, own);
  });
}

/// Strides for the order in which threads take a write's elements. Rows of an index lie a step
/// apart; where each element has an index of its own, the indexed dimension is innermost, so that
/// its few places meet in the cache.
inline shape write_order(int_list sizes, int_list strides, int_list index, i64 step) {
  shape r(strides);
  for (int d = 0; d < r.rank(); ++d)
    if (strides[d] != 0 && index[d] != 0 && sizes[d] != 1) return r;
  for (i64& k : r) k = k == 0 ? step : k;
  return r;
}

/// Replaces elements, as words, by many threads at once: of those that meet any one is there.
template <class S, class T, class J, class D>
void launch_scatter_words(const char* op, const S& stream, const indexed_elements<T, J, D>& to,
                          const tensor_view<const T, D>& source) {
  const int width = common_width<16>(to, layout_of(source));
  const shape sizes = sizes_in_words(source.sizes(), width),
              strides = strides_in_words(to.strides, width);
  iteration it(sizes);
  it.add(sizes, strides);
  it.add(sizes, strides_in_words(source.strides(), width));
  it.add(sizes, to.index.strides());
  it.collapse(sizes, write_order(sizes, strides, to.index.strides(), to.step / width));
  launch_config config;
  config.op = op;
  config.work = work_of(source.numel(), sizeof(T) + sizeof(J), 2);
  const auto with = [&]<class W>(W) {
    kernels::scattered_words<W, J> writes{};
    writes.out.data = reinterpret_cast<W*>(to.base);
    writes.source.data = reinterpret_cast<const W*>(source.data());
    writes.source.index = to.index.data();
    writes.source.size = to.size;
    writes.source.step = to.step / width;
    it.copy_strides(0, writes.out.strides);
    it.copy_strides(1, writes.source.strides);
    it.copy_strides(2, writes.source.index_strides);
    launch_writes(stream, config, it, writes);
  };
  if (width > 1) return with(kernels::vec<u32, 4>{});
  with(typename word_of<T>::type{});
}

/// Joins the elements of sorted places on a SIMT device, by vectors of Width elements.
template <int Width, class S, class T, class D>
void join_sorted(launch_config& config, const S& stream, T* base, int_list out_strides,
                 const tensor_view<const T, D>& source, meeting_dims meeting,
                 const kernels::sorted_places& places, const scatter_plan& plan,
                 kernels::joining how) {
  // Of the dimensions that meet the first stands for the order of the walk.
  shape sizes = sizes_in_words(source.sizes(), Width), to = strides_in_words(out_strides, Width),
        from = strides_in_words(source.strides(), Width), along(sizes);
  bool is_first = true;
  for (int d = 0; d < sizes.rank(); ++d) {
    along[d] = 0;
    if ((meeting >> d & 1u) == 0) continue;
    sizes[d] = is_first ? places.walk.count : 1;
    along[d] = is_first ? 1 : 0;
    to[d] = from[d] = 0;
    is_first = false;
  }
  iteration it(sizes);
  it.add(sizes, to);
  it.add(sizes, from);
  it.add(sizes, along);
  it.collapse(sizes, write_order(sizes, to, along, places.step / Width));
  using writes_type = kernels::joined_vectors<T, Width>;
  using word = typename writes_type::word;
  writes_type writes{};
  writes.out.data = reinterpret_cast<word*>(base);
  writes.source = reinterpret_cast<const word*>(source.data());
  writes.places = places;
  writes.how = how;
  it.copy_strides(0, writes.out.strides);
  it.copy_strides(1, writes.strides);
  it.copy_strides(2, writes.k_strides);
  copy_few(writes.source_walk, plan.source_walk, max_rank);
  launch_writes(stream, config, it, writes);
}

/// The same where elements meet, by sorting them.
template <class S, class T, class J, class D>
void launch_scatter_sorted(const char* op, const S& stream, const indexed_elements<T, J, D>& to,
                           const tensor_view<const T, D>& source, meeting_dims meeting,
                           kernels::joining how) {
  // Along a dimension in which the index changes, all elements are sorted.
  for (int d = 0; d < source.rank(); ++d)
    if (to.index.stride(d) != 0 && source.size(d) != 1) meeting |= 1u << d;
  const scatter_plan plan(source.sizes(), to.strides, source.strides(), to.index.strides(),
                          meeting);
  tensor_view<const J, D> index = to.index;
  shape strides = to.strides;  // both of the walk alone
  for (int d = source.rank() - 1; d >= 0; --d) {
    if ((meeting >> d & 1u) != 0) continue;
    index = index.select(d, 0);
    strides.erase(d);
  }
  common_step step;
  step.add(to.size, to.step);
  for (int d = 0; d < index.rank(); ++d) step.add(index.size(d), strides[d]);
  element_offsets<S, D> offsets(op, stream, index.shape_of(), step);
  offsets.add(leaf<J, D>{index}, to.size, to.step, false);
  for (int d = 0; d < index.rank(); ++d)
    if (strides[d] != 0 && index.size(d) != 1)
      offsets.add(coordinate<D>(index.shape_of(), d), index.size(d), strides[d], false);
  const auto keys = offsets.written().view({plan.walk.count});
  auto order = empty<i64>(stream, {plan.walk.count}, op);
  // Less than all bits are set in a place, and all in -1.
  const int bits = static_cast<int>(std::bit_width(static_cast<u64>(offsets.reach())));
  sort_into(op, stream, tensor_view<const i64, D>(keys), keys, order.view(), 0, false, bits);

  const kernels::sorted_places places{keys.data(), order.data(), plan.walk, offsets.step()};
  T* const base = to.base + offsets.lowest();
  launch_config config;
  config.op = op;
  config.work = work_of(source.numel(), sizeof(T) + sizeof(i64), 2);
  if constexpr (has_simt<D>) {
    constexpr int width = kernels::vec_size<T>;
    if (width > 1 && common_width<16>(to, layout_of(source)) == width)
      join_sorted<width>(config, stream, base, to.strides, source, meeting, places, plan, how);
    else
      join_sorted<1>(config, stream, base, to.strides, source, meeting, places, plan, how);
  } else {
    using kernel = kernels::scatter_sorted<T>;
    kernels::target<T> out{base, {}};
    kernels::scatter_source<T, i64> from{};
    plan.put(out, from);
    from.data = source.data();
    const kernels::tiling space = plan.tiles(tuning<families::index, D>::written);
    config.tiles = kernel::tiles(space, plan.walk.count);
    launch<kernel>(stream, config, space, places, out, from, how);
  }
}

/// By the kernels that suit: what only replaces moves words; sums of small floats are rounded once,
/// so they are sorted, as is all that meets on a device of many threads.
template <class S, class T, class J, class D>
void launch_scatter(const char* op, const S& stream, const indexed_elements<T, J, D>& to,
                    const tensor_view<const T, D>& source, meeting_dims meeting,
                    kernels::joining how) {
  const bool replaces = how == kernels::joining::replace;
  if constexpr (has_simt<D>) {
    if (replaces) return launch_scatter_words(op, stream, to, source);
    launch_scatter_sorted(op, stream, to, source, meeting, how);
  } else {
    if (replaces)
      return launch_scatter_as<typename word_of<T>::type>(op, stream, to, source, meeting, how);
    if constexpr (kernels::is_small_float<T>)
      launch_scatter_sorted(op, stream, to, source, meeting, how);
    else
      launch_scatter_as<T>(op, stream, to, source, meeting, how);
  }
}

/// Joins along dimension d where each element has an index of its own and lines fit in block-local
/// memory; false, having written nothing, if it does not apply.
template <class S, class T, class J, class D>
bool launch_joined_lines(const char* op, const S& stream, tensor_view<T, D> out, int d,
                         tensor_view<const J, D> index, tensor_view<const T, D> source,
                         kernels::joining how) {
  using kernel = kernels::join_lines<T, J>;
  using numbers = tuning<families::index, D>;
  const i64 count = index.size(d), size = out.size(d), lines = index.numel() / count;
  constexpr i64 most = numbers::line_bytes / static_cast<i64>(sizeof(typename kernel::C));
  if (size > most || size / numbers::line_share > count || lines < numbers::least_rows)
    return false;
  const int last = index.rank() - 1;
  for (int k = 0; k <= last; ++k) {
    if (index.size(k) != 1 && index.stride(k) == 0) return false;  // to sort it is less
    if (k != d) out = out.narrow(k, 0, index.size(k));
  }
  out = out.transpose(d, last);
  index = index.transpose(d, last);
  source = source.transpose(d, last);
  const auto join = [&](const auto& to, const auto& at, const auto& from) {
    const shape sizes = at.select(last, 0).shape_of();
    iteration it(sizes);
    it.add(sizes, to.select(last, 0).strides());
    it.add(sizes, from.select(last, 0).strides());
    it.add(sizes, at.select(last, 0).strides());
    it.collapse();
    kernels::line_space space{it.rank(),
                              lines,
                              {},
                              {},
                              {},
                              {},
                              size,
                              count,
                              to.stride(last),
                              from.stride(last),
                              static_cast<int>(std::bit_width(static_cast<u64>(size - 1)))};
    for (int k = 0; k < it.rank(); ++k) space.sizes[k] = it.size(k);
    it.copy_strides(0, space.strides);
    it.copy_strides(1, space.source);
    it.copy_strides(2, space.index);
    launch_config config;
    config.op = op;
    config.tiles = lines;
    config.threads = kernels::block_warp(D::geometry::warp_size);
    config.scratch = scratch_bytes<typename kernel::C>(size);
    config.work = work_of(source.numel(), sizeof(T) + sizeof(J), 2);
    launch<kernel>(stream, config, space, to.data(), from.data(), at.data(), how);
  };
  if (index.stride(last) == 1 || count == 1) return join(out, index, source), true;
  // Lines become neighbours, as an access to each element alone would cost a sector.
  auto to = copied<T>(op, stream, out);
  const auto at = copied<J>(op, stream, index);
  const auto from = copied<T>(op, stream, source);
  join(to.view(), at.view(), from.view());
  copy_unless_same(op, stream, out, input_of(to));
  return true;
}

/// Joins small floats along dimension d on vector workers, where all lie in contiguous lines;
/// false, having written nothing, if they do not, or a line's sums would not stay in the cache.
template <class S, class T, class J, class D>
bool launch_small_lines(const char* op, const S& stream, const tensor_view<T, D>& out, int d,
                        const tensor_view<const J, D>& index, const tensor_view<const T, D>& source,
                        kernels::joining how) {
  using numbers = tuning<families::index, D>;
  const i64 count = index.size(d), size = out.size(d);
  if (out.stride(d) != 1 || index.stride(d) != 1 || source.stride(d) != 1 ||
      size > numbers::line_bytes / i64{sizeof(f32)} || size / numbers::widened > count)
    return false;
  const shape sizes = index.select(d, 0).shape_of();
  iteration it(sizes);
  it.add(sizes, out.select(d, 0).strides());
  it.add(sizes, source.select(d, 0).strides());
  it.add(sizes, index.select(d, 0).strides());
  it.collapse();
  kernels::target<T> to{out.data(), {}};
  kernels::scatter_source<T, J> from{};
  it.copy_strides(0, to.strides);
  it.copy_strides(1, from.strides);
  it.copy_strides(2, from.index_strides);
  from.data = source.data();
  from.index = index.data();
  from.size = size;
  const kernels::tiling space = it.tiles(1);
  using kernel = kernels::scatter_lines<T, J>;
  launch_config config;
  config.op = op;
  config.tiles = space.tiles;
  config.scratch = scratch_bytes<f32>(size) + scratch_bytes<f32>(kernel::piece);
  config.work = work_of(source.numel(), sizeof(T) + sizeof(J), 2);
  launch<kernel>(stream, config, space, to, from, count, how);
  return true;
}

/// Whether an index moves rows of neighbours along another dimension.
template <class T, class J, class D>
bool moves_rows(const tensor_view<T, D>& out, int dim, const tensor_view<const J, D>& index,
                const tensor_view<const T, D>& source) {
  constexpr i64 least = 8;  // elements
  for (int d = 0; d < index.rank(); ++d)
    if (d != dim && index.stride(d) == 0 && index.size(d) >= least && out.stride(d) == 1 &&
        source.stride(d) == 1)
      return true;
  return false;
}

/// Writes source along a dimension of out, at an index of its sizes. Sums of small floats that are
/// not small beside out are of a copy of it in f32: in the same order, and rounded once as well.
template <class S, class T, class J, class D>
void launch_scatter_along(const char* op, const S& stream, const tensor_view<T, D>& out, int dim,
                          const tensor_view<const J, D>& index,
                          const tensor_view<const T, D>& source, kernels::joining how) {
  const meeting_dims meeting = meeting_dims{1} << dim;
  if constexpr (!has_simt<D> && kernels::is_small_float<T>) {
    if (how != kernels::joining::replace &&
        launch_small_lines(op, stream, out, dim, index, source, how))
      return;
    if (how != kernels::joining::replace && !moves_rows(out, dim, index, source) &&
        out.numel() / tuning<families::index, D>::widened <= source.numel()) {
      auto sums = empty<f32>(stream, out.shape_of(), op);
      auto values = empty<f32>(stream, source.shape_of(), op);
      assign_node(op, stream, sums.view(), cast<f32>(out).node);
      assign_node(op, stream, values.view(), cast<f32>(source).node);
      launch_scatter_as<f32>(op, stream, elements_along(sums.view(), dim, index),
                             std::as_const(values).view(), meeting, how);
      return assign_node(op, stream, out, cast<T>(sums).node);
    }
  }
  if constexpr (has_simt<D>)
    if (how != kernels::joining::replace &&
        launch_joined_lines(op, stream, out, dim, index, source, how))
      return;
  launch_scatter(op, stream, elements_along(out, dim, index), source, meeting, how);
}

}  // namespace flaggems::detail
