// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Replaces an operator on one device, for example by a vendor's library.
#pragma once

#include <flaggems/device/stream.hpp>
#include <flaggems/launch/hooks.hpp>

namespace flaggems {

/// The operators as types, declared with each operator: operators::softmax is `softmax`.
namespace operators {}

/// Runs operator `Op` on `Device` instead of the portable kernel. A vendor or a user specialises it
/// before the operator is first used:
///
///     template <>
///     struct flaggems::implementation<flaggems::operators::softmax, my_chip> {
///       template <class X, class Out>
///       static const char* run(stream_ref<my_chip> stream, const X& x, const Out& out, int dim);
///     };
///
/// `run` takes the operator's arguments in order: tensors as views, numbers unchanged, dimensions
/// non-negative. They have been checked, and `out` is not empty. It returns null once the work is
/// queued on the stream, or, having written nothing, the reason for rejecting it (a string of
/// static lifetime). Then, and where `run` cannot be called with the operands' types, the portable
/// kernel runs. Both appear in the dispatch report (launch_event).
template <class Op, class Device>
struct implementation;

/// Whether `Op` has an implementation of its own on `Device`.
template <class Op, class Device>
concept has_implementation = requires {
  sizeof(implementation<Op, Device>);
};

namespace detail {

/// Offers a checked operator to the device's implementation; false if the portable kernel must run.
template <class Op, stream_like S, class... Args>
bool replaced([[maybe_unused]] const char* op, [[maybe_unused]] const S& stream,
              [[maybe_unused]] const Args&... args) {
  using device = device_of<S>;
  if constexpr (!has_implementation<Op, device>) {
    return false;
  } else {
    using candidate = implementation<Op, device>;
    const char* rejected = "it does not take operands of these types";
    if constexpr (requires { candidate::run(ref(stream), args...); }) {
      const on_device<device> scope(ref(stream).device_index());
      rejected = candidate::run(ref(stream), args...);
    }
    report_candidate<candidate>(op, device::name, 0, rejected);
    return rejected == nullptr;
  }
}

}  // namespace detail
}  // namespace flaggems
