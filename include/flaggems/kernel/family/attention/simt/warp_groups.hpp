// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of many queries by warp groups (wgmma): one loads boxes of queries, keys and values
// through the copy engine, the others have 64 rows each, whose scores, weights and sums stay in
// registers. Persistent. J. Shah et al.: FlashAttention-3, 2024 (arXiv:2407.08608).
#pragma once

#include <flaggems/kernel/block/simt/warp_group.hpp>
#include <flaggems/kernel/family/attention/simt/warp_group_units.hpp>

namespace flaggems::kernels {

/// A thread of such attention.
template <class Block, class Space, class T, class Out, class Mask, class Logs, class Tile>
class attention_by_warp_groups {
 public:
  FLAGGEMS_INLINE attention_by_warp_groups(Block& block, const Space& space, const tensor_map& q,
                                           const tensor_map& k, const tensor_map& v,
                                           const Mask& mask, const decode_arg<Out>& out,
                                           const Logs& logs)
      : block_(block),
        unit_(block.machine()),
        space_(space),
        q_(q),
        k_(k),
        v_(v),
        mask_(mask),
        out_(out),
        logs_(logs),
        thread_(static_cast<u32>(block.thread())),
        base_(unit_.address(
            block.template scratch<u64>(Tile::scratch(mask_element<Mask>::bytes) / 8))) {}

  FLAGGEMS_INLINE void run() {
    if (thread_ == 0) {
      for (u32 s = 0; s < 2 * stages + Tile::queries; ++s) {
        unit_.init_barrier(full(s), 1);
        unit_.init_barrier(empty(s), Tile::consumers);
      }
      unit_.fence_barriers();
      unit_.prefetch(q_);
      unit_.prefetch(k_);
      unit_.prefetch(v_);
    }
    block_.sync();
    unit_.await_earlier(space_.admits);
    // One branch a role, so that each has its number of registers.
    if (thread_ < 128) {
      unit_.template give_registers<Tile::few_registers>();
      if (thread_ == 0) produce();
    } else {
      unit_.template take_registers<Tile::many_registers>();
      consume();
    }
    unit_.sync_warp();
  }

 private:
  using unit_type = warp_group_unit<typename Block::machine_type>;
  using work = typename Space::unit_type;
  static constexpr int d = Tile::d, n = Tile::n, m = Tile::m, stages = Tile::stages;
  // A mask comes in boxes, a rule is computed.
  static constexpr bool is_masked = mask_element<Mask>::bytes > 0;
  static constexpr bool is_ruled = !is_masked && !is_same<Mask, no_mask>;
  using position = pipeline_position<stages>;
  using q_position = pipeline_position<Tile::queries>;
  using scores_type = f32[n / 2];
  using sums_type = f32[d / 2];
  using weights_type = u32[n / 4];

  // A mask's boxes have lines of up to 128 bytes.
  static constexpr u32 mask_bytes = mask_element<Mask>::bytes;
  static constexpr u32 mask_line = n * mask_bytes < 128 ? n * mask_bytes : 128;
  static constexpr u32 mask_boxes = is_masked ? n * mask_bytes / max_of(mask_line, 1U) : 0;

  // Scratch: queries | stages of keys | of values | of a mask | barriers of keys, values, queries.
  FLAGGEMS_INLINE u32 keys_at(u32 stage) const {
    return base_ + Tile::queries * Tile::q_bytes + stage * Tile::kv_bytes;
  }
  FLAGGEMS_INLINE u32 values_at(u32 stage) const { return keys_at(stage + stages); }
  FLAGGEMS_INLINE u32 mask_at(u32 stage) const {
    return keys_at(2 * stages) + stage * (m * n * mask_bytes);
  }
  FLAGGEMS_INLINE u32 full(u32 slot) const { return mask_at(stages) + 16 * slot; }
  FLAGGEMS_INLINE u32 empty(u32 slot) const { return full(slot) + 8; }
  static constexpr u32 of_values = stages, of_queries = 2 * stages;

  /// The block's next unit, which does not exist after the last one.
  FLAGGEMS_INLINE work next_unit(u32& round) const {
    const u32 block = static_cast<u32>(block_.cluster()),
              blocks = static_cast<u32>(block_.clusters());
    for (;;) {
      const u32 index = attention_warp_space::unit_of(round++, block, blocks);
      const work u(space_, index, m, n);
      if (u.exists || index >= space_.tiles) return u;
    }
  }

