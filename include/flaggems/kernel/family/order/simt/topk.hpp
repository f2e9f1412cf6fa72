// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The k first of a row on a SIMT device, for moderate k. Threads find the first of each of many
// groups of elements; the k-th of those is a bound: at least k elements rank at or before it, few
// more do. Groups that reach it are read again, and their elements within the bound are collected
// in shared memory and sorted. Short rows go several per block (topk_groups), others one per block
// (topk_blocks), the longest in parts, whose first elements form a row of another pass.
#pragma once

#include <flaggems/kernel/expr/simt/register_rows.hpp>
#include <flaggems/kernel/family/order/keys.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// A key's highest bits, in a register.
template <class U>
using key_word = conditional<(sizeof(U) < 4), u32, U>;

/// A key and its index in the row in one word, the key on top: equal keys are ordered by index.
template <class Word>
struct ranked_word {
  static constexpr int digits = static_cast<int>(sizeof(Word));
  Word word;

  FLAGGEMS_INLINE static ranked_word of(u32 key, i32 place) {
    return {static_cast<Word>(key) << (8 * digits - 32) | static_cast<u32>(place)};
  }
  /// After all others.
  FLAGGEMS_INLINE static ranked_word last() { return {static_cast<Word>(~Word(0))}; }
  FLAGGEMS_INLINE bool is_before(const ranked_word& b) const { return word < b.word; }
  FLAGGEMS_INLINE i32 place() const {
    return static_cast<i32>(word & (static_cast<Word>(~Word(0)) >> (4 * digits)));
  }
  /// Its highest bits.
  FLAGGEMS_INLINE u32 top() const { return static_cast<u32>(word >> (8 * digits - 32)); }
  /// Its bytes, from the top.
  FLAGGEMS_INLINE u32 digit(int d) const {
    return static_cast<u32>(word >> (8 * (digits - 1 - d))) & 255U;
  }
  FLAGGEMS_INLINE void put_digit(int d, u32 x) {
    const int shift = 8 * (digits - 1 - d);
    word = (word & ~(Word(255) << shift)) | Word(x) << shift;
  }
};
/// For keys of 64 bits.
struct ranked_pair {
  static constexpr int digits = 12;
  u64 key, at;

  FLAGGEMS_INLINE static ranked_pair of(u64 key, i32 place) {
    return {key, static_cast<u64>(place)};
  }
  FLAGGEMS_INLINE static ranked_pair last() { return {~u64(0), 0xffffffffU}; }
  FLAGGEMS_INLINE bool is_before(const ranked_pair& b) const {
    return (key < b.key) | ((key == b.key) & (at < b.at));  // without branches
  }
  FLAGGEMS_INLINE i32 place() const { return static_cast<i32>(at); }
  FLAGGEMS_INLINE u32 top() const { return static_cast<u32>(key >> 32); }
  FLAGGEMS_INLINE u32 digit(int d) const {
    return static_cast<u32>(d < 8 ? key >> (56 - 8 * d) : at >> (88 - 8 * d)) & 255U;
  }
  FLAGGEMS_INLINE void put_digit(int d, u32 x) {
    if (d < 8)
      key = (key & ~(u64(255) << (56 - 8 * d))) | u64(x) << (56 - 8 * d);
    else
      at = (at & ~(u64(255) << (88 - 8 * d))) | u64(x) << (88 - 8 * d);
  }
};
template <class U>
using ranked_key = conditional<(sizeof(U) == 8), ranked_pair,
                               ranked_word<conditional<(sizeof(U) <= 2), u32, u64>>>;

struct first_ranked {
  template <class R>
  FLAGGEMS_INLINE R operator()(R a, R b) const {  // (references: OpenCL would deduce a space)
    return b.is_before(a) ? b : a;
  }
};

