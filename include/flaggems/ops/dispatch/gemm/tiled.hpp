// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of many rows on SIMT devices: on matrix units (kernel/family/gemm/simt/tiles.hpp)
// where they take the elements, else in full precision by asynchronous copies (fma_tiles.hpp) or of
// any elements (register_tiles.hpp); tiles, and split-K.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/block/simt/machine.hpp>
#include <flaggems/kernel/family/gemm/simt/fma_tiles.hpp>
#include <flaggems/kernel/family/gemm/simt/register_tiles.hpp>
#include <flaggems/kernel/family/gemm/simt/tiles.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/gemm/operands.hpp>

#include <span>
#include <utility>

namespace flaggems::detail {

template <class A, class B, class Out, class Added>
struct gemm_call;

/// A tile of `area` results: blocks of a unit, what they reach of the best tile's speed, and the
/// terms that they could multiply while they begin and end.
struct tile_numbers {
  i64 area, blocks, percent, begin;
};
/// How the sums of a product's tiles are taken: of the first `whole` tiles at once, of the others
/// in so many parts; and its time, in hundreds of multiplications of a unit with the best tile.
struct tile_schedule {
  i64 whole = 0, parts = 1;
  f64 time = 0;
};
/// The schedule of least time for so many tiles and k terms on so many units: all sums whole, or
/// those of the last round cut so that each unit has one to four parts. Sizes alone decide.
[[nodiscard]] constexpr tile_schedule schedule_tiles(const tile_numbers& tile, i64 tiles, i64 k,
                                                     i64 units, i64 least_terms,
                                                     const split_costs& costs) {
  const i64 resident = units * tile.blocks, rounds = tiles / resident;
  const i64 rest = tiles - rounds * resident;
  const f64 a_term = static_cast<f64>(tile.area) / static_cast<f64>(tile.percent);
  // Fewer blocks of a unit take less time together, but more each.
  const f64 lost = tile.blocks > 1 ? (1 - costs.alone) / static_cast<f64>(tile.blocks - 1) : 0;
  const auto round_of = [&](i64 blocks, i64 terms) {
    return a_term * static_cast<f64>(blocks * (terms + tile.begin)) /
           (1 - lost * static_cast<f64>(tile.blocks - blocks));
  };
  const auto blocks_of = [&](i64 count) { return kernels::ceil_div(count, units); };
  const f64 begun = static_cast<f64>(rounds) * round_of(tile.blocks, k);
  tile_schedule best{tiles, 1, begun + round_of(blocks_of(rest), k)};
  const f64 enough = best.time * costs.gain;
  for (i64 each = 1; rest > 0 && each <= 4; ++each) {
    const i64 parts = kernels::min_of(each * units / rest, k / least_terms);
    if (parts <= 1) continue;
    const i64 terms = kernels::ceil_div(k, parts), full = parts * rest / resident;
    const f64 time = begun + static_cast<f64>(full) * round_of(tile.blocks, terms) +
                     round_of(blocks_of(parts * rest - full * resident), terms) + costs.launch +
                     costs.part * static_cast<f64>(parts * rest * tile.area);
    if (time < enough && time < best.time) best = {rounds * resident, parts, time};
  }
  return best;
}

/// `Bias`: what is added, for kernels.
template <class S, class A, class B, class Out, class Added, class Bias>
class tiled_product {
 public:
  using device = device_of<S>;
  using numbers = tuning<families::gemm, device>;
  using call_type = gemm_call<A, B, Out, Added>;
  using C = typename call_type::C;
  using stored = typename call_type::stored;
  using first = typename call_type::kernel_first;
  static constexpr bool has_tiles = std::is_same_v<A, B> && has_matrix_unit_type<S, A> &&
                                    std::is_same_v<C, kernels::mma_sum<A>> &&
                                    !call_type::has_prologue;

  static constexpr bool has_fma_tiles = device::capabilities::async_copy &&
                                        std::is_same_v<A, f32> && std::is_same_v<B, f32> &&
                                        std::is_same_v<C, f32> && !call_type::has_prologue;

