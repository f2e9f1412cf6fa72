// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Launches of the pointwise kernels of chips.
#pragma once

#include <flaggems/launch/launch.hpp>
#include <flaggems/ops/plan/iteration.hpp>

namespace flaggems::detail {

using layout_list = std::span<const memory_layout>;

/// out = e on a chip, where all operands are contiguous, and where they are any; there are
/// elements, and all checks have passed.
template <class S, class T, class E>
void launch_flat(const S& stream, launch_config& config, i64 n, T* out, const E& e) {
  const i64 packs = kernels::ceil_div(n, i64{kernels::common_pack_size<T, E>});
  plan_steps(config, packs, packs < kernels::many_packs ? 1 : kernels::packs_in_flight<T, E>);
  if (kernels::pointwise_packs<T, E>::fits(out, e))
    launch<kernels::pointwise_packs<T, E>>(stream, config, n, out, e);
  else
    launch<kernels::pointwise_packs<T, E, true>>(stream, config, n, out, e);
}
/// Those of `operands` have packs; others, behind them, are the same for all of one if `packed`.
template <class S, class T, class E>
void launch_strided(const S& stream, launch_config& config, const iteration& it,
                    layout_list operands, const kernels::target<T>& out, const E& e,
                    bool packed = true) {
  constexpr int size = kernels::common_pack_size<T, E>;
  const auto run = [&](const iteration& part, i64 first, const kernels::target<T>& to,
                       const E& from) {
    const bool by_packs = packed && has_packs(part, first, size, operands);
    const kernels::strided_space space =
        strided_space_of(part, by_packs, size, kernels::steps_in_flight(by_packs),
                         static_cast<int>(operands.size()));
    plan_steps(config, space.threads);
    launch<kernels::pointwise_strided<T, E>>(stream, config, space, to, from);
  };
  if (it.is_small()) return run(it, 0, out, e);
  it.for_each_narrow_part([&](const iteration& part, const kernels::coordinates& first) {
    kernels::target<T> to = out;
    E from = e;
    to.move(first);
    from.move(first);
    run(part, first.inner, to, from);
  });
}

}  // namespace flaggems::detail
