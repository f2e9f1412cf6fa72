// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of few queries on chips, where all time goes by reading keys and values: each is read
// once, by packs, for all queries that share it. Parts of the keys are worked on side by side and
// put together afterwards, always in the same order.
// T. Dao et al.: Flash-Decoding for long-context inference, 2023.
#pragma once

#include <flaggems/kernels/attention.hpp>
#include <flaggems/kernels/fold_values.hpp>

namespace flaggems::kernels {

/// Where a batch of the keys' heads lies. space.rank is 2: indices of arrays that are not known
/// when the kernel is compiled would move its arguments into memory.
FLAGGEMS_INLINE coordinates decode_place(const attention_space& space, i64 batch) {
  coordinates c;
  c.rank = 2;
  c.inner = 0;
  c.at[0] = space.sizes[0] == 1 ? 0 : batch / space.sizes[1];
  c.at[1] = batch - c.at[0] * space.sizes[1];
  return c;
}

/// Which query a row is. Mostly there is one position, and nothing to divide.
struct decode_query {
  int head, position;
  FLAGGEMS_INLINE decode_query(const attention_space& space, int row) {
    const int queries = static_cast<int>(space.queries);
    head = queries == 1 ? row : row / queries;
    position = row - head * queries;
  }
  /// The keys that it sees.
  FLAGGEMS_INLINE i64 seen(const attention_space& space) const {
    return max_of(i64(0), min_of(space.keys, position + space.diagonal + 1));
  }
  template <class T>
  FLAGGEMS_INLINE i64 offset(const attention_arg<T>& x) const {
    return head * x.head + position * x.position;
  }
};

/// What a part of the keys finds for a row: the largest score, the sum of the exponentials less it,
/// and the values weighted with them.
FLAGGEMS_INLINE i64 decode_found(i64 value_size) { return round_up(value_size + 2, 4); }

/// A tile of the launch: so many rows of a batch from `first` on, a part of the keys, and which of
/// those are the block's, in steps of `step` where a cluster has them. It takes several divisions,
/// of nothing but arguments: they are done before the launches ahead are awaited.
struct decode_tile {
  i64 begin, end;
  i64 found;  // the place of what it finds of its first row, among all parts' of all rows
  int first;
  coordinates c;

  template <class Block>
  FLAGGEMS_INLINE decode_tile(const Block& block, const attention_space& space, i64 parts,
                              i64 length, int step, int rows, i64 tile) {
    const i64 before = parts == 1 ? tile : tile / parts;
    const i64 part = tile - before * parts;
    const i64 batch = space.row_tiles == 1 ? before : before / space.row_tiles;
    first = static_cast<int>(before - batch * space.row_tiles) * rows;
    c = decode_place(space, batch);
    const int blocks = block.cluster_blocks();
    const i64 own = blocks == 1 ? length : round_up(ceil_div(length, i64(blocks)), i64(step));
    const int all = static_cast<int>(space.group * space.queries);
    found = (batch * all + first) * parts + part;
    const decode_query low(space, first);
    decode_query last(space, min_of(first + rows, all) - 1);
    // Of several heads, a row before it is at the last position.
    if (last.head > low.head) last.position = static_cast<int>(space.queries) - 1;
    begin = part * length + block.cluster_block() * own;
    end = min_of(min_of(begin + own, (part + 1) * length), last.seen(space));
  }
};

/// What parts of the keys found of an element of a row, put together.
struct decode_sum {
  f32 most = lowest<f32>(), total = 0.0F, sum = 0.0F;