  tiled_product(const S& stream, call_type& call, const Added& aux, const Bias& last)
      : stream_(stream), call_(call), aux_(aux), last_(last), space_(call.space) {}

  /// Of f32 whose lines of b are in pieces of whole steps, in full precision; else false.
  bool run_pieces() {
    if constexpr (has_fma_tiles)
      return by_copies<true>();
    else
      return false;
  }

  void run() {
    if constexpr (has_tiles) {
      if (!has_matrix_units(stream_)) {
        report_candidate<unit>(call_.config.op, device::name, 0,
                               "this device has no such matrix units");
        return in_registers();
      }
      const f64 work = f64(space_.m) * f64(space_.n) * f64(space_.k);
      const bool copies = work >= numbers::work_to_align;
      if (space_.k > 0 && space_.k <= most_terms &&
          (copies ||
           (is_aligned(space_, call_.a, space_.m) && is_aligned(space_, call_.b, space_.n))))
        return on_matrix_units();
    }
    if constexpr (has_fma_tiles)
      if (by_copies<false>()) return;
    in_registers();
  }

 private:
  using unit = matrix_unit_of<device, A>;
  /// The tiles to choose from: those of f64 by mma have twice the registers of sums.
  static constexpr const auto& list = []() -> const auto& {
    if constexpr (std::is_same_v<A, f64> &&
                  matrix_instructions_of<device> == matrix_instructions::mma)
      return numbers::f64_tiles;
    else
      return numbers::tiles;
  }
  ();
  static constexpr i64 most_terms = i64{1} << 30;  ///< which the kernel counts in 32 bits

  // ---- matrix units

  void on_matrix_units() {
    tensor<A, device> copy_a, copy_b;
    kernels::gemm_arg<A> a = call_.a, b = call_.b;
    const char* const op = call_.config.op;
    const kernels::major of_a = align_operand(op, stream_, space_, a, space_.m, copy_a);
    const kernels::major of_b = align_operand(op, stream_, space_, b, space_.n, copy_b);
    const auto of_tile = [&](auto index, auto x, auto y) { tile_of<index, x, y>(a, b); };
    const auto with_tile = [&](auto index) {
      if constexpr (is_multiplied_along<A>)
        of_tile(index, major_constant<kernels::major::along>{},
                major_constant<kernels::major::along>{});
      else
        by_layout(of_a, of_b, [&](auto x, auto y) { of_tile(index, x, y); });
    };
    with_index<std::size(list)>(best_tile(), with_tile);
  }
  template <kernels::major Major>
  using major_constant = std::integral_constant<kernels::major, Major>;
  /// f with both layouts as types.
  template <class F>
  static void by_layout(kernels::major a, kernels::major b, const F& f) {
    const auto with = [&](auto x) {
      if (b == kernels::major::along)
        f(x, major_constant<kernels::major::along>{});
      else
        f(x, major_constant<kernels::major::across>{});
    };
    if (a == kernels::major::along)
      with(major_constant<kernels::major::along>{});
    else
      with(major_constant<kernels::major::across>{});
  }
  /// f with an index of a list as a type.
  template <std::size_t Count, class F>
  static void with_index(int index, const F& f) {
    const auto when_equal = [&](auto k) {
      if (k == index) f(k);
    };
    [&]<int... K>(std::integer_sequence<int, K...>) {
      (when_equal(std::integral_constant<int, K>{}), ...);
    }
    (std::make_integer_sequence<int, static_cast<int>(Count)>{});
  }
  tile_schedule schedule(i64 rows, i64 columns, i64 blocks, i64 percent, i64 begin,
                         const split_costs& costs) const {
    const i64 tiles =
        space_.batches * kernels::ceil_div(space_.m, rows) * kernels::ceil_div(space_.n, columns);
    return schedule_tiles({rows * columns, blocks, percent, begin}, tiles, space_.k, numbers::units,
                          numbers::terms_of_part, costs);
  }
  /// The tile of a list with which all blocks end first, of those that fit in block-local memory;
  /// of each, its schedule and those bytes.
  template <std::size_t Count, class Tile, class Schedule, class Bytes>
  int best_tile(const Tile (&tiles)[Count], const Schedule& schedule_of, const Bytes& bytes_of) {
    int best = static_cast<int>(Count) - 1;
    const i64 room = block_memory_of<device>(ref(stream_).device_index());
    for (int i = best; i >= 0; --i) {
      const tile_schedule found = schedule_of(tiles[i]);
      if (i == static_cast<int>(Count) - 1 ||
          (found.time < schedule_.time && kernels::exchange_bytes + bytes_of(tiles[i]) <= room))
        best = i, schedule_ = found;
    }
    return best;
  }
  int best_tile() {
    return best_tile(
        list,
        [&](const gemm_tile& t) {
          constexpr bool is_full = std::is_same_v<A, f64> || std::is_same_v<A, f32>;
          return schedule(t.rows, t.columns, t.blocks, t.percent, t.begin,
                          is_full ? numbers::split_of_full : numbers::split_of_small);
        },
        [](const gemm_tile& t) { return i64{t.stages} * (t.rows + t.columns) * t.depth * 2; });
  }
  template <int Index, kernels::major MajorA, kernels::major MajorB>
  void tile_of(const kernels::gemm_arg<A>& a, const kernels::gemm_arg<B>& b) {
    constexpr gemm_tile t = list[Index];
    using tile = kernels::mma_tile<t.rows, t.columns, t.depth, t.stages, t.warp_rows,
                                   t.warp_columns, t.blocks, unit::lanes>;
    using kernel = kernels::gemm_tiles<B, stored, Bias, tile, MajorA, MajorB, unit>;
    start<kernel>(t.rows, t.columns, kernel::depth, tile::threads,
                  scratch_bytes<typename kernel::words>(kernel::vectors), a, b);
  }

