// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of many queries on SIMT devices with warp groups: whether
// kernel/family/attention/simt/warp_groups.hpp takes it, and by which tile.
#pragma once

#include <flaggems/kernel/family/attention/attention.hpp>
#include <flaggems/kernel/family/attention/sequences.hpp>
#include <flaggems/kernel/family/attention/simt/warp_groups.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tensor_map.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/steps.hpp>
#include <flaggems/tensor/view.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace flaggems::detail {

/// Limits of 32-bit counts, and of strides of a map.
inline constexpr i64 most_of_warp_groups = i64{1} << 28, most_map_stride = i64{1} << 38;

/// Whether the lines of an operand are aligned to vectors of `width` elements.
template <int width, class T>
bool are_vec_aligned(const kernels::decode_arg<T>& x, i64 size) {
  return x.element == 1 && kernels::is_vec_aligned<width>(x.data) &&
         ((size | x.outer | x.inner | x.head | x.position) & (width - 1)) == 0;
}

/// Device types some of whose devices have warp groups, and a list of tiles for attention by them.
template <class Device>
concept attends_by_warp_groups = requires {
  Device::warp_group_units(0);
  tuning<families::attention, Device>::warp_group_tiles;
};

/// The elements of a mask.
template <class Mask>
struct mask_elements {
  using type = bool;  // of none
};
template <class M>
struct mask_elements<kernels::decode_mask<M>> {
  using type = M;
};
template <class Mask>
using element_of_mask = typename mask_elements<Mask>::type;

/// The slopes alone of a mask that has a flash_rule.
inline kernels::decode_rule<alibi> slopes_of(const kernels::decode_rule<flash_rule>& mask) {
  const kernels::decode_arg<const bool>& arg = mask;
  return {arg, mask.rule.slopes};
}
inline kernels::sequence_slopes slopes_of(const kernels::sequence_rule& mask) {
  return {mask.rule.slopes, mask.group, mask.sequence_step};
}

/// f(scores) of what a mask with a rule does within its window: no_mask if nothing. False if that
/// is too much for a kernel whose instructions are all repeated for each score of a thread.
template <class Mask, class F>
bool with_scores(const Mask& mask, const F& f) {
  using rule = std::remove_cvref_t<decltype(mask.rule)>;
  if constexpr (std::is_same_v<rule, attention_window>) {
    return f(kernels::no_mask{});
  } else if constexpr (std::is_same_v<rule, soft_cap>) {
    return f(kernels::capped_scores(mask.rule));
  } else if constexpr (std::is_same_v<rule, flash_rule>) {
    const bool is_capped = mask.rule.cap.limit > 0, has_slopes = mask.rule.slopes.slopes != nullptr;
    if (is_capped && has_slopes) return false;
    if (is_capped) return f(kernels::capped_scores(mask.rule.cap));
    return has_slopes ? f(slopes_of(mask)) : f(kernels::no_mask{});
  } else {
    return f(mask);
  }
}
/// f(space, scores) of a problem whose scores have a rule: with the window that it has.
template <class Space, class Mask, class F>
bool with_rule(Space space, const Mask& mask, const F& f) {
  const attention_window window = window_of(mask.rule);
  const auto limited = [](i64 keys) {
    constexpr i64 most = 2 * most_of_warp_groups;
    return static_cast<i32>(kernels::max_of(-most, kernels::min_of(keys, most)));
  };
  if (window.right >= 0)
    space.diagonal = kernels::min_of(space.diagonal, limited(i64{window.shift} + window.right));
  kernels::windowed_space<Space> windowed{};
  static_cast<Space&>(windowed) = space;
  windowed.left = limited(i64{window.left} - window.shift);
  return with_scores(mask, [&](const auto& scores) {
    return window.left < 0 ? f(space, scores) : f(windowed, scores);
  });
}

/// The tile of a list for heads of up to `size` elements and so many keys: the last one that is
/// listed for fewer. As many as there are if none is.
template <std::size_t Count>
[[nodiscard]] constexpr std::size_t attention_tile_of(const attention_warp_numbers (&tiles)[Count],
                                                      i64 size, i64 keys, bool is_causal,
                                                      bool is_masked) {
  std::size_t found = Count;
  for (std::size_t t = 0; t < Count; ++t) {
    const attention_warp_numbers& tile = tiles[t];
    if (size > tile.size || is_masked != tile.is_masked ||
        keys < (is_causal ? tile.least_causal_keys : tile.least_keys))
      continue;
    if (found == Count || tile.size == tiles[found].size) found = t;
  }
  return found;
}

