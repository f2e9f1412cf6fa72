// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What devices whose arguments are one pack of words are asked to launch: by OpenCL's drivers, real
// and simulated, and Level Zero's.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/device/transfer.hpp>
#include <flaggems/launch/launch.hpp>

#include <gtest/gtest.h>
#include <support/errors.hpp>

#include "kernels.hpp"

#include <initializer_list>
#include <vector>

namespace flaggems_test {

inline flaggems::launch_config config_of(const char* op, flaggems::i64 tiles,
                                         flaggems::i64 scratch = 0) {
  flaggems::launch_config config;
  config.op = op;
  config.tiles = tiles;
  config.threads = 128;
  config.scratch = scratch;
  return config;
}

/// Launches with so many numbers of scratch, in local memory or in a workspace.
template <class Device>
void sum_in_scratch_of(std::initializer_list<flaggems::i64> counts) {
  using flaggems::i64;
  const flaggems::stream<Device> s;
  for (const i64 n : counts) {
    SCOPED_TRACE(n);
    constexpr i64 tiles = 9;
    auto out = flaggems::from_values<i64>(s, std::vector<i64>(tiles, -1), {tiles});
    flaggems::launch<sum_in_scratch>(s, config_of("sum_in_scratch", tiles, 8 * n), out.data(),
                                     tiles, n);
    const auto sums = flaggems::to_host(s, out);
    for (i64 tile = 0; tile < tiles; ++tile) EXPECT_EQ(sums.data()[tile], n * (n + 1) / 2) << tile;
  }
}

/// Launches with an argument of so many words, each time with others, all queued before the first
/// has run.
template <class Device, int Words>
void launch_many_words(flaggems::i64 rounds) {
  using flaggems::i64;
  SCOPED_TRACE(Words);
  const flaggems::stream<Device> s;
  auto sums = flaggems::from_values<i64>(s, std::vector<i64>(static_cast<std::size_t>(rounds), 0),
                                         {rounds});
  many_words<Words> words{};
  for (i64 round = 0; round < rounds; ++round) {
    for (i64 k = 0; k < Words; ++k) words.at[k] = round * (k + 1);
    flaggems::launch<weighted_words>(s, config_of("weighted_words", 1), words, sums.data() + round);
  }
  const auto there = flaggems::to_host(s, sums);
  i64 sum = 0;
  for (i64 k = 0; k < Words; ++k) sum += k * (k + 1);
  for (i64 round = 0; round < rounds; ++round) EXPECT_EQ(there.data()[round], round * sum) << round;
}

/// More than is left, and than one block may be.
template <class Device>
void exhaust_memory() {
  using flaggems::i64;
  const flaggems::stream<Device> s;
  for (const i64 n : {i64{1} << 29, i64{1} << 40})
    EXPECT_EQ(error_of([&] {
                std::vector<flaggems::tensor<float, Device>> all;
                for (int k = 0; k < 9; ++k) all.push_back(flaggems::empty<float>(s, {n}));
              }).code(),
              flaggems::errc::out_of_memory);
}

}  // namespace flaggems_test