/// How many of the keys [0, n) precede x.
template <class Keys, class R>
FLAGGEMS_INLINE i32 rank_among(const Keys& keys, i32 n, const R& x) {
  constexpr i32 at_once = 16, rest = 8;
  i32 rank = 0, first = 0;
  FLAGGEMS_SIMT_NO_UNROLL
  for (; first + at_once <= n; first += at_once) {
    FLAGGEMS_SIMT_UNROLL
    for (i32 i = 0; i < at_once; ++i) rank += keys.read(first + i).is_before(x) ? 1 : 0;
  }
  FLAGGEMS_SIMT_NO_UNROLL
  for (; first < n; first += rest) {
    FLAGGEMS_SIMT_UNROLL
    for (i32 i = first; i < first + rest; ++i) rank += i < n && keys.read(i).is_before(x) ? 1 : 0;
  }
  return rank;
}

/// The number of counters of bound_of.
inline constexpr int topk_counters = 264;

/// The k-th of some keys, or one between it and a few that follow, or `spare`. Found byte by byte
/// from the top: tally(d, first, last) counts byte d of the keys in [first, last].
template <class R, class Block, class Counters, class Tally>
FLAGGEMS_INLINE R bound_of(const Block& block, i32 k, i32 spare, const Counters& counters,
                           const Tally& tally) {
  R first = R::of(0, 0), last = R::last();
  FLAGGEMS_SIMT_NO_UNROLL
  for (int d = 0; d < R::digits; ++d) {
    block.for_each(256, [&](i64 i) FLAGGEMS_LAMBDA { counters.write(i, 0); });
    block.sync();
    tally(d, first, last);
    block.sync();
    block.template exclusive_scan<i32>(
        256, 0, [&](i64 i) FLAGGEMS_LAMBDA { return counters.read(i); },
        [&](i64 i, i32 before) FLAGGEMS_LAMBDA {
          const i32 count = counters.read(i);
          if (before < k && k <= before + count) {  // one digit only
            counters.write(256, static_cast<i32>(i));
            counters.write(257, before);
            counters.write(258, count);
          }
        });
    block.sync();
    const u32 digit = static_cast<u32>(counters.read(256));
    const i32 count = counters.read(258);
    k -= counters.read(257);
    first.put_digit(d, digit);
    last.put_digit(d, digit);
    if (count - k <= max_of(spare, 8 + k / 8)) break;
  }
  return last;
}

/// Sorts `count` keys in shared memory with room for the next power of two.
template <class Block, class Keys>
FLAGGEMS_INLINE void sort_collected(const Block& block, i32 count, const Keys& keys) {
  using ranked = typename Keys::value_type;
  i32 size = 2;
  while (size < count) size *= 2;
  block.for_each(size - count,
                 [&](i64 i) FLAGGEMS_LAMBDA { keys.write(count + i, ranked::last()); });
  block.sync();
  for (i32 run = 2; run <= size; run *= 2) {
    for (i32 step = run / 2; step > 0; step /= 2) {
      block.for_each(size / 2, [&](i64 pair) FLAGGEMS_LAMBDA {
        const i32 i = static_cast<i32>(pair), low = 2 * i - (i & (step - 1)), high = low + step;
        const ranked a = keys.read(low), b = keys.read(high);
        if (a.is_before(b) != ((low & run) == 0)) {
          keys.write(low, b);
          keys.write(high, a);
        }
      });
      block.sync();
    }
  }
}

/// A thread's share of a row.
template <class T>
class topk_turn {
 public:
  using U = bits_type<T>;
  using ranked = ranked_key<U>;
  using word = key_word<U>;
  static constexpr int below = 8 * static_cast<int>(sizeof(word) - sizeof(U));
  /// The batch that it loads before it uses the first: vectors, or elements.
  static constexpr int steps = 4, width = vec_size<T>;

