// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Writes of elements at indices, one after another by one worker where they may meet.
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/family/copy/rows.hpp>
#include <flaggems/kernel/family/index/scatter.hpp>

namespace flaggems::kernels {

/// `n` elements for one index after another: element i of the source goes to i * to_step + its
/// index * step, where an index of step 0 stands for all.
template <class T, class J>
struct written_elements {
  T* to;
  const T* from;
  const J* index;
  i64 to_step, from_step, index_step;
  i64 n, size, step;

  template <class Block>
  FLAGGEMS_HOST_INLINE void write(Block& block, joining how) const {
    if (index_step == 0)
      to_one_index(block, how);
    else
      outlined<typename Block::isa>::template call<each_element>(*this, how);
  }

 private:
  static constexpr bool is_added_by_vectors = is_same<T, f32> || is_same<T, f64>;

  /// A function of its own, as a kernel around the loops leaves them too few registers.
  struct each_element {
    template <class Isa>
    FLAGGEMS_HOST_INLINE static void run(const written_elements& given, const joining& by) {
      const joining how = by;
      if (how == joining::replace)
        given.for_each([](T& place, const T& x) FLAGGEMS_LAMBDA { place = x; });
      else if (how == joining::sum)
        given.for_each([](T& place, const T& x) FLAGGEMS_LAMBDA { join(joining::sum, place, x); });
      else
        given.for_each([how](T& place, const T& x) FLAGGEMS_LAMBDA { join(how, place, x); });
    }
  };

  FLAGGEMS_HOST_INLINE static void join(joining how, T& place, const T& x) {
    using C = joined_type<T>;
    place = number_cast<T>(joined<C>(how, number_cast<C>(place), number_cast<C>(x)));
  }
  template <class F>
  FLAGGEMS_HOST_INLINE void for_each(const F& f) const {
    const written_elements own = *this;  // a copy, which stores cannot alias
    const auto all = [&](const auto& place, i64 source, i64 indices) FLAGGEMS_LAMBDA {
      const auto one = [&](i64 i) FLAGGEMS_LAMBDA {
        const auto k = static_cast<i64>(own.index[i * indices]);
        if (static_cast<u64>(k) < static_cast<u64>(own.size))
          f(own.to[place(i, k)], own.from[i * source]);
      };
      i64 i = 0;
      for (; i + 4 <= own.n; i += 4) static_for<4>([&](auto k) FLAGGEMS_LAMBDA { one(i + k); });
      for (; i < own.n; ++i) one(i);
    };
    // Without products where elements are neighbours: along the dimension, or beside it.
    const bool neighbours = own.from_step == 1 && own.index_step == 1;
    if (neighbours && own.to_step == 0 && own.step == 1)
      all([](i64, i64 k) FLAGGEMS_LAMBDA { return k; }, 1, 1);
    else if (neighbours && own.to_step == 1)
      all([s = own.step](i64 i, i64 k) FLAGGEMS_LAMBDA { return i + k * s; }, 1, 1);
    else
      all([t = own.to_step, s = own.step](i64 i, i64 k) FLAGGEMS_LAMBDA { return i * t + k * s; },
          own.from_step, own.index_step);
  }
  template <class Block>
  FLAGGEMS_HOST_INLINE void to_one_index(Block& block, joining how) const {
    const auto k = static_cast<i64>(index[0]);
    if (static_cast<u64>(k) >= static_cast<u64>(size)) return;
    T* const places = to + k * step;
    const T* const source = from;
    const bool dense = to_step == 1 && from_step == 1;
    if (dense && how == joining::replace) return copy_row<T>(block, places, source, n, false);
    if constexpr (is_added_by_vectors)
      if (dense && how == joining::sum) {
        block.for_each_lane(n, [=](auto lane) FLAGGEMS_LAMBDA {
          store(places, lane, load<T>(static_cast<const T*>(places), lane) + load<T>(source, lane));
        });
        return;
      }
    for (i64 i = 0; i < n; ++i)
      if (how == joining::replace)
        places[i * to_step] = source[i * from_step];
      else
        join(how, places[i * to_step], source[i * from_step]);
  }
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
      const written_elements<T, J> first{out.data + c.offset(out.strides),
                                         source.data + c.offset(source.strides),
                                         source.index + c.offset(source.index_strides),
                                         out.strides[c.rank],
                                         source.strides[c.rank],
                                         source.index_strides[c.rank],
                                         space.length(c),
                                         source.size,
                                         source.step};
      if (first.n == 1 && walk.rank == 1) {  // the walk is the row
        written_elements<T, J> along = first;
        along.to_step = 0;
        along.from_step = source.walk[0];
        along.index_step = source.index_walk[0];
        along.n = walk.count;
        if (along.index_step != 0) return along.write(block, how);
      }
      for (i64 w = 0; w < walk.count; ++w) {
        i64 at = 0, at_index = 0;
        walk.locate(w, source.walk, source.index_walk, at, at_index);
        written_elements<T, J> part = first;
        part.from += at;
        part.index += at_index;
        part.write(block, how);
      }
    });
  }
};

