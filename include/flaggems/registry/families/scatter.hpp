// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/embedding_backward.hpp>
#include <flaggems/ops/gather.hpp>
#include <flaggems/ops/index_backward.hpp>
#include <flaggems/ops/masked_index.hpp>
#include <flaggems/ops/membership.hpp>
#include <flaggems/ops/nonzero.hpp>
#include <flaggems/ops/scatter.hpp>
#include <flaggems/ops/view_scatter.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// Reads and writes of elements at indices, by masks, and of views.
struct scatter {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::gather, stored_types, "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::take, stored_types, "take(Tensor self, Tensor index) -> Tensor"),
        FLAGGEMS_BIND(flaggems::index, stored_types, "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::index_put, numeric_types, "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::unsafe_masked_index, numeric_types, line("_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::unsafe_masked_index_put_accumulate, numeric_types, line("_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor").without_out()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::scatter, numeric_types, "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::scatter, numeric_types, "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::scatter, numeric_types, "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::scatter, numeric_types, "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::scatter_add, numeric_types, "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::scatter_reduce, numeric_types, "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::index_add, numeric_types, "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::index_copy, numeric_types, "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::index_fill, numeric_types, "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::index_reduce, numeric_types, "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor"),
        FLAGGEMS_BIND(flaggems::masked_select, numeric_types, line("masked_select(Tensor self, Tensor mask) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::masked_scatter, numeric_types, line("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::nonzero, numeric_types, line("nonzero(Tensor self) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::nonzero_numpy, numeric_types, "nonzero_numpy(Tensor self) -> Tensor[]"),
        FLAGGEMS_BIND(flaggems::index_put_impl_, numeric_types, "_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor(a!)"),
        FLAGGEMS_BIND(flaggems::nonzero_static, numeric_types, line("nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::slice_scatter, stored_types, "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor"),
        FLAGGEMS_BIND(flaggems::select_scatter, stored_types, "select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor"),
        FLAGGEMS_BIND(flaggems::diagonal_scatter, stored_types, "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor"),
        FLAGGEMS_BIND(flaggems::as_strided_scatter, stored_types, "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::slice_backward, stored_types, "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor"),
        FLAGGEMS_BIND(flaggems::select_backward, stored_types, "select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor"),
        FLAGGEMS_BIND(flaggems::diagonal_backward, stored_types, "diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor"),
        FLAGGEMS_BIND(flaggems::index_select_backward, numeric_types, line("index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::gather_backward, numeric_types, line("gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::cummaxmin_backward, numeric_types, line("cummaxmin_backward(Tensor grad, Tensor input, Tensor indices, int dim) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::value_selecting_reduction_backward, numeric_types, line("value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::masked_scatter_backward, numeric_types, line("masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::isin, numeric_types, line("isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor").promotes()),
        FLAGGEMS_BIND(flaggems::one_hot, type_list<i64>, line("one_hot(Tensor self, int num_classes=-1) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::embedding_bag_dense_backward, floating_types, "_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor"),
        FLAGGEMS_BIND(flaggems::embedding_bag_per_sample_weights_backward, floating_types, "_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor"),
        FLAGGEMS_BIND(flaggems::embedding_dense_backward, floating_types, "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor"),
        FLAGGEMS_BIND(flaggems::embedding_backward, floating_types, line("embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq, bool sparse) -> Tensor").without_out()));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
