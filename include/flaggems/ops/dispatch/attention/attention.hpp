// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How attention is computed: tiles or blocks of queries on vector workers; on SIMT devices few
// queries by split-K (kernel/family/attention/simt/decode.hpp), many of 16 bits by warp groups
// (warp_groups.hpp) or by tiles on matrix units (prefill_mma.hpp), others row by row.
#pragma once

#include <flaggems/detail/cpu.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/family/attention/attention.hpp>
#include <flaggems/kernel/family/attention/simt/decode_mma.hpp>
#include <flaggems/kernel/family/attention/simt/prefill_mma.hpp>
#include <flaggems/kernel/family/attention/vector/amx.hpp>
#include <flaggems/kernel/family/attention/vector/few.hpp>
#include <flaggems/launch/host_entry.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/attention/warp_groups.hpp>
#include <flaggems/ops/dispatch/matrix_units.hpp>
#include <flaggems/ops/dispatch/steps.hpp>

#include <utility>

namespace flaggems::detail {

/// Decode attention on SIMT devices, by the numbers of a device's tuning.
template <class Numbers>
struct decode_policy {
  /// Limits of 32-bit counts: keys, and batches.
  static constexpr i64 most = i64{1} << 28;

  /// How keys are split: into parts combined by a second launch, each processed by a cluster.
  struct split {
    i64 parts;
    int cluster;
  };
  /// The best split of `all` steps of keys for `tiles` tiles on `concurrent` resident blocks. Costs
  /// are in rounds of blocks: their steps, and overhead of two steps; half as much more for a
  /// cluster, and as much more to combine parts.
  static split split_of(i64 tiles, i64 all, i64 concurrent, int most_cluster) {
    split best{1, 1};
    if (all <= 1 || tiles >= Numbers::most_rounds * concurrent) return best;
    const auto rounds_of = [&](i64 p, i64 at_once) {
      return kernels::ceil_div(tiles * p, at_once) *
             (kernels::ceil_div(all, p) + Numbers::steps_to_begin);
    };
    i64 least = rounds_of(1, concurrent);
    const auto consider = [&](i64 taken, split s) {
      if (taken >= least) return;
      least = taken;
      best = s;
    };
    // Clusters are confined to parts of the device, which larger ones do not fill. Their blocks are
    // 2^n; some of them may have no step.
    for (int c = 2; c <= most_cluster && c < 2 * all; c *= 2)
      consider(rounds_of(c, c == 2 ? concurrent : concurrent * Numbers::cluster_quarters / 4) +
                   Numbers::steps_of_cluster,
               {1, c});
    for (i64 rounds = 1; rounds <= Numbers::most_rounds; ++rounds)
      if (const i64 p = kernels::min_of(rounds * concurrent / tiles, all); p > 1)
        consider(rounds_of(p, concurrent) + Numbers::steps_of_merge, {p, 1});
    return best;
  }
};

/// An operand for the kernels of SIMT devices. Their batch has two dimensions, leading ones of size
/// 1 if fewer.
template <class T>
kernels::decode_arg<T> decode_operand(const kernels::attention_arg<T>& x, int rank) {
  const auto narrow = [](i64 stride) { return static_cast<i32>(stride); };
  return {x.data,         rank > 1 ? x.batch[0] : 0, rank > 0 ? x.batch[rank - 1] : 0,
          narrow(x.head), narrow(x.position),        narrow(x.element)};
}
inline kernels::no_mask decode_operand(const kernels::no_mask& x, int) { return x; }
template <class T>
kernels::decode_mask<T> decode_operand(const kernels::attention_mask<T>& x, int rank) {
  const kernels::attention_arg<const T>& arg = x;
  return {decode_operand(arg, rank)};
}

template <class Rule>
kernels::decode_rule<Rule> decode_operand(const kernels::attention_rule<Rule>& x, int rank) {
  const kernels::attention_arg<const bool>& arg = x;
  return {decode_operand(arg, rank), x.rule};
}

/// Queues a kernel of tiles on matrix units, whose problem is `space`.
template <class Kernel, class S, class Space, class... Operands>
void launch_prefill(const S& stream, launch_config& config, const Space& space,
                    const Operands&... operands) {
  config.tiles = space.tiles;
  config.blocks_per_unit = 0;
  config.threads = Kernel::max_threads;
  config.scratch = Kernel::most_scratch;
  launch<Kernel>(stream, config, space, operands...);
}

/// Attention by the kernels of SIMT devices for vector-aligned keys and values.
template <class S, class T, class Key, class Out, class Mask>
struct warp_attention {
  using numbers = tuning<families::attention, device_of<S>>;
  using policy = decode_policy<numbers>;
  static constexpr int width = kernels::vec_size<Key>;
  /// Whether mma applies; queries of 32 bits cannot be split exactly into f16.
  static constexpr bool has_tiles =
      matrix_instructions_of<device_of<S>> == matrix_instructions::mma &&
      (std::is_same_v<Key, bf16> || (std::is_same_v<Key, f16> && std::is_same_v<T, f16>));
  /// Whether many queries go to matrix units; to those of mma.
  static constexpr bool has_unit_prefill =
      matrix_instructions_of<device_of<S>> != matrix_instructions::none && std::is_same_v<T, Key> &&
      (std::is_same_v<Key, bf16> || std::is_same_v<Key, f16>);
  static constexpr bool has_prefill =
      has_unit_prefill && matrix_instructions_of<device_of<S>> == matrix_instructions::mma;
  using kernel_mask = decltype(decode_operand(std::declval<const Mask&>(), 0));
  const S& stream;
  const kernels::attention_space& space;
  const kernels::attention_arg<const T>& q_arg;
  const kernels::attention_arg<const Key>&k_arg, &v_arg;
  const Mask& mask_arg;
  const kernels::attention_arg<Out>& out_arg;
  const kernels::attention_arg<f32>& logs_arg;
  f32 scale;
  launch_config& config;

