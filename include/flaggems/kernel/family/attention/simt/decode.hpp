// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of few queries on SIMT devices, which is bound by reading keys and values: each is read
// once, by vectors, for all queries that share it. Keys are split into parts whose partial results
// are combined afterwards in a fixed order. T. Dao et al.: Flash-Decoding for long-context
// inference, 2023.
#pragma once

#include <flaggems/kernel/block/simt/machine.hpp>
#include <flaggems/kernel/block/simt/reduce_values.hpp>
#include <flaggems/kernel/family/attention/mask.hpp>
#include <flaggems/kernel/lang/divider.hpp>
#include <flaggems/kernel/math/exp.hpp>

namespace flaggems::kernels {

/// A decode problem: counts of 32 bits, and precomputed divisors. Queries that share keys are rows:
/// row r is position r % queries of head r / queries.
struct decode_space {
  static constexpr int most_cluster = 8;  // blocks that share a part
  i32 keys, head_size, value_size, rows;
  i32 diagonal;  // position i sees the keys j <= i + diagonal
  f32 scale;
  divider queries, heads, row_tiles, parts;
  u32 tiles;
  i32 length, share;  // the keys per part, and per block of a cluster
};

/// The offsets of a batch of the keys' heads.
struct decode_place {
  i64 outer, inner;
  FLAGGEMS_INLINE decode_place(i64 o, i64 i) : outer(o), inner(i) {}
  template <class Space>
  FLAGGEMS_INLINE decode_place(const Space& space, u32 batch) {
    const u32 before = space.heads.quotient(batch);
    outer = before;
    inner = batch - before * space.heads.divisor;
  }
};

/// Which query a row is.
struct decode_query {
  i32 head, position;
  FLAGGEMS_INLINE decode_query(const decode_space& space, int row) {
    head = static_cast<i32>(space.queries.quotient(static_cast<u32>(row)));
    position = row - head * static_cast<i32>(space.queries.divisor);
  }
  /// The number of keys that it sees.
  FLAGGEMS_INLINE i32 seen(const decode_space& space) const {
    return max_of(0, min_of(space.keys, position + space.diagonal + 1));
  }
};

/// An operand: strides over the batch, from one head of the group, one position and one element to
/// the next.
template <class T>
struct decode_arg {
  global_ptr<T> data;
  i64 outer, inner;
  i32 head, position, element;
  FLAGGEMS_INLINE global_ptr<T> at(const decode_place& p) const {
    return data + (p.outer * outer + p.inner * inner);
  }
  template <class Query>
  FLAGGEMS_INLINE i64 offset(FLAGGEMS_VALUE(Query) row) const {
    return i64{row.head} * head + i64{row.position} * position;
  }
};

/// As attention_mask.
template <class T>
struct decode_mask : decode_arg<const T> {
  template <class Query>
  FLAGGEMS_INLINE attention_mask_row<T> row(const decode_place& p, const Query& query) const {
    return {this->at(p) + this->offset(query), this->element};
  }
};

/// As attention_rule.
template <class Rule>
struct decode_rule : decode_arg<const bool> {
  Rule rule;
  template <class Query>
  FLAGGEMS_INLINE attention_rule_row<Rule> row(const decode_place& p, const Query& query) const {
    return {rule, p.outer * this->outer + p.inner * this->inner + i64{query.head} * this->head,
            query.position, 0};
  }
};

/// The size of a part's result for a row: the largest score, the sum of the exponentials relative
/// to it, and the values weighted with them.
FLAGGEMS_INLINE i64 decode_found(i64 value_size) { return round_up(value_size + 2, 4); }

/// A tile of the launch: some rows of a batch from `first` on, a part of the keys, and the block's
/// share of those in a cluster. Computed from arguments only, before await_earlier.
struct decode_tile {
  decode_place place;
  i32 first;
  i32 begin, end;
  i64 found;  // the index of its first row's result among all parts' of all rows

