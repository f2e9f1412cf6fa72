// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of few queries on SIMT devices with mma instructions, to which 16-bit keys and values
// go directly from memory.
#pragma once

#include <flaggems/kernel/family/attention/simt/decode.hpp>

namespace flaggems::kernels {

/// Two numbers as a word of T, and the rounding errors.
template <class T>
FLAGGEMS_INLINE u32 take_halves(f32& low, f32& high) {
  const T a = static_cast<T>(low), b = static_cast<T>(high);
  low -= static_cast<f32>(a);
  high -= static_cast<f32>(b);
  if (low != low) low = 0.0F;  // an infinity has no rounding error
  if (high != high) high = 0.0F;
  return static_cast<u32>(a.bits) | (static_cast<u32>(b.bits) << 16);
}

/// The lower (upper) halves of two words as one.
FLAGGEMS_INLINE u32 lower_halves(u32 a, u32 b) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  return __byte_perm(a, b, 0x5410);
#else
  return (a & 0xffffu) | (b << 16);
#endif
}
FLAGGEMS_INLINE u32 upper_halves(u32 a, u32 b) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  return __byte_perm(a, b, 0x7632);
#else
  return (a >> 16) | (b & 0xffff0000u);
#endif
}

/// As attention_decode, for vector-aligned operands with keys and values of bf16 or f16 and heads
/// of 64 * Blocks elements. A warp (32 threads) processes 16 keys and 8 rows at once: scores are
/// keys times queries, and the transposed result is values times weights.
// Numbers that 16 bits do not represent are multiplied in several terms; queries of another type
// therefore need keys of bf16.
template <class T, class Key, class Out, class Mask, int Blocks, int Threads>
struct attention_decode_tiles {
  static constexpr int max_threads = Threads;
  static constexpr int min_blocks = (is_same<T, Key> ? 384 : 256) / Threads;
  static constexpr int size = 64 * Blocks, keys = 16, rows_at_once = 8;
  using row_type = decode_row<size, 8>;
  static constexpr int most_scratch = 4 * row_type::all(Threads / 32, rows_at_once);
  static constexpr int query_terms = is_same<T, Key> ? 1 : 3;
  static constexpr int weight_terms = sizeof(T) == 2 ? 2 : 3;

