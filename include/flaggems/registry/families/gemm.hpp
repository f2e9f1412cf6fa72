// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/contraction.hpp>
#include <flaggems/ops/convolution.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/scaled_mm.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

using product_types = arithmetic_types;
using byte_types = type_list<i8, u8>;
using scaled_types = type_list<f32, bf16, f16, f8e4m3, f8e5m2>;
using f8_types = type_list<f8e4m3>;

/// Matrix products, and convolutions.
struct gemm {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::mm, arithmetic_or_complex_types, "mm(Tensor self, Tensor mat2) -> Tensor"),
        FLAGGEMS_BIND(flaggems::bmm, arithmetic_or_complex_types, "bmm(Tensor self, Tensor mat2) -> Tensor"),
        FLAGGEMS_BIND(flaggems::mv, arithmetic_or_complex_types, "mv(Tensor self, Tensor vec) -> Tensor"),
        FLAGGEMS_BIND(flaggems::addmm, arithmetic_or_complex_types, line("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor").options_from("beta")),
        FLAGGEMS_BIND(flaggems::baddbmm, arithmetic_or_complex_types, line("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor").options_from("beta")),
        FLAGGEMS_BIND(flaggems::addbmm, arithmetic_or_complex_types, line("addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor").options_from("beta")),
        FLAGGEMS_BIND(flaggems::matmuladd, arithmetic_or_complex_types, "flaggems::matmuladd(Tensor input, Tensor other, Tensor bias) -> Tensor"),
        FLAGGEMS_BIND(flaggems::bilinear, floating_types, line("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::linalg_cross, arithmetic_or_complex_types, "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor"),
        FLAGGEMS_BIND(flaggems::hadamard_transform, floating_types, "flaggems::hadamard_transform(Tensor x, float scale=1.0) -> Tensor"),
        FLAGGEMS_BIND(flaggems::linear, arithmetic_or_complex_types, "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::int_mm, byte_types, "_int_mm(Tensor self, Tensor mat2) -> Tensor"),
        FLAGGEMS_BIND_RESULT(flaggems::scaled_mm, scaled_types, line("_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor").encodes("self", "mat2").keeps("scale_a", "scale_b", "bias", "scale_result")),
        FLAGGEMS_BIND(flaggems::fp8_matmul, f8_types, line("flaggems::fp8_matmul(Tensor a, Tensor a_s, Tensor b, Tensor b_s) -> Tensor").keeps("a_s", "b_s").also("fp8_matmul_direct")),
        FLAGGEMS_BIND(flaggems::conv1d, floating_types, line("conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, SymInt[1] dilation=1, SymInt groups=1) -> Tensor").outputs_after(3)),
        FLAGGEMS_BIND(flaggems::conv1d, floating_types, line("conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, str padding='valid', SymInt[1] dilation=1, SymInt groups=1) -> Tensor").outputs_after(3)),
        FLAGGEMS_BIND(flaggems::conv_depthwise2d, floating_types, "_conv_depthwise2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, SymInt[2] padding, SymInt[2] dilation) -> Tensor"),
        FLAGGEMS_BIND(flaggems::conv2d, floating_types, line("conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1, SymInt groups=1) -> Tensor").outputs_after(3)),
        FLAGGEMS_BIND(flaggems::conv2d, floating_types, line("conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, str padding='valid', SymInt[2] dilation=1, SymInt groups=1) -> Tensor").outputs_after(3)),
        FLAGGEMS_BIND(flaggems::conv3d, floating_types, line("conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, SymInt[3] dilation=1, SymInt groups=1) -> Tensor").outputs_after(3)),
        FLAGGEMS_BIND(flaggems::conv3d, floating_types, line("conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, str padding='valid', SymInt[3] dilation=1, SymInt groups=1) -> Tensor").outputs_after(3)));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