  template <class Block>
  FLAGGEMS_INLINE decode_tile(const Block& block, const decode_space& space, int at_once, u32 tile)
      : place(space, space.row_tiles.quotient(space.parts.quotient(tile))) {
    const u32 before = space.parts.quotient(tile), batch = space.row_tiles.quotient(before);
    const i32 part = static_cast<i32>(tile - before * space.parts.divisor);
    first = static_cast<i32>(before - batch * space.row_tiles.divisor) * at_once;
    found = (i64{batch} * space.rows + first) * space.parts.divisor + part;
    const decode_query low(space, first);
    decode_query last(space, min_of(first + at_once, space.rows) - 1);
    // With several heads, some row before it is at the last position.
    if (last.head > low.head) last.position = static_cast<i32>(space.queries.divisor) - 1;
    const i32 from = part * space.length;
    const i32 share = block.cluster_blocks() == 1 ? space.length : space.share;
    begin = from + block.cluster_block() * share;
    end = min_of(min_of(begin + share, from + space.length), last.seen(space));
  }
};

/// The combined partial results of some elements of a row.
template <int Elements>
struct decode_sum {
  f32 most = lowest<f32>(), total = 0.0F, sum[Elements] = {};

  /// Adds `Count` parts (given explicitly, as OpenCL does not deduce it from arrays); an absent
  /// part has the lowest score and zeros.
  template <int Count>
  FLAGGEMS_INLINE void add(const f32 (&scores)[Count], const f32 (&totals)[Count],
                           const f32 (&sums)[Count][Elements]) {
    f32 now = most;
    FLAGGEMS_SIMT_UNROLL
    for (int s = 0; s < Count; ++s) now = greater_or_nan(now, scores[s]);
    const f32 shift = now == lowest<f32>() ? 0.0F : now,
              correction = softmax_power<f32>(most - shift);
    most = now;
    total *= correction;
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < Elements; ++e) sum[e] *= correction;
    FLAGGEMS_SIMT_UNROLL
    for (int s = 0; s < Count; ++s) {
      const f32 factor = softmax_power<f32>(scores[s] - shift);
      total = fma(factor, totals[s], total);
      FLAGGEMS_SIMT_UNROLL
      for (int e = 0; e < Elements; ++e) sum[e] = fma(factor, sums[s][e], sum[e]);
    }
  }
  /// No key seen: 0, an empty sum.
  FLAGGEMS_INLINE f32 result(int e) const { return sum[e] / (total == 0.0F ? 1.0F : total); }
};

/// The layout of the sums of a row's `size` elements, `width` per thread: padded so that
/// consecutive threads, and those of the next rows, use different banks.
template <int size, int width>
struct decode_row {
  // avoids bank conflicts among 32 banks
  static constexpr int line = round_up(size / width, 64 / width) + 32 / width;
  static constexpr int length = line * width + (20 - line * width % 16) % 16;
  /// The result that a block of a cluster leaves for the others: score, total and sums.
  static constexpr int whole = 2 + size;
  /// Elements for so many thread groups with so many rows.
  static constexpr int all(int groups, int rows) { return rows * (groups * (2 + length) + whole); }
  FLAGGEMS_INLINE static int place(int vector, int e) { return e * line + vector; }
  FLAGGEMS_INLINE static int place(int e) { return place(e / width, e % width); }
};

/// The partial results of a block's thread groups for `rows` rows, a decode_row of sums each, and
/// their combination. (Template constants: for few keys, this dominates.)
template <class Block, int groups, int rows, class row_type>
struct decode_partials {
  template <class T>
  using array = typename Block::template scratch_type<T>;
  Block& block;
  array<f32> largest, totals, sums, whole;

  FLAGGEMS_INLINE explicit decode_partials(Block& b)
      : block(b),
        largest(b.template scratch<f32>(groups * rows)),
        totals(b.template scratch<f32>(groups * rows)),
        sums(b.template scratch<f32>(groups * rows * row_type::length)),
        whole(b.template scratch<f32>(rows * row_type::whole)) {}

