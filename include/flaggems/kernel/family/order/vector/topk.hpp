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

/// What parts are asked about a row of n elements, in a copy: what a caller passes by reference, it
/// reads from memory ever after.
template <class T>
struct row_search {
  row_in<T> x;
  i64 n;
  bool largest;
  ordered_as<T> bound;
};
/// Four vectors of a row, and which of them, by bits, have an element that precedes the bound (or
/// NaN); none has where there are no four vectors anymore.
struct better_vectors {
  i64 begin;
  u32 which;
};
/// The first such vectors from found->begin on.
struct find_better {
  template <class Isa, class T>
  FLAGGEMS_HOST_INLINE static void run(const row_search<T>& wanted, better_vectors* found) {
    using C = ordered_as<T>;
    using V = typename simd_type<C, Isa>::type;
    constexpr i64 lanes = Isa::lanes, step = 4 * lanes;
    const V last(wanted.bound);
    // Whether elements certainly do not precede it: false for NaN.
    const auto follow = [&](i64 at) FLAGGEMS_LAMBDA {
      const V v = wanted.x.template load<C>(lane_vector<Isa>{at});
      return wanted.largest ? v <= last : v >= last;
    };
    i64 i = found->begin;
    while (i + step <= wanted.n && !any_lane(!(follow(i) & follow(i + lanes) &
                                               follow(i + 2 * lanes) & follow(i + 3 * lanes))))
      i += step;
    u32 which = 0;
    for (u32 k = 0; k < 4 && i + step <= wanted.n; ++k)
      which |= any_lane(!follow(i + k * lanes)) ? 1U << k : 0U;
    *found = {i, which};
  }
};

/// Calls consider(i) for every i in [begin, n) whose element precedes bound(), and for some others.
/// bound() may change with each call.
template <class T, class Isa, class Bound, class Consider>
FLAGGEMS_HOST_INLINE void consider_before(const host_block<Isa>& block, i64 begin, i64 n,
                                          const row_in<T>& x, bool largest, const Bound& bound,
                                          const Consider& consider) {
  const auto find = block.template part<find_better, row_search<T>, better_vectors*>();
  row_search<T> wanted{x, n, largest, {}};
  i64 i = begin;
  while (i + 4 * find.lanes <= n) {
    wanted.bound = bound();
    better_vectors found{i, 0};
    find.call(wanted, &found);
    i = found.begin;
    for (u32 which = found.which; which != 0; which >>= 1, i += find.lanes)
      for (i64 k = i; (which & 1) != 0 && k < i + find.lanes; ++k) consider(k);
    if (found.which == 0) break;
    i = found.begin + 4 * find.lanes;
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
struct find_one {
  template <class Isa, class T>
  FLAGGEMS_HOST_INLINE static void run(const row_search<T>& wanted, i64* found) {
    const row_in<T>& x = wanted.x;
    const i64 n = wanted.n;
    using C = ordered_as<T>;
    using V = typename simd_type<C, Isa>::type;
    const host_block<Isa> block(0, 1, nullptr);
    const auto element = [&](auto lane) FLAGGEMS_LAMBDA { return x.template load<C>(lane); };
    const C best = wanted.largest ? block.reduce(n, lowest<C>(), maximum_of{}, element)
                                  : block.reduce(n, highest<C>(), least_number{}, element);
    const V value(best);
    const bool is_nan = best != best;
    i64 i = 0;
    for (; i + Isa::lanes <= n; i += Isa::lanes) {
      const V v = x.template load<C>(lane_vector<Isa>{i});
      if (any_lane((v == value) | ((v != v) & simd_mask<Isa>(is_nan)))) break;
    }
    for (; i < n; ++i) {
      const C v = x.template read<C>(i);
      if (v == best || (is_nan && v != v)) break;
    }
    *found = i < n ? i : 0;  // the least of nothing but NaN
  }
};

/// The least k of some keys, and the last of these.
template <class U>
struct first_keys {
  sort_buffers<U> data;
  U last_key;
  i64 last;
};
/// Those of `count` in data: sorted if these are few, else selected.
template <class U>
FLAGGEMS_NOINLINE first_keys<U> keep_first(const sorter<U>& sort, i64 count, i64 k, bool few,
                                           sort_buffers<U> data,
                                           const host_scratch<i64>& counters) {
  first_keys<U> first{data, 0, 0};
  if (few) {
    sort.call(count, &first.data, counters);
    first.last_key = first.data.keys[k - 1];
    first.last = first.data.indices[k - 1];
    return first;
  }
  host_block<isa_baseline> block(0, 1, nullptr);
  const auto key_at = [&](i64 i) FLAGGEMS_LAMBDA { return data.keys[i]; };
  select_least<U>(block, count, k, key_at, counters, [&](i64 i, i64 place) FLAGGEMS_LAMBDA {
    const U key = data.keys[i];
    data.spare_keys[place] = key;
    data.spare_indices[place] = data.indices[i];
    if (key >= first.last_key) first.last_key = key, first.last = data.indices[i];
  });
  first.data = data.swapped();
  return first;
}

/// Many: in a buffer of twice as many, reduced to the k first when full. Sorted at the end.
template <class T, class Isa>
FLAGGEMS_HOST_INLINE sort_buffers<bits_type<T>> collect_first(host_block<Isa>& block, i64 n, i64 k,
                                                              const row_in<T>& x, bool largest,
                                                              sort_buffers<bits_type<T>> data,
                                                              const host_scratch<i64>& counters) {
  using U = bits_type<T>;
  const auto sort = sorter_of<U>(block);
  const i64 capacity = collected(n, k);
  const bool few = capacity <= most_ranked;  // sorted rather than selected from
  i64 count = 0, last = 0;                   // how many are collected, and the index of the k-th
  U last_key = 0;
  const auto reduce = [&]() FLAGGEMS_LAMBDA {
    const first_keys<U> first = keep_first(sort, count, k, few, data, counters);
    data = first.data;
    last_key = first.last_key;
    last = first.last;
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

template <class T, class Isa>
FLAGGEMS_HOST_INLINE sort_buffers<bits_type<T>> find_first(host_block<Isa>& block, i64 n, i64 k,
                                                           const row_in<T>& x, bool largest,
                                                           const sort_buffers<bits_type<T>>& data,
                                                           const host_scratch<i64>& counters) {
  if (k == 1 && n <= 4096) {
    i64 i;
    block.template part<find_one, row_search<T>, i64*>().call({x, n, largest, {}}, &i);
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
