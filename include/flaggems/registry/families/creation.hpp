// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/sequences.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

inline constexpr char value_name[] = "value";
using from_value = bindings::with_choice<all_types, bindings::any_dtype<value_name>>;

/// New tensors, and values for those there are.
struct creation {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND_RESULT(flaggems::empty, all_types, line("empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(under_strides, all_types, line("empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::empty_permuted, all_types, line("empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::make_dep_token, all_types, line("_make_dep_token(*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::list_to_tensor, all_types, line("_list_to_tensor(int[] self) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::functional_sym_constrain_range, all_types, line("_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::functional_sym_constrain_range_for_size, all_types, line("_functional_sym_constrain_range_for_size(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::zeros, all_types, line("zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::ones, all_types, line("ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::full, all_types, line("full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::empty_like, all_types, line("empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor").sized_as("self").without_out().none_is(memory_format::preserve_format)),
        FLAGGEMS_BIND_RESULT(flaggems::zeros_like, all_types, line("zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor").sized_as("self").without_out().none_is(memory_format::preserve_format)),
        FLAGGEMS_BIND_RESULT(flaggems::ones_like, all_types, line("ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor").sized_as("self").without_out().none_is(memory_format::preserve_format)),
        FLAGGEMS_BIND_RESULT(flaggems::full_like, all_types, line("full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor").sized_as("self").without_out().none_is(memory_format::preserve_format)),
        FLAGGEMS_BIND_RESULT(flaggems::scalar_tensor, all_types, line("scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::new_full, all_types, line("new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").sized_as("self").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::new_zeros, all_types, line("new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").sized_as("self").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::new_ones, all_types, line("new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").sized_as("self").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::eye, arithmetic_types, line("eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::eye, arithmetic_types, line("eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::linspace, arithmetic_types, line("linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").to_float().without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::logspace, arithmetic_types, line("logspace(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").to_float().without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::range, arithmetic_types, line("range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").to_float().without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::range, arithmetic_types, line("range(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").to_float().without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::hann_window, floating_types, line("hann_window(SymInt window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::hann_window, floating_types, line("hann_window.periodic(SymInt window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::hamming_window, floating_types, line("hamming_window(SymInt window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::hamming_window, floating_types, line("hamming_window.periodic(SymInt window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::hamming_window, floating_types, line("hamming_window.periodic_alpha(SymInt window_length, bool periodic, float alpha, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::hamming_window, floating_types, line("hamming_window.periodic_alpha_beta(SymInt window_length, bool periodic, float alpha, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::blackman_window, floating_types, line("blackman_window(SymInt window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::blackman_window, floating_types, line("blackman_window.periodic(SymInt window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::bartlett_window, floating_types, line("bartlett_window(SymInt window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::bartlett_window, floating_types, line("bartlett_window.periodic(SymInt window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::arange, arithmetic_types, line("arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::arange, arithmetic_types, line("arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::arange, arithmetic_types, line("arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::arange, arithmetic_types, "arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)"),
        FLAGGEMS_BIND(flaggems::fill_, all_types, "fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)"),
        FLAGGEMS_BIND(flaggems::fill_, from_value, "fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)"),
        FLAGGEMS_BIND(flaggems::zero_, all_types, "zero_(Tensor(a!) self) -> Tensor(a!)"));
    // clang-format on
  }

 private:
  /// flaggems::empty_strided, with gaps and elements in one place, too.
  template <class T, class S>
  static auto under_strides(const S& stream, int_list size, int_list stride) {
    constexpr const char* op = "empty_strided";
    flaggems::detail::check_layout(size, stride, i64{sizeof(T)}, op);
    i64 reach = shape(size).numel() == 0 ? 0 : 1;
    for (int d = 0; d < size.size(); ++d) {
      if (stride[d] < 0) [[unlikely]]
        raise(errc::invalid_argument, op, "strides that are not negative",
              to_string(shape(stride)));
      if (reach != 0) reach += (size[d] - 1) * stride[d];
    }
    bindings::strided_memory<T, device_of<S>> r{empty<T>(stream, {reach}, op), {}};
    r.view = r.memory.view().as_strided(size, stride);
    return r;
  }
};

}  // namespace flaggems::operator_families
