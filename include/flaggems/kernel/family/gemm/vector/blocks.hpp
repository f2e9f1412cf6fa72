// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Matrix products of the host, blocked as in Goto and van de Geijn, "Anatomy of high-performance
// matrix multiplication" (2008): blocks of `b` for the last-level cache and of `a` for the L2 cache
// are packed into panels, and a micro-kernel multiplies a panel of each into a tile of registers.
// The summed dimension is cut by the L1 cache's size alone, so the bits of a result do not depend
// on the number of threads.
#pragma once

#include <flaggems/kernel/family/gemm/gemm.hpp>
#include <flaggems/kernel/family/gemm/vector/amx.hpp>
#include <flaggems/kernel/family/gemm/vector/int8.hpp>
#include <flaggems/kernel/family/gemm/vector/micro_kernel.hpp>
#include <flaggems/kernel/family/gemm/vector/packing.hpp>

namespace flaggems::kernels {

/// When an operand is read in place instead of being packed: for how many columns (rows) of the
/// result, and up to how many bytes of it. Never if all is 0.
struct gemm_place {
  i64 few, few_bytes;    // the first limit
  i64 most, most_bytes;  // a limit for more columns (rows)
  FLAGGEMS_HOST_INLINE bool allows(i64 bytes, i64 passes) const {
    return (passes <= few && bytes <= few_bytes) || (passes <= most && bytes <= most_bytes);
  }
};

/// The memory of the workers, and which operands may be read in place: `a` if it has the element
/// type of the sums, `b` if it is also contiguous along the columns.
struct gemm_plan {
  i64 workers;                    // at most
  i64 l1;                         // bytes of the L1 cache
  i64 a_bytes, b_bytes, s_bytes;  // of each worker, for panels of `a`, of `b`, and for sums
  i64 b_most;                     // for a block of `b` that several workers pack jointly
  gemm_place a_place, b_place;
  const unsigned char* packed;  // `b` as gemm_pack_all left it, or null
  unsigned char* memory;        // of all workers: a_bytes and s_bytes of each, then b_bytes of each

  FLAGGEMS_HOST_INLINE i64 own_bytes() const { return a_bytes + s_bytes; }
};

/// Finishes a tile of sums: adds stored sums and a bias, converts, stores.
template <class Out, class C, class BiasTile>
struct store_tile {
  struct arguments {
    C *tile, *sums;  // sums: null if none are stored
    i64 tile_row, sums_row;
    i64 rows, columns;
    Out* to;
    i64 row, column;
    bool add;  // to the content of `to`
    bool biased;
    const BiasTile* bias;
    i64 first_row, first_column;  // as the bias counts
  };
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    for (i64 r = 0; r < p.rows; ++r) {
      const auto step = [&](auto lane) FLAGGEMS_LAMBDA {
        using V = lane_value<decltype(lane), C>;
        V x = load<C>(host_scratch<C>{p.tile + r * p.tile_row}, lane);
        if (p.sums != nullptr) x = x + load<C>(host_scratch<C>{p.sums + r * p.sums_row}, lane);
        Out* const to = p.to + r * p.row;
        if (p.add) x = x + load<C>(static_cast<const Out*>(to), p.column, lane);
        auto at = lane;
        at.begin += p.first_column;
        if constexpr (BiasTile::replaces) {
          store(to, p.column, lane, p.bias->template add<C>(p.first_row + r, at, x));
        } else {
          if (p.biased) x = p.bias->template add<C>(p.first_row + r, at, x);
          store(to, p.column, lane, x);
        }
      };
      i64 j = 0;
      for (; j + Isa::lanes <= p.columns; j += Isa::lanes) step(lane_vector<Isa>{j});
      if (j < p.columns) step(lane_tail<Isa>{j, static_cast<int>(p.columns - j)});
    }
  }
};

/// The summed elements of a block.
template <class Kernel>
FLAGGEMS_HOST_INLINE i64 depth_of_block(const Kernel& kernel, i64 k, i64 l1) {
  const i64 step_bytes = 4 * Kernel::panel_bytes(kernel.columns, 1);
  const i64 steps = l1 * kernel.l1_quarters / step_bytes;
  i64 most = max_of(steps * Kernel::step, i64{128});
  most = min_of(most, i64{Kernel::most_depth}) / 32 * 32;
  return k <= most ? max_of(k, i64{1}) : round_up(ceil_div(k, ceil_div(k, most)), 32);
}