/// The first tile of a list with fewer rows than tile `of` for the same heads; that one if none is.
template <std::size_t Count>
[[nodiscard]] constexpr std::size_t attention_tile_of_fewer_rows(
    const attention_warp_numbers (&tiles)[Count], std::size_t of) {
  for (std::size_t t = 0; of < Count && t < Count; ++t)
    if (tiles[t].size == tiles[of].size && tiles[t].is_masked == tiles[of].is_masked &&
        tiles[t].consumers < tiles[of].consumers)
      return t;
  return of;
}

/// The result of start<Tile>(least_tiles) for the chosen tile of a device's list; false if there is
/// no such tile.
template <class Device, bool is_masked, class Start>
bool by_attention_tile(std::size_t chosen, const Start& start) {
  static constexpr const auto& tiles = tuning<families::attention, Device>::warp_group_tiles;
  const auto starts = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
    constexpr attention_warp_numbers numbers = tiles[K];
    if constexpr (numbers.is_masked == is_masked) {
      using tile = kernels::attention_warp_tile<numbers.size, numbers.keys, numbers.consumers,
                                                numbers.stages, numbers.streams>;
      return K == chosen && start.template operator()<tile>(numbers.least_tiles);
    } else {
      return false;
    }
  };
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return (starts(std::integral_constant<std::size_t, K>{}) || ...);
  }
  (std::make_index_sequence<std::size(tiles)>{});
}

/// Whether the copy engine takes such a stride of a dimension.
constexpr bool is_map_stride(i64 stride, i64 size) {
  return size == 1 || (stride > 0 && stride < most_map_stride);
}

/// The map of data of such sizes and strides, by boxes with lines of so many bytes. What has size
/// 1 may have any stride.
template <class S, class E, std::size_t Rank>
tensor_map attention_map(const S& stream, const E* data, const i64 (&sizes)[Rank],
                         const i64 (&strides)[Rank], const i64 (&box)[Rank], i64 line) {
  i64 taken[Rank];
  for (std::size_t d = 0; d < Rank; ++d)
    taken[d] = sizes[d] == 1 && d + 1 < Rank ? i64{kernels::vec_size<E>} : strides[d];
  return tensor_map_of(
      stream,
      tensor_view<const E, device_of<S>>(data, int_list(sizes, Rank), int_list(taken, Rank)), box,
      static_cast<box_swizzle>(line / 16));
}

/// How many batches begin at once (kernels::attention_turn): at most so many whose keys and values,
/// of `bytes` each, are no more than `most` bytes, or up to half as many again (of `halves` halves)
/// if then all turns have as many. A last turn of fewer would leave blocks without work.
struct attention_turns {
  i64 turns, at_once;
  attention_turns(i64 batches, i64 bytes, i64 most, i64 halves = 1) {
    const i64 some =
        kernels::max_of(i64{1}, kernels::min_of(batches, most / kernels::max_of(i64{1}, bytes)));
    turns = kernels::ceil_div(batches, some);
    at_once = kernels::ceil_div(batches, turns);
    constexpr i64 tries = 8;
    const i64 last = some + kernels::min_of(halves * some / 2, tries);
    for (i64 n = some + 1; turns * at_once != batches && n <= last; ++n)
      if (batches % n == 0) {
        turns = batches / n;
        at_once = n;
      }
  }
};

/// How the heads that share keys are cut for a tile.
template <class Tile>
struct attention_sharing : attention_turns {
  i64 rows_of_position;  // heads that are rows of a tile, where that has whole positions
  i64 sharers;           // else heads that are batches
  attention_sharing(i64 group, i64 batches, i64 bytes, i64 most)
      : attention_turns(batches, bytes, most),
        rows_of_position(Tile::m % group == 0 ? group : 1),
        sharers(group / rows_of_position) {
    at_once *= sharers;
  }
  /// Fills in what units of work are made by, of so many tiles of rows a batch; false if they
  /// cannot be counted.
  bool fill(kernels::attention_warp_space& space, i64 row_tiles, i64 batches, i64 units) const {
    if (row_tiles * at_once > most_of_warp_groups / turns) return false;
    space.group = divider_by(rows_of_position);
    space.at_once = divider_by(at_once);
    space.tiles_at_once = divider_by(row_tiles * at_once);
    space.row_tiles = static_cast<u32>(row_tiles);
    space.batches = static_cast<u32>(batches * sharers);
    space.tiles = static_cast<u32>(turns * row_tiles * at_once);
    space.sharers = divider_by(sharers);
    space.turns = static_cast<u32>(turns);
    space.admits = space.tiles <= units;
    return true;
  }
};

