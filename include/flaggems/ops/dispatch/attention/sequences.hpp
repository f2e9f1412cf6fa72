// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How attention over sequences of several lengths is computed: by blocks or few queries on vector
// workers; on SIMT devices of 16 bits by warp groups or by tiles on matrix units, else row by row.
#pragma once

#include <flaggems/kernel/family/attention/sequences.hpp>
#include <flaggems/kernel/family/attention/simt/sequence_warp_units.hpp>
#include <flaggems/kernel/family/attention/simt/sequences_mma.hpp>
#include <flaggems/ops/dispatch/attention/attention.hpp>

#include <type_traits>

namespace flaggems::detail {

/// Whether the strides that the kernels of SIMT devices keep in 32 bits fit there.
template <class... Args>
bool are_narrow_strides(const Args&... args) {
  u64 all = 0;
  const auto look = [&](i64 stride) { all |= static_cast<u64>(stride ^ (stride >> 63)); };
  ((look(args.head), look(args.position), look(args.element)), ...);
  return all >> 31 == 0;
}

/// Attention of sequences by warp groups, with a rule or no_mask.
template <class S, class T, class O, class Mask>
struct sequence_warp_groups {
  using device = device_of<S>;
  using numbers = tuning<families::attention, device>;
  const S& stream;
  const kernels::sequence_space& space;
  const Mask& mask;
  f32 scale;
  const launch_config& config;
  const kernels::decode_arg<const T>&q, &k, &v;
  const kernels::decode_arg<O>& out;
  const kernels::decode_arg<f32>& logs;

  /// Runs it; false, having done nothing, if it does not apply. Operands are aligned, counts small.
  bool run() const {
    const i64 units = device::warp_group_units(ref(stream).device_index());
    if (units == 0 || space.page > 0 || space.total_keys == 0 ||
        !is_map_stride(q.position, space.total_queries) || !is_map_stride(q.head, space.group) ||
        !is_map_stride(q.inner, space.key_heads) || !are_keys_mapped(k) || !are_keys_mapped(v))
      return false;
    return by_attention_tile<device, false>(
        attention_tile_of(
            numbers::warp_group_tiles, kernels::max_of(space.head_size, space.value_size),
            kernels::ceil_div(space.total_keys, space.count), space.right >= 0, false),
        [&]<class Tile>(i64 least_tiles) { return start<Tile>(units, least_tiles); });
  }

 private:
  bool are_keys_mapped(const kernels::decode_arg<const T>& x) const {
    return is_map_stride(x.position, space.total_keys) && is_map_stride(x.inner, space.key_heads);
  }
  template <class Tile>
  tensor_map map_of_keys(const kernels::decode_arg<const T>& x, i64 size) const {
    const i64 sizes[] = {1, space.key_heads, space.total_keys, size};
    const i64 strides[] = {0, x.inner, x.position, 1}, box[] = {1, 1, Tile::n, Tile::box};
    return attention_map(stream, x.data, sizes, strides, box, Tile::line);
  }

