// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Device types over simulated drivers: included before anything else (-include), it registers each
// kernel's instance with the driver when it is first launched. The program runs with the variable
// of each Api that names its library set to the simulated one.
#pragma once

#include "simulation.hpp"

#include <flaggems/detail/simt_emulator.hpp>
#include <flaggems/vendors/driver/dialect.hpp>

#include <dlfcn.h>
#include <cstdlib>
#include <string>

namespace flaggems_test {

/// A function of the simulated driver of `Api`.
template <class Api, class F>
F* simulated_of(const char* name) {
  static void* const library =
      dlopen(std::getenv(Api::library_variable), RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
  void* const symbol = library != nullptr ? dlsym(library, name) : nullptr;
  if (symbol == nullptr) {
    std::fprintf(stderr, "the driver of %s is not the simulated one\n", Api::name);
    std::abort();
  }
  return reinterpret_cast<F*>(symbol);
}

/// The observer of an Api whose launches the emulator runs at its warps' size.
template <class Api>
struct simulated_launches {
  template <class Kernel, class... Args>
  static void on_first_launch(const flaggems::detail::kernel_instance& instance) {
    simulated_of<Api, decltype(flaggems_sim_register)>("flaggems_sim_register")(
        std::string(instance.types()).c_str(), &run<Kernel, Args...>);
  }
  // With -1 clusters, the bytes of the arguments.
  template <class Kernel, class... Args>
  static int run(long blocks, int, int threads, long scratch, void** arguments) {
    using pack_type = flaggems::kernels::argument_pack<Args...>;
    if (blocks < 0) return static_cast<int>(sizeof(pack_type));
    try {
      flaggems::kernels::run_emulated<Api::warp_size, packed<Kernel, pack_type>>(
          "simulated launch", blocks, threads, scratch,
          *static_cast<const pack_type*>(arguments[0]));
      return 0;
    } catch (const flaggems::error& failure) {
      std::fprintf(stderr, "%s\n", failure.what());
      return 719;
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

}  // namespace flaggems_test
