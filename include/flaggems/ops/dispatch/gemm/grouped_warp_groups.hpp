// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Grouped products with warp groups: whether kernel/family/gemm/simt/grouped_warp_groups.hpp takes
// one, and by which tile.
#pragma once

#include <flaggems/kernel/family/gemm/simt/grouped_warp_groups.hpp>
#include <flaggems/ops/dispatch/gemm/warp_groups.hpp>

#include <type_traits>

namespace flaggems::detail {

template <class Out>
struct grouped_call;

/// Groups of rows, multiplied as T; `a` lies along the sum, `b` along it or, of 16 bits, across.
template <class S, class T, class Out>
class grouped_warp_product {
 public:
  using device = device_of<S>;
  using numbers = tuning<families::gemm, device>;

  grouped_warp_product(const S& stream, grouped_call<Out>& call, launch_config& config)
      : stream_(stream), call_(call), config_(config) {}

  /// Runs the product; false, having written nothing, if it does not apply.
  bool run(bool b_across) {
    const kernels::coded_lines &a = call_.a, &b = call_.b;
    const kernels::grouped_space& space = call_.space;
    units_ = device::warp_group_units(ref(stream_).device_index());
    b_across_ = b_across;
    why_gathers_ = reason_to_gather();
    if (const char* why = reason_against()) {
      report_candidate<grouped_warp_product>(config_.op, device::name, 0, why);
      return false;
    }
    if constexpr (sizeof(T) == 2) {
      return space.n > numbers::grouped_warp_few_columns_tile.n
                 ? by_tile<numbers::grouped_warp_tile>(kernels::sums_of_unit{})
                 : by_tile<numbers::grouped_warp_few_columns_tile>(kernels::sums_of_unit{});
    } else {
      if (!a.scales_vary && !b.scales_vary)
        return by_tile<numbers::grouped_warp_step_tile>(kernels::sums_in_f32{});
      const auto first = [](const kernels::coded_lines& x) {
        return reinterpret_cast<const f32*>(x.scales.data);
      };
      return by_tile<numbers::grouped_warp_block_tile>(
          kernels::sums_of_blocks{first(a), first(b), a.scales.line, a.scales.term,
                                  b.lines_each == block_lines ? b.scales.line : i64{0},
                                  b.scales.term, a.scales.group, b.scales.group});
    }
  }

 private:
  static constexpr i64 box_rows = 64;  // limit: as kernels load them
  static constexpr i64 most = i64{1} << 30, most_stride = i64{1} << 38;
  static constexpr int block_lines = kernels::sums_of_blocks::lines;
  static constexpr i64 terms = 128 / i64{sizeof(T)};  // limit: of a step

  /// Why lines of a are copied, which are no boxes; null: they are.
  const char* reason_to_gather() const {
    const kernels::placed_rows& placed = call_.space.placed;
    if (!placed.reads_places && (placed.ids != nullptr || placed.share != 1))
      return "its rows lie in an order of their own";
    if (placed.count < call_.space.rows.places) return "it has places without rows";
    const kernels::coded_lines& a = call_.a;
    return a.line == 0 || a.line >= most_stride || a.group >= most_stride
               ? "its rows lie at strides that boxes do not have"
               : nullptr;
  }
  /// Why the product is none for warp groups; or null.
  const char* reason_against() const {
    const kernels::coded_lines &a = call_.a, &b = call_.b;
    const kernels::grouped_space& space = call_.space;
    const i64 apart = b_across_ ? b.along : b.line;
    if (units_ == 0) return "this device has no warp groups";
    if (!are_many()) return "its groups have few rows";
    if (space.n > most || apart <= 0 || apart >= most_stride ||
        (space.groups > 1 && (b.group <= 0 || b.group >= most_stride)) || a.line < 0 || a.group < 0)
      return "its sizes or strides are none for boxes";
    if (!a.scales_vary && !b.scales_vary) return nullptr;
    if (sizeof(T) == 2) return "its scales vary along the sum";
    return is_scaled_by_step(a) && is_scaled_by_step(b) && a.lines_each == 1 &&
                   (b.lines_each == block_lines || b.lines_each >= space.n)
               ? nullptr
               : "its scales are not of steps, a row and 128 columns each";  // limit
  }
  /// Whether groups have so many rows that mma.sync takes longer.
  bool are_many() const {
    const kernels::grouped_rows& rows = call_.space.rows;
    using kernels::grouping;
    const i64 least =
        why_gathers_ != nullptr ? numbers::gathered_warp_rows : numbers::grouped_warp_rows;
    if (rows.by == grouping::rows_in_blocks) return rows.block > least;
    return rows.places > (rows.by == grouping::terms_to_ends ? i64{1} : rows.groups) * least;
  }
  static bool is_scaled_by_step(const kernels::coded_lines& x) {
    return x.scales_vary && x.zeros_are == kernels::zero_kind::none && x.scales.data != nullptr &&
           x.scales.code == kernels::coding::f32 && x.terms_each == terms;
  }

