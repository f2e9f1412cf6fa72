// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of Ascend's binaries, and the buffer of their arguments as Triton's compiler for these
// chips lays it out: system words, arguments, the grid.
#pragma once

#include <flaggems/kernel/lang/prelude.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace flaggems {

/// The cores that the kernels of a binary run on, by the number that ACL knows such a binary by.
/// Triton's compiler names them in `mix_mode`: those of "aiv" are `vector`, all others `mixed`.
enum class ascend_cores : u32 { mixed = 0x43554245, vector = 0x41415246, cube = 0x41494343 };

/// A binary that ACL has loaded.
struct ascend_module {
  void* native = nullptr;  ///< aclrtBinHandle
  ascend_cores cores = ascend_cores::mixed;

  friend bool operator==(const ascend_module&, const ascend_module&) = default;
};

/// A kernel of a binary. Whoever launches it sets what its compiler says that it needs, in brackets
/// by the names of Triton's compiler.
struct ascend_kernel {
  void* native = nullptr;  ///< aclrtFuncHandle
  ascend_cores cores = ascend_cores::mixed;
  bool syncs = true;     ///< the first system word is there; false by TRITON_DISABLE_FFTS
  i64 workspace = 0;     ///< bytes of a block (workspace_size)
  i64 locks = 0;         ///< words of 8 bytes, of all blocks (lock_num)
  i64 initial_lock = 0;  ///< what each of them is before each launch (lock_init_val)

  friend bool operator==(const ascend_kernel&, const ascend_kernel&) = default;
};

namespace detail {

/// Whether T is passed to a kernel as it is: what has other sizes is passed as a number of 4 bytes.
template <class T>
inline constexpr bool is_ascend_argument = std::is_scalar_v<T> &&
                                           (sizeof(T) == 4 || sizeof(T) == 8) &&
                                           !std::is_same_v<T, double>;

/// The arguments of a launch. Those of 8 bytes lie at multiples of 8; nothing follows the grid.
template <class... Args>
class ascend_arguments {
  static_assert((is_ascend_argument<Args> && ...),
                "flaggems: an argument of a kernel of ascend is a pointer or a number of 4 or 8 "
                "bytes, and no double: pass f16, bf16 and double as float, i8 and i16 as i32");

 public:
  ascend_arguments(i64 tiles, const Args&... args) noexcept {
    std::size_t at = system_bytes;
    (put(args, at), ...);
    const std::int32_t grid[] = {static_cast<std::int32_t>(tiles), 1, 1};
    for (const std::int32_t size : grid) put(size, at);
  }
  /// Writes the system words. A kernel that does not sync has no word for that.
  void set_system(void* sync, void* locks, void* workspace) noexcept {
    void* const words[] = {sync, locks, workspace};
    std::memcpy(data_, words, sizeof(words));
  }
  /// Where the driver reads `bytes(syncs)`.
  [[nodiscard]] void* data(bool syncs) noexcept { return data_ + (syncs ? 0 : word); }
  [[nodiscard]] static constexpr std::size_t bytes(bool syncs) noexcept {
    return all_bytes - (syncs ? 0 : word);
  }

 private:
  static constexpr std::size_t word = 8, system_bytes = 3 * word;
  static constexpr std::size_t placed(std::size_t at, std::size_t bytes) noexcept {
    return (at + bytes - 1) / bytes * bytes;
  }
  static constexpr std::size_t count_bytes() noexcept {
    std::size_t at = system_bytes;
    ((at = placed(at, sizeof(Args)) + sizeof(Args)), ...);
    return placed(at + 3 * sizeof(std::int32_t), word);  // a structure's size, with its padding
  }
  template <class T>
  void put(const T& value, std::size_t& at) noexcept {
    at = placed(at, sizeof(T));
    std::memcpy(data_ + at, &value, sizeof(T));
    at += sizeof(T);
  }

  static constexpr std::size_t all_bytes = count_bytes();
  alignas(word) unsigned char data_[all_bytes] = {};
};

}  // namespace detail

}  // namespace flaggems
