// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/ctc_loss.hpp>
#include <flaggems/ops/delta_rule.hpp>
#include <flaggems/ops/lstm_cell.hpp>

#include "contract.hpp"

namespace contract {

void recurrent() {
  each(fg::floating_types{}, [](auto& x) {
    fg::thnn_fused_lstm_cell(s, x, x, x, x, x, x, x, x);
    (void)fg::thnn_fused_lstm_cell_backward_impl(s, x, x, x, x, x, true);
  });
  // States and logarithms are in what 16 bits are computed in.
  each(types<pair<f32, f32>, pair<bf16, f32>, pair<f16, f32>, pair<f64, f64>>{},
       [](auto& x, auto& kept) {
         const auto& places = some<i64>();
         (void)fg::fused_recurrent_gated_delta_rule_fwd(s, x, x, x, kept, x, 1, kept);
         (void)fg::ctc_loss_forward(s, x, places, places, places);
         (void)fg::ctc_loss_backward(s, x, x, places, places, places, kept, kept, 0);
       });
}

}  // namespace contract