  /// So many parts more; of one that does not exist, the score is the lowest and the rest 0.
  static constexpr int at_once = 8;
  FLAGGEMS_INLINE void add(const f32 (&scores)[at_once], const f32 (&totals)[at_once],
                           const f32 (&sums)[at_once]) {
    f32 now = most;
    static_for<at_once>([&](auto s) FLAGGEMS_LAMBDA {
      now = maximum_of{}.template operator()<f32>(now, scores[s]);
    });
    const f32 shift = now == lowest<f32>() ? 0.0F : now,
              correction = softmax_power<f32>(most - shift);
    most = now;
    total *= correction;
    sum *= correction;
    static_for<at_once>([&](auto s) FLAGGEMS_LAMBDA {
      const f32 factor = softmax_power<f32>(scores[s] - shift);
      total = fma(factor, totals[s], total);
      sum = fma(factor, sums[s], sum);
    });
  }
  /// No key seen: 0, an empty sum.
  FLAGGEMS_INLINE f32 result() const { return sum / (total == 0.0F ? 1.0F : total); }
};

/// Where sums of a row's `size` elements lie, of which a thread has `width` in a row: so that
/// neighbouring threads, and the next rows' beside them, find their own in different banks.
template <int size, int width>
struct decode_row {
  static constexpr int line = round_up(size / width, 64 / width) + 32 / width;  // of 32 banks
  static constexpr int length = line * width + (20 - line * width % 16) % 16;
  /// What a block of a cluster leaves for the others, as these read it: score, total and sums.
  static constexpr int whole = 2 + size;
  /// Elements for so many teams, with so many rows.
  static constexpr int all(int teams, int rows) { return rows * (teams * (2 + length) + whole); }
  FLAGGEMS_INLINE static int place(int pack, int e) { return e * line + pack; }
  FLAGGEMS_INLINE static int place(int e) { return place(e / width, e % width); }
};

/// Where a block's teams leave what they found of `rows` rows, a decode_row of sums each, and how
/// it becomes that of the block. (Numbers are known to the compiler: for few keys, what is not the
/// loop over them is most of the time.)
template <class Block, int teams, int rows, class row_type>
struct decode_findings {
  template <class T>
  using array = typename Block::template scratch_type<T>;
  Block& block;
  array<f32> largest, totals, sums, whole;

  FLAGGEMS_INLINE explicit decode_findings(Block& b)
      : block(b),
        largest(b.template scratch<f32>(teams * rows)),
        totals(b.template scratch<f32>(teams * rows)),
        sums(b.template scratch<f32>(teams * rows * row_type::length)),
        whole(b.template scratch<f32>(rows * row_type::whole)) {}

