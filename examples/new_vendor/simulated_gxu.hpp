// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// In the place of the vendor's compiler, as there is none: the image of a kernel is its name, and
// the simulated runtime runs it on the emulator. With a real GXU nothing of this file is needed.
#pragma once

#include "gxu.hpp"
#include "simulated_gxu.h"

#include <flaggems/detail/simt_emulator.hpp>

namespace flaggems::detail {

template <>
struct instance_observer<gxu_api> {
  template <class Kernel, class... Args>
  static void on_first_launch(const kernel_instance& instance) {
    gxu_simulated_register(std::string(instance.types()).c_str(), &run<Kernel, Args...>);
  }
  template <class Kernel, class... Args>
  static int run(unsigned blocks, unsigned threads, unsigned shared_bytes, void** arguments) {
    const i64 slice = *static_cast<const i64*>(arguments[2]);  // of a workspace, in place of shared
    try {
      kernels::run_emulated<gxu_api::warp_size, packed<Kernel, kernels::argument_pack<Args...>>>(
          "simulated launch", i64{blocks}, static_cast<int>(threads),
          slice > 0 ? slice : i64{shared_bytes} - kernels::exchange_bytes,
          *static_cast<const kernels::argument_pack<Args...>*>(arguments[0]));
      return 0;
    } catch (const error&) {
      return 1;
    }
  }
  template <class Kernel, class Pack>
  struct packed {
    template <class Block>
    static void run(Block& block, const Pack& pack) {
      pack.template run<Kernel>(block);
    }
  };
};

template <>
inline std::string_view precompiled_image_of<gxu_api>(const kernel_instance& instance,
                                                      std::string_view target) noexcept {
  static std::string image;  // locked by what loads it
  image = "gxu image\n" + std::string(instance.types());
  return target == "gxu10" ? std::string_view(image) : std::string_view();
}

}  // namespace flaggems::detail
