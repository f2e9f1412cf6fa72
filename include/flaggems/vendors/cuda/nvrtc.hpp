// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// NVRTC, NVIDIA's runtime compiler: its libraries and options.
#pragma once

#include <flaggems/config.hpp>

#include <string>
#include <vector>

namespace flaggems::detail {

/// For an Api to derive from, which says what it compiles for.
struct nvrtc_compiler {
  static constexpr const char* compiler_variable = "FLAGGEMS_NVRTC_LIBRARY";
  static constexpr const char* compiler_libraries[] = {
      "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"};

  /// Only the program's own sources: files on disk are not in the cache's key.
  static std::vector<std::string> options_for(const std::string& architecture) {
    return {"--std=c++17", "-default-device", "--no-source-include",
            "--gpu-architecture=" + architecture};
  }
  /// Options by compiler version that do not change machine code, so keys exclude them. --minimal
  /// skips declarations of textures and the runtime, --no-cache the compiler's own cache, which
  /// duplicates ours.
  static std::vector<const char*> other_options(int major_number, int minor_number, bool kept) {
    const int version = 100 * major_number + minor_number;
    std::vector<const char*> known;
    if (version >= 1204) known.push_back("--minimal");
    if (version >= 1209 && kept) known.push_back("--no-cache");
    return known;
  }
};

}  // namespace flaggems::detail
