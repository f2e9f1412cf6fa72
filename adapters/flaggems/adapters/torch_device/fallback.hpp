// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a device type as a PyTorch device leaves to the CPU, and the record of what ran where. Part
// of torch_device.hpp.
#pragma once

#include <flaggems/adapters/torch.hpp>

#include <ATen/native/CPUFallback.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flaggems::detail {

/// Which operators may be left to the CPU, and how often each ran here and there. One a device
/// type.
template <class Device>
class torch_fallback {
 public:
  /// The device's name in PyTorch.
  static void set_name(std::string_view name) { get().device = name; }
  /// All operators, or those named ("aten::erfinv", "erfinv").
  static void allow(bool all, const std::vector<std::string>& names) {
    state& s = get();
    const std::lock_guard lock(s.mutex);
    s.all = all;
    s.names.clear();
    for (const std::string& name : names) s.names.emplace(without_space(name));
  }
  [[nodiscard]] static bool may(std::string_view full_name) {
    state& s = get();
    const std::lock_guard lock(s.mutex);
    return is_allowed(s, without_space(full_name));
  }
  static void count(bool is_on) { get().counts = is_on; }
  static void ran_here(std::string_view name) {
    state& s = get();
    if (!s.counts) [[likely]]
      return;
    const std::lock_guard lock(s.mutex);
    ++s.calls[std::string(name)].first;
  }
  /// Before the CPU runs it. Raises not_supported in the operator's name unless it may.
  static void enter(std::string_view full_name, std::string_view reason) {
    state& s = get();
    bool is_first = false;
    {
      const std::lock_guard lock(s.mutex);
      if (!is_allowed(s, without_space(full_name)))
        TORCH_CHECK_NOT_IMPLEMENTED(false, error_of(full_name, reason).what());
      if (s.counts) ++s.calls[std::string(full_name)].second;
      is_first = s.told.insert(std::string(full_name)).second;
    }
    if (is_first)
      TORCH_WARN(full_name, " of device ", s.device,
                 " runs on the CPU, which is said once: ", std::string(reason));
  }
  /// Lines "aten::add.Tensor 12 0": calls here, calls on the CPU. Forgets them.
  static std::vector<std::string> take_calls() {
    state& s = get();
    const std::lock_guard lock(s.mutex);
    std::vector<std::string> r;
    for (const auto& [name, n] : s.calls)
      r.push_back(name + " " + std::to_string(n.first) + " " + std::to_string(n.second));
    s.calls.clear();
    return r;
  }
  /// PyTorch's kernel of all operators that have none here.
  static void run(const c10::OperatorHandle& op, c10::Stack* stack) {
    run_because(op, stack, "none in its registry");
  }
  static void run_because(const c10::OperatorHandle& op, c10::Stack* stack,
                          std::string_view reason) {
    const auto& name = op.operator_name();
    enter(name.overload_name.empty() ? name.name : name.name + "." + name.overload_name, reason);
    at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
  }

 private:
  struct state {
    std::mutex mutex;
    std::string device;
    bool all = false;
    std::atomic<bool> counts = false;
    std::set<std::string, std::less<>> names, told;
    std::map<std::string, std::pair<i64, i64>, std::less<>> calls;
  };
  static state& get() {
    static auto* const one = new state;
    return *one;
  }
  static std::string_view without_space(std::string_view name) {
    return name.starts_with("aten::") ? name.substr(6) : name;
  }
  static bool is_allowed(const state& s, std::string_view name) {
    return s.all || s.names.contains(name) || s.names.contains(name.substr(0, name.rfind('.')));
  }
  static error error_of(std::string_view name, std::string_view reason) {
    return {
        errc::not_supported, name,
        text("an operator of device ") + get().device.c_str() + ", or a fallback (set_fallback)",
        reason};
  }
};

}  // namespace flaggems::detail
