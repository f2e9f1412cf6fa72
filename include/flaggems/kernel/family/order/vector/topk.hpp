// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// The k first of a row on the host: reads the row once, by vectors, and examines an element only if
// it beats the last of those found so far: about k ln(n / k) elements in random order.
#pragma once

#include <flaggems/kernel/family/order/topk.hpp>
#include <flaggems/kernel/family/order/vector/sort.hpp>

namespace flaggems::kernels {

/// At most so many are kept in order by insertion; more are collected and selected.
inline constexpr i64 most_inserted = 16;
/// The size of the buffer in which the k first of n are collected.
FLAGGEMS_HOST_INLINE constexpr i64 collected(i64 n, i64 k) {
  return k <= most_inserted ? k : min_of(n, max_of(2 * k, i64{128}));
}

/// The comparison type of T.
template <class T>
using ordered_as = typename conditional<is_same<T, bool>, type_identity<i32>,
                                        type_identity<compute_type<T>>>::type;

/// Calls consider(i) for every i in [begin, n) whose element precedes bound(), and for some others.
/// bound() may change with each call.
template <class T, class Isa, class Bound, class Consider>
FLAGGEMS_HOST_INLINE void consider_before(const host_block<Isa>&, i64 begin, i64 n,
                                          const row_in<T>& x, bool largest, const Bound& bound,
                                          const Consider& consider) {
  using C = ordered_as<T>;
  using V = typename simd_type<C, Isa>::type;
  constexpr i64 lanes = Isa::lanes, step = 4 * lanes;
  i64 i = begin;
  while (i + step <= n) {
    const V last(bound());
    // NaN beats, or at least is considered.
    const auto beats = [&](i64 at) FLAGGEMS_LAMBDA {
      const V v = x.template load<C>(lane_vector<Isa>{at});
      return largest ? !(v <= last) : !(v >= last);
    };
    const auto any_of_step = [&]() FLAGGEMS_LAMBDA {
      return any_lane(beats(i) | beats(i + lanes) | beats(i + 2 * lanes) | beats(i + 3 * lanes));
    };
    while (i + step <= n && !any_of_step()) i += step;
    if (i + step > n) break;
    for (i64 at = i; at < i + step; at += lanes) {
      if (!any_lane(beats(at))) continue;
      for (i64 k = at; k < at + lanes; ++k) consider(k);
    }
    i += step;
  }
  for (; i < n; ++i) consider(i);
}

/// Few: always in order, by insertion.
template <class T, class Isa>
FLAGGEMS_HOST_INLINE void insert_first(const host_block<Isa>& block, i64 n, i64 k,
                                       const row_in<T>& x, bool largest,
                                       const sort_buffers<bits_type<T>>& data) {
  using U = bits_type<T>;
  const auto insert = [&](i64 place, U key, i64 i) FLAGGEMS_LAMBDA {
    for (; place > 0 && data.keys[place - 1] > key; --place) {
      data.keys[place] = data.keys[place - 1];
      data.indices[place] = data.indices[place - 1];
    }
    data.keys[place] = key;
    data.indices[place] = i;
  };
  for (i64 i = 0; i < k; ++i) insert(i, order_key(x.template read<T>(i), largest), i);
  U last = data.keys[k - 1];
  const auto bound = [&]() FLAGGEMS_LAMBDA {
    return x.template read<ordered_as<T>>(data.indices[k - 1]);
  };
  consider_before(block, k, n, x, largest, bound, [&](i64 i) FLAGGEMS_LAMBDA {
    const U key = order_key(x.template read<T>(i), largest);
    if (key < last) {
      insert(k - 1, key, i);
      last = data.keys[k - 1];
    }
  });
}

struct least_number {
  template <class V>
  FLAGGEMS_HOST_INLINE V operator()(const V& a, const V& b) const {
    return select((a < b) | (b != b), a, b);
  }
};

/// The index of the first element of a row, which is short: found by its value.
template <class T, class Isa>
FLAGGEMS_HOST_INLINE i64 find_one(const host_block<Isa>& block, i64 n, const row_in<T>& x,
                                  bool largest) {
  using C = ordered_as<T>;
  const auto element = [&](auto lane) FLAGGEMS_LAMBDA { return x.template load<C>(lane); };
  const C best = largest ? block.reduce(n, lowest<C>(), maximum_of{}, element)
                         : block.reduce(n, highest<C>(), least_number{}, element);
  using V = typename simd_type<C, Isa>::type;
  const V wanted(best);
  const bool is_nan = best != best;
  i64 i = 0;
  for (; i + Isa::lanes <= n; i += Isa::lanes) {
    const V v = x.template load<C>(lane_vector<Isa>{i});
    if (any_lane((v == wanted) | ((v != v) & simd_mask<Isa>(is_nan)))) break;
  }
  for (; i < n; ++i) {
    const C v = x.template read<C>(i);
    if (v == best || (is_nan && v != v)) return i;
  }
  return 0;  // the least of nothing but NaN
}

/// Many: in a buffer of twice as many, reduced to the k first when full. Sorted at the end.
template <class T, class Isa, class Counters>
FLAGGEMS_HOST_INLINE sort_buffers<bits_type<T>> collect_first(host_block<Isa>& block, i64 n, i64 k,
                                                              const row_in<T>& x, bool largest,
                                                              sort_buffers<bits_type<T>> data,
                                                              const Counters& counters) {
  using U = bits_type<T>;
  const i64 capacity = collected(n, k);
  i64 count = 0, last = 0;  // how many are collected, and the index of the k-th
  U last_key = 0;
  const bool few = capacity <= most_ranked;  // sorted rather than selected from
  const auto reduce = [&]() FLAGGEMS_LAMBDA {
    if (few) {
      data = sort_by_rank(block, count, data);
      last_key = data.keys[k - 1];
      last = data.indices[k - 1];
      count = k;
      return;
    }
    const auto key_at = [&](i64 i) FLAGGEMS_LAMBDA { return data.keys[i]; };
    last_key = 0;
    select_least<U>(block, count, k, key_at, counters, [&](i64 i, i64 place) FLAGGEMS_LAMBDA {
      const U key = data.keys[i];
      data.spare_keys[place] = key;
      data.spare_indices[place] = data.indices[i];
      if (key >= last_key) last_key = key, last = data.indices[i];
    });
    data = data.swapped();
    count = k;
  };
  for (; count < capacity; ++count) {
    data.keys[count] = order_key(x.template read<T>(count), largest);
    data.indices[count] = count;
  }
  reduce();
  const auto bound = [&]() FLAGGEMS_LAMBDA { return x.template read<ordered_as<T>>(last); };
  consider_before(block, capacity, n, x, largest, bound, [&](i64 i) FLAGGEMS_LAMBDA {
    const U key = order_key(x.template read<T>(i), largest);
    data.keys[count] = key;  // without a branch, which would be mispredicted
    data.indices[count] = i;
    count += key < last_key ? 1 : 0;
    if (count == capacity) reduce();
  });
  if (count > k) reduce();
  return few ? data : sort_keys(block, k, data, counters);
}

template <class T, class Isa, class Counters>
FLAGGEMS_HOST_INLINE sort_buffers<bits_type<T>> find_first(host_block<Isa>& block, i64 n, i64 k,
                                                           const row_in<T>& x, bool largest,
                                                           const sort_buffers<bits_type<T>>& data,
                                                           const Counters& counters) {
  if (k == 1 && n <= 4096) {
    const i64 i = find_one(block, n, x, largest);
    data.keys[0] = order_key(x.template read<T>(i), largest);
    data.indices[0] = i;
    return data;
  }
  if (k <= most_inserted) {
    insert_first(block, n, k, x, largest, data);
    return data;
  }
  return collect_first(block, n, k, x, largest, data, counters);
}

}  // namespace flaggems::kernels
