// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of attention on SIMT devices with warp groups: whether
// kernel/family/attention/simt/warp_group_gradients.hpp takes them, and by which tiles.
#pragma once

#include <flaggems/kernel/family/attention/simt/warp_group_gradients.hpp>
#include <flaggems/ops/dispatch/attention/attention.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace flaggems::detail {

/// The operands of the gradients of attention.
template <class T, class C>
struct attention_gradient_args {
  kernels::attention_arg<const T> q, k, v, grad_out, out;
  kernels::attention_arg<const C> logs, dots;  // dots: the strides alone
  kernels::attention_arg<T> grad_q, grad_k, grad_v;
  C scale;
};

/// Device types some of whose devices have warp groups, and a list of tiles for gradients by them.
template <class Device>
concept differentiates_by_warp_groups = requires {
  Device::warp_group_units(0);
  tuning<families::attention, Device>::warp_group_gradient_tiles;
};

/// The rows of a problem of gradients as batches of one length: of sequences those of all.
inline kernels::attention_space rows_of(const kernels::attention_gradient_problem& x) { return x; }
inline kernels::attention_space rows_of(const kernels::sequence_gradient_problem& x) {
  kernels::attention_space r{};
  r.rank = 2;
  r.sizes[0] = 1;
  r.sizes[1] = r.batches = x.key_heads;
  r.group = x.group;
  r.queries = x.total_queries;
  r.keys = x.total_keys;
  r.head_size = x.head_size;
  r.value_size = x.value_size;
  r.diagonal = x.total_keys;
  return r;
}
/// Whether positions do not see all keys before their own.
inline bool has_window(const kernels::attention_gradient_problem& x) { return x.left < x.queries; }
inline bool has_window(const kernels::sequence_gradient_problem& x) { return x.left >= 0; }

/// Gradients in T (bf16 or f16) without a mask, of one length or of sequences; with windows if
/// HasWindows.
template <class S, class T, class Problem, bool HasWindows>
class warp_group_gradients {
 public:
  using device = device_of<S>;
  using numbers = tuning<families::attention, device>;

  warp_group_gradients(const S& stream, const Problem& problem,
                       const attention_gradient_args<T, f32>& x)
      : stream_(stream),
        problem_(problem),
        space_(rows_of(problem)),
        scale_(x.scale),
        q_(decode_operand(x.q, space_.rank)),
        k_(decode_operand(x.k, space_.rank)),
        v_(decode_operand(x.v, space_.rank)),
        grad_out_(decode_operand(x.grad_out, space_.rank)),
        out_(decode_operand(x.out, space_.rank)),
        logs_(decode_operand(x.logs, space_.rank)),
        grad_q_(decode_operand(x.grad_q, space_.rank)),
        grad_k_(decode_operand(x.grad_k, space_.rank)),
        grad_v_(decode_operand(x.grad_v, space_.rank)),
        is_narrow_(are_narrow_strides(x.q, x.k, x.v, x.grad_out, x.out, x.logs, x.grad_q, x.grad_k,
                                      x.grad_v)) {}

  /// Runs it; false, having written nothing, if it does not apply.
  bool run(const char* op) const {
    const i64 units = device::warp_group_units(ref(stream_).device_index());
    if (units == 0 || !is_narrow_ || space_.rank > 2 || space_.queries == 0 || space_.keys == 0 ||
        space_.head_size == 0 || space_.value_size == 0 || space_.batches == 0 ||
        !is_mapped(q_, space_.group, space_.queries, space_.head_size) ||
        !is_mapped(grad_out_, space_.group, space_.queries, space_.value_size) ||
        !is_mapped(k_, 1, space_.keys, space_.head_size) ||
        !is_mapped(v_, 1, space_.keys, space_.value_size) ||
        !are_vec_aligned<width>(out_, space_.value_size))
      return false;
    const i64 size = kernels::max_of(space_.head_size, space_.value_size);
    return by_tiles(op, size, units, std::make_index_sequence<std::size(tiles)>{});
  }

