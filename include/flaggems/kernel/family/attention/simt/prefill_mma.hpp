// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of many queries on SIMT devices with matrix units: tiles of keys and values pass
// through block-local memory, while scores, weights and sums stay in registers. T. Dao:
// FlashAttention-2, 2023 (arXiv:2307.08691).
#pragma once

#include <flaggems/kernel/block/simt/matrix_units.hpp>
#include <flaggems/kernel/family/attention/simt/decode.hpp>

namespace flaggems::kernels {

/// 2^x, as precise as softmax_power where there is an instruction.
FLAGGEMS_INLINE f32 softmax_power_of_two(f32 x) {
  if constexpr (has_exp2_at_once<f32>)
    return exp2_at_once(x);
  else
    return exp2(x);
}

/// The logarithm of the sum of a row's exponentials, given the sum relative to 2^shift.
FLAGGEMS_INLINE f32 prefill_log_sum(f32 shift, f32 sum) {
  using ln2 = ln2_constants<f32>;
  return attention_log_sum<f32>(fma(shift, ln2::high, shift * ln2::low), sum);
}

/// The rows that a block attends, of one batch: from `first` on.
struct prefill_tile {
  u32 batch;
  i32 first;
  /// Whether there are such rows, in the problem that it is of.
  template <class Space>
  FLAGGEMS_INLINE bool exists(const Space& space) const {
    return batch < space.batches;
  }
  template <class Space>
  FLAGGEMS_INLINE decode_place of_queries(const Space& space) const {
    return decode_place(space, batch);
  }
  template <class Space>
  FLAGGEMS_INLINE const decode_place& of_keys(const Space&, const decode_place& queries) const {
    return queries;
  }
  /// What has rows, keys and the diagonal: the problem.
  template <class Space>
  FLAGGEMS_INLINE const Space& bounds(const Space& space) const {
    return space;
  }
  /// The first key that some row sees from position `first` on.
  FLAGGEMS_INLINE i32 begin(i32) const { return 0; }
  /// Elements by which results are behind those of the batch.
  FLAGGEMS_INLINE i64 results_from() const { return 0; }
};

/// A prefill problem: counts of 32 bits, and precomputed divisors. Queries that share keys are
/// rows: row r is position r / group of head r % group, so that rows nearby see the same keys.
struct prefill_space {
  static constexpr bool has_pages = false;
  i32 keys, head_size, value_size, rows;
  i32 diagonal;  // position i sees the keys j <= i + diagonal
  f32 scale;     // positive
  divider group, heads;
  // Tiles: of `at_once` batches, whose keys and values a cache holds, the tiles of the last rows,
  // which see the most keys, then those before; then of the next batches.
  divider at_once, tiles_at_once;
  u32 row_tiles, batches, tiles;
  bool is_out_aligned;  // to vectors of attention_prefill_tiles::width elements

