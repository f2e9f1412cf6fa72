// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Matrix products of the host, blocked as in Goto and van de Geijn, "Anatomy of high-performance
// matrix multiplication" (2008): blocks of `b` for the last cache and of `a` for the second are
// packed into panels, and a micro-kernel multiplies a panel of each into a tile of registers.
// The summed dimension is cut by the first cache's size alone, so the bits of a result do not
// depend on the number of threads.
#pragma once

#include <flaggems/kernels/gemm.hpp>
#include <flaggems/kernels/gemm_pack.hpp>
#include <flaggems/kernels/gemm_tile.hpp>

namespace flaggems::kernels {

/// The memory of a worker, and what is read where it lies instead of being packed: `a` if its
/// elements are those of the sums, `b` if it is contiguous along the columns besides.
struct gemm_plan {
  i64 l1;                         // bytes of the first cache
  i64 a_bytes, b_bytes, s_bytes;  // for panels of `a`, of `b`, and for sums
  bool direct_a, direct_b;
};

/// What becomes of a tile of sums: added to sums kept from before, a bias added, converted, stored.
template <class Out, class C, class BiasTile>
struct store_tile {
  struct arguments {
    C *tile, *sums;  // sums: null if none were kept
    i64 tile_row, sums_row;
    i64 rows, columns;
    Out* to;
    i64 row, column;
    bool add;  // to what `to` holds
    bool biased;
    BiasTile bias;
    i64 first_row, first_column;  // as the bias counts
  };
  template <class Isa>
  FLAGGEMS_INLINE static void run(const arguments& p) {
    for (i64 r = 0; r < p.rows; ++r) {
      const auto step = [&](auto lane) FLAGGEMS_LAMBDA {
        using V = lane_value<decltype(lane), C>;
        V x = load<C>(host_scratch<C>{p.tile + r * p.tile_row}, lane);
        if (p.sums != nullptr) x = x + load<C>(host_scratch<C>{p.sums + r * p.sums_row}, lane);
        Out* const to = p.to + r * p.row;
        if (p.add) x = x + load<C>(static_cast<const Out*>(to), p.column, lane);
        if (p.biased) {
          auto at = lane;
          at.begin += p.first_column;
          x = p.bias.template add<C>(p.first_row + r, at, x);
        }
        store(to, p.column, lane, x);
      };
      i64 j = 0;
      for (; j + Isa::lanes <= p.columns; j += Isa::lanes) step(lane_vector<Isa>{j});
      if (j < p.columns) step(lane_tail<Isa>{j, static_cast<int>(p.columns - j)});
    }
  }
};

/// How `workers` share a matrix of m x n: in rows x columns parts. The product of a part's sides is
/// its work, their sum what it packs, which costs about as much as 16 multiplications an element.
struct gemm_grid {
  i64 rows, columns;
  i64 row_step, column_step;

  FLAGGEMS_INLINE static gemm_grid make(i64 m, i64 n, i64 workers, i64 tile_rows,
                                        i64 tile_columns) {
    gemm_grid best{1, 1, m, n};
    f64 least = -1;
    for (i64 rows = 1; rows <= workers; ++rows) {
      const i64 columns = workers / rows;
      const i64 r = round_up(ceil_div(m, rows), tile_rows);
      const i64 c = round_up(ceil_div(n, columns), tile_columns);
      const f64 cost = static_cast<f64>(r) * static_cast<f64>(c) + 16.0 * static_cast<f64>(r + c);
      if (least < 0 || cost < least) {
        best = {rows, columns, r, c};
        least = cost;
      }
    }
    return best;
  }
};

template <class A, class B, class Out, class C, class Bias>
struct gemm_blocked {
  static constexpr bool has_bf16_entries = is_same<A, small_float<bf16_format>> && is_same<A, B>;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const gemm_space& space, const gemm_arg<A>& a,
                                  const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                  const Bias& bias, const gemm_plan& plan) {
    using kernel = tile_kernel<C, typename Block::isa, has_bf16_entries>;
    work<kernel, typename Block::isa> mine{space, a, b, out, bias, plan};
    mine.packed_a = block.template scratch<unsigned char>(plan.a_bytes).data;
    mine.packed_b = block.template scratch<unsigned char>(plan.b_bytes).data;
    mine.sums = block.template scratch<C>(plan.s_bytes / static_cast<i64>(sizeof(C))).data;
    // Many matrices are shared as whole ones; of few, each by all.
    const i64 parts = space.batches >= 4 * block.count() ? 1 : block.count();
    const gemm_grid grid = gemm_grid::make(space.m, space.n, parts, kernel::rows, kernel::columns);
    kernel::begin();
    block.for_each_tile(space.batches * parts, [&](i64 t) FLAGGEMS_LAMBDA {
      const i64 part = t % parts;
      const i64 i = part / grid.columns * grid.row_step;
      const i64 j = part % grid.columns * grid.column_step;
      if (part >= grid.rows * grid.columns || i >= space.m || j >= space.n) return;
      mine.rectangle(space.batch_at(t / parts), i, min_of(i + grid.row_step, space.m), j,
                     min_of(j + grid.column_step, space.n));
    });
    kernel::end();
  }