  /// A group's result for a row: score and total; and where its sums begin.
  FLAGGEMS_INLINE void put(int group, int row, f32 score, f32 total) const {
    largest.write(group * rows + row, score);
    totals.write(group * rows + row, total);
  }
  FLAGGEMS_INLINE array<f32> sums_of(int group, int row) const {
    return sums.from((group * rows + row) * row_type::length);
  }
  /// Combines and stores the tile's rows of so many elements: into `found` if they are one of
  /// several parts, else at the batch's output `to`. After a barrier.
  template <class Out>
  FLAGGEMS_INLINE void store(const decode_space& space, const decode_arg<Out>& out,
                             global_ptr<Out> to, const decode_tile& at, int elements,
                             global_ptr<f32> found) const {
    using kernels::store;
    // A thread has two elements of a row, which share the parts' weights.
    const int pairs = elements / 2, all = min_of(rows, space.rows - at.first) * pairs;
    const int blocks = block.cluster_blocks();
    // First combines this block's thread groups, then a share of what the cluster's blocks have.
    for (int members = 1;; members = blocks) {
      const bool is_last = members == blocks;
      const int share = members == 1 ? all : ceil_div(all, blocks);
      const int from = members == 1 ? 0 : block.cluster_block() * share;
      const int end = min_of(from + share, all);
      for (int i = from + block.thread(); i < end; i += block.threads()) {
        const int r = i / pairs, e = i - r * pairs;
        constexpr int most = max_of(groups, decode_space::most_cluster);
        f32 score[most], total[most], sum[most][2];
        if (members == 1)
          read_groups<most>(r, e, pairs, score, total, sum);
        else
          read_blocks<most>(r, e, pairs, blocks, score, total, sum);
        decode_sum<2> x;
        x.template add<most>(score, total, sum);
        if (!is_last) {
          whole.write(r * row_type::whole + 2 + e, x.sum[0]);
          whole.write(r * row_type::whole + 2 + e + pairs, x.sum[1]);
          if (e > 0) continue;
          whole.write(r * row_type::whole, x.most);
          whole.write(r * row_type::whole + 1, x.total);
        } else if (space.parts.divisor == 1) {
          const auto row = to + out.offset(decode_query(space, at.first + r));
          store(row, out.element, lane_scalar{e}, x.result(0));
          store(row, out.element, lane_scalar{e + pairs}, x.result(1));
        } else {
          const auto here =
              found + (at.found + i64{r} * space.parts.divisor) * decode_found(elements);
          here[2 + e] = x.sum[0];
          here[2 + e + pairs] = x.sum[1];
          if (e > 0) continue;
          here[0] = x.most;
          here[1] = x.total;
        }
      }
      if (is_last) break;
      block.sync_cluster();
    }
    if (blocks > 1) block.leave_cluster();  // no block continues or ends while it is read
  }

 private:
  template <int Most>
  FLAGGEMS_INLINE void read_groups(int r, int e, int pairs, f32 (&score)[Most], f32 (&total)[Most],
                                   f32 (&sum)[Most][2]) const {
    FLAGGEMS_SIMT_UNROLL
    for (int s = 0; s < Most; ++s) {
      const bool exists = s < groups;
      score[s] = exists ? largest.read(s * rows + r) : lowest<f32>();
      total[s] = exists ? totals.read(s * rows + r) : 0.0F;
      FLAGGEMS_SIMT_UNROLL
      for (int h = 0; h < 2; ++h)
        sum[s][h] = exists ? sums_of(s, r).read(row_type::place(e + h * pairs)) : 0.0F;
    }
  }
  template <int Most>
  FLAGGEMS_INLINE void read_blocks(int r, int e, int pairs, int blocks, f32 (&score)[Most],
                                   f32 (&total)[Most], f32 (&sum)[Most][2]) const {
    FLAGGEMS_SIMT_UNROLL
    for (int b = 0; b < Most; ++b) {
      score[b] = lowest<f32>();
      total[b] = sum[b][0] = sum[b][1] = 0.0F;
      if (b >= decode_space::most_cluster) continue;
      const bool exists = b < blocks;
      // (An absent one reads its own, as unused loads may be moved after leave_cluster.)
      const auto there =
          block.of_block(whole, exists ? b : block.cluster_block()).from(r * row_type::whole);
      const f32 own_score = there.read(0), own_total = there.read(1);
      const f32 own_sums[2] = {there.read(2 + e), there.read(2 + e + pairs)};
      if (!exists) continue;
      score[b] = own_score;
      total[b] = own_total;
      sum[b][0] = own_sums[0];
      sum[b][1] = own_sums[1];
    }
  }
};

