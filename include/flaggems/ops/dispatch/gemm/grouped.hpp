// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Grouped products: on matrix units where they take the operands, else by the portable kernel; on
// the host, groups of plain matrices one by one.
#pragma once

#include <flaggems/kernel/family/gemm/grouped.hpp>
#include <flaggems/kernel/family/gemm/simt/grouped_tiles.hpp>
#include <flaggems/ops/dispatch/gemm/call.hpp>
#include <flaggems/ops/dispatch/gemm/grouped_warp_groups.hpp>
#include <flaggems/tensor/any_view.hpp>

#include <type_traits>

namespace flaggems::detail {

/// How kernels read numbers of a dtype; coding::u8 for what they do not take as numbers.
constexpr kernels::coding coding_of(dtype type) {
  using kernels::coding;
  switch (type) {
    case dtype::f32: return coding::f32;
    case dtype::bf16: return coding::bf16;
    case dtype::f16: return coding::f16;
    case dtype::f8e4m3: return coding::f8e4m3;
    case dtype::f8e5m2: return coding::f8e5m2;
    case dtype::i8: return coding::i8;
    default: return coding::u8;
  }
}

/// One grouped product of Out: its sizes, operands and result as kernels take them. `terms_each`
/// and `lines_each` of the operands are not 0.
template <class Out>
struct grouped_call {
  kernels::grouped_space space{};
  kernels::coded_lines a{}, b{};
  kernels::grouped_out<Out> out{};

  /// Lines of an operand that has no codes, of strides in elements.
  static kernels::coded_lines lines_of(const void* data, kernels::coding code, i64 group, i64 line,
                                       i64 along) {
    kernels::coded_lines x{};
    x.data = static_cast<const u8*>(data);
    x.code = code;
    x.group = group;
    x.line = line;
    x.along = along;
    x.lines_each = x.terms_each = 1;
    return x;
  }
};

template <class S, class Out>
class grouped_product {
 public:
  using device = device_of<S>;
  using numbers = tuning<families::gemm, device>;
  using call_type = grouped_call<Out>;

  grouped_product(const char* op, const S& stream, call_type& call)
      : stream_(stream), call_(call), space_(call.space) {
    config_.op = op;
    const i64 groups =
        space_.rows.by == kernels::grouping::terms_to_ends && space_.rows.ends == nullptr
            ? space_.rows.groups
            : i64{1};
    config_.work = work_of(2, groups * space_.rows.places, space_.n, space_.k);
  }
  void run() {
    if (space_.rows.places == 0 || space_.n == 0 || on_matrix_units()) return;
    using kernel = kernels::gemm_grouped<Out, numbers::grouped_rows, numbers::grouped_columns,
                                         numbers::grouped_depth>;
    config_.threads = numbers::grouped_columns;
    config_.scratch = scratch_bytes<f32>(kernel::box_a) + scratch_bytes<f32>(kernel::box_b) +
                      scratch_bytes<f32>(numbers::grouped_rows * kernel::pitch);
    start<kernel>(numbers::grouped_rows, numbers::grouped_columns);
  }
  /// The product on matrix units; false, having written nothing, if they do not take it.
  bool on_matrix_units() {
    if constexpr (!has_units) {
      return false;
    } else {
      if (!has_matrix_units(stream_)) {
        report_candidate<unit<Out>>(config_.op, device::name, 0,
                                    "this device has no such matrix units");
        return false;
      }
      if (!are_groups_of_rows() || space_.k == 0 || space_.k >= most_terms) return false;
      return of_bytes<f8e4m3>() || of_bytes<i8>() || of_halves();
    }
  }

 private:
  template <class T>
  using unit = matrix_unit_of<device, T>;
  using weights = kernels::grouped_weights;
  static constexpr bool has_halves =
      (std::is_same_v<Out, bf16> || std::is_same_v<Out, f16>)&&has_matrix_unit_type<S, Out>;
  static constexpr bool has_units =
      has_halves || has_matrix_unit_type<S, f8e4m3> || has_matrix_unit_type<S, i8>;
  static constexpr i64 width = 8;                  // elements of a vector of 16 bytes
  static constexpr i64 most_terms = i64{1} << 30;  // which the kernel counts in 32 bits

