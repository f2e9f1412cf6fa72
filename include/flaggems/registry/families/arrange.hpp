// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/arrange.hpp>
#include <flaggems/ops/pad.hpp>
#include <flaggems/ops/stack.hpp>
#include <flaggems/ops/triangle.hpp>
#include <flaggems/ops/views.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// The elements of tensors in other places.
struct arrange {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::alias_copy, all_types, "alias_copy(Tensor self) -> Tensor"),
        FLAGGEMS_BIND(flaggems::lift_fresh_copy, all_types, "lift_fresh_copy(Tensor self) -> Tensor"),
        FLAGGEMS_BIND(flaggems::permute_copy, all_types, "permute_copy(Tensor self, int[] dims) -> Tensor"),
        FLAGGEMS_BIND(flaggems::transpose_copy, all_types, "transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor"),
        FLAGGEMS_BIND(flaggems::t_copy, all_types, "t_copy(Tensor self) -> Tensor"),
        FLAGGEMS_BIND(flaggems::expand_copy, all_types, "expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::view_copy, all_types, "view_copy(Tensor self, SymInt[] size) -> Tensor"),
        FLAGGEMS_BIND(flaggems::squeeze_copy, all_types, "squeeze_copy(Tensor self) -> Tensor"),
        FLAGGEMS_BIND(flaggems::squeeze_copy, all_types, "squeeze_copy.dim(Tensor self, int dim) -> Tensor"),
        FLAGGEMS_BIND(flaggems::squeeze_copy, all_types, "squeeze_copy.dims(Tensor self, int[] dim) -> Tensor"),
        FLAGGEMS_BIND(flaggems::unsqueeze_copy, all_types, "unsqueeze_copy(Tensor self, int dim) -> Tensor"),
        FLAGGEMS_BIND(flaggems::narrow_copy, all_types, "narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor"),
        FLAGGEMS_BIND(flaggems::select_copy, all_types, "select_copy.int(Tensor self, int dim, SymInt index) -> Tensor"),
        FLAGGEMS_BIND(flaggems::slice_copy, all_types, "slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor"),
        FLAGGEMS_BIND(flaggems::diagonal_copy, all_types, "diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor"),
        FLAGGEMS_BIND(flaggems::unfold_copy, all_types, "unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor"),
        FLAGGEMS_BIND(flaggems::as_strided_copy, all_types, "as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::unbind_copy, all_types, "unbind_copy.int(Tensor self, int dim=0) -> Tensor[]"),
        FLAGGEMS_BIND(flaggems::split_copy, all_types, "split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]"),
        FLAGGEMS_BIND(flaggems::split_with_sizes_copy, all_types, "split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]"),
        FLAGGEMS_BIND(flaggems::stack, numeric_or_complex_types, line("stack(Tensor[] tensors, int dim=0) -> Tensor").promotes()),
        FLAGGEMS_BIND(flaggems::hstack, numeric_or_complex_types, line("hstack(Tensor[] tensors) -> Tensor").promotes()),
        FLAGGEMS_BIND(flaggems::vstack, numeric_or_complex_types, line("vstack(Tensor[] tensors) -> Tensor").promotes().also("row_stack")),
        FLAGGEMS_BIND(flaggems::block_diag, numeric_or_complex_types, line("block_diag(Tensor[] tensors) -> Tensor").promotes()),
        FLAGGEMS_BIND(flaggems::chunk_cat, numeric_types, "_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor"),
        FLAGGEMS_BIND(flaggems::resize, all_types, line("resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::resize_as, all_types, line("resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::resize_output, all_types, line("flaggems::resize_output(Tensor self, SymInt[] size) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::flip, all_types, "flip(Tensor self, int[] dims) -> Tensor"),
        FLAGGEMS_BIND(flaggems::roll, all_types, "roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor"),
        FLAGGEMS_BIND(flaggems::fft_fftshift, all_types, line("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::fft_ifftshift, all_types, line("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::rot90, all_types, "rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor"),
        FLAGGEMS_BIND(flaggems::repeat, all_types, "repeat(Tensor self, SymInt[] repeats) -> Tensor"),
        FLAGGEMS_BIND(flaggems::tile, all_types, "tile(Tensor self, SymInt[] dims) -> Tensor"),
        FLAGGEMS_BIND(flaggems::repeat_interleave, stored_types, line("repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::repeat_interleave, stored_types, line("repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::repeat_interleave, type_list<f32>, line("repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::pixel_shuffle, all_types, "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor"),
        FLAGGEMS_BIND(flaggems::pixel_unshuffle, all_types, "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor"),
        FLAGGEMS_BIND(flaggems::channel_shuffle, all_types, "channel_shuffle(Tensor self, SymInt groups) -> Tensor"),
        FLAGGEMS_BIND(flaggems::diag_embed, all_types, "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor"),
        FLAGGEMS_BIND(flaggems::diag, all_types, "diag(Tensor self, int diagonal=0) -> Tensor"),
        FLAGGEMS_BIND(flaggems::constant_pad_nd, stored_types, "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor"),
        FLAGGEMS_BIND(flaggems::pad, stored_types, "pad(Tensor self, SymInt[] pad, str mode='constant', float? value=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::reflection_pad1d, stored_types, "reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor"),
        FLAGGEMS_BIND(flaggems::reflection_pad2d, stored_types, "reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor"),
        FLAGGEMS_BIND(flaggems::reflection_pad3d, stored_types, "reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor"),
        FLAGGEMS_BIND(flaggems::replication_pad1d, stored_types, "replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor"),
        FLAGGEMS_BIND(flaggems::replication_pad2d, stored_types, "replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor"),
        FLAGGEMS_BIND(flaggems::replication_pad3d, stored_types, "replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::tril, stored_types, "tril(Tensor self, int diagonal=0) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::triu, stored_types, "triu(Tensor self, int diagonal=0) -> Tensor"));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