  // ---- full precision by asynchronous copies

  /// The product; false, having written nothing, if an operand's elements are neither neighbours
  /// along the sum nor in whole vectors across it, or pieces are no steps.
  template <bool InPieces>
  bool by_copies() {
    if (InPieces && !has_whole_pieces()) return false;
    if (space_.k > most_terms || !is_copied(call_.a, space_.m) || !is_copied(call_.b, space_.n))
      return false;
    const auto layout = [](const kernels::gemm_arg<f32>& x) {
      return x.along == 1 ? kernels::major::along : kernels::major::across;
    };
    with_index<std::size(numbers::fma_tiles)>(best_fma_tile(), [&](auto index) {
      constexpr gemm_fma_numbers t = numbers::fma_tiles[index];
      using tile = kernels::fma_tile<t.row_groups, t.column_groups, t.stages, t.blocks>;
      if constexpr (InPieces) {
        constexpr kernels::major along = kernels::major::along;
        by_fma_tile<kernels::gemm_fma_tiles<A, stored, Bias, tile, along, along, pieces_arg>, tile>(
            pieces_arg{call_.b, call_.pieces_of_b.terms,
                       call_.pieces_of_b.lines * call_.b.line - call_.pieces_of_b.terms});
      } else {
        by_layout(layout(call_.a), layout(call_.b), [&](auto a, auto b) {
          by_fma_tile<kernels::gemm_fma_tiles<A, stored, Bias, tile, a, b>, tile>(call_.b);
        });
      }
    });
    return true;
  }
  using pieces_arg = kernels::turning_arg<B>;
  template <class Kernel, class Tile, class Second>
  void by_fma_tile(const Second& b) {
    start<Kernel>(Tile::rows, Tile::columns, Kernel::depth, Tile::threads, Kernel::most_scratch,
                  call_.a, b);
  }
  bool has_whole_pieces() const {
    constexpr i64 step = kernels::fma_tile<1, 1, 3, 1>::depth;
    return call_.a.along == 1 && call_.b.along == 1 && call_.pieces_of_b.terms % step == 0;
  }
  bool is_copied(const kernels::gemm_arg<f32>& x, i64 lines) const {
    constexpr i64 vector = kernels::vec_size<f32>;
    constexpr i64 most_stride = i64{1} << 24;  // limit of offsets of 32 bits in a tile
    if (x.along == 1) return x.line >= 0 && x.line < most_stride;
    i64 odd = lines | x.along;
    for (int d = 0; d < space_.rank; ++d) odd |= x.batch[d];
    return x.line == 1 && x.along >= 0 && x.along < most_stride && odd % vector == 0 &&
           kernels::is_vec_aligned<vector>(x.data);
  }
  int best_fma_tile() {
    constexpr i64 tall = 64, wide = 32;  // limit
    return best_tile(
        numbers::fma_tiles,
        [&](const gemm_fma_numbers& t) {
          return schedule(tall * t.row_groups, wide * t.column_groups, t.blocks, t.percent, 0,
                          numbers::split_of_full);
        },
        [](const gemm_fma_numbers& t) {
          return t.stages * (tall * t.row_groups + wide * t.column_groups + 8) * 16 * 4;
        });
  }

