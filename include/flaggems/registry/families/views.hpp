// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/views.hpp>
#include <flaggems/tensor/complex_views.hpp>

#include <flaggems/registry/bind.hpp>

namespace flaggems::operator_families {

/// Views of an argument's memory, which launch nothing but where reshape and flatten have to copy.
struct views {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND_VIEW(x, "alias(Tensor(a) self) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x, "lift_fresh(Tensor(a) self) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.as_strided(a...), "_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.permute(a...), "permute(Tensor(a) self, int[] dims) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.transpose(a...), "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.t(), "t(Tensor(a) self) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.movedim(a...), "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(expand(x, a...), "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.broadcast_to(a...), "broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.expand(shape(a.sizes()...)), "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.view(a...), "view(Tensor(a) self, SymInt[] size) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(of_sizes("reshape", stream, x, rows_of(x).reshape(a...)), line("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)").version(2)),
        FLAGGEMS_BIND_VIEW(of_sizes("flatten", stream, x, rows_of(x).flatten(a...)), line("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)").version(2)),
        FLAGGEMS_BIND_VIEW(x.unflatten(a...), "unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.squeeze(), "squeeze(Tensor(a) self) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.squeeze(a...), "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.squeeze(a...), "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.unsqueeze(a...), "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.narrow(a...), "narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.select(a...), "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(slice(x, a...), "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.diagonal(a...), "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.unfold(a...), "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(detail::parts_of_any(x), "view_as_real(Tensor(a) self) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(detail::complex_of_any(x), "view_as_complex(Tensor(a) self) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(detail::real_of_any(x), "real(Tensor(a) self) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(detail::imag_of_any(x), "imag(Tensor(a) self) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x, "resolve_conj(Tensor(a) self) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x, "resolve_neg(Tensor(a) self) -> Tensor(a)"),
        FLAGGEMS_BIND_VIEW(x.unbind(a...), "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]"),
        FLAGGEMS_BIND_VIEW(x.split(a...), "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]"),
        FLAGGEMS_BIND_VIEW(detail::parts_of_sizes(x, a...), line("split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]")),
        FLAGGEMS_BIND_VIEW(x.chunk(a...), "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]"),
        FLAGGEMS_BIND_VIEW(x.tensor_split(a...), "tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]"));
    // clang-format on
  }

 private:
  /// x as if it were contiguous, for what sizes make of its sizes.
  template <class View>
  static View rows_of(const View& x) {
    return View(x.data(), x.dtype(), x.sizes());
  }
  /// x under the sizes of `rows`: a view, or a copy where there is none.
  template <class D>
  static any_tensor<D> of_sizes(const char* op, const stream_ref<D>& stream, const any_view<D>& x,
                                const any_view<D>& rows) {
    shape strides;
    const detail::layout from{x.sizes(), x.strides(), 0};
    if (detail::view_strides(from, shape(rows.sizes()), strides))
      return any_tensor<D>(x.as_strided(rows.sizes(), strides));
    switch (size_of(x.dtype())) {  // what the bits mean is of no account
      case 1: return copy_of<u8>(op, stream, x, rows);
      case 2: return copy_of<i16>(op, stream, x, rows);
      case 4: return copy_of<i32>(op, stream, x, rows);
      case 8: return copy_of<i64>(op, stream, x, rows);
      default: return copy_of<c128>(op, stream, x, rows);
    }
  }
  template <class T, class D>
  static any_tensor<D> copy_of(const char* op, const stream_ref<D>& stream, const any_view<D>& x,
                               const any_view<D>& rows) {
    auto made = empty<T>(stream, shape(x.sizes()), op);
    const any_view<D> bits(x.data(), dtype_of<T>, x.sizes(), x.strides());
    detail::copy_into(op, stream, made.view(), bits.template as<const T>());
    const any_view<D> view(made.data(), x.dtype(), rows.sizes());
    return any_tensor<D>(view, std::move(made).release());
  }
  template <class View>
  static View expand(const View& x, int_list sizes, bool) {
    return x.expand(sizes);
  }
  template <class View>
  static View slice(const View& x, i64 dim, std::optional<i64> start, std::optional<i64> end,
                    i64 step) {
    return x.slice(dim, start.value_or(0), detail::end_or_all(end), step);
  }
};

}  // namespace flaggems::operator_families
