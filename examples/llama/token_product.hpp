// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A GPU's decoding step in few launches: a matrix times the vector of one token, which may be
// normalised while it is read, with epilogues that store results, in pairs, where the model needs
// them. A small model's step is bound by launches.
#pragma once

#include <flaggems/kernel/block/simt/reduce_values.hpp>
#include <flaggems/kernel/family/pointwise/tables/pointwise.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace llama {

namespace fk = flaggems::kernels;
using flaggems::i64;
using flaggems::u32;

/// A vector-aligned vector in memory.
template <class T>
struct plain_input {
  static constexpr bool is_normed = false;
  fk::global_ptr<const T> x;

  /// Loads the elements [q, q + Count); the sum added to `squares` gives `scale`.
  template <int Count>
  FLAGGEMS_INLINE void load(int q, float (&to)[Count], float&) const {
    fk::load_vecs<Count, float>(x + q, to);
  }
  FLAGGEMS_INLINE float scale(float, int) const { return 1.0F; }
};

/// rms_norm of x. Products are linear, so its factor is applied to the results.
struct normed_input {
  static constexpr bool is_normed = true;
  fk::global_ptr<const float> x, weight;
  float eps;

  template <int Count>
  FLAGGEMS_INLINE void load(int q, float (&to)[Count], float& squares) const {
    float w[Count];
    fk::load_vecs<Count, float>(x + q, to);
    fk::load_vecs<Count, float>(weight + q, w);
    fk::static_for<Count>([&](auto e) FLAGGEMS_LAMBDA {
      squares = fk::fma(to[e], to[e], squares);
      to[e] *= w[e];
    });
  }
  FLAGGEMS_INLINE float scale(float squares, int size) const {
    return 1.0F / fk::sqrt(float(squares / static_cast<float>(size) + eps));
  }
};

// Epilogues: result i is that of the matrix's row `row(i)`. `at(p)` loads what results 2p and 2p +
// 1 need while the product is computed; `store` uses it.

/// x += the product
struct add_to {
  fk::global_ptr<float> x;
  struct place {
    float low, high;
  };
  FLAGGEMS_INLINE i64 row(i64 i) const { return i; }
  FLAGGEMS_INLINE place at(i64 p) const { return {x[2 * p], x[2 * p + 1]}; }
  FLAGGEMS_INLINE void store(i64 p, const place& before, float low, float high) const {
    x[2 * p] = before.low + low;
    x[2 * p + 1] = before.high + high;
  }
};

/// silu(gate) * up, where the matrix has `size` rows of each.
template <class T>
struct gate_to {
  fk::global_ptr<T> out;
  i64 size;
  struct place {};
  FLAGGEMS_INLINE i64 row(i64 i) const { return i % 2 * size + i / 2; }
  FLAGGEMS_INLINE place at(i64) const { return {}; }
  FLAGGEMS_INLINE void store(i64 p, const place&, float gate, float up) const {
    out[p] = fk::number_cast<T>(fk::silu_and_mul_fn{}(gate, up));
  }
};

/// q, k and v of the last position that has begun: the rotated q into `queries` [heads, head], the
/// rotated k, and v, into `cache` [2, kv heads, capacity, head]. Pairs are adjacent elements, as
/// GGUF orders them; `angles` has the cosines of the position, then the sines.
template <class Cache>
struct rotate_to {
  int heads, kv_heads, head, pairs;
  i64 capacity;
  fk::global_ptr<const i64> count;
  fk::global_ptr<const float> angles;
  fk::global_ptr<Cache> queries, cache;
  struct place {
    fk::global_ptr<Cache> to;
    float c, s;
  };
  FLAGGEMS_INLINE i64 row(i64 i) const { return i; }
  FLAGGEMS_INLINE place at(i64 p) const {
    const int i = static_cast<int>(2 * p), which = i / head, j = i - which * head;
    const int kept = which - heads;  // keys, then values: both are rows of one kind
    place r{queries + i, 1.0F, 0.0F};
    if (kept >= 0) r.to = cache + (kept * capacity + count[0] - 1) * head + j;
    if (kept < kv_heads && j < 2 * pairs) {
      r.c = angles[j / 2];
      r.s = angles[pairs + j / 2];
    }
    return r;
  }
  FLAGGEMS_INLINE void store(i64, const place& at, float a, float b) const {
    at.to[0] = fk::number_cast<Cache>(a * at.c - b * at.s);
    at.to[1] = fk::number_cast<Cache>(b * at.c + a * at.s);
  }
};

