// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of attention on SIMT devices with matrix units (mma.sync): the passes of
// kernel/family/attention/backward.hpp by tiles, with the fragments of prefill_mma.hpp.
#pragma once

#include <flaggems/kernel/family/attention/backward.hpp>
#include <flaggems/kernel/family/attention/simt/prefill_mma.hpp>
#include <flaggems/kernel/family/attention/simt/warp_group_units.hpp>

namespace flaggems::kernels {

/// A pass over vector-aligned rows and gradients of T (bf16 or f16) in heads of up to 64 * Blocks
/// elements. A warp has 16 rows; a block takes Others others at a time, and copies the next ones
/// meanwhile.
template <class T, class Mask, attention_side Side, int Blocks, int Others, int Warps>
struct attention_gradient_tiles {
  using tiles = attention_prefill_tiles<T, T, no_mask, no_logs, Blocks, 1, Others, Warps>;
  using unit = mma_unit<T>;
  using words = vec<u32, 4>;
  static constexpr bool of_queries = Side == attention_side::queries;
  static constexpr bool is_masked = !is_same<Mask, no_mask>;
  static constexpr int max_threads = tiles::max_threads, exact_threads = max_threads;
  static constexpr int min_blocks = 1;
  static constexpr int size = tiles::size, vectors = tiles::vectors, rows = 16 * Warps;
  // Scratch: rows | their values | two tiles of others and of their values | of each such other
  // that is a query the logarithm and the sum.
  static constexpr int row_vectors = rows * vectors, other_vectors = 2 * Others * vectors;
  static constexpr int sums = of_queries ? 0 : 2 * Others;
  static constexpr int most_scratch = 16 * (2 * row_vectors + 2 * other_vectors) + 8 * sums;

