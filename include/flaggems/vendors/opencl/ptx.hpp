// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels for NVIDIA's OpenCL driver. It takes no code of LLVM's, and OpenCL C of version 1.2 has
// no classes, but the driver's programs are PTX: NVRTC compiles the kernels of CUDA's language to
// that. Whether a driver does what is said here of parameters, tools/opencl_probe.cpp finds out.
#pragma once

#include <flaggems/vendors/cuda/nvrtc.hpp>
#include <flaggems/vendors/driver/dialect.hpp>

#include <string>
#include <string_view>

namespace flaggems::detail {

/// Says of a parameter of `entry` in PTX what memory the pointer in it is to, as the driver's own
/// compiler does: that tells clSetKernelArg what it is given. False if there is no such parameter.
[[nodiscard]] inline bool state_space_of_parameter(std::string& ptx, std::string_view entry,
                                                   int number, std::string_view space) {
  constexpr std::string_view type = ".param .u64 ";
  const std::string declared =
      std::string(type) + std::string(entry) + "_param_" + std::to_string(number);
  std::size_t at = ptx.find(declared);
  for (; at != ptx.npos; at = ptx.find(declared, at + 1)) {  // and not of _param_10
    const std::size_t end = at + declared.size();
    if (end < ptx.size() && (ptx[end] == ',' || ptx[end] == '\n')) break;
  }
  if (at == ptx.npos) return false;
  ptx.insert(at + type.size(), ".ptr " + std::string(space) + " .align 16 ");
  return true;
}

/// How NVRTC compiles for OpenCL. A target is NVRTC's name of a capability, "compute_90".
struct opencl_ptx_api : nvrtc_compiler {
  static constexpr const char* name = "opencl";
  static constexpr const char* compiler_name = "NVRTC for OpenCL";
  static constexpr const char* compiler_symbols[] = FLAGGEMS_COMPILER_NAMES("nvrtc", "PTX");
  static constexpr const char* compute = "compute_";
  /// Of local memory, which NVIDIA's driver puts before a kernel's.
  static constexpr int bytes_of_driver = 16;

  static text target_of(int capability) { return text(compute) + text(capability); }
  static std::vector<std::string> compiler_options(std::string_view target) {
    std::vector<std::string> options = options_for(std::string(target));
    options.emplace_back("-DFLAGGEMS_LAUNCHED_BY_OPENCL=1");
    return options;
  }
  /// Says of the entry's parameters what FLAGGEMS_INSTANCE cannot. The zero behind NVRTC's text is
  /// no part of a program. (flaggems-compile also checks texts without that entry.)
  static text finish(std::string& ptx) {
    while (!ptx.empty() && ptx.back() == '\0') ptx.pop_back();
    if (ptx.find(std::string(".entry ") + entry_name + "(") == ptx.npos) return {};
    if (threads_of(ptx) == 0) return text("PTX without an entry's threads");
    return state_space_of_parameter(ptx, entry_name, 1, ".shared") &&
                   state_space_of_parameter(ptx, entry_name, 2, ".global")
               ? text()
               : text("PTX without the parameters of an entry");
  }
  /// The threads a block that PTX of one entry allows, or 0: it does not say.
  static int threads_of(std::string_view ptx) noexcept {
    constexpr std::string_view directive = ".maxntid ";
    const std::size_t at = ptx.find(directive);
    return at == ptx.npos ? 0 : number_at(ptx.substr(at + directive.size()));
  }
  /// PTX for a capability is for all later ones, too.
  static bool runs(std::string_view device, std::string_view image) noexcept {
    const int of_image = capability_of(image);
    return of_image > 0 && of_image <= capability_of(device);
  }

 private:
  // 0 of other targets.
  static int capability_of(std::string_view target) noexcept {
    const std::string_view before = compute;
    if (target.substr(0, before.size()) != before) return 0;
    target.remove_prefix(before.size());
    return target.find_first_not_of("0123456789") == target.npos ? number_at(target) : 0;
  }
  static int number_at(std::string_view digits) noexcept {
    int number = 0;
    for (const char c : digits.substr(0, digits.find_first_not_of("0123456789")))
      number = 10 * number + (c - '0');
    return number;
  }
};

}  // namespace flaggems::detail
