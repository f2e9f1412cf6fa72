// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes at indices by threads that have a few steps each, as strided formulas have: of words, or
// of vectors that are joined.
#pragma once

#include <flaggems/kernel/family/index/scatter.hpp>
#include <flaggems/kernel/family/pointwise/simt/pointwise.hpp>

namespace flaggems::kernels {

/// The places of a step: of the source, of what says where it goes, and of the output.
using write_place = strided_place<3>;
/// Steps that a thread loads before it writes.
inline constexpr int steps_of_write = steps_per_thread(false);

/// The writes of a space: move(c) to the step c, advance(place, d, steps), and write(places,
/// exists) for the steps of a thread that exist.
template <class Writes>
struct write_strided {
  static constexpr bool awaits_earlier = true;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const strided_space& space, const Writes& writes) {
    const auto advance = [&](write_place& p, int d, u32 steps)
                             FLAGGEMS_LAMBDA { writes.advance(p, d, steps); };
    for_each_first_step<write_place>(
        block, space, advance, [&](const write_place& first, u32 left) FLAGGEMS_LAMBDA {
          write_place places[steps_of_write];
          bool exists[steps_of_write];
          FLAGGEMS_SIMT_UNROLL
          for (u32 u = 0; u < steps_of_write; ++u) {
            exists[u] = u * space.spacing < left;
            places[u] = first;
            if (u > 0) advance(places[u], space.shared, exists[u] ? u * space.spacing : 0);
          }
          block.await_earlier();
          writes.write(places, exists);
        });
  }
};

/// A word, or 16 bytes of them.
template <class W>
FLAGGEMS_INLINE void store_word(global_ptr<W> p, const W& x) {
  if constexpr (sizeof(W) == 16)
    store_vec<4>(reinterpret_cast<global_ptr<u32>>(p), bit_cast<vec<u32, 4>>(x));
  else
    *p = x;
}

/// out[.. + index * step] = source, in words; indices out of range write nothing. Of several words
/// for one place any one is written.
template <class W, class J>
struct scattered_words {
  target<W> out;
  scatter_source<W, J> source;

  FLAGGEMS_HD void move(const coordinates& c) {
    out.move(c);
    source.data += c.offset(source.strides);
    source.index += c.offset(source.index_strides);
  }
  FLAGGEMS_INLINE void advance(write_place& p, int d, u32 steps) const {
    p.template add<0>(steps, source.strides[d]);
    p.template add<1>(steps, source.index_strides[d]);
    p.template add<2>(steps, out.strides[d]);
  }
  FLAGGEMS_INLINE void write(const write_place (&places)[steps_of_write],
                             const bool (&exists)[steps_of_write]) const {
    W words[steps_of_write];
    i64 indices[steps_of_write];
    FLAGGEMS_SIMT_UNROLL
    for (int u = 0; u < steps_of_write; ++u) {
      indices[u] = static_cast<i64>(source.index[places[u].template offset<1>()]);
      words[u] = source.data[places[u].template offset<0>()];
    }
    FLAGGEMS_SIMT_UNROLL
    for (int u = 0; u < steps_of_write; ++u)
      if (exists[u] && indices[u] >= 0 && indices[u] < source.size)
        store_word<W>(out.data + (places[u].template offset<2>() + indices[u] * source.step),
                      words[u]);
  }
};

/// out[.. + keys[k] * step] joined with the source's vectors of that key, in their order. Strides
/// are in vectors, the step and the walk in elements.
template <class T, int Width>
struct joined_vectors {
  using word = vec<T, Width>;
  target<word> out;
  global_ptr<const word> source;
  i64 strides[max_rank], k_strides[max_rank];
  sorted_places places;
  i64 source_walk[max_rank];
  i64 k;  // of the first step
  joining how;

  FLAGGEMS_HD void move(const coordinates& c) {
    out.move(c);
    source += c.offset(strides);
    k += c.offset(k_strides);
  }
  FLAGGEMS_INLINE void advance(write_place& p, int d, u32 steps) const {
    p.template add<0>(steps, strides[d]);
    p.template add<1>(steps, k_strides[d]);
    p.template add<2>(steps, out.strides[d]);
  }
  FLAGGEMS_INLINE void write(const write_place (&at)[steps_of_write],
                             const bool (&exists)[steps_of_write]) const {
    FLAGGEMS_SIMT_UNROLL
    for (int u = 0; u < steps_of_write; ++u)
      if (exists[u])
        join(k + at[u].template offset<1>(), source + at[u].template offset<0>(),
             out.data + at[u].template offset<2>());
  }

 private:
  FLAGGEMS_INLINE void join(i64 first, global_ptr<const word> from, global_ptr<word> to) const {
    using C = joined_type<T>;
    const i64 key = places.keys[first];
    if (!places.is_first(first, key)) return;
    const global_ptr<T> place = reinterpret_cast<global_ptr<T>>(to) + key * places.step;
    C sums[Width];
    unpack<C>(load_vec<Width>(global_ptr<const T>(place)), sums);
    for (i64 j = first; j < places.walk.count && places.keys[j] == key; ++j) {
      i64 offset = 0, unused = 0;
      places.walk.locate(places.order[j], source_walk, source_walk, offset, unused);
      C more[Width];
      unpack<C>(load_vec<Width>(reinterpret_cast<global_ptr<const T>>(from) + offset), more);
      FLAGGEMS_SIMT_UNROLL
      for (int e = 0; e < Width; ++e) sums[e] = joined<C>(how, sums[e], more[e]);
    }
    vec<T, Width> all;
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < Width; ++e) all.at[e] = number_cast<T>(sums[e]);
    store_vec<Width>(place, all);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/index/simt/writes.hpp");
