// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products on SIMT devices with warp groups: whether
// kernel/family/gemm/simt/warp_groups.hpp takes one, and by which tile.
#pragma once

#include <flaggems/kernel/family/gemm/simt/warp_groups.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tensor_map.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/tensor/view.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace flaggems::detail {

template <class A, class B, class Out, class Added>
struct gemm_call;

/// Device types some of whose devices have warp groups, and a list of tiles for them.
template <class Device>
concept has_warp_groups = requires {
  Device::warp_group_units(0);
  tuning<families::gemm, Device>::warp_group_tiles;
};

/// The time of a product of m x n results and k terms by a tile, in no particular unit: as many
/// rounds as the units need for all tiles.
[[nodiscard]] constexpr double warp_group_cost(const warp_group_numbers& tile, i64 batches, i64 m,
                                               i64 n, i64 k, i64 units) {
  const i64 clusters = batches * kernels::ceil_div(m, i64{tile.m} * tile.cluster) *
                       kernels::ceil_div(n, i64{tile.n});
  const i64 rounds = kernels::ceil_div(clusters, units / tile.cluster);
  return static_cast<double>(rounds * tile.m * tile.n) * static_cast<double>(k + tile.begin) /
         tile.rate;
}

template <class S, class A, class B, class Out, class Added>
class warp_group_gemm {
 public:
  using device = device_of<S>;
  using call_type = gemm_call<A, B, Out, Added>;
  using stored = typename call_type::stored;
  using bias = typename call_type::kernel_bias;
  static constexpr bool exists =
      std::is_same_v<A, B> &&
      (std::is_same_v<A, bf16> || std::is_same_v<A, f16>)&&has_warp_groups<device>;

  warp_group_gemm(const S& stream, call_type& call, const Added& aux)
      : stream_(stream), call_(call), aux_(aux) {}

  /// Runs the product; false, having done nothing but exchange the operands, if it does not apply.
  bool run() {
    kernels::gemm_space& space = call_.space;
    if (space.rank > 1 || space.k == 0 || space.k > most || space.n > most ||
        space.batches * space.m > most)
      return false;
    const int units = device::warp_group_units(ref(stream_).device_index());
    if (units == 0) return false;
    if (call_.out.column != 1 && call_.out.row == 1) call_.exchange();
    if (space.rank == 0) {  // kernels have a one-dimensional batch
      call_.a.batch[0] = call_.b.batch[0] = call_.out.batch[0] = 0;
      for (auto& v : call_.added) v.batch[0] = 0;
    }
    const bool a_along = is_taken(call_.a.data, call_.a.along, call_.a.line, call_.a.batch[0]);
    const bool b_along = is_taken(call_.b.data, call_.b.along, call_.b.line, call_.b.batch[0]);
    if (!a_along && !is_taken(call_.a.data, call_.a.line, call_.a.along, call_.a.batch[0]))
      return false;
    if (!b_along && !is_taken(call_.b.data, call_.b.line, call_.b.along, call_.b.batch[0]))
      return false;
    space.rank = 1;
    using indices = std::make_index_sequence<std::size(tiles)>;
    const std::size_t best = choose(units);
    using kernels::major;
    if (a_along && b_along)
      launch_tile<major::along, major::along>(best, units, indices{});
    else if (a_along)
      launch_tile<major::along, major::across>(best, units, indices{});
    else if (b_along)
      launch_tile<major::across, major::along>(best, units, indices{});
    else
      launch_tile<major::across, major::across>(best, units, indices{});
    return true;
  }

 private:
  static constexpr const auto& tiles = tuning<families::gemm, device>::warp_group_tiles;
  /// Limits of 32-bit counts, and of strides of a map.
  static constexpr i64 most = i64{1} << 30, most_stride = i64{1} << 38;

  /// Whether the copy engine takes an operand whose elements are `inner` and `outer` apart.
  static bool is_taken(const void* data, i64 inner, i64 outer, i64 batch) {
    return inner == 1 && outer > 0 && batch >= 0 && outer < most_stride && batch < most_stride &&
           outer % 8 == 0 && batch % 8 == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  }

  std::size_t choose(i64 units) const {
    const kernels::gemm_space& s = call_.space;
    std::size_t best = 0;
    double least = 0;
    for (std::size_t k = 0; k < std::size(tiles); ++k) {
      const double cost = warp_group_cost(tiles[k], s.batches, s.m, s.n, s.k, units);
      if (k == 0 || cost < least) best = k, least = cost;
    }
    return best;
  }