  FLAGGEMS_INLINE prefill_tile tile(u32 tile, i32 at_once_rows) const {
    const u32 turn = tiles_at_once.quotient(tile);
    const u32 rest = tile - turn * tiles_at_once.divisor;
    const u32 before = at_once.quotient(rest);
    const u32 batch = turn * at_once.divisor + rest - before * at_once.divisor;
    return {batch, static_cast<i32>(row_tiles - 1 - before) * at_once_rows};
  }
};

/// Which query a row is.
struct prefill_query {
  i32 head, position;
  template <class Space>
  FLAGGEMS_INLINE prefill_query(const Space& space, i32 row) {
    position = static_cast<i32>(space.group.quotient(static_cast<u32>(row)));
    head = row - position * static_cast<i32>(space.group.divisor);
  }
  /// The number of keys that it sees.
  template <class Bounds>
  FLAGGEMS_INLINE i32 seen(const Bounds& bounds) const {
    return max_of(0, min_of(bounds.keys, position + bounds.diagonal + 1));
  }
};

/// What a thread has first of the products of its warp, which has `rows` rows of a tile.
template <class Unit>
struct prefill_fragment {
  int row, column;
  FLAGGEMS_INLINE prefill_fragment(int thread, int rows)
      : row(thread / Unit::lanes * rows + Unit::row(thread % Unit::lanes)),
        column(Unit::column(thread % Unit::lanes)) {}
};

/// The elements of a block of a head: those that eight threads copy at once.
inline constexpr int prefill_elements = 64;

/// Logarithms of a part of the keys, and the ones behind them, as attention_decode_merge takes
/// parts of results that have been divided by their sums.
struct prefill_parts : decode_arg<f32> {};

FLAGGEMS_INLINE void keep_log_sum(const decode_arg<f32>&, global_ptr<f32> to, f32 log_sum) {
  *to = log_sum;
}
FLAGGEMS_INLINE void keep_log_sum(const prefill_parts&, global_ptr<f32> to, f32 log_sum) {
  to[0] = log_sum;
  to[1] = 1.0F;
}

/// What sums a warp has of the values: of a tile of their own, all of them.
template <int Blocks>
struct prefill_values {
  static constexpr int blocks = Blocks, parts = 1;
  static constexpr bool are_of_keys = false;
};
/// Latent keys: values are a key's first 64 * Blocks * Parts elements. Parts warps, which compute
/// the same scores, have a part of the sums each, for all of which one has no registers.
template <int Blocks, int Parts>
struct latent_values {
  static constexpr int blocks = Blocks, parts = Parts;
  static constexpr bool are_of_keys = true;
};

/// Queries, keys and values of T (bf16 or f16), vector-aligned, in heads of up to 64 * Blocks
/// elements. A warp (the lanes of Unit) has 16 * RowTiles rows; a block takes Keys keys at a time,
/// and copies the next ones meanwhile.
// Scores are scaled to powers of two; a scale below 0 would make the largest the smallest.
template <class T, class Out, class Mask, class Logs, int Blocks, int RowTiles, int Keys, int Warps,
          class Unit = mma_unit<T>, class Values = prefill_values<Blocks>>
struct attention_prefill_tiles {
  static constexpr int max_threads = Unit::lanes * Warps, exact_threads = max_threads;
  /// Rows of 16 that a thread has sums of, and how many in 16 x Unit::columns.
  static constexpr int own_rows = Unit::own_rows, each = Unit::sums / own_rows;
  static constexpr int columns = Unit::columns, halves = 16 / columns;
  static constexpr int size = prefill_elements * Blocks, vectors = size / 8;
  static constexpr int warp_rows = 16 * RowTiles, rows = warp_rows * Warps / Values::parts;
  /// Elements of values that a warp, and all, have sums of; where the lines of values begin.
  static constexpr int own_size = prefill_elements * Values::blocks;
  static constexpr int result_size = own_size * Values::parts;
  static constexpr int first_value = Values::are_of_keys ? 0 : Keys;
  static_assert(result_size <= size && Warps % Values::parts == 0);
  /// Two tiles of keys and values: one is used while the other arrives.
  static constexpr int tile_vectors = (first_value + Keys) * vectors;
  static constexpr int most_scratch = 16 * (rows * vectors + 2 * tile_vectors);
  /// Scores grow by so many powers of two before sums are scaled anew: weights stay far from the
  /// largest number of T, and few steps have to wait for that.
  static constexpr int slack = 8;
  /// Elements of the output that are stored at once.
  static constexpr int width = min_of(8, vec_size<Out>);
  static_assert(rows * result_size * static_cast<int>(sizeof(Out)) <= most_scratch,
                "flaggems: results take the place of queries, keys and values");
  static constexpr int min_blocks = 8 / Warps;  // warps have all registers that they can
  /// Whether the fragments of the queries stay in registers.
  static constexpr bool keeps_queries = Blocks * RowTiles <= 2;
  static constexpr bool is_masked = !is_same<Mask, no_mask>;
  using words = vec<u32, 4>;

  /// Eight threads copy 128 bytes of a line, all threads as many lines at a time.
  static constexpr int lines_at_once = max_threads / 8;
  static_assert(lines_at_once % 8 == 0 && Keys % lines_at_once == 0 && rows % lines_at_once == 0,
                "flaggems: each thread copies vectors of lines with the same number modulo 8");

