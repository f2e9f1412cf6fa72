// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/registry.md: a family of operators of one's own.
#pragma once

#include <flaggems/ops/pointwise.hpp>
#include <flaggems/registry/bind.hpp>

// [family]
namespace mine {

/// limit * tanh(x / limit), in a new tensor and into a view.
template <class S, class X>
auto soft_limit(const S& stream, const X& x, double limit) {
  return flaggems::evaluate(stream, limit * flaggems::tanh(x / limit));
}
template <class S, class X, class Out>
void soft_limit(const S& stream, const X& x, Out&& out, double limit) {
  flaggems::assign(stream, out, limit * flaggems::tanh(x / limit));
}

struct operators {
  static constexpr auto lines() {
    return std::tuple(FLAGGEMS_BIND(mine::soft_limit, flaggems::floating_types,
                                    "mine::soft_limit(Tensor x, float limit=1.0) -> Tensor"));
  }
};

}  // namespace mine
// [/family]