  template <class Tile>
  bool start(i64 units, i64 least_tiles) const {
    const attention_sharing<Tile> shared(
        space.group, space.key_heads,
        space.total_keys * (space.head_size + space.value_size) * i64{sizeof(T)},
        numbers::prefill_bytes);
    const i64 group = shared.rows_of_position, positions = Tile::m / group;
    // Each sequence begins a tile, and not each fills its last one.
    const i64 row_tiles = space.total_queries / positions + space.count;
    kernels::sequence_warp_space many{};
    if (space.total_queries < space.count * positions / 2 ||
        row_tiles * space.key_heads * shared.sharers < least_tiles ||
        !shared.fill(many, row_tiles, space.key_heads, units))
      return false;
    const auto narrow = [](i64 x) { return static_cast<i32>(x); };
    many.head_size = narrow(space.head_size);
    many.value_size = narrow(space.value_size);
    many.rows = narrow(positions);
    many.scale = scale;
    constexpr int width = sizeof(O) == 2 ? 8 : 2;
    many.is_out_aligned = are_vec_aligned<width>(out, space.value_size);
    many.right = narrow(kernels::min_of(space.right, space.total_keys));

    const bool shares = group > 1;
    const i64 q_sizes[] = {1, space.key_heads, shares ? space.total_queries : space.group,
                           shares ? space.group : space.total_queries, space.head_size};
    const i64 q_strides[] = {0, q.inner, shares ? q.position : q.head, shares ? q.head : q.position,
                             1};
    const i64 q_box[] = {1, 1, shares ? positions : 1, shares ? group : Tile::m, Tile::box};
    const tensor_map of_q = attention_map(stream, q.data, q_sizes, q_strides, q_box, Tile::line);
    const tensor_map of_k = map_of_keys<Tile>(k, space.head_size),
                     of_v = map_of_keys<Tile>(v, space.value_size);
    launch_config taken = config;
    taken.tiles = kernels::min_of(i64{many.tiles}, units);
    taken.threads = Tile::threads;
    auto plan =
        empty<i32>(stream, {row_tiles, i64{sizeof(kernels::sequence_tile_plan) / 4}}, config.op);
    auto* const tiles = reinterpret_cast<kernels::sequence_tile_plan*>(plan.data());
    many.plan = tiles;
    const auto start_with = [&](const auto& all, const auto& scores, const auto& sums) {
      using kernel = kernels::attention_warp_groups<T, O, std::remove_cvref_t<decltype(scores)>,
                                                    std::remove_cvref_t<decltype(sums)>, Tile>;
      taken.scratch = kernel::most_scratch;
      if (most_threads<kernel>(stream, taken, all, of_q, of_k, of_v, scores, out, sums) <
          Tile::threads)
        return false;
      using planning = kernels::sequence_planning;
      launch_config first;
      first.op = config.op;
      first.threads = planning::max_threads;
      first.tiles = kernels::ceil_div(row_tiles, i64{first.threads});
      launch<planning>(stream, first, space, narrow(positions), narrow(row_tiles), tiles);
      launch<kernel>(stream, taken, all, of_q, of_k, of_v, scores, out, sums);
      return true;
    };
    const auto starts = [&](const auto& all, const auto& scores) {
      return logs.data == nullptr ? start_with(all, scores, kernels::no_logs{})
                                  : start_with(all, scores, logs);
    };
    if constexpr (std::is_same_v<Mask, kernels::no_mask>)
      return starts(many, mask);
    else
      return with_rule(many, mask, starts);
  }
};

/// Attention of sequences by tiles on matrix units.
template <class S, class T, class Key, class O, class Mask>
struct sequence_prefill {
  using numbers = tuning<families::attention, device_of<S>>;
  static constexpr bool exists = warp_attention<S, T, Key, O, kernels::no_mask>::has_prefill;
  const S& stream;
  const kernels::sequence_space& space;
  const Mask& mask;
  f32 scale;
  launch_config& config;
  kernels::decode_arg<const T> q, k, v;
  kernels::decode_arg<O> out;
  kernels::decode_arg<f32> logs;

  /// Runs it; false, having done nothing, if the operands are not aligned, or too large for the
  /// kernel's counts.
  bool run() const {
    constexpr int width = kernels::vec_size<T>;
    constexpr i64 most = decode_policy<numbers>::most;
    const i64 blocks = kernels::ceil_div(kernels::max_of(space.head_size, space.value_size),
                                         i64{kernels::prefill_elements});
    if ((blocks > 4 && !is_latent()) || !are_vec_aligned<width>(q, space.head_size) ||
        !are_vec_aligned<width>(k, space.head_size) ||
        !are_vec_aligned<width>(v, space.value_size) ||
        !(scale >= 0x1p-100F && scale <= 0x1p100F) || space.total_keys > most ||
        space.total_queries > most / space.group || space.tiles(16) > most)
      return false;
    if constexpr (std::is_same_v<Mask, kernels::no_mask>)
      if (blocks > 4) return run_latent();
    if constexpr (attends_by_warp_groups<device_of<S>>)
      if (sequence_warp_groups<S, T, O, Mask>{stream, space, mask, scale, config, q, k, v, out,
                                              logs}
              .run())
        return true;
    switch (blocks) {
      case 0:
      case 1: return go<1>();
      case 2: return go<2>();
      case 3: return go<3>();
      default: return go<4>();
    }
  }

 private:
  static constexpr int latent_blocks = 9, latent_parts = 2;  // of 64 elements; of the values

  /// Whether values are the first elements of keys, in heads of the size of latent ones.
  bool is_latent() const {
    return std::is_same_v<Mask, kernels::no_mask> && v.data == k.data && v.position == k.position &&
           v.outer == k.outer && v.inner == k.inner &&
           space.head_size <= latent_blocks * kernels::prefill_elements &&
           space.value_size <= latent_size;
  }
  static constexpr int latent_size = 512;  // limit: of values, as warps' sums have registers
  template <attention_latent_tile Tile, class Logs>
  using latent_kernel = kernels::attention_prefill_tiles<
      T, O, Mask, Logs, latent_blocks, 1, Tile.keys, Tile.warps, kernels::mma_unit<T>,
      kernels::latent_values<latent_size / kernels::prefill_elements / latent_parts, latent_parts>>;