/// How workers share a batch of matrices: `matrices` at a time, each in rows x columns parts. If
/// they share `b`, the workers of one column of parts are a group, which packs its columns jointly.
struct gemm_grid {
  i64 matrices, members;  // members: workers of a matrix
  i64 rows, columns;
  i64 row_step, column_step;
  bool direct_a, direct_b, shares_b;

  template <class C, class Kernel>
  FLAGGEMS_HOST_INLINE static gemm_grid make(const Kernel& kernel, const gemm_space& space,
                                             const gemm_plan& plan, i64 workers) {
    gemm_grid best{1, 1, 1, 1, space.m, space.n, false, false, false};
    // As many matrices at a time as leave the fewest workers without one.
    f64 most = 0;
    for (i64 matrices = min_of(workers, space.batches); matrices >= 1; --matrices) {
      const i64 members = workers / matrices;
      const i64 turns = ceil_div(space.batches, matrices);
      const f64 busy = static_cast<f64>(space.batches) * static_cast<f64>(members) /
                       (static_cast<f64>(turns) * static_cast<f64>(workers));
      if (busy <= most * 1.05) continue;
      most = busy;
      best.matrices = matrices;
      best.members = members;
    }
    // Parts begin at any vector, unless panels were packed before, or a last partial vector's bits
    // would depend on where its part begins.
    const bool cuts_panels =
        Kernel::template reads_in_place<C> && plan.packed == nullptr && space.n % kernel.lanes == 0;
    const i64 part = cuts_panels ? kernel.lanes : kernel.columns;
    const i64 kc = depth_of_block(kernel, space.k, plan.l1);
    const i64 line = min_of(space.k, i64{1024}) * static_cast<i64>(sizeof(C));
    f64 least = -1;
    for (i64 rows = 1; rows <= best.members; ++rows) {
      const i64 columns = best.members / rows;
      gemm_grid next = best;
      const i64 r = round_up(ceil_div(space.m, rows), i64{kernel.rows});
      const i64 c = round_up(ceil_div(space.n, columns), part);
      next.row_step = r;
      next.column_step = c;
      next.rows = ceil_div(space.m, r);
      next.columns = ceil_div(space.n, c);
      next.direct_a = plan.a_place.allows(min_of(r, space.m) * line, min_of(c, space.n));
      next.direct_b = plan.b_place.allows(min_of(c, space.n) * line, min_of(r, space.m));
      // The cost of a part for each term of the sum, in multiplications: its area and operands.
      const bool streams_a = next.direct_a && c <= 2 * kernel.columns;
      const bool streams_b = next.direct_b || plan.packed != nullptr;
      const f64 a = static_cast<f64>(r) * (streams_a ? streamed : packed);
      f64 b = static_cast<f64>(c) * (streams_b ? streamed : packed);
      if (next.rows > 1 && !streams_b) {
        const f64 shared = static_cast<f64>(c) * (fetched + packed / static_cast<f64>(next.rows)) +
                           meeting / static_cast<f64>(kc);
        next.shares_b = shared < b;
        if (next.shares_b) b = shared;
      }
      const i64 rest = c % kernel.columns;
      const f64 width = static_cast<f64>(c + (rest != 0 ? kernel.lanes / 4 : 0));
      const f64 cost = static_cast<f64>(r) * width + a + b;
      if (least >= 0 && cost >= least) continue;
      least = cost;
      best = next;
    }
    return best;
  }

 private:
  // The costs, in multiplications, of an element that this worker packs, or that is read in place
  // more than twice; that another worker packed; that is read once or twice; and of a barrier.
  static constexpr f64 packed = 16, fetched = 4, streamed = 2, meeting = 1 << 18;
};

/// Whether AVX-512-BF16 (with VNNI) and AMX have products of A and B.
template <class A, class B>
constexpr bool has_dot_products = (is_same<A, small_float<bf16_format>> && is_same<A, B>) ||
                                  (is_byte<A> && is_byte<B>);

