// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Writes of elements at indices, one after another by one worker where they may meet.
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/family/index/scatter.hpp>

namespace flaggems::kernels {

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

/// out[.. + keys[k]] joined with the source's elements of that key, in their order. A tile has one
/// k and neighbouring elements, or single elements of several k.
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
          join(places, first + i, out.data, source.data, source, how);
        });
        return;
      }
      const i64 k = tile / space.tiles;
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
  FLAGGEMS_INLINE static void join(const sorted_places& places, i64 k, global_ptr<T> to,
                                   global_ptr<const T> from, const scatter_source<T, i64>& source,
                                   joining how) {
    using C = joined_type<T>;
    const i64 key = places.keys[k];
    if (!places.is_first(k, key)) return;
    const global_ptr<T> place = to + key * places.step;
    C sum = number_cast<C>(*place);
    for (i64 j = k; j < places.walk.count && places.keys[j] == key; ++j) {
      i64 at = 0, unused = 0;
      places.walk.locate(places.order[j], source.walk, source.walk, at, unused);
      sum = joined<C>(how, sum, number_cast<C>(from[at]));
    }
    *place = number_cast<T>(sum);
  }
};

}  // namespace flaggems::kernels