  template <class Block, class Space>
  FLAGGEMS_INLINE static void run(Block& block, Space space, attention_backward_args<T, f32> x,
                                  Mask mask) {
    using array = typename Block::template scratch_type<words>;
    const auto all = block.template scratch<words>(most_scratch / 16);
    const auto row_values = all.from(row_vectors), ring = all.from(2 * row_vectors);
    const auto other_sums = ring.from(2 * other_vectors).template as<f32>();
    const int thread = block.thread();
    const int line = thread / 8, passed = thread % 8 * 8;  // what a thread copies
    const int warp_row = thread / 32 * 16;
    const prefill_fragment<unit> mine(thread, 16);
    const i32 head_size = static_cast<i32>(space.head_size),
              value_size = static_cast<i32>(space.value_size);
    const auto copy_line = [&](const array& to, int i, global_ptr<const T> from, bool exists,
                               i32 elements) FLAGGEMS_LAMBDA {
      FLAGGEMS_SIMT_UNROLL
      for (int b = 0; b < Blocks; ++b)
        block.template copy_async<words>(
            to, tiles::place(line, 0, thread % 8) + i * vectors + b * 8,
            reinterpret_cast<global_ptr<const words>>(from + passed + b * prefill_elements),
            exists && passed + b * prefill_elements < elements);
    };

    block.for_each_tile(space.template gradient_tiles<Side>(rows), [&](i64 t) FLAGGEMS_LAMBDA {
      const attention_gradient_rows here = space.template gradient_rows<Side>(t, rows);
      const i32 queries = static_cast<i32>(here.queries);
      const i32 all_rows = static_cast<i32>(of_queries ? space.group * here.queries : here.keys);
      const i32 others = static_cast<i32>(of_queries ? here.keys : here.queries);
      const i32 first = static_cast<i32>(here.first);
      if (here.first >= all_rows) return;
      const i32 last = min_of(first + rows, all_rows) - 1;
      const i32 diagonal = static_cast<i32>(here.diagonal), left = static_cast<i32>(here.left);
      const auto head_of = [&](i32 row) FLAGGEMS_LAMBDA { return of_queries ? row / queries : 0; };
      // The others that a row sees, or is seen by, from one to another.
      const auto from_of = [&](i32 position) FLAGGEMS_LAMBDA {
        return max_of(0, position - (of_queries ? left : diagonal));
      };
      const auto to_of = [&](i32 position) FLAGGEMS_LAMBDA {
        return max_of(0, min_of(others, position + (of_queries ? diagonal : left) + 1));
      };
      // Those of any row: of rows of several heads, all.
      const bool is_one_head = head_of(first) == head_of(last);
      const i32 before = head_of(first) * queries;
      const i32 begin = is_one_head ? from_of(first - before) / Others * Others : 0;
      const i32 end = is_one_head ? to_of(last - before) : others;

      const coordinates &c = of_queries ? here.of_queries : here.of_keys,
                        &of_others = of_queries ? here.of_keys : here.of_queries;
      const auto others_at = x.other.at(of_others), values_at = x.other_value.at(of_others);
      const auto logs_at = x.logs.at(here.of_queries), dots_at = x.dots.at(here.of_queries);
      const i32 heads = of_queries ? 1 : static_cast<i32>(space.group);
      const i32 each = max_of(0, ceil_div(end - begin, Others)), count = heads * each;
      // Copies the tile of others of a number to its place in the ring. What no row sees is zeros.
      const auto fetch = [&](i32 number) FLAGGEMS_LAMBDA {
        if (number < count) {
          const i32 h = number / each, start = begin + (number - h * each) * Others;
          const auto to = ring.from(number % 2 * other_vectors);
          FLAGGEMS_SIMT_UNROLL
          for (int i = 0; i < Others; i += tiles::lines_at_once) {
            const i32 other = start + line + i;
            const i64 at = min_of(other, others - 1);
            copy_line(to, i, others_at + (h * x.other.head + at * x.other.position), other < end,
                      head_size);
            copy_line(to, Others + i,
                      values_at + (h * x.other_value.head + at * x.other_value.position),
                      other < end, value_size);
          }
          if constexpr (!of_queries)
            if (thread < Others) {
              const bool exists = start + thread < end;
              const i64 at = min_of(start + thread, others - 1);
              const auto place = other_sums.from(number % 2 * sums);
              place.write(thread, exists ? shift_of(logs_at[h * x.logs.head + at * x.logs.position])
                                         : -lowest<f32>());
              place.write(Others + thread,
                          exists ? dots_at[h * x.dots.head + at * x.dots.position] : 0.0F);
            }
        }
        block.commit_copies();
      };

      block.sync();  // the tile before may still be read
      FLAGGEMS_SIMT_UNROLL
      for (int i = 0; i < rows; i += tiles::lines_at_once) {
        const i32 row = min_of(first + line + i, last), head = head_of(row);
        const i64 position = row - head * queries;
        const bool exists = first + line + i <= last;
        copy_line(all, i, x.row.at(c) + (head * x.row.head + position * x.row.position), exists,
                  head_size);
        copy_line(row_values, i,
                  x.row_value.at(c) + (head * x.row_value.head + position * x.row_value.position),
                  exists, value_size);
      }
      fetch(0);

      // A thread's two rows.
      i32 head[2], position[2], from[2], to[2];
      f32 shift[2] = {}, dot[2] = {};
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < 2; ++r) {
        const i32 row = min_of(first + mine.row + 8 * r, last);
        head[r] = head_of(row);
        position[r] = row - head[r] * queries;
        from[r] = from_of(position[r]);
        to[r] = to_of(position[r]);
        if constexpr (of_queries) {
          shift[r] = shift_of(logs_at[head[r] * x.logs.head + position[r] * x.logs.position]);
          dot[r] = dots_at[head[r] * x.dots.head + position[r] * x.dots.position];
        }
      }
      f32 sum[size / 8][4] = {}, value_sum[of_queries ? 1 : size / 8][4] = {};
      const f32 factor = (is_masked ? 1.0F : x.scale) * ln2_constants<f32>::inverse;

      FLAGGEMS_SIMT_NO_UNROLL
      for (i32 number = 0; number < count; ++number) {
        block.template wait_copies<0>();
        block.sync();  // all have read the tile before, whose place the next one takes
        fetch(number + 1);
        const i32 h = number / each, start = begin + (number - h * each) * Others;
        const auto tile = ring.from(number % 2 * other_vectors);
        f32 s[Others / 8][4] = {}, g[Others / 8][4] = {};
        multiply(block, s, all, warp_row, tile, 0);
        multiply(block, g, row_values, warp_row, tile, Others);

        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < 2; ++r) {
          const auto masked = [&]() FLAGGEMS_LAMBDA {
            if constexpr (of_queries)
              return mask.row(here.of_queries, head[r], position[r], start);
            else
              return mask.column(here.of_queries, h, start, position[r]);
          }();
          FLAGGEMS_SIMT_UNROLL
          for (int n = 0; n < Others / 8; ++n) {
            FLAGGEMS_SIMT_UNROLL
            for (int e = 0; e < 2; ++e) {
              f32 &score = s[n][2 * r + e], &slope = g[n][2 * r + e];
              const int other = 8 * n + mine.column + e;
              const bool is_seen = start + other >= from[r] && start + other < to[r];
              f32 own_shift = shift[r], own_dot = dot[r];
              if constexpr (!of_queries) {
                const auto place = other_sums.from(number % 2 * sums);
                own_shift = place.read(other);
                own_dot = place.read(Others + other);
              }
              if constexpr (is_masked)
                if (is_seen)
                  score = masked.template apply<f32>(lane_scalar{other}, f32(score * x.scale));
              const f32 power = fma(score, factor, -own_shift);
              score = softmax_power_of_two(is_seen ? power : lowest<f32>());
              slope = is_seen ? score * (slope - own_dot) : 0.0F;
            }
          }
        }
        add(block, sum, g, tile, 0);
        if constexpr (!of_queries) add(block, value_sum, s, tile, Others);
      }

      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < 2; ++r) {
        const bool exists = first + mine.row + 8 * r <= last;
        const auto line_of = [&](const attention_arg<T>& arg) FLAGGEMS_LAMBDA {
          return arg.at(c) + (head[r] * arg.head + position[r] * arg.position);
        };
        store_fragment_row<size>(block, &sum[0][2 * r], x.scale, line_of(x.grad), x.grad.element,
                                 head_size, true, exists);
        if constexpr (!of_queries)
          store_fragment_row<size>(block, &value_sum[0][2 * r], 1.0F, line_of(x.grad_value),
                                   x.grad_value.element, value_size, true, exists);
      }
    });
  }

 private:
  /// A logarithm as a power of two, infinite where no key is seen, so that weights are 0.
  FLAGGEMS_INLINE static f32 shift_of(f32 log) {
    return log == lowest<f32>() ? -lowest<f32>() : log * ln2_constants<f32>::inverse;
  }
  /// s += 16 rows of `from`, from `row` on, times those of a tile from `first` on.
  template <class Block, class Array>
  FLAGGEMS_INLINE static void multiply(const Block& block, f32 (&s)[Others / 8][4],
                                       const Array& from, int row, const Array& tile, int first) {
    FLAGGEMS_SIMT_UNROLL
    for (int d = 0; d < size / 16; ++d) {
      u32 own[4];
      block.template load_tiles<false, words>(
          own, from, [&](int l) FLAGGEMS_LAMBDA { return tiles::lines_at(l, row, d); });
      FLAGGEMS_SIMT_UNROLL
      for (int n = 0; n < Others / 16; ++n) {
        u32 other[4];  // 16 others, 16 elements
        block.template load_tiles<false, words>(other, tile, [&](int l) FLAGGEMS_LAMBDA {
          return tiles::elements_at(l, first + n * 16, d);
        });
        unit::multiply(block, s[2 * n], own, other, 0);
        unit::multiply(block, s[2 * n + 1], own, other, 1);
      }
    }
  }
  /// sum += factors, rounded to T, times the rows of a tile from `first` on.
  template <class Block, class Array>
  FLAGGEMS_INLINE static void add(const Block& block, f32 (&sum)[size / 8][4],
                                  const f32 (&factors)[Others / 8][4], const Array& tile,
                                  int first) {
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < Others / 16; ++j) {
      u32 own[4];
      tiles::to_operand(block, own, factors + 2 * j);
      FLAGGEMS_SIMT_UNROLL
      for (int d = 0; d < size / 16; ++d) {
        u32 other[4];  // 16 others, 16 elements, transposed
        block.template load_tiles<true, words>(other, tile, [&](int l) FLAGGEMS_LAMBDA {
          return tiles::lines_at(l, first + j * 16, d);
        });
        unit::multiply(block, sum[2 * d], own, other, 0);
        unit::multiply(block, sum[2 * d + 1], own, other, 1);
      }
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/simt/gradients_mma.hpp");
