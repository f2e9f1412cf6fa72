// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/tutorial.md: the kernel of the example, in a header of its own, so that device compilers
// take it too (tests/device_compile/example_moe_gate.cpp).
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/family/reduce/reduce.hpp>
#include <flaggems/kernel/math/math.hpp>

// [kernel]
namespace moe::kernels {

using namespace flaggems;  // i64, i32
// By name: a using-directive would let the C library's exp and select take part.
using flaggems::kernels::better_of, flaggems::kernels::indexed, flaggems::kernels::lane_value,
    flaggems::kernels::lowest, flaggems::kernels::maximum_of, flaggems::kernels::plus;
using flaggems::kernels::coordinates, flaggems::kernels::for_each_row, flaggems::kernels::row_arg,
    flaggems::kernels::row_space, flaggems::kernels::row_target;
using flaggems::kernels::exp, flaggems::kernels::iota, flaggems::kernels::load,
    flaggems::kernels::select, flaggems::kernels::store;

/// Row by row: p = softmax(logits); experts = where the k largest p are; weights = those p,
/// divided by their sum if `renormalize`.
template <class T, class C>
struct gate {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, row_arg<T> logits,
                                  row_target<C> weights, row_target<i64> experts, i64 k,
                                  i32 renormalize) {
    const i64 n = space.length;
    const auto p = block.template scratch<C>(n);
    const auto chosen = block.template scratch<C>(k);
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto x = logits.at(c);
      const auto weight = weights.at(c);
      const auto expert = experts.at(c);
      const C max = block.reduce(n, lowest<C>(), maximum_of{}, [&](auto i) FLAGGEMS_LAMBDA {
        const auto v = x.template load<C>(i);
        store(p, i, v);
        return v;
      });
      const C sum = block.reduce(n, C(0), plus{}, [&](auto i) FLAGGEMS_LAMBDA {
        const auto e = exp(load<C>(p, i) - max);
        store(p, i, e);
        return e;
      });
      C kept = 0;
      i64 last = -1;  // the expert taken last: below every p from now on
      for (i64 j = 0; j < k; ++j) {
        const indexed<C, i64> none{C(-1), n};
        const auto best = block.reduce(n, none, better_of<true>{}, [&](auto i) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(i), C>;    // float, or a vector of floats
          using J = lane_value<decltype(i), i64>;  // the same of indices
          const J at = iota<i64>(i);
          const V left = select(at == J(last), V(C(-1)), load<C>(p, i));
          store(p, i, left);
          return indexed<V, J>{left, at};
        });
        last = best.index;
        kept += best.value;
        block.single([&]() FLAGGEMS_LAMBDA {
          chosen.write(j, best.value);
          expert.write(j, best.index);
        });
      }
      const C scale = C(1) / (renormalize != 0 ? kept : sum);
      block.sync();  // thread 0 has written what the others read now
      block.for_each(k, [&](i64 j) FLAGGEMS_LAMBDA { weight.write(j, chosen.read(j) * scale); });
      block.sync();  // and will write the next row's
    });
  }
};

}  // namespace moe::kernels
// [/kernel]

FLAGGEMS_TEXT("08_moe_gate.hpp");  // for devices that compile kernels when they run