  static constexpr bool awaits_earlier = true;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const decode_space& space,
                                  const decode_arg<const T>& q, const decode_arg<const Key>& k,
                                  const decode_arg<const Key>& v, const Mask& mask,
                                  const decode_arg<Out>& out, global_ptr<f32> found) {
    using words = vec<u32, 4>;
    constexpr int warps = Threads / 32;
    const int warp = block.thread() / 32;
    const int g = block.thread() % 32 / 4, t = block.thread() % 4;
    const decode_partials<Block, warps, rows_at_once, row_type> partials(block);
    block.for_each_cluster_tile(space.tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const decode_tile at(block, space, rows_at_once, static_cast<u32>(tile));
      const i32 begin = at.begin, end = at.end;
      // Rows past the end repeat the last one: computed, not stored.
      const auto query_of = [&](int r) FLAGGEMS_LAMBDA {
        return decode_query(space, min_of(at.first + r, space.rows - 1));
      };
      // This thread's scores: of the rows 2t and 2t + 1, and the keys g and g + 8.
      const decode_query low = query_of(2 * t), high = query_of(2 * t + 1);
      const i32 visible[2] = {low.seen(space), high.seen(space)};
      const auto mask_low = mask.row(at.place, low), mask_high = mask.row(at.place, high);
      const auto to = out.at(at.place);
      const auto batch_k = k.at(at.place), batch_v = v.at(at.place);
      const auto from_k = batch_k + t * 8, from_v = batch_v + g * 8;
      const auto from_q = q.at(at.place) + q.offset(query_of(g)) + t * 8;
      block.await_earlier([&]() FLAGGEMS_LAMBDA {
        // A cache's earlier positions are not written by the previous launch, so prefetching is
        // safe.
        constexpr int line = 64;  // elements
        const i32 count = min_of(end - begin, 2 * warps * keys) * Blocks;
        for (i32 i = block.thread(); i < count; i += block.threads()) {
          const i64 j = begin + i / Blocks;
          const i32 e = i % Blocks * line;
          prefetch(batch_k + j * k.position + e);
          prefetch(batch_v + j * v.position + e);
        }
      });

      f32 sums[4 * Blocks][4];
      FLAGGEMS_SIMT_UNROLL
      for (int b = 0; b < 4 * Blocks; ++b) {
        FLAGGEMS_SIMT_UNROLL
        for (int e = 0; e < 4; ++e) sums[b][e] = 0.0F;
      }
      f32 largest[2] = {lowest<f32>(), lowest<f32>()}, total[2] = {0.0F, 0.0F};
      // Software pipelining: each step loads the next one's data as soon as it has used its own,
      // without touching it, which would stall. Keys and values past the end repeat the last ones,
      // with masked scores.
      words key[2][2 * Blocks], value[4][Blocks];
      const auto fetch_keys = [&](i32 start) FLAGGEMS_LAMBDA {
        if (start >= end) return;
        FLAGGEMS_SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          const auto from =
              from_k + i64{min_of(start + warp * keys + g + h * 8, end - 1)} * k.position;
          FLAGGEMS_SIMT_UNROLL
          for (int b = 0; b < 2 * Blocks; ++b) key[h][b] = load_words_once<Key>(from + b * 32);
        }
      };
      const auto fetch_values = [&](i32 start) FLAGGEMS_LAMBDA {
        if (start >= end) return;
        FLAGGEMS_SIMT_UNROLL
        for (int h = 0; h < 4; ++h) {
          const i32 j = start + warp * keys + 2 * t + h % 2 + h / 2 * 8;
          const auto from = from_v + i64{min_of(j, end - 1)} * v.position;
          FLAGGEMS_SIMT_UNROLL
          for (int b = 0; b < Blocks; ++b) value[h][b] = load_words_once<Key>(from + b * 64);
        }
      };
      fetch_keys(begin);
      fetch_values(begin);
      // Queries: a vector of words has the operands of two mma instructions.
      u32 query[query_terms][2 * Blocks][4];
      FLAGGEMS_SIMT_UNROLL
      for (int b = 0; b < 2 * Blocks; ++b) {
        if constexpr (is_same<T, Key>) {
          const words x = load_words<T>(from_q + b * 32);
          FLAGGEMS_SIMT_UNROLL
          for (int w = 0; w < 4; ++w) query[0][b][w] = x.at[w];
        } else {
          f32 x[8];
          load_vecs<8, f32>(from_q + b * 32, x);
          FLAGGEMS_SIMT_UNROLL
          for (int w = 0; w < 4; ++w) {
            FLAGGEMS_SIMT_UNROLL
            for (int n = 0; n < query_terms; ++n)
              query[n][b][w] = take_halves<Key>(x[2 * w], x[2 * w + 1]);
          }
        }
      }
      for (i32 start = begin; start < end; start += warps * keys) {
        f32 score[4] = {0.0F, 0.0F, 0.0F, 0.0F};
        FLAGGEMS_SIMT_UNROLL
        for (int b = 0; b < 2 * Blocks; ++b) {
          const words first = key[0][b], second = key[1][b];
          FLAGGEMS_SIMT_UNROLL
          for (int s = 0; s < 2; ++s) {
            const u32 left[4] = {first.at[2 * s], second.at[2 * s], first.at[2 * s + 1],
                                 second.at[2 * s + 1]};
            FLAGGEMS_SIMT_UNROLL
            for (int n = 0; n < query_terms; ++n) {
              const u32 right[2] = {query[n][b][2 * s], query[n][b][2 * s + 1]};
              block.template multiply_tiles<Key>(score, left, right);
            }
          }
        }
        fetch_keys(start + warps * keys);
        const i32 j = start + warp * keys + g;
        f32 correction[2];
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < 2; ++r) {
          const auto& masked = r == 0 ? mask_low : mask_high;
          const i32 stop = min_of(end, visible[r]);
          f32 now = largest[r];
          FLAGGEMS_SIMT_UNROLL
          for (int h = 0; h < 2; ++h) {
            f32& s = score[2 * h + r];
            s = j + h * 8 < stop
                    ? masked.template apply<f32>(lane_scalar{j + h * 8}, f32(s * space.scale))
                    : lowest<f32>();
            now = greater_or_nan(now, s);
          }
          for (int beyond = 4; beyond < 32; beyond *= 2)
            now = greater_or_nan(now, block.template shuffle_xor<f32>(now, beyond));
          // No key seen so far: any finite number works, as all exponentials are 0.
          const f32 shift = now == lowest<f32>() ? 0.0F : now;
          correction[r] = softmax_power<f32>(largest[r] - shift);
          largest[r] = now;
          FLAGGEMS_SIMT_UNROLL
          for (int h = 0; h < 2; ++h)
            score[2 * h + r] = softmax_power<f32>(score[2 * h + r] - shift);
          total[r] = fma(total[r], correction[r], score[r] + score[2 + r]);
        }
        FLAGGEMS_SIMT_UNROLL
        for (int b = 0; b < 4 * Blocks; ++b) {
          FLAGGEMS_SIMT_UNROLL
          for (int e = 0; e < 4; ++e) sums[b][e] *= correction[e % 2];
        }
        u32 weight[weight_terms][2];
        FLAGGEMS_SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          FLAGGEMS_SIMT_UNROLL
          for (int n = 0; n < weight_terms; ++n)
            weight[n][h] = block.transpose_tile(take_halves<Key>(score[2 * h], score[2 * h + 1]));
        }
        FLAGGEMS_SIMT_UNROLL
        for (int b = 0; b < Blocks; ++b) {
          FLAGGEMS_SIMT_UNROLL
          for (int w = 0; w < 4; ++w) {
            const u32 left[4] = {lower_halves(value[0][b].at[w], value[1][b].at[w]),
                                 upper_halves(value[0][b].at[w], value[1][b].at[w]),
                                 lower_halves(value[2][b].at[w], value[3][b].at[w]),
                                 upper_halves(value[2][b].at[w], value[3][b].at[w])};
            FLAGGEMS_SIMT_UNROLL
            for (int n = 0; n < weight_terms; ++n)
              block.template multiply_tiles<Key>(sums[4 * b + w], left, weight[n]);
          }
        }
        fetch_values(start + warps * keys);
      }

      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < 2; ++r) {
        for (int beyond = 4; beyond < 32; beyond *= 2)
          total[r] += block.template shuffle_xor<f32>(total[r], beyond);
      }
      block.sync();  // the previous tile's results may still be read
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < 2; ++r) {
        if (g == 0) partials.put(warp, 2 * t + r, largest[r], total[r]);
        const auto to_sums = partials.sums_of(warp, 2 * t + r).from(row_type::place(g, 0));
        FLAGGEMS_SIMT_UNROLL
        for (int b = 0; b < 4 * Blocks; ++b) {
          FLAGGEMS_SIMT_UNROLL
          for (int h = 0; h < 2; ++h)
            to_sums.write(row_type::place(b / 4 * 8, b % 4 * 2 + h), sums[b][2 * h + r]);
        }
      }
      block.sync();
      partials.store(space, out, to, at, size, found);
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/simt/decode_mma.hpp");
