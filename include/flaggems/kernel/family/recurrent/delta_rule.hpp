// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gated delta rule (Yang, Kautz, Hatamizadeh 2024), token by token: a head's state, a matrix of
// keys by values, fades, and a token corrects what it gives for the token's key.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/family/reduce/reduce.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// A tensor [batch, tokens, heads, columns] of one of its elements and its strides.
template <class T>
struct delta_input {
  global_ptr<const T> data;
  i64 strides[4];
  FLAGGEMS_INLINE row_in<T> at(i64 batch, i64 token, i64 head, i64 column = 0) const {
    return {
        data + batch * strides[0] + token * strides[1] + head * strides[2] + column * strides[3],
        strides[3]};
  }
};

/// Where states [slots, heads, keys, values] lie; null for none.
template <class K>
struct delta_states {
  global_ptr<K> data;
  i64 slots;
  i64 strides[4];
  FLAGGEMS_INLINE bool has(i64 slot) const { return data != nullptr && slot >= 0 && slot < slots; }
  FLAGGEMS_INLINE row_out<K> row(i64 slot, i64 head, i64 key, i64 column) const {
    return {data + slot * strides[0] + head * strides[1] + key * strides[2] + column * strides[3],
            strides[3]};
  }
};

/// When the state is written: after the last token, to the sequence's slot; or after each token, to
/// a slot of its own (`slots`), or to that of its number.
enum class delta_kept : i32 { never, at_end, each_slot, each_token };

/// The operands; K is the dtype of gates and states.
template <class T, class K>
struct delta_rule_step {
  i64 sequences, tokens, heads, key_heads, keys, values;
  delta_input<T> q, k, v, beta;
  delta_input<K> g;
  K scale;
  i32 normalizes;  // queries and keys to length 1
  row_out<T> out;  // contiguous [batch, tokens, heads, values]
  delta_states<K> before, after;
  delta_kept kept;
  global_ptr<const i64> starts;    // of sequences in one batch, or null: each has `tokens`
  global_ptr<const i64> slots;     // of a sequence's tokens, or null
  i64 slot_sequence, slot_token;   // from one to the next; 0: one slot a sequence
  i64 slot_tokens;                 // of a sequence, that have slots
  global_ptr<const i64> accepted;  // tokens of which a sequence's state is kept, or null
};

