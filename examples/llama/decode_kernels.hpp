// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of this program, in addition to the library's operators: what a GPU's decoding step does
// between the large products, with its position in device memory; and synthetic weights.
#pragma once

#include <flaggems/kernel/family/random/philox.hpp>
#include <flaggems/kernel/lang/value.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace llama {

namespace fk = flaggems::kernels;
using flaggems::i64;

/// A step's state on the device, so that its launches never change: `count`, the positions that
/// have begun; `token`, the next one; for each position whether it is `visible`, and its token.
struct step_state {
  fk::global_ptr<i64> count;
  fk::global_ptr<const i64> token;
  fk::global_ptr<bool> visible;
  fk::global_ptr<i64> tokens;
};

/// Begins the position of the next token, puts its cosines and sines [capacity, pairs] into
/// `angles`, and widens its row of the embedding into x, unless there is no `table`. One block: all
/// threads read the position before it changes.
template <class T>
struct begin_step {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, step_state state, fk::global_ptr<const float> cos,
                                  fk::global_ptr<const float> sin, i64 pairs,
                                  fk::global_ptr<float> angles, fk::global_ptr<const T> table,
                                  i64 width, fk::global_ptr<float> x) {
    block.for_each_tile(1, [&](i64) FLAGGEMS_LAMBDA {
      const i64 position = state.count[0], token = state.token[0];
      block.sync();
      block.single([&]() FLAGGEMS_LAMBDA {
        state.visible[position] = true;
        state.tokens[position] = token;
        state.count[0] = position + 1;
      });
      block.for_each(pairs, [&](i64 j) FLAGGEMS_LAMBDA {
        angles[j] = cos[position * pairs + j];
        angles[pairs + j] = sin[position * pairs + j];
      });
      if (table != nullptr)
        block.for_each(width, [&](i64 i) FLAGGEMS_LAMBDA {
          x[i] = fk::number_cast<float>(table[token * width + i]);
        });
    });
  }
};

/// The sizes of the attention's inputs: `tokens` adjacent rows of q, k and v, `row` elements apart.
struct attention_input {
  i64 tokens, heads, kv_heads, head, pairs, row, capacity;
};

/// The last `tokens` positions that have begun: puts the rotated q into `queries` [tokens, heads,
/// head], the rotated k, and v, into `cache` [2, kv heads, capacity, head], Size elements at a
/// time. Pairs are adjacent elements, as GGUF orders them; `cos` and `sin` are [capacity, pairs]. A
/// tile is a token.
template <class Cache, int Size>
struct rotate_and_store {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, attention_input sizes,
                                  fk::global_ptr<const i64> count, fk::global_ptr<const float> qkv,
                                  fk::global_ptr<const float> cos, fk::global_ptr<const float> sin,
                                  fk::global_ptr<Cache> queries, fk::global_ptr<Cache> cache) {
    const int vectors = static_cast<int>(sizes.head / Size),
              rotated = static_cast<int>(sizes.pairs);
    block.for_each_tile(sizes.tokens, [&](i64 token) FLAGGEMS_LAMBDA {
      const i64 position = count[0] - sizes.tokens + token;
      const fk::global_ptr<const float> row = qkv + token * sizes.row;
      const fk::global_ptr<const float> c = cos + position * sizes.pairs,
                                        s = sin + position * sizes.pairs;
      block.for_each((sizes.heads + 2 * sizes.kv_heads) * vectors, [&](i64 e) FLAGGEMS_LAMBDA {
        const int head = static_cast<int>(e) / vectors;
        const int at = (static_cast<int>(e) - head * vectors) * Size;
        const fk::global_ptr<const float> from = row + head * sizes.head + at;
        // Keys, then values: both are rows of one kind.
        const i64 kept = head - sizes.heads;
        const fk::global_ptr<Cache> to =
            kept < 0 ? queries + (token * sizes.heads + head) * sizes.head
                     : cache + (kept * sizes.capacity + position) * sizes.head;
        fk::vec<float, Size> x = fk::load_vec<Size>(from), y = x;
        if (kept < sizes.kv_heads && at < 2 * rotated)
          fk::static_for<Size>([&](auto k) FLAGGEMS_LAMBDA {
            const int pair = (at + k) / 2;
            const float other = Size > 1 ? x.at[k ^ (1 % Size)] : row[head * sizes.head + (at ^ 1)];
            const float turned = other * s[pair];
            y.at[k] = x.at[k] * c[pair] + ((at + k) % 2 == 0 ? -turned : turned);
          });
        fk::vec<Cache, Size> stored;
        fk::static_for<Size>(
            [&](auto k) FLAGGEMS_LAMBDA { stored.at[k] = fk::number_cast<Cache>(y.at[k]); });
        fk::store_vec<Size>(to + at, stored);
      });
    });
  }
};

/// out[i] is uniform in [offset - scale, offset + scale): a function of the seed and i alone, so
/// every device has the same bits. `scale` is a power of two, so that no product is rounded.
template <class T>
struct random_weights {
  static constexpr i64 tile = 4096;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 n, flaggems::philox_generator generator,
                                  float offset, float scale, fk::global_ptr<T> out) {
    block.for_each_tile(fk::ceil_div(n, tile), [&](i64 t) FLAGGEMS_LAMBDA {
      const i64 first = t * tile, size = fk::min_of(tile, n - first);
      block.for_each(fk::ceil_div(size, i64(2)), [&](i64 k) FLAGGEMS_LAMBDA {
        const auto pair =
            fk::random_bits_of_pair(generator, static_cast<flaggems::u64>(first / 2 + k));
        for (i64 e = 0; e < 2 && 2 * k + e < size; ++e) {
          const float x = (fk::uniform<float>(pair.bits[e]) - 0.5F) * (2.0F * scale);
          out[first + 2 * k + e] = fk::number_cast<T>(offset + x);
        }
      });
    });
  }
};

}  // namespace llama

FLAGGEMS_TEXT("decode_kernels.hpp");