  /// The index of vector 2 * pair + odd of a line of a tile, permuted so that eight lines' vectors
  /// have no bank conflicts.
  FLAGGEMS_INLINE static int place(int line, int pair, int odd) {
    return ((line * vectors + (odd ^ line % 8)) ^ (pair % 4 * 2)) + pair / 4 * 8;
  }
  /// Where a lane's vector is, for load_tiles, of the 16 lines from `line` on and the elements from
  /// 16 * pair on: pairs of matrices have the same elements of all lines, ...
  FLAGGEMS_INLINE static int lines_at(int lane, int line, int pair) {
    return place(lane % 16, pair, lane / 16) + line * vectors;
  }
  /// ... or all elements of eight lines.
  FLAGGEMS_INLINE static int elements_at(int lane, int line, int pair) {
    return place(lane / 16 * 8 + lane % 8, pair, lane / 8 % 2) + line * vectors;
  }

  /// The unit's fragment of 16 lines from `line` on and the elements from 16 * pair on, ...
  template <class Block>
  FLAGGEMS_INLINE static void load_lines(const Block& block,
                                         const typename Block::template scratch_type<words>& from,
                                         int line, int pair, u32 (&x)[Unit::words]) {
    constexpr int together = min_of(Unit::words, 4), parts = 4 / together;  // of a vector
    const auto found = from.template as<vec<u32, together>>();
    const int lane = block.thread() % Unit::lanes, byte = Unit::byte(lane);
    FLAGGEMS_SIMT_UNROLL
    for (int w = 0; w < Unit::words; w += together) {
      const int at = place(Unit::line(lane), pair, (byte + 4 * w) / 16) + line * vectors;
      const auto got = found.read(at * parts + byte / (4 * together) % parts);
      FLAGGEMS_SIMT_UNROLL
      for (int e = 0; e < together; ++e) x[w + e] = got.at[e];
    }
  }
  /// ... and of the same transposed: 16 elements, and as terms the lines.
  template <class Block>
  FLAGGEMS_INLINE static void load_elements(
      const Block& block, const typename Block::template scratch_type<words>& from, int line,
      int pair, u32 (&x)[Unit::words]) {
    const auto found = from.template as<T>();
    const int lane = block.thread() % Unit::lanes, e = Unit::line(lane);
    FLAGGEMS_SIMT_UNROLL
    for (int w = 0; w < Unit::words; ++w) {
      const int term = Unit::byte(lane) / 2 + 2 * w;
      const auto bits_of = [&](int l) FLAGGEMS_LAMBDA {
        return u32{found.read((place(l, pair, e / 8) + line * vectors) * 8 + e % 8).bits};
      };
      x[w] = bits_of(term) | bits_of(term + 1) << 16;
    }
  }
  /// Scores of 16 keys as the fragment of an operand, rounded to T.
  template <class Block>
  FLAGGEMS_INLINE static void to_operand([[maybe_unused]] const Block& block, u32 (&x)[Unit::words],
                                         const f32 (*scores)[Unit::sums]) {
    FLAGGEMS_SIMT_UNROLL
    for (int w = 0; w < Unit::words; ++w) {
      if constexpr (2 * Unit::words == halves * Unit::sums) {  // where they are
        const auto& piece = scores[2 * w / Unit::sums];
        x[w] = pack_halves<T>(piece[2 * w % Unit::sums], piece[2 * w % Unit::sums + 1]);
      } else {  // every other one of a row is in another lane
        static_assert(Unit::row_lanes == 2 && Unit::step == 2 && halves == 1);
        const f32 mine = scores[0][w], other = block.template shuffle_xor<f32>(mine, Unit::partner);
        const bool is_first = Unit::column(block.thread() % Unit::lanes) == 0;
        x[w] = is_first ? pack_halves<T>(mine, other) : pack_halves<T>(other, mine);
      }
    }
  }