/// `Lanes` consecutive threads are a group: each has a vector of a key, and together they score
/// `keys` keys for Rows queries. Rows * keys <= Lanes. Keys and values are vector-aligned, and a
/// head has at most Lanes vectors.
template <class T, class Key, class Out, class Mask, int Rows, int Lanes, int Threads>
struct attention_decode {
  static constexpr int max_threads = Threads, min_blocks = 512 / Threads;
  static constexpr int width = vec_size<Key>;
  static constexpr int keys = min_of(4, Lanes / Rows);
  static constexpr int count = Rows * keys;
  static constexpr int spread = Lanes / count;  // lanes with the same score
  using row_type = decode_row<Lanes * width, width>;
  static constexpr int most_scratch = 4 * row_type::all(max_threads / Lanes, Rows);
  static constexpr bool awaits_earlier = true;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const decode_space& space,
                                  const decode_arg<const T>& q, const decode_arg<const Key>& k,
                                  const decode_arg<const Key>& v, const Mask& mask,
                                  const decode_arg<Out>& out, global_ptr<f32> found) {
    using values = vec<Key, width>;
    constexpr int groups = max_threads / Lanes;
    const int group = block.thread() / Lanes, lane = block.thread() % Lanes;
    const decode_partials<Block, groups, Rows, row_type> partials(block);
    const int mine = lane * width;  // the first element of this lane's vectors
    const bool has_key = mine < space.head_size, has_value = mine < space.value_size;
    // The score that this lane owns in each step.
    const int my_row = lane / spread / keys, my_key = lane / spread % keys;

    block.for_each_cluster_tile(space.tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const decode_tile at(block, space, Rows, static_cast<u32>(tile));
      const i32 end = at.end;
      const auto query_of = [&](int r) FLAGGEMS_LAMBDA {
        return decode_query(space, min_of(at.first + r, space.rows - 1));
      };
      global_ptr<const T> from_q[Rows];
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        // Rows past the end repeat the last one: computed, not stored.
        from_q[r] = settled<const T>(q.at(at.place) + q.offset(query_of(r)));
      }
      const decode_query own = query_of(my_row);
      const i32 visible = own.seen(space);
      const auto from_k = settled<const Key>(k.at(at.place) + mine);
      const auto from_v = settled<const Key>(v.at(at.place) + mine);
      const auto scores = mask.row(at.place, own);
      const auto to = out.at(at.place);
      block.await_earlier([&]() FLAGGEMS_LAMBDA {
        // A cache's earlier positions are not written by the previous launch, so prefetching is
        // safe.
        FLAGGEMS_SIMT_NO_UNROLL
        for (int s = 0; s < keys; ++s) {
          const i64 j = at.begin + group * keys + s;
          if (j >= end) break;
          if (has_key) prefetch(from_k + j * k.position);
          if (has_value) prefetch(from_v + j * v.position);
        }
      });

      f32 query[Rows][width];
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        FLAGGEMS_SIMT_UNROLL
        for (int e = 0; e < width; ++e)
          query[r][e] =
              has_key ? number_cast<f32>(from_q[r][i64{mine + e} * q.element]) * space.scale : 0.0F;
      }
      f32 sums[Rows][width];
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        FLAGGEMS_SIMT_UNROLL
        for (int e = 0; e < width; ++e) sums[r][e] = 0.0F;
      }
      f32 largest = lowest<f32>(), total = 0.0F;
      // Software pipelining: each step loads the next one's data as soon as it has used its own.
      // Keys and values past the end repeat the last ones, with masked scores.
      values key[keys], value[keys];
      const auto fetch = [&](values(&into)[keys], global_ptr<const Key> from, i32 stride, bool has,
                             i32 start) FLAGGEMS_LAMBDA {
        if (!has || start >= end) return;
        FLAGGEMS_SIMT_UNROLL
        for (int s = 0; s < keys; ++s)
          into[s] = load_vec<width>(from + i64{min_of(start + group * keys + s, end - 1)} * stride);
      };
      FLAGGEMS_SIMT_UNROLL
      for (int s = 0; s < keys; ++s) key[s] = value[s] = values{};
      fetch(key, from_k, k.position, has_key, at.begin);
      fetch(value, from_v, v.position, has_value, at.begin);
      for (i32 start = at.begin; start < end; start += groups * keys) {
        const i32 j = start + group * keys;
        f32 dots[count];
        FLAGGEMS_SIMT_UNROLL
        for (int s = 0; s < keys; ++s) {
          f32 y[width];
          unpack<f32>(key[s], y);
          FLAGGEMS_SIMT_UNROLL
          for (int r = 0; r < Rows; ++r) {
            f32 dot = 0.0F;
            FLAGGEMS_SIMT_UNROLL
            for (int e = 0; e < width; ++e) dot = fma(query[r][e], y[e], dot);
            dots[r * keys + s] = dot;
          }
        }
        fetch(key, from_k, k.position, has_key, start + groups * keys);
        reduce_values<count, Lanes / 2, f32>(block, dots);
        f32 score = lowest<f32>();
        if (j + my_key < min_of(end, visible))
          score = scores.template apply<f32>(lane_scalar{j + my_key}, dots[0]);
        f32 now = greater_or_nan(largest, score);
        for (int beyond = spread; beyond < spread * keys; beyond *= 2)
          now = greater_or_nan(now, block.template shuffle_xor<f32>(now, beyond));
        // No key seen so far: any finite number works, as all exponentials are 0.
        const f32 shift = now == lowest<f32>() ? 0.0F : now;
        f32 correction[Rows], weights[count];
        correction[0] = softmax_power<f32>(largest - shift);
        weights[0] = softmax_power<f32>(score - shift);
        total = fma(total, correction[0], weights[0]);
        largest = now;
        broadcast_values<Rows, Lanes / 2, f32>(block, correction);
        broadcast_values<count, Lanes / 2, f32>(block, weights);
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < Rows; ++r) {
          FLAGGEMS_SIMT_UNROLL
          for (int e = 0; e < width; ++e) sums[r][e] *= correction[r];
        }
        if (start + groups * keys > end) {  // 0 * inf would be NaN
          FLAGGEMS_SIMT_UNROLL
          for (int s = 0; s < keys; ++s)
            if (j + s >= end) value[s] = values{};
        }
        FLAGGEMS_SIMT_UNROLL
        for (int s = 0; s < keys; ++s) {
          f32 y[width];
          unpack<f32>(value[s], y);
          FLAGGEMS_SIMT_UNROLL
          for (int r = 0; r < Rows; ++r) {
            FLAGGEMS_SIMT_UNROLL
            for (int e = 0; e < width; ++e)
              sums[r][e] = fma(weights[r * keys + s], y[e], sums[r][e]);
          }
        }
        fetch(value, from_v, v.position, has_value, start + groups * keys);
      }
      for (int beyond = spread; beyond < spread * keys; beyond *= 2)
        total += block.template shuffle_xor<f32>(total, beyond);

      block.sync();  // the previous tile's results may still be read
      if (lane % (spread * keys) == 0) partials.put(group, my_row, largest, total);
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        const auto to_sums = partials.sums_of(group, r);
        FLAGGEMS_SIMT_UNROLL
        for (int e = 0; e < width; ++e) to_sums.write(row_type::place(lane, e), sums[r][e]);
      }
      block.sync();
      partials.store(space, out, to, at, space.value_size, found);
    });
  }
};