/// The same of small floats along contiguous lines, each element with an index of its own: a line's
/// sums are in f32, rounded once.
template <class T, class J>
struct scatter_lines {
  static constexpr i64 piece = 256;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, tiling space, const target<T>& out,
                                  const scatter_source<T, J>& source, i64 count, joining how) {
    const auto sums = block.template scratch<f32>(source.size);
    const auto values = block.template scratch<f32>(piece);
    const i64 size = source.size;
    f32* const to_sums = sums.data;
    block.for_each_tile(space.tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(tile);
      T* const line = out.data + c.offset(out.strides);
      const T* from = source.data + c.offset(source.strides);
      const J* index = source.index + c.offset(source.index_strides);
      block.for_each_lane(size, [&](auto lane) FLAGGEMS_LAMBDA {
        store(sums, lane, load<f32>(static_cast<const T*>(line), lane));
      });
      for (i64 begin = 0; begin < count; begin += piece, from += piece, index += piece) {
        const i64 n = min_of(piece, count - begin);
        block.for_each_lane(
            n, [&](auto lane) FLAGGEMS_LAMBDA { store(values, lane, load<f32>(from, lane)); });
        written_elements<f32, J>{to_sums, values.data, index, 0, 1, 1, n, size, 1}.write(block,
                                                                                         how);
      }
      block.for_each_lane(
          size, [&](auto lane) FLAGGEMS_LAMBDA { store(line, lane, load<f32>(sums, lane)); });
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
      if (to_step == 1 && from_step == 1 && how == joining::sum)
        return add_rows(block, places, k, to, from, source, space.length(c));
      block.for_each(space.length(c), [&](i64 i) FLAGGEMS_LAMBDA {
        join(places, k, to + i * to_step, from + i * from_step, source, how);
      });
    });
  }

 private:
  FLAGGEMS_INLINE static constexpr bool is_single(const tiling& space) {
    return space.tiles == 1 && space.inner == 1;
  }
  /// The sums of rows of neighbours, by vectors.
  template <class Block>
  FLAGGEMS_HOST_INLINE static void add_rows(Block& block, const sorted_places& places, i64 k,
                                            T* out, const T* from,
                                            const scatter_source<T, i64>& source, i64 n) {
    using C = joined_type<T>;
    const i64 key = places.keys[k];
    if (!places.is_first(k, key)) return;
    T* const to = out + key * places.step;
    i64 end = k + 1;
    while (end < places.walk.count && places.keys[end] == key) ++end;
    block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA {
      auto sum = load<C>(static_cast<const T*>(to), lane);
      for (i64 j = k; j < end; ++j) {
        i64 at = 0, unused = 0;
        places.walk.locate(places.order[j], source.walk, source.walk, at, unused);
        sum = wrapping_add(sum, load<C>(from + at, lane));
      }
      store(to, lane, sum);
    });
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
