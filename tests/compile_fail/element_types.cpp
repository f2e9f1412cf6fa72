// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What an operator does not take is said in one message a call, at its entry, not by its kernels.
//
// expect: -DWRONG=1: flaggems: argument K has element type T, which this operator does not take
// expect: -DWRONG=1: flaggems: softmax takes floating-point tensors
// expect: -DWRONG=1: flaggems: norms take floating-point tensors and weights
// expect: -DWRONG=1: flaggems: apply_rotary_pos_emb takes floating-point tensors
// expect: -DWRONG=1: flaggems: quantized_linear takes activations and gives results of f32
//
// expect: -DWRONG=2: flaggems: indices are written to a tensor of i64
// expect: -DWRONG=2: flaggems: values have the dtype of the input
// expect: -DWRONG=2: flaggems: indices are of dtype i32 or i64
// expect: -DWRONG=2: flaggems: the output has the dtype of the elements that are looked up
// expect: -DWRONG=2: flaggems: position_ids are of dtype i32 or i64
// expect: -DWRONG=2: flaggems: expected a floating-point dtype, got an integer or bool
// expect: -DWRONG=2: flaggems: expected an output that can be written, got a view of const elements
//
// errors: 9
#include <flaggems/flaggems.hpp>

using namespace flaggems;

void f(stream<host>& s, tensor<c64>& x, tensor<c64>& out, tensor<f32>& real, tensor<i64>& index,
       tensor<i32>& number, const tensor<i64>& fixed, philox_generator& generator) {
#if WRONG == 1
  topk(s, x, 2, out, index);
  argsort(s, x, index);
  static_cast<void>(multinomial(s, x, 1, true, generator));
  softmax(s, x, out, 0);
  layer_norm(s, real, {2}, real, x, real);
  static_cast<void>(rms_norm(s, x, {2}));
  fused_add_rms_norm(s, x, real, real);
  apply_rotary_pos_emb_(s, x, x, real, real);
  quantized_linear(s, x, quantized_matrix<kernels::q8_0>(nullptr, 0, 0), real);
#elif WRONG == 2
  argsort(s, real, number);
  topk(s, real, 2, real, number);
  argmax(s, real, number);
  sort(s, real, number, index);
  static_cast<void>(embedding(s, real, x));
  index_select(s, real, 0, index, out);
  apply_rotary_pos_emb_(s, real, real, real, real, real);
  static_cast<void>(silu_and_mul(s, number, number));
  argsort(s, real, fixed);
#endif
  static_cast<void>(x), static_cast<void>(out), static_cast<void>(real), static_cast<void>(index);
  static_cast<void>(number), static_cast<void>(fixed), static_cast<void>(generator);
}