  FLAGGEMS_INLINE topk_turn(const row_in<T>& x, i32 n, i32 thread, i32 threads, bool largest)
      : x_(x), n_(n), thread_(thread), threads_(threads) {
    flip_ = largest ? static_cast<word>(static_cast<word>(~word(0)) >> below << below) : word(0);
    const u64 off = reinterpret_cast<u64>(x.data) % 16;
    // (Fewer elements give more groups one by one.)
    is_vectorized_ = x.stride == 1 && off % sizeof(T) == 0 && n >= threads * width;
    begin_ = is_vectorized_ ? min_of(static_cast<i32>((16 - off) / sizeof(T)) % width, n) : 0;
    end_ = is_vectorized_ ? begin_ + (n - begin_) / width * width : 0;
  }
  FLAGGEMS_INLINE ranked element(i32 i) const {
    const word bits = to_bits(x_.template read<T>(i));
    return ranked::of(key_of(static_cast<word>(bits << below)), i);
  }
  /// The bound of k elements of the row, shared by the block's threads, of at most `room` elements.
  template <class Block, class Counters>
  FLAGGEMS_INLINE ranked bound_of_all(const Block& block, i32 k, i32 room,
                                      const Counters& counters) const {
    return bound_of<ranked>(block, k, room - k, counters,
                            [&](int d, const ranked& first, const ranked& last) FLAGGEMS_LAMBDA {
                              FLAGGEMS_SIMT_NO_UNROLL
                              for (i32 i = block.thread(); i < n_; i += block.threads()) {
                                const ranked one = element(i);
                                if (!one.is_before(first) && !last.is_before(one))
                                  block.template atomic_add<i32>(counters, one.digit(d), 1);
                              }
                            });
  }
  /// Calls f(ranked, step, i) for each element of the vector or element number `step` in a batch; i
  /// counts the elements of a vector, or the steps, so that both traverse all groups.
  template <class F>
  FLAGGEMS_INLINE void for_each(const F& f) const {
    if (!is_vectorized_) {
      for (i32 i = thread_; i < n_; i += steps * threads_) {
        FLAGGEMS_SIMT_UNROLL
        for (int s = 0; s < steps; ++s)
          if (i + s * threads_ < n_) f(element(i + s * threads_), s, s);
      }
      return;
    }
    const i32 pitch = threads_ * width;
    for (i32 at = begin_ + thread_ * width; at < end_; at += steps * pitch) {
      words some[steps];
      FLAGGEMS_SIMT_UNROLL
      for (int s = 0; s < steps; ++s)  // without branches, so that all loads overlap
        some[s] = load_vec_words<width, T>(x_.data + (at + s * pitch < end_ ? at + s * pitch : at));
      FLAGGEMS_SIMT_UNROLL
      for (int s = 0; s < steps; ++s) {
        if (at + s * pitch >= end_) continue;
        FLAGGEMS_SIMT_UNROLL
        for (int i = 0; i < width; ++i) f(element_of(some[s], i, at + s * pitch), s, i);
      }
    }
    FLAGGEMS_SIMT_NO_UNROLL
    for (i32 i = thread_; i < edge_count(); i += threads_) f(element(edge_index(i)), 0, 0);
  }
  /// Writes the elements within the bound, of the steps whose bits are set in `which`. place_of(n)
  /// gives the index for n elements, or less than 0 if there is no room. The data was read recently
  /// and is cached, so one vector at a time; each vector asks for an index once.
  template <class PlaceOf, class Found>
  FLAGGEMS_INLINE void collect(const ranked& bound, u32 which, const PlaceOf& place_of,
                               const Found& found) const {
    const i32 pitch = threads_ * width;
    FLAGGEMS_SIMT_NO_UNROLL
    for (i32 first = begin_ + thread_ * width; first < end_; first += steps * pitch) {
      FLAGGEMS_SIMT_NO_UNROLL
      // threads diverge to the steps each needs
      for (u32 left = which; left != 0; left &= left - 1) {
        const i32 lowest = static_cast<i32>(left & (~left + 1));
        const i32 at = first + ((lowest >> 1) - (lowest >> 3)) * pitch;  // 1, 2, 4, 8: 0, 1, 2, 3
        if (at >= end_) break;
        collect_vec(bound, at, place_of, found);
      }
    }
    if (is_vectorized_) which = (which & 1U) != 0 ? ~0U : 0U;
    int step = 0;
    FLAGGEMS_SIMT_NO_UNROLL
    for (i32 i = thread_; i < edge_count(); i += threads_, ++step) {
      if (!(which >> step % steps & 1U)) continue;
      const ranked one = element(edge_index(i));
      const i32 place = bound.is_before(one) ? -1 : place_of(1);
      if (place >= 0) found.write(place, one);
    }
  }

