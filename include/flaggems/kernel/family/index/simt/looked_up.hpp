// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A lookup as a leaf of a formula.
#pragma once

#include <flaggems/kernel/family/index/index_select.hpp>
#include <flaggems/kernel/family/pointwise/simt/pointwise.hpp>

namespace flaggems::kernels {

/// Elements at indices, for pointwise_strided: a leaf of two tensors, the input and the indices,
/// which are constant within a vector. `size` is not 0.
template <class T, class J>
struct looked_up {
  using value_type = T;
  lookup<T, J> in;
  FLAGGEMS_INLINE void move(const coordinates& c) {
    in.data += c.offset(in.strides);
    in.index += c.offset(in.index_strides);
  }
  template <int K, class Place>
  FLAGGEMS_INLINE void advance(Place& place, int d, u32 steps) const {
    place.template add<K>(steps, in.strides[d]);
    place.template add<K + 1>(steps, in.index_strides[d]);
  }
  template <int Width, int K, bool Splat, class Place>
  FLAGGEMS_INLINE fetched<T, T, Width> fetch(const Place& place) const {
    const i64 index = static_cast<i64>(in.index[place.template offset<K + 1>()]);
    // Without a branch, so that several loads overlap.
    const bool exists = static_cast<u64>(index) < static_cast<u64>(in.size);
    const global_ptr<const T> row = in.data + (exists ? index : 0) * in.step;
    const global_ptr<const T> p = row + place.template offset<K>();
    fetched<T, T, Width> r{};
    if (Splat && in.strides[place.inner] == 0)
      r = {splat_storage<Width>(*p)};
    else
      r = {load_storage<Width>(p)};
    for (auto& word : r.words.at) word = exists ? word : 0;
    return r;
  }
};
template <class T, class J>
inline constexpr int leaf_count<looked_up<T, J>> = 2;
template <class T, class J>
inline constexpr int largest_item<looked_up<T, J>> = static_cast<int>(sizeof(T));

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/index/simt/looked_up.hpp");
