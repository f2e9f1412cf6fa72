// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/embedding.hpp>
#include <flaggems/ops/index_select.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/topk.hpp>

#include "contract.hpp"

namespace contract {

void ordered() {
  each(fg::detail::ordered_types{}, [](const auto& x) {
    (void)fg::sort(s, x);
    (void)fg::argsort(s, x);
    (void)fg::topk(s, x, 2);
  });
}

void looked_up() {
  each(cross<real, index_types>{}, [](const auto& x, const auto& index) {
    (void)fg::index_select(s, x, 0, index);
    (void)fg::embedding(s, x, index);
  });
  each(cross<types<f32, bf16, f64, f16>, index_types>{}, [](auto& x, const auto& index) {
    for (const double p : {2.0, 3.0}) fg::embedding_renorm_(s, x, index, 1, p);
  });
}

}  // namespace contract