  /// The map of `lines` lines of x, whose boxes are `rows` rows of `columns` neighbours.
  template <kernels::major Major>
  tensor_map map_of(const kernels::gemm_arg<A>& x, i64 lines, int rows, int columns) const {
    constexpr bool is_across = Major == kernels::major::across;
    const i64 k = call_.space.k, batches = x.batch[0] == 0 ? 1 : call_.space.batches;
    const i64 sizes[] = {batches, is_across ? k : lines, is_across ? lines : k};
    return box_map(x.data, sizes, x.batch[0], is_across ? x.along : x.line, rows, columns);
  }
  template <class T>
  tensor_map box_map(T* data, const i64 (&sizes)[3], i64 batch, i64 line, i64 rows,
                     i64 columns) const {
    const i64 strides[] = {batch, line, 1}, box[] = {1, rows, columns};
    return tensor_map_of(stream_,
                         tensor_view<T, device>(data, int_list(sizes, 3), int_list(strides, 3)),
                         box, static_cast<box_swizzle>(columns / 8));
  }

  template <kernels::major MajorA, kernels::major MajorB, std::size_t... K>
  void launch_tile(std::size_t at, i64 units, std::index_sequence<K...>) {
    (void)((K == at && (launch_tile<MajorA, MajorB, K>(units), true)) || ...);
  }
  template <kernels::major MajorA, kernels::major MajorB, std::size_t K>
  void launch_tile(i64 units) {
    constexpr warp_group_numbers numbers = tiles[K];
    using tile = kernels::warp_group_tile<numbers.m, numbers.n, numbers.stages, numbers.cluster,
                                          numbers.ping_pong>;
    using kernel = kernels::gemm_warp_groups<A, stored, bias, tile, MajorA, MajorB>;
    using a_boxes = kernels::operand_boxes<MajorA, tile::m, 1>;
    using b_boxes = kernels::operand_boxes<MajorB, tile::n, tile::cluster>;
    const kernels::gemm_space& s = call_.space;
    const auto narrow = [](i64 x) { return static_cast<i32>(x); };
    kernels::warp_group_space space{};
    space.m = narrow(s.m);
    space.n = narrow(s.n);
    space.steps = narrow(kernels::ceil_div(s.k, i64{tile::k}));
    space.row_tiles = narrow(kernels::ceil_div(s.m, i64{tile::m} * tile::cluster));
    space.column_tiles = narrow(kernels::ceil_div(s.n, i64{tile::n}));
    space.tiles = narrow(s.batches * space.row_tiles * space.column_tiles);
    space.group = 8 / tile::cluster;
    space.a_batch = call_.a.batch[0] == 0 ? 0 : 1;
    space.b_batch = call_.b.batch[0] == 0 ? 0 : 1;
    const i64 at_once = units / tile::cluster;
    space.admits = space.tiles <= at_once;
    const tensor_map a = map_of<MajorA>(call_.a, s.m, a_boxes::rows, tile::k);
    const tensor_map b = map_of<MajorB>(call_.b, s.n, b_boxes::rows, tile::k);
    tensor_map to = a;  // unless it is used
    const auto& out = call_.out;
    if constexpr (sizeof(stored) == 2) {
      space.stores_boxes = is_taken(out.data, out.column, out.row, out.batch[0]);
      const i64 sizes[] = {s.batches, s.m, s.n};
      if (space.stores_boxes) to = box_map(out.data, sizes, out.batch[0], out.row, 16, tile::slab);
    } else {
      constexpr i64 pair = 2 * static_cast<i64>(sizeof(stored));
      space.stores_boxes = out.column == 1 && out.row % 2 == 0 && out.batch[0] % 2 == 0 &&
                           reinterpret_cast<std::uintptr_t>(out.data) % pair == 0;
    }
    launch_config& config = call_.config;
    config.tiles = kernels::min_of(i64{space.tiles}, at_once);
    config.cluster = tile::cluster;
    config.threads = tile::threads;
    config.scratch = tile::scratch;
    launch<kernel>(stream_, config, space, a, b, to, out, call_.finish(aux_));
  }

  const S& stream_;
  call_type& call_;
  const Added& aux_;
};

}  // namespace flaggems::detail