  kernels::decode_arg<const T> q{};
  kernels::decode_arg<const Key> k{}, v{};
  kernel_mask mask{};
  kernels::decode_arg<Out> out{};
  kernels::decode_arg<f32> logs{};

  /// Runs it; false, having done nothing, if no kernel applies.
  bool run() {
    const bool are_few = logs_arg.data == nullptr && space.queries <= numbers::few_queries &&
                         space.group <= numbers::few_queries &&
                         space.group * space.queries <= numbers::few_queries;
    if ((!are_few && !has_unit_prefill) || space.rank > 2 || space.keys > policy::most ||
        space.batches > policy::most || space.head_size > 32 * width ||
        space.value_size > 32 * width || !are_narrow())
      return false;
    q = decode_operand(q_arg, space.rank);
    k = decode_operand(k_arg, space.rank);
    v = decode_operand(v_arg, space.rank);
    mask = decode_operand(mask_arg, space.rank);
    out = decode_operand(out_arg, space.rank);
    logs = decode_operand(logs_arg, space.rank);
    if (!are_vec_aligned<width>(k, space.head_size) || !are_vec_aligned<width>(v, space.value_size))
      return false;
    if (!are_few) {
      if constexpr (has_unit_prefill) return run_prefill();
      return false;
    }
    const i64 vectors = kernels::max_of(space.head_size, space.value_size) / width;
    if constexpr (has_tiles)
      if (space.head_size == space.value_size &&
          are_vec_aligned<kernels::vec_size<T>>(q, space.head_size)) {
        if (vectors == 8) return go_by_tiles<1>(), true;
        if (vectors == 16) return go_by_tiles<2>(), true;
      }
    if (vectors <= 8)
      go<8>();
    else if (vectors <= 16)
      go<16>();
    else
      go<32>();
    return true;
  }

 private:
  using unit = matrix_unit_of<device_of<S>, T>;

  /// Whether the strides fit in the kernels' 32 bits.
  bool are_narrow() const {
    u64 all = 0;
    const auto look = [&](i64 stride) { all |= static_cast<u64>(stride ^ (stride >> 63)); };
    const auto look_at = [&](const auto& x) {
      look(x.head);
      look(x.position);
      look(x.element);
    };
    look_at(q_arg);
    look(k_arg.position);
    look(v_arg.position);
    look_at(out_arg);
    look_at(logs_arg);
    if constexpr (!std::is_same_v<Mask, kernels::no_mask>) look_at(mask_arg);
    return all >> 31 == 0;
  }