  FLAGGEMS_INLINE f32 most_of(int row) const {
    f32 most = lowest<f32>();
    static_for<teams>([&](auto s) FLAGGEMS_LAMBDA {
      most = maximum_of{}.template operator()<f32>(most, largest.read(s * rows + row));
    });
    return most;
  }
  /// What a team with this largest score multiplies its total and sums of a row with. After a
  /// barrier.
  FLAGGEMS_INLINE f32 factor(int row, f32 mine) const {
    const f32 most = most_of(row);
    return softmax_power<f32>(mine - (most == lowest<f32>() ? 0.0F : most));
  }
  /// Element e of a pack.
  FLAGGEMS_INLINE void put(int team, int row, int pack, int e, f32 sum) const {
    sums.write((team * rows + row) * row_type::length + row_type::place(pack, e), sum);
  }
  /// The tile's rows, of so many elements: into `found` if they are one of several parts, else
  /// where the batch's begin, `to`. After a barrier.
  template <class Out>
  FLAGGEMS_INLINE void store(const attention_space& space, const attention_arg<Out>& out,
                             global_ptr<Out> to, const decode_tile& at, int elements, i64 parts,
                             global_ptr<f32> found) const {
    using kernels::store;
    const int all_rows = static_cast<int>(space.group * space.queries);
    const int all = min_of(rows, all_rows - at.first) * elements;
    const auto put = [&](int r, int e, const decode_sum& x) FLAGGEMS_LAMBDA {
      if (parts > 1) {
        const auto here = found + (at.found + r * parts) * decode_found(elements);
        if (e == 0) {
          here[0] = x.most;
          here[1] = x.total;
        }
        here[2 + e] = x.sum;
      } else {
        store(to + decode_query(space, at.first + r).offset(out), out.element, lane_scalar{e},
              x.result());
      }
    };
    const int blocks = block.cluster_blocks();
    block.for_each(all, [&](i64 i) FLAGGEMS_LAMBDA {
      const int r = static_cast<int>(i) / elements, e = static_cast<int>(i) - r * elements;
      decode_sum x;
      static_for<teams>([&](auto s) FLAGGEMS_LAMBDA {
        x.total += totals.read(s * rows + r);
        x.sum += sums.read((s * rows + r) * row_type::length + row_type::place(e));
      });
      if (e == 0 && (blocks > 1 || parts > 1)) x.most = most_of(r);
      if (blocks == 1) return put(r, e, x);
      whole.write(r * row_type::whole + 2 + e, x.sum);
      if (e == 0) {
        whole.write(r * row_type::whole, x.most);
        whole.write(r * row_type::whole + 1, x.total);
      }
    });
    if (blocks == 1) return;
    block.sync_cluster();
    constexpr int at_once = decode_sum::at_once;  // the host lets a cluster have no more blocks
    for (int i = block.cluster_block() * block.threads() + block.thread(); i < all;
         i += blocks * block.threads()) {
      const int r = i / elements, e = i - r * elements;
      f32 scores[at_once], totals_of[at_once], sums_of[at_once];
      static_for<at_once>([&](auto b) FLAGGEMS_LAMBDA {
        const bool exists = b < blocks;
        const auto there = block.of_block(whole, exists ? b : 0).from(r * row_type::whole);
        const f32 score = there.read(0), total = there.read(1), sum = there.read(2 + e);
        scores[b] = exists ? score : lowest<f32>();
        totals_of[b] = exists ? total : 0.0F;
        sums_of[b] = exists ? sum : 0.0F;
      });
      decode_sum x;
      x.add(scores, totals_of, sums_of);
      put(r, e, x);
    }
    block.sync_cluster();  // no block goes on, or ends, while what it found is read
  }
};

/// `Lanes` neighbouring threads are a team, which has a pack of a key each, and scores `keys` of
/// them for Rows queries at once. Rows * keys <= Lanes. Keys and values begin packs everywhere, and
/// a head has Lanes packs at most.
template <class T, class Key, class Out, class Mask, int Rows, int Lanes>
struct attention_decode {
  static constexpr int max_threads = 128, min_blocks = 4;
  static constexpr int width = pack_size<Key>;
  static constexpr int keys = min_of(4, Lanes / Rows);
  static constexpr int count = Rows * keys;
  static constexpr int spread = Lanes / count;  // lanes with the same score
  using row_type = decode_row<Lanes * width, width>;
  static constexpr int most_scratch = 4 * row_type::all(max_threads / Lanes, Rows);
  static constexpr bool awaits_earlier = true;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, attention_space space, attention_arg<const T> q,
                                  attention_arg<const Key> k, attention_arg<const Key> v, Mask mask,
                                  attention_arg<Out> out, f32 scale, i64 parts, i64 length,
                                  global_ptr<f32> found) {
    using values = pack<Key, width>;
    constexpr int teams = max_threads / Lanes;
    const int team = block.thread() / Lanes, lane = block.thread() % Lanes;
    const decode_findings<Block, teams, Rows, row_type> findings(block);
    const int rows = static_cast<int>(space.group * space.queries);
    const int mine = lane * width;  // the first element of this lane's packs
    const bool has_key = mine < space.head_size, has_value = mine < space.value_size;
    // The score that this lane has of each step.
    const int my_row = lane / spread / keys, my_key = lane / spread % keys;

    const i64 tiles = space.batches * space.row_tiles * parts;
    block.for_each_cluster_tile(tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const decode_tile at(block, space, parts, length, teams * keys, Rows, tile);
      const int first = at.first;
      const i64 begin = at.begin, end = at.end;
      const coordinates& c = at.c;
      global_ptr<const T> from_q[Rows];
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r) {
        // Rows beyond the last are the last one again: computed, not stored.
        from_q[r] = q.at(c) + decode_query(space, min_of(first + r, rows - 1)).offset(q);
      }
      const decode_query own(space, min_of(first + my_row, rows - 1));
      const i64 visible = own.seen(space);
      const auto from_k = k.at(c) + mine, from_v = v.at(c) + mine;
      const auto scores = mask.row(c, own.head, own.position, 0);
      const auto to = out.at(c);
      block.await_earlier();

      f32 query[Rows][width];
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r) {
        FLAGGEMS_CHIP_UNROLL
        for (int e = 0; e < width; ++e)
          query[r][e] =
              has_key ? number_cast<f32>(from_q[r][(mine + e) * q.element]) * scale : 0.0F;
      }
      f32 sums[Rows][width];
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r) {
        FLAGGEMS_CHIP_UNROLL
        for (int e = 0; e < width; ++e) sums[r][e] = 0.0F;
      }
      f32 largest = lowest<f32>(), total = 0.0F;
      for (i64 start = begin; start < end; start += teams * keys) {
        const i64 j = start + team * keys;
        values key[keys], value[keys];
        const auto fetch = [&](values(&to)[keys], global_ptr<const Key> from, i64 stride, bool has)
                               FLAGGEMS_LAMBDA {
                                 FLAGGEMS_CHIP_UNROLL
                                 for (int s = 0; s < keys; ++s) {
                                   to[s] = values{};
                                   if (has && j + s < end)
                                     to[s] = load_pack<width>(from + (j + s) * stride);
                                 }
                               };
        fetch(key, from_k, k.position, has_key);
        fetch(value, from_v, v.position, has_value);
        f32 dots[count];
        FLAGGEMS_CHIP_UNROLL
        for (int s = 0; s < keys; ++s) {
          f32 y[width];
          unpack<f32>(key[s], y);
          FLAGGEMS_CHIP_UNROLL
          for (int r = 0; r < Rows; ++r) {
            f32 dot = 0.0F;
            FLAGGEMS_CHIP_UNROLL
            for (int e = 0; e < width; ++e) dot = fma(query[r][e], y[e], dot);
            dots[r * keys + s] = dot;
          }
        }
        fold_values<count, Lanes / 2, f32>(block, dots);
        f32 score = lowest<f32>();
        if (j + my_key < min_of(end, visible))
          score = scores.template apply<f32>(lane_scalar{j + my_key}, dots[0]);
        f32 now = maximum_of{}.template operator()<f32>(largest, score);
        for (int beyond = spread; beyond < spread * keys; beyond *= 2)
          now = maximum_of{}.template operator()<f32>(
              now, block.template of_neighbour<f32>(now, beyond));
        // Nothing seen so far: any number but -inf will do, all exponentials are 0.
        const f32 shift = now == lowest<f32>() ? 0.0F : now;
        f32 correction[Rows], weights[count];
        correction[0] = softmax_power<f32>(largest - shift);
        weights[0] = softmax_power<f32>(score - shift);
        total = fma(total, correction[0], weights[0]);
        largest = now;
        unfold_values<Rows, Lanes / 2, f32>(block, correction);
        unfold_values<count, Lanes / 2, f32>(block, weights);
        FLAGGEMS_CHIP_UNROLL
        for (int r = 0; r < Rows; ++r) {
          FLAGGEMS_CHIP_UNROLL
          for (int e = 0; e < width; ++e) sums[r][e] *= correction[r];
        }
        FLAGGEMS_CHIP_UNROLL
        for (int s = 0; s < keys; ++s) {
          f32 y[width];
          unpack<f32>(value[s], y);
          FLAGGEMS_CHIP_UNROLL
          for (int r = 0; r < Rows; ++r) {
            FLAGGEMS_CHIP_UNROLL
            for (int e = 0; e < width; ++e)
              sums[r][e] = fma(weights[r * keys + s], y[e], sums[r][e]);
          }
        }
      }
      for (int beyond = spread; beyond < spread * keys; beyond *= 2)
        total += block.template of_neighbour<f32>(total, beyond);

      block.sync();  // what the tile before left may still be read
      if (lane % (spread * keys) == 0) findings.largest.write(team * Rows + my_row, largest);
      block.sync();
      if (lane % (spread * keys) == 0)
        findings.totals.write(team * Rows + my_row, total * findings.factor(my_row, largest));
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r) {
        const f32 factor = findings.factor(r, findings.largest.read(team * Rows + r));
        FLAGGEMS_CHIP_UNROLL
        for (int e = 0; e < width; ++e) findings.put(team, r, lane, e, sums[r][e] * factor);
      }
      block.sync();
      findings.store(space, out, to, at, static_cast<int>(space.value_size), parts, found);
    });
  }
};

