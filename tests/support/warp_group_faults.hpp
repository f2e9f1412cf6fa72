// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Planted mistakes: kernels on an emulated machine of which one operation of warp groups goes
// wrong, which the emulator has to notice.
#pragma once

#include <flaggems/error.hpp>
#include <flaggems/vendors/simt.hpp>

namespace flaggems_test {

enum class fault {
  none,
  late_products,
  wrong_phase,
  no_wait,
  few_bytes,
  wrong_descriptor,
  wrong_rows,
  no_fence,
  no_warp_barrier,
  late_copies,
  early_slab
};
template <fault Fault>
struct faulty_machine : flaggems::kernels::emulated_machine<32, true> {
  static constexpr fault planted = Fault;
  static constexpr void* emulates_warp_groups = nullptr;
};

/// A kernel on such a machine, and what launches it so.
template <class Kernel, fault Fault>
struct on_faulty {
  template <class Block, class... Args>
  static void run(Block& block, const Args&... args) {
    flaggems::kernels::simt_block<faulty_machine<Fault>> faulty({block.machine()});
    Kernel::run(faulty, args...);
  }
};
template <class Kernel, fault Fault>
struct faulty_kernel : Kernel {
  using type = on_faulty<typename Kernel::type, Fault>;
};

/// Whether a call that counts wrong results finds some, or raises an error.
template <class F>
bool has_mistake(const F& wrong_results) {
  try {
    return wrong_results() > 0;
  } catch (const flaggems::error&) {
    return true;
  }
}

}  // namespace flaggems_test

namespace flaggems::kernels {

template <class Machine>
struct warp_group_unit<Machine, decltype(static_cast<int>(Machine::planted))>
    : warp_group_unit<emulated_machine<32, true>> {
  using base = warp_group_unit<emulated_machine<32, true>>;
  using fault = flaggems_test::fault;
  static constexpr fault planted = Machine::planted;
  explicit warp_group_unit(const Machine& machine) : base(machine) {}

  void expect(u32 bar, u32 bytes, int line = __builtin_LINE()) const {
    base::expect(bar, planted == fault::few_bytes && bytes > 0 ? bytes - 128 : bytes, line);
  }
  void wait(u32 bar, u32 parity, int line = __builtin_LINE()) const {
    if constexpr (planted != fault::no_wait)
      base::wait(bar, planted == fault::wrong_phase ? parity ^ 1 : parity, line);
  }
  template <int Left>
  void await(int line = __builtin_LINE()) const {
    base::template await<Left + (planted == fault::late_products ? 1 : 0)>(line);
  }
  template <class T, major A, major B, class C, int Count>
  void multiply(C (&sums)[Count], u64 a, u64 b, i32 adds, int line = __builtin_LINE()) const {
    const u64 off = planted == fault::wrong_descriptor ? u64{1} << 32 : 0;  // of eights of lines
    base::template multiply<T, A, B>(sums, a, b + off, adds, line);
  }
  template <class T, major B, int Count>
  void multiply_rows(f32 (&sums)[Count], const u32* a, u64 b, i32 adds,
                     int line = __builtin_LINE()) const {
    const u64 off = planted == fault::wrong_rows ? u64{1} << 16 : 0;  // of the next elements
    base::template multiply_rows<T, B>(sums, a, b + off, adds, line);
  }
  template <int Left>
  void await_copies() const {
    base::template await_copies<Left + (planted == fault::late_copies ? 1 : 0)>();
  }
  void fence_writes() const {
    if constexpr (planted != fault::no_fence) base::fence_writes();
  }
  void sync_warp(int line = __builtin_LINE()) const {
    if constexpr (planted != fault::no_warp_barrier) base::sync_warp(line);
  }
  template <int Left>
  void await_reads() const {
    if constexpr (planted != fault::early_slab || Left == 0) base::template await_reads<Left>();
  }
};

}  // namespace flaggems::kernels
