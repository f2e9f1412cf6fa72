// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Observing launches: a hook for tools, and FLAGGEMS_LOG=dispatch for people.
#pragma once

#include <flaggems/device/launch_config.hpp>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace flaggems {

/// A candidate for an operator's work on a device: a kernel about to be launched, or an
/// `implementation` that accepted or rejected the work. Names have static lifetime.
struct launch_event {
  std::string_view op, device, kernel;
  i64 tiles;                    ///< of the kernel; 0 for an `implementation`
  std::string_view rejected{};  ///< why it did not take the work; empty if it did
};

/// Called for each candidate on the launching thread: before a kernel's launch, after an
/// `implementation` has answered. Must not launch kernels.
using launch_hook = void (*)(const launch_event&);

namespace detail {

FLAGGEMS_ONCE void log_launch(const launch_event& e) {
  const auto length = [](std::string_view s) { return static_cast<int>(s.size()); };
  std::fprintf(stderr, "flaggems: %.*s on %.*s: %.*s", length(e.op), e.op.data(), length(e.device),
               e.device.data(), length(e.kernel), e.kernel.data());
  if (!e.rejected.empty())
    std::fprintf(stderr, ": rejected, %.*s\n", length(e.rejected), e.rejected.data());
  else if (e.tiles > 0)
    std::fprintf(stderr, ", %lld tiles\n", static_cast<long long>(e.tiles));
  else
    std::fprintf(stderr, "\n");
}

// Parses FLAGGEMS_LOG, a comma-separated list; unknown words are reported on stderr. (Runs before
// main, where errors cannot be caught.)
FLAGGEMS_ONCE launch_hook first_launch_hook() noexcept {
  const char* set = std::getenv("FLAGGEMS_LOG");
  launch_hook hook = nullptr;
  for (std::string_view rest = set != nullptr ? set : ""; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(word.size() + (word.size() < rest.size() ? 1 : 0));
    if (word == "dispatch")
      hook = log_launch;
    else if (!word.empty())
      std::fprintf(stderr, "flaggems: FLAGGEMS_LOG: expected 'dispatch', got '%.*s'\n",
                   static_cast<int>(word.size()), word.data());
  }
  return hook;
}

inline launch_hook launch_hook_slot = first_launch_hook();

/// The compiler's name of this function, which ends with the kernel's type.
template <class Kernel>
[[nodiscard]] constexpr const char* named() noexcept {
  return __PRETTY_FUNCTION__;
}
/// Extracts the type's name from `named`. (Not a template, so that it is compiled once.)
[[nodiscard]] FLAGGEMS_ONCE std::string_view type_name(const char* named) noexcept {
  std::string_view name = named;
  const std::size_t begin = name.find("Kernel = ");
  if (begin == name.npos) return name;
  name.remove_prefix(begin + 9);
  // The type is followed by "]", or with g++ by "; <another alias>]".
  const std::size_t end = name.find("; ");
  return name.substr(0, end == name.npos ? name.size() - 1 : end);
}
template <class Kernel>
[[nodiscard]] std::string_view kernel_name() noexcept {
  return type_name(named<Kernel>());
}

FLAGGEMS_COLD_ONCE void report_to_hook(const char* named, const char* op, const char* device,
                                       i64 tiles, const char* rejected) {
  launch_hook_slot({op, device, type_name(named), tiles,
                    rejected != nullptr ? std::string_view(rejected) : std::string_view()});
}
/// Reports a candidate to the hook, if there is one: the type of a kernel or an implementation.
template <class Candidate>
void report_candidate(const char* op, const char* device, i64 tiles,
                      const char* rejected = nullptr) {
  if (launch_hook_slot != nullptr) [[unlikely]]
    report_to_hook(named<Candidate>(), op, device, tiles, rejected);
}

}  // namespace detail

/// Sets the hook and returns the previous one; null for none. Initially null, or a line on stderr
/// per launch if the environment variable FLAGGEMS_LOG contains the word "dispatch". Must not be
/// called while launches run.
inline launch_hook set_launch_hook(launch_hook hook) noexcept {
  const launch_hook before = detail::launch_hook_slot;
  detail::launch_hook_slot = hook;
  return before;
}

}  // namespace flaggems