/// A block takes a tile of a head's columns of values, whose state it keeps.
template <class T, class K>
struct delta_rule {
  static constexpr i64 tile = 64;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, delta_rule_step<T, K> p) {
    const auto state = block.template scratch<K>(p.keys * tile);
    const auto key = block.template scratch<K>(p.keys), query = block.template scratch<K>(p.keys);
    const i64 tiles = ceil_div(p.values, tile);
    block.for_each_tile(p.sequences * p.heads * tiles, [&](i64 at) FLAGGEMS_LAMBDA {
      const i64 first = at % tiles * tile, n = min_of(tile, p.values - first);
      const i64 head = at / tiles % p.heads, sequence = at / tiles / p.heads;
      const i64 from = head / (p.heads / p.key_heads);
      const i64 begin = start_of(p, sequence), end = start_of(p, sequence + 1);
      const i64 count = p.starts != nullptr ? max_of(end - begin, i64(0)) : p.tokens;
      const i64 batch = p.starts != nullptr ? 0 : sequence;
      const i64 taken = p.accepted != nullptr ? p.accepted[sequence] - 1 : 0;
      const i64 slot = slot_of(p, sequence, taken);
      block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA {
        using V = lane_value<decltype(lane), K>;
        for (i64 i = 0; i < p.keys; ++i) {
          V s = V(K(0));
          if (p.before.has(slot)) {
            const auto row = p.before.row(slot, head, i, first);
            s = row_in<K>{row.data, row.stride}.template load<K>(lane);
          }
          store(state.from(i * tile), lane, s);
        }
      });
      for (i64 t = 0; t < count; ++t) {
        const i64 token = begin + t;
        const auto k = p.k.at(batch, token, from), q = p.q.at(batch, token, from);
        const K key_scale = p.normalizes != 0 ? inverse_length(block, p.keys, k) : K(1);
        const K query_scale =
            p.scale * (p.normalizes != 0 ? inverse_length(block, p.keys, q) : K(1));
        block.for_each(p.keys, [&](i64 i) FLAGGEMS_LAMBDA {
          key.write(i, k.template read<K>(i) * key_scale);
          query.write(i, q.template read<K>(i) * query_scale);
        });
        block.sync();
        const K fade = exp(p.g.at(batch, token, head).template read<K>(0));
        const auto v = p.v.at(batch, token, head, first);
        const auto beta = p.beta.at(batch, token, head, first);
        const row_out<T> to{
            p.out.data + ((batch * p.tokens + token) * p.heads + head) * p.values + first, 1};
        const bool is_last = t + 1 == count;
        const bool keeps = p.kept != delta_kept::never && (p.kept != delta_kept::at_end || is_last);
        const i64 kept_slot = p.kept == delta_kept::each_token  ? batch * p.tokens + token
                              : p.kept == delta_kept::each_slot ? slot_of(p, sequence, t)
                                                                : slot_of(p, sequence, 0);
        block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), K>;
          V given = V(K(0)), result = V(K(0));
          for (i64 i = 0; i < p.keys; ++i)
            given = fma(load<K>(state.from(i * tile), lane), V(key.read(i)), given);
          const V wrong = v.template load<K>(lane) - given * V(fade);
          const V change = beta.template load<K>(lane) * wrong;
          for (i64 i = 0; i < p.keys; ++i) {
            const V s = fma(V(key.read(i)), change, load<K>(state.from(i * tile), lane) * V(fade));
            store(state.from(i * tile), lane, s);
            result = fma(s, V(query.read(i)), result);
            if (keeps && p.after.has(kept_slot))
              p.after.row(kept_slot, head, i, first).store(lane, s);
          }
          to.store(lane, result);
        });
        block.sync();  // before the next token's key
      }
      if (count == 0 && p.kept == delta_kept::at_end) {
        const i64 kept_slot = slot_of(p, sequence, 0);
        block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA {
          for (i64 i = 0; i < p.keys && p.after.has(kept_slot); ++i)
            p.after.row(kept_slot, head, i, first).store(lane, load<K>(state.from(i * tile), lane));
        });
      }
    });
  }

 private:
  /// Where a sequence starts, among the tokens whatever the host could not check.
  FLAGGEMS_INLINE static i64 start_of(const delta_rule_step<T, K>& p, i64 sequence) {
    if (p.starts == nullptr) return 0;
    return min_of(max_of(p.starts[sequence], i64(0)), p.tokens);
  }
  /// The slot of a sequence's state after its token t, -1 for none.
  FLAGGEMS_INLINE static i64 slot_of(const delta_rule_step<T, K>& p, i64 sequence, i64 t) {
    if (p.slots == nullptr) return sequence;
    if (p.slot_token != 0 && (t < 0 || t >= p.slot_tokens)) return -1;
    return p.slots[sequence * p.slot_sequence + t * p.slot_token];
  }
  template <class Block, class Row>
  FLAGGEMS_INLINE static K inverse_length(Block& block, i64 n, const Row& x) {
    const K squares = block.reduce(n, K(0), plus{}, [&](auto lane) FLAGGEMS_LAMBDA {
      const auto v = x.template load<K>(lane);
      return v * v;
    });
    return rsqrt(squares + K(1e-6));
  }
};

/// X = (I + A)^-1 X for n matrices: A [n, rows, rows], read below its diagonal, and X [n, rows,
/// columns], both contiguous.
template <class C>
struct unit_lower_solve {
  static constexpr i64 tile = 64;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 n, i64 rows, i64 columns, global_ptr<const C> a,
                                  global_ptr<C> x) {
    const i64 tiles = ceil_div(columns, tile);
    block.for_each_tile(n * tiles, [&](i64 at) FLAGGEMS_LAMBDA {
      const i64 matrix = at / tiles, first = at % tiles * tile;
      const global_ptr<const C> factors = a + matrix * rows * rows;
      const global_ptr<C> own = x + matrix * rows * columns + first;
      block.for_each_lane(min_of(tile, columns - first), [&](auto lane) FLAGGEMS_LAMBDA {
        using V = lane_value<decltype(lane), C>;
        for (i64 i = 1; i < rows; ++i) {
          V v = row_in<C>{own + i * columns, 1}.template load<C>(lane);
          for (i64 j = 0; j < i; ++j)
            v = fma(V(-factors[i * rows + j]),
                    row_in<C>{own + j * columns, 1}.template load<C>(lane), v);
          row_out<C>{own + i * columns, 1}.store(lane, v);
        }
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/recurrent/delta_rule.hpp");
