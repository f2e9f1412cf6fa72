// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Which operators of the registry are ATen's of a device type. Part of torch_device.hpp.
#pragma once

#include <flaggems/adapters/torch_device/unboxed.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flaggems::detail {

/// The registry of a device type in ATen's dispatcher.
template <class Device>
class torch_device_operators {
 public:
  /// Adds all operators that back ends implement; `exclude` names others.
  static void add_to(torch::Library& m, const std::vector<std::string>& exclude) {
    for (const auto family : registry<Device>::families())
      for (const registered_operator<Device>& op : family()) {
        const schema& s = op.schema();
        if (!s.space.empty() || !is_taken(s)) continue;
        if (std::any_of(exclude.begin(), exclude.end(),
                        [&](const std::string& name) { return is_named(s.key(), name); }))
          continue;
        const std::string key(s.key());
        auto kernel = std::make_unique<torch_device_kernel<Device>>(op, torch_twin_of(op, family()),
                                                                    "aten::" + key);
        if (!add_frequent<Device>(m, op, kernel))
          m.impl(key.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
      }
  }

 private:
  /// New tensors of a device are made by torch_functions, and filled by fill_, zero_ and the like.
  static bool is_made_by_aten(std::string_view name) {
    constexpr std::string_view names[] = {
        "empty",    "empty_strided", "zeros", "ones",  "full",    "scalar_tensor", "clone",
        "_to_copy", "copy_",         "rand",  "randn", "randint", "zero_"};
    return std::find(std::begin(names), std::end(names), name) != std::end(names) ||
           name.starts_with("new_") || name.ends_with("_like") || name.starts_with("as_strided");
  }
  static bool is_taken(const schema& s) {
    if (is_made_by_aten(s.name) || s.key() == "fill_.Scalar") return false;
    for (const schema_result& r : s.results)
      if (r.is_view) return false;
    const auto theirs = c10::Dispatcher::singleton().findSchema(
        {"aten::" + std::string(s.name), std::string(s.overload)});
    if (!theirs) return false;
    const auto& arguments = theirs->schema().arguments();
    bool same = arguments.size() == s.parameters.size() &&
                theirs->schema().returns().size() == s.results.size();
    for (std::size_t i = 0; same && i < arguments.size(); ++i)
      same = arguments[i].name() == s.parameters[i].name;
    // What ATen composes of others has its gradients from those.
    return same && !theirs->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  }
};

}  // namespace flaggems::detail