/// Where the panel of column j begins in a matrix that is packed as a whole: by blocks of the sum,
/// kc elements each and `depth` this one, from element q on. (`to` is u8, const or not.)
template <class Kernel, class Byte>
FLAGGEMS_HOST_INLINE Byte* packed_panel(const Kernel& kernel, Byte* to, i64 n, i64 q, i64 j, i64 kc,
                                        i64 depth) {
  const i64 columns = kernel.columns;
  const auto panel = [=](i64 elements) FLAGGEMS_LAMBDA {
    return Kernel::panel_bytes(columns, ceil_div(elements, i64{Kernel::step}));
  };
  return to + q / kc * ceil_div(n, columns) * panel(kc) + j / columns * panel(depth);
}

/// The layout of a matrix of n x k packed ahead of use: `panels` panels of each block of `depth`
/// elements.
struct packed_layout {
  i64 depth, panels, blocks, bytes;
};
/// Tells the layout for the level that it runs at.
template <class T, class C>
struct gemm_layout {
  static constexpr bool has_bf16_entries = has_dot_products<T, T>, has_parts = !has_bf16_entries;
  template <class Block>
  FLAGGEMS_HOST_INLINE static void run(Block& block, i64 n, i64 k, i64 l1, packed_layout* layout) {
    const auto kernel = kernel_at<tile_kernel<T, T, C, typename Block::isa>>(block.level());
    const i64 depth = depth_of_block(kernel, k, l1);
    layout->depth = depth;
    layout->panels = ceil_div(n, i64{kernel.columns});
    layout->blocks = ceil_div(k, depth);
    const i64 steps = ceil_div(depth, i64{kernel.step});
    layout->bytes = layout->blocks * layout->panels * kernel.panel_bytes(kernel.columns, steps);
  }
};
/// Packs all of `b`, n lines of k elements.
template <class T, class C>
struct gemm_pack_all {
  static constexpr bool has_bf16_entries = has_dot_products<T, T>, has_parts = !has_bf16_entries;
  template <class Block>
  FLAGGEMS_HOST_INLINE static void run(Block& block, i64 n, i64 k, const gemm_arg<T>& b,
                                       const packed_layout& layout, unsigned char* to) {
    const auto kernel = kernel_at<tile_kernel<T, T, C, typename Block::isa>>(block.level());
    block.for_each_tile(layout.panels * layout.blocks, [&](i64 t) FLAGGEMS_LAMBDA {
      const i64 q = t / layout.panels * layout.depth;
      const i64 j = t % layout.panels * kernel.columns;
      const i64 depth = min_of(layout.depth, k - q);
      kernel.template pack_columns<T>(pack_arguments<T>{
          b.data + j * b.line + q * b.along, b.line, b.along, min_of(i64{kernel.columns}, n - j),
          depth, packed_panel(kernel, to, n, q, j, layout.depth, depth)});
    });
  }
};

/// Of an expression as the first operand: family/gemm/vector/prologue.hpp.
template <class T, class First>
struct evaluate_lines;

/// `First`: gemm_arg<A>, or an expression of elements A.
template <class A, class B, class Out, class C, class Bias, class First = gemm_arg<A>>
struct gemm_blocked {
  static constexpr bool has_bf16_entries = has_dot_products<A, B>, has_parts = !has_bf16_entries;