  // ---- the thread that loads
  template <int Rank>
  FLAGGEMS_INLINE void load(u32 to, const tensor_map& map, box_corner<Rank> first, u32 rows,
                            u32 bar) const {
    FLAGGEMS_SIMT_UNROLL
    for (u32 b = 0; b < Tile::boxes; ++b) {
      first.at[0] = static_cast<i32>(b * 64);
      unit_.load_box(to + b * rows * 128, map, first, bar);
    }
  }
  FLAGGEMS_INLINE void load_tile(const tensor_map& map, u32 to, u32 slot, const work& u,
                                 i32 tile) const {
    load<4>(to, map, {{0, u.key_at + tile * n, static_cast<i32>(u.place.inner), u.outer()}}, n,
            full(slot));
  }
  FLAGGEMS_INLINE void load_keys(position& at, const work& u, i32 tile) const {
    unit_.wait(empty(at.stage), at.phase ^ 1);
    unit_.expect(full(at.stage), Tile::kv_bytes + m * n * mask_bytes);
    load_tile(k_, keys_at(at.stage), at.stage, u, tile);
    if constexpr (is_masked) {
      const i32 row = position_of(u) * mask_.position, head = u.head * mask_.head;
      const bool shares = space_.group.divisor != 1;
      FLAGGEMS_SIMT_UNROLL
      for (u32 b = 0; b < mask_boxes; ++b) {
        const i32 key = tile * n + static_cast<i32>(b * (mask_line / mask_bytes));
        unit_.load_box(mask_at(at.stage) + b * (m * mask_line), mask_.map,
                       box_corner<5>{{key, shares ? 0 : row, shares ? row : head,
                                      static_cast<i32>(u.place.inner) * mask_.inner,
                                      static_cast<i32>(u.place.outer) * mask_.outer}},
                       full(at.stage));
      }
    }
    at.next();
  }
  FLAGGEMS_INLINE void load_values(position& at, const work& u, i32 tile) const {
    unit_.wait(empty(of_values + at.stage), at.phase ^ 1);
    unit_.expect(full(of_values + at.stage), Tile::kv_bytes);
    load_tile(v_, values_at(at.stage), of_values + at.stage, u, tile);
    at.next();
  }
  FLAGGEMS_INLINE i32 position_of(const work& u) const {
    return static_cast<i32>(space_.group.quotient(static_cast<u32>(u.first)));
  }
  FLAGGEMS_INLINE void load_queries(const q_position& at, const work& u) const {
    const u32 slot = of_queries + at.stage, to = base_ + at.stage * Tile::q_bytes;
    const i32 outer = u.outer(), inner = static_cast<i32>(u.place.inner);
    unit_.wait(empty(slot), at.phase ^ 1);
    unit_.expect(full(slot), Tile::q_bytes);
    // Rows of a tile are positions of a head, or all heads of fewer positions.
    const i32 row = u.query_at + position_of(u);
    if (space_.group.divisor == 1)
      load<5>(to, q_, {{0, row, u.head, inner, outer}}, m, full(slot));
    else
      load<5>(to, q_, {{0, 0, row, inner, outer}}, m, full(slot));
  }
  /// Values come a tile after their keys, as they are used; those of a unit's last tile after the
  /// first keys of the next one, if it streams.
  FLAGGEMS_INLINE void produce() const {
    position k_at, v_at;
    q_position q_at;
    u32 round = 0;
    work before = next_unit(round);
    bool is_due = false;  // the values of the last tile of `before`
    for (work u = before; u.exists; u = next_unit(round)) {
      if (!Tile::streams && is_due) load_values(v_at, before, 0);
      load_queries(q_at, u);
      q_at.next();
      for (i32 t = u.count - 1; t >= 0; --t) {
        load_keys(k_at, u, t);
        if (t < u.count - 1)
          load_values(v_at, u, t + 1);
        else if (Tile::streams && is_due)
          load_values(v_at, before, 0);
      }
      before = u;
      is_due = true;
    }
    if (is_due) load_values(v_at, before, 0);
  }

