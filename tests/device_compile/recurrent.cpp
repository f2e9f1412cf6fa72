// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/recurrent/cells.hpp>
#include <flaggems/kernel/family/recurrent/ctc.hpp>
#include <flaggems/kernel/family/recurrent/delta_rule.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::i32;
using flaggems::i64;
template <class T>
using cell_operands = fk::cell_step<float, T, float>;

FLAGGEMS_INSTANCE(lstm_cell_bf16, fk::recurrent_cell<fk::lstm_cell, float, bf16, float>,
                  cell_operands<bf16>)
FLAGGEMS_INSTANCE(gru_f32, fk::recurrent_cell<fk::gru_cell, float, float, float>,
                  cell_operands<float>)
FLAGGEMS_INSTANCE(rnn_tanh_bf16, fk::recurrent_cell<fk::rnn_tanh_cell, float, bf16, float>,
                  cell_operands<bf16>)
FLAGGEMS_INSTANCE(rnn_relu_f32, fk::recurrent_cell<fk::rnn_relu_cell, float, float, float>,
                  cell_operands<float>)
FLAGGEMS_INSTANCE(lstm_cell_backward_bf16, fk::lstm_cell_gradient<bf16>,
                  fk::lstm_cell_gradient_step<bf16>)
FLAGGEMS_INSTANCE(ctc_loss_bf16, fk::ctc_forward<bf16, i64>, fk::ctc_sequences<bf16, i64>,
                  fk::global_ptr<float>, fk::global_ptr<float>)
FLAGGEMS_INSTANCE(ctc_loss_backward_f32, fk::ctc_backward<float, i32>,
                  fk::ctc_sequences<float, i32>, fk::global_ptr<const float>,
                  fk::global_ptr<const float>, fk::global_ptr<const float>, i64, i32,
                  fk::global_ptr<float>)
FLAGGEMS_INSTANCE(gated_delta_rule_bf16, fk::delta_rule<bf16, float>,
                  fk::delta_rule_step<bf16, float>)
FLAGGEMS_INSTANCE(unit_lower_solve_f32, fk::unit_lower_solve<float>, i64, i64, i64,
                  fk::global_ptr<const float>, fk::global_ptr<float>)
