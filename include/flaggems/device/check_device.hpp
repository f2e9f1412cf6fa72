// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// `concept device`, with a message for each member that is missing or has another signature, and
// for constants with invalid values.
#pragma once

#include <flaggems/device/concept.hpp>
#include <flaggems/tensor/view.hpp>

namespace flaggems {

/// True if D is a device type; otherwise it does not compile, and the message names the member. The
/// last line of a vendor header is `static_assert(flaggems::check_device<name>());`.
template <class D>
consteval bool check_device() {
#define FLAGGEMS_REQUIRE(member, text) \
  static_assert(detail::has_##member<D>, "flaggems: device type lacks `" text "`")
  FLAGGEMS_REQUIRE(name, "static constexpr const char* name");
  FLAGGEMS_REQUIRE(torch_device_type, "static constexpr int torch_device_type");
  FLAGGEMS_REQUIRE(dlpack_device_type, "static constexpr int dlpack_device_type");

  FLAGGEMS_REQUIRE(device_count, "static int device_count()");
  FLAGGEMS_REQUIRE(unavailable_reason, "static std::string unavailable_reason()");
  FLAGGEMS_REQUIRE(current_device, "static int current_device()");
  FLAGGEMS_REQUIRE(set_device, "static void set_device(int)");
  FLAGGEMS_REQUIRE(properties, "static device_properties properties(int)");

  FLAGGEMS_REQUIRE(stream_handle, "using stream_handle = <a regular type>");
  FLAGGEMS_REQUIRE(create_stream, "static stream_handle create_stream(int priority)");
  FLAGGEMS_REQUIRE(destroy_stream, "static void destroy_stream(stream_handle) noexcept");
  FLAGGEMS_REQUIRE(synchronize, "static void synchronize(stream_handle)");
  FLAGGEMS_REQUIRE(query, "static bool query(stream_handle)");
  FLAGGEMS_REQUIRE(default_stream, "static stream_handle default_stream()");

  FLAGGEMS_REQUIRE(allocate, "static void* allocate(i64 bytes, stream_handle)");
  FLAGGEMS_REQUIRE(deallocate, "static void deallocate(void*, i64 bytes, stream_handle) noexcept");
  FLAGGEMS_REQUIRE(
      copy, "static void copy(void* to, const void* from, i64 bytes, copy_kind, stream_handle)");
  FLAGGEMS_REQUIRE(fill, "static void fill(void*, int byte, i64 bytes, stream_handle)");

  FLAGGEMS_REQUIRE(event_handle, "using event_handle = <a regular type>");
  FLAGGEMS_REQUIRE(create_event, "static event_handle create_event()");
  FLAGGEMS_REQUIRE(destroy_event, "static void destroy_event(event_handle) noexcept");
  FLAGGEMS_REQUIRE(record, "static void record(event_handle, stream_handle)");
  FLAGGEMS_REQUIRE(wait, "static void wait(stream_handle, event_handle)");
  FLAGGEMS_REQUIRE(synchronize_event, "static void synchronize_event(event_handle)");
  FLAGGEMS_REQUIRE(query_event, "static bool query_event(event_handle)");
  FLAGGEMS_REQUIRE(elapsed_ms, "static double elapsed_ms(event_handle, event_handle)");

  FLAGGEMS_REQUIRE(error_text, "static std::string error_text(int code)");
  FLAGGEMS_REQUIRE(launch,
                   "template <class Kernel, class... Args> static void launch(stream_handle, const "
                   "launch_config&, const Args&...)");

  FLAGGEMS_REQUIRE(geometry,
                   "struct geometry` with the constants `warp_size preferred_warps max_grid "
                   "grid_quantum cap_grid_to_units");
  FLAGGEMS_REQUIRE(argument_abi,
                   "struct argument_abi` with the constants `argument_kind kind, int alignment");
  FLAGGEMS_REQUIRE(images, "struct images` with `static constexpr image_provider providers[]");
  FLAGGEMS_REQUIRE(capabilities,
                   "struct capabilities` with the constants `matrix_units async_copy clusters fp64 "
                   "fp8 host_accessible");

  if constexpr (detail::has_geometry<D>) {
    using g = typename D::geometry;
    static_assert(g::warp_size > 0 && (g::warp_size & (g::warp_size - 1)) == 0,
                  "flaggems: device type whose `geometry::warp_size` is no power of two");
    static_assert(
        g::preferred_warps > 0 && g::preferred_warps <= 32 &&
            g::preferred_warps * i64{g::warp_size} <= 1024,
        "flaggems: device type whose `geometry::preferred_warps` is not from 1 to 32 with "
        "at most 1024 threads a block");
    static_assert(g::grid_quantum > 0 && g::grid_quantum <= g::max_grid,
                  "flaggems: device type whose `geometry::grid_quantum` is not from 1 to max_grid");
  }
  if constexpr (detail::has_argument_abi<D>)
    static_assert(D::argument_abi::alignment > 0 &&
                      (D::argument_abi::alignment & (D::argument_abi::alignment - 1)) == 0,
                  "flaggems: device type whose `argument_abi::alignment` is no power of two");

  if constexpr (detail::has_capabilities<D>)
    static_assert(bool(D::capabilities::host_accessible) == host_accessible<D>,
                  "flaggems: device type whose memory the host may not read lacks `template <> "
                  "inline constexpr bool flaggems::host_accessible<...> = false`");

  if constexpr (detail::needs_modules<D>) {
    FLAGGEMS_REQUIRE(module_handle, "using module_handle = <a regular type>");
    FLAGGEMS_REQUIRE(function_handle, "using function_handle = <a regular type>");
    FLAGGEMS_REQUIRE(load_module, "static module_handle load_module(const void* image, i64 bytes)");
    FLAGGEMS_REQUIRE(unload_module, "static void unload_module(module_handle) noexcept");
    FLAGGEMS_REQUIRE(find_function,
                     "static function_handle find_function(module_handle, const char* name)");
  }
#undef FLAGGEMS_REQUIRE
  return device<D>;
}

}  // namespace flaggems