  template <class Kernel>
  void start(i64 rows, i64 columns) {
    for (kernels::coded_lines* x : {&call_.a, &call_.b}) x->is_whole = is_whole(*x);
    space_.row_tiles = space_.rows.tiles(rows);
    space_.column_tiles = kernels::ceil_div(space_.n, columns);
    config_.tiles = space_.row_tiles * space_.column_tiles;
    launch<Kernel>(stream_, config_, space_, call_.a, call_.b, call_.out);
  }

  /// Whether each 8 terms are a vector of as many bytes as kernels read at once.
  static bool is_whole(const kernels::coded_lines& x) {
    const int bytes = kernels::bytes_of(x.code);
    return bytes > 0 && x.along == 1 && (x.line | x.group) % width == 0 &&
           reinterpret_cast<u64>(x.data) % static_cast<u64>(kernels::min_of(8 * bytes, 16)) == 0;
  }
  /// Whether lines are vectors of T along the sum.
  template <class T>
  static bool is_plain(const kernels::coded_lines& x) {
    constexpr i64 vector = kernels::vec_size<T>;
    return x.code == coding_of(dtype_of<T>) && x.along == 1 && (x.line | x.group) % vector == 0 &&
           kernels::is_vec_aligned<vector>(reinterpret_cast<const T*>(x.data));
  }
  bool lies_across() const {
    const kernels::coded_lines& x = call_.b;
    return x.code == coding_of(dtype_of<Out>) && x.line == 1 &&
           (x.along | x.group | space_.n) % width == 0 && x.along >= 0 &&
           kernels::is_vec_aligned<8>(reinterpret_cast<const Out*>(x.data));
  }
  /// Whether Out holds what is read of the first operand.
  static bool is_exact(const kernels::coded_lines& x) {
    using kernels::coding;
    return !x.scales_vary &&
           (x.code == coding_of(dtype_of<Out>) || x.code == coding::f8e4m3 ||
            x.code == coding::i8 || (x.code == coding::f8e5m2 && std::is_same_v<Out, bf16>));
  }
  bool are_groups_of_rows() const {
    return space_.rows.by != kernels::grouping::terms_to_ends || space_.rows.ends == nullptr;
  }
  /// Whether groups have few rows.
  bool are_few() const {
    const kernels::grouped_rows& rows = space_.rows;
    using kernels::grouping;
    const i64 least = numbers::few_of_group.rows;
    if (rows.by == grouping::rows_in_blocks) return rows.block <= least;
    return rows.places <= (rows.by == grouping::terms_to_ends ? i64{1} : rows.groups) * least;
  }

  /// The product of 16 bits, of operands that are or become such.
  bool of_halves() {
    if constexpr (has_halves) {
      if (space_.k % width != 0 || call_.b.code == kernels::coding::f32 || !is_exact(call_.a))
        return false;
      if (is_plain<Out>(call_.a) && (is_plain<Out>(call_.b) || lies_across()) &&
          by_warp_groups<Out>(!is_plain<Out>(call_.b)))
        return true;
      if (are_few())
        with_operands<0>();
      else
        with_operands<1>();
      return true;
    } else {
      return false;
    }
  }
  /// The product by warp groups, which have larger tiles.
  template <class T>
  bool by_warp_groups(bool b_across) {
    if constexpr (multiplies_by_warp_groups<S, T, T> && is_among<Out, bf16, f16, f32>)
      return grouped_warp_product<S, T, Out>(stream_, call_, config_).run(b_across);
    else
      return false;
  }
  template <int IsMany>
  void with_operands() {
    using kernels::grouped_forms;
    if (!is_plain<Out>(call_.a) || call_.a.scales_vary)
      by_tiles<Out, IsMany, grouped_forms<true, weights::coded, false>>();
    else if (is_plain<Out>(call_.b) && !call_.b.scales_vary)
      by_tiles<Out, IsMany, grouped_forms<false, weights::along, false>>();
    else if (lies_across() && !call_.b.scales_vary)
      by_tiles<Out, IsMany, grouped_forms<false, weights::across, false>>();
    else
      by_tiles<Out, IsMany, grouped_forms<false, weights::coded, false>>();
  }

