// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems-info: the library's version, the devices found (and why others were not), the host's
// instruction sets, and the operators with the implementation each device uses. --json for
// programs.
#include <flaggems/detail/cpu.hpp>
#include <flaggems/flaggems.hpp>
#include <flaggems/vendors/ascend.hpp>
#include <flaggems/vendors/corex.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/gcu.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/hygon.hpp>
#include <flaggems/vendors/kunlun.hpp>
#include <flaggems/vendors/level_zero.hpp>
#include <flaggems/vendors/maca.hpp>
#include <flaggems/vendors/mlu.hpp>
#include <flaggems/vendors/musa.hpp>
#include <flaggems/vendors/opencl.hpp>
#include <flaggems/vendors/simt.hpp>
#include <flaggems/version.hpp>

#include <nlohmann/json.hpp>

#include <iostream>
#include <string>
#include <string_view>

namespace {

using nlohmann::json;

/// A device type as a JSON object; `note` says what kind of device it is.
template <class D>
json describe(const char* note) {
  json device = {{"name", std::string(std::string_view(D::name))}, {"note", note}};
  json found = json::array();
  const int count = D::device_count();
  for (int k = 0; k < count; ++k) {
    const flaggems::device_properties p = D::properties(k);
    found.push_back({{"ordinal", k},
                     {"name", p.name},
                     {"arch", p.arch},
                     {"compute_units", p.compute_units},
                     {"warp_size", p.warp_size},
                     {"shared_memory_per_block", p.shared_memory_per_block},
                     {"total_memory", p.total_memory}});
  }
  device["found"] = found;
  if (count == 0) device["unavailable"] = std::string(D::unavailable_reason());
  json providers = json::array();
  for (const flaggems::image_provider p : D::images::providers)
    providers.push_back(p == flaggems::image_provider::linked             ? "linked"
                        : p == flaggems::image_provider::precompiled      ? "precompiled"
                        : p == flaggems::image_provider::runtime_compiled ? "runtime-compiled"
                                                                          : "bundle");
  device["images"] = providers;
  return device;
}

/// What runs an operator on a device: its `implementation`, or the portable kernel.
template <class Op, class D>
std::string implementation_on() {
  if constexpr (flaggems::has_implementation<Op, D>)
    return std::string(flaggems::detail::kernel_name<flaggems::implementation<Op, D>>());
  else
    return "portable kernel";
}

/// A table, as an object made in place for each operator takes the compiler half a minute.
struct operator_entry {
  const char *name, *header, *schema;
  std::string (*host)(), (*cuda)(), (*simt32)(), (*simt64)();
};
const operator_entry entries[] = {
#define X(name, header, schema, type)                              \
  {name,                                                           \
   header,                                                         \
   schema,                                                         \
   implementation_on<flaggems::operators::type, flaggems::host>,   \
   implementation_on<flaggems::operators::type, flaggems::cuda>,   \
   implementation_on<flaggems::operators::type, flaggems::simt32>, \
   implementation_on<flaggems::operators::type, flaggems::simt64>},
#include "operators.inc"
#undef X
};

json operators() {
  json list = json::array();
  for (const operator_entry& e : entries)
    list.push_back({{"name", e.name},
                    {"header", e.header},
                    {"schema", e.schema},
                    {"implementation",
                     {{flaggems::host::name, e.host()},
                      {flaggems::cuda::name, e.cuda()},
                      {flaggems::simt32::name, e.simt32()},
                      {flaggems::simt64::name, e.simt64()}}}});
  return list;
}

json everything() {
  json levels = json::array();
  for (int k = 0; k <= static_cast<int>(flaggems::detected_isa()); ++k)
    levels.push_back(std::string(to_string(static_cast<flaggems::isa_level>(k))));
  json all;
  all["version"] = std::to_string(FLAGGEMS_VERSION_MAJOR) + "." +
                   std::to_string(FLAGGEMS_VERSION_MINOR) + "." +
                   std::to_string(FLAGGEMS_VERSION_PATCH);
  all["isa"] = {{"used", std::string(to_string(flaggems::isa()))}, {"available", levels}};
  all["threads"] = flaggems::host::num_threads();
  all["devices"] = {describe<flaggems::host>("the processor"),
                    describe<flaggems::cuda>("NVIDIA's GPUs"),
                    describe<flaggems::hip>("AMD's GPUs, 64 lanes a wave"),
                    describe<flaggems::hip32>("AMD's GPUs, 32 lanes a wave"),
                    describe<flaggems::hygon>("Hygon's DCUs"),
                    describe<flaggems::musa>("Moore Threads' GPUs"),
                    describe<flaggems::maca>("MetaX's GPUs"),
                    describe<flaggems::corex>("Iluvatar's GPUs"),
                    describe<flaggems::gcu>("Enflame's GCUs"),
                    describe<flaggems::ascend>("Huawei's Ascend NPUs"),
                    describe<flaggems::mlu>("Cambricon's MLUs"),
                    describe<flaggems::kunlun>("Kunlunxin's XPUs"),
                    describe<flaggems::level_zero>("Intel's GPUs"),
                    describe<flaggems::opencl>("OpenCL devices that take LLVM's code"),
                    describe<flaggems::simt32>("emulator for tests, 32 lanes a warp"),
                    describe<flaggems::simt64>("emulator for tests, 64 lanes a warp")};
  using compiler = flaggems::detail::runtime_compiler<flaggems::detail::cuda_api>;
  const compiler& nvrtc = compiler::get();
  all["runtime_compiler"] = {{"name", flaggems::detail::cuda_api::compiler_name},
                             {"version", std::string(nvrtc.version())},
                             {"unavailable", std::string(nvrtc.reason())},
                             {"cache", nvrtc.cache().folder()},
                             {"cache_unavailable", nvrtc.cache().reason()}};
  all["operators"] = operators();
  return all;
}

void print(const json& all) {
  std::cout << "flaggems " << all["version"].get<std::string>()
            << "\n\nISA level: " << all["isa"]["used"].get<std::string>() << " (available:";
  for (const json& level : all["isa"]["available"]) std::cout << ' ' << level.get<std::string>();
  std::cout << "), " << all["threads"] << " threads\n\nDevices:\n";
  for (const json& device : all["devices"]) {
    std::cout << "  " << device["name"].get<std::string>() << "  ("
              << device["note"].get<std::string>() << ")\n";
    for (const json& found : device["found"])
      std::cout << "    " << found["ordinal"] << ": " << found["name"].get<std::string>() << ", "
                << found["compute_units"] << " compute units, "
                << found["total_memory"].get<long long>() / (1 << 20) << " MiB\n";
    if (device.contains("unavailable"))
      std::cout << "    none: " << device["unavailable"].get<std::string>() << '\n';
  }
  const json& compiler = all["runtime_compiler"];
  const auto or_reason = [&compiler](const char* what, const char* reason) {
    const auto text = compiler[what].get<std::string>();
    return compiler[reason] == "" ? text : "none: " + compiler[reason].get<std::string>();
  };
  std::cout << "\nRuntime compiler " << compiler["name"].get<std::string>() << ": "
            << or_reason("version", "unavailable")
            << "\n  cache: " << or_reason("cache", "cache_unavailable") << '\n';
  std::cout << "\nOperators (" << all["operators"].size()
            << "; by the portable kernel where no implementation is named):\n";
  std::string header;
  for (const json& op : all["operators"]) {
    if (op["header"] != header) {
      header = op["header"].get<std::string>();
      std::cout << (op == all["operators"].front() ? "" : "\n") << "  " << header << ':';
    }
    std::cout << ' ' << op["name"].get<std::string>();
    for (const auto& [device, by] : op["implementation"].items())
      if (by != "portable kernel")
        std::cout << " (" << device << ": " << by.get<std::string>() << ')';
  }
  std::cout << '\n';
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view option = count > 1 ? arguments[1] : "";
  if (count > 2 || (count == 2 && option != "--json" && option != "--help")) {
    std::cerr << "flaggems-info: expected --json, --help or nothing\n";
    return 2;
  }
  if (option == "--help") {
    std::cout << "usage: flaggems-info [--json]\n";
    return 0;
  }
  try {
    const json all = everything();
    if (option == "--json")
      std::cout << all.dump(2) << '\n';
    else
      print(all);
  } catch (const std::exception& failure) {
    std::cerr << "flaggems-info: " << failure.what() << '\n';
    return 1;
  }
}