 private:
  template <class Kernel, class Isa>
  struct work {
    const gemm_space& space;
    const gemm_arg<A>& a;
    const gemm_arg<B>& b;
    const gemm_out<Out, C>& out;
    const Bias& bias;
    const gemm_plan& plan;
    unsigned char *packed_a = nullptr, *packed_b = nullptr;
    C* sums = nullptr;

    static constexpr bool sums_in_place = is_same<Out, C>;
    static constexpr i64 tile_rows = Kernel::rows, tile_columns = Kernel::columns;
    using bias_part = decltype(declval_of<const Bias&>().at(coordinates{}, i64{}));
    using storing = store_tile<Out, C, bias_part>;

    /// The summed elements of a block.
    FLAGGEMS_INLINE i64 depth_of_block() const {
      const i64 k = space.k;
      const i64 step_bytes = 4 * Kernel::template panel_bytes<tile_columns>(1);
      const i64 steps = plan.l1 * Kernel::l1_quarters / step_bytes;
      i64 most = max_of(steps * Kernel::step, i64{128});
      most = min_of(most, i64{Kernel::most_depth}) / 32 * 32;
      return k <= most ? max_of(k, i64{1}) : round_up(ceil_div(k, ceil_div(k, most)), 32);
    }
    /// `all` in equal blocks of at most as many lines as fit into `bytes`.
    FLAGGEMS_INLINE static i64 lines_of_block(i64 all, i64 bytes, i64 line_bytes, i64 tile) {
      const i64 most = max_of(bytes / line_bytes / tile, i64{1}) * tile;
      return all <= most ? round_up(all, tile) : round_up(ceil_div(all, ceil_div(all, most)), tile);
    }

    /// Rows [i_begin, i_end) and columns [j_begin, j_end) of the result.
    FLAGGEMS_NOINLINE void rectangle(const coordinates& batch, i64 i_begin, i64 i_end, i64 j_begin,
                                     i64 j_end) const {
      const A* const a_data = a.at(batch);
      const B* const b_data = b.at(batch);
      Out* const to = out.at(batch);
      const i64 k = space.k, kc = depth_of_block();
      const i64 steps = ceil_div(kc, i64{Kernel::step});
      const i64 a_line = Kernel::template panel_bytes<1>(steps), b_line = a_line;
      // Sums of a result that cannot hold them are kept apart, for so many rows at a time.
      const bool kept = !sums_in_place && k > kc;
      const i64 nc = plan.direct_b && !kept
                         ? round_up(j_end - j_begin, tile_columns)
                         : lines_of_block(j_end - j_begin, plan.b_bytes, b_line, tile_columns);
      const i64 mc = plan.direct_a
                         ? round_up(i_end - i_begin, tile_rows)
                         : lines_of_block(i_end - i_begin, plan.a_bytes, a_line, tile_rows);
      const i64 rows_kept = !kept ? i_end - i_begin
                                  : lines_of_block(i_end - i_begin, plan.s_bytes,
                                                   nc * static_cast<i64>(sizeof(C)), tile_rows);
      for (i64 j = j_begin; j < j_end; j += nc) {
        const i64 j_stop = min_of(j + nc, j_end);
        for (i64 ii = i_begin; ii < i_end; ii += rows_kept) {
          const i64 ii_stop = min_of(ii + rows_kept, i_end);
          i64 q = 0;
          do {
            const i64 depth = min_of(kc, k - q);
            const bool first = q == 0, last = q + depth >= k;
            columns_block columns{};
            columns.data = b_data + q * b.along;
            pack_columns(columns, j, j_stop, depth);
            for (i64 i = ii; i < ii_stop; i += mc)
              row_block(batch, to, a_data + q * a.along, columns, i, min_of(i + mc, ii_stop), ii, j,
                        j_stop, nc, depth, first, last);
            q += depth;
          } while (q < k);
        }
      }
    }