  /// The index of element e of a line of results, permuted likewise.
  FLAGGEMS_INLINE static int result_at(int line, int e) {
    return line * result_size + (e ^ line % 8 * 8);
  }
  /// What a thread has first, of its warp's rows; the part of the sums that the warp has.
  FLAGGEMS_INLINE static int group_of(int thread) { return thread / Unit::lanes / Values::parts; }
  FLAGGEMS_INLINE static int part_of(int thread) { return thread / Unit::lanes % Values::parts; }
  FLAGGEMS_INLINE static prefill_fragment<Unit> fragment_of(int thread) {
    return {group_of(thread) * Unit::lanes + thread % Unit::lanes, warp_rows};
  }

  template <class Block, class Space>
  FLAGGEMS_INLINE static void run(Block& block, const Space& space, const decode_arg<const T>& q,
                                  const decode_arg<const T>& k, const decode_arg<const T>& v,
                                  const Mask& mask, const decode_arg<Out>& out, const Logs& logs) {
    using array = typename Block::template scratch_type<words>;
    const auto queries = block.template scratch<words>(most_scratch / 16);
    const auto tiles = queries.from(rows * vectors);
    const auto results = queries.template as<vec<Out, width>>();

    block.for_each_tile(space.tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      // Opaque, so that what follows from it is no invariant of this loop, which registers keep.
      const int thread = settled(block.thread());
      const int line = thread / 8, vector = thread % 8;  // of what it copies
      const auto here = space.tile(static_cast<u32>(tile), rows);
      if (!here.exists(space)) return;
      const auto& bounds = here.bounds(space);
      const auto at = here.of_queries(space);
      const i32 first = here.first, last = min_of(first + rows, bounds.rows) - 1;
      // The keys that some row sees, and those that every row does.
      const i32 end = prefill_query(space, last).seen(bounds);
      const i32 least = prefill_query(space, first).seen(bounds);
      const i32 begin = here.begin(prefill_query(space, first).position) / Keys * Keys;
      // Copies a thread's vectors of line + i, from its first one on; zeros where none exists.
      const int spot = place(line, 0, vector);
      const auto copy_line = [&](const array& to, int i, global_ptr<const T> from, bool exists,
                                 i32 elements) FLAGGEMS_LAMBDA {
        FLAGGEMS_SIMT_UNROLL
        for (int b = 0; b < Blocks; ++b)
          block.template copy_async<words>(
              to, spot + i * vectors + b * 8,
              reinterpret_cast<global_ptr<const words>>(from + b * prefill_elements),
              exists && b * prefill_elements < elements);
      };
      // The tile that is fetched next: where it goes, and the thread's first line of it. What no
      // row sees is zeros, so that no number is multiplied by its weight of 0.
      int slot = 0;
      i32 left = end - begin - line;
      auto from_k = settled<const T>(k.at(here.of_keys(space, at)) +
                                     (i64{begin + line} * k.position + vector * 8));
      [[maybe_unused]] auto from_v = settled<const T>(
          v.at(here.of_keys(space, at)) + (i64{begin + line} * v.position + vector * 8));
      const auto fetch = [&]() FLAGGEMS_LAMBDA {
        const auto to = tiles.from(slot * tile_vectors);
        const i32 passed = settled(block.thread()) % 8 * 8;  // elements
        FLAGGEMS_SIMT_UNROLL
        for (int i = 0; i < Keys; i += lines_at_once) {
          if constexpr (Space::has_pages) from_k = here.key(k, end - left + i) + passed;
          copy_line(to, i, from_k, i < left, space.head_size - passed);
          from_k += i64{lines_at_once} * k.position;
        }
        if constexpr (!Values::are_of_keys) {
          FLAGGEMS_SIMT_UNROLL
          for (int i = 0; i < Keys; i += lines_at_once) {
            if constexpr (Space::has_pages) from_v = here.key(v, end - left + i) + passed;
            copy_line(to, Keys + i, from_v, i < left, space.value_size - passed);
            from_v += i64{lines_at_once} * v.position;
          }
        }
        block.commit_copies();
        slot ^= 1;
        left -= Keys;
      };

      // Weights are powers of two of scores relative to `shift`, which follows the largest score:
      // from a number below all others, as that of no score, -inf, has no difference to itself.
      f32 sums[RowTiles][own_size / columns][Unit::sums], shift[RowTiles][own_rows],
          total[RowTiles][own_rows];
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < RowTiles; ++r) {
        FLAGGEMS_SIMT_UNROLL
        for (int n = 0; n < own_size / columns; ++n) {
          FLAGGEMS_SIMT_UNROLL
          for (int e = 0; e < Unit::sums; ++e) sums[r][n][e] = 0.0F;
        }
        FLAGGEMS_SIMT_UNROLL
        for (int h = 0; h < own_rows; ++h) {
          shift[r][h] = -0x1.fffffep127F;
          total[r][h] = 0.0F;
        }
      }
      // A fragment of 16 rows and 16 elements of the queries.
      const auto load_query = [&](u32(&to)[Unit::words], int r, int d) FLAGGEMS_LAMBDA {
        if constexpr (Unit::takes_loaded_tiles)
          block.template load_tiles<false, words>(to, queries, [&](int l) FLAGGEMS_LAMBDA {
            return lines_at(l, group_of(thread) * warp_rows + r * 16, d);
          });
        else
          load_lines(block, queries, group_of(thread) * warp_rows + r * 16, d, to);
      };
      u32 kept[keeps_queries ? size / 16 : 1][RowTiles][Unit::words];
      block.sync();  // the last tile's keys and values may still be read
      if (end > begin) {
        const auto from_q = q.at(at) + vector * 8;
        FLAGGEMS_SIMT_UNROLL
        for (int i = 0; i < rows; i += lines_at_once) {
          const i32 row = first + line + i;
          copy_line(queries, i, from_q + q.offset(prefill_query(space, min_of(row, last))),
                    row <= last, space.head_size - vector * 8);
        }
        block.commit_copies();
        fetch();
        if constexpr (keeps_queries) {
          block.template wait_copies<1>();
          block.sync();
          FLAGGEMS_SIMT_UNROLL
          for (int d = 0; d < size / 16; ++d) {
            FLAGGEMS_SIMT_UNROLL
            for (int r = 0; r < RowTiles; ++r) load_query(kept[d][r], r, d);
          }
        }
      }
      const f32 factor = (is_masked ? 1.0F : space.scale) * ln2_constants<f32>::inverse;
      FLAGGEMS_SIMT_NO_UNROLL
      for (i32 start = begin; start < end; start += Keys) {
        block.template wait_copies<0>();
        block.sync();  // all have read the tile before, whose place the next one takes
        const auto keys = tiles.from((slot ^ 1) * tile_vectors);

        f32 scores[RowTiles][Keys / columns][Unit::sums];
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < RowTiles; ++r) {
          FLAGGEMS_SIMT_UNROLL
          for (int n = 0; n < Keys / columns; ++n) {
            FLAGGEMS_SIMT_UNROLL
            for (int e = 0; e < Unit::sums; ++e) scores[r][n][e] = 0.0F;
          }
        }
        const auto add_scores = [&](int d) FLAGGEMS_LAMBDA {
          u32 query[RowTiles][Unit::words];
          FLAGGEMS_SIMT_UNROLL
          for (int r = 0; r < RowTiles; ++r) {
            if constexpr (keeps_queries) {
              FLAGGEMS_SIMT_UNROLL
              for (int w = 0; w < Unit::words; ++w) query[r][w] = kept[d][r][w];
            } else {
              load_query(query[r], r, d);
            }
          }
          FLAGGEMS_SIMT_UNROLL
          for (int n = 0; n < Keys / 16; ++n) {
            u32 key[Unit::words];  // 16 keys, 16 elements
            if constexpr (Unit::takes_loaded_tiles)
              block.template load_tiles<false, words>(
                  key, keys, [&](int l) FLAGGEMS_LAMBDA { return elements_at(l, n * 16, d); });
            else
              load_lines(block, keys, n * 16, d, key);
            FLAGGEMS_SIMT_UNROLL
            for (int r = 0; r < RowTiles; ++r) {
              FLAGGEMS_SIMT_UNROLL
              for (int part = 0; part < halves; ++part)
                Unit::multiply(block, scores[r][halves * n + part], query[r], key, part);
            }
          }
        };
        if constexpr (Blocks <= 4) {
          FLAGGEMS_SIMT_UNROLL
          for (int d = 0; d < size / 16; ++d) add_scores(d);
        } else {  // registers are for sums, not for what is loaded ahead
          constexpr int pairs = prefill_elements / 16;
          FLAGGEMS_SIMT_NO_UNROLL
          for (int b = 0; b < Blocks; ++b) {
            FLAGGEMS_SIMT_UNROLL
            for (int d = 0; d < pairs; ++d) add_scores(b * pairs + d);
          }
        }

        fetch();
        if (is_masked || start + Keys > least) {
          const prefill_fragment<Unit> mine = fragment_of(thread);
          FLAGGEMS_SIMT_UNROLL
          for (int r = 0; r < RowTiles; ++r) {
            FLAGGEMS_SIMT_UNROLL
            for (int h = 0; h < own_rows; ++h) {
              // Rows past the end repeat the last one: computed, not stored.
              const prefill_query row(space,
                                      min_of(first + mine.row + r * 16 + h * Unit::row_step, last));
              const i32 visible = row.seen(bounds);
              const auto masked = mask.row(at, row);
              FLAGGEMS_SIMT_UNROLL
              for (int n = 0; n < Keys / columns; ++n) {
                FLAGGEMS_SIMT_UNROLL
                for (int e = 0; e < each; ++e) {
                  f32& s = scores[r][n][each * h + e];
                  const i32 j = start + n * columns + mine.column + e * Unit::step;
                  if constexpr (is_masked) s *= space.scale;
                  s = j < visible ? masked.template apply<f32>(lane_scalar{j}, s) : lowest<f32>();
                }
              }
            }
          }
        }

        f32 most[RowTiles][own_rows];
        bool grows = false;
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < RowTiles; ++r) {
          FLAGGEMS_SIMT_UNROLL
          for (int h = 0; h < own_rows; ++h) {
            const auto most_of = [&](int n) FLAGGEMS_LAMBDA {
              f32 x = greater_or_nan(scores[r][n][each * h], scores[r][n][each * h + 1]);
              FLAGGEMS_SIMT_UNROLL
              for (int e = 2; e < each; ++e) x = greater_or_nan(x, scores[r][n][each * h + e]);
              return x;
            };
            f32 now = most_of(0);
            FLAGGEMS_SIMT_UNROLL
            for (int n = 1; n < Keys / columns; ++n) now = greater_or_nan(now, most_of(n));
            FLAGGEMS_SIMT_UNROLL
            for (int beyond = Unit::partner; beyond < Unit::partner * Unit::row_lanes; beyond *= 2)
              now = greater_or_nan(now, block.template shuffle_xor<f32>(now, beyond));
            most[r][h] = now * factor;
            grows = grows || !(most[r][h] <= shift[r][h] + f32(slack));
          }
        }
        if (grows) {
          FLAGGEMS_SIMT_UNROLL
          for (int r = 0; r < RowTiles; ++r) {
            f32 correction[own_rows];
            FLAGGEMS_SIMT_UNROLL
            for (int h = 0; h < own_rows; ++h) {
              correction[h] = 1.0F;
              if (most[r][h] <= shift[r][h] + f32(slack)) continue;
              correction[h] = softmax_power_of_two(shift[r][h] - most[r][h]);
              total[r][h] *= correction[h];
              shift[r][h] = most[r][h];
            }
            FLAGGEMS_SIMT_UNROLL
            for (int n = 0; n < own_size / columns; ++n) {
              FLAGGEMS_SIMT_UNROLL
              for (int e = 0; e < Unit::sums; ++e) sums[r][n][e] *= correction[e / each];
            }
          }
        }
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < RowTiles; ++r) {
          FLAGGEMS_SIMT_UNROLL
          for (int h = 0; h < own_rows; ++h) {
            FLAGGEMS_SIMT_UNROLL
            for (int n = 0; n < Keys / columns; ++n) {
              FLAGGEMS_SIMT_UNROLL
              for (int e = 0; e < each; ++e) {
                f32& s = scores[r][n][each * h + e];
                s = softmax_power_of_two(fma(s, factor, -shift[r][h]));
                total[r][h] += s;
              }
            }
          }
        }

