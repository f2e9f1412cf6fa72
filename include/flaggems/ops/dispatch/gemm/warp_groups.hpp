// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products on SIMT devices with warp groups: whether
// kernel/family/gemm/simt/warp_groups.hpp takes one, by which tile, and split-K.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/family/gemm/simt/warp_groups.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tensor_map.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/gemm/chosen.hpp>
#include <flaggems/ops/dispatch/gemm/operands.hpp>
#include <flaggems/tensor/view.hpp>

#include <cstddef>
#include <span>
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

/// Whether they may multiply A by B on a stream.
template <class S, class A, class B>
inline constexpr bool multiplies_by_warp_groups =
    has_warp_groups<device_of<S>>&& std::is_same_v<A, B>&& has_matrix_unit_type<S, A> &&
    !std::is_same_v<A, f64>;

/// A tile of a list, and how many parts each sum is cut into.
struct warp_group_plan {
  std::size_t tile = 0;
  i64 parts = 1;
};

/// The tile of least time for `batches` products of m x n results and k terms of 16 bits (or half
/// as many of 32, twice as many of 8, for which units take as long) on so many units, of operands
/// of so many bytes; `adds`: something to the sums. Only tiles of single blocks are split, into as
/// many parts as keep all units busy.
template <std::size_t Count>
[[nodiscard]] constexpr warp_group_plan plan_warp_groups(const warp_group_numbers (&tiles)[Count],
                                                         const warp_group_costs& costs, i64 batches,
                                                         i64 m, i64 n, i64 k, double bytes,
                                                         bool adds, i64 units) {
  const double memory = costs.byte * bytes;
  warp_group_plan best;
  double least = 0;
  for (std::size_t t = 0; t < Count; ++t) {
    const warp_group_numbers& tile = tiles[t];
    if (adds && tile.is_plain) continue;
    const i64 clusters = batches * kernels::ceil_div(m, i64{tile.m} * tile.cluster) *
                         kernels::ceil_div(n, i64{tile.n});
    const auto consider = [&](i64 parts) {
      const i64 rounds = kernels::ceil_div(clusters * parts, units / tile.cluster);
      if (rounds > 1 && tile.is_single) return;
      const i64 terms = kernels::ceil_div(k, parts) + tile.begin;
      double cost =
          static_cast<double>(rounds * tile.m * tile.n) * static_cast<double>(terms) / tile.rate;
      if (cost < memory) cost = memory;
      if (parts > 1)
        cost += costs.launch + costs.part * static_cast<double>(parts * batches * m * n);
      if (least == 0 || cost < least) best = {t, parts}, least = cost;
    };
    consider(1);
    const i64 parts = kernels::min_of(units / clusters, k / costs.least_terms);
    if (tile.cluster == 1 && parts > 1) consider(parts);
  }
  return best;
}

template <class S, class A, class B, class Out, class Added, class Sums>
class warp_group_gemm {
 public:
  using device = device_of<S>;
  using numbers = tuning<families::gemm, device>;
  using call_type = gemm_call<A, B, Out, Added>;
  using C = kernels::mma_sum<A>;

  warp_group_gemm(const S& stream, call_type& call, const Added& aux, const Sums& how)
      : stream_(stream), call_(call), aux_(aux), how_(how) {}

  /// Runs the product; false, having written nothing, if it does not apply.
  bool run() {
    kernels::gemm_space& space = call_.space;
    if (space.rank > 1 || space.k == 0 || space.k > most || space.m > most || space.n > most ||
        space.batches >
            most / (kernels::ceil_div(space.m, least) * kernels::ceil_div(space.n, least)))
      return false;
    const i64 units = device::warp_group_units(ref(stream_).device_index());
    if (units == 0) return false;
    call_.give_batch();
    const bool a_along = is_along(call_.a), b_along = is_along(call_.b);
    if ((!a_along && !is_across(call_.a)) || (!b_along && !is_across(call_.b))) return false;
    plan_ =
        plan_warp_groups(tiles, numbers::warp_group_other_costs, space.batches, space.m, space.n,
                         kernels::ceil_div(space.k * i64{sizeof(A)}, i64{2}), bytes(), adds, units);
    cut(units, a_along, b_along);
    if (plan_.parts > 1 ? split() : whole()) return true;
    call_.config.cluster = 1;
    return false;
  }

