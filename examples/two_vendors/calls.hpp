// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a call costs, of us on each device and of PyTorch's dispatcher: the table's rows.
#pragma once

#include <chrono>
#include <cstdio>

/// Nanoseconds that f() takes, the shortest of some.
template <class F>
double nanoseconds(F&& f) {
  double least = 1e18;
  for (int round = 0; round < 5; ++round) {
    constexpr int calls = 200;
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < calls; ++k) f();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    if (took.count() / calls < least) least = took.count() / calls;
  }
  return least;
}

/// Nanoseconds until a call returns that writes into a given tensor of floats.
struct call_costs {
  const char* who;
  double add_4, add_1000, silu_4;  // the operator and the elements

  static void print_title() {
    std::printf("%-24s%10s%10s%10s\n", "ns until a call returns", "add 4", "add 1000", "silu 4");
  }
  void print() const { std::printf("%-24s%10.0f%10.0f%10.0f\n", who, add_4, add_1000, silu_4); }
};

/// The row of PyTorch's dispatcher, or why there is none.
void print_torch();
