// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's vectors of small floats against the scalar conversions, bit by bit, at every level.
#include <flaggems/ops/copy.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace flaggems {
namespace {

template <class T>
u32 bits_of(T x) {
  if constexpr (sizeof(T) == 4)
    return kernels::bit_cast<u32>(x);
  else
    return x.bits;
}

/// Copies `from` to elements of type Out at every level and compares bits; NaN with NaN.
template <class Out, class In>
void check_copy(const tensor<In>& from) {
  const stream<host> s;
  for (int level = 0; level <= static_cast<int>(detected_isa()); ++level) {
    const isa_guard guard(static_cast<isa_level>(level));
    auto out = empty<Out>(s, {from.numel()});
    copy_(s, out, from);
    for (i64 i = 0; i < from.numel(); ++i) {
      const Out want = kernels::number_cast<Out>(from.data()[i]);
      const bool is_nan = static_cast<f32>(want) != static_cast<f32>(want);
      const bool same = is_nan ? static_cast<f32>(out.data()[i]) != static_cast<f32>(out.data()[i])
                               : bits_of(out.data()[i]) == bits_of(want);
      ASSERT_TRUE(same) << "level " << to_string(isa()) << ", bits " << bits_of(from.data()[i])
                        << ": " << bits_of(out.data()[i]) << ", expected " << bits_of(want);
      if (is_nan && std::is_same_v<Out, bf16>) {
        ASSERT_NE(bits_of(out.data()[i]) & 0x40u, 0u) << "a signalling NaN was stored";
      }
    }
  }
}

template <class T>
class small_float_vectors : public ::testing::Test {};
using formats = ::testing::Types<bf16, f16>;
TYPED_TEST_SUITE(small_float_vectors, formats);

TYPED_TEST(small_float_vectors, widen_all) {
  const stream<host> s;
  auto x = empty<TypeParam>(s, {65536 + 5});
  for (i64 i = 0; i < x.numel(); ++i) x.data()[i] = TypeParam::from_bits(static_cast<u16>(i));
  check_copy<f32>(x);
}

TYPED_TEST(small_float_vectors, narrow_where_rounding_decides) {
  const stream<host> s;
  std::mt19937 random(7);
  // All upper halves, with lower halves around the ties; then random bits.
  constexpr u32 lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0x1000, 0x3000};
  auto x = empty<f32>(s, {65536 * 8 + 100003});
  for (i64 i = 0; i < x.numel(); ++i) {
    const u32 upper = static_cast<u32>(i / 8) << 16;
    const u32 bits = i < 65536 * 8 ? upper | lower[i % 8] : static_cast<u32>(random());
    std::memcpy(x.data() + i, &bits, sizeof(bits));
  }
  check_copy<TypeParam>(x);
}

}  // namespace
}  // namespace flaggems