 private:
  using words = vec_words<T, width>;
  template <class PlaceOf, class Found>
  FLAGGEMS_INLINE void collect_vec(const ranked& bound, i32 at, const PlaceOf& place_of,
                                   const Found& found) const {
    const words some = load_vec_words<width, T>(x_.data + at);
    i32 n = 0, before[width];
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < width; ++i) {
      before[i] = n;
      n += bound.is_before(element_of(some, i, at)) ? 0 : 1;
    }
    const i32 place = n == 0 ? -1 : place_of(n);
    if (place < 0) return;
    const auto room = found.from(place);
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < width; ++i) {
      const ranked one = element_of(some, i, at);
      if (!bound.is_before(one)) room.write(before[i], one);
    }
  }
  /// Elements in head and tail: fewer than two vectors.
  FLAGGEMS_INLINE i32 edge_count() const { return n_ - (end_ - begin_); }
  FLAGGEMS_INLINE i32 edge_index(i32 i) const { return i < begin_ ? i : i + (end_ - begin_); }
  /// Element i of a vector that begins at `at`.
  FLAGGEMS_INLINE ranked element_of(const words& x, int i, i32 at) const {
    word bits;  // the highest of a word: each element in its own would take registers
    if constexpr (sizeof(T) < 4) {
      constexpr int each = 4 / static_cast<int>(sizeof(T));
      bits = x.at[i / each] << (below - 8 * static_cast<int>(sizeof(T)) * (i % each));
      bits &= static_cast<word>(~word(0) << below);
    } else {
      bits = to_bits(bit_cast<vec<T, width>>(x).at[i]);
    }
    return ranked::of(key_of(bits), at + i);
  }
  FLAGGEMS_INLINE word key_of(word bits) const { return order_bits<T, word>(bits) ^ flip_; }

  row_in<T> x_;
  i32 n_, thread_, threads_, begin_, end_;
  word flip_;
  bool is_vectorized_;
};

/// The first elements of a thread's groups: those of a batch of vectors, or of a vector's elements.
template <class T, bool Vectorized>
struct group_firsts {
  using ranked = ranked_key<bits_type<T>>;
  static constexpr int groups = 4, steps = topk_turn<T>::steps;
  ranked of[groups];
  u32 tops[steps];  // the first of each vector of a batch, by their highest bits

  FLAGGEMS_INLINE static group_firsts find(const topk_turn<T>& turn) {
    group_firsts r;
    FLAGGEMS_SIMT_UNROLL
    for (int g = 0; g < groups; ++g) r.of[g] = ranked::last();
    FLAGGEMS_SIMT_UNROLL
    for (int s = 0; s < steps; ++s) r.tops[s] = ~0U;
    turn.for_each([&](const ranked& x, int step, int i) FLAGGEMS_LAMBDA {
      const int g =
          Vectorized ? step
                     : (topk_turn<T>::width < groups ? step * topk_turn<T>::width + i : i) % groups;
      r.of[g] = first_ranked{}(r.of[g], x);
      r.tops[step] = min_of(r.tops[step], x.top());
    });
    return r;
  }
  FLAGGEMS_INLINE ranked first() const {
    const first_ranked op;
    return op(op(of[0], of[1]), op(of[2], of[3]));
  }
  /// A bit for each step with elements within the bound.
  FLAGGEMS_INLINE u32 up_to(const ranked& bound) const {
    u32 r = 0;
    FLAGGEMS_SIMT_UNROLL
    for (int s = 0; s < steps; ++s)
      r |= (Vectorized ? bound.is_before(of[s]) : bound.top() < tops[s]) ? 0U : 1U << s;
    return r;
  }
};

