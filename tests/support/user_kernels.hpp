// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels and a functor as users write them: in a header of their own, which ends with its text.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/family/row/contract.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems_test {

/// sqrt(a^2 + scale * b^2)
struct hypot_like {
  template <class V>
  FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    return flaggems::kernels::sqrt(V(a * a + b * b * V(scale)));
  }
  float scale;
};

/// out = x * weight + first.
struct scaled_rows {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, flaggems::kernels::row_space space,
                                  flaggems::kernels::row_arg<float> x,
                                  flaggems::kernels::row_arg<float> weight,
                                  flaggems::kernels::row_arg<float> first,
                                  flaggems::kernels::row_target<float> out) {
    namespace fk = flaggems::kernels;
    fk::for_each_row(block, space, [&](const fk::coordinates& c) FLAGGEMS_LAMBDA {
      const auto from = x.at(c), scale = weight.at(c), offset = first.at(c);
      const auto to = out.at(c);
      block.for_each_lane(space.length, [&](auto i) FLAGGEMS_LAMBDA {
        to.store(i, from.template load<float>(i) * scale.template load<float>(i) +
                        offset.template load<float>(i));
      });
    });
  }
};

/// out = the sum of x, a number for each row.
struct row_sums {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, flaggems::kernels::row_space space,
                                  flaggems::kernels::row_arg<float> x,
                                  flaggems::kernels::row_target<float> out) {
    namespace fk = flaggems::kernels;
    fk::for_each_row(block, space, [&](const fk::coordinates& c) FLAGGEMS_LAMBDA {
      const auto from = x.at(c);
      const auto to = out.at(c);
      // [reduced_kernel]
      const float sum =
          block.reduce(space.length, float(0), fk::plus{},
                       [&](auto i) FLAGGEMS_LAMBDA { return from.template load<float>(i); });
      block.single([&]() FLAGGEMS_LAMBDA { to.write(0, sum); });  // the row's only element
      // [/reduced_kernel]
    });
  }
};

/// A row program with all that the contract has: two inputs, a parameter w, two sums at once, and a
/// sum that depends on them; a number and an index of each row; two outputs and three results.
///   out 0 = x w - mean(x), out 1 = y scale
///   results: sum(x y); x[index], or 0; sum(x w mean(x))
struct all_of_a_row {
  using compute = float;
  using terms = flaggems::kernels::plain_terms;
  static constexpr flaggems::kernels::row_traits traits = flaggems::kernels::row_traits();
  FLAGGEMS_INLINE static constexpr int neutral(int) { return 1; }

  template <class Row>
  FLAGGEMS_INLINE constexpr void run(Row& r) const {
    namespace fk = flaggems::kernels;
    const auto both = r.sum([](const auto& x, const auto& y) FLAGGEMS_LAMBDA {
      using V = decltype(fk::copy_of(x));
      return fk::sums<V, 2>{{V(x * y), x}};
    });
    const auto mean =
        r.each([part = r.part()](const auto& s) FLAGGEMS_LAMBDA { return s.at[1] * part; }, both);
    const auto weighted =
        r.weighted_sum([](const auto& x, const auto&, const auto& w, const auto& m)
                           FLAGGEMS_LAMBDA { return fk::scaled(x, w) * m; },
                       mean);
    const auto scale = r.template number<0>([](float v) FLAGGEMS_LAMBDA { return v; });
    const auto picked = r.template at<1>();
    r.template put<0>(r.each([](const auto& s) FLAGGEMS_LAMBDA { return s.at[0]; }, both));
    r.template put<1>(picked);
    r.template put<2>(weighted);
    r.template store<0>([](const auto& x, const auto&, const auto& w, const auto& m)
                            FLAGGEMS_LAMBDA { return fk::scaled(x, w) - m; },
                        mean);
    r.template store<1>([](const auto&, const auto& y, const auto&, const auto& by)
                            FLAGGEMS_LAMBDA { return y * by; },
                        scale);
  }
};

/// x += 1, by tiles of 64 elements.
struct add_one {
  static constexpr flaggems::i64 tile = 64;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, flaggems::i32* x, flaggems::i64 n) {
    block.for_each_tile((n + tile - 1) / tile, [&](flaggems::i64 at) FLAGGEMS_LAMBDA {
      const flaggems::i64 left = n - at * tile;
      block.for_each(left < tile ? left : tile,
                     [&](flaggems::i64 i) FLAGGEMS_LAMBDA { x[at * tile + i] += 1; });
    });
  }
};

/// x[i] = the block's index + 1, where blocks begin before the launches ahead have ended: it awaits
/// them before it touches memory, after, or never.
enum class awaiting { before, after, never };
struct note_blocks {
  static constexpr bool awaits_earlier = true;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, flaggems::i32* x, flaggems::i64 n, awaiting when) {
    block.for_each_tile(n, [&](flaggems::i64 i) FLAGGEMS_LAMBDA {
      const flaggems::i32 number = static_cast<flaggems::i32>(block.index()) + 1;
      if (when == awaiting::before) block.await_earlier();
      block.single([&]() FLAGGEMS_LAMBDA { x[i] = number; });
      if (when == awaiting::after) block.await_earlier();
    });
  }
};

/// Notes how many blocks the grid has.
struct note_count {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, flaggems::i32* count) {
    if (block.index() == 0)
      block.single([&]() FLAGGEMS_LAMBDA { *count = static_cast<flaggems::i32>(block.count()); });
  }
};

/// Notes how many threads the block has.
struct note_threads {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, flaggems::i32* threads) {
    if (block.thread() == 0) *threads = static_cast<flaggems::i32>(block.threads());
  }
};

}  // namespace flaggems_test

FLAGGEMS_TEXT("support/user_kernels.hpp");