/// The parts' findings together, for each row of each batch. Teams of threads, each as wide as a
/// row, have several parts at once.
template <class Out>
struct attention_decode_merge {
  // One block: compiled for two of them, it would keep in memory what it finds before it waits.
  static constexpr int max_threads = 512, min_blocks = 1;
  static constexpr int at_once = decode_sum::at_once;
  static constexpr int most_scratch = 4096;
  static constexpr bool awaits_earlier = true;

  FLAGGEMS_INLINE static constexpr i64 teams(i64 threads, i64 size) {
    return max_of(i64(1), threads / round_up(size, i64(32)));
  }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, attention_space space, attention_arg<Out> out,
                                  i64 parts, global_ptr<const f32> found) {
    const int size = static_cast<int>(space.value_size), count = static_cast<int>(parts);
    const int abreast = static_cast<int>(teams(block.threads(), size));
    const i64 rows = space.group * space.queries;
    // This thread's, and its first element: the only one, unless a row is wider than the block.
    const int team = block.thread() / size, first = block.thread() - team * size;
    const int step = static_cast<int>(decode_found(space.value_size));
    const auto largest = block.template scratch<f32>(abreast);
    const auto totals = block.template scratch<f32>(abreast);
    const auto sums = block.template scratch<f32>(i64(abreast) * size);
    block.for_each_tile(space.batches * rows, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 batch = tile / rows;
      const decode_query row(space, static_cast<int>(tile - batch * rows));
      const auto to = out.at(decode_place(space, batch)) + row.offset(out);
      const auto from = found + tile * parts * step;
      block.await_earlier();
      block.sync();  // what the tile before left may still be read
      for (int e = team < abreast ? first : size; e < size; e += block.threads()) {
        decode_sum x;
        for (int p = team; p < count; p += at_once * abreast) {
          f32 scores[at_once], totals_of[at_once], sums_of[at_once];
          static_for<at_once>([&](auto s) FLAGGEMS_LAMBDA {
            const int part = p + s * abreast;
            const auto here = from + i64(min_of(part, count - 1)) * step;
            const f32 score = here[0], total = here[1], sum = here[2 + e];
            scores[s] = part < count ? score : lowest<f32>();
            totals_of[s] = part < count ? total : 0.0F;
            sums_of[s] = part < count ? sum : 0.0F;
          });
          x.add(scores, totals_of, sums_of);
        }
        sums.write(team * size + e, x.sum);
        if (e == 0) {
          largest.write(team, x.most);
          totals.write(team, x.total);
        }
      }
      block.sync();
      block.for_each(size, [&](i64 e) FLAGGEMS_LAMBDA {
        f32 most = lowest<f32>(), total = 0.0F, sum = 0.0F;
        for (int s = 0; s < abreast; ++s)
          most = maximum_of{}.template operator()<f32>(most, largest.read(s));
        const f32 shift = most == lowest<f32>() ? 0.0F : most;
        for (int s = 0; s < abreast; ++s) {
          const f32 factor = softmax_power<f32>(largest.read(s) - shift);
          total = fma(factor, totals.read(s), total);
          sum = fma(factor, sums.read(s * size + e), sum);
        }
        // No key seen: 0, an empty sum.
        store(to, out.element, lane_scalar{e}, f32(sum / (total == 0.0F ? 1.0F : total)));
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/attention_decode.hpp");
