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
      if (by_copies()) return;
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
  /// The tile with which all blocks end first, each wave as long as its results take, of those that
  /// fit in block-local memory.
  int best_tile() const {
    int best = static_cast<int>(std::size(list)) - 1;
    f64 least = 0;
    for (int i = best; i >= 0; --i) {
      const gemm_tile& t = list[i];
      const i64 bytes = i64{t.stages} * (t.rows + t.columns) * t.depth * 2;
      const i64 tiles = space_.batches * kernels::ceil_div(space_.m, i64{t.rows}) *
                        kernels::ceil_div(space_.n, i64{t.columns});
      const f64 waves = static_cast<f64>(kernels::ceil_div(tiles, numbers::units));
      const f64 terms = static_cast<f64>(space_.k + t.begin);
      const f64 time = waves * terms * t.rows * t.columns / t.percent;
      if (least == 0 || (time < least && kernels::exchange_bytes + bytes <=
                                             block_memory_of<device>(ref(stream_).device_index())))
        best = i, least = time;
    }
    return best;
  }
  template <int Index, kernels::major MajorA, kernels::major MajorB>
  void tile_of(const kernels::gemm_arg<A>& a, const kernels::gemm_arg<B>& b) {
    constexpr gemm_tile t = list[Index];
    using tile = kernels::mma_tile<t.rows, t.columns, t.depth, t.stages, t.warp_rows,
                                   t.warp_columns, t.blocks, unit::lanes>;
    using kernel = kernels::gemm_tiles<B, stored, Bias, tile, MajorA, MajorB, unit>;
    start<kernel>(t.rows, t.columns, kernel::depth, t.blocks, tile::threads,
                  scratch_bytes<typename kernel::words>(kernel::vectors), a, b);
  }

  // ---- full precision by asynchronous copies

  /// The product; false, having written nothing, if an operand's elements are neither neighbours
  /// along the sum nor in whole vectors across it.
  bool by_copies() {
    if (space_.k > most_terms || !is_copied(call_.a, space_.m) || !is_copied(call_.b, space_.n))
      return false;
    const auto layout = [](const kernels::gemm_arg<f32>& x) {
      return x.along == 1 ? kernels::major::along : kernels::major::across;
    };
    with_index<std::size(numbers::fma_tiles)>(best_fma_tile(), [&](auto index) {
      by_layout(layout(call_.a), layout(call_.b), [&](auto a, auto b) {
        constexpr gemm_fma_numbers t = numbers::fma_tiles[index];
        using tile = kernels::fma_tile<t.row_groups, t.column_groups, t.stages, t.blocks>;
        using kernel = kernels::gemm_fma_tiles<A, stored, Bias, tile, a, b>;
        start<kernel>(tile::rows, tile::columns, kernel::depth, t.blocks, tile::threads,
                      kernel::most_scratch, call_.a, call_.b);
      });
    });
    return true;
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
  /// The tile with which all blocks end first, of those that fit in block-local memory.
  int best_fma_tile() const {
    int best = static_cast<int>(std::size(numbers::fma_tiles)) - 1;
    f64 least = 0;
    for (int i = best; i >= 0; --i) {
      const gemm_fma_numbers& t = numbers::fma_tiles[i];
      const i64 rows = 64 * t.row_groups, columns = 32 * t.column_groups;  // limit
      const i64 bytes = t.stages * (rows + columns + 8) * 16 * 4;
      const i64 tiles =
          space_.batches * kernels::ceil_div(space_.m, rows) * kernels::ceil_div(space_.n, columns);
      const i64 parts = parts_of(tiles, numbers::units * t.blocks);
      // In whole rounds of resident blocks, as one alone leaves most of its unit idle.
      const i64 rounds = kernels::ceil_div(tiles * parts, numbers::units * t.blocks) * t.blocks;
      const f64 time =
          static_cast<f64>(rounds * rows * columns) / static_cast<f64>(parts * t.percent);
      if (least == 0 || (time < least && kernels::exchange_bytes + bytes <=
                                             block_memory_of<device>(ref(stream_).device_index())))
        best = i, least = time;
    }
    return best;
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
    kernels::box_order order{true, call_.b.along == 1 || call_.b.line != 1};
    if constexpr (!call_type::has_prologue) order.a_along = call_.a.along == 1 || call_.a.line != 1;
    start<kernel>(kernel::lines, kernel::lines, kernel::depth, kernel::min_blocks,
                  kernel::max_threads, scratch_bytes<C>(4 * kernel::box), call_.first(aux_),
                  call_.b, order);
  }

  // ---- all

  /// Parts of the sum that keep so many blocks busy.
  i64 parts_of(i64 tiles, i64 resident) const {
    if (space_.batches > 1 || 2 * tiles > resident) return 1;
    return kernels::max_of(kernels::min_of(resident / tiles, space_.k / numbers::terms_of_part),
                           i64{1});
  }
  /// Launches in tiles of rows x columns results; with few of them, the sum is cut.
  template <class Kernel, class First, class... Order>
  void start(i64 rows, i64 columns, i64 depth, i64 blocks, int threads, i64 scratch, const First& a,
             const kernels::gemm_arg<B>& b, const Order&... order) {
    call_.tiles(rows, columns);
    space_.group = kernels::min_of(i64{numbers::tile_group}, space_.row_tiles);
    const i64 tiles = space_.tiles(), resident = numbers::units * blocks;
    kernels::sum_parts<C> parts{1, space_.k, nullptr};
    if (const i64 wanted = parts_of(tiles, resident); wanted > 1) {
      parts.length = kernels::ceil_div(kernels::ceil_div(space_.k, depth), wanted) * depth;
      parts.count = static_cast<i32>(kernels::ceil_div(space_.k, parts.length));
    }
    auto partial = empty<C>(stream_, shape{parts.count > 1 ? parts.count * space_.m * space_.n : 0},
                            call_.config.op);
    parts.partial = partial.data();
    launch_config& config = call_.config;
    config.tiles = tiles * parts.count;
    config.threads = threads;
    config.scratch = scratch;
    launch<Kernel>(stream_, config, space_, a, b, call_.out, last_, parts, order...);
    if (parts.count > 1) call_.merge_parts(stream_, aux_, parts.count, parts.partial);
  }

  const S& stream_;
  call_type& call_;
  const Added& aux_;
  const Bias& last_;
  kernels::gemm_space& space_;
};

}  // namespace flaggems::detail
