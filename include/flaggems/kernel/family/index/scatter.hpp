// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes of elements at indices. Elements that may go to one place are either written one after
// another by one thread or worker, in their order (scatter), or sorted by their places first, so
// that one thread has all that go to a place (scatter_sorted): no result depends on a race.
#pragma once

#include <flaggems/kernel/family/index/index_select.hpp>

namespace flaggems::kernels {

/// An element's offset of a tensor, from its lowest address, dimension by dimension: before + the
/// dimension's part. An index below 0 counts from the end if `wraps`; -1 is for one out of range.
struct index_offset_fn {
  i64 size, stride, bias;
  bool wraps;
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) before, FLAGGEMS_VALUE(V) index) const {
    const V n(size), zero(i64(0));
    const V at = select(index < zero, wraps ? V(index + n) : V(index), index);
    const auto wrong = (at < zero) | (at >= n) | (before < zero);
    return select(wrong, V(i64(-1)), V(before + at * V(stride) + V(bias)));
  }
};

/// How an element joins the one that is there.
enum class joining : int { replace, sum, product, largest, smallest };

template <class T>
FLAGGEMS_INLINE T joined(joining how, const T& a, const T& b) {
  switch (how) {
    case joining::sum: return plus{}(a, b);
    case joining::product: return multiplies{}(a, b);
    case joining::largest: return maximum_of{}(a, b);
    case joining::smallest: return minimum_of{}(a, b);
    default: return b;
  }
}
/// The type that elements are joined in.
template <class T>
using joined_type = conditional<is_same<T, bool>, i32, compute_type<T>>;

/// A part of an iteration space whose elements are taken one after another: their number is
/// `count`.
struct walk_space {
  int rank;
  i64 count, sizes[max_rank];

  /// The offsets of element w under two lists of strides.
  FLAGGEMS_INLINE void locate(i64 w, const i64 (&a)[max_rank], const i64 (&b)[max_rank], i64& at_a,
                              i64& at_b) const {
    for (int d = rank - 1; d > 0; --d) {
      const i64 next = w / sizes[d], k = w - next * sizes[d];
      at_a += k * a[d];
      at_b += k * b[d];
      w = next;
    }
    if (rank > 0) {
      at_a += w * a[0];
      at_b += w * b[0];
    }
  }
};

/// What is written, of T: the source, the indices, and their strides along the walk.
template <class T, class J>
struct scatter_source {
  global_ptr<const T> data;
  global_ptr<const J> index;
  i64 strides[max_rank], index_strides[max_rank];
  i64 walk[max_rank], index_walk[max_rank];
  i64 size, step;
};

/// out[.. + index * step] = source, or joined with it; indices out of range write nothing. The
/// tiles are of elements that go to different places; those of the walk may meet.
template <class T, class J>
struct scatter {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, tiling space, walk_space walk, target<T> out,
                                  scatter_source<T, J> source, joining how) {
    block.for_each_tile(space.tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(tile);
      const i64 n = space.length(c);
      const global_ptr<T> to = out.data + c.offset(out.strides);
      const global_ptr<const T> from = source.data + c.offset(source.strides);
      const global_ptr<const J> index = source.index + c.offset(source.index_strides);
      const i64 to_step = out.strides[c.rank], from_step = source.strides[c.rank];
      const i64 index_step = source.index_strides[c.rank];
      for (i64 w = 0; w < walk.count; ++w) {
        i64 at = 0, at_index = 0;
        walk.locate(w, source.walk, source.index_walk, at, at_index);
        block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
          const i64 k = static_cast<i64>(index[at_index + i * index_step]);
          if (k < 0 || k >= source.size) return;
          const global_ptr<T> place = to + (i * to_step + k * source.step);
          const T x = from[at + i * from_step];
          if (how == joining::replace) {
            *place = x;
          } else {
            using C = joined_type<T>;
            *place = number_cast<T>(joined<C>(how, number_cast<C>(*place), number_cast<C>(x)));
          }
        });
      }
    });
  }
};

/// The elements of a walk in the order of their places: keys are offsets of out, sorted, and
/// element k of them is that of `order[k]`.
struct sorted_places {
  global_ptr<const i64> keys, order;
  walk_space walk;
};

/// out[.. + keys[k]] joined with the source's elements of that key, in their order. A tile has one
/// k, and elements beside each other; or single elements of several k.
template <class T>
struct scatter_sorted {
  static constexpr i64 several = 64;

  /// The tiles of a launch.
  static constexpr i64 tiles(const tiling& space, i64 count) {
    return is_single(space) ? ceil_div(count, several) : space.tiles * count;
  }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, tiling space, sorted_places places, target<T> out,
                                  scatter_source<T, i64> source, joining how) {
    const i64 count = places.walk.count;
    block.for_each_tile(tiles(space, count), [&](i64 tile) FLAGGEMS_LAMBDA {
      if (is_single(space)) {
        const i64 first = tile * several;
        block.for_each(min_of(several, count - first), [&](i64 i) FLAGGEMS_LAMBDA {
          if (is_first(places, first + i))
            join(places, first + i, out.data, source.data, source, how);
        });
        return;
      }
      const i64 k = tile / space.tiles;
      if (!is_first(places, k)) return;
      const coordinates c = space.locate(tile - k * space.tiles);
      const global_ptr<T> to = out.data + c.offset(out.strides);
      const global_ptr<const T> from = source.data + c.offset(source.strides);
      const i64 to_step = out.strides[c.rank], from_step = source.strides[c.rank];
      block.for_each(space.length(c), [&](i64 i) FLAGGEMS_LAMBDA {
        join(places, k, to + i * to_step, from + i * from_step, source, how);
      });
    });
  }

 private:
  FLAGGEMS_INLINE static constexpr bool is_single(const tiling& space) {
    return space.tiles == 1 && space.inner == 1;
  }
  /// Whether element k of the order is the first of a place that exists.
  FLAGGEMS_INLINE static bool is_first(const sorted_places& places, i64 k) {
    const i64 key = places.keys[k];
    return key >= 0 && (k == 0 || places.keys[k - 1] != key);
  }
  FLAGGEMS_INLINE static void join(const sorted_places& places, i64 k, global_ptr<T> to,
                                   global_ptr<const T> from, const scatter_source<T, i64>& source,
                                   joining how) {
    using C = joined_type<T>;
    const i64 key = places.keys[k];
    C sum = number_cast<C>(to[key]);
    for (i64 j = k; j < places.walk.count && places.keys[j] == key; ++j) {
      i64 at = 0, unused = 0;
      places.walk.locate(places.order[j], source.walk, source.walk, at, unused);
      sum = joined<C>(how, sum, number_cast<C>(from[at]));
    }
    to[key] = number_cast<T>(sum);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/index/scatter.hpp");