   private:
    struct columns_block {
      const B* data;
      i64 whole;  // columns read in place
    };

    FLAGGEMS_INLINE void pack_columns(columns_block& columns, i64 j, i64 j_stop, i64 depth) const {
      columns.whole = 0;
      if (Kernel::template reads_in_place<B> && plan.direct_b) {
        constexpr i64 lanes = Kernel::lanes;
        columns.whole = (j_stop - j) / lanes * lanes;
        // The rest of the last panel only.
        columns.whole = columns.whole / tile_columns * tile_columns +
                        (j_stop - j == columns.whole ? columns.whole % tile_columns : 0);
      }
      const i64 start = j + columns.whole;
      if (start < j_stop)
        Kernel::template pack_columns<B>(pack_arguments<B>{
            columns.data + start * b.line, b.line, b.along, j_stop - start, depth, packed_b});
    }

    FLAGGEMS_INLINE void row_block(const coordinates& batch, Out* to, const A* from,
                                   const columns_block& columns, i64 i, i64 i_stop, i64 ii, i64 j,
                                   i64 j_stop, i64 nc, i64 depth, bool first, bool last) const {
      i64 whole = 0;  // rows read in place
      if (Kernel::template reads_in_place<A> && plan.direct_a)
        whole = (i_stop - i) / tile_rows * tile_rows;
      if (i + whole < i_stop)
        Kernel::template pack_rows<A>(pack_arguments<A>{
            from + (i + whole) * a.line, a.line, a.along, i_stop - i - whole, depth, packed_a});
      const i64 steps = ceil_div(depth, i64{Kernel::step});
      const i64 a_panel = Kernel::template panel_bytes<tile_rows>(steps);
      const i64 b_panel = Kernel::template panel_bytes<tile_columns>(steps);
      const bool biased = has_bias() && (sums_in_place ? first : last);
      alignas(64) C buffer[tile_rows * tile_columns + 64];

      tile_arguments<C> t;
      t.steps = steps;
      t.alpha = out.alpha;
      for (i64 jr = j; jr < j_stop; jr += tile_columns) {
        const i64 n = min_of(tile_columns, j_stop - jr);
        t.vectors = static_cast<int>(ceil_div(n, i64{Kernel::lanes}));
        if (jr - j < columns.whole) {
          t.b = columns.data + jr * b.line;
          t.b_along = b.along;
        } else {
          t.b = packed_b + (jr - j - columns.whole) / tile_columns * b_panel;
          t.b_along = tile_columns;
        }
        const i64 share = ceil_div(b_panel, ceil_div(i_stop - i, tile_rows) * 64);
        t.ahead = static_cast<const char*>(t.b) + b_panel;
        t.lines_ahead = jr - j >= columns.whole ? static_cast<int>(share) : 0;
        for (i64 ir = i; ir < i_stop; ir += tile_rows, t.ahead += share * 64) {
          const i64 m = min_of(tile_rows, i_stop - ir);
          if (ir - i < whole) {
            t.a = from + ir * a.line;
            t.a_row = a.line;
            t.a_along = a.along;
          } else {
            t.a = packed_a + (ir - i - whole) / tile_rows * a_panel;
            t.a_row = 1;
            t.a_along = tile_rows;
          }
          C* const part = sums + (ir - ii) * nc + (jr - j);
          const bool fits = m == tile_rows && n % Kernel::lanes == 0;
          if (!sums_in_place && !last) {
            t.out = part;
            t.out_row = nc;
            t.add = !first;
            Kernel::product(t);
            continue;
          }
          if constexpr (sums_in_place) {
            if (fits && !biased && out.column == 1) {
              t.out = to + ir * out.row + jr;
              t.out_row = out.row;
              t.add = !first;
              Kernel::product(t);
              continue;
            }
          }
          t.out = buffer;
          t.out_row = tile_columns;
          t.add = false;
          Kernel::product(t);
          outlined<Isa>::template call<storing>(typename storing::arguments{
              buffer, !sums_in_place && !first ? part : nullptr, tile_columns, nc, m, n,
              to + ir * out.row + jr * out.column, out.row, out.column, sums_in_place && !first,
              biased, bias.at(batch, 0), ir, jr});
        }
      }
    }