  // ---- a warp group that multiplies
  FLAGGEMS_INLINE void multiply_scores(scores_type& s, u32 stage, u32 q_stage) const {
    const u64 a = matrix_descriptor<major::along>(base_ + q_stage * Tile::q_bytes +
                                                  (thread_ / 128 - 1) * (64 * 128));
    const u64 b = matrix_descriptor<major::along>(keys_at(stage));
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < d / 16; ++i) {
      const u64 box = static_cast<u64>(i / 4), part = static_cast<u64>(i % 4 * 2);
      unit_.template multiply<T, major::along, major::along>(
          s, a + box * (m * 128 / 16) + part, b + box * (n * 128 / 16) + part, i > 0);
    }
    unit_.commit();
  }
  FLAGGEMS_INLINE void multiply_values(sums_type& o, const weights_type& p, u32 stage,
                                       i32 adds) const {
    const u64 b = matrix_descriptor<major::across, n>(values_at(stage));
    unit_.begin();  // again after a wait, as registers are read
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < n / 16; ++i)
      unit_.template multiply_rows<T, major::across>(
          o, p + 4 * i, b + static_cast<u64>(i * (16 * 128 / 16)), i > 0 ? 1 : adds);
    unit_.commit();
  }
  /// Lets the loading thread overwrite a slot.
  FLAGGEMS_INLINE void release(u32 slot) const {
    if (thread_ % 128 == 0) unit_.arrive(empty(slot));
  }

  /// Of a thread's two rows: the number that scores are relative to, in powers of two, the sum of
  /// weights so far, and what sums are scaled by; `left`: the keys of a tile that a row sees, from
  /// the thread's first one on, and with windows those before that it does not, `from`. (-inf would
  /// have no difference to the scores of rows without keys.)
  struct rows_type {
    f32 top[2] = {-0x1.fffffep127F, -0x1.fffffep127F}, total[2] = {0.0F, 0.0F}, factor[2] = {};
    i32 left[2] = {}, from[2] = {};
  };
  /// Powers of two by which scores grow before sums are scaled anew.
  static constexpr int slack = 8;

  FLAGGEMS_INLINE i32 row_in_tile() const {
    return static_cast<i32>(thread_ - 128) / 32 * 16 + static_cast<i32>(thread_) % 32 / 4;
  }
  FLAGGEMS_INLINE i32 column() const { return static_cast<i32>(thread_) % 4 * 2; }
  /// Whether a mask is added to the scores, which are scaled before that, as before a rule.
  static constexpr bool is_added = mask_bytes > 1;
  FLAGGEMS_INLINE f32 factor() const {
    return (is_added || is_ruled ? 1.0F : space_.scale) * ln2_constants<f32>::inverse;
  }

  /// The rows of the next tile of keys.
  FLAGGEMS_INLINE static void advance(rows_type& x) {
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      x.left[r] += n;
      if constexpr (Space::has_windows) x.from[r] += n;
    }
  }
  /// Scores of keys that a row does not see become -inf.
  FLAGGEMS_INLINE static void hide(scores_type& s, const rows_type& x) {
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      FLAGGEMS_SIMT_UNROLL
      for (int i = 0; i < n / 4; ++i) {
        f32& e = s[i / 2 * 4 + 2 * r + i % 2];
        bool is_seen = i / 2 * 8 + i % 2 < x.left[r];
        if constexpr (Space::has_windows) is_seen = is_seen && i / 2 * 8 + i % 2 >= x.from[r];
        e = is_seen ? e : lowest<f32>();
      }
    }
  }
  /// Scores become what the mask of the stage makes of them.
  FLAGGEMS_INLINE void mask(scores_type& s, u32 stage) const {
    using pair = vec<typename mask_element<Mask>::type, 2>;
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      // Of rows that are heads of positions, the mask has those that it does not broadcast over.
      const u32 row = static_cast<u32>(row_in_tile() + 8 * r), group = space_.group.divisor;
      const u32 before = space_.group.quotient(row) * group;
      const u32 line =
          before * static_cast<u32>(mask_.position) + (row - before) * static_cast<u32>(mask_.head);
      const u32 at =
          mask_at(stage) +
          swizzled(line * mask_line + static_cast<u32>(column()) * mask_bytes, mask_line / 16);
      FLAGGEMS_SIMT_UNROLL
      for (u32 j = 0; j < n / 8; ++j) {
        const u32 byte = j * 8 * mask_bytes % mask_line;
        const u32 box = j * 8 * mask_bytes / mask_line * (m * mask_line);
        const pair x = unit_.template read<pair>(((at + box) ^ byte / 16 * 16) + byte % 16);
        FLAGGEMS_SIMT_UNROLL
        for (int e = 0; e < 2; ++e) {
          f32& score = s[4 * j + static_cast<u32>(2 * r + e)];
          if constexpr (is_added)
            score = fma(score, space_.scale, f32(x.at[e]));
          else
            score = x.at[e] ? score : lowest<f32>();
        }
      }
    }
  }
  /// Scores of a tile of keys become what the rule makes of them.
  FLAGGEMS_INLINE void rule(scores_type& s, const work& u, i32 tile) const {
    const i32 first = u.key_index(tile * n + column());
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      const auto& row = mask_.row(u.place, u.query(space_, u.first + row_in_tile() + 8 * r));
      FLAGGEMS_SIMT_UNROLL
      for (int i = 0; i < n / 4; ++i) {
        f32& e = s[i / 2 * 4 + 2 * r + i % 2];
        e = row.template apply<f32>(lane_scalar{first + i / 2 * 8 + i % 2}, f32(e * space_.scale));
      }
    }
  }
  /// Scores become weights. A largest score that grows by less than `slack` is not followed.
  FLAGGEMS_INLINE void weigh(scores_type& s, rows_type& x) const {
    const f32 c = factor();
    f32 most[2][4];
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      FLAGGEMS_SIMT_UNROLL
      for (int i = 0; i < 4; ++i) most[r][i] = s[i / 2 * 4 + 2 * r + i % 2];
      FLAGGEMS_SIMT_UNROLL
      for (int i = 4; i < n / 4; ++i)
        most[r][i % 4] = greater_or_nan(most[r][i % 4], s[i / 2 * 4 + 2 * r + i % 2]);
      f32 now = greater_or_nan(greater_or_nan(most[r][0], most[r][1]),
                               greater_or_nan(most[r][2], most[r][3]));
      FLAGGEMS_SIMT_UNROLL
      for (int beyond = 1; beyond < 4; beyond *= 2)
        now = greater_or_nan(now, block_.template shuffle_xor<f32>(now, beyond));
      now *= c;
      now = now <= x.top[r] + f32(slack) ? x.top[r] : now;
      x.factor[r] = softmax_power_of_two(x.top[r] - now);
      x.top[r] = now;
    }
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < n / 2; ++i) s[i] = softmax_power_of_two(fma(s[i], c, -x.top[i / 2 % 2]));
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      f32 sums[4];
      FLAGGEMS_SIMT_UNROLL
      for (int i = 0; i < 4; ++i) sums[i] = s[i / 2 * 4 + 2 * r + i % 2];
      FLAGGEMS_SIMT_UNROLL
      for (int i = 4; i < n / 4; ++i) sums[i % 4] += s[i / 2 * 4 + 2 * r + i % 2];
      x.total[r] = fma(x.total[r], x.factor[r], (sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
  }
  FLAGGEMS_INLINE static void pack(weights_type& p, const scores_type& s) {
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < n / 4; ++i) p[i] = pack_halves<T>(s[2 * i], s[2 * i + 1]);
  }
  FLAGGEMS_INLINE void rescale(sums_type& o, const rows_type& x) const {
    if (!block_.any_in_warp(!(x.factor[0] == 1.0F && x.factor[1] == 1.0F))) return;
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < d / 2; ++i) o[i] *= x.factor[i / 2 % 2];
  }

  /// Where a warp group is in the rings.
  struct places {
    position k, v;
    q_position q;
  };

  /// The scores of a unit's tile while the values of the tile before are multiplied by their
  /// weights; that is the last one of another unit if this `Begins` one.
  template <bool Hides, bool Begins>
  FLAGGEMS_INLINE void step(scores_type& s, sums_type& o, weights_type& p, rows_type& x, places& at,
                            i32 adds, const work& u, i32 tile, bool hides = true) const {
    unit_.wait(full(at.k.stage), at.k.phase);
    unit_.hold(s);
    unit_.hold(o);
    unit_.hold(p);
    unit_.begin();
    multiply_scores(s, at.k.stage, at.q.stage);
    unit_.wait(full(of_values + at.v.stage), at.v.phase);
    multiply_values(o, p, at.v.stage, adds);
    unit_.template await<1>();
    unit_.hold(s);
    if constexpr (is_masked) {
      mask(s, at.k.stage);
      unit_.sync_named(thread_ / 128, 128);  // all have read it
    }
    release(at.k.stage);
    if constexpr (is_ruled) rule(s, u, tile);
    if constexpr (Hides || Space::has_windows) advance(x);
    if constexpr (Hides)
      if (hides) hide(s, x);
    weigh(s, x);
    unit_.hold(s);
    unit_.template await<0>();
    unit_.hold(o);
    unit_.hold(p);
    release(of_values + at.v.stage);
    pack(p, s);
    if constexpr (!Begins) rescale(o, x);
    at.k.next();
    at.v.next();
  }
  /// The rows of a unit, before its first tile.
  FLAGGEMS_INLINE rows_type rows_of(const work& u) const {
    rows_type x;
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      const i32 row = u.first + row_in_tile() + 8 * r, before = u.count * n + column();
      x.left[r] = u.seen(space_, row) - before;
      if constexpr (Space::has_windows) x.from[r] = u.from(space_, row) - before;
    }
    return x;
  }
  /// Whether some row does not see all keys of a unit's first tile.
  FLAGGEMS_INLINE static bool hides_first(const work& u) {
    return Space::has_windows || u.count > u.whole;
  }
  /// The first weights of a unit.
  FLAGGEMS_INLINE void begin(scores_type& s, weights_type& p, rows_type& x, places& at,
                             const work& u) const {
    unit_.wait(full(at.k.stage), at.k.phase);
    unit_.wait(full(of_queries + at.q.stage), at.q.phase);
    unit_.hold(s);
    unit_.begin();
    multiply_scores(s, at.k.stage, at.q.stage);
    unit_.template await<0>();
    unit_.hold(s);
    if constexpr (is_masked) {
      mask(s, at.k.stage);
      unit_.sync_named(thread_ / 128, 128);  // all have read it
    }
    release(at.k.stage);
    at.k.next();
    if constexpr (is_ruled) rule(s, u, u.count - 1);
    advance(x);
    if (hides_first(u)) hide(s, x);
    weigh(s, x);
    pack(p, s);
  }

  /// Values of another sequence, behind those of a unit's last tile, become 0: numbers times their
  /// weights of 0 might be none.
  FLAGGEMS_INLINE void clear_values(const places& at, const work& u) const {
    const u32 kept = static_cast<u32>(u.keys - (u.count - 1) * n);
    if (kept >= n) return;
    unit_.wait(full(of_values + at.v.stage), at.v.phase);
    FLAGGEMS_SIMT_NO_UNROLL
    for (u32 b = 0; b < Tile::boxes; ++b)
      for (u32 i = kept * 8 + thread_ - 128; i < n * 8; i += 128 * Tile::consumers)
        unit_.write(values_at(at.v.stage) + b * (n * 128) + i * 16, vec<u32, 4>{});
    unit_.fence_writes();
    unit_.sync_named(1 + Tile::consumers, 128 * Tile::consumers);
  }

  /// Whether none of the warp group's rows exists. (By a shuffle, from which compilers know that a
  /// warp does not diverge: elsewhere addresses are no longer in uniform registers.)
  FLAGGEMS_INLINE bool is_idle(const work& u) const {
    const i32 group = static_cast<i32>(block_.machine().shuffle_from(thread_ / 128, 0)) - 1;
    return u.first + group * 64 > u.last;
  }
  /// Passes over a unit.
  FLAGGEMS_INLINE void pass(places& at, const work& u) const {
    if constexpr (Space::has_sequences) clear_values(at, u);
    FLAGGEMS_SIMT_NO_UNROLL
    for (i32 t = 0; t < u.count; ++t) {
      unit_.wait(full(at.k.stage), at.k.phase);
      release(at.k.stage);
      at.k.next();
      unit_.wait(full(of_values + at.v.stage), at.v.phase);
      release(of_values + at.v.stage);
      at.v.next();
    }
    unit_.wait(full(of_queries + at.q.stage), at.q.phase);
    release(of_queries + at.q.stage);
    at.q.next();
  }

  FLAGGEMS_INLINE void consume() const {
    places at;
    scores_type s;
    sums_type o;
    weights_type p;
    rows_type x;
    u32 round = 0;
    bool has_begun = false;
    for (work u = next_unit(round); u.exists;) {
      if (is_idle(u)) {
        pass(at, u);
        u = next_unit(round);
        continue;
      }
      if (!has_begun) {
        x = rows_of(u);
        begin(s, p, x, at, u);
      }
      if constexpr (Space::has_sequences) clear_values(at, u);
      i32 adds = 0, tile = u.count - 2;
      for (; tile >= u.whole; --tile, adds = 1) step<true, false>(s, o, p, x, at, adds, u, tile);
      if constexpr (Space::has_windows) {
        for (; tile >= u.least; --tile, adds = 1) step<false, false>(s, o, p, x, at, adds, u, tile);
        for (; tile >= 0; --tile, adds = 1) step<true, false>(s, o, p, x, at, adds, u, tile);
      } else {
        for (; tile >= 0; --tile, adds = 1) step<false, false>(s, o, p, x, at, adds, u, tile);
      }
      release(of_queries + at.q.stage);
      at.q.next();
      const work next = next_unit(round);
      has_begun = Tile::streams && next.exists && !is_idle(next);
      if (has_begun) {
        rows_type y = rows_of(next);
        unit_.wait(full(of_queries + at.q.stage), at.q.phase);
        step<true, true>(s, o, p, y, at, adds, next, next.count - 1, hides_first(next));
        store(o, x, u);
        x = y;
      } else {
        unit_.wait(full(of_values + at.v.stage), at.v.phase);
        unit_.hold(o);
        unit_.hold(p);
        multiply_values(o, p, at.v.stage, adds);
        unit_.template await<0>();
        unit_.hold(o);
        release(of_values + at.v.stage);
        at.v.next();
        store(o, x, u);
      }
      u = next;
    }
  }

  /// Stores a unit's rows.
  FLAGGEMS_INLINE void store(const sums_type& o, const rows_type& x, const work& u) const {
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      f32 sum = x.total[r];
      FLAGGEMS_SIMT_UNROLL
      for (int beyond = 1; beyond < 4; beyond *= 2)
        sum += block_.template shuffle_xor<f32>(sum, beyond);
      const f32 share = 1.0F / (sum == 0.0F ? 1.0F : sum);  // no key seen: 0, an empty sum
      const i32 row = u.first + row_in_tile() + 8 * r;
      const bool exists = row <= u.last;
      const prefill_query query = u.query(space_, row);
      const auto to = out_.at(u.place) + out_.offset(query);
      if constexpr (!is_same<Logs, no_logs>)
        if (exists && column() == 0)
          logs_.at(u.place)[logs_.offset(query)] = prefill_log_sum(x.top[r], sum);
      store_fragment_row<d>(block_, o + 2 * r, share, to, out_.element, space_.value_size,
                            space_.is_out_aligned, exists);
    }
  }

  Block& block_;
  unit_type unit_;
  const Space& space_;
  const tensor_map &q_, &k_, &v_;
  const Mask& mask_;
  const decode_arg<Out>& out_;
  const Logs& logs_;
  u32 thread_, base_;
};

/// Queries, keys and values of T (bf16 or f16), with no_mask, attention_mask_boxes or a rule, and
/// no_logs or where logarithms go.
template <class T, class Out, class Mask, class Logs, class Tile>
struct attention_warp_groups
    : warp_group_kernel<Tile::threads, Tile::scratch(mask_element<Mask>::bytes)> {
  template <class Block, class Space>
  FLAGGEMS_INLINE static void run(Block& block, const Space& space, const tensor_map& q,
                                  const tensor_map& k, const tensor_map& v, const Mask& mask,
                                  const decode_arg<Out>& out, const Logs& logs) {
    if constexpr (warp_group_unit<typename Block::machine_type>::exists)
      attention_by_warp_groups<Block, Space, T, Out, Mask, Logs, Tile>(block, space, q, k, v, mask,
                                                                       out, logs)
          .run();
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/simt/warp_groups.hpp");
