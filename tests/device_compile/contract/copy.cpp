// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/arrange.hpp>
#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pad.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/sequences.hpp>
#include <flaggems/ops/stack.hpp>
#include <flaggems/ops/triangle.hpp>
#include <flaggems/ops/views.hpp>

#include "contract.hpp"

#include <tuple>

namespace contract {

// to and fill_ of a tensor convert by the same kernels.
void converted() {
  each(cross<real, real>{}, [](const auto& to, const auto& from) { fg::copy_(s, to, from); });
}

// What is stored may be of a higher kind or another size than what is computed.
void stored() {
  each(mixed{}, [](const auto& a, const auto& b) {
    using A = fg::value_t<decltype(a)>;
    using B = fg::value_t<decltype(b)>;
    if constexpr (fg::detail::kind_of<A> >= fg::detail::kind_of<B>) fg::assign(s, a, fg::add(b, b));
    if constexpr (fg::detail::kind_of<B> >= fg::detail::kind_of<A>) fg::assign(s, b, fg::add(a, a));
  });
}

void created() {
  each(real{}, [](const auto& x) { fg::fill_(s, x, 1); });
  each(numbers{}, [](const auto& x) { fg::arange(s, 0, 8, 1, x); });
}

void in_sequence() {
  each(numbers{}, [](const auto& x) {
    using T = fg::value_t<decltype(x)>;
    (void)fg::eye<T>(s, 2);
    (void)fg::linspace<T>(s, 0, 1, 2);
    (void)fg::logspace<T>(s, 0, 1, 2);
    (void)fg::range<T>(s, 0, 1);
    if constexpr (fg::detail::kind_of<T> == fg::detail::kind::floating) {
      (void)fg::hann_window<T>(s, 8);
      (void)fg::blackman_window<T>(s, 8);
      (void)fg::bartlett_window<T>(s, 8);
    }
  });
}

void joined_tensors() {
  each(real{}, [](const auto& x) { (void)fg::cat(s, std::tie(x, x)); });
  each(mixed{}, [](const auto& a, const auto& b) { (void)fg::cat(s, std::tie(a, b)); });
}

void moved() {
  each(real{}, [](const auto& x) {
    (void)fg::permute_copy(s, x, {1, 0});
    (void)fg::flip(s, x, {0});
    (void)fg::fft_fftshift(s, x);
    (void)fg::constant_pad_nd(s, x, {1, 1}, 1);
    (void)fg::reflection_pad1d(s, x, {1, 1});
    (void)fg::reflection_pad2d(s, x, {1, 1, 1, 1});
    (void)fg::reflection_pad3d(s, x, {1, 1, 1, 1, 1, 1});
    (void)fg::replication_pad1d(s, x, {1, 1});
    (void)fg::replication_pad2d(s, x, {1, 1, 1, 1});
    (void)fg::replication_pad3d(s, x, {1, 1, 1, 1, 1, 1});
    (void)fg::tril(s, x);
    (void)fg::triu(s, x);
  });
  each(mixed{}, [](const auto& a, const auto& b) { (void)fg::stack(s, std::tie(a, b)); });
}

}  // namespace contract
