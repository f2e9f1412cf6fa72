// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/adaptive_pool.hpp>
#include <flaggems/ops/conv_transpose.hpp>
#include <flaggems/ops/convolution_backward.hpp>
#include <flaggems/ops/fold.hpp>
#include <flaggems/ops/fractional_pool.hpp>
#include <flaggems/ops/grid_sample.hpp>
#include <flaggems/ops/interpolate.hpp>
#include <flaggems/ops/max_unpool.hpp>
#include <flaggems/ops/pad_backward.hpp>
#include <flaggems/ops/pool.hpp>
#include <flaggems/ops/upsample.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// Pools, resampling, transposed convolutions, windows as columns, and their gradients and those of
/// padding.
struct window {
  using resampled_types = type_list<f64, f32, f16, bf16, u8>;
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::avg_pool1d, floating_types, "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, bool count_include_pad=True) -> Tensor"),
        FLAGGEMS_BIND(flaggems::avg_pool2d, floating_types, "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::avg_pool3d, floating_types, "avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::avg_pool2d_backward, floating_types, line("avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::avg_pool3d_backward, floating_types, line("avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::max_pool2d_with_indices, floating_types, line("max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)").writes("out", "indices")),
        FLAGGEMS_BIND(flaggems::max_pool3d_with_indices, floating_types, line("max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)").writes("out", "indices")),
        FLAGGEMS_BIND(flaggems::max_pool2d_with_indices_backward, floating_types, line("max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::max_pool3d_with_indices_backward, floating_types, line("max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::upsample_nearest1d, resampled_types, "upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::upsample_nearest2d, resampled_types, "upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::upsample_nearest3d, resampled_types, "upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::upsample_nearest_exact1d, resampled_types, "_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::upsample_nearest_exact2d, resampled_types, "_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::upsample_nearest_exact3d, resampled_types, "_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::upsample_nearest1d_backward, floating_types, line("upsample_nearest1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::upsample_nearest2d_backward, floating_types, line("upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::upsample_nearest3d_backward, floating_types, line("upsample_nearest3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::upsample_nearest_exact1d_backward, floating_types, line("_upsample_nearest_exact1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::upsample_nearest_exact2d_backward, floating_types, line("_upsample_nearest_exact2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::upsample_nearest_exact3d_backward, floating_types, line("_upsample_nearest_exact3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::max_pool2d_backward, floating_types, line("max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::max_pool3d_backward, floating_types, line("flaggems::max_pool3d_backward(Tensor grad_output, Tensor input, Tensor indices, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::adaptive_avg_pool1d, floating_types, line("adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor")),
        FLAGGEMS_BIND(flaggems::adaptive_avg_pool2d, floating_types, line("_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor").also("adaptive_avg_pool2d")),
        FLAGGEMS_BIND(flaggems::adaptive_avg_pool2d_backward, floating_types, line("_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor")),
        FLAGGEMS_BIND(flaggems::adaptive_avg_pool3d, floating_types, line("_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor").also("adaptive_avg_pool3d")),
        FLAGGEMS_BIND(flaggems::adaptive_avg_pool3d_backward, floating_types, line("_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor")),
        FLAGGEMS_BIND(flaggems::adaptive_max_pool1d, floating_types, line("adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::adaptive_max_pool2d, floating_types, line("adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)").writes("out", "indices")),
        FLAGGEMS_BIND(flaggems::adaptive_max_pool2d_backward, floating_types, line("adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::adaptive_max_pool3d, floating_types, line("adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)").writes("out", "indices")),
        FLAGGEMS_BIND(flaggems::adaptive_max_pool3d_backward, floating_types, line("adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::upsample_linear1d, floating_types, line("upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor")),
        FLAGGEMS_BIND(flaggems::upsample_linear1d_backward, floating_types, line("upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, bool align_corners, float? scales=None) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::upsample_bilinear2d, floating_types, line("upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor")),
        FLAGGEMS_BIND(flaggems::upsample_bilinear2d_backward, floating_types, line("upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::upsample_trilinear3d, floating_types, line("upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor")),
        FLAGGEMS_BIND(flaggems::upsample_trilinear3d_backward, floating_types, line("upsample_trilinear3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::upsample_bicubic2d, floating_types, line("upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor")),
        FLAGGEMS_BIND(flaggems::upsample_bicubic2d_backward, floating_types, line("upsample_bicubic2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::upsample_bilinear2d_aa, floating_types, line("_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor")),
        FLAGGEMS_BIND(flaggems::upsample_bilinear2d_aa_backward, floating_types, line("_upsample_bilinear2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::upsample_bicubic2d_aa, floating_types, line("_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor")),
        FLAGGEMS_BIND(flaggems::upsample_bicubic2d_aa_backward, floating_types, line("_upsample_bicubic2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::conv_transpose1d, floating_types, line("conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, SymInt[1] output_padding=0, SymInt groups=1, SymInt[1] dilation=1) -> Tensor").outputs_after(3).without_out()),
        FLAGGEMS_BIND(flaggems::conv_transpose2d, floating_types, line("conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] output_padding=0, SymInt groups=1, SymInt[2] dilation=1) -> Tensor").outputs_after(3).without_out()),
        FLAGGEMS_BIND(flaggems::conv_transpose3d, floating_types, line("conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, SymInt[3] output_padding=0, SymInt groups=1, SymInt[3] dilation=1) -> Tensor").outputs_after(3).without_out()),
        FLAGGEMS_BIND(flaggems::max_unpool2d, floating_types, line("max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::max_unpool3d, floating_types, line("max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::fractional_max_pool2d, floating_types, line("fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, Tensor)").out("output").writes("output", "indices").outputs_after(4)),
        FLAGGEMS_BIND(flaggems::fractional_max_pool2d_backward, floating_types, line("fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] output_size, Tensor indices) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::convolution_double_backward, floating_types, line("_convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb, Tensor gO, Tensor weight, Tensor self, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::grid_sampler, floating_types, line("grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::grid_sampler_2d, floating_types, line("grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor")),
        FLAGGEMS_BIND(flaggems::grid_sampler_3d, floating_types, line("grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor")),
        FLAGGEMS_BIND(flaggems::grid_sampler_2d_backward, floating_types, line("grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::grid_sampler_3d_backward, floating_types, line("grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::affine_grid_generator, floating_types, line("affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor")),
        FLAGGEMS_BIND(flaggems::im2col, floating_types, "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor"),
        FLAGGEMS_BIND(flaggems::col2im, floating_types, "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor"),
        FLAGGEMS_BIND(flaggems::unfold_backward, floating_types, "unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor"),
        FLAGGEMS_BIND(flaggems::reflection_pad1d_backward, floating_types, line("reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::reflection_pad2d_backward, floating_types, line("reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::reflection_pad3d_backward, floating_types, line("reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::replication_pad1d_backward, floating_types, line("replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::replication_pad2d_backward, floating_types, line("replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::replication_pad3d_backward, floating_types, line("replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor").out("grad_input").writes("grad_input")));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