 private:
  /// Those of sums by steps, where each group has sums of a step besides.
  static constexpr const auto& tiles = []() -> const auto& {
    if constexpr (!Sums::by_step)
      return numbers::warp_group_tiles;
    else if constexpr (Sums::scales)
      return numbers::warp_group_block_tiles;
    else
      return numbers::warp_group_step_tiles;
  }
  ();
  static constexpr bool adds = Added::leaves > 0 || Added::replaces;
  /// Whether what is added reads elements that are equal in all columns as such.
  static constexpr bool reads_equal_columns = requires { Added::reads_equal_columns; };
  using tile_indices = std::make_index_sequence<std::size(tiles)>;
  template <std::size_t K>
  using tile_at = kernels::warp_group_tile<tiles[K].m, tiles[K].n, tiles[K].stages,
                                           tiles[K].cluster, tiles[K].ping_pong>;
  /// Limits of 32-bit counts, and of strides of a map; the least rows and columns of a tile.
  static constexpr i64 most = i64{1} << 30, most_stride = i64{1} << 38;
  static constexpr i64 least = 64;  // limit

  /// Whether the copy engine takes a matrix whose elements are `inner` and `outer` apart.
  template <class T>
  static bool is_taken(const T* data, i64 inner, i64 outer, i64 batch) {
    constexpr i64 vector = kernels::vec_size<T>;
    return inner == 1 && outer > 0 && batch >= 0 && outer < most_stride && batch < most_stride &&
           outer % vector == 0 && batch % vector == 0 && kernels::is_vec_aligned<vector>(data);
  }
  static bool is_along(const kernels::gemm_arg<A>& x) {
    return is_taken(x.data, x.along, x.line, x.batch[0]);
  }
  static bool is_across(const kernels::gemm_arg<A>& x) {
    return !is_multiplied_along<A> && is_taken(x.data, x.line, x.along, x.batch[0]);
  }

  /// The bytes of the operands; windows share theirs.
  [[nodiscard]] double bytes() const {
    const kernels::gemm_space& s = call_.space;
    const line_pieces& pieces = call_.pieces_of_b;
    const auto all = [&](i64 lines, i64 line, i64 batch) {
      return static_cast<double>(lines) * static_cast<double>(line) *
             static_cast<double>(batch == 0 ? 1 : s.batches);
    };
    const double b = pieces.terms == 0 ? all(s.n, s.k, call_.b.batch[0])
                                       : all(s.n + (s.k / pieces.terms - 1) * pieces.lines,
                                             call_.b.line, call_.b.batch[0]);
    return static_cast<double>(sizeof(A)) * (all(s.m, s.k, call_.a.batch[0]) + b);
  }

  /// The space and the maps of the plan's tile.
  void cut(i64 units, bool a_along, bool b_along) {
    const warp_group_numbers& tile = tiles[plan_.tile];
    const kernels::gemm_space& s = call_.space;
    const auto narrow = [](i64 x) { return static_cast<i32>(x); };
    const i64 steps = kernels::ceil_div(s.k, terms);
    // (No part is empty: its sums would not be written.)
    const i64 steps_of_part = kernels::ceil_div(steps, plan_.parts);
    plan_.parts = kernels::ceil_div(steps, steps_of_part);
    space_.m = narrow(s.m);
    space_.n = narrow(s.n);
    space_.steps = narrow(steps_of_part);
    space_.batches = narrow(s.batches);
    space_.row_tiles = narrow(kernels::ceil_div(s.m, i64{tile.m} * tile.cluster));
    space_.column_tiles = narrow(kernels::ceil_div(s.n, i64{tile.n}));
    space_.tiles = narrow(s.batches * plan_.parts) * space_.row_tiles * space_.column_tiles;
    space_.group = numbers::warp_group_rows / tile.m;
    space_.a_batched = call_.a.batch[0] == 0 ? 0 : 1;
    space_.b_batched = call_.b.batch[0] == 0 ? 0 : 1;
    space_.a_across = !a_along;
    space_.b_across = !b_along;
    space_.reads_contiguous = true;
    for (int k = 0; k < Added::leaves; ++k)
      space_.reads_contiguous =
          space_.reads_contiguous &&
          (call_.added[k].column == 1 || (reads_equal_columns && call_.added[k].column == 0));
    const i64 at_once = units / tile.cluster;
    space_.admits = space_.tiles <= at_once;
    const line_pieces& pieces = call_.pieces_of_b;
    const i64 of_b = pieces.terms == 0 ? s.k : pieces.terms, turns = s.k / of_b - 1;
    space_.turn_steps = narrow(kernels::ceil_div(of_b, terms));
    space_.turn_lines = narrow(pieces.lines);
    a_ = map_of(call_.a, a_along, s.k, s.m, tile.m, 1);
    b_ = map_of(call_.b, b_along, of_b, s.n + turns * pieces.lines, tile.n, tile.cluster);
    call_.config.tiles = kernels::min_of(i64{space_.tiles}, at_once);
    call_.config.cluster = tile.cluster;
  }
  static constexpr i64 terms = tile_at<0>::line_bytes / i64{sizeof(A)};  // of a step

