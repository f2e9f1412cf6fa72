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
  static constexpr int threads = 128;
  /// The units of a large chip.
  static constexpr i64 units = 132;
  /// So many heads of keys take larger blocks: there are fewer parts to put together.
  static constexpr i64 few_tiles = 16;

  /// Keys, so that no count of them overflows.
  static constexpr i64 most = i64{1} << 48;

  /// The parts of `all` steps of the keys with which `tiles` blocks for each part, of which
  /// `abreast` run at once, take least: rounds of blocks, each its steps and what takes it as long
  /// as two more, and as much again to put parts together.
  static i64 parts(i64 tiles, i64 all, i64 abreast) {
    if (all <= 1 || tiles >= 4 * abreast) return 1;
    i64 best = 1, least = kernels::ceil_div(tiles, abreast) * (all + 2);
    for (i64 rounds = 1; rounds <= 4; ++rounds) {
      const i64 p = kernels::min_of(rounds * abreast / tiles, all);
      if (p <= 1) continue;
      const i64 taken = kernels::ceil_div(tiles * p, abreast) * (kernels::ceil_div(all, p) + 2) + 2;
      if (taken < least) {
        least = taken;
        best = p;
      }
    }
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
    launch_parts<kernel>(decode_policy::threads, rows, decode_policy::threads / Lanes, kernel::keys,
                         Lanes * width);
  }
  template <int Blocks>
  void go_by_tiles() {
    const i64 rows = space.group * space.queries;
    if (space.batches * kernels::ceil_div(rows, i64{8}) <= decode_policy::few_tiles)
      by_tiles_of<Blocks, 256>();
    else
      by_tiles_of<Blocks, 128>();
  }
  template <int Blocks, int Threads>
  void by_tiles_of() {
    using kernel = kernels::attention_decode_tiles<T, Key, Out, Mask, Blocks, Threads>;
    launch_parts<kernel>(Threads, kernel::rows_at_once, Threads / 32, kernel::keys, kernel::size);
  }

  /// `teams` of a block have `rows_at_once` rows and `keys` keys each, and sums of `size` elements.
  template <class Kernel>
  void launch_parts(int threads, i64 rows_at_once, i64 teams, i64 keys, i64 size) {
    using merge = kernels::attention_decode_merge<Out>;
    const i64 step = teams * keys;
    const i64 rows = space.group * space.queries;
    space.row_tiles = kernels::ceil_div(rows, rows_at_once);
    const i64 tiles = space.batches * space.row_tiles;
    const i64 all = kernels::ceil_div(space.keys, step);
    const i64 wanted = decode_policy::parts(tiles, all, decode_policy::units * Kernel::min_blocks);
    const i64 length = kernels::ceil_div(all, wanted) * step;
    const i64 parts = kernels::max_of(kernels::ceil_div(space.keys, length), i64{1});
    config.tiles = tiles * parts;
    config.threads = threads;
    config.scratch = 2 * scratch_bytes<f32>(teams * rows_at_once) +
                     scratch_bytes<f32>(teams * rows_at_once * size);
    const auto attend = [&](f32* found) {
      launch<Kernel>(stream, config, space, q, k, v, mask, out, scale, parts, length, found);
    };
    if (parts == 1) return attend(nullptr);
    auto found = empty<f32>(
        stream, shape{space.batches * rows * parts * kernels::decode_found(space.value_size)},
        config.op);
    attend(found.data());
    config.tiles = space.batches * rows;
    config.threads = merge::max_threads;
    const i64 abreast = merge::teams(merge::max_threads, space.value_size);
    config.scratch =
        2 * scratch_bytes<f32>(abreast) + scratch_bytes<f32>(abreast * space.value_size);
    launch<merge>(stream, config, space, out, parts, static_cast<const f32*>(found.data()));
  }
};

}  // namespace flaggems::detail