  // ---- registers

  void in_registers() {
    if constexpr (numbers::large_register_tiles) {
      constexpr i64 lines = kernels::gemm_register_tiles<A, B, stored, C, Bias, 8, first>::lines;
      const i64 tiles =
          space_.batches * kernels::ceil_div(space_.m, lines) * kernels::ceil_div(space_.n, lines);
      if (2 * tiles >= numbers::units) return in_registers_of<8>();
    }
    in_registers_of<4>();
  }
  template <int Side>
  void in_registers_of() {
    using kernel = kernels::gemm_register_tiles<A, B, stored, C, Bias, Side, first>;
    schedule_ =
        schedule(kernel::lines, kernel::lines, kernel::min_blocks, 40, 0, numbers::split_of_full);
    kernels::box_order order{true, call_.b.along == 1 || call_.b.line != 1};
    if constexpr (!call_type::has_prologue) order.a_along = call_.a.along == 1 || call_.a.line != 1;
    start<kernel>(kernel::lines, kernel::lines, kernel::depth, kernel::max_threads,
                  scratch_bytes<C>(4 * kernel::box), call_.first(aux_), call_.b, order);
  }

  // ---- all

  /// Launches in tiles of rows x columns results, by their schedule.
  template <class Kernel, class First, class Second, class... Order>
  void start(i64 rows, i64 columns, i64 depth, int threads, i64 scratch, const First& a,
             const Second& b, const Order&... order) {
    call_.tiles(rows, columns);
    space_.group = kernels::min_of(i64{numbers::tile_group}, space_.row_tiles);
    const i64 tiles = space_.tiles();
    kernels::sum_parts<C> parts{1, space_.k, nullptr, schedule_.whole};
    if (schedule_.parts > 1) {
      parts.length = kernels::ceil_div(kernels::ceil_div(space_.k, depth), schedule_.parts) * depth;
      parts.count = static_cast<i32>(kernels::ceil_div(space_.k, parts.length));
    }
    const i64 cut = parts.count > 1 ? tiles - parts.whole : 0;
    auto partial = empty<C>(stream_, shape{cut * parts.count * rows * columns}, call_.config.op);
    parts.partial = partial.data();
    launch_config& config = call_.config;
    config.tiles = parts.units(tiles);
    config.threads = threads;
    config.scratch = scratch;
    launch<Kernel>(stream_, config, space_, a, b, call_.out, last_, parts, order...);
    if (cut > 0) merge(cut * rows * columns, parts);
  }
  /// The second launch, which adds up so many sums that were cut.
  void merge(i64 sums, const kernels::sum_parts<C>& parts) {
    using kernel = kernels::gemm_merge_tiles<stored, C, Bias>;
    launch_config& config = call_.config;
    config.threads = numbers::merge_threads;
    config.tiles = sums / (numbers::merge_threads * kernel::count);
    config.scratch = 0;
    launch<kernel>(stream_, config, space_, call_.out, last_, parts);
  }

  const S& stream_;
  call_type& call_;
  const Added& aux_;
  const Bias& last_;
  kernels::gemm_space& space_;
  tile_schedule schedule_;
};

}  // namespace flaggems::detail
