// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of std::atomic that the library needs: including <atomic> is expensive to compile.
#pragma once

#include <flaggems/config.hpp>

namespace flaggems::detail {

/// Memory orders, as in C++.
enum class memory_order : int {
  relaxed = __ATOMIC_RELAXED,
  acquire = __ATOMIC_ACQUIRE,
  release = __ATOMIC_RELEASE,
  seq_cst = __ATOMIC_SEQ_CST
};

/// A lock-free object of an integral or pointer type; its functions are those of std::atomic.
template <class T>
class atomic {
  // T may be a pointer. NOLINTNEXTLINE(bugprone-sizeof-expression)
  static_assert(__atomic_always_lock_free(sizeof(T), nullptr), "atomic: T must be lock-free");

 public:
  constexpr atomic() noexcept = default;
  constexpr atomic(T value) noexcept : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  T operator=(T value) noexcept { return store(value), value; }

  [[nodiscard]] T load(memory_order order = memory_order::seq_cst) const noexcept {
    return __atomic_load_n(&value_, static_cast<int>(order));
  }
  /// seq_cst is an exchange: the same instruction on x86, and not reordered with later loads by
  /// emulators either (qemu reorders AArch64's STLR: both sides of a wait could then miss the
  /// other's store and sleep).
  void store(T value, memory_order order = memory_order::seq_cst) noexcept {
    if (order == memory_order::seq_cst)
      static_cast<void>(exchange(value));
    else
      __atomic_store_n(&value_, value, static_cast<int>(order));
  }
  T exchange(T value, memory_order order = memory_order::seq_cst) noexcept {
    return __atomic_exchange_n(&value_, value, static_cast<int>(order));
  }
  bool compare_exchange_strong(T& expected, T desired,
                               memory_order order = memory_order::seq_cst) noexcept {
    const int failure = order == memory_order::release ? __ATOMIC_RELAXED : static_cast<int>(order);
    return __atomic_compare_exchange_n(&value_, &expected, desired, false, static_cast<int>(order),
                                       failure);
  }
  T fetch_add(T value, memory_order order = memory_order::seq_cst) noexcept {
    return __atomic_fetch_add(&value_, value, static_cast<int>(order));
  }
  T fetch_sub(T value, memory_order order = memory_order::seq_cst) noexcept {
    return __atomic_fetch_sub(&value_, value, static_cast<int>(order));
  }

 private:
  alignas(sizeof(T)) T value_{};  // NOLINT(bugprone-sizeof-expression)
};

}  // namespace flaggems::detail
