// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/contraction.hpp>
#include <flaggems/ops/convolution.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/gemm_epilogue.hpp>
#include <flaggems/ops/gemm_packed.hpp>
#include <flaggems/ops/gemm_prologue.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/quantized_linear.hpp>
#include <flaggems/ops/scaled_mm.hpp>

#include "contract.hpp"

namespace contract {

// mv, bmm and linear are the same products.
void plain() {
  each(join<twice<numbers>, cross<types<f32, bf16>, types<f32, f16, bf16>>>{},
       [](const auto& a, const auto& b) {
         (void)fg::mm(s, a, b);
         (void)fg::mv(s, a, b);
         (void)fg::linear(s, a, b, fg::with_bias(a));
         (void)fg::addmm(s, a, a, b, {1, 2});
         (void)fg::baddbmm(s, a, a, b, {1, 2});
         (void)fg::addbmm(s, a, a, b, {1, 2});
       });
  each(floats{}, [](const auto& x) {
    (void)fg::matmuladd(s, x, x, x);
    (void)fg::bilinear(s, x, x, x, x);
    (void)fg::linalg_cross(s, x, x);
    (void)fg::hadamard_transform(s, x);
  });
  each(types<f32>{}, [](const auto& x) { (void)fg::mm(fg::allow_tf32(s), x, x); });
  each(types<pair<f32, bf16>, pair<bf16, f32>, pair<f16, f32>>{},
       [](const auto& to, const auto& x) { fg::linear(s, x, x, to); });
  each(cross<types<i8, u8>, types<i8, u8>>{},
       [](const auto& a, const auto& b) { fg::mm(s, a, b, some<i32>()); });
}

void with_scales() {
  using f8 = types<f8e4m3, f8e5m2>;
  each(twice<types<i8, u8>>{}, [](const auto& a, const auto& b) { (void)fg::int_mm(s, a, b); });
  each(cross<f8, f8>{}, [](const auto& a, const auto& b) {
    (void)fg::scaled_mm<bf16>(s, a, b, some<f32>(), some<f32>(), some<bf16>());
  });
  each(types<f32, f16, f8e4m3, f8e5m2>{}, [](const auto& to) {
    const auto a = some<f8e4m3>();
    fg::scaled_mm(s, a, a, some<f32>(), some<f32>(), some<f32>(), std::nullopt, to);
  });
  each(types<f32, bf16, f16>{}, [](const auto& to) {
    const auto a = some<f8e4m3>();
    fg::fp8_matmul(s, a, some<f32>(), a, some<f32>(), to);
  });
}

void convolutions() {
  each(floats{}, [](const auto& x) {
    (void)fg::conv1d(s, x, x, x);
    (void)fg::conv2d(s, x, x, x, {1}, fg::conv_padding::same);
    (void)fg::conv_depthwise2d(s, x, x, {2, 2}, x, {1}, {0}, {1});
    (void)fg::conv3d(s, x, x);
  });
}

void with_expressions() {
  each(join<twice<types<f32, bf16, f16>>, types<pair<f32, bf16>>>{},
       [](const auto& a, const auto& b) {
         (void)fg::linear(s, a, b, fg::epilogue(fg::silu(fg::product) + a));
         (void)fg::linear(s, fg::square(a), b);
         (void)fg::bmm(s, fg::square(a), b, fg::epilogue(fg::product * 2));
       });
  each(types<f64>{}, [](const auto& x) {
    (void)fg::linear(s, x, x, fg::epilogue(fg::product_as<f64> + x));
    (void)fg::linear(s, fg::square(x), x);
  });
  each(cross<types<i8, u8>, types<f32, bf16>>{}, [](const auto& x, const auto& scale) {
    (void)fg::linear(s, x, x, fg::epilogue(fg::product * scale));
  });
  each(types<f32, bf16, f16, f64, i8>{},
       [](const auto& x) { (void)fg::linear(s, x, fg::pack_matrix(s, x)); });
}

template <class Format>
void quantised(const fg::quantized_matrix<Format, fg::cuda>& w) {
  each(types<f32, bf16, f16>{}, [&](const auto& x) {
    (void)fg::quantized_linear(s, x, w);
    (void)fg::quantized_linear(s, x, w, {fg::activation_format::q8});
  });
  each(floats{}, [&](const auto& x) {
    fg::dequantize(s, w, x);
    fg::quantized_embedding(s, w, some<i64>(), x);
  });
  each(types<pair<f32, bf16>, pair<bf16, f32>>{},
       [&](const auto& to, const auto& x) { fg::quantized_linear(s, x, w, to); });
}
template void quantised(const fg::quantized_matrix<fg::kernels::q4_0, fg::cuda>&);
template void quantised(const fg::quantized_matrix<fg::kernels::q4_1, fg::cuda>&);
template void quantised(const fg::quantized_matrix<fg::kernels::q8_0, fg::cuda>&);

}  // namespace contract
