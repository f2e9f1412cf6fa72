// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/random/philox.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace flaggems_test {
namespace {

namespace fk = flaggems::kernels;
using flaggems::philox_generator;
using flaggems::u32;
using flaggems::u64;

struct known_answer {
  fk::philox_block counter;
  u32 key[2];
  u32 answer[4];
};

// Random123, tests/kat_vectors, the lines "philox4x32 10".
constexpr known_answer known_answers[] = {
    {{{0, 0, 0, 0}}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST(philox, known_answers) {
  for (const known_answer& known : known_answers) {
    const fk::philox_block got = fk::philox4x32(known.counter, known.key[0], known.key[1]);
    for (int k = 0; k < 4; ++k) EXPECT_EQ(got.word[k], known.answer[k]) << k;
  }
}

TEST(philox, numbers_of_a_generator) {
  // Seed and offset are the low words of key and counter.
  const philox_generator zero{0, 0};
  EXPECT_EQ(fk::random_bits(zero, 0), 0xe169c58d6627e8d5U);
  EXPECT_EQ(fk::random_bits(zero, 1), 0x9b00dbd8bc57ac4cU);
  const philox_generator g{0x123456789abcdef0U, 0xfffffffeU};  // the offset crosses 32 bits
  std::set<u64> seen;
  for (u64 k = 0; k < 1000; ++k) {
    seen.insert(fk::random_bits(g, k));
    EXPECT_EQ(fk::random_bits(g, k), fk::random_bits(fk::advanced(g, k - k % 2), k % 2));
  }
  EXPECT_EQ(seen.size(), 1000U);
  EXPECT_EQ(fk::advanced(g, 0).offset, g.offset);
  EXPECT_EQ(fk::advanced(g, 1).offset, g.offset + 1);
  EXPECT_EQ(fk::advanced(g, 2).offset, g.offset + 1);
  EXPECT_EQ(fk::advanced(g, 3).offset, g.offset + 2);
  EXPECT_EQ(fk::advanced(g, 3).seed, g.seed);
}

TEST(philox, multiply_high) {
  __extension__ using wide = unsigned __int128;
  std::mt19937_64 g(1);
  const u64 edges[] = {0, 1, 0xffffffffU, u64(1) << 32, u64(1) << 63, ~u64(0)};
  for (int n = 0; n < 10000; ++n) {
    const u64 a = n < 36 ? edges[n % 6] : g(), b = n < 36 ? edges[n / 6] : g();
    EXPECT_EQ(fk::multiply_high(a, b), static_cast<u64>(static_cast<wide>(a) * b >> 64));
  }
}

TEST(philox, uniform) {
  EXPECT_EQ(fk::uniform<float>(0), 0.0F);
  EXPECT_EQ(fk::uniform<float>(~u64(0)), 1.0F - 0x1p-24F);
  EXPECT_EQ(fk::uniform<double>(~u64(0)), 1.0 - 0x1p-53);
  double sum = 0, squares = 0;
  constexpr int n = 1 << 18;
  for (u64 k = 0; k < n; ++k) {
    const double x = fk::uniform<double>(fk::random_bits({}, k));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0.5, 4 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(squares / n, 1.0 / 3, 4 * std::sqrt(4.0 / 45 / n));
}

TEST(philox, exponential) {
  std::mt19937_64 g(2);
  double worst = 0;
  const auto check = [&](u64 bits) {
    const long double want = -std::log2(static_cast<long double>(bits | 1U)) + 64;
    const long double got = static_cast<long double>(fk::exponential_bits(bits)) * 0x1p-57L;
    if (want > 0x1p-26L)
      worst = std::fmax(worst, static_cast<double>(std::fabs(got - want) / want));
    else
      EXPECT_NEAR(static_cast<double>(got), static_cast<double>(want), 0x1p-56);
  };
  for (int n = 0; n < 200000; ++n) check(g() >> (n % 3 == 0 ? n % 64 : 0));
  for (int n = 0; n < 20000; ++n) check(~(g() >> (n % 64)));  // near 2^64
  const u64 root = 0xB504F333F9DE6484U;
  for (u64 n = 0; n < 2000; ++n) check(root - 1000 + n), check((u64(1) << 63) - 1000 + n);
  EXPECT_LT(worst, 0x1p-30);
  EXPECT_EQ(fk::exponential_bits(~u64(0)), 1U);
  EXPECT_EQ(fk::exponential_bits(0), u64(64) << 57);
}

}  // namespace
}  // namespace flaggems_test