  /// Attention over latent keys: the rows of a tile are heads of a query, which all see the same
  /// keys. By small tiles for few rows of a sequence, or where there is no room for others.
  bool run_latent() const {
    const i64 rows = space.group * kernels::ceil_div(space.total_queries, space.count);
    const i64 memory = block_memory_of<device_of<S>>(ref(stream).device_index());
    constexpr auto many = numbers::latent_of_many, few = numbers::latent_of_few;
    const auto has_room = [&](i64 scratch) { return kernels::exchange_bytes + scratch <= memory; };
    using of_many = latent_kernel<many, kernels::no_logs>;
    using of_few = latent_kernel<few, kernels::no_logs>;
    if (rows > of_few::rows && (has_room(of_many::most_scratch) || !has_room(of_few::most_scratch)))
      return by_latent_tile<many>();
    return by_latent_tile<few>();
  }
  template <attention_latent_tile Tile>
  bool by_latent_tile() const {
    using kernel = latent_kernel<Tile, kernels::no_logs>;
    const i64 keys = space.page > 0 ? space.total_keys : space.total_keys / space.count;
    const i64 tiles = space.tiles(kernel::rows);
    const i64 parts = space.has_all_rows ? decode_policy<numbers>::split_of(
                                               tiles, kernels::ceil_div(keys, i64{part_keys}),
                                               numbers::units * kernel::min_blocks, 1)
                                               .parts
                                         : i64{1};
    if (parts > 1 && tiles <= decode_policy<numbers>::most / parts && by_parts<Tile>(parts))
      return true;
    return logs.data == nullptr ? go_by<kernel>(kernels::no_logs{})
                                : go_by<latent_kernel<Tile, kernels::decode_arg<f32>>>(logs);
  }
  static constexpr int part_keys = 64;  // limit: keys of a part are a multiple of these

  /// The same in parts of the keys, which a second launch combines by their logarithms.
  template <attention_latent_tile Tile>
  bool by_parts(i64 parts) const {
    const i64 step = kernels::decode_found(space.value_size), head = parts * step,
              row = space.key_heads * space.group * head;
    if (row >> 31 != 0) return false;
    auto found = empty<f32>(stream, shape{space.total_queries * row}, config.op);
    const auto narrow = [](i64 x) { return static_cast<i32>(x); };
    const kernels::decode_arg<f32> to{found.data() + 2, row,         space.group * head,
                                      narrow(head),     narrow(row), 1};
    kernels::prefill_parts sums;
    static_cast<kernels::decode_arg<f32>&>(sums) = to;
    sums.data = found.data();
    using kernel = kernels::attention_prefill_tiles<
        T, f32, Mask, kernels::prefill_parts, latent_blocks, 1, Tile.keys, Tile.warps,
        kernels::mma_unit<T>,
        kernels::latent_values<latent_size / kernels::prefill_elements / latent_parts,
                               latent_parts>>;
    launch_tiles<kernel>(to, sums, parts, step);
    kernels::decode_space rows{};
    rows.rows = narrow(space.group);
    rows.value_size = narrow(space.value_size);
    rows.queries = divider_by(1);
    rows.heads = divider_by(space.key_heads);
    rows.row_tiles = divider_by(space.group);
    rows.parts = divider_by(parts);
    rows.tiles = static_cast<u32>(space.total_queries * space.key_heads * space.group);
    const auto merged = [&](const auto& kept) {
      using merge = kernels::attention_decode_merge<O, std::remove_cvref_t<decltype(kept)>>;
      launch_config last;
      last.op = config.op;
      last.work = config.work;
      last.tiles = rows.tiles;
      last.threads = narrow(merge::threads(parts, space.value_size));
      const i64 concurrent = merge::groups(last.threads, space.value_size);
      last.scratch =
          2 * scratch_bytes<f32>(concurrent) + scratch_bytes<f32>(concurrent * space.value_size);
      launch<merge>(stream, last, rows, out, static_cast<const f32*>(found.data()), kept);
    };
    logs.data == nullptr ? merged(kernels::no_logs{}) : merged(logs);
    return true;
  }

