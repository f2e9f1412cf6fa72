// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The SIMT emulator's launches, and what a thread of one is doing.
#pragma once

#include <flaggems/detail/fiber.hpp>
#include <flaggems/kernel/lang/number.hpp>

#include <string>
#include <vector>

namespace flaggems::detail {

/// The compiler's name of a type.
template <class Kernel>
std::string simt_kernel_name() {
  const std::string name = __PRETTY_FUNCTION__;
  const std::string key = "Kernel = ";
  const std::size_t begin = name.find(key) + key.size();
  std::size_t end = name.rfind(']');
  const std::size_t other = name.find("; std::string = ", begin);  // g++ appends its aliases
  if (other != std::string::npos) end = other;
  return name.substr(begin, end - begin);
}

class simt_thread_group;

/// A launch: `body(context, thread)` for each thread of each block; threads are numbered
/// throughout a cluster.
struct simt_job {
  const char* op;
  std::string (*kernel)();
  int warp_size;   // threads that shuffle
  int block_warp;  // of each warp of a block
  int threads;
  int cluster;  // blocks per cluster, a divisor of their number
  i64 blocks;
  i64 scratch;
  i64 states;  // bytes at a block's end, by which threads of several warps shuffle
  void (*body)(const void* context, simt_thread_group& group, int thread);
  const void* context;
};

/// What a thread does or waits for.
enum class simt_state {
  ready,
  barrier,
  cluster_barrier,
  shuffle_xor,
  shuffle_up,
  shuffle_from,
  ballot_match,
  phase,          // of an mbarrier
  named_barrier,  // of some threads of a block
  products,       // of a warp group
  returned
};

inline std::string simt_line_text(const kernels::source_line& line) {
  if (line.number == 0) return "an unknown line";
  const std::string number = "line " + std::to_string(line.number), file = line.file;
  return file.empty() ? number : number + " of " + file.substr(file.rfind('/') + 1);
}

/// A thread.
struct simt_lane {
  struct copy {
    i64 offset, count, i;
    int size;
    const void* from;  // none: zeros
    int group, line;
  };
  fiber point;
  simt_state now = simt_state::ready;
  kernels::source_line line;
  i64 step = outside;  // of the innermost loop of its block's that it is in
  int argument = 0;
  u64 value = 0;
  std::vector<copy> copies{};  // pending
  int groups = 0;

  static constexpr i64 outside = -1;

  void begin() {
    now = simt_state::ready;
    step = outside;
    copies.clear();
    groups = 0;
  }
  /// Whether both wait at the same place, in the same step of their loops, or have returned. Blocks
  /// of a cluster are in loops of their own.
  [[nodiscard]] bool is_with(const simt_lane& other) const {
    if (now != other.now) return false;
    if (now == simt_state::returned) return true;
    return line == other.line && (now == simt_state::cluster_barrier || step == other.step);
  }

  /// For messages.
  [[nodiscard]] std::string text() const {
    switch (now) {
      case simt_state::barrier: return " at the barrier of " + simt_line_text(line) + step_text();
      case simt_state::cluster_barrier:
        return " at the cluster's barrier of " + simt_line_text(line);
      case simt_state::shuffle_xor:
        return " in shuffle_xor(" + std::to_string(argument) + ") at " + simt_line_text(line) +
               step_text();
      case simt_state::shuffle_up:
        return " in shuffle_up(" + std::to_string(argument) + ") at " + simt_line_text(line);
      case simt_state::returned: return " returned";
      case simt_state::shuffle_from: return " in shuffle_from at " + simt_line_text(line);
      case simt_state::ballot_match: return " in ballot_match at " + simt_line_text(line);
      case simt_state::phase: return " waiting for an mbarrier at " + simt_line_text(line);
      case simt_state::named_barrier:
        return " at named barrier " + std::to_string(argument) + " of " + simt_line_text(line);
      case simt_state::products: return " awaiting products at " + simt_line_text(line);
      default: return " running";
    }
  }
  [[nodiscard]] std::string step_text() const {
    return step == outside ? std::string() : " in step " + std::to_string(step) + " of a loop";
  }
};

}  // namespace flaggems::detail