 private:
  static constexpr bool of_sequences = std::is_same_v<Problem, kernels::sequence_gradient_problem>;
  static constexpr const auto& tiles = numbers::warp_group_gradient_tiles;
  static constexpr int width = kernels::vec_size<T>;
  /// Limits of 32-bit counts, and of strides of a map.
  static constexpr i64 most = i64{1} << 28, most_stride = i64{1} << 38;

  static i32 narrow(i64 x) { return static_cast<i32>(x); }
  /// A number of keys next to a position's own, which may be larger than there are any.
  static i32 narrow_distance(i64 keys) {
    return narrow(kernels::max_of(-2 * most, kernels::min_of(keys, 2 * most)));
  }

  template <class... Args>
  static bool are_narrow_strides(const Args&... x) {
    const auto is_narrow = [](i64 stride) { return stride == static_cast<i32>(stride); };
    return ((is_narrow(x.head) && is_narrow(x.position) && is_narrow(x.element)) && ...);
  }
  i64 outer() const { return space_.rank > 1 ? space_.sizes[0] : 1; }
  i64 inner() const { return space_.rank > 0 ? space_.sizes[space_.rank - 1] : 1; }
  /// Whether the copy engine takes an operand.
  bool is_mapped(const kernels::decode_arg<const T>& x, i64 heads, i64 positions, i64 size) const {
    const auto is_stride = [](i64 stride, i64 n) {
      return n == 1 || (stride > 0 && stride < most_stride);
    };
    return are_vec_aligned<width>(x, size) && is_stride(x.outer, outer()) &&
           is_stride(x.inner, inner()) && is_stride(x.head, heads) &&
           is_stride(x.position, positions);
  }
  /// The map of an operand by boxes of so many positions.
  tensor_map map_of(const kernels::decode_arg<const T>& x, i64 heads, i64 positions, i64 size,
                    i64 box) const {
    const i64 sizes[] = {outer(), inner(), heads, positions, size};
    i64 strides[] = {x.outer, x.inner, x.head, x.position, 1};
    for (int d = 0; d < 4; ++d)
      if (sizes[d] == 1) strides[d] = width;  // any
    const i64 boxes[] = {1, 1, 1, box, kernels::prefill_elements};
    return tensor_map_of(
        stream_, tensor_view<const T, device>(x.data, int_list(sizes, 5), int_list(strides, 5)),
        boxes, box_swizzle::pieces_8);
  }
  tensor_map map_of_queries(const kernels::decode_arg<const T>& x, i64 size, i64 box) const {
    return map_of(x, space_.group, space_.queries, size, box);
  }
  tensor_map map_of_keys(const kernels::decode_arg<const T>& x, i64 size, i64 box) const {
    return map_of(x, 1, space_.keys, size, box);
  }

  template <std::size_t... K>
  bool by_tiles(const char* op, i64 size, i64 units, std::index_sequence<K...>) const {
    return ((size <= tiles[K].size && start<K>(op, units)) || ...);
  }

  /// The problem of a pass over rows of so many tiles.
  kernels::attention_gradient_space space_of(i64 row_tiles, bool of_keys, i64 padded) const {
    const i64 sharers = of_keys ? 1 : space_.group;
    kernels::attention_gradient_space x{};
    x.queries = narrow(space_.queries);
    x.keys = narrow(space_.keys);
    x.head_size = narrow(space_.head_size);
    x.value_size = narrow(space_.value_size);
    x.diagonal = narrow_distance(space_.diagonal);
    x.group = narrow(space_.group);
    x.scale = scale_;
    x.heads = divider_by(inner());
    x.sharers = divider_by(sharers);
    // As many batches at once as a cache holds others of, and as many each time.
    const i64 batches = space_.batches * sharers;
    const i64 others = of_keys ? space_.group * space_.queries : space_.keys;
    const i64 bytes = others * (space_.head_size + space_.value_size) * i64{sizeof(T)};
    const auto [turns, at_once] = attention_turns(batches, bytes, numbers::gradient_bytes, 2);
    x.at_once = divider_by(at_once);
    x.tiles_at_once = divider_by(row_tiles * at_once);
    x.row_tiles = static_cast<u32>(row_tiles);
    x.batches = static_cast<u32>(batches);
    x.tiles = static_cast<u32>(turns * row_tiles * at_once);
    x.turns = static_cast<u32>(turns);
    x.padded = divider_by(padded);
    x.sums = static_cast<u32>(padded * space_.batches * space_.group);
    return x;
  }

