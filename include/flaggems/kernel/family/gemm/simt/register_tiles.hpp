// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products on SIMT devices without matrix units, or of elements that those do not take: each
// thread has Side x Side sums in registers and multiplies lines from block-local memory.
#pragma once

#include <flaggems/kernel/family/gemm/simt/results.hpp>

namespace flaggems::kernels {

/// The order in which threads read a box of an operand, so that neighbours read neighbours: with
/// `along`, along the sum, else along the lines.
struct box_order {
  bool a_along, b_along;
};

/// A thread's element of each box of an operand: read, then moved to the next box.
template <class C, class Operand>
struct box_reader {  // an expression
  const Operand& operand;
  decltype(declval_of<const Operand&>().at(coordinates{})) matrix;
  typename Operand::row row;
  i64 term;
  FLAGGEMS_INLINE C read() const {
    return operand.template read<C, stepping::strided>(matrix, row, lane_scalar{term});
  }
  FLAGGEMS_INLINE void advance(i64 terms) { term += terms; }
};
template <class C, class T>
struct box_reader<C, gemm_arg<T>> {
  const gemm_arg<T>& operand;
  global_ptr<const T> at;
  FLAGGEMS_INLINE box_reader(const gemm_arg<T>& x, global_ptr<const T>, global_ptr<const T> row,
                             i64 term)
      : operand(x), at(row + term * x.along) {}
  FLAGGEMS_INLINE C read() const { return number_cast<C>(*at); }
  FLAGGEMS_INLINE void advance(i64 terms) { at += terms * operand.along; }
};

/// A thread's elements of each box of an operand: of `count` lines or terms, and where they lie in
/// block-local memory. Lines past the end repeat the last one: computed, not stored.
template <class C, class Operand, int Lines, int Depth, int Pitch>
struct box_share {
  static constexpr int loads = Lines * Depth / 256;
  using reader = box_reader<C, Operand>;
  struct all_readers {
    reader at[loads];
  };
  int line, term, line_step, term_step;
  FLAGGEMS_INLINE box_share(int thread, bool along)
      : line(along ? thread / Depth : thread % Lines),
        term(along ? thread % Depth : thread / Lines),
        line_step(along ? 256 / Depth : 0),
        term_step(along ? 0 : 256 / Lines) {}
  FLAGGEMS_INLINE int place(int i) const {
    return term * Pitch + line + i * (term_step * Pitch + line_step);
  }
  template <class Matrix>
  FLAGGEMS_INLINE reader reader_of(const Operand& x, const Matrix& matrix, i64 first, i64 lines,
                                   i64 begin, int i) const {
    const i64 at = min_of(first + line + i * line_step, lines - 1);
    return {x, matrix, x.row_of(matrix, at), begin + term + i * term_step};
  }
  template <class F>
  FLAGGEMS_INLINE static all_readers readers(const F& of) {
    return readers_of(of, typename make_int_sequence_type<loads>::type{});
  }

