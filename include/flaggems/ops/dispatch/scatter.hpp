// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How elements are read and written at indices that stand for a dimension of each element: reads by
// the kernels of lookups; writes by one thread for each place, or sorted.
#pragma once

#include <flaggems/kernel/family/index/scatter.hpp>
#include <flaggems/ops/dispatch/index_select.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/triangle.hpp>

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

/// out = the elements. There are some, and all checks have passed; an index out of range gives 0.
template <class S, class T, class J, class D>
void launch_gather(const char* op, const S& stream, const indexed_elements<const T, J, D>& x,
                   const tensor_view<T, D>& out) {
  using word = typename word_of<T>::type;
  iteration it(out.sizes());
  it.add(out.sizes(), out.strides());
  it.add(out.sizes(), x.strides);
  it.add(out.sizes(), x.index.strides());
  it.collapse();
  kernels::target<word> to{reinterpret_cast<word*>(out.data()), {}};
  kernels::lookup<word, J> from{};
  from.data = reinterpret_cast<const word*>(x.base);
  from.index = x.index.data();
  from.size = x.size;
  from.step = x.step;
  it.copy_strides(0, to.strides);
  it.copy_strides(1, from.strides);
  it.copy_strides(2, from.index_strides);
  launch_config config;
  config.op = op;
  config.work = work_of(it.numel(), sizeof(T), 2);
  if constexpr (has_vectors<D>) {
    kernels::tiling space = it.tiles(tuning<families::index, D>::tile);
    config.tiles = space.tiles;
    launch<kernels::index_select<word, J>>(stream, config, space, to, from);
  } else {
    const memory_layout layouts[] = {layout_of(out)};
    if (x.size == 0)
      return launch_strided(stream, config, it, layouts, to, kernels::literal<word>{0});
    launch_strided(stream, config, it, layouts, to, kernels::looked_up<word, J>{from}, false);
  }
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

/// The elements' offsets from the lowest address of x, in new memory of the sizes of an index:
/// add(v, size, stride, wraps) adds a dimension whose indices are v's, an index or a coordinate.
template <class S, class D>
class element_offsets {
 public:
  element_offsets(const char* op, const S& stream, const shape& sizes)
      : op_(op), stream_(stream), offsets_(empty<i64>(stream, sizes, op)) {}

  template <class Node>
  void add(const Node& node, i64 size, i64 stride, bool wraps) {
    using index =
        std::conditional_t<std::is_same_v<typename Node::element, i64>, Node, as_type<i64, Node>>;
    const i64 bias = stride < 0 ? -(size - 1) * stride : 0;
    lowest_ -= bias;
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
  /// From the first element to the lowest one; and how many places offsets may be.
  [[nodiscard]] i64 lowest() const { return lowest_; }
  [[nodiscard]] i64 reach() const { return reach_ + 1; }

 private:
  const char* op_;
  const S& stream_;
  tensor<i64, D> offsets_;
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
  // A device of many threads writes all at once; elements of one place are then in any order.
  if (has_simt<D> && how == kernels::joining::replace) meeting = 0;
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
  config.threads = tuning<families::index, D>::writing_threads;
  launch<kernels::scatter<T, J>>(stream, config, space, plan.walk, out, from, how);
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
  element_offsets<S, D> offsets(op, stream, index.shape_of());
  offsets.add(leaf<J, D>{index}, to.size, to.step, false);
  for (int d = 0; d < index.rank(); ++d)
    if (strides[d] != 0 && index.size(d) != 1)
      offsets.add(coordinate<D>(index.shape_of(), d), index.size(d), strides[d], false);
  const auto keys = offsets.written().view({plan.walk.count});
  auto order = empty<i64>(stream, {plan.walk.count}, op);
  sort_into(op, stream, tensor_view<const i64, D>(keys), keys, order.view(), 0, false);

  using kernel = kernels::scatter_sorted<T>;
  kernels::target<T> out{to.base + offsets.lowest(), {}};
  kernels::scatter_source<T, i64> from{};
  plan.put(out, from);
  from.data = source.data();
  const kernels::tiling space = plan.tiles(tuning<families::index, D>::written);
  launch_config config;
  config.op = op;
  config.tiles = kernel::tiles(space, plan.walk.count);
  config.work = work_of(source.numel(), sizeof(T) + sizeof(i64), 2);
  config.threads = tuning<families::index, D>::writing_threads;
  launch<kernel>(stream, config, space,
                 kernels::sorted_places{keys.data(), order.data(), plan.walk}, out, from, how);
}

/// By the kernels that suit: what only replaces moves words; sums of small floats are rounded once,
/// so they are sorted, as is all that meets on a device of many threads.
template <class S, class T, class J, class D>
void launch_scatter(const char* op, const S& stream, const indexed_elements<T, J, D>& to,
                    const tensor_view<const T, D>& source, meeting_dims meeting,
                    kernels::joining how) {
  if (how == kernels::joining::replace)
    launch_scatter_as<typename word_of<T>::type>(op, stream, to, source, meeting, how);
  else if constexpr (has_simt<D> || kernels::is_small_float<T>)
    launch_scatter_sorted(op, stream, to, source, meeting, how);
  else
    launch_scatter_as<T>(op, stream, to, source, meeting, how);
}

}  // namespace flaggems::detail
