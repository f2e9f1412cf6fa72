// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels that an OpenCL device is asked to launch.
#pragma once

#include <flaggems/kernel/lang/lanes.hpp>

namespace flaggems_test {

/// out[tile] = the sum of 1 to n, by way of n numbers of scratch that all threads write and each
/// reads backwards.
struct sum_in_scratch {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, flaggems::i64* out, flaggems::i64 tiles,
                                  flaggems::i64 n) {
    using flaggems::i64;
    const auto numbers = block.template scratch<i64>(n);
    block.for_each_tile(tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA { numbers.write(i, i + 1); });
      block.sync();
      const i64 sum =
          block.reduce(n, i64(0), flaggems::kernels::plus{},
                       [&](auto lane) FLAGGEMS_LAMBDA { return numbers.read(n - 1 - lane.begin); });
      block.single([&]() FLAGGEMS_LAMBDA { out[tile] = sum; });
      block.sync();
    });
  }
};

/// *out = the sum of k * word k of an argument of so many.
template <int Words>
struct many_words {
  flaggems::i64 at[Words];
};
struct weighted_words {
  template <class Block, int Words>
  FLAGGEMS_INLINE static void run(Block& block, const many_words<Words>& words,
                                  flaggems::i64* out) {
    using flaggems::i64;
    const i64 sum =
        block.reduce(Words, i64(0), flaggems::kernels::plus{},
                     [&](auto lane) FLAGGEMS_LAMBDA { return lane.begin * words.at[lane.begin]; });
    block.single([&]() FLAGGEMS_LAMBDA { *out = sum; });
  }
};

/// *out += 1 by way of a pointer in memory, which no argument tells the driver of.
struct add_by_pointer {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, flaggems::i64* const* pointer) {
    block.single([&]() FLAGGEMS_LAMBDA { **pointer += 1; });
  }
};

/// *out += the sum of a thread's own numbers, of which each thread has 16 KiB.
struct many_variables {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, flaggems::i64* out) {
    using flaggems::i64;
    constexpr int count = 2048;
    i64 own[count];
    for (int k = 0; k < count; ++k) own[k] = block.thread();
    block.sync();
    i64 sum = 0;
    for (int k = 0; k < count; ++k) sum += own[k];
    sum = block.reduce(block.threads(), i64(0), flaggems::kernels::plus{},
                       [&](auto) FLAGGEMS_LAMBDA { return sum; });
    block.single([&]() FLAGGEMS_LAMBDA { *out = sum; });
  }
};

}  // namespace flaggems_test

FLAGGEMS_TEXT("opencl/kernels.hpp");