  /// f(space) with what sequences and windows add to the problem of a pass.
  template <class F>
  bool with_space(const kernels::attention_gradient_space& space,
                  const kernels::sequence_tile_plan* plan, const F& f) const {
    if constexpr (of_sequences) {
      kernels::sequence_gradient_space many{};
      static_cast<kernels::attention_gradient_space&>(many) = space;
      many.right = problem_.right < 0 ? -1 : narrow_distance(problem_.right);
      many.plan = plan;
      return with_window(many, f);
    } else {
      return with_window(space, f);
    }
  }
  template <class Space, class F>
  bool with_window(const Space& space, const F& f) const {
    if constexpr (HasWindows)
      if (has_window(problem_)) {
        kernels::windowed_gradients<Space> windowed{};
        static_cast<Space&>(windowed) = space;
        windowed.left = narrow_distance(problem_.left);
        return f(windowed);
      }
    return f(space);
  }
  /// How many tiles of so many rows there are: each sequence begins one.
  i64 row_tiles(i64 rows, i64 each) const {
    if constexpr (of_sequences)
      return rows / each + problem_.count;
    else
      return kernels::ceil_div(rows, each);
  }
  /// Plans the tiles of sequences.
  template <bool OfKeys>
  void make_plan(const char* op, i64 positions, i64 count,
                 kernels::sequence_tile_plan* plan) const {
    using planning = kernels::sequence_tile_planning<OfKeys>;
    launch_config config;
    config.op = op;
    config.threads = planning::max_threads;
    config.tiles = kernels::ceil_div(count, i64{config.threads});
    const kernels::sequence_space& sequences = problem_;
    launch<planning>(stream_, config, sequences, narrow(positions), narrow(count), plan);
  }