/// Attention of T (bf16 or f16), with a mask of T or bool or a rule, if any; operands and mask as
/// the kernels of SIMT devices take them.
template <class S, class T, class Out, class Mask>
class warp_group_attention {
 public:
  using device = device_of<S>;
  using numbers = tuning<families::attention, device>;

  const S& stream;
  const kernels::attention_space& space;
  const kernels::decode_arg<const T>&q, &k, &v;
  const Mask& mask;
  const kernels::decode_arg<Out>& out;
  const kernels::decode_arg<f32>& logs;  // without data unless they are asked for
  f32 scale;
  launch_config& config;

  /// Runs it; false, having written nothing, if it does not apply.
  bool run() const {
    const i64 units = device::warp_group_units(ref(stream).device_index());
    if (units == 0 || space.keys == 0 || !is_mapped(q, space.group, space.queries) ||
        !is_mapped(k, 1, space.keys) || !is_mapped(v, 1, space.keys) || !is_mask_mapped())
      return false;
    const auto start_tile = [&](std::size_t tile) {
      return by_attention_tile<device, is_masked>(
          tile, [&]<class Tile>(i64 least_tiles) { return start<Tile>(units, least_tiles); });
    };
    constexpr auto& tiles = numbers::warp_group_tiles;
    const std::size_t usual =
        attention_tile_of(tiles, kernels::max_of(space.head_size, space.value_size), space.keys,
                          space.diagonal < space.keys, is_masked);
    if (start_tile(usual)) return true;
    // Where its tiles are too few, those of fewer rows may not be.
    const std::size_t smaller = attention_tile_of_fewer_rows(tiles, usual);
    return smaller != usual && start_tile(smaller);
  }

 private:
  static constexpr bool is_ruled = requires(const Mask& m) { m.rule; };
  static constexpr bool is_masked = !std::is_same_v<Mask, kernels::no_mask> && !is_ruled;
  using element = element_of_mask<Mask>;

  i64 outer() const { return space.rank > 1 ? space.sizes[0] : 1; }
  i64 inner() const { return space.rank > 0 ? space.sizes[space.rank - 1] : 1; }

  /// Whether the copy engine takes an operand, whose lines are vector-aligned.
  bool is_mapped(const kernels::decode_arg<const T>& x, i64 heads, i64 positions) const {
    return is_map_stride(x.outer, outer()) && is_map_stride(x.inner, inner()) &&
           is_map_stride(x.head, heads) && is_map_stride(x.position, positions);
  }
  template <class E, std::size_t Rank>
  tensor_map map_of(const E* data, const i64 (&sizes)[Rank], const i64 (&strides)[Rank],
                    const i64 (&box)[Rank], i64 line) const {
    return attention_map(stream, data, sizes, strides, box, line);
  }

  /// Whether it takes the mask, along some dimensions of which strides may be 0.
  bool is_mask_mapped() const {
    if constexpr (is_masked) {
      constexpr i64 width = 16 / i64{sizeof(element)};
      const auto is_taken = [](i64 stride) {
        return stride >= 0 && stride < most_map_stride && stride % width == 0;
      };
      return mask.element == 1 && kernels::is_vec_aligned<width>(mask.data) &&
             is_taken(mask.outer) && is_taken(mask.inner) && is_taken(mask.head) &&
             is_taken(mask.position);
    } else {
      return true;
    }
  }
  /// The mask as the kernel takes it, in boxes of so many rows of `heads` heads.
  template <class Tile>
  auto boxes_of_mask(i64 positions, i64 heads) const {
    if constexpr (is_masked) {
      const i64 line = kernels::min_of(i64{Tile::line}, Tile::n * i64{sizeof(element)});
      const auto size = [](i64 stride, i64 n) { return stride == 0 ? 1 : n; };
      const i64 outer_size = size(mask.outer, outer()), inner_size = size(mask.inner, inner()),
                of_heads = size(mask.head, space.group),
                of_positions = size(mask.position, space.queries);
      const bool shares = heads > 1;
      const i64 sizes[] = {outer_size, inner_size, shares ? of_positions : of_heads,
                           shares ? of_heads : of_positions, space.keys};
      const i64 strides[] = {mask.outer, mask.inner, shares ? mask.position : mask.head,
                             shares ? mask.head : mask.position, 1};
      const i64 box[] = {1, 1, shares ? positions : 1, shares ? heads : positions,
                         line / i64{sizeof(element)}};
      const auto is = [](i64 n) { return n > 1 ? 1 : 0; };
      return kernels::attention_mask_boxes<element>{map_of(mask.data, sizes, strides, box, line),
                                                    is(outer_size), is(inner_size), is(of_heads),
                                                    is(of_positions)};
    } else {
      return mask;
    }
  }

