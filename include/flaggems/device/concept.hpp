// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The requirements on a device type: a struct of static functions, constants and four policies.
//
// Functions that fail raise driver_error with the driver's code and text, except that `allocate`
// returns null when memory is exhausted; functions that destroy or deallocate never raise.
#pragma once

#include <flaggems/device/launch_config.hpp>
#include <flaggems/device/properties.hpp>

#include <concepts>
#include <string_view>

namespace flaggems {

namespace detail {

/// An empty kernel, to check `launch`.
struct probe_kernel {
  template <class Block>
  static void run(const Block&) {}
};

// One concept per member, so that a missing one can be named. `stream_of<D>` is a declared value.
template <class D>
concept has_stream_handle = std::regular<typename D::stream_handle>;
template <class D>
concept has_event_handle = std::regular<typename D::event_handle>;

// identity
template <class D>
concept has_name = requires {
  { D::name } -> std::convertible_to<const char*>;
};
template <class D>
concept has_torch_device_type = requires {
  { D::torch_device_type } -> std::convertible_to<int>;
};
template <class D>
concept has_dlpack_device_type = requires {
  { D::dlpack_device_type } -> std::convertible_to<int>;
};

// discovery
template <class D>
concept has_device_count = requires {
  { D::device_count() } -> std::same_as<int>;
};
template <class D>
concept has_unavailable_reason = requires {
  { D::unavailable_reason() } -> std::convertible_to<std::string_view>;
};
template <class D>
concept has_current_device = requires {
  { D::current_device() } -> std::same_as<int>;
};
template <class D>
concept has_set_device = requires {
  { D::set_device(0) } -> std::same_as<void>;
};
template <class D>
concept has_properties = requires {
  { D::properties(0) } -> std::convertible_to<device_properties>;
};

// memory
template <class D>
concept has_allocate = requires(typename D::stream_handle s) {
  { D::allocate(i64{}, s) } -> std::same_as<void*>;
};
template <class D>
concept has_deallocate = requires(typename D::stream_handle s, void* p) {
  { D::deallocate(p, i64{}, s) }
  noexcept->std::same_as<void>;
};
template <class D>
concept has_copy = requires(typename D::stream_handle s, void* to, const void* from) {
  { D::copy(to, from, i64{}, copy_kind{}, s) } -> std::same_as<void>;
};
template <class D>
concept has_fill = requires(typename D::stream_handle s, void* p) {
  { D::fill(p, int{}, i64{}, s) } -> std::same_as<void>;
};

// streams
template <class D>
concept has_create_stream = requires {
  { D::create_stream(0) } -> std::same_as<typename D::stream_handle>;
};
template <class D>
concept has_destroy_stream = requires(typename D::stream_handle s) {
  { D::destroy_stream(s) }
  noexcept->std::same_as<void>;
};
template <class D>
concept has_synchronize = requires(typename D::stream_handle s) {
  { D::synchronize(s) } -> std::same_as<void>;
};
template <class D>
concept has_query = requires(typename D::stream_handle s) {
  { D::query(s) } -> std::same_as<bool>;
};
template <class D>
concept has_default_stream = requires {
  { D::default_stream() } -> std::same_as<typename D::stream_handle>;
};

// events
template <class D>
concept has_create_event = requires {
  { D::create_event() } -> std::same_as<typename D::event_handle>;
};
template <class D>
concept has_destroy_event = requires(typename D::event_handle e) {
  { D::destroy_event(e) }
  noexcept->std::same_as<void>;
};
template <class D>
concept has_record = requires(typename D::event_handle e, typename D::stream_handle s) {
  { D::record(e, s) } -> std::same_as<void>;
};
template <class D>
concept has_wait = requires(typename D::event_handle e, typename D::stream_handle s) {
  { D::wait(s, e) } -> std::same_as<void>;
};
template <class D>
concept has_synchronize_event = requires(typename D::event_handle e) {
  { D::synchronize_event(e) } -> std::same_as<void>;
};
template <class D>
concept has_query_event = requires(typename D::event_handle e) {
  { D::query_event(e) } -> std::same_as<bool>;
};
template <class D>
concept has_elapsed_ms = requires(typename D::event_handle e) {
  { D::elapsed_ms(e, e) } -> std::convertible_to<double>;
};

// errors, launch
template <class D>
concept has_error_text = requires {
  { D::error_text(0) } -> std::convertible_to<std::string_view>;
};
template <class D>
concept has_launch = requires(typename D::stream_handle s, const launch_config& config) {
  { D::template launch<probe_kernel>(s, config) } -> std::same_as<void>;
};

// policies
template <class D>
concept has_geometry = requires {
  typename D::geometry;
  { D::geometry::warp_size } -> std::convertible_to<int>;
  { D::geometry::preferred_warps } -> std::convertible_to<int>;
  { D::geometry::max_grid } -> std::convertible_to<i64>;
  { D::geometry::grid_quantum } -> std::convertible_to<int>;
  { D::geometry::cap_grid_to_units } -> std::convertible_to<bool>;
};
template <class D>
concept has_argument_abi = requires {
  typename D::argument_abi;
  { D::argument_abi::kind } -> std::convertible_to<argument_kind>;
  { D::argument_abi::alignment } -> std::convertible_to<int>;
};
template <class D>
concept has_images = requires {
  typename D::images;
  { D::images::providers[0] } -> std::convertible_to<image_provider>;
};
template <class D>
concept has_capabilities = requires {
  typename D::capabilities;
  { D::capabilities::matrix_units } -> std::convertible_to<bool>;
  { D::capabilities::async_copy } -> std::convertible_to<bool>;
  { D::capabilities::clusters } -> std::convertible_to<bool>;
  { D::capabilities::fp64 } -> std::convertible_to<bool>;
  { D::capabilities::fp8 } -> std::convertible_to<bool>;
  { D::capabilities::host_accessible } -> std::convertible_to<bool>;
};

// modules
template <class D>
concept has_module_handle = std::regular<typename D::module_handle>;
template <class D>
concept has_function_handle = std::regular<typename D::function_handle>;
template <class D>
concept has_load_module = requires(const void* image) {
  { D::load_module(image, i64{}) } -> std::same_as<typename D::module_handle>;
};
template <class D>
concept has_unload_module = requires(typename D::module_handle m) {
  { D::unload_module(m) }
  noexcept->std::same_as<void>;
};
template <class D>
concept has_find_function = requires(typename D::module_handle m) {
  { D::find_function(m, "") } -> std::same_as<typename D::function_handle>;
};

/// Whether a provider other than `linked` is listed.
template <class D>
inline constexpr bool needs_modules = [] {
  if constexpr (has_images<D>)
    for (const image_provider p : D::images::providers)
      if (p != image_provider::linked) return true;
  return false;
}();

/// Work on streams of these devices has finished when a call returns. Optional.
template <class D>
inline constexpr bool is_synchronous = [] {
  if constexpr (requires { D::capabilities::synchronous_streams; })
    return bool(D::capabilities::synchronous_streams);
  else if constexpr (requires { D::calls_return_when_done; })
    return bool(D::calls_return_when_done);
  else
    return false;
}();

}  // namespace detail

/// `name`, and the device type's numbers in PyTorch (c10::DeviceType) and DLPack.
template <class D>
concept device_identity =
    detail::has_name<D> && detail::has_torch_device_type<D> && detail::has_dlpack_device_type<D>;
/// The number of devices, why there are none, the current one, and their properties.
template <class D>
concept device_discovery = detail::has_device_count<D> && detail::has_unavailable_reason<D> &&
    detail::has_current_device<D> && detail::has_set_device<D> && detail::has_properties<D>;
/// Memory, allocated, freed, copied and filled in stream order.
template <class D>
concept device_memory = detail::has_stream_handle<D> && detail::has_allocate<D> &&
    detail::has_deallocate<D> && detail::has_copy<D> && detail::has_fill<D>;
/// Queues of work.
template <class D>
concept device_streams =
    detail::has_stream_handle<D> && detail::has_create_stream<D> && detail::has_destroy_stream<D> &&
    detail::has_synchronize<D> && detail::has_query<D> && detail::has_default_stream<D>;
/// Events: points in a stream to wait for and to measure time between.
template <class D>
concept device_events = detail::has_event_handle<D> && detail::has_create_event<D> &&
    detail::has_destroy_event<D> && detail::has_record<D> && detail::has_wait<D> &&
    detail::has_synchronize_event<D> && detail::has_query_event<D> && detail::has_elapsed_ms<D>;
/// Kernel images; only required of device types that list a provider other than `linked`.
template <class D>
concept device_modules = detail::has_module_handle<D> && detail::has_function_handle<D> &&
    detail::has_load_module<D> && detail::has_unload_module<D> && detail::has_find_function<D>;
/// Graphs, for `capture`. Optional. `begin_capture` makes a stream record work instead of running
/// it, `end_capture` makes a graph of it, which can be launched repeatedly, `abandon_capture` drops
/// it; both end the capture even if they raise. For captures begun elsewhere: `capture_id` is 0 for
/// a stream in none, else unique to the capture; `at_graph_end(s, f, data)` has f(data) called
/// once, on any thread, when the graph being captured in `s`, its executables and launches have
/// ended, or when it raises. f calls nothing of the device.
template <class D>
concept device_graphs = detail::has_stream_handle<D> && std::regular<typename D::graph_handle> &&
    requires(typename D::stream_handle s, typename D::graph_handle g, void (*f)(void*),
             void* data) {
  { D::begin_capture(s) } -> std::same_as<void>;
  { D::end_capture(s) } -> std::same_as<typename D::graph_handle>;
  { D::abandon_capture(s) }
  noexcept->std::same_as<void>;
  { D::is_capturing(s) } -> std::same_as<bool>;
  { D::capture_id(s) } -> std::same_as<u64>;
  { D::at_graph_end(s, f, data) } -> std::same_as<void>;
  { D::launch_graph(g, s) } -> std::same_as<void>;
  { D::destroy_graph(g) }
  noexcept->std::same_as<void>;
};
/// Page-locked host memory for asynchronous copies, used by `pinned`. Optional. `allocate_pinned`
/// returns null when memory is exhausted; the memory serves all devices of the type.
template <class D>
concept device_pinned_memory = requires(void* p) {
  { D::allocate_pinned(i64{}) } -> std::same_as<void*>;
  { D::deallocate_pinned(p) }
  noexcept->std::same_as<void>;
};
/// Copies from another device (`from_device`) to the current one, in the order of a stream of the
/// current one, for `to_device`. Optional.
template <class D>
concept device_peer_copies = requires(typename D::stream_handle s, void* to, const void* from) {
  { D::copy_from_peer(to, from, i64{}, /*from_device*/ int{}, s) } -> std::same_as<void>;
};
/// The differences between SIMT devices: `geometry`, `argument_abi`, `images`, `capabilities`.
template <class D>
concept device_policies = detail::has_geometry<D> && detail::has_argument_abi<D> &&
    detail::has_images<D> && detail::has_capabilities<D>;

/// A type that represents a kind of device. `check_device` names what a type lacks.
template <class D>
concept device = device_identity<D> && device_discovery<D> && device_memory<D> &&
    device_streams<D> && device_events<D> && detail::has_error_text<D> && detail::has_launch<D> &&
    device_policies<D> &&(!detail::needs_modules<D> || device_modules<D>);

}  // namespace flaggems
