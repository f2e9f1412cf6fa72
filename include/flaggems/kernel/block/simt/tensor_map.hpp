// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous loads of tensor boxes from global into block-local memory: by the copy engine (TMA,
// from sm_90 on), elsewhere synchronously by the threads.
#pragma once

#include <flaggems/kernel/block/simt/block.hpp>

namespace flaggems::kernels {

/// Describes a tensor whose boxes a kernel loads; a kernel argument made by `tensor_map_of`
/// (launch/tensor_map.hpp). Dimensions are innermost first, as for the engine.
struct alignas(128) tensor_map {
  u64 encoded[16];  ///< in the engine's format (CUDA: CUtensorMap); 0 without one
  u64 address;
  u64 sizes[5];
  u64 strides[5];  ///< bytes
  u32 box[5];      ///< elements
  i32 rank;
  u32 swizzle;  ///< pieces of 16 bytes permuted by the swizzle: 1 (none), 2, 4 or 8
  u32 element;  ///< bytes

  FLAGGEMS_INLINE u32 box_elements() const {
    u32 n = 1;
    for (int d = 0; d < rank; ++d) n *= box[d];
    return n;
  }
};

/// The swizzled offset of byte `at` of a box, whose memory is aligned to 1024: permutes each
/// `swizzle` pieces of 16 bytes of a 128-byte row by its index, so that equal pieces of consecutive
/// rows are in different banks.
FLAGGEMS_INLINE constexpr u32 swizzled(u32 at, u32 swizzle) {
  return at ^ ((at >> 7 & (swizzle - 1)) << 4);
}

/// Whether a machine has a copy engine.
template <class Machine, class = int>
inline constexpr bool copy_engine = false;
template <class Machine>
inline constexpr bool copy_engine<Machine, decltype(Machine::has_copy_engine + 0)> =
    Machine::has_copy_engine;

/// An element's index in each dimension, in the map's order.
template <int Rank>
struct box_corner {
  i32 at[Rank];
};

/// A block's box loads. All threads call each member. `wait` completes the pending loads and makes
/// them visible to every thread; a `sync` separates it from the next `load`.
template <class Block>
class box_loads {
 public:
  /// Takes `scratch_bytes<u64>(1)` of the block's scratch.
  FLAGGEMS_INLINE explicit box_loads(Block& block, source_line line = FLAGGEMS_CALLER_LINE)
      : block_(block), arrival_(block.template scratch<u64>(1)) {
    if constexpr (by_engine) {
      is_reached_ = block.machine().engine_reaches(arrival_);
      if (is_reached_ && block.thread() == 0) block.machine().expect_boxes(arrival_);
      block.sync(line);
    }
  }
  /// Loads the box at `first` to `to`, aligned to 128 bytes, if swizzled to 1024, as the first
  /// arrays of scratch are. Elements outside of the tensor become 0.
  template <class T, int Rank>
  FLAGGEMS_INLINE void load(const tensor_map& map,
                            const typename Block::template scratch_type<T>& to,
                            box_corner<Rank> first, source_line line = FLAGGEMS_CALLER_LINE) {
    const u32 n = map.box_elements();
    if constexpr (by_engine) {
      if (is_reached_) {
        if (block_.thread() == 0)
          block_.machine().load_box(map, to.data, first.at, arrival_,
                                    n * static_cast<u32>(sizeof(T)));
        return;
      }
    }
    for (u32 i = static_cast<u32>(block_.thread()); i < n;
         i += static_cast<u32>(block_.threads())) {
      u64 at = map.address;
      bool inside = true;
      u32 rest = i;
      for (int d = 0; d < Rank; ++d) {
        const i64 x = i64{first.at[d]} + rest % map.box[d];
        rest /= map.box[d];
        inside = inside && x >= 0 && static_cast<u64>(x) < map.sizes[d];
        at += static_cast<u64>(x) * map.strides[d];
      }
      const u32 byte = swizzled(i * static_cast<u32>(sizeof(T)), map.swizzle);
      T value = T(0);
      if (inside) value = *reinterpret_cast<global_ptr<const T>>(at);
      to.write(byte / static_cast<u32>(sizeof(T)), value, line);
    }
  }
  FLAGGEMS_INLINE void wait(source_line line = FLAGGEMS_CALLER_LINE) {
    if constexpr (by_engine) {
      if (is_reached_) {
        block_.machine().await_boxes(arrival_, phase_);
        phase_ ^= 1;
        return;
      }
    }
    block_.sync(line);
  }

 private:
  static constexpr bool by_engine = copy_engine<typename Block::machine_type>;

  Block& block_;
  typename Block::template scratch_type<u64> arrival_;
  u32 phase_ = 0;
  bool is_reached_ = false;  // by the engine
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/block/simt/tensor_map.hpp");
