// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Seeing what is launched: a hook for tools, and FLAGGEMS_LOG=dispatch for people.
#pragma once

#include <flaggems/device/launch_config.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace flaggems {

/// One launch: which operator started which kernel on which device. The names live
/// as long as the program.
struct launch_event {
  std::string_view op, device, kernel;
  i64 tiles;
};

/// Called before each launch, on the thread that launches. Must not launch itself.
using launch_hook = void (*)(const launch_event&);

namespace detail {

inline void log_launch(const launch_event& e) {
  const auto length = [](std::string_view s) { return static_cast<int>(s.size()); };
  std::fprintf(stderr, "flaggems: %.*s on %.*s: %.*s, %lld tiles\n", length(e.op), e.op.data(),
               length(e.device), e.device.data(), length(e.kernel), e.kernel.data(),
               static_cast<long long>(e.tiles));
}

inline launch_hook first_launch_hook() noexcept {
  const char* wanted = std::getenv("FLAGGEMS_LOG");
  return wanted != nullptr && std::strstr(wanted, "dispatch") != nullptr ? log_launch : nullptr;
}

inline launch_hook launch_hook_slot = first_launch_hook();

/// The name of a kernel's type, out of the compiler's name of this function.
template <class Kernel>
[[nodiscard]] constexpr std::string_view kernel_name() noexcept {
  std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t begin = text.find("Kernel = ");
  if (begin == text.npos) return text;
  text.remove_prefix(begin + 9);
  // What follows the type is "]", or with g++ "; <another alias>]".
  const std::size_t end = text.find("; ");
  return text.substr(0, end == text.npos ? text.size() - 1 : end);
}

}  // namespace detail

/// Sets the hook and returns the one before; null for none. The first is null, or a line to stderr
/// a launch if the environment variable FLAGGEMS_LOG contains "dispatch". Not while launches run.
inline launch_hook set_launch_hook(launch_hook hook) noexcept {
  const launch_hook before = detail::launch_hook_slot;
  detail::launch_hook_slot = hook;
  return before;
}

}  // namespace flaggems