 private:
  template <class F, int... K>
  FLAGGEMS_INLINE static all_readers readers_of(const F& of, int_sequence<K...>) {
    return {{of(K)...}};
  }
};

/// out = alpha * a * b^T + bias, of any types and strides, in tiles of 16 * Side rows and columns.
template <class A, class B, class Out, class C, class Bias, int Side, class First = gemm_arg<A>>
struct gemm_register_tiles {
  static constexpr int max_threads = 256, exact_threads = max_threads;
  static constexpr int min_blocks = Side * sizeof(C) > 16 ? 1 : 2;
  static constexpr int lines = 16 * Side, depth = 16, loads = lines * depth / 256;
  static constexpr int width = vec_size<C>, groups = Side / width;
  static constexpr int pitch = lines + width;  // of a term's elements: writes have no conflicts
  static constexpr int box = depth * pitch, most_scratch = 4 * box * static_cast<int>(sizeof(C));
  using values = vec<C, width>;
  using share_of_a = box_share<C, First, lines, depth, pitch>;
  using share_of_b = box_share<C, gemm_arg<B>, lines, depth, pitch>;
  static_assert(Side % width == 0);

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const gemm_space& space, const First& a,
                                  const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                  const Bias& bias, const sum_parts<C>& parts, box_order order) {
    const auto boxes = block.template scratch<C>(4 * box);  // of a and b, in turn
    const int thread = block.thread(), lane = thread % 32, warp = thread / 32;
    // In vectors. Warps of 4 x 8 threads, 4 x 2 of them: what one reads at once has no conflicts.
    const int row = warp / 2 * (4 * groups) + lane / 8, column = warp % 2 * (8 * groups) + lane % 8;
    const share_of_a of_a(thread, order.a_along);
    const share_of_b of_b(thread, order.b_along);
    block.for_each_tile(parts.units(space.tiles()), [&](i64 index) FLAGGEMS_LAMBDA {
      const tile_part unit = tile_part::of(space, parts, index);
      const auto first_a = operand_of(space, a, unit.batch);
      const auto first_b = operand_of(space, b, unit.batch);
      const auto a_at = [&](int i) FLAGGEMS_LAMBDA {
        return of_a.reader_of(a, first_a, unit.i, space.m, unit.begin, i);
      };
      const auto b_at = [&](int i) FLAGGEMS_LAMBDA {
        return of_b.reader_of(b, first_b, unit.j, space.n, unit.begin, i);
      };
      auto from_a = share_of_a::readers(a_at);
      auto from_b = share_of_b::readers(b_at);
      C next_a[loads], next_b[loads];
      i64 left = unit.end - unit.begin;
      const auto fetch = [&]() FLAGGEMS_LAMBDA {
        if (left >= depth)
          static_for<loads>([&](auto i) FLAGGEMS_LAMBDA {
            next_a[i] = from_a.at[i].read();
            next_b[i] = from_b.at[i].read();
            from_a.at[i].advance(depth);
            from_b.at[i].advance(depth);
          });
        else
          static_for<loads>([&](auto i) FLAGGEMS_LAMBDA {
            next_a[i] = next_b[i] = C(0);
            if (of_a.term + i * of_a.term_step < left) next_a[i] = from_a.at[i].read();
            if (of_b.term + i * of_b.term_step < left) next_b[i] = from_b.at[i].read();
          });
        left -= depth;
      };
      C sums[Side][Side];
      FLAGGEMS_SIMT_UNROLL
      for (int e = 0; e < Side * Side; ++e) sums[e / Side][e % Side] = C(0);
      int at = 0;
      fetch();
      for (i64 steps = ceil_div(unit.end - unit.begin, i64{depth}); steps > 0;
           --steps, at ^= 2 * box / width) {
        static_for<loads>([&](auto i) FLAGGEMS_LAMBDA {
          boxes.write(at * width + of_a.place(i), next_a[i]);
          boxes.write(at * width + box + of_b.place(i), next_b[i]);
        });
        block.sync();  // the other half is read until the next such barrier, and written after it
        if (steps > 1) fetch();
        const auto here = boxes.template as<values>();
        FLAGGEMS_SIMT_UNROLL
        for (int q = 0; q < depth; ++q) {
          values x[groups], y[groups];
          FLAGGEMS_SIMT_UNROLL
          for (int g = 0; g < groups; ++g) {
            x[g] = here.read(at + q * (pitch / width) + row + 4 * g);
            y[g] = here.read(at + (box + q * pitch) / width + column + 8 * g);
          }
          FLAGGEMS_SIMT_UNROLL
          for (int r = 0; r < Side; ++r) {
            FLAGGEMS_SIMT_UNROLL
            for (int c = 0; c < Side; ++c)
              sums[r][c] = multiply_add<C>(x[r / width].at[r % width], y[c / width].at[c % width],
                                           sums[r][c]);
          }
        }
      }
      block.sync();  // before the next tile's first box
      const tile_results<Out, C, Bias, width> results(space, out, bias, parts, unit);
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Side; ++r) {
        FLAGGEMS_SIMT_UNROLL
        for (int g = 0; g < groups; ++g) {
          C some[width];
          FLAGGEMS_SIMT_UNROLL
          for (int e = 0; e < width; ++e) some[e] = sums[r][g * width + e];
          results.store((row + r / width * 4) * width + r % width,
                        unit.j + (column + 8 * g) * width, some);
        }
      }
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/simt/register_tiles.hpp");