  /// Many queries, if their rows and tiles can be counted, and the largest score stays the largest
  /// when it is scaled.
  bool run_prefill() {
    const auto is_countable = [](i64 n) { return n <= policy::most; };
    if (!are_vec_aligned<kernels::vec_size<T>>(q, space.head_size) ||
        !is_countable(space.queries) || !is_countable(space.group) ||
        !is_countable(space.group * space.queries) || !(scale >= 0x1p-100F && scale <= 0x1p100F))
      return false;
    if constexpr (attends_by_warp_groups<device_of<S>> &&
                  (std::is_same_v<element_of_mask<kernel_mask>, bool> ||
                   std::is_same_v<element_of_mask<kernel_mask>, T>))
      if (warp_group_attention<S, T, Out, kernel_mask>{stream, space, q, k, v, mask, out, logs,
                                                       scale, config}
              .run())
        return true;
    const i64 blocks = kernels::ceil_div(kernels::max_of(space.head_size, space.value_size),
                                         i64{kernels::prefill_elements});
    // Twice the rows for a warp: fewer reads of keys, where blocks still occupy the device.
    const bool is_wide = space.batches * kernels::ceil_div(space.group * space.queries,
                                                           i64{32 * numbers::prefill_warps}) >=
                         numbers::units;
    constexpr int wide = std::is_same_v<Mask, kernels::no_mask> ? 2 : 1;
    if constexpr (!has_prefill)
      if (!has_matrix_units(stream)) {
        report_candidate<unit>(config.op, device_of<S>::name, 0,
                               "this device has no such matrix units");
        return false;
      }
    if (blocks <= 1) return (is_wide && prefill<1, wide>()) || prefill<1, 1>();
    if (blocks == 2) return (is_wide && prefill<2, wide>()) || prefill<2, 1>();
    if constexpr (has_prefill) return blocks == 3 ? prefill<3, 1>() : prefill<4, 1>();
    return false;  // 64 KiB of block-local memory have no room for their tiles
  }

  template <int Blocks, int RowTiles>
  bool prefill() {
    return logs.data == nullptr ? prefill<Blocks, RowTiles>(kernels::no_logs{})
                                : prefill<Blocks, RowTiles>(logs);
  }
  template <int Blocks, int RowTiles, class Logs>
  bool prefill(const Logs& sums) {
    using kernel = kernels::attention_prefill_tiles<T, Out, kernel_mask, Logs, Blocks, RowTiles,
                                                    numbers::prefill_keys(Blocks),
                                                    numbers::prefill_warps, unit>;
    if constexpr (!has_prefill)  // in a workspace it would be slower than other kernels
      if (kernels::exchange_bytes + kernel::most_scratch >
          block_memory_of<device_of<S>>(ref(stream).device_index()))
        return false;
    const auto narrow = [](i64 x) { return static_cast<i32>(x); };
    const i64 rows = space.group * space.queries;
    const i64 row_tiles = kernels::ceil_div(rows, i64{kernel::rows});
    // As many batches at once as the bytes allow, and as many each time.
    const i64 bytes = kernels::max_of(
        i64{1}, space.keys * (space.head_size + space.value_size) * i64{sizeof(Key)});
    const i64 most =
        kernels::max_of(i64{1}, kernels::min_of(space.batches, numbers::prefill_bytes / bytes));
    const i64 turns = kernels::ceil_div(space.batches, most);
    const i64 at_once = kernels::ceil_div(space.batches, turns);
    if (row_tiles * at_once > policy::most / turns) return false;
    kernels::prefill_space many{narrow(space.keys),
                                narrow(space.head_size),
                                narrow(space.value_size),
                                narrow(rows),
                                narrow(space.diagonal),
                                scale,
                                divider_by(space.group),
                                divider_by(space.rank > 0 ? space.sizes[space.rank - 1] : 1),
                                divider_by(at_once),
                                divider_by(row_tiles * at_once),
                                static_cast<u32>(row_tiles),
                                static_cast<u32>(space.batches),
                                static_cast<u32>(turns * row_tiles * at_once),
                                are_vec_aligned<kernel::width>(out, space.value_size)};
    launch_prefill<kernel>(stream, config, many, q, k, v, mask, out, sums);
    return true;
  }