  using column_numbers = kernels::column_numbers;
  /// What columns have in results.
  column_numbers of_columns() const {
    const kernels::coded_lines& b = call_.b;
    const bool has_scales =  // and more than one for each group
        b.scales.data != nullptr && !b.scales_vary && b.lines_each < call_.space.n;
    if (call_.out.bias.data == nullptr && !has_scales) return column_numbers::none;
    const bool are_plain = call_.out.bias.data == nullptr && b.lines_each == 1 &&
                           b.scales.code == kernels::coding::f32;
    return are_plain ? column_numbers::scales : column_numbers::any;
  }
  template <warp_group_numbers Numbers, class Sums>
  bool by_tile(const Sums& how) {
    const column_numbers columns = of_columns();
    if (columns == column_numbers::none) return by_tile<Numbers, Sums, column_numbers::none>(how);
    if constexpr (sizeof(T) == 1 && !std::is_same_v<Sums, kernels::sums_of_blocks>)
      if (columns == column_numbers::scales)
        return by_tile<Numbers, Sums, column_numbers::scales>(how);
    return by_tile<Numbers, Sums, column_numbers::any>(how);
  }
  template <warp_group_numbers Numbers, class Sums, column_numbers Columns>
  bool by_tile(const Sums& how) {
    if (why_gathers_ != nullptr) {
      report_candidate<kernel_of<Numbers, Sums, Columns, false, 1>>(config_.op, device::name, 0,
                                                                    why_gathers_);
      return by_tile<Numbers, Sums, Columns, true, 1>(how);
    }
    if constexpr (Numbers.cluster > 1)
      if (kernels::ceil_div(call_.space.n, i64{Numbers.n}) % Numbers.cluster == 0)
        return by_tile<Numbers, Sums, Columns, false, Numbers.cluster>(how);
    return by_tile<Numbers, Sums, Columns, false, 1>(how);
  }
  template <warp_group_numbers Numbers, int Cluster>
  using tile_of = kernels::warp_group_tile<Numbers.m, Numbers.n, Numbers.stages, Cluster, false>;
  template <warp_group_numbers Numbers, class Sums, column_numbers Columns, bool Gathers,
            int Cluster>
  using kernel_of =
      kernels::gemm_grouped_warp_groups<T, Out, tile_of<Numbers, Cluster>, Sums, Columns, Gathers>;
  template <warp_group_numbers Numbers, class Sums, column_numbers Columns, bool Gathers,
            int Cluster>
  bool by_tile(const Sums& how) {
    using tile = tile_of<Numbers, Cluster>;
    using kernel = kernel_of<Numbers, Sums, Columns, Gathers, Cluster>;
    kernels::grouped_space& all = call_.space;
    all.row_tiles = all.rows.tiles(tile::m);
    all.column_tiles = kernels::ceil_div(all.n, i64{tile::n} * tile::cluster);
    const i64 tiles = all.row_tiles * all.column_tiles;
    if (tiles > most) {
      report_candidate<kernel>(config_.op, device::name, 0, "it has too many tiles");
      return false;
    }
    const auto narrow = [](i64 x) { return static_cast<i32>(x); };
    constexpr i64 vector = kernels::vec_size<T>;
    kernels::grouped_warp_space<Gathers> space{};
    space.all = all;
    space.n = narrow(all.n);
    space.steps = narrow(kernels::ceil_div(all.k, terms));
    space.tiles = narrow(tiles);
    space.b_across = b_across_;
    space.a_batched = call_.a.group > 0 && all.groups > 1 ? 1 : 0;
    space.vectors = static_cast<u32>(all.k / vector);
    space.a = reinterpret_cast<const kernels::vec<u32, 4>*>(call_.a.data);
    space.a_group = call_.a.group / vector;
    space.a_line = call_.a.line / vector;
    space.reads_contiguous = Columns != column_numbers::scales || call_.b.scales.line == 1;
    space.stores_vectors = sizeof(Out) == 2 && call_.out.column == 1 &&
                           (call_.out.row | call_.out.group) % 4 == 0 &&
                           kernels::is_vec_aligned<4>(static_cast<const Out*>(call_.out.data));
    const tensor_map b_boxes = map_of_b(tile::n);
    const tensor_map a_boxes =
        Gathers ? b_boxes : map_of_a(space.a_batched != 0, box_rows / tile::cluster);
    config_.tiles = kernels::min_of(tiles, units_ / tile::cluster);
    config_.cluster = tile::cluster;
    config_.threads = tile::threads;
    config_.scratch = tile::scratch;
    const auto given = [&](const auto& f) {
      return f(stream_, config_, space, a_boxes, b_boxes, call_.a, call_.b, call_.out, how);
    };
    if (given([](const auto&... x) { return most_threads<kernel>(x...); }) < tile::threads) {
      config_.cluster = 1;
      report_candidate<kernel>(config_.op, device::name, 0, "its code is for another target");
      return false;
    }
    given([](const auto&... x) { launch<kernel>(x...); });
    return true;
  }
  /// Of lines that are rows; behind a group's last one those of the next group come along.
  tensor_map map_of_a(bool batched, i64 rows) const {
    const kernels::coded_lines& a = call_.a;
    const i64 sizes[] = {batched ? call_.space.groups : i64{1}, call_.space.rows.places,
                         call_.space.k};
    return map_of(a, sizes, a.group, a.line, rows);
  }
  tensor_map map_of_b(i64 columns) const {
    const kernels::coded_lines& b = call_.b;
    const i64 n = call_.space.n, k = call_.space.k, groups = call_.space.groups;
    const bool across = b_across_;
    const i64 sizes[] = {groups, across ? k : n, across ? n : k};
    return map_of(b, sizes, b.group, across ? b.along : b.line, across ? terms : columns);
  }
  tensor_map map_of(const kernels::coded_lines& x, const i64 (&sizes)[3], i64 group, i64 line,
                    i64 rows) const {
    const i64 strides[] = {sizes[0] > 1 ? group : i64{0}, line, 1}, box[] = {1, rows, terms};
    return tensor_map_of(stream_,
                         tensor_view<const T, device>(reinterpret_cast<const T*>(x.data),
                                                      int_list(sizes, 3), int_list(strides, 3)),
                         box, box_swizzle::pieces_8);
  }

  const S& stream_;
  grouped_call<Out>& call_;
  launch_config& config_;
  i64 units_ = 0;
  bool b_across_ = false;
  const char* why_gathers_ = nullptr;
};

}  // namespace flaggems::detail
