// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of few queries on chips: whether kernels/attention_decode.hpp takes it, and in what
// parts.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/kernels/attention_decode_tiles.hpp>
#include <flaggems/launch/launch.hpp>

namespace flaggems::detail {

/// How chips attend with few queries.
struct decode_policy {
  /// So many queries that share keys are few.
  static constexpr i64 rows = 16;
  /// The units of a large chip.
  static constexpr i64 units = 132;
  /// Keys, so that no count of them overflows.
  static constexpr i64 most = i64{1} << 48;

  /// Who has the keys: so many parts, put together by a second launch, each the work of a cluster.
  struct split {
    i64 parts;
    int cluster;
  };
  /// The split of `all` steps of the keys with which `tiles` times as many blocks, of which
  /// `abreast` run at once, take least: rounds of blocks, each its steps and what takes it as long
  /// as two more; half as much again for a cluster, and as much again to put parts together.
  static split split_of(i64 tiles, i64 all, i64 abreast, int most_cluster) {
    split best{1, 1};
    if (all <= 1 || tiles >= 4 * abreast) return best;
    const auto rounds_of = [&](i64 p, i64 at_once) {
      return kernels::ceil_div(tiles * p, at_once) * (kernels::ceil_div(all, p) + 2);
    };
    i64 least = rounds_of(1, abreast);
    const auto consider = [&](i64 taken, split s) {
      if (taken >= least) return;
      least = taken;
      best = s;
    };
    // Clusters lie in parts of the chip, which larger ones do not fill.
    for (int c = 2; c <= most_cluster && c <= all; c *= 2)
      consider(rounds_of(c, c == 2 ? abreast : abreast * 3 / 4) + 1, {1, c});
    for (i64 rounds = 1; rounds <= 4; ++rounds)
      if (const i64 p = kernels::min_of(rounds * abreast / tiles, all); p > 1)
        consider(rounds_of(p, abreast) + 3, {p, 1});
    return best;
  }
};

/// Whether a kernel can read the lines of keys or values by packs.
template <class T>
bool begins_packs(const kernels::attention_arg<const T>& x, i64 size) {
  constexpr int width = kernels::pack_size<T>;
  return x.element == 1 && size % width == 0 && size <= 32 * width &&
         kernels::begins_pack<width>(x.data) && x.position % width == 0 &&
         x.batch[0] % width == 0 && x.batch[1] % width == 0;
}

template <class S, class T, class Key, class Out, class Mask>
struct decode_call {
  static constexpr int width = kernels::pack_size<Key>;
  /// Whether there are instructions for it; a query of 32 bits has no exact parts of f16.
  static constexpr bool has_tiles =
      device_of<S>::capabilities::matrix_units &&
      (std::is_same_v<Key, bf16> || (std::is_same_v<Key, f16> && std::is_same_v<T, f16>));
  const S& stream;
  kernels::attention_space& space;
  kernels::attention_arg<const T>& q;
  kernels::attention_arg<const Key>&k, &v;
  Mask& mask;
  kernels::attention_arg<Out>& out;
  f32 scale;
  launch_config& config;

  /// Runs it; false, and nothing was done, if it is none of these.
  bool run() {
    if (space.queries > decode_policy::rows || space.group > decode_policy::rows ||
        space.group * space.queries > decode_policy::rows || space.rank > 2 ||
        space.keys > decode_policy::most)
      return false;
    while (space.rank < 2) add_batch();
    if (!begins_packs(k, space.head_size) || !begins_packs(v, space.value_size)) return false;
    const i64 packs = kernels::max_of(space.head_size, space.value_size) / width;
    if constexpr (has_tiles) {
      if (space.head_size == space.value_size && packs == 8) return go_by_tiles<1>(), true;
      if (space.head_size == space.value_size && packs == 16) return go_by_tiles<2>(), true;
    }
    if (packs <= 8)
      go<8>();
    else if (packs <= 16)
      go<16>();
    else
      go<32>();
    return true;
  }

 private:
  /// A dimension of one in front of the batch: kernels have two.
  void add_batch() {
    const auto shift = [this](i64(&list)[max_rank], i64 first) {
      for (int d = space.rank; d > 0; --d) list[d] = list[d - 1];
      list[0] = first;
    };
    shift(space.sizes, 1);
    shift(q.batch, 0);
    shift(k.batch, 0);
    shift(v.batch, 0);
    shift(out.batch, 0);
    if constexpr (!std::is_same_v<Mask, kernels::no_mask>) shift(mask.batch, 0);
    ++space.rank;
  }

  template <int Lanes>
  void go() {
    constexpr int rows = 4;
    using kernel = kernels::attention_decode<T, Key, Out, Mask, rows, Lanes>;
    launch_parts<kernel>(rows, kernel::max_threads / Lanes);
  }
  template <int Blocks>
  void go_by_tiles() {
    using kernel = kernels::attention_decode_tiles<T, Key, Out, Mask, Blocks, 256>;
    launch_parts<kernel>(kernel::rows_at_once, kernel::max_threads / 32);
  }

  /// `teams` of a block have `rows_at_once` rows and Kernel::keys keys each.
  template <class Kernel>
  void launch_parts(i64 rows_at_once, i64 teams) {
    using merge = kernels::attention_decode_merge<Out>;
    using row = typename Kernel::row_type;
    const i64 step = teams * Kernel::keys;
    const i64 rows = space.group * space.queries;
    space.row_tiles = kernels::ceil_div(rows, rows_at_once);
    const i64 tiles = space.batches * space.row_tiles;
    const i64 all = kernels::ceil_div(space.keys, step);
    f32* none = nullptr;
    const int most = kernels::min_of(
        most_cluster<Kernel>(stream, config, space, q, k, v, mask, out, scale, all, all, none),
        kernels::decode_sum::at_once);
    const auto [wanted, cluster] =
        decode_policy::split_of(tiles, all, decode_policy::units * Kernel::min_blocks, most);
    const i64 length = kernels::ceil_div(all, wanted) * step;
    const i64 parts = kernels::max_of(kernels::ceil_div(space.keys, length), i64{1});
    config.cluster = cluster;
    config.tiles = tiles * parts;
    config.threads = Kernel::max_threads;
    config.scratch = 2 * scratch_bytes<f32>(teams * rows_at_once) +
                     scratch_bytes<f32>(teams * rows_at_once * row::length) +
                     scratch_bytes<f32>(rows_at_once * row::whole);
    const auto attend = [&](f32* found) {
      launch<Kernel>(stream, config, space, q, k, v, mask, out, scale, parts, length, found);
    };
    if (parts == 1) return attend(nullptr);
    auto found = empty<f32>(
        stream, shape{space.batches * rows * parts * kernels::decode_found(space.value_size)},
        config.op);
    attend(found.data());
    config.cluster = 1;
    config.tiles = space.batches * rows;
    config.threads = merge::max_threads;
    const i64 abreast = merge::teams(merge::max_threads, space.value_size);
    config.scratch =
        2 * scratch_bytes<f32>(abreast) + scratch_bytes<f32>(abreast * space.value_size);
    launch<merge>(stream, config, space, out, parts, static_cast<const f32*>(found.data()));
  }
};

}  // namespace flaggems::detail