  template <int Lanes>
  void go() {
    constexpr int rows = 4;
    using kernel =
        kernels::attention_decode<T, Key, Out, kernel_mask, rows, Lanes, numbers::decode_threads>;
    launch_parts<kernel>(rows, kernel::max_threads / Lanes);
  }
  template <int Blocks>
  void go_by_tiles() {
    using kernel =
        kernels::attention_decode_tiles<T, Key, Out, kernel_mask, Blocks, numbers::tile_threads>;
    launch_parts<kernel>(kernel::rows_at_once, kernel::max_threads / 32);
  }

  /// A block's `groups` have `rows_at_once` rows and Kernel::keys keys each.
  template <class Kernel>
  void launch_parts(i64 rows_at_once, i64 groups) {
    using merge = kernels::attention_decode_merge<Out>;
    using row = typename Kernel::row_type;
    const auto narrow = [](i64 x) { return static_cast<i32>(x); };
    const i64 step = groups * Kernel::keys;
    const i64 rows = space.group * space.queries;
    const i64 row_tiles = kernels::ceil_div(rows, rows_at_once);
    const i64 tiles = space.batches * row_tiles;
    const i64 all = kernels::ceil_div(space.keys, step);
    kernels::decode_space few{narrow(space.keys),
                              narrow(space.head_size),
                              narrow(space.value_size),
                              narrow(rows),
                              narrow(space.diagonal),
                              scale,
                              divider_by(space.queries),
                              divider_by(space.rank > 0 ? space.sizes[space.rank - 1] : 1),
                              divider_by(row_tiles),
                              {},
                              0,
                              0,
                              0};
    f32* none = nullptr;
    const int most =
        kernels::min_of(most_cluster<Kernel>(stream, config, few, q, k, v, mask, out, none),
                        kernels::decode_space::most_cluster);
    const auto [wanted, cluster] =
        policy::split_of(tiles, all, numbers::units * Kernel::min_blocks, most);
    const i64 length = kernels::ceil_div(all, wanted) * step;
    const i64 parts = kernels::max_of(kernels::ceil_div(space.keys, length), i64{1});
    few.parts = divider_by(parts);
    few.tiles = static_cast<u32>(tiles * parts);
    few.length = narrow(length);
    few.share = narrow(kernels::round_up(kernels::ceil_div(length, i64{cluster}), step));
    config.cluster = cluster;
    config.tiles = few.tiles;
    config.threads = Kernel::max_threads;
    config.scratch = 2 * scratch_bytes<f32>(groups * rows_at_once) +
                     scratch_bytes<f32>(groups * rows_at_once * row::length) +
                     scratch_bytes<f32>(rows_at_once * row::whole);
    const auto attend = [&](f32* found) {
      launch<Kernel>(stream, config, few, q, k, v, mask, out, found);
    };
    if (parts == 1) return attend(nullptr);
    auto found = empty<f32>(
        stream, shape{space.batches * rows * parts * kernels::decode_found(space.value_size)},
        config.op);
    attend(found.data());
    few.row_tiles = divider_by(rows);
    few.tiles = static_cast<u32>(space.batches * rows);
    config.cluster = 1;
    config.tiles = few.tiles;
    config.threads = narrow(merge::threads(parts, space.value_size));
    const i64 concurrent = merge::groups(config.threads, space.value_size);
    config.scratch =
        2 * scratch_bytes<f32>(concurrent) + scratch_bytes<f32>(concurrent * space.value_size);
    launch<merge>(stream, config, few, out, static_cast<const f32*>(found.data()),
                  kernels::no_logs{});
  }
};

/// Attends by the kernels that suit the device, the dtypes and the sizes; `outputs`: the elements
/// of the result. If `logs` has data, the logarithms of the sums of exponentials go there.
template <class S, class T, class Key, class O, class Mask, class C>
void launch_attention(const char* op, const S& stream, const kernels::attention_space& space,
                      const kernels::attention_arg<const T>& q,
                      const kernels::attention_arg<const Key>& k,
                      const kernels::attention_arg<const Key>& v, const Mask& mask,
                      const kernels::attention_arg<O>& out, const kernels::attention_arg<C>& logs,
                      C scale, i64 outputs) {
  launch_config config;
  config.op = op;
  config.tiles = space.batches * space.row_tiles;
  config.work = work_of(2, outputs, space.keys);
  const i64 depth = kernels::round_up(space.head_size, 16),
            width = kernels::round_up(space.value_size, 16);
  using one = kernels::attention<T, Key, O, C, Mask, kernels::stepping::contiguous>;
  config.scratch = scratch_bytes<C>(one::rows * depth) + scratch_bytes<C>(one::rows * one::tile) +
                   scratch_bytes<C>(one::rows * width);
  using numbers = tuning<families::attention, device_of<S>>;
  config.threads = numbers::threads;
  if constexpr (has_simt<device_of<S>> && std::is_same_v<C, f32>) {
    warp_attention<S, T, Key, O, Mask> by_warps{stream, space, q,    k,     v,
                                                mask,   out,   logs, scale, config};
    if (by_warps.run()) return;
  }
  const bool contiguous =
      (k.element == 1 || space.head_size == 1) && (v.element == 1 || space.value_size == 1);
  if constexpr (has_thread_pool<device_of<S>>) {
    using many = kernels::attention_host<T, Key, O, C, Mask>;
    using few = kernels::attention_host_few<T, Key, O, C, Mask>;
    const i64 rows = space.group * space.queries;
    if constexpr (std::is_same_v<T, bf16> && std::is_same_v<Key, T> && std::is_same_v<O, T>) {
      using tiles = kernels::attention_tiles<Mask>;
      if (rows > few::most_rows && isa() == isa_level::amx && logs.data == nullptr) {
        config.tiles = space.batches * kernels::ceil_div(rows, tiles::least_rows);
        config.scratch = tiles::scratch(space.head_size, space.value_size);
        return launch<tiles>(stream, config, space, q, k, v, mask, out, scale);
      }
    }
    if (rows > few::most_rows || !contiguous || logs.data != nullptr) {
      config.tiles = space.batches * kernels::ceil_div(rows, i64{many::least_rows});
      config.scratch = many::scratch(space.head_size, space.value_size);
      launch<many>(stream, config, space, q, k, v, mask, out, scale, logs);
      return;
    }
    // Parts of at least 256 keys; independent of the number of threads, so that results are too.
    const i64 parts =
        space.batches >= numbers::many_batches
            ? 1
            : kernels::max_of(i64{1},
                              kernels::min_of(space.keys / numbers::keys_of_part, numbers::parts));
    const i64 length = kernels::round_up(kernels::ceil_div(space.keys, parts), i64{few::tile});
    config.tiles = space.batches * parts;
    config.scratch = few::scratch(space.head_size, space.value_size);
    const auto partial =
        empty<C>(stream, shape{parts > 1 ? config.tiles * rows * few::found(space.value_size) : 0});
    launch<few>(stream, config, space, q, k, v, mask, out, scale, parts, length,
                const_cast<C*>(partial.data()));
    if (parts == 1) return;
    config.tiles = space.batches * rows;
    config.work = partial.numel();
    config.scratch = 0;
    launch<kernels::attention_host_merge<O, C>>(stream, config, space, out, parts,
                                                static_cast<const C*>(partial.data()));
  } else if (contiguous)
    launch<one>(stream, config, space, q, k, v, mask, out, scale, logs);
  else
    launch<kernels::attention<T, Key, O, C, Mask, kernels::stepping::strided>>(
        stream, config, space, q, k, v, mask, out, scale, logs);
}

// Attention of f32 that flaggems::compiled has: without and with a mask.
using operand_f32 = kernels::attention_arg<const f32>;
using result_f32 = kernels::attention_arg<f32>;
#define FLAGGEMS_ATTENTION_ONCE(mask)                                                         \
  FLAGGEMS_KERNEL_ONCE(kernels::attention_host<f32, f32, f32, f32, mask>,                     \
                       kernels::attention_space, operand_f32, operand_f32, operand_f32, mask, \
                       result_f32, f32, result_f32);                                          \
  FLAGGEMS_KERNEL_ONCE(kernels::attention_host_few<f32, f32, f32, f32, mask>,                 \
                       kernels::attention_space, operand_f32, operand_f32, operand_f32, mask, \
                       result_f32, f32, i64, i64, f32*)
FLAGGEMS_ATTENTION_ONCE(kernels::no_mask);
FLAGGEMS_ATTENTION_ONCE(kernels::attention_mask<f32>);
FLAGGEMS_KERNEL_ONCE(kernels::attention_host_merge<f32, f32>, kernels::attention_space, result_f32,
                     i64, const f32*);

}  // namespace flaggems::detail