    FLAGGEMS_INLINE bool has_bias() const {
      if constexpr (is_same<Bias, no_bias>)
        return false;
      else
        return bias.beta != C(0);
    }
  };
};

/// Few rows times a matrix that is contiguous along its columns: it is read once, four rows at a
/// time, in pieces long enough for the processor to prefetch, while the sums stay in the second
/// cache. (In panels, 4096 columns were read at 5 GB/s of 15.)
template <class A, class B, class Out, class C, class Bias>
struct gemm_few_rows {
  static constexpr i64 sums = 32768;  // elements: of the second cache

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, gemm_space space, const gemm_arg<A>& a,
                                  const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                  const Bias& bias) {
    // Pieces as long as the workers and the memory for sums allow.
    const i64 share = round_up(ceil_div(space.n, block.count()), 64);
    space.tile_columns = min_of(share, sums / space.tile_rows / 64 * 64);
    space.column_tiles = ceil_div(space.n, space.tile_columns);
    C* const kept = block.template scratch<C>(sums).data;
    block.for_each_tile(space.tiles(), [&](i64 tile) FLAGGEMS_LAMBDA {
      const gemm_space::place at = space.locate(tile);
      if (space.m == 1)
        piece<1, typename Block::isa>(space, a, b, out, bias, at, kept);
      else
        piece<4, typename Block::isa>(space, a, b, out, bias, at, kept);
    });
  }

 private:
  template <int Rows, class Isa>
  FLAGGEMS_NOINLINE static void piece(const gemm_space& space, const gemm_arg<A>& a,
                                      const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                      const Bias& bias, const gemm_space::place& at, C* kept) {
    using adding = add_rows<C, B, Rows>;
    using bias_part = decltype(bias.at(at.batch, i64{}));
    using storing = store_tile<Out, C, bias_part>;
    const i64 width = space.tile_columns;
    const i64 rows = min_of(space.tile_rows, space.m - at.i);
    const i64 columns = min_of(width, space.n - at.j);
    const A* const from_a = a.at(at.batch);
    const B* const from_b = b.at(at.batch) + at.j * b.line;
    for (i64 e = 0; e < round_up(rows, i64{Rows}) * width; ++e) kept[e] = C(0);
    for (i64 q = 0; q < space.k; q += adding::depth) {
      const int live = static_cast<int>(min_of(i64{adding::depth}, space.k - q));
      for (i64 g = 0; g < rows; g += Rows) {
        C factors[adding::depth * Rows];
        for (int t = 0; t < adding::depth; ++t)
          for (int r = 0; r < Rows; ++r) {
            const i64 i = min_of(at.i + g + r, space.m - 1);
            const i64 p = min_of(q + t, space.k - 1);
            factors[t * Rows + r] = out.alpha * number_cast<C>(from_a[i * a.line + p * a.along]);
          }
        outlined<Isa>::template call<adding>(typename adding::arguments{
            factors, from_b + q * b.along, b.along, live, kept + g * width, width, columns});
      }
    }
    bool biased = false;
    if constexpr (!is_same<Bias, no_bias>) biased = bias.beta != C(0);
    outlined<Isa>::template call<storing>(
        typename storing::arguments{kept, nullptr, width, 0, rows, columns,
                                    out.at(at.batch) + at.i * out.row + at.j * out.column, out.row,
                                    out.column, false, biased, bias.at(at.batch, 0), at.i, at.j});
  }
};

}  // namespace flaggems::kernels
