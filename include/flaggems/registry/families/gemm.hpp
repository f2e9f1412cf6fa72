// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/block_scaled_mm.hpp>
#include <flaggems/ops/contraction.hpp>
#include <flaggems/ops/convolution.hpp>
#include <flaggems/ops/einsum.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/grouped_mm.hpp>
#include <flaggems/ops/linear_backward.hpp>
#include <flaggems/ops/scaled_mm.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

using product_types = arithmetic_types;
using byte_types = type_list<i8, u8>;
using scaled_types = type_list<f32, bf16, f16, f8e4m3, f8e5m2>;
using f8_types = type_list<f8e4m3>;
using grouped_types = type_list<f32, bf16, f16>;
using half_or_float_types = type_list<f32, bf16, f16>;
using summed_types = type_list<f64, f32, f16, bf16, i64, c64, c128>;

/// An output of f32, bf16 or f16.
struct output_choice {
  static constexpr std::string_view parameter = "c";
  template <class T, class D>
  using example = tensor_view<f32, D>;
  template <class T, class Dtypes, class D, class F>
  static void choose(const boxed<D>& out, const F& f) {
    visit(
        Dtypes{}, out.view().dtype(),
        [&](auto type) {
          using O = typename decltype(type)::type;
          if constexpr (bindings::is_one_of<O>(half_or_float_types{}))
            f(out.view().template as<O>());
          else
            raise(errc::dtype_mismatch, "cutlass_scaled_mm", "an output of f32, bf16 or f16",
                  to_string(dtype_of<O>));
        },
        "cutlass_scaled_mm");
  }
};
using cutlass_types = bindings::with_choice<type_list<i8, f8e4m3>, output_choice>;

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
        FLAGGEMS_BIND(flaggems::einsum, summed_types, line("einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::compute_linear_combination, arithmetic_or_complex_types, "_compute_linear_combination(Tensor input, Tensor coefficients) -> Tensor"),
        FLAGGEMS_BIND(flaggems::matmul_bias_activation, floating_types, "flaggems::matmul_bias_activation(Tensor input, Tensor weight, Tensor bias) -> Tensor"),
        FLAGGEMS_BIND(flaggems::bilinear, floating_types, line("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::linalg_cross, arithmetic_or_complex_types, "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor"),
        FLAGGEMS_BIND(flaggems::hadamard_transform, floating_types, "flaggems::hadamard_transform(Tensor x, float scale=1.0) -> Tensor"),
        FLAGGEMS_BIND(flaggems::hadamard_transform_12n, floating_types, "flaggems::hadamard_transform_12N(Tensor x, float scale=1.0) -> Tensor"),
        FLAGGEMS_BIND(flaggems::hadamard_transform_20n, floating_types, "flaggems::hadamard_transform_20N(Tensor x, float scale=1.0) -> Tensor"),
        FLAGGEMS_BIND(flaggems::hadamard_transform_28n, floating_types, "flaggems::hadamard_transform_28N(Tensor x, float scale=1.0) -> Tensor"),
        FLAGGEMS_BIND(flaggems::hadamard_transform_40n, floating_types, "flaggems::hadamard_transform_40N(Tensor x, float scale=1.0) -> Tensor"),
        FLAGGEMS_BIND(flaggems::linear, arithmetic_or_complex_types, "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::int_mm, byte_types, "_int_mm(Tensor self, Tensor mat2) -> Tensor"),
        FLAGGEMS_BIND_RESULT(flaggems::scaled_mm, scaled_types, line("_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor").encodes("self", "mat2").keeps("scale_a", "scale_b", "bias", "scale_result")),
        FLAGGEMS_BIND_RESULT(flaggems::grouped_mm, grouped_types, line("_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::scaled_grouped_mm, half_or_float_types, line("_scaled_grouped_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? offs=None, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor").encodes("self", "mat2", dtype::bf16).keeps("scale_a", "scale_b", "bias", "scale_result").without_out()),
        FLAGGEMS_BIND(flaggems::fp8_matmul, f8_types, line("flaggems::fp8_matmul(Tensor a, Tensor a_s, Tensor b, Tensor b_s) -> Tensor").keeps("a_s", "b_s").also("fp8_matmul_direct")),
        FLAGGEMS_BIND_RESULT(flaggems::w8a8_block_fp8_matmul, half_or_float_types, line("flaggems::w8a8_block_fp8_matmul(Tensor A, Tensor B, Tensor As, Tensor Bs, int[] block_size, ScalarType? output_dtype=None) -> Tensor").encodes("A", "B", dtype::bf16).keeps("As", "Bs")),
        FLAGGEMS_BIND_RESULT(flaggems::w8a8_block_fp8_bmm, half_or_float_types, line("flaggems::w8a8_block_fp8_bmm(Tensor x, Tensor y, Tensor xs, Tensor ys, int[] block_size=[128, 128], ScalarType? output_dtype=None) -> Tensor").encodes("x", "y", dtype::bf16).keeps("xs", "ys")),
        FLAGGEMS_BIND_RESULT(flaggems::fp8_einsum, half_or_float_types, line("flaggems::fp8_einsum(str equation, Tensor x, Tensor xs, Tensor y, Tensor ys, int[] block_size=[128, 128], ScalarType? output_dtype=None) -> Tensor").encodes("x", "y", dtype::bf16).keeps("xs", "ys")),
        FLAGGEMS_BIND(flaggems::cutlass_scaled_mm, cutlass_types, line("flaggems::cutlass_scaled_mm(Tensor(a!) c, Tensor a, Tensor b, Tensor a_scale, Tensor b_scale, Tensor? bias=None) -> ()").keeps("a_scale", "b_scale", "bias")),
        FLAGGEMS_BIND(flaggems::conv1d, floating_types, line("conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, SymInt[1] dilation=1, SymInt groups=1) -> Tensor").outputs_after(3)),
        FLAGGEMS_BIND(flaggems::conv1d, floating_types, line("conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, str padding='valid', SymInt[1] dilation=1, SymInt groups=1) -> Tensor").outputs_after(3)),
        FLAGGEMS_BIND(flaggems::conv_depthwise2d, floating_types, "_conv_depthwise2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, SymInt[2] padding, SymInt[2] dilation) -> Tensor"),
        FLAGGEMS_BIND(flaggems::conv2d, floating_types, line("conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1, SymInt groups=1) -> Tensor").outputs_after(3)),
        FLAGGEMS_BIND(flaggems::conv2d, floating_types, line("conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, str padding='valid', SymInt[2] dilation=1, SymInt groups=1) -> Tensor").outputs_after(3)),
        FLAGGEMS_BIND(flaggems::conv3d, floating_types, line("conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, SymInt[3] dilation=1, SymInt groups=1) -> Tensor").outputs_after(3)),
        FLAGGEMS_BIND(flaggems::conv3d, floating_types, line("conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, str padding='valid', SymInt[3] dilation=1, SymInt groups=1) -> Tensor").outputs_after(3)),
        FLAGGEMS_BIND(flaggems::convolution_mode, floating_types, line("_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, SymInt groups) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::cudnn_convolution, floating_types, "cudnn_convolution(Tensor self, Tensor weight, SymInt[] padding, SymInt[] stride, SymInt[] dilation, SymInt groups, bool benchmark, bool deterministic, bool allow_tf32) -> Tensor"),
        FLAGGEMS_BIND(flaggems::linear_backward, floating_types, line("linear_backward(Tensor self, Tensor grad_output, Tensor weight, bool[3] output_mask) -> (Tensor, Tensor, Tensor)").without_out()));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
