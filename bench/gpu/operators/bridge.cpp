// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "bridge.hpp"

#include <flaggems/device/tensor.hpp>

#include <cstring>
#include <map>
#include <string>

namespace bridge {
namespace {

std::map<std::string, operation>& table() {
  static std::map<std::string, operation> operations;
  return operations;
}
thread_local std::string failure;

}  // namespace

entry::entry(const char* name, operation run) { table()[name] = run; }

}  // namespace bridge

extern "C" {

/// The operation `name`, or null.
void* flaggems_bench_find(const char* name) {
  const auto found = bridge::table().find(name);
  return found == bridge::table().end() ? nullptr : reinterpret_cast<void*>(found->second);
}

/// Queues an operation in a stream of the current device; null if it could, else why not.
const char* flaggems_bench_call(void* operation, const bridge::operand* tensors, int count,
                                const double* numbers, int number_count,
                                bridge::device::stream_handle stream) {
  try {
    reinterpret_cast<bridge::operation>(operation)(
        {bridge::stream(stream),
         {tensors, static_cast<std::size_t>(count)},
         {numbers, static_cast<std::size_t>(number_count)}});
    return nullptr;
  } catch (const std::exception& e) {
    bridge::failure = e.what();
    return bridge::failure.c_str();
  }
}

/// Why there is no device; empty if there is one.
const char* flaggems_bench_reason() {
  static const std::string reason =
      bridge::device::device_count() > 0
          ? std::string()
          : std::string(std::string_view(bridge::device::unavailable_reason()));
  return reason.c_str();
}
}