/// Where a row begins in the operands.
struct topk_places {
  i64 in = 0, values = 0, indices = 0;

  FLAGGEMS_INLINE topk_places(const row_space& space, i64 row, const i64* in_strides,
                              const i64* values_strides, const i64* indices_strides) {
    FLAGGEMS_SIMT_NO_UNROLL
    for (int d = space.rank - 1; d >= 0; --d) {
      const i64 next = d > 0 ? row / space.sizes[d] : 0, i = row - next * space.sizes[d];
      in += i * in_strides[d];
      values += i * values_strides[d];
      indices += i * indices_strides[d];
      row = next;
    }
  }
};

/// Elements per thread: of short rows that share a block, and of others.
inline constexpr i64 topk_few_each = 16, topk_each = 64;

/// Rows processed by groups of 2^threads_shift threads, several per block; k is at most half of a
/// group. The firsts of 2^groups_shift groups of elements give the bound. (Groups synchronise as
/// blocks do, since warp sizes vary. Powers of two avoid divisions before the first load.)
template <class T>
struct topk_groups {
  static constexpr int max_threads = 128, min_blocks = 8;
  static constexpr int min_threads_shift = 4, max_threads_shift = 7,
                       max_rows_per_block = max_threads >> min_threads_shift;
  static constexpr int per_thread = 4;  // collected elements
  using U = bits_type<T>;
  using ranked = ranked_key<U>;
  static constexpr int most_scratch =
      static_cast<int>(sizeof(ranked)) * (max_rows_per_block + max_threads * (1 + per_thread)) +
      4 * (max_rows_per_block + 4) + max_threads / 2 * static_cast<int>(sizeof(U) + 4) + 16 +
      4 * topk_counters;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, i32 k, i32 threads_shift,
                                  i32 groups_shift, const row_arg<T>& in,
                                  const row_target<T>& values, const row_target<i64>& indices,
                                  i32 largest) {
    const i32 threads_per_row = 1 << threads_shift, groups = 1 << groups_shift;
    const i32 joined_shift = threads_shift - groups_shift, joined = 1 << joined_shift;
    const i32 own = block.thread() >> threads_shift, lane = block.thread() & (threads_per_row - 1);
    const i32 rows_per_block = block.threads() >> threads_shift,
              capacity = per_thread * threads_per_row;
    const i32 n = static_cast<i32>(space.length);
    const auto bounds = block.template scratch<ranked>(max_rows_per_block);
    const auto counts =
        // and the number of rows that do not fit
        block.template scratch<i32>(max_rows_per_block + 1);
    const auto firsts = block.template scratch<ranked>(max_threads);
    const auto found = block.template scratch<ranked>(max_threads * per_thread);
    const auto elements = block.template scratch<U>(max_threads / 2);
    const auto places = block.template scratch<i32>(max_threads / 2);
    const auto start = block.template scratch<i64>(1);  // of a row that does not fit
    const auto counters = block.template scratch<i32>(topk_counters);
    const auto own_firsts = firsts.from(own * groups);
    const auto own_found = found.from(own * capacity);
    const i64 step = static_cast<i64>(block.count()) * rows_per_block;
    for (i64 first = static_cast<i64>(block.index()) * rows_per_block; first < space.rows;
         first += step) {
      const bool exists = first + own < space.rows;
      const topk_places at(space, exists ? first + own : 0, in.strides, values.strides,
                           indices.strides);
      const row_in<T> x{in.data + at.in, in.strides[space.rank]};
      const topk_turn<T> turn(x, exists ? n : 0, lane, threads_per_row, largest != 0);
      const auto vectors = group_firsts<T, true>::find(turn);
      const ranked mine =
          block.template reduce_subwarp<ranked>(vectors.first(), first_ranked{}, joined);
      if ((lane & (joined - 1)) == 0) own_firsts.write(lane >> joined_shift, mine);
      if (lane == 0) {
        bounds.write(own, ranked::last());
        counts.write(own, 0);
      }
      block.single([&]() FLAGGEMS_LAMBDA { counts.write(max_rows_per_block, 0); });
      block.sync();
      if (lane < groups) {
        const ranked candidate = own_firsts.read(lane);
        if (candidate.is_before(ranked::last()) &&
            rank_among(own_firsts, groups, candidate) == k - 1)
          bounds.write(own, candidate);
      }
      block.sync();
      ranked bound = bounds.read(own);
      const u32 which = vectors.up_to(bound);
      const auto place_of = [&](i32 some) FLAGGEMS_LAMBDA {
        const i32 place = block.template atomic_add<i32>(counts, own, some);
        if (place + some <= capacity) return place;
        if (place <= capacity) block.template atomic_add<i32>(counts, max_rows_per_block, 1);
        return -1;
      };
      // Rows with too many elements within the bound get a tighter one, for another pass.
      i32 count = capacity + 1;
      FLAGGEMS_SIMT_NO_UNROLL
      for (;;) {
        if (which != 0 && count > capacity) turn.collect(bound, which, place_of, own_found);
        block.sync();
        count = counts.read(own);
        if (counts.read(max_rows_per_block) == 0) break;
        block.sync();
        block.single([&]() FLAGGEMS_LAMBDA { counts.write(max_rows_per_block, 0); });
        FLAGGEMS_SIMT_NO_UNROLL
        for (i32 r = 0; r < rows_per_block; ++r) {
          if (counts.read(r) <= capacity) continue;
          if (own == r && lane == 0) start.write(0, at.in);
          block.sync();
          const row_in<T> other{in.data + start.read(0), x.stride};
          const ranked nearer = topk_turn<T>(other, n, lane, threads_per_row, largest != 0)
                                    .bound_of_all(block, k, capacity, counters);
          if (own == r) bound = nearer;
          block.single([&]() FLAGGEMS_LAMBDA { counts.write(r, 0); });
        }
        block.sync();
      }
      for (i32 i = lane; i < count; i += threads_per_row) {
        const ranked one = own_found.read(i);
        // loaded while its rank is computed
        const U element = to_bits(x.template read<T>(one.place()));
        const i32 rank = rank_among(own_found, count, one);
        if (rank >= k) continue;
        elements.write(own * k + rank, element);
        places.write(own * k + rank, one.place());
      }
      block.sync();
      if (!exists) continue;
      FLAGGEMS_SIMT_NO_UNROLL
      for (i32 i = lane; i < k; i += threads_per_row) {
        values.data[at.values + i * values.strides[space.rank]] =
            from_bits<T>(elements.read(own * k + i));
        indices.data[at.indices + i * indices.strides[space.rank]] = places.read(own * k + i);
      }
    }
  }
};

