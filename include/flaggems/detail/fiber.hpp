// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Fibers of the SIMT emulator: many stacks on one OS thread, with explicit switches. A fiber may be
// abandoned at a switch and its stack reused without unwinding, so objects on it must be trivially
// destructible, as all are in the device subset.
#pragma once

#include <flaggems/error.hpp>

#include <cstddef>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

/// 1: ucontext (two system calls per switch); 0: assembly.
#ifndef FLAGGEMS_FIBER_UCONTEXT
#define FLAGGEMS_FIBER_UCONTEXT (!FLAGGEMS_ARCH_X86 && !FLAGGEMS_ARCH_ARM64)
#endif
#if FLAGGEMS_FIBER_UCONTEXT
#include <ucontext.h>
#endif

#if FLAGGEMS_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace flaggems::detail {

/// Stacks of equal size in one mapping, each with a guard page: an overflow crashes instead of
/// corrupting another stack.
class stack_pool {
 public:
  static constexpr std::size_t bytes = std::size_t{256} << 10;

  stack_pool() = default;
  stack_pool(const stack_pool&) = delete;
  stack_pool& operator=(const stack_pool&) = delete;
  ~stack_pool() { release(); }

  /// Provides at least `count` stacks. No fiber may be alive.
  void reserve(int count) {
    if (count <= count_) return;
    release();
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    stride_ = bytes + page;
    const std::size_t size = stride_ * static_cast<std::size_t>(count);
    void* p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
      raise(errc::out_of_memory, "simt", "stacks for " + text(count) + " threads");
    base_ = static_cast<unsigned char*>(p);
    count_ = count;
    for (int k = 0; k < count; ++k)
      if (::mprotect(base_ + stride_ * static_cast<std::size_t>(k), page, PROT_NONE) != 0)
        raise(errc::out_of_memory, "simt", "a guard page below each thread's stack");
  }

  /// The lowest byte of stack k.
  [[nodiscard]] unsigned char* stack(int k) const noexcept {
    return base_ + stride_ * static_cast<std::size_t>(k) + (stride_ - bytes);
  }

 private:
  void release() noexcept {
    if (base_ != nullptr) ::munmap(base_, stride_ * static_cast<std::size_t>(count_));
    base_ = nullptr;
    count_ = 0;
  }

  unsigned char* base_ = nullptr;
  std::size_t stride_ = 0;
  int count_ = 0;
};

#if !FLAGGEMS_FIBER_UCONTEXT
/// Saves the callee-saved registers and the stack pointer in *save; resumes `load`.
#if FLAGGEMS_ARCH_X86
__attribute__((naked, noinline)) inline void switch_stacks(void** /*save: rdi*/,
                                                           void* /*load: rsi*/) {
  __asm__(
      "pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
      "movq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n\t"
      "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\tret");
}
#else
// Not naked, which g++ lacks here: the compiler saves the clobbered registers.
__attribute__((noinline)) inline void switch_stacks(void** save, void* load) {
  register void** to __asm__("x0") = save;
  register void* from __asm__("x1") = load;
  __asm__ volatile(
      "adr x2, 1f\n\tstp x29, x2, [sp, #-16]!\n\tmov x2, sp\n\tstr x2, [x0]\n\t"
      "mov sp, x1\n\tldp x29, x2, [sp], #16\n\tret x2\n1:"
      : "+r"(to), "+r"(from)
      :
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
        "x16", "x17", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30",
        "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
        "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",
        "v27", "v28", "v29", "v30", "v31", "cc", "memory");
}
#endif
#endif

/// An execution context: a fiber, or the OS thread that runs the fibers.
class fiber {
 public:
  /// Prepares `entry` to start on the given stack at the next switch to this fiber. `entry` must
  /// not return but end with a switch with `last`.
  void start(unsigned char* stack, std::size_t bytes, void (*entry)()) {
    bottom_ = stack;
    size_ = bytes;
#if FLAGGEMS_ASAN
    fake_stack_ = nullptr;
    __asan_unpoison_memory_region(stack, bytes);  // left by an abandoned fiber
#endif
#if FLAGGEMS_FIBER_UCONTEXT
    ::getcontext(&context_);
    context_.uc_stack.ss_sp = stack;
    context_.uc_stack.ss_size = bytes;
    context_.uc_link = nullptr;
    ::makecontext(&context_, entry, 0);
#else
#if FLAGGEMS_ARCH_X86
    // Six registers, `entry`, and a zero return address that ends stack traces. At entry the stack
    // pointer is 8 off a multiple of 16, as after a call.
    void* frame[8] = {};
    frame[6] = reinterpret_cast<void*>(entry);
#else
    // the frame pointer, and the address to resume at
    void* frame[2] = {nullptr, reinterpret_cast<void*>(entry)};
#endif
    unsigned char* const top = stack + bytes - sizeof(frame);
    std::memcpy(top, frame, sizeof(frame));
    sp_ = top;
#endif
  }

  /// Switches to `to`. With `last`, this context is never resumed.
  void switch_to(fiber& to, bool last = false) {
#if FLAGGEMS_ASAN
    __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack_, to.bottom_, to.size_);
#else
    (void)last;
#endif
#if FLAGGEMS_FIBER_UCONTEXT
    ::swapcontext(&context_, &to.context_);
#else
    switch_stacks(&sp_, to.sp_);
#endif
    arrived();
  }

  /// Must be the first call of `entry`; `from` is the context that switched to it.
  void entered(fiber& from) {
#if FLAGGEMS_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &from.bottom_, &from.size_);
#else
    (void)from;
#endif
  }

 private:
  void arrived() {
#if FLAGGEMS_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
#endif
  }

  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
#if FLAGGEMS_ASAN
  void* fake_stack_ = nullptr;
#endif
#if FLAGGEMS_FIBER_UCONTEXT
  ucontext_t context_;
#else
  void* sp_ = nullptr;
#endif
};

}  // namespace flaggems::detail
