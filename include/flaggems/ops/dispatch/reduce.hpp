// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How reductions are computed: by workers that share results or parts of them on vector workers;
// along or across rows on SIMT devices.
#pragma once

#include <flaggems/detail/host_resources.hpp>
#include <flaggems/launch/host_entry.hpp>
#include <flaggems/ops/dispatch/simt_reduce.hpp>
#include <flaggems/ops/plan/reduce.hpp>

#include <optional>

namespace flaggems::detail {

template <class T, class D>
kernels::target<T> reduction_target(const reduction_layout& layout, const tensor_view<T, D>& out) {
  kernels::target<T> t{out.data(), {}};
  layout.all.copy_strides(0, t.strides);
  return t;
}

/// A contiguous [outputs, parts] buffer as the place of partial results.
template <class T>
FLAGGEMS_NOINLINE kernels::target<T> partial_target(const kernels::reduction_space& space,
                                                    T* data) {
  kernels::target<T> t{data, {}};
  i64 stride = space.parts;
  for (int d = space.kept_rank - 1; d >= 0; --d) {
    t.strides[d] = stride;
    stride *= space.kept_sizes[d];
  }
  t.strides[space.kept_rank + space.reduced_rank] = 1;
  return t;
}

/// `sink` is where results go, `parts` where the partial results of a cut reduction do; the
/// kernels are few because each is compiled for every instruction set of the host.
template <class Reducer, class C, class S, class E, class Index, class Sink, class Parts>
void launch_reduction(const char* op, const S& stream, const reduction_layout& layout, const E& e,
                      const Index& index, const Sink& sink, const Parts& parts) {
  launch_config config;
  config.op = op;
  config.work = work_of(layout.elements, 8);
  if (layout.lanes_reduced) {
    using either = kernels::either_sink<Sink, Parts>;
    config.tiles = layout.space.outputs * layout.space.parts;
    launch<kernels::reduce_inner<Reducer, E, Index, either>>(
        stream, config, layout.space, e, index, either{sink, parts, layout.space.parts > 1});
  } else {
    config.tiles = layout.space.outputs;
    const i64 chunk = layout.space.chunk, levels = kernels::column_levels(layout.space.steps);
    // Three times states, or values and indices; of 32 bits, all levels.
    config.scratch = kernels::max_of(3 * scratch_bytes<i64>(chunk),
                                     kernels::has_group_parts<C>
                                         ? scratch_bytes<C>(levels * kernels::column_states(chunk))
                                         : i64{0});
    launch<kernels::reduce_outer<Reducer, E, Index, Sink>>(stream, config, layout.space, e, index,
                                                           sink);
  }
}
/// The second half of a cut reduction.
template <class Reducer, class C, class S, class Sink>
void launch_parts(const char* op, const S& stream, const kernels::reduction_space& space,
                  const C* values, const i64* indices, const Sink& sink) {
  launch_config config;
  config.op = op;
  config.tiles = space.outputs;
  config.work = work_of(space.outputs, kernels::max_of(space.parts, i64{1}), 8);
  launch<kernels::reduce_parts<Reducer, C, Sink>>(stream, config, space, values, indices, sink);
}
/// Results of no elements: those of no parts.
template <class Reducer, class C, class S, class T, class D, class Sink>
void launch_no_parts(const char* op, const S& stream, const tensor_view<T, D>& out, Sink sink) {
  kernels::reduction_space space{};
  space.outputs = out.numel();
  sink.out = {out.data(), {}};
  for (int d = 0; d < out.rank(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    if (out.sizes()[at] == 1) continue;  // as a reduced one is: at most seven are left
    sink.out.strides[space.kept_rank] = out.strides()[at];
    space.kept_sizes[space.kept_rank++] = out.sizes()[at];
  }
  launch_parts<Reducer, C>(op, stream, space, nullptr, nullptr, sink);
}

/// Memory for the partial results of a cut reduction: the thread's where its launches end before
/// they return, else the pool's.
template <class D>
using partial_memory = std::conditional_t<is_synchronous<D>, unsigned char*, pool_block<D>>;
template <class D, class S>
FLAGGEMS_NOINLINE unsigned char* allocate_partials(const char* op, [[maybe_unused]] const S& stream,
                                                   i64 bytes, partial_memory<D>& memory) {
  if constexpr (is_synchronous<D>) {
    memory = thread_scratch(bytes);
    if (memory == nullptr)
      raise(errc::out_of_memory, op, text(bytes) + " bytes for partial results", "none");
    return memory;
  } else {
    memory = pool_block<D>(bytes, ref(stream), op);
    return static_cast<unsigned char*>(memory.data());
  }
}

template <class Reducer, class C, bool Indexed, class S, class Node, class T, class D, class Sink>
void run_reduction(const char* op, const S& stream, const reduction_layout& layout,
                   const Node& node, const tensor_view<T, D>& out, Sink sink) {
  int next = 1;
  const auto e = node.template build<C>(layout.all, next);
  sink.out = reduction_target(layout, out);
  const kernels::reduction_space& space = layout.space;
  const bool cut = space.parts > 1;
  partial_memory<D> memory{};
  i64* indices = nullptr;  // and values: partial results
  C* values = nullptr;
  if (cut) {
    const i64 count = space.outputs * space.parts, places = Indexed ? count : 0;
    const i64 bytes = places * i64{sizeof(i64)} + count * i64{sizeof(C)};
    indices = reinterpret_cast<i64*>(allocate_partials<D>(op, stream, bytes, memory));
    values = reinterpret_cast<C*>(indices + places);
  }
  std::optional<inside_launch> kept;  // the thread's memory, from what functors call
  if constexpr (is_synchronous<D>)
    if (cut) kept.emplace();
  const auto to_values = partial_target(space, values);
  if constexpr (Indexed) {
    const auto to_indices = partial_target(space, indices);
    kernels::position<i64> index{};
    layout.all.copy_strides(next, index.strides);
    launch_reduction<Reducer, C>(op, stream, layout, e, index, sink,
                                 kernels::indexed_state_sink<C>{to_values, to_indices});
  } else {
    launch_reduction<Reducer, C>(op, stream, layout, e, kernels::no_index{}, sink,
                                 kernels::state_sink<C>{to_values});
  }
  if (cut)
    launch_parts<Reducer, C>(op, stream, space, static_cast<const C*>(values),
                             static_cast<const i64*>(indices), sink);
}

template <class Reducer, class C, class S, class Node, class T, class Sink>
void run_dense_reduction(const char* op, const S& stream, const dense_rows& dense, const Node& node,
                         T* out, Sink sink) {
  int next = 1;
  const auto e = node.template build<C>(flat_space{}, next);
  sink.out = {out, {1}};
  launch_config config;
  config.op = op;
  config.tiles = dense.rows;
  config.work = work_of(dense.rows, dense.length, 8);
  launch<kernels::reduce_rows<Reducer, std::remove_const_t<decltype(e)>, Sink>>(
      stream, config, dense.rows, dense.length, e, sink);
}

/// A reduction of contiguous rows by the kernels that suit the device.
template <class Reducer, class C, class S, class Node, class T, class Sink>
void launch_dense_reduction(const char* op, const S& stream, const dense_rows& dense,
                            layout_list in, const Node& node, T* out, const Sink& sink) {
  if constexpr (has_vectors<device_of<S>>)
    run_dense_reduction<Reducer, C>(op, stream, dense, node, out, sink);
  else
    run_simt_reduction<Reducer, C>(op, stream, simt_rows(dense), in, node, out, sink);
}
/// Any reduction; all checks have passed, and there are elements to reduce.
template <class Reducer, class C, bool Indexed, class S, class Node, class T, class D, class Sink>
void launch_reduction(const char* op, const S& stream, const reduced_dims& plan,
                      const memory_layout& to, layout_list in, const Node& node,
                      const tensor_view<T, D>& out, const Sink& sink) {
  reduction_layout layout = plan_reduction(plan, to, in, Indexed);
  if constexpr (has_vectors<D>) {
    layout.template cut<D>();
    run_reduction<Reducer, C, Indexed>(op, stream, layout, node, out, sink);
  } else {
    const auto run = [&](const auto& operands) {
      run_simt_reduction<Reducer, C>(op, stream, operands, in, node, out.data(), sink);
    };
    if (layout.space.kept_rank <= 1 && layout.space.reduced_rank <= 1)
      run(simt_plane(layout));
    else
      run(simt_space{layout.all, layout.space, layout.lanes_reduced});
  }
}

// Reductions of f32 that flaggems::compiled has.
using sink_f32 = kernels::value_sink<f32, f32>;
using either_f32 = kernels::either_sink<sink_f32, kernels::state_sink<f32>>;
#define FLAGGEMS_REDUCTION_ONCE(reducer)                                                       \
  FLAGGEMS_KERNEL_ONCE(                                                                        \
      kernels::reduce_rows<kernels::reducer<f32>, kernels::flat_arg<f32, f32>, sink_f32>, i64, \
      i64, kernels::flat_arg<f32, f32>, sink_f32);                                             \
  FLAGGEMS_KERNEL_ONCE(kernels::reduce_inner<kernels::reducer<f32>, kernels::arg<f32, f32>,    \
                                             kernels::no_index, either_f32>,                   \
                       kernels::reduction_space, kernels::arg<f32, f32>, kernels::no_index,    \
                       either_f32);                                                            \
  FLAGGEMS_KERNEL_ONCE(kernels::reduce_outer<kernels::reducer<f32>, kernels::arg<f32, f32>,    \
                                             kernels::no_index, sink_f32>,                     \
                       kernels::reduction_space, kernels::arg<f32, f32>, kernels::no_index,    \
                       sink_f32);                                                              \
  FLAGGEMS_KERNEL_ONCE(kernels::reduce_parts<kernels::reducer<f32>, f32, sink_f32>,            \
                       kernels::reduction_space, const f32*, const i64*, sink_f32)

}  // namespace flaggems::detail
