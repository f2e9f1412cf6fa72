// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Where numbers stand in sorted sequences: a thread halves the sequence until one place is left.
#pragma once

#include <flaggems/kernel/family/pointwise/pointwise.hpp>

namespace flaggems::kernels {

/// Sequences of `length` elements `step` apart; strides lead to that of an element of the
/// operation. With an order, element k of a sequence is the one at order[k].
template <class T>
struct sorted_sequences {
  global_ptr<const T> data;
  i64 strides[max_rank], step;
  global_ptr<const i64> order;
  i64 order_strides[max_rank], order_step;
  i64 length;
};

/// One of them. Outside it there are zeros.
template <class T>
struct sorted_sequence {
  global_ptr<const T> data;
  i64 step;
  global_ptr<const i64> order;
  i64 order_step, length;

  template <class C>
  FLAGGEMS_INLINE C read(i64 k) const {
    const i64 at = order == nullptr ? k : order[k * order_step];
    return at >= 0 && at < length ? number_cast<C>(data[at * step]) : C(0);
  }
  /// How many elements come before a value: those less than it, or with `right` all that are not
  /// greater. A NaN is behind all.
  template <class C>
  FLAGGEMS_INLINE i64 places_before(C value, bool right) const {
    i64 first = 0, end = length;
    while (first < end) {
      const i64 middle = first + (end - first) / 2;
      const C x = read<C>(middle);
      if (right ? x > value : x >= value)
        end = middle;
      else
        first = middle + 1;
    }
    return first;
  }
};

/// out = the places of values in sequences, compared as C.
template <class C, class T, class V, class O>
struct search {
  static constexpr i64 tile = 256;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, tiling space, target<O> out, arg<V, V> values,
                                  sorted_sequences<T> in, i32 right) {
    block.for_each_tile(space.tiles, [&](i64 t) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(t);
      const global_ptr<O> to = out.data + c.offset(out.strides);
      const global_ptr<const V> from = values.data + c.offset(values.strides);
      const i64 to_step = out.strides[c.rank], from_step = values.strides[c.rank];
      const i64 first = c.offset(in.strides), next = in.strides[c.rank];
      const i64 first_order = c.offset(in.order_strides), next_order = in.order_strides[c.rank];
      block.for_each(space.length(c), [&](i64 i) FLAGGEMS_LAMBDA {
        const sorted_sequence<T> sequence{
            in.length == 0 ? in.data : in.data + first + i * next, in.step,
            in.order == nullptr ? in.order : in.order + first_order + i * next_order, in.order_step,
            in.length};
        to[i * to_step] = static_cast<O>(
            sequence.template places_before<C>(number_cast<C>(from[i * from_step]), right != 0));
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/order/search.hpp");