        FLAGGEMS_SIMT_UNROLL
        for (int j = 0; j < Keys / 16; ++j) {
          u32 weight[RowTiles][Unit::words];
          FLAGGEMS_SIMT_UNROLL
          for (int r = 0; r < RowTiles; ++r) to_operand(block, weight[r], scores[r] + halves * j);
          FLAGGEMS_SIMT_UNROLL
          for (int d = 0; d < own_size / 16; ++d) {
            u32 value[Unit::words];  // 16 keys, 16 elements, transposed
            const int pair = Values::parts == 1 ? d : part_of(thread) * (own_size / 16) + d;
            if constexpr (Unit::takes_loaded_tiles)
              block.template load_tiles<true, words>(value, keys, [&](int l) FLAGGEMS_LAMBDA {
                return lines_at(l, first_value + j * 16, pair);
              });
            else
              load_elements(block, keys, first_value + j * 16, pair, value);
            FLAGGEMS_SIMT_UNROLL
            for (int r = 0; r < RowTiles; ++r) {
              FLAGGEMS_SIMT_UNROLL
              for (int part = 0; part < halves; ++part)
                Unit::multiply(block, sums[r][halves * d + part], weight[r], value, part);
            }
          }
        }
      }

      block.template wait_copies<0>();
      block.sync();  // results take the place of queries, keys and values
      const prefill_fragment<Unit> mine = fragment_of(thread);
      const int left_column = part_of(thread) * own_size;
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < RowTiles; ++r) {
        FLAGGEMS_SIMT_UNROLL
        for (int h = 0; h < own_rows; ++h) {
          f32 sum = total[r][h];
          FLAGGEMS_SIMT_UNROLL
          for (int beyond = Unit::partner; beyond < Unit::partner * Unit::row_lanes; beyond *= 2)
            sum += block.template shuffle_xor<f32>(sum, beyond);
          if constexpr (!is_same<Logs, no_logs>) {
            const i32 row = first + mine.row + r * 16 + h * Unit::row_step;
            if (row <= last && mine.column == 0 && left_column == 0)
              keep_log_sum(
                  logs,
                  logs.at(at) + (here.results_from() + logs.offset(prefill_query(space, row))),
                  prefill_log_sum(shift[r][h], sum));
          }
          const f32 share = 1.0F / (sum == 0.0F ? 1.0F : sum);  // no key seen: 0, an empty sum
          using group = vec<Out, Unit::together>;
          const auto groups = results.template as<group>();
          FLAGGEMS_SIMT_UNROLL
          for (int n = 0; n < own_size / columns; ++n) {
            FLAGGEMS_SIMT_UNROLL
            for (int e = 0; e < each; e += Unit::together) {
              group some;
              FLAGGEMS_SIMT_UNROLL
              for (int g = 0; g < Unit::together; ++g)
                some.at[g] = static_cast<Out>(f32(sums[r][n][each * h + e + g] * share));
              groups.write(result_at(mine.row + r * 16 + h * Unit::row_step,
                                     left_column + n * columns + mine.column + e * Unit::step) /
                               Unit::together,
                           some);
            }
          }
        }
      }
      block.sync();
      const auto to_batch = out.at(at) + here.results_from();
      FLAGGEMS_SIMT_NO_UNROLL
      for (int i = thread * width; i < rows * result_size; i += max_threads * width) {
        const i32 row = first + i / result_size, e = i % result_size;
        if (row > last || e >= space.value_size) continue;
        const auto to = to_batch + out.offset(prefill_query(space, row));
        const vec<Out, width> x = results.read(result_at(i / result_size, e) / width);
        if (space.is_out_aligned) {
          store_vec<width, Out>(to + e, x);
        } else {
          FLAGGEMS_SIMT_UNROLL
          for (int w = 0; w < width; ++w) store(to, out.element, lane_scalar{e + w}, f32(x.at[w]));
        }
      }
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/simt/prefill_mma.hpp");