  /// `Meeting`: detail/meeting.hpp, with a point a worker.
  template <class Block, class Meeting>
  FLAGGEMS_HOST_INLINE static void run(Block& block, const gemm_space& space, const First& a,
                                       const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                       const Bias& bias, const gemm_plan& plan,
                                       const Meeting& meeting) {
    using kernel = tile_kernel<A, B, C, typename Block::isa>;
    const kernel own_kernel = kernel_at<kernel>(block.level());
    const i64 workers = min_of(block.count(), plan.workers), self = block.index();
    if (self >= workers) return;
    const gemm_grid grid = gemm_grid::make<C>(own_kernel, space, plan, workers);
    const i64 group = self / grid.members, part = self % grid.members;
    const i64 column = part / grid.rows, row = part % grid.rows;
    if (group >= grid.matrices || column >= grid.columns) return;

    using working = work<kernel, typename Block::isa, Meeting>;
    working mine{space, a, b, out, bias, plan, grid, meeting, block.level(), own_kernel};
    unsigned char* const own = plan.memory + self * plan.own_bytes();
    mine.packed_a = own;
    mine.sums = static_cast<C*>(static_cast<void*>(own + plan.a_bytes));
    mine.members = grid.shares_b ? grid.rows : 1;
    mine.member = mine.members == 1 ? 0 : row;
    mine.point = self - mine.member;
    mine.packed_b = plan.memory + workers * plan.own_bytes() + mine.point * plan.b_bytes;
    // A group has two blocks, so that the next one is packed while others still multiply by the
    // last.
    mine.b_bytes = mine.members == 1 ? plan.b_bytes
                                     : min_of(mine.members * plan.b_bytes / 128 * 64, plan.b_most);
    const i64 i = row * grid.row_step, j = column * grid.column_step;
    const i64 first = space.batches * group / grid.matrices;
    const i64 last = space.batches * (group + 1) / grid.matrices;
    const struct products {  // ended by an exception of a functor, too
      FLAGGEMS_HOST_INLINE products() { kernel::begin(); }
      FLAGGEMS_HOST_INLINE ~products() { kernel::end(); }
    } here;
    for (i64 batch = first; batch < last; ++batch)
      mine.rectangle(space.batch_at(batch), i, min_of(i + grid.row_step, space.m), grid.row_step, j,
                     min_of(j + grid.column_step, space.n));
  }

 private:
  template <class Kernel, class Isa, class Meeting>
  struct work {
    const gemm_space& space;
    const First& a;
    const gemm_arg<B>& b;
    const gemm_out<Out, C>& out;
    const Bias& bias;
    const gemm_plan& plan;
    const gemm_grid& grid;
    const Meeting& meeting;
    const Isa& level;
    const Kernel& kernel;
    const i64 tile_rows = kernel.rows, tile_columns = kernel.columns;
    unsigned char *packed_a = nullptr, *packed_b = nullptr;
    C* sums = nullptr;
    i64 b_bytes = 0;                         // of a block of `b`
    i64 members = 1, member = 0, point = 0;  // of the group, and its barrier
    i64 meetings = 0;

    static constexpr bool evaluates = !is_same<First, gemm_arg<A>>;
    using a_matrix = decltype(copy_of(declval_of<const First&>().at(coordinates{})));
    static constexpr bool sums_in_place = is_same<Out, C> && !Bias::replaces;
    using a_element = A;
    using sum_type = C;
    static constexpr bool keeps_sums = Bias::replaces;  // finished once they are complete
    using bias_part = decltype(declval_of<const Bias&>().at(coordinates{}, i64{}));
    using storing = store_tile<Out, C, bias_part>;

    /// `all` in equal blocks of at most as many lines as fit into `bytes`.
    FLAGGEMS_HOST_INLINE static i64 lines_of_block(i64 all, i64 bytes, i64 line_bytes, i64 tile) {
      const i64 most = max_of(bytes / line_bytes / tile, i64{1}) * tile;
      return all <= most ? round_up(all, tile) : round_up(ceil_div(all, ceil_div(all, most)), tile);
    }

