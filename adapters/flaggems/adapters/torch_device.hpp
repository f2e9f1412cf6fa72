// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A device type as a device of PyTorch's: torch.device("gxu"). One source file of a library says
// FLAGGEMS_TORCH_DEVICE(gxu), and flaggems_registry adds the operators. For libtorch 2.11 and
// later; in Python, flaggems_torch.load(library) gives the module torch.gxu.
#pragma once

#include <flaggems/config.hpp>

#if !__has_include(<c10/core/CachingDeviceAllocator.h>)
#define FLAGGEMS_TORCH_DEVICE(...) \
  static_assert(false, "flaggems: FLAGGEMS_TORCH_DEVICE needs libtorch 2.11 or later")
#else
#include <flaggems/adapters/torch_device/autocast.hpp>
#include <flaggems/adapters/torch_device/composed.hpp>
#include <flaggems/adapters/torch_device/operators.hpp>

#include <torch/library.h>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace flaggems {

struct torch_device_options {
  /// The device's name in PyTorch; empty: that of the device type.
  std::string_view name{};
  /// Operators that the device lacks run on the CPU, with a warning at the first call of each; else
  /// they raise not_supported. Python's torch.NAME.set_fallback changes it.
  bool fall_back = false;
  /// Operators of the registry that are not registered.
  std::vector<std::string> exclude{};
};

namespace detail {

/// The functions of the Python module, as torch.ops.flaggems_device.
template <class Device>
void add_torch_module(torch::Library& m, const std::string& name) {
  m.def("device_name() -> str", [name] { return name; });
  m.def("device_count() -> int", [] { return std::int64_t{Device::device_count()}; });
  m.def("set_fallback(bool all, str[] operators) -> ()",
        [](bool all, const std::vector<std::string>& names) {
          torch_fallback<Device>::allow(all, names);
        });
  m.def("count_calls(bool on) -> ()", [](bool on) { torch_fallback<Device>::count(on); });
  m.def("take_calls() -> str[]", [] { return torch_fallback<Device>::take_calls(); });
  m.def("manual_seed(int device, int seed) -> ()", [](std::int64_t device, std::int64_t seed) {
    with_generator<Device>(device, [&](auto& g) { g.set_current_seed(static_cast<u64>(seed)); });
  });
  m.def("initial_seed(int device) -> int", [](std::int64_t device) {
    std::int64_t r = 0;
    with_generator<Device>(device,
                           [&](auto& g) { r = static_cast<std::int64_t>(g.current_seed()); });
    return r;
  });
  m.def("get_rng_state(int device) -> Tensor", [](std::int64_t device) {
    at::Tensor r;
    with_generator<Device>(device, [&](auto& g) { r = at::Tensor(g.get_state()); });
    return r;
  });
  m.def("set_rng_state(int device, Tensor state) -> ()", [](std::int64_t device,
                                                            const at::Tensor& state) {
    with_generator<Device>(device, [&](auto& g) { g.set_state(*state.unsafeGetTensorImpl()); });
  });
  m.def("properties(int device) -> (str, str, int, int)", [](std::int64_t device) {
    const device_properties p = Device::properties(static_cast<int>(device));
    return std::tuple(std::string(p.name), std::string(p.arch),
                      static_cast<std::int64_t>(p.compute_units),
                      static_cast<std::int64_t>(p.total_memory));
  });
}

/// Makes PrivateUse1 a device type when the library is loaded.
template <class Device>
class torch_device_registration {
 public:
  explicit torch_device_registration(torch_device_options options)
      : name_(options.name.empty() ? std::string_view(Device::name) : options.name),
        aten_(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__),
        rest_(torch::Library::IMPL, "_", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__),
        autocast_(torch::Library::IMPL, "aten", c10::DispatchKey::AutocastPrivateUse1, __FILE__,
                  __LINE__),
        no_autocast_(torch::Library::IMPL, "_", c10::DispatchKey::AutocastPrivateUse1, __FILE__,
                     __LINE__),
        conjugate_(torch::Library::IMPL, "aten", c10::DispatchKey::Conjugate, __FILE__, __LINE__),
        negative_(torch::Library::IMPL, "aten", c10::DispatchKey::Negative, __FILE__, __LINE__),
        module_(torch::Library::DEF, "flaggems_device", std::nullopt, __FILE__, __LINE__) {
    c10::register_privateuse1_backend(name_);
    c10::SetAllocator(c10::DeviceType::PrivateUse1, &torch_allocator<Device>::get());
    static c10::impl::DeviceGuardImplRegistrar guard(c10::DeviceType::PrivateUse1,
                                                     new torch_guard<Device>);
    at::RegisterPrivateUse1HooksInterface(new torch_hooks<Device>);

    torch_fallback<Device>::set_name(name_);
    torch_fallback<Device>::allow(options.fall_back, {});
    torch_functions<Device>::add_to(aten_);
    torch_composed<Device>::add_to(aten_);
    torch_device_operators<Device>::add_to(aten_, options.exclude);
    rest_.fallback(torch::CppFunction::makeFromBoxedFunction<&torch_fallback<Device>::run>());
    add_autocast(autocast_);
    no_autocast_.fallback(torch::CppFunction::makeFallthrough());
    // Their fallbacks would call it to make what it is to copy.
    conjugate_.impl("_copy_from", torch::CppFunction::makeFallthrough());
    negative_.impl("_copy_from", torch::CppFunction::makeFallthrough());
    add_torch_module<Device>(module_, name_);
    own_.emplace(torch_operator_options{.in_place_of_aten = false});
  }

 private:
  std::string name_;
  torch::Library aten_, rest_, autocast_, no_autocast_, conjugate_, negative_, module_;
  std::optional<torch_operators<Device> > own_;
};

}  // namespace detail
}  // namespace flaggems

/// Makes a device type PyTorch's PrivateUse1, with the operators of its registry, when the program
/// or library is loaded: FLAGGEMS_TORCH_DEVICE(gxu, .fall_back = true). Once a program, in the
/// global namespace, before other uses of torch_device<gxu>.
#define FLAGGEMS_TORCH_DEVICE(Device, ...)                                                   \
  template <>                                                                                \
  struct flaggems::torch_device<Device> : flaggems::detail::torch_private_device<Device> {}; \
  static const ::flaggems::detail::torch_device_registration<Device> flaggems_torch_device { \
    ::flaggems::torch_device_options { __VA_ARGS__ }                                         \
  }
#endif
