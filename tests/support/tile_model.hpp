// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A level whose matrix products of bf16 are those of a software model of AMX.
#pragma once

#include <flaggems/kernels/gemm_amx.hpp>

#include <cmath>

namespace flaggems_test {
/// Its vectors are those of the baseline.
struct tile_model : flaggems::kernels::isa_baseline {};

inline float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? 0 * x : x; }
inline float upper_half(flaggems::u32 pair, int e) {
  const flaggems::u32 bits = e == 0 ? pair << 16 : pair & 0xffff0000u;
  return flushed(flaggems::kernels::bit_cast<float>(bits));
}
/// sum + the products of two pairs of bf16, as vdpbf16ps has it: the upper one first.
inline float dot_of_pairs(float sum, flaggems::u32 a, flaggems::u32 b) {
  for (const int e : {1, 0}) sum = flushed(upper_half(a, e) * upper_half(b, e) + sum);
  return sum;
}
inline void store_model(const flaggems::kernels::tile_arguments<float>& p, int r, int c,
                        float sum) {
  float& to = p.out[r * p.out_row + c];
  to = p.alpha * sum + (p.add ? to : 0.0F);
}
}  // namespace flaggems_test

namespace flaggems::kernels {
template <>
struct outlined<flaggems_test::tile_model> : outlined<isa_baseline> {};
template <>
struct choose_tile_kernel<small_float<bf16_format>, small_float<bf16_format>, f32,
                          flaggems_test::tile_model> {
  struct type : bf16_tile_kernel<isa_baseline> {
    using item = small_float<bf16_format>;
    static void product(const panel_arguments<f32>& p) {
      const auto* const a = static_cast<const item*>(p.a);
      const u32* const b = static_cast<const u32*>(p.b);
      for (int r = 0; r < rows; ++r)
        for (int c = 0; c < p.vectors * lanes; ++c) {
          f32 sum = 0;
          for (i64 q = 0; q < p.steps * 16; ++q) {  // 16 pairs of a row lie side by side
            const item* const pair = a + r * p.a_row + q / 16 * p.a_along + q % 16 * 2;
            sum = flaggems_test::dot_of_pairs(
                sum, static_cast<u32>(pair[0].bits) | static_cast<u32>(pair[1].bits) << 16,
                b[q * columns + c]);
          }
          if (p.narrow != nullptr)
            static_cast<item*>(p.narrow)[r * p.narrow_row + c] =
                item(p.alpha * sum + (p.add ? p.out[r * p.out_row + c] : 0.0F));
          else
            flaggems_test::store_model(p, r, c, sum);
        }
    }
  };
};
}  // namespace flaggems::kernels