    /// Rows [i_begin, i_end) and columns [j_begin, j_end) of the result. The members of a group
    /// have equal columns and `row_step`, the most rows of a member, and so equally many barriers.
    FLAGGEMS_NOINLINE void rectangle(const coordinates& batch, i64 i_begin, i64 i_end, i64 row_step,
                                     i64 j_begin, i64 j_end) {
      const a_matrix a_data = a.at(batch);
      const B* const b_data = b.at(batch);
      Out* const to = out.at(batch);
      const i64 k = space.k, kc = depth_of_block(kernel, k, plan.l1);
      const i64 steps = ceil_div(kc, i64{Kernel::step});
      const i64 a_line = Kernel::panel_bytes(1, steps), b_line = a_line;
      // Sums of a result that cannot store them are in a separate buffer, for some rows at a time.
      const bool kept = !sums_in_place && (k > kc || Bias::replaces);
      // As many columns as fit in `b_bytes`, and as the buffer has sums of at least a tile's rows.
      const i64 most_columns = plan.s_bytes / (tile_rows * static_cast<i64>(sizeof(C)));
      const i64 block_bytes = kept ? min_of(b_bytes, most_columns * b_line) : b_bytes;
      const i64 nc = grid.direct_b && !kept
                         ? round_up(j_end - j_begin, tile_columns)
                         : lines_of_block(j_end - j_begin, block_bytes, b_line, tile_columns);
      const i64 mc = grid.direct_a
                         ? round_up(i_end - i_begin, tile_rows)
                         : lines_of_block(i_end - i_begin, plan.a_bytes, a_line, tile_rows);
      const i64 rows_kept = !kept ? row_step
                                  : lines_of_block(row_step, plan.s_bytes,
                                                   nc * static_cast<i64>(sizeof(C)), tile_rows);
      for (i64 j = j_begin; j < j_end; j += nc) {
        const i64 j_stop = min_of(j + nc, j_end);
        for (i64 ii = i_begin; ii < i_begin + row_step; ii += rows_kept) {
          const i64 ii_stop = min_of(ii + rows_kept, i_end);
          i64 q = 0;
          do {
            const i64 depth = min_of(kc, k - q);
            const depth_part along{.depth = depth, .first = q == 0, .last = q + depth >= k};
            columns_block columns{};
            if (plan.packed != nullptr) {
              columns.packed = packed_panel(kernel, plan.packed, space.n, q, j, kc, depth);
            } else {
              unsigned char* const block = packed_b + (meetings & 1) * b_bytes;
              columns.data = b_data + q * b.along;
              columns.packed = block;
              pack_columns(columns, block, j, j_stop, depth);
            }
            if constexpr (Kernel::by_rows)
              multiply_by_rows<Kernel, Isa>(*this, batch, to, a_data, q, columns.packed, ii,
                                            ii_stop, j, j_stop, nc, along);
            else
              for (i64 i = ii; i < ii_stop; i += mc)
                row_block(batch, to, a_data, q, columns, i, min_of(i + mc, ii_stop), ii, j, j_stop,
                          nc, along);
            q += depth;
          } while (q < k);
        }
      }
    }

    struct columns_block {
      const B* data;
      const unsigned char* packed;
      i64 whole;  // columns read in place
    };

    FLAGGEMS_HOST_INLINE void pack_columns(columns_block& columns, unsigned char* block, i64 j,
                                           i64 j_stop, i64 depth) {
      columns.whole = 0;
      if (Kernel::template reads_in_place<B> && grid.direct_b) {
        const i64 lanes = kernel.lanes;
        columns.whole = (j_stop - j) / lanes * lanes;
        // The rest of the last panel only.
        columns.whole = columns.whole / tile_columns * tile_columns +
                        (j_stop - j == columns.whole ? columns.whole % tile_columns : 0);
      }
      const i64 panels = ceil_div(j_stop - j - columns.whole, tile_columns);
      const i64 first = panels * member / members, last = panels * (member + 1) / members;
      const i64 start = j + columns.whole + first * tile_columns;
      const i64 stop = min_of(j + columns.whole + last * tile_columns, j_stop);
      const i64 panel = Kernel::panel_bytes(tile_columns, ceil_div(depth, i64{Kernel::step}));
      if (start < stop)
        kernel.template pack_columns<B>(pack_arguments<B>{columns.data + start * b.line, b.line,
                                                          b.along, stop - start, depth,
                                                          block + first * panel});
      if (members > 1) meeting.wait(point, ++meetings * members);
    }

    FLAGGEMS_HOST_INLINE void evaluate_rows(const a_matrix& from, i64 i, i64 i_stop, i64 q,
                                            i64 depth, i64 a_panel) const {
      alignas(64) A lines[most_rows<Kernel> * Kernel::most_depth];
      using evaluating = evaluate_lines<A, First>;
      const auto evaluate = part_of<evaluating, typename evaluating::arguments>(level);
      for (i64 r = i; r < i_stop; r += tile_rows) {
        const i64 count = min_of(tile_rows, i_stop - r);
        const i64 prefetch_from = r + tile_rows < i_stop ? tile_rows : 0;
        evaluate.call({&a, &from, r, count, q, depth, prefetch_from, lines});
        kernel.template pack_rows<A>(pack_arguments<A>{lines, depth, 1, count, depth,
                                                       packed_a + (r - i) / tile_rows * a_panel});
      }
      Kernel::begin();  // a product that a functor made has ended this one
    }