/// Combines the parts' partial results, for each row of each batch. A thread group as wide as a row
/// takes several parts at once; if these are all, one group suffices.
template <class Out, class Logs = no_logs>
struct attention_decode_merge {
  // Few threads with few registers, so that they become resident next to the blocks that they wait
  // for.
  static constexpr int max_threads = 512, min_blocks = 1;
  static constexpr int at_once = 16;
  static constexpr int most_scratch = 4096;
  static constexpr bool awaits_earlier = true;

  FLAGGEMS_INLINE static constexpr i64 groups(i64 threads, i64 size) {
    return max_of(i64(1), threads / round_up(size, i64(32)));
  }
  FLAGGEMS_INLINE static constexpr i64 threads(i64 parts, i64 size) {
    return min_of(i64(max_threads), round_up(size, i64(32)) * ceil_div(parts, i64(at_once)));
  }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const decode_space& space,
                                  const decode_arg<Out>& out, global_ptr<const f32> found,
                                  [[maybe_unused]] const Logs& logs) {
    const int size = space.value_size, count = static_cast<int>(space.parts.divisor);
    const int group_count = static_cast<int>(groups(block.threads(), size));
    // This thread's group, and its first element: the only one unless a row is wider than the
    // block.
    const int group = block.thread() / size, first = block.thread() - group * size;
    const int step = static_cast<int>(decode_found(space.value_size));
    const auto largest = block.template scratch<f32>(group_count);
    const auto totals = block.template scratch<f32>(group_count);
    const auto sums = block.template scratch<f32>(i64(group_count) * size);
    block.admit_next();
    block.for_each_tile(space.tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      // A tile is a row; a batch has as many as row tiles.
      const u32 batch = space.row_tiles.quotient(static_cast<u32>(tile));
      const decode_query row(space, static_cast<int>(tile - i64{batch} * space.rows));
      const auto to = out.at(decode_place(space, batch)) + out.offset(row);
      const auto from = found + tile * count * step;
      block.await_earlier();
      if (group_count > 1) block.sync();  // the previous tile's results may still be read
      for (int e = group < group_count ? first : size; e < size; e += block.threads()) {
        decode_sum<1> x;
        FLAGGEMS_SIMT_NO_UNROLL
        for (int p = group; p < count; p += at_once * group_count) {
          f32 scores[at_once], totals_of[at_once], sums_of[at_once][1];
          FLAGGEMS_SIMT_UNROLL
          for (int s = 0; s < at_once; ++s) {
            const int part = p + s * group_count;
            const auto here = from + min_of(part, count - 1) * step;
            const f32 score = here[0], total = here[1], sum = here[2 + e];
            scores[s] = part < count ? score : lowest<f32>();
            totals_of[s] = part < count ? total : 0.0F;
            sums_of[s][0] = part < count ? sum : 0.0F;
          }
          x.add<at_once>(scores, totals_of, sums_of);
        }
        if (group_count == 1) {
          store(to, out.element, lane_scalar{e}, x.result(0));
          if (e == 0) keep_logs(logs, space, batch, row, x.most, x.total);
          continue;
        }
        sums.write(group * size + e, x.sum[0]);
        if (e > 0) continue;
        largest.write(group, x.most);
        totals.write(group, x.total);
      }
      if (group_count == 1) return;
      block.sync();
      block.for_each(size, [&](i64 e) FLAGGEMS_LAMBDA {
        decode_sum<1> x;
        FLAGGEMS_SIMT_NO_UNROLL
        for (int s = 0; s < group_count; ++s) {
          const f32 score[1] = {largest.read(s)}, total[1] = {totals.read(s)},
                    sum[1][1] = {{sums.read(s * size + e)}};
          x.add<1>(score, total, sum);
        }
        store(to, out.element, lane_scalar{e}, x.result(0));
        if (e == 0) keep_logs(logs, space, batch, row, x.most, x.total);
      });
    });
  }

 private:
  /// The logarithm of a row's sum, if it is kept.
  FLAGGEMS_INLINE static void keep_logs([[maybe_unused]] const Logs& logs,
                                        [[maybe_unused]] const decode_space& space,
                                        [[maybe_unused]] u32 batch,
                                        [[maybe_unused]] const decode_query& row,
                                        [[maybe_unused]] f32 most, [[maybe_unused]] f32 total) {
    if constexpr (!is_same<Logs, no_logs>)
      logs.at(decode_place(space, batch))[logs.offset(row)] = attention_log_sum<f32>(most, total);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/simt/decode.hpp");