  /// The map of `lines` lines of k terms of x, of which `rows` and a step are in boxes of so many
  /// blocks.
  tensor_map map_of(const kernels::gemm_arg<A>& x, bool along, i64 k, i64 lines, i64 rows,
                    i64 sharers) const {
    const i64 batches = x.batch[0] == 0 ? 1 : call_.space.batches;
    const i64 sizes[] = {batches, along ? lines : k, along ? k : lines};
    return box_map(x.data, sizes, x.batch[0], along ? x.line : x.along,
                   (along ? rows : terms) / sharers, terms);
  }
  template <class T>
  tensor_map box_map(T* data, const i64 (&sizes)[3], i64 batch, i64 line, i64 rows,
                     i64 columns) const {
    const i64 strides[] = {batch, line, 1}, box[] = {1, rows, columns};
    return tensor_map_of(stream_,
                         tensor_view<T, device>(data, int_list(sizes, 3), int_list(strides, 3)),
                         box, static_cast<box_swizzle>(columns / kernels::vec_size<T>));
  }

  /// Launches the plan's tile; `OfParts`: one that is split. False if the program's code for this
  /// device is for another target, which has no such kernels.
  template <bool OfParts, class To, class Bias, std::size_t... K>
  bool by_tile(const kernels::gemm_out<To, C>& out, const Bias& last, std::index_sequence<K...>) {
    const auto starts = [&]<std::size_t Tile>(std::integral_constant<std::size_t, Tile>) {
      if constexpr (OfParts ? tiles[Tile].cluster == 1 : !adds || !tiles[Tile].is_plain)
        return Tile == plan_.tile && start<tile_at<Tile>>(out, last);
      else
        return false;
    };
    return (starts(std::integral_constant<std::size_t, K>{}) || ...);
  }
  template <class Tile, class To, class Bias>
  bool start(const kernels::gemm_out<To, C>& out, const Bias& last) {
    using kernel = kernels::gemm_warp_groups<A, To, Bias, Tile, Sums>;
    call_.config.threads = Tile::threads;
    call_.config.scratch = Tile::scratch;
    tensor_map to = a_;  // unless it is used
    if constexpr (sizeof(To) == 2) {
      constexpr i64 per = kernels::takes_pairs<Bias> ? 2 : 1;
      const i64 sizes[] = {space_.batches, space_.m, space_.n / per};
      space_.stores_boxes = is_taken(out.data, out.column, out.row, out.batch[0]);
      if (space_.stores_boxes)
        to = box_map(out.data, sizes, out.batch[0], out.row, Tile::slab_rows, Tile::slab / per);
    } else {  // by pairs
      space_.stores_boxes = out.column == 1 && out.row % 2 == 0 && out.batch[0] % 2 == 0 &&
                            kernels::is_vec_aligned<2>(out.data);
    }
    if (most_threads<kernel>(stream_, call_.config, space_, a_, b_, to, out, last, how_) <
        Tile::threads)
      return false;
    launch<kernel>(stream_, call_.config, space_, a_, b_, to, out, last, how_);
    return true;
  }

  bool whole() {
    return with_chosen_bias<typename call_type::stored>(call_.finish(aux_), [&](const auto& last) {
      return by_tile<false>(call_.out, last, tile_indices{});
    });
  }
  /// The parts of all sums, and a second launch that adds them up.
  bool split() {
    const kernels::gemm_space& s = call_.space;
    const i64 results = s.m * s.n;
    auto partial = empty<C>(stream_, shape{plan_.parts * s.batches * results}, call_.config.op);
    const kernels::gemm_out<C, C> out{partial.data(), s.n, 1, {results}, C(1)};
    if (!by_tile<true>(out, kernels::no_bias{}, tile_indices{})) return false;
    call_.merge_parts(stream_, aux_, plan_.parts, partial.data());
    return true;
  }

  const S& stream_;
  call_type& call_;
  const Added& aux_;
  const Sums& how_;
  warp_group_plan plan_;
  kernels::warp_group_space space_{};
  tensor_map a_, b_;
};

}  // namespace flaggems::detail