    FLAGGEMS_HOST_INLINE void row_block(const coordinates& batch, Out* to, const a_matrix& a_data,
                                        i64 q, const columns_block& columns, i64 i, i64 i_stop,
                                        i64 ii, i64 j, i64 j_stop, i64 nc, depth_part along) const {
      const i64 depth = along.depth;
      const bool first = along.first, last = along.last;
      const i64 steps = ceil_div(depth, i64{Kernel::step});
      const i64 a_panel = Kernel::panel_bytes(tile_rows, steps);
      i64 whole = 0;  // rows read in place
      const A* from = nullptr;
      if constexpr (evaluates) {
        evaluate_rows(a_data, i, i_stop, q, depth, a_panel);
      } else {
        from = a_data + q * a.along;
        if (Kernel::template reads_in_place<A> && grid.direct_a)
          whole = (i_stop - i) / tile_rows * tile_rows;
        if (i + whole < i_stop)
          kernel.template pack_rows<A>(pack_arguments<A>{
              from + (i + whole) * a.line, a.line, a.along, i_stop - i - whole, depth, packed_a});
      }
      const i64 b_panel = Kernel::panel_bytes(tile_columns, steps);
      const bias_part finish = bias.at(batch, 0);
      bool adds = sums_in_place && !first;  // to the content of the output
      bool biased = bias.active() && (sums_in_place ? first : last);
      if constexpr (sums_in_place)
        if (biased && finish.is_of(to, out.row, out.column)) {
          adds = true;
          biased = false;
        }
      alignas(64) C buffer[most_rows<Kernel> * most_columns<Kernel> + 64];
      const auto store = part_of<storing, typename storing::arguments>(level);
      // Contiguous panels that are read once: the processor prefetches them.
      const bool streams = plan.packed != nullptr && i_stop - i <= tile_rows;

      tile_arguments<C> t;
      t.steps = steps;
      t.alpha = out.alpha;
      for (i64 jr = j; jr < j_stop; jr += tile_columns) {
        const i64 n = min_of(tile_columns, j_stop - jr);
        t.vectors = static_cast<int>(ceil_div(n, i64{kernel.lanes}));
        if (jr - j < columns.whole) {
          t.b = columns.data + jr * b.line;
          t.b_along = b.along;
        } else {
          t.b = columns.packed + (jr - j - columns.whole) / tile_columns * b_panel;
          t.b_along = tile_columns;
        }
        const i64 share = ceil_div(b_panel, ceil_div(i_stop - i, tile_rows) * 64);
        t.prefetch_from = static_cast<const char*>(t.b) + b_panel;
        t.prefetch_lines = jr - j >= columns.whole && !streams ? static_cast<int>(share) : 0;
        for (i64 ir = i; ir < i_stop; ir += tile_rows, t.prefetch_from += share * 64) {
          const i64 m = min_of(tile_rows, i_stop - ir);
          t.a = packed_a + (ir - i - whole) / tile_rows * a_panel;
          t.a_row = 1;
          t.a_along = tile_rows;
          if constexpr (!evaluates) {
            if (ir - i < whole) {
              t.a = from + ir * a.line;
              t.a_row = a.line;
              t.a_along = a.along;
            }
          }
          C* const part = sums + (ir - ii) * nc + (jr - j);
          const bool fits = m == tile_rows && n % kernel.lanes == 0;
          if (!sums_in_place && (!last || Bias::replaces)) {
            t.out = part;
            t.out_row = nc;
            t.add = !first;
            kernel.product(t);
            continue;
          }
          if constexpr (sums_in_place) {
            if (fits && !biased && out.column == 1) {
              t.out = to + ir * out.row + jr;
              t.out_row = out.row;
              t.add = adds;
              kernel.product(t);
              continue;
            }
          }
          t.out = buffer;
          t.out_row = tile_columns;
          t.add = false;
          kernel.product(t);
          store.call({buffer, !sums_in_place && !first ? part : nullptr, tile_columns, nc, m, n,
                      to + ir * out.row + jr * out.column, out.row, out.column, adds, biased,
                      &finish, ir, jr});
        }
      }
      // An epilogue reads other tensors: along whole rows, which the processor prefetches, not tile
      // by tile.
      if constexpr (Bias::replaces)
        if (last)
          store.call({sums + (i - ii) * nc, nullptr, nc, 0, i_stop - i, j_stop - j,
                      to + i * out.row + j * out.column, out.row, out.column, false, true, &finish,
                      i, j});
    }
  };
};