/// A matrix of `rows` rows of k elements, vector-aligned with k a multiple of the vector size,
/// times `in`; the results, an even number, go to `to`. 2^sharing groups share a row.
template <class W, class In, class To>
struct token_product {
  static constexpr int max_threads = 256, min_blocks = In::is_normed ? 2 : 3;
  static constexpr int width = fk::vec_size<W>, columns = 4, unroll = 2, group_size = 32;
  static constexpr int found = columns + 1;
  static constexpr int groups = max_threads / group_size;
  static constexpr int most_scratch = groups * found * 4;
  static constexpr bool awaits_earlier = true;

  /// The results of a block.
  FLAGGEMS_INLINE static constexpr int tile(int sharing) { return (groups >> sharing) * columns; }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, int rows, int k, int sharing, const In& in,
                                  fk::global_ptr<const W> weights, const To& to) {
    const int thread = block.thread(), at_once = tile(sharing), sharers = 1 << sharing;
    const int group = static_cast<int>(static_cast<u32>(thread) / group_size);
    const int lane = static_cast<int>(static_cast<u32>(thread) % group_size);
    // The vectors of this thread in its group's rows: `begin`, and each `step` from there.
    const int begin = ((group & (sharers - 1)) * group_size + lane) * width;
    const int step = sharers * group_size * width, left = k - begin;
    const auto partial = block.template scratch<float>(groups * found);
    for (int first = static_cast<int>(block.index()) * at_once; first < rows;
         first += static_cast<int>(block.count()) * at_once) {
      // Rows past the end repeat the last one: computed, not stored.
      fk::global_ptr<const W> row[columns];
      fk::static_for<columns>([&](auto c) FLAGGEMS_LAMBDA {
        const int i = fk::min_of(first + (group >> sharing) * columns + c, rows - 1);
        row[c] = fk::settled<const W>(weights + to.row(i) * k + begin);
      });
      // Weights are not written by the previous launch, so they are prefetched while it runs.
      block.await_earlier([&]() FLAGGEMS_LAMBDA {
        fk::static_for<unroll>([&](auto u) FLAGGEMS_LAMBDA {
          fk::static_for<columns>([&](auto c) FLAGGEMS_LAMBDA {
            if (u * step < left) fk::prefetch(fk::global_ptr<const W>(row[c] + u * step));
          });
        });
      });
      // This thread's results, if any.
      const int mine = first / 2 + thread;
      const bool has_results = 2 * thread < at_once && 2 * mine < rows;
      const auto place = to.at(has_results ? mine : first / 2);
      float sums[columns] = {0.0F, 0.0F, 0.0F, 0.0F}, squares[1] = {0.0F};
      for (int q = 0; q < left; q += unroll * step) {
        fk::vec<W, width> y[unroll][columns];
        fk::static_for<unroll>([&](auto u) FLAGGEMS_LAMBDA {
          if (q + u * step < left)
            fk::static_for<columns>([&](auto c) FLAGGEMS_LAMBDA {
              y[u][c] = fk::load_vec_once<width>(row[c] + q + u * step);
            });
        });
        fk::static_for<unroll>([&](auto u) FLAGGEMS_LAMBDA {
          if (q + u * step < left) {
            float x[width];
            in.template load<width>(begin + q + u * step, x, squares[0]);
            fk::static_for<columns>([&](auto c) FLAGGEMS_LAMBDA {
              float z[width];
              fk::unpack<float>(y[u][c], z);
              fk::static_for<width>(
                  [&](auto e) FLAGGEMS_LAMBDA { sums[c] = fk::fma(x[e], z[e], sums[c]); });
            });
          }
        });
      }
      fk::reduce_values<columns, group_size / 2, float>(block, sums);
      if constexpr (In::is_normed) {
        fk::reduce_values<1, group_size / 2, float>(block, squares);
      }
      block.sync();  // the previous tile's results may still be read
      if (lane % (group_size / columns) == 0)
        partial.write(group * found + lane / (group_size / columns), sums[0]);
      if (lane == 0) partial.write(group * found + columns, squares[0]);
      block.sync();
      if (has_results) {
        const int i = 2 * thread;
        const int place_of = (i / columns << sharing) * found;
        float low = 0.0F, high = 0.0F, all = 0.0F;
        FLAGGEMS_SIMT_UNROLL
        for (int s = 0; s < groups; ++s)
          if (s < sharers) {
            low += partial.read(place_of + s * found + i % columns);
            high += partial.read(place_of + s * found + i % columns + 1);
            all += partial.read(place_of + s * found + columns);
          }
        const float scale = in.scale(all, k);
        to.store(mine, place, low * scale, high * scale);
      }
    }
  }
};

}  // namespace llama

FLAGGEMS_TEXT("token_product.hpp");
