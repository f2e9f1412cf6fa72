// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems::cuda over the simulated driver: included before anything else (-include), it registers
// each kernel's instance with the driver when it is first launched. The program runs with
// FLAGGEMS_CUDA_LIBRARY and FLAGGEMS_NVRTC_LIBRARY set to that library, and cuda.cpp in it.
#pragma once

#include "device.hpp"

#include <flaggems/vendors/cuda.hpp>

namespace flaggems_test {

/// A function of the simulated driver.
template <class F>
F* simulated(const char* name) {
  return simulated_of<flaggems::detail::cuda_api, F>(name);
}

/// Device memory is shut until a thread of a launch that begins early awaits the ones ahead of it:
/// its first thread comes that far before any other begins.
class shut_memory {
 public:
  explicit shut_memory(bool shuts) {
    if (shuts) set(true);
  }
  ~shut_memory() { open(); }
  shut_memory(const shut_memory&) = delete;
  shut_memory& operator=(const shut_memory&) = delete;
  static bool is_shut() { return shut; }
  static void open() {
    if (shut) set(false);
  }

 private:
  static void set(bool value) {
    simulated<decltype(flaggems_sim_shut)>("flaggems_sim_shut")(value);
    shut = value;
  }
  static inline bool shut = false;  // the driver runs one launch at a time
};
struct early_machine : flaggems::kernels::emulated_machine<32, true> {
  static constexpr bool begins_early = true;
  template <class F>
  void await_earlier(const F& meanwhile) const {
    meanwhile();
    shut_memory::open();
  }
  void admit_next() const {}
  void admit_small() const {}
};

}  // namespace flaggems_test

template <>
struct flaggems::detail::instance_observer<flaggems::detail::cuda_api> {
  template <class Kernel, class... Args>
  static void on_first_launch(const kernel_instance& instance) {
    flaggems_test::simulated<decltype(flaggems_sim_register)>("flaggems_sim_register")(
        std::string(instance.types()).c_str(), &run<Kernel, Args...>);
  }
  // With -1 clusters, the bytes of the arguments.
  template <class Kernel, class... Args>
  static int run(long clusters, int cluster, int threads, long scratch, void** arguments) {
    using pack_type = kernels::argument_pack<Args...>;
    if (clusters < 0) return static_cast<int>(sizeof(pack_type));
    try {
      const pack_type& pack = *static_cast<const pack_type*>(arguments[0]);
      const flaggems_test::shut_memory memory(kernels::awaits_earlier<Kernel>);
      kernels::run_emulated_clusters<32, packed<Kernel, pack_type>>(
          "simulated launch", clusters, cluster, threads, scratch, pack);
      check(!flaggems_test::shut_memory::is_shut(), errc::invalid_argument, "simulated launch",
            "a kernel that awaits the launches ahead of it");
      return 0;
    } catch (const error& failure) {
      std::fprintf(stderr, "%s\n", failure.what());
      return 719;
    }
  }
  template <class Kernel, class Pack>
  struct packed {
    template <class Block>
    static void run(Block& block, const Pack& pack) {
      if constexpr (kernels::awaits_earlier<Kernel>) {
        kernels::simt_block<flaggems_test::early_machine> early({block.machine()});
        pack.template run<Kernel>(early);
      } else {
        pack.template run<Kernel>(block);
      }
    }
  };
};

// What no kernel changes is compiled once a program, in cuda.cpp: a sixth of a small test's time.
extern template class flaggems::detail::driver<flaggems::detail::cuda_api>;
extern template class flaggems::detail::runtime_compiler<flaggems::detail::cuda_api>;
extern template struct flaggems::driver_device<flaggems::detail::cuda_api>;