  /// The product of two operands of T, which units multiply as they are: with scales of lines, or
  /// with such as are the same for whole steps and columns of a tile.
  template <class T>
  bool of_bytes() {
    if constexpr (has_matrix_unit_type<S, T>) {
      if (!is_plain<T>(call_.a) || !is_plain<T>(call_.b) ||
          space_.k % i64{kernels::vec_size<T>} != 0)
        return false;
      if constexpr (std::is_same_v<T, f8e4m3>)
        if (by_warp_groups<T>(false)) return true;
      return are_few() ? of_bytes<T, 0>() : of_bytes<T, 1>();
    } else {
      return false;
    }
  }
  template <class T, int IsMany>
  bool of_bytes() {
    using kernels::grouped_forms;
    const kernels::coded_lines &a = call_.a, &b = call_.b;
    constexpr i64 exact_terms = i64{1} << 17;  // limit: whose products of i8 fit in 32 bits
    if (!a.scales_vary && !b.scales_vary && (std::is_same_v<T, f8e4m3> || space_.k < exact_terms))
      return by_tiles<T, IsMany, grouped_forms<false, weights::along, false>>(), true;
    constexpr gemm_tile t = tile_of<IsMany>;
    const auto by_steps = [](const kernels::coded_lines& x) {
      return x.scales_vary && x.zeros_are == kernels::zero_kind::none && x.scales.data != nullptr &&
             x.scales.code == kernels::coding::f32 && x.terms_each % (2 * t.depth) == 0;
    };
    if (!by_steps(a) || !by_steps(b) ||
        (b.lines_each % t.columns != 0 && i64{b.lines_each} < space_.n))
      return false;
    return by_tiles<T, IsMany, grouped_forms<false, weights::along, true>>(), true;
  }

  template <int IsMany>
  static constexpr gemm_tile tile_of = IsMany != 0 ? numbers::many_of_group : numbers::few_of_group;
  template <class T, int IsMany, class Forms>
  void by_tiles() {
    constexpr gemm_tile t = tile_of<IsMany>;
    using tile = kernels::mma_tile<t.rows, t.columns, t.depth, t.stages, t.warp_rows,
                                   t.warp_columns, t.blocks, unit<T>::lanes>;
    using kernel = kernels::gemm_grouped_tiles<T, Out, tile, unit<T>, Forms>;
    config_.threads = tile::threads;
    config_.scratch = scratch_bytes<typename kernel::words>(kernel::vectors);
    start<kernel>(t.rows, t.columns);
  }

  const S& stream_;
  call_type& call_;
  kernels::grouped_space& space_;
  launch_config config_{};
};

/// Runs a grouped product on matrix units; false, having written nothing, if these do not take it.
template <class S, class Out>
bool multiply_groups_on_units(const char* op, const S& stream, grouped_call<Out>& call) {
  return grouped_product<S, Out>(op, stream, call).on_matrix_units();
}
/// Runs a grouped product.
template <class S, class Out>
void multiply_groups(const char* op, const S& stream, grouped_call<Out>& call) {
  grouped_product<S, Out>(op, stream, call).run();
}

/// Calls f(group, begin, end) for the ranges up to ends[group] where the host runs kernels itself;
/// false, having done nothing, elsewhere. Raises out_of_range for ends that fall, or beyond `size`,
/// before f is called.
template <class S, class F>
bool for_each_group(const char* op, const S&, const i32* ends, i64 groups, i64 size, const F& f) {
  if constexpr (!has_thread_pool<device_of<S>>) {
    return false;
  } else {
    i64 begin = 0;
    for (i64 g = 0; g < groups; begin = ends[g++])
      if (ends[g] < begin || ends[g] > size) [[unlikely]]
        raise(errc::out_of_range, op, "offsets that rise, of at most " + text(size),
              text(i64{ends[g]}) + " behind " + text(begin));
    begin = 0;
    for (i64 g = 0; g < groups; begin = ends[g++]) f(g, begin, i64{ends[g]});
    f(groups, begin, size);
    return true;
  }
}

}  // namespace flaggems::detail