  template <int Blocks>
  bool go() const {
    return logs.data == nullptr ? go<Blocks>(kernels::no_logs{}) : go<Blocks>(logs);
  }
  template <int Blocks, class Logs>
  bool go(const Logs& sums) const {
    return go_by<kernels::attention_prefill_tiles<
        T, O, Mask, Logs, Blocks, 1, numbers::prefill_keys(Blocks), numbers::prefill_warps>>(sums);
  }
  template <class Kernel, class Logs>
  bool go_by(const Logs& sums) const {
    launch_tiles<Kernel>(out, sums, 1, 0);
    return true;
  }
  /// Queues a kernel of all tiles, each of so many parts of its keys.
  template <class Kernel, class To, class Logs>
  void launch_tiles(const To& to, const Logs& sums, i64 parts, i64 part_step) const {
    const kernels::sequence_prefill_space tiles{
        static_cast<i32>(space.head_size),
        static_cast<i32>(space.value_size),
        scale,
        divider_by(space.group),
        static_cast<u32>(space.tiles(Kernel::rows) * parts),
        are_vec_aligned<Kernel::width>(to, space.value_size),
        space,
        divider_by(parts),
        part_step};
    launch_prefill<Kernel>(stream, config, tiles, q, k, v, mask, to, sums);
  }
};

/// Attends all sequences; `outputs`: the elements of the result. If `logs` has data, the logarithms
/// of the sums of exponentials go there.
template <class S, class T, class Key, class O, class Mask, class C>
void launch_sequence_attention(const char* op, const S& stream,
                               const kernels::sequence_space& space,
                               const kernels::attention_arg<const T>& q,
                               const kernels::attention_arg<const Key>& k,
                               const kernels::attention_arg<const Key>& v, const Mask& mask,
                               const kernels::attention_arg<O>& out,
                               const kernels::attention_arg<C>& logs, C scale, i64 outputs) {
  using one = kernels::attention<T, Key, O, C, Mask, kernels::stepping::contiguous>;
  launch_config config;
  config.op = op;
  const i64 keys = space.page > 0 ? space.total_keys : space.total_keys / space.count;
  config.work = work_of(2, outputs, kernels::max_of(keys, i64{1}));
  config.threads = tuning<families::attention, device_of<S>>::threads;
  const bool is_contiguous =
      (k.element == 1 || space.head_size == 1) && (v.element == 1 || space.value_size == 1);
  if constexpr (has_thread_pool<device_of<S>>) {
    using many = kernels::attention_host<T, Key, O, C, Mask>;
    using few = kernels::attention_host_few<T, Key, O, C, Mask>;
    // Steps of generation: few rows of most sequences.
    const bool are_few = space.group * space.total_queries <= few::most_rows * space.count;
    if (are_few && is_contiguous && logs.data == nullptr && space.page % few::least_run == 0) {
      config.tiles = space.tiles(few::most_rows);
      config.scratch = few::scratch(space.head_size, space.value_size);
      C* const none = nullptr;
      return launch<few>(stream, config, space, q, k, v, mask, out, scale, i64{1}, space.total_keys,
                         none);
    }
    config.tiles = space.tiles(many::least_rows);
    config.scratch = many::scratch(space.head_size, space.value_size);
    launch<many>(stream, config, space, q, k, v, mask, out, scale, logs);
  } else {
    if constexpr (has_simt<device_of<S>> && std::is_same_v<C, f32>)
      if constexpr (sequence_prefill<S, T, Key, O, Mask>::exists)
        if (are_narrow_strides(q, k, v, out, logs) &&
            sequence_prefill<S, T, Key, O, Mask>{
                stream, space, mask, scale, config, decode_operand(q, 2), decode_operand(k, 2),
                decode_operand(v, 2), decode_operand(out, 2), decode_operand(logs, 2)}
                .run())
          return;
    const i64 depth = kernels::round_up(space.head_size, 16),
              width = kernels::round_up(space.value_size, 16);
    config.tiles = space.tiles(one::rows);
    config.scratch = scratch_bytes<C>(one::rows * depth) + scratch_bytes<C>(one::rows * one::tile) +
                     scratch_bytes<C>(one::rows * width);
    if (is_contiguous)
      launch<one>(stream, config, space, q, k, v, mask, out, scale, logs);
    else
      launch<kernels::attention<T, Key, O, C, Mask, kernels::stepping::strided>>(
          stream, config, space, q, k, v, mask, out, scale, logs);
  }
}

}  // namespace flaggems::detail