/// Rows, or `parts` of `share` elements each, less than 2^16, processed by blocks. `map`, if given,
/// has the indices of the elements of `in`, with its strides. The first k of consecutive parts are
/// consecutive in the outputs.
template <class T>
struct topk_blocks {
  static constexpr int max_threads = 512, min_blocks = 2;
  using U = bits_type<T>;
  using ranked = ranked_key<U>;
  /// The capacity for collected elements, and for those sorted by rank.
  static constexpr i32 capacity = 2048, most_by_rank = 384;
  static constexpr i64 most = max_threads * topk_each, most_first = 1024;
  static constexpr int most_scratch = capacity * static_cast<int>(sizeof(ranked)) +
                                      static_cast<int>(most_first * (sizeof(U) + 4)) +
                                      4 * topk_counters;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, i32 k, i64 parts, i64 share,
                                  const row_arg<T>& in, global_ptr<const i64> map,
                                  const row_target<T>& values, const row_target<i64>& indices,
                                  i32 largest) {
    const auto found = block.template scratch<ranked>(capacity);
    const auto elements = block.template scratch<U>(most_first);
    const auto places = block.template scratch<i32>(most_first);
    const auto digits = block.template scratch<i32>(topk_counters);
    const i64 stride = in.strides[space.rank];
    block.for_each_tile(space.rows * parts, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 row = parts == 1 ? tile : tile / parts, begin = (tile - row * parts) * share;
      const i32 n = static_cast<i32>(min_of(share, space.length - begin)), kept = min_of(k, n);
      const topk_places at(space, row, in.strides, values.strides, indices.strides);
      const i64 from = at.in + begin * stride;
      const row_in<T> x{in.data + from, stride};
      const topk_turn<T> turn(x, n, block.thread(), block.threads(), largest != 0);
      const auto own = group_firsts<T, false>::find(turn);
      ranked bound = bound_of_groups(block, kept, own, digits);
      const u32 which = own.up_to(bound);
      const auto place_of = [&](i32 some) FLAGGEMS_LAMBDA {
        const i32 place = block.template atomic_add<i32>(digits, 0, some);
        return place + some <= capacity ? place : -1;
      };
      i32 count;
      FLAGGEMS_SIMT_NO_UNROLL
      for (;;) {
        block.single([&]() FLAGGEMS_LAMBDA { digits.write(0, 0); });
        block.sync();
        if (which != 0) turn.collect(bound, which, place_of, found);
        block.sync();
        count = digits.read(0);
        block.sync();
        if (count <= capacity) break;
        bound = turn.bound_of_all(block, kept, capacity, digits);
      }
      const auto element_of = [&](const ranked& one) FLAGGEMS_LAMBDA {
        return to_bits(x.template read<T>(one.place()));
      };
      const auto take = [&](i32 i, const ranked& one, U element) FLAGGEMS_LAMBDA {
        elements.write(i, element);
        places.write(i, one.place());
      };
      if (count <= most_by_rank) {
        block.for_each(count, [&](i64 i) FLAGGEMS_LAMBDA {
          const ranked one = found.read(i);
          const U element = element_of(one);  // loaded while its rank is computed
          const i32 rank = rank_among(found, count, one);
          if (rank < kept) take(rank, one, element);
        });
      } else {
        sort_collected(block, count, found);
        block.for_each(kept, [&](i64 i) FLAGGEMS_LAMBDA {
          const ranked one = found.read(i);
          take(static_cast<i32>(i), one, element_of(one));
        });
      }
      block.sync();
      const i64 first = (tile - row * parts) * k;
      block.for_each(kept, [&](i64 i) FLAGGEMS_LAMBDA {
        const i32 place = places.read(i);
        values.data[at.values + (first + i) * values.strides[space.rank]] =
            from_bits<T>(elements.read(i));
        indices.data[at.indices + (first + i) * indices.strides[space.rank]] =
            map != nullptr ? map[from + place] : begin + place;
      });
    });
  }

 private:
  /// The k-th of the firsts of the threads' groups, or one between it and some that follow.
  template <class Block, class Counters>
  FLAGGEMS_INLINE static ranked bound_of_groups(const Block& block, i32 k,
                                                const group_firsts<T, false>& found,
                                                const Counters& counters) {
    constexpr int groups = group_firsts<T, false>::groups;
    const bool is_separate = 4 * k > block.threads();  // else a thread's groups are merged
    const ranked least = found.first();
    return bound_of<ranked>(
        block, k, 0, counters, [&](int d, const ranked& first, const ranked& last) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int g = 0; g < groups; ++g) {
            const ranked one = is_separate ? found.of[g] : least;
            if ((g == 0 || is_separate) && !one.is_before(first) && !last.is_before(one))
              block.template atomic_add<i32>(counters, one.digit(d), 1);
          }
        });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/order/simt/topk.hpp");
