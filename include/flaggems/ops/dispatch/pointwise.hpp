// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How a formula is computed: by tiles on vector workers; by vector accesses of contiguous or
// strided elements on SIMT devices.
#pragma once

#include <flaggems/launch/host_entry.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/streaming.hpp>
#include <flaggems/ops/dispatch/steps.hpp>

namespace flaggems::detail {

/// Whether functors are called with vectors on D, which is void for numbers alone.
template <class D>
inline constexpr bool calls_with_vectors = has_vectors<D>;
template <>
inline constexpr bool calls_with_vectors<void> = false;

/// out = e on a SIMT device, for contiguous operands, and for any; there are elements, and all
/// checks have passed.
template <class S, class T, class E>
void launch_flat(const S& stream, launch_config& config, i64 n, T* out, const E& e) {
  constexpr i64 many = tuning<families::pointwise, device_of<S>>::many_vectors;
  using plain = kernels::pointwise_vectors<T, E, kernels::operand_vectors::aligned, many>;
  const i64 vectors = kernels::ceil_div(n, i64{kernels::common_vec_size<T, E>});
  plan_steps<device_of<S>>(config, vectors, vectors < many ? 1 : kernels::vectors_per_thread<T, E>);
  if (plain::fits(out, e))
    launch<plain>(stream, config, n, out, e);
  else
    launch<kernels::pointwise_vectors<T, E, kernels::operand_vectors::misaligned, many>>(
        stream, config, n, out, e);
}
/// The first `operands` leaves are vectorizable; later ones are constant within a vector if
/// `vectorized`.
template <class S, class T, class E>
void launch_strided(const S& stream, launch_config& config, const iteration& it,
                    layout_list operands, const kernels::target<T>& out, const E& e,
                    bool vectorized = true) {
  constexpr int size = kernels::common_vec_size<T, E>;
  constexpr i64 many = tuning<families::pointwise, device_of<S>>::many_vectors;
  const auto run = [&](const iteration& part, i64 first, const kernels::target<T>& to,
                       const E& from) {
    const bool is_vectorized = vectorized && is_vectorizable(part, first, size, operands);
    const kernels::strided_space space =
        strided_space_of(part, is_vectorized, size, kernels::steps_per_thread(is_vectorized),
                         static_cast<int>(operands.size()), many / 2);
    plan_steps<device_of<S>>(config, space.threads);
    launch<kernels::pointwise_strided<T, E>>(stream, config, space, to, from);
  };
  if (it.is_small()) return run(it, 0, out, e);
  it.for_each_narrow_part([&](const iteration& part, const kernels::coordinates& first) {
    kernels::target<T> to = out;
    E from = e;
    to.move(first);
    from.move(first);
    run(part, first.inner, to, from);
  });
}

/// The tiles of an assignment for workers with vectors; config.work is known.
template <class D>
FLAGGEMS_NOINLINE kernels::tiling plan_tiles(launch_config& config, const iteration& it,
                                             bool in_place) {
  kernels::tiling space = it.tiles(tuning<families::pointwise, D>::tile, kernels::transposed_rows);
  config.tiles = space.tiles;
  space.streamed = !in_place && is_streamed<D>(config.work);
  return space;
}

/// out = e where all n elements are contiguous, by the kernels that suit the device; config.work is
/// known.
template <class T, class E, class S>
void launch_contiguous(const S& stream, launch_config& config, i64 n, bool in_place, T* out,
                       const E& e) {
  using D = device_of<S>;
  if constexpr (has_vectors<D>) {
    config.tiles = kernels::ceil_div(n, kernels::flat_chunk);
    launch<kernels::pointwise_flat<T, E>>(stream, config, n,
                                          !in_place && is_streamed<D>(config.work), out, e);
  } else {
    launch_flat(stream, config, n, out, e);
  }
}
/// The same for any strides.
template <class T, class E, class S>
void launch_any(const S& stream, launch_config& config, const iteration& it, bool in_place,
                layout_list operands, const kernels::target<T>& out, const E& e) {
  using D = device_of<S>;
  if constexpr (has_vectors<D>) {
    const kernels::tiling space = plan_tiles<D>(config, it, in_place);
    launch<kernels::pointwise<T, E>>(stream, config, space, out, e);
  } else {
    launch_strided(stream, config, it, operands, out, e);
  }
}

// Kernels of f32 that flaggems::compiled has: of contiguous operands, and of any.
using flat_f32 = kernels::flat_arg<f32, f32>;
using any_f32 = kernels::arg<f32, f32>;
using number_f32 = kernels::literal<f32>;
template <class F, class... Operands>
using node_f32 = kernels::node<f32, F, Operands...>;
#define FLAGGEMS_FLAT_ONCE(...)                                                              \
  FLAGGEMS_KERNEL_ONCE(kernels::pointwise_flat<f32, node_f32<__VA_ARGS__>>, i64, bool, f32*, \
                       node_f32<__VA_ARGS__>)
#define FLAGGEMS_ANY_ONCE(...)                                                          \
  FLAGGEMS_KERNEL_ONCE(kernels::pointwise<f32, node_f32<__VA_ARGS__>>, kernels::tiling, \
                       kernels::target<f32>, node_f32<__VA_ARGS__>)
#define FLAGGEMS_UNARY_ONCE(functor)              \
  FLAGGEMS_FLAT_ONCE(kernels::functor, flat_f32); \
  FLAGGEMS_ANY_ONCE(kernels::functor, any_f32)
/// Of two tensors, and of a tensor and a number.
#define FLAGGEMS_BINARY_ONCE(functor)                         \
  FLAGGEMS_FLAT_ONCE(kernels::functor, flat_f32, flat_f32);   \
  FLAGGEMS_FLAT_ONCE(kernels::functor, flat_f32, number_f32); \
  FLAGGEMS_ANY_ONCE(kernels::functor, any_f32, any_f32);      \
  FLAGGEMS_ANY_ONCE(kernels::functor, any_f32, number_f32)

}  // namespace flaggems::detail
