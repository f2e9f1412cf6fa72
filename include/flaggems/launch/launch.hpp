// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/device/execution.hpp>
#include <flaggems/device/launch_config.hpp>
#include <flaggems/device/stream.hpp>
#include <flaggems/launch/hooks.hpp>
#include <flaggems/launch/implementation.hpp>

#include <type_traits>

namespace flaggems {

namespace detail {
/// Device types whose launches take the current device as an argument.
template <class Device>
concept launches_on_current = requires(typename Device::stream_handle stream,
                                       const launch_config& config) {
  Device::template launch_on<probe_kernel>(0, stream, config);
};

[[noreturn]] FLAGGEMS_COLD_ONCE void raise_launch_config(const launch_config& config) {
  raise(errc::invalid_argument, config.op,
        "a launch of a cluster from 1 on, and of threads and scratch from 0 on",
        text("a cluster of ") + text(config.cluster) + ", " + text(config.threads) +
            " threads, scratch " + text(config.scratch));
}
}  // namespace detail

/// Runs `Kernel::run(block, args...)` on every block of a launch, in stream order.
///
/// `config.tiles` logical blocks are distributed over as many blocks as suit the device; a kernel
/// strides over them with `block.for_each_tile`. Zero tiles do nothing. Raises invalid_argument for
/// a cluster of no blocks and negative threads or scratch, driver_error, naming `config.op`, if the
/// device refuses. Arguments are copied.
template <class Kernel, stream_like S, class... Args>
void launch(const S& stream, const launch_config& config, const Args&... args) {
  using device = device_of<S>;
  // (g++ 12 treats closures as not trivially copyable after an assignability query.)
  static_assert(((std::is_trivially_copy_constructible_v<Args> &&
                  std::is_trivially_destructible_v<Args>)&&...),
                "flaggems: a kernel's argument is not trivially copyable");
  static_assert(execution_model<device> != execution::vector_core,
                "flaggems: kernels have no form for execution::vector_core yet");
  if (config.cluster < 1 || config.threads < 0 || config.scratch < 0) [[unlikely]]
    detail::raise_launch_config(config);
  if (config.tiles <= 0) return;
  detail::report_candidate<Kernel>(config.op, device::name, config.tiles);
  const stream_ref<device> on = ref(stream);
  const detail::on_device<device> scope(on.device_index());
  if constexpr (detail::launches_on_current<device>)
    device::template launch_on<Kernel>(on.device_index(), on.handle(), config, args...);
  else
    device::template launch<Kernel>(on.handle(), config, args...);
}

/// How many blocks of a launch are resident on the stream's device at once, by their registers and
/// block-local memory: for persistent kernels and workspaces with a slice per block. At most
/// `config.tiles`, which is the result where the device type cannot tell.
template <class Kernel, stream_like S, class... Args>
[[nodiscard]] i64 resident_blocks(const S& stream, const launch_config& config,
                                  const Args&... args) {
  using device = device_of<S>;
  if constexpr (requires { device::template resident_blocks_on<Kernel>(0, config, args...); }) {
    const stream_ref<device> on = ref(stream);
    const detail::on_device<device> scope(on.device_index());
    const i64 blocks =
        device::template resident_blocks_on<Kernel>(on.device_index(), config, args...);
    return blocks < config.tiles ? blocks : config.tiles;
  } else {
    return config.tiles;
  }
}

/// The largest launch_config::cluster that the stream's device supports for a kernel: 1 without
/// clusters.
template <class Kernel, stream_like S, class... Args>
[[nodiscard]] int most_cluster(const S& stream, const launch_config& config, const Args&... args) {
  using device = device_of<S>;
  if constexpr (requires { device::template most_cluster_on<Kernel>(0, config, args...); })
    return device::template most_cluster_on<Kernel>(ref(stream).device_index(), config, args...);
  else if constexpr (device::capabilities::clusters)
    return device::properties(ref(stream).device_index()).max_cluster;
  else
    return 1;
}

/// The threads of a block that a kernel's code for the stream's device takes: fewer than it was
/// written for say that it was compiled for a target without what it needs.
template <class Kernel, stream_like S, class... Args>
[[nodiscard]] int most_threads(const S& stream, const launch_config& config, const Args&... args) {
  using device = device_of<S>;
  if constexpr (requires { device::template most_threads_on<Kernel>(0, config, args...); }) {
    const stream_ref<device> on = ref(stream);
    const detail::on_device<device> scope(on.device_index());
    return device::template most_threads_on<Kernel>(on.device_index(), config, args...);
  } else {
    return device::properties(ref(stream).device_index()).max_threads_per_block;
  }
}

/// The bytes of `launch_config::scratch` that `block.scratch<T>(n)` takes on any device.
template <class T>
[[nodiscard]] constexpr i64 scratch_bytes(i64 n) noexcept {
  return (n * static_cast<i64>(sizeof(T)) + 128 + 63) / 64 * 64;
}

}  // namespace flaggems
