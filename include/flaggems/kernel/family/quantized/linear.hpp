// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A linear layer with weights in blocks, and rows of such weights as numbers.
#pragma once

#include <flaggems/kernel/family/gemm/gemm.hpp>
#include <flaggems/kernel/family/quantized/formats.hpp>

namespace flaggems::kernels {

/// The position of a lane in a row.
template <int Positions>
struct block_place {
  i64 block;
  i64 position;
  template <class Lane>
  FLAGGEMS_INLINE static block_place of(Lane lane) {
    const u64 at = static_cast<u64>(lane.begin);  // unsigned: the divisions are shifts
    return {static_cast<i64>(at / Positions), static_cast<i64>(at % Positions)};
  }
  /// The lane within its block.
  template <class Lane>
  FLAGGEMS_INLINE Lane inside(Lane lane) const {
    lane.begin = position;
    return lane;
  }
  /// The elements of the row that position p of the lane's block yields.
  template <class Lane>
  FLAGGEMS_INLINE Lane elements(Lane lane, int p) const {
    lane.begin = block * quantized_block + p * Positions + position;
    return lane;
  }
};

/// out[i, j] = sum over q of x[i, q] * w[j, q], Rows x Columns results in registers. A decoded
/// weight serves all Rows. space.k counts blocks.
template <class Format, class T, class Out, int Rows, int Columns, stepping Steps>
struct quantized_linear {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, gemm_space space, gemm_arg<T> x,
                                  global_ptr<const u8> w, gemm_out<Out, f32> out) {
    constexpr int positions = block_positions<typename Block::template value<f32>>;
    constexpr int parts = quantized_block / positions;
    const i64 row_bytes = space.k * Format::bytes;
    block.for_each_tile(space.tiles(), [&](i64 tile) FLAGGEMS_LAMBDA {
      const gemm_space::place at = space.locate(tile);
      global_ptr<const T> row[Rows];
      global_ptr<const u8> column[Columns];
      const auto first = x.at(at.batch);
      static_for<Rows>(
          [&](auto r) FLAGGEMS_LAMBDA { row[r] = first + min_of(at.i + r, space.m - 1) * x.line; });
      static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
        column[c] = w + min_of(at.j + c, space.n - 1) * row_bytes;
      });
      f32 sums[Rows * Columns];
      block.template accumulate<Rows * Columns, f32>(
          space.k * positions, sums, [&](auto lane, auto& acc) FLAGGEMS_LAMBDA {
            using V = lane_value<decltype(lane), f32>;
            const auto here = block_place<positions>::of(lane);
            static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
              V weight[parts];
              Format::template decode<positions, decltype(lane), V>(
                  column[c] + here.block * Format::bytes, here.inside(lane), weight);
              static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
                constexpr int e = decltype(r)::value * Columns + decltype(c)::value;
                static_for<parts>([&](auto p) FLAGGEMS_LAMBDA {
                  V value;
                  if constexpr (Steps == stepping::strided)
                    value = load<f32>(row[r], x.along, here.elements(lane, p));
                  else
                    value = load<f32>(row[r], here.elements(lane, p));
                  acc[e] = multiply_add<V>(weight[p], value, acc[e]);
                });
              });
            });
          });
      const auto to = out.at(at.batch) + at.i * out.row;
      block.single([&]() FLAGGEMS_LAMBDA {
        static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
          static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
            if (at.i + r < space.m && at.j + c < space.n)
              store(to + r * out.row, out.column, lane_scalar{at.j + c}, sums[r * Columns + c]);
          });
        });
      });
    });
  }
};

/// Rows of activations rounded to 8 bits a block (byte_scale), as f32. space.length counts blocks.
template <class T>
struct rounded_activations {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, row_arg<T> x,
                                  row_target<f32> out) {
    block.for_each_tile(space.rows, [&](i64 i) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(i);
      const auto from = x.at(c);
      const auto to = out.at(c);
      block.for_each(space.length, [&](i64 b) FLAGGEMS_LAMBDA {
        const i64 begin = b * quantized_block, end = begin + quantized_block;
        f32 largest = 0.0F;
        for (i64 e = begin; e < end; ++e)
          largest = maximum_of{}.template operator()<f32>(largest, abs(from.template read<f32>(e)));
        const byte_scale scale = byte_scale::of(largest);
        for (i64 e = begin; e < end; ++e) to.write(e, scale.rounded(from.template read<f32>(e)));
      });
    });
  }
};

/// Row i of the result is row i of the weights.
struct own_row {
  FLAGGEMS_INLINE i64 at(const coordinates&, i64 i) const { return i; }
};
/// Row i of the result is row indices[...] of the weights.
template <class J>
struct row_index {
  global_ptr<const J> data;
  i64 strides[max_rank];
  FLAGGEMS_INLINE i64 at(const coordinates& c, i64) const {
    return static_cast<i64>(data[c.offset(strides)]);
  }
};

/// Rows of weights as numbers; a row that does not exist is NaN. space.length counts blocks.
template <class Format, class Index, class Out>
struct quantized_rows {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, global_ptr<const u8> w, i64 rows,
                                  Index index, row_target<Out> out) {
    constexpr int positions = block_positions<typename Block::template value<f32>>;
    constexpr int parts = quantized_block / positions;
    block.for_each_tile(space.rows, [&](i64 i) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(i);
      const auto to = out.at(c);
      const i64 from = index.at(c, i);
      if (from < 0 || from >= rows) {
        block.for_each_lane(space.length * quantized_block, [&](auto lane) FLAGGEMS_LAMBDA {
          to.store(lane, lane_value<decltype(lane), f32>(nan_of<f32>()));
        });
        return;
      }
      const auto first = w + from * space.length * Format::bytes;
      block.for_each_lane(space.length * positions, [&](auto lane) FLAGGEMS_LAMBDA {
        using V = lane_value<decltype(lane), f32>;
        const auto here = block_place<positions>::of(lane);
        V weight[parts];
        Format::template decode<positions, decltype(lane), V>(first + here.block * Format::bytes,
                                                              here.inside(lane), weight);
        static_for<parts>([&](auto p)
                              FLAGGEMS_LAMBDA { to.store(here.elements(lane, p), weight[p]); });
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/quantized/linear.hpp");
