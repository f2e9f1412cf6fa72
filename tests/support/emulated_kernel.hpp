// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels that a test of the emulator gives as a lambda, and the error that a mistake in one
// raises.
#pragma once

#include <flaggems/vendors/simt.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <type_traits>

namespace flaggems_test {

/// A kernel of (block, args...); `Tag` names it.
template <class Tag>
struct kernel_of {
  template <class Block, class F, class... Args>
  static void run(Block& block, const F& f, const Args&... args) {
    f(block, args...);
  }
};
struct planted {};

template <class Warp>
class simt_emulator_test : public testing::Test {
 protected:
  static constexpr int warp = flaggems::kernels::block_warp(Warp::value);  // as kernels see it

  template <class F>
  static void launch(flaggems::i64 blocks, int threads, flaggems::i64 scratch, const F& f) {
    flaggems::kernels::run_emulated<Warp::value, kernel_of<planted>>("planted_op", blocks, threads,
                                                                     scratch, f);
  }

  /// The error that a kernel of two warps raises; a failure of the test if it raises none.
  template <class F>
  static flaggems::error refused(const F& f, flaggems::i64 scratch = 4096, int threads = 2 * warp) {
    try {
      launch(1, threads, scratch, f);
    } catch (const flaggems::error& e) {
      // The emulator is usable at once, and the mistake of one launch is not that of the next.
      launch(2, threads, scratch, [](auto& block) { block.sync(); });
      return e;
    }
    ADD_FAILURE() << "no error was raised";
    return {flaggems::errc::invalid_argument, "", "", ""};
  }
};

using warp_sizes = testing::Types<std::integral_constant<int, 32>, std::integral_constant<int, 64>>;
/// With the device whose threads exchange values through memory alone.
using all_warp_sizes =
    testing::Types<std::integral_constant<int, 1>, std::integral_constant<int, 32>,
                   std::integral_constant<int, 64>>;

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
inline std::string line_text(int line) { return "line " + std::to_string(line); }

}  // namespace flaggems_test
