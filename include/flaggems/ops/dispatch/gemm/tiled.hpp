// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of many rows on SIMT devices: on matrix units (kernel/family/gemm/simt/tiles.hpp)
// where they take the elements, else in registers (register_tiles.hpp); tiles, and split-K.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/block/simt/machine.hpp>
#include <flaggems/kernel/family/gemm/simt/register_tiles.hpp>
#include <flaggems/kernel/family/gemm/simt/tiles.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/gemm/operands.hpp>

#include <iterator>
#include <utility>

namespace flaggems::detail {

template <class A, class B, class Out, class Added>
struct gemm_call;

template <class S, class A, class B, class Out, class Added>
class tiled_product {
 public:
  using device = device_of<S>;
  using numbers = tuning<families::gemm, device>;
  using call_type = gemm_call<A, B, Out, Added>;
  using C = typename call_type::C;
  using stored = typename call_type::stored;
  using bias = typename call_type::kernel_bias;
  using first = typename call_type::kernel_first;
  static constexpr bool has_tiles = std::is_same_v<A, B> && has_matrix_unit_type<S, A> &&
                                    std::is_same_v<C, kernels::mma_sum<A>> &&
                                    !call_type::has_prologue;

  tiled_product(const S& stream, call_type& call, const Added& aux)
      : stream_(stream), call_(call), aux_(aux), space_(call.space) {}

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
    in_registers();
  }

 private:
  using unit = matrix_unit_of<device, A>;
  static constexpr i64 most_terms = i64{1} << 30;  ///< which the kernel counts in 32 bits

  // ---- matrix units

  void on_matrix_units() {
    tensor<A, device> copy_a, copy_b;
    kernels::gemm_arg<A> a = call_.a, b = call_.b;
    const char* const op = call_.config.op;
    const kernels::major of_a = align_operand(op, stream_, space_, a, space_.m, copy_a);
    const kernels::major of_b = align_operand(op, stream_, space_, b, space_.n, copy_b);
    const auto with_tile = [&](auto index) {
      if constexpr (is_multiplied_along<A>) {
        tile_of<index, kernels::major::along, kernels::major::along>(a, b);
      } else if (of_a == kernels::major::along) {
        if (of_b == kernels::major::along)
          tile_of<index, kernels::major::along, kernels::major::along>(a, b);
        else
          tile_of<index, kernels::major::along, kernels::major::across>(a, b);
      } else {
        if (of_b == kernels::major::along)
          tile_of<index, kernels::major::across, kernels::major::along>(a, b);
        else
          tile_of<index, kernels::major::across, kernels::major::across>(a, b);
      }
    };
    const int best = best_tile();
    const auto when_best = [&](auto index) {
      if (index == best) with_tile(index);
    };
    [&]<int... K>(std::integer_sequence<int, K...>) {
      (when_best(std::integral_constant<int, K>{}), ...);
    }
    (std::make_integer_sequence<int, static_cast<int>(std::size(numbers::tiles))>{});
  }
  /// The tile with which all blocks end first, each wave as long as its results take, of those that
  /// fit in block-local memory.
  int best_tile() const {
    int best = static_cast<int>(std::size(numbers::tiles)) - 1;
    f64 least = 0;
    for (int i = best; i >= 0; --i) {
      const gemm_tile& t = numbers::tiles[i];
      const i64 bytes = i64{t.stages} * (t.rows + t.columns) * t.depth * 2;
      const i64 tiles = space_.batches * kernels::ceil_div(space_.m, i64{t.rows}) *
                        kernels::ceil_div(space_.n, i64{t.columns});
      const f64 waves = static_cast<f64>(kernels::ceil_div(tiles, numbers::units));
      const f64 time = waves * t.rows * t.columns / t.percent;
      if (least == 0 || (time < least && kernels::exchange_bytes + bytes <=
                                             block_memory_of<device>(ref(stream_).device_index())))
        best = i, least = time;
    }
    return best;
  }
  template <int Index, kernels::major MajorA, kernels::major MajorB>
  void tile_of(const kernels::gemm_arg<A>& a, const kernels::gemm_arg<B>& b) {
    constexpr gemm_tile t = numbers::tiles[Index];
    using tile = kernels::mma_tile<t.rows, t.columns, t.depth, t.stages, t.warp_rows,
                                   t.warp_columns, t.blocks, unit::lanes>;
    using kernel = kernels::gemm_tiles<B, stored, bias, tile, MajorA, MajorB, unit>;
    start<kernel>(t.rows, t.columns, kernel::depth, t.blocks, tile::threads,
                  scratch_bytes<typename kernel::words>(kernel::vectors), a, b);
  }

  // ---- registers

  void in_registers() {
    if constexpr (numbers::large_register_tiles) {
      constexpr i64 lines = kernels::gemm_register_tiles<A, B, stored, C, bias, 8, first>::lines;
      const i64 tiles =
          space_.batches * kernels::ceil_div(space_.m, lines) * kernels::ceil_div(space_.n, lines);
      if (2 * tiles >= numbers::units) return in_registers_of<8>();
    }
    in_registers_of<4>();
  }
  template <int Side>
  void in_registers_of() {
    using kernel = kernels::gemm_register_tiles<A, B, stored, C, bias, Side, first>;
    kernels::box_order order{true, call_.b.along == 1 || call_.b.line != 1};
    if constexpr (!call_type::has_prologue) order.a_along = call_.a.along == 1 || call_.a.line != 1;
    start<kernel>(kernel::lines, kernel::lines, kernel::depth, kernel::min_blocks,
                  kernel::max_threads, scratch_bytes<C>(4 * kernel::box), call_.first(aux_),
                  call_.b, order);
  }

  // ---- both

  /// Launches in tiles of rows x columns results; with few of them, the sum is cut.
  template <class Kernel, class First, class... Order>
  void start(i64 rows, i64 columns, i64 depth, i64 blocks, int threads, i64 scratch, const First& a,
             const kernels::gemm_arg<B>& b, const Order&... order) {
    call_.tiles(rows, columns);
    space_.group = kernels::min_of(i64{numbers::tile_group}, space_.row_tiles);
    const i64 tiles = space_.tiles(), resident = numbers::units * blocks;
    kernels::sum_parts<C> parts{1, space_.k, nullptr};
    if (space_.batches == 1 && 2 * tiles <= resident) {
      const i64 steps = kernels::ceil_div(space_.k, depth);
      const i64 wanted = kernels::min_of(resident / tiles, space_.k / numbers::terms_of_part);
      if (wanted > 1) {
        parts.length = kernels::ceil_div(steps, wanted) * depth;
        parts.count = static_cast<i32>(kernels::ceil_div(space_.k, parts.length));
      }
    }
    auto partial = empty<C>(stream_, shape{parts.count > 1 ? parts.count * space_.m * space_.n : 0},
                            call_.config.op);
    parts.partial = partial.data();
    launch_config& config = call_.config;
    config.tiles = tiles * parts.count;
    config.threads = threads;
    config.scratch = scratch;
    launch<Kernel>(stream_, config, space_, a, b, call_.out, call_.finish(aux_), parts, order...);
    if (parts.count > 1) call_.merge_parts(stream_, aux_, parts.count, parts.partial);
  }

  const S& stream_;
  call_type& call_;
  const Added& aux_;
  kernels::gemm_space& space_;
};

}  // namespace flaggems::detail
