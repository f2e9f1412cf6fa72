// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Sorts few keys on the host: each lane of a vector counts the predecessors of its key; 64-bit
// keys, of which a vector has too few, are merged.
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/family/order/sort.hpp>

namespace flaggems::kernels {

/// Keys of at most 32 bits: ranks[i] = how many of n keys precede keys[i].
template <class Isa>
FLAGGEMS_HOST_INLINE void count_ranks(const i32* keys, i64 n, i32* ranks) {
  using V = simd<i32, Isa>;
  for (i64 first = 0; first < n; first += Isa::lanes) {
    const V own = load_lanes<i32, i32, Isa>(keys + first, Isa::lanes);
    const V place = iota<i32>(lane_vector<Isa>{first});
    // A mask is -1 where true. Ties are ordered by index.
    V rank(static_cast<i32>(first));
    i64 k = 0;
    for (; k < first; ++k) rank = rank + V((own < V(keys[k])).v);
    for (; k < min_of(n, first + Isa::lanes); ++k) {
      const V key(keys[k]);
      rank = rank - V(((key < own) | ((key == own) & (place > V(static_cast<i32>(k))))).v);
    }
    for (; k < n; ++k) rank = rank - V((V(keys[k]) < own).v);
    store_lanes(ranks + first, rank, Isa::lanes);
  }
}

/// Keys begin .. end, of which both halves, up to middle and from there, are sorted.
template <class U>
FLAGGEMS_HOST_INLINE void merge_halves(const sort_buffers<U>& data, i64 begin, i64 middle,
                                       i64 end) {
  i64 a = begin, b = middle, to = begin;
  for (; a < middle && b < end; ++to) {
    const bool second = data.keys[b] < data.keys[a];
    const i64 from = second ? b : a;
    data.spare_keys[to] = data.keys[from];
    data.spare_indices[to] = data.indices[from];
    b += second ? 1 : 0;
    a += second ? 0 : 1;
  }
  if (a == middle) a = b;
  for (; to < end; ++to, ++a) {
    data.spare_keys[to] = data.keys[a];
    data.spare_indices[to] = data.indices[a];
  }
}

/// As the portable form, several times as fast.
template <class Isa, class U>
FLAGGEMS_HOST_INLINE sort_buffers<U> sort_by_rank(host_block<Isa>&, i64 n, sort_buffers<U> data) {
  if constexpr (sizeof(U) == 8) {
    constexpr i64 run = 8;
    for (i64 begin = 0; begin < n; begin += run) {
      const i64 end = min_of(n, begin + run);
      for (i64 i = begin; i < end; ++i) {
        const U key = data.keys[i];
        i64 rank = begin;
        for (i64 k = begin; k < i; ++k) rank += data.keys[k] <= key ? 1 : 0;
        for (i64 k = i + 1; k < end; ++k) rank += data.keys[k] < key ? 1 : 0;
        data.spare_keys[rank] = key;
        data.spare_indices[rank] = data.indices[i];
      }
    }
    data = data.swapped();
    for (i64 width = run; width < n; width *= 2) {
      for (i64 begin = 0; begin < n; begin += 2 * width)
        merge_halves(data, begin, min_of(n, begin + width), min_of(n, begin + 2 * width));
      data = data.swapped();
    }
    return data;
  } else {
    // Signed: no level below AVX-512 compares unsigned numbers.
    i32 keys[most_ranked + 16], ranks[most_ranked + 16];
    for (i64 i = 0; i < n; ++i)
      keys[i] = static_cast<i32>(static_cast<u32>(data.keys[i]) ^ 0x80000000U);
    for (i64 i = n; i < round_up(n, i64{Isa::lanes}); ++i) keys[i] = 0;
    count_ranks<Isa>(keys, n, ranks);
    for (i64 i = 0; i < n; ++i) {
      data.spare_keys[ranks[i]] = data.keys[i];
      data.spare_indices[ranks[i]] = data.indices[i];
    }
    return data.swapped();
  }
}

/// `sort_keys`, which depends on the keys' size only: a part, so that all kernels share it.
struct sort_part {
  template <class Isa, class U>
  FLAGGEMS_HOST_INLINE static void run(i64 n, sort_buffers<U>* data,
                                       const host_scratch<i64>& counters) {
    host_block<Isa> block(0, 1, nullptr);
    *data = n <= most_ranked ? sort_by_rank(block, n, *data)
                             : sort_by_digits(block, n, *data, counters);
  }
};
/// The part, of the level at which a block runs.
template <class U>
using sorter = level_part<i64, sort_buffers<U>*, host_scratch<i64>>;
template <class U, class Isa>
FLAGGEMS_HOST_INLINE sorter<U> sorter_of(const host_block<Isa>& block) {
  return block.template part<sort_part, i64, sort_buffers<U>*, host_scratch<i64>>();
}
template <class Isa, class U>
FLAGGEMS_HOST_INLINE sort_buffers<U> sort_keys(host_block<Isa>& block, i64 n, sort_buffers<U> data,
                                               const host_scratch<i64>& counters) {
  sorter_of<U>(block).call(n, &data, counters);
  return data;
}

}  // namespace flaggems::kernels
