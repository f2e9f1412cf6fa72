// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/pointwise.hpp>

#include "contract.hpp"

#include <optional>

namespace contract {

void scaled() {
  each(join<twice<real>, mixed>{}, [](const auto& a, const auto& b) { (void)fg::add(s, a, b, 2); });
  each(join<twice<numbers>, mixed>{},
       [](const auto& a, const auto& b) { (void)fg::sub(s, a, b, 2); });
}

void divided() {
  each(join<twice<numbers>, mixed>{}, [](const auto& a, const auto& b) {
    (void)fg::div(s, a, b, fg::rounding_mode::trunc);
    (void)fg::div(s, a, b, fg::rounding_mode::floor);
  });
}

void clamped() {
  each(real{}, [](const auto& x) {
    (void)fg::clamp(s, x, x, x);
    (void)fg::clamp(s, x, 1, 1);
    (void)fg::clamp(s, x, 1, std::nullopt);
    (void)fg::clamp(s, x, x, std::optional<int>());
  });
  each(mixed{}, [](const auto& x, const auto& bound) { (void)fg::clamp(s, x, bound, bound); });
}

void chosen() {
  each(real{}, [](const auto& x) {
    (void)fg::where(s, some<bool>(), x, x);
    (void)fg::where(s, some<bool>(), x, 1);
    (void)fg::where(s, x, some<f32>(), some<f32>());
  });
  each(mixed{}, [](const auto& a, const auto& b) { (void)fg::where(s, some<bool>(), a, b); });
}

}  // namespace contract