  template <class Tile>
  bool start(i64 units, i64 least_tiles) const {
    const auto narrow = [](i64 x) { return static_cast<i32>(x); };
    const attention_sharing<Tile> shared(
        space.group, space.batches,
        space.keys * (space.head_size + space.value_size) * i64{sizeof(T)}, numbers::prefill_bytes);
    const i64 rows_of_position = shared.rows_of_position;
    const i64 rows = rows_of_position * space.queries;
    const i64 row_tiles = kernels::ceil_div(rows, i64{Tile::m});
    kernels::attention_warp_space many{};
    if (row_tiles * space.batches * shared.sharers < least_tiles ||
        !shared.fill(many, row_tiles, space.batches, units))
      return false;
    many.keys = narrow(space.keys);
    many.head_size = narrow(space.head_size);
    many.value_size = narrow(space.value_size);
    many.rows = narrow(rows);
    many.diagonal = narrow(space.diagonal);
    many.scale = scale;
    many.heads = divider_by(inner());
    constexpr int width = sizeof(Out) == 2 ? 8 : 2;
    many.is_out_aligned = are_vec_aligned<width>(out, space.value_size);

    const i64 last[] = {space.group, space.queries, q.head, q.position};
    const bool shares = rows_of_position > 1;
    constexpr i64 line = Tile::line;
    const i64 q_sizes[] = {outer(), inner(), last[shares ? 1 : 0], last[shares ? 0 : 1],
                           space.head_size};
    const i64 q_strides[] = {q.outer, q.inner, last[shares ? 3 : 2], last[shares ? 2 : 3], 1};
    const i64 q_box[] = {1, 1, shares ? Tile::m / rows_of_position : 1,
                         shares ? rows_of_position : Tile::m, Tile::box};
    const auto map_of_keys = [&](const kernels::decode_arg<const T>& x, i64 size) {
      const i64 sizes[] = {outer(), inner(), space.keys, size};
      const i64 strides[] = {x.outer, x.inner, x.position, 1};
      const i64 box[] = {1, 1, Tile::n, Tile::box};
      return map_of(x.data, sizes, strides, box, line);
    };
    const tensor_map of_q = map_of(q.data, q_sizes, q_strides, q_box, line);
    const tensor_map of_k = map_of_keys(k, space.head_size);
    const tensor_map of_v = map_of_keys(v, space.value_size);
    const auto boxes = boxes_of_mask<Tile>(Tile::m / rows_of_position, rows_of_position);
    launch_config taken = config;
    taken.tiles = kernels::min_of(i64{many.tiles}, units);
    taken.threads = Tile::threads;
    const auto start_with = [&](const auto& all, const auto& scores, const auto& sums) {
      using kernel = kernels::attention_warp_groups<T, Out, std::remove_cvref_t<decltype(scores)>,
                                                    std::remove_cvref_t<decltype(sums)>, Tile>;
      taken.scratch = kernel::most_scratch;
      if (most_threads<kernel>(stream, taken, all, of_q, of_k, of_v, scores, out, sums) <
          Tile::threads)
        return false;
      launch<kernel>(stream, taken, all, of_q, of_k, of_v, scores, out, sums);
      return true;
    };
    const auto starts = [&](const auto& all, const auto& scores) {
      return logs.data == nullptr ? start_with(all, scores, kernels::no_logs{})
                                  : start_with(all, scores, logs);
    };
    if constexpr (is_ruled)
      return with_rule(many, mask, starts);
    else
      return starts(many, boxes);
  }
};

}  // namespace flaggems::detail