  template <std::size_t K>
  bool start(const char* op, i64 units) const {
    using kernels::attention_side;
    constexpr attention_gradient_numbers tile = tiles[K];
    using of_queries = kernels::attention_gradient_tile<attention_side::queries, tile.size,
                                                        tile.keys, tile.consumers, tile.key_stages>;
    using of_keys = kernels::attention_gradient_tile<attention_side::keys, tile.size, tile.queries,
                                                     tile.consumers, tile.query_stages>;
    using sums_kernel = kernels::attention_gradient_sums<T>;
    const i64 padded = kernels::round_up(space_.queries, i64{of_queries::m});
    if (padded > most || space_.keys > most || space_.group > most || space_.batches > most ||
        padded * space_.group > most ||
        (padded + space_.keys) * space_.group * space_.batches > most)
      return false;
    const i64 query_tiles = row_tiles(space_.queries, of_queries::m),
              key_tiles = row_tiles(space_.keys, of_keys::m);
    if (kernels::max_of(query_tiles, key_tiles) > most / (space_.group * space_.batches))
      return false;
    auto queries = space_of(query_tiles, false, padded);
    auto keys = space_of(key_tiles, true, padded);
    queries.is_grad_aligned = are_vec_aligned<width>(grad_q_, space_.head_size);
    keys.is_grad_aligned = are_vec_aligned<width>(grad_k_, space_.head_size);
    keys.is_grad_value_aligned = are_vec_aligned<width>(grad_v_, space_.value_size);
    const i64 all = i64{queries.sums};
    auto sums = empty<f32>(stream_, shape{2, all}, op);
    const i64 rows = all / padded;
    const i64 sizes[] = {2, rows, padded}, strides[] = {all, padded, 1},
              boxes[] = {2, 1, of_sequences ? tile.queries + 4 : tile.queries};
    const tensor_map of_sums = tensor_map_of(
        stream_,
        tensor_view<const f32, device>(sums.data(), int_list(sizes, 3), int_list(strides, 3)),
        boxes, box_swizzle::none);

    launch_config config;
    config.op = op;
    config.threads = of_queries::threads;
    const tensor_map q_rows = map_of_queries(q_, space_.head_size, of_queries::m),
                     grad_rows = map_of_queries(grad_out_, space_.value_size, of_queries::m),
                     k_others = map_of_keys(k_, space_.head_size, of_queries::n),
                     v_others = map_of_keys(v_, space_.value_size, of_queries::n),
                     k_rows = map_of_keys(k_, space_.head_size, of_keys::m),
                     v_rows = map_of_keys(v_, space_.value_size, of_keys::m),
                     q_others = map_of_queries(q_, space_.head_size, of_keys::n),
                     grad_others = map_of_queries(grad_out_, space_.value_size, of_keys::n);
    const kernels::decode_arg<T> none{};
    const f32* const found = sums.data();
    using kernels::sequence_tile_plan;
    auto plans = empty<i32>(stream_,
                            shape{of_sequences ? query_tiles + key_tiles : 0,
                                  i64{sizeof(sequence_tile_plan) / sizeof(i32)}},
                            op);
    auto* const of_query_tiles = reinterpret_cast<sequence_tile_plan*>(plans.data());
    auto* const of_key_tiles = of_sequences ? of_query_tiles + query_tiles : nullptr;
    const auto pass = [&]<class Tile>(std::type_identity<Tile>, const auto& run) {
      using kernel = kernels::attention_warp_gradients<T, Tile>;
      config.scratch = kernel::most_scratch;
      if constexpr (Tile::side == attention_side::queries)
        return with_space(queries, of_query_tiles, [&](const auto& space) {
          return run.template operator()<kernel>(space, q_rows, grad_rows, k_others, v_others,
                                                 of_sums, found, grad_q_, none);
        });
      else
        return with_space(keys, of_key_tiles, [&](const auto& space) {
          return run.template operator()<kernel>(space, k_rows, v_rows, q_others, grad_others,
                                                 of_sums, found, grad_k_, grad_v_);
        });
    };
    const auto has_threads = [&]<class Kernel>(const auto&... args) {
      return most_threads<Kernel>(stream_, config, args...) >= Kernel::max_threads;
    };
    if (!pass(std::type_identity<of_queries>{}, has_threads) ||
        !pass(std::type_identity<of_keys>{}, has_threads))
      return false;
    launch_config first = config;
    first.threads = sums_kernel::max_threads;
    first.tiles = kernels::ceil_div(all, i64{sums_kernel::rows});
    first.scratch = 0;
    launch<sums_kernel>(stream_, first, queries, grad_out_, out_, logs_, sums.data());
    if constexpr (of_sequences) {
      make_plan<false>(op, of_queries::m, query_tiles, of_query_tiles);
      make_plan<true>(op, of_keys::m, key_tiles, of_key_tiles);
    }
    const auto starts = [&]<class Kernel>(const auto& space, const auto&... args) {
      config.tiles = kernels::min_of(i64{space.tiles}, units);
      launch<Kernel>(stream_, config, space, args...);
      return true;
    };
    return pass(std::type_identity<of_keys>{}, starts) &&
           pass(std::type_identity<of_queries>{}, starts);
  }

  const S& stream_;
  const Problem& problem_;
  kernels::attention_space space_;
  f32 scale_;
  kernels::decode_arg<const T> q_, k_, v_, grad_out_, out_;
  kernels::decode_arg<const f32> logs_;
  kernels::decode_arg<T> grad_q_, grad_k_, grad_v_;
  bool is_narrow_;
};

}  // namespace flaggems::detail
