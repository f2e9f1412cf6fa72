// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The mock device without one of its members: the check says which, and what it must look like.
//
// clang-format off
//
// expect: -DEACH: flaggems: device type lacks `static constexpr const char* name`
//
// expect: -DEACH: flaggems: device type lacks `static constexpr int torch_device_type`
//
// expect: -DEACH: flaggems: device type lacks `static constexpr int dlpack_device_type`
//
// expect: -DEACH: flaggems: device type lacks `static int device_count()`
//
// expect: -DEACH: flaggems: device type lacks `static std::string unavailable_reason()`
//
// expect: -DEACH: flaggems: device type lacks `static int current_device()`
//
// expect: -DEACH: flaggems: device type lacks `static void set_device(int)`
//
// expect: -DEACH: flaggems: device type lacks `static device_properties properties(int)`
//
// expect: -DTYPES=stream_handle: flaggems: device type lacks `using stream_handle = <a regular type>`
// expect: -DEACH: flaggems: device type lacks `static stream_handle create_stream(int priority)`
// expect: -DEACH: flaggems: device type lacks `static void destroy_stream(stream_handle) noexcept`
// expect: -DEACH: flaggems: device type lacks `static void synchronize(stream_handle)`
//
// expect: -DEACH: flaggems: device type lacks `static bool query(stream_handle)`
//
// expect: -DEACH: flaggems: device type lacks `static stream_handle default_stream()`
//
// expect: -DEACH: flaggems: device type lacks `static void* allocate(i64 bytes, stream_handle)`
//
// expect: -DEACH: flaggems: device type lacks `static void deallocate(void*, i64 bytes, stream_handle) noexcept`
// expect: -DEACH: flaggems: device type lacks `static void copy(void* to, const void* from, i64 bytes, copy_kind, stream_handle)`
// expect: -DEACH: flaggems: device type lacks `static void fill(void*, int byte, i64 bytes, stream_handle)`
// expect: -DTYPES=event_handle: flaggems: device type lacks `using event_handle = <a regular type>`
// expect: -DEACH: flaggems: device type lacks `static event_handle create_event()`
// expect: -DEACH: flaggems: device type lacks `static void destroy_event(event_handle) noexcept`
// expect: -DEACH: flaggems: device type lacks `static void record(event_handle, stream_handle)`
// expect: -DEACH: flaggems: device type lacks `static void wait(stream_handle, event_handle)`
// expect: -DEACH: flaggems: device type lacks `static void synchronize_event(event_handle)`
// expect: -DEACH: flaggems: device type lacks `static bool query_event(event_handle)`
// expect: -DEACH: flaggems: device type lacks `static double elapsed_ms(event_handle, event_handle)`
// expect: -DEACH: flaggems: device type lacks `static std::string error_text(int code)`
// expect: -DEACH: flaggems: device type lacks `template <class Kernel, class... Args> static void launch(stream_handle, const launch_config&, const Args&...)`
//
// expect: -DEACH: flaggems: device type lacks `struct geometry` with the constants `warp_size preferred_warps max_grid grid_quantum cap_grid_to_units`
// expect: -DEACH: flaggems: device type lacks `struct argument_abi` with the constants `argument_kind kind, int alignment`
// expect: -DEACH: flaggems: device type lacks `struct images` with `static constexpr image_provider providers[]`
// expect: -DEACH: flaggems: device type lacks `struct capabilities` with the constants `matrix_units async_copy clusters fp64 fp8 host_accessible`
// clang-format on
#include <support/mock_device.hpp>

// All members in one go, except the two types, without which others cannot be there either.
#define LACKING(member)                                  \
  class lacking_##member : public support::mock_device { \
    using mock_device::member; /* private here */        \
  };
SUPPORT_FOR_EACH_DEVICE_MEMBER(LACKING)

#define CHECK_NAMED(member) static_assert(flaggems::check_device<lacking_##member>());
#define CHECK(member) CHECK_NAMED(member)
#ifdef TYPES
CHECK(TYPES)
#endif
#ifdef EACH
#define lacking_stream_handle support::mock_device
#define lacking_event_handle support::mock_device
SUPPORT_FOR_EACH_DEVICE_MEMBER(CHECK)
#endif