/// Few rows times a matrix that is contiguous along its columns: it is read once, six rows at a
/// time, in pieces long enough for hardware prefetching, while the sums stay in the L2 cache.
template <class A, class B, class Out, class C, class Bias>
struct gemm_few_rows {
  static constexpr bool has_parts = true;
  static constexpr i64 sums = 32768;  // elements: in the L2 cache

  template <class Block>
  FLAGGEMS_HOST_INLINE static void run(Block& block, gemm_space space, const gemm_arg<A>& a,
                                       const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                       const Bias& bias) {
    // Pieces are as long as the number of workers and the memory for sums allow.
    const i64 share = round_up(ceil_div(space.n, block.count()), 64);
    space.tile_columns = min_of(share, sums / space.tile_rows / 64 * 64);
    space.column_tiles = ceil_div(space.n, space.tile_columns);
    using one = add_rows<C, B, 1>;
    using some = add_some_rows<C, B>;
    using arguments = add_arguments<C, B>;
    using storing = store_tile<Out, C, bias_part>;
    const bool single = space.m == 1;
    const auto add =
        single ? block.template part<one, arguments>() : block.template part<some, arguments>();
    const parts p{single ? 1 : some::at_once(add.lanes), single ? one::most : some::most, add.call,
                  block.template part<storing, typename storing::arguments>().call};
    C* const kept = block.template scratch<C>(sums).data;
    block.for_each_tile(space.tiles(), [&](i64 tile) FLAGGEMS_LAMBDA {
      piece(space, a, b, out, bias, space.locate(tile), kept, p);
    });
  }

 private:
  using bias_part = decltype(declval_of<const Bias&>().at(coordinates{}, i64{}));
  struct parts {
    int rows, most;  // of the result and of `b`, in a call of `add`
    void (*add)(const add_arguments<C, B>&);
    void (*store)(const typename store_tile<Out, C, bias_part>::arguments&);
  };

  FLAGGEMS_HOST_INLINE static void piece(const gemm_space& space, const gemm_arg<A>& a,
                                         const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                         const Bias& bias, const gemm_space::place& at, C* kept,
                                         const parts& p) {
    const i64 width = space.tile_columns;
    const i64 rows = min_of(space.tile_rows, space.m - at.i);
    const i64 columns = min_of(width, space.n - at.j);
    const A* const from_a = a.at(at.batch);
    const B* const from_b = b.at(at.batch) + at.j * b.line;
    for (i64 e = 0; e < round_up(rows, i64{p.rows}) * width; ++e) kept[e] = C(0);
    for (i64 q = 0; q < space.k; q += p.most) {
      const int live = static_cast<int>(min_of(i64{p.most}, space.k - q));
      for (i64 g = 0; g < rows; g += p.rows) {
        C factors[add_rows<C, B, 1>::most];
        for (int r = 0; r < p.rows; ++r) {
          const A* from = from_a + min_of(at.i + g + r, space.m - 1) * a.line + q * a.along;
          for (int t = 0; t < live; ++t, from += a.along)
            factors[t * p.rows + r] = out.alpha * number_cast<C>(*from);
        }
        p.add({factors, from_b + q * b.along, b.along, live, kept + g * width, width, columns});
      }
    }
    const bias_part finish = bias.at(at.batch, 0);
    p.store({kept, nullptr, width, 0, rows, columns,
             out.at(at.batch) + at.i * out.row + at.j * out.column, out.row, out.column, false,
             bias.active(), &finish, at.i, at.j});
  }
};

}  // namespace flaggems::kernels
