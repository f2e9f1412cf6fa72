// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Which of some numbers an element is: isin and one_hot.
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/nonzero.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/triangle.hpp>

namespace flaggems {
namespace operators {
struct isin;
struct one_hot;
}  // namespace operators

namespace detail {

template <class S, class T, class U, class D>
void isin_into(const S& stream, const tensor_view<const T, D>& elements,
               const tensor_view<const U, D>& tests, const tensor_view<bool, D>& out, bool invert) {
  constexpr const char* op = "isin";
  check_output_sizes(op, elements.shape_of(), out);
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_overlap(op, written, layout_of(elements));
  check_no_overlap(op, written, layout_of(tests));
  if (out.empty() || replaced<operators::isin>(op, stream, elements, tests, out, invert)) return;
  tensor<T, D> own;
  tensor<U, D> own_tests;
  const auto row = as_row(op, stream, elements, own);
  const auto few = as_row(op, stream, tests, own_tests);
  const auto truth = [&](const tensor_view<bool, D>& to) {
    const i64 dim = 1;
    const int_list dims(&dim, 1);
    if (invert)
      reduce_values<operators::all, all_fold, bool>(op, stream, ne(row.unsqueeze(1), few), to, dims,
                                                    false, reduction_result::total);
    else
      reduce_values<operators::any, any_fold, bool>(op, stream, eq(row.unsqueeze(1), few), to, dims,
                                                    false, reduction_result::total);
  };
  if (out.is_contiguous()) return truth(out.view({out.numel()}));
  auto found = empty<bool>(stream, {out.numel()}, op);
  truth(found.view());
  copy_into(op, stream, out, input_of(found).view(out.shape_of()));
}

}  // namespace detail

/// out = whether each of `elements` is among `test_elements`, or is not (`invert`); each is
/// compared with each. out is of bool and of the sizes of elements. `assume_unique` changes
/// nothing. Raises shape_mismatch or overlap before anything is written.
/// aten::isin.Tensor_Tensor_out(Tensor elements, Tensor test_elements, *, bool assume_unique=False,
/// bool invert=False, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Tests, tensor_like Out>
void isin(const S& stream, const X& elements, const Tests& test_elements, Out&& out,
          [[maybe_unused]] bool assume_unique = false, bool invert = false) {
  using D = device_of<S>;
  same_device<S, X, Tests, Out>();
  static_assert(std::is_same_v<value_t<Out>, bool>, "flaggems: isin gives bool");
  detail::isin_into(stream, tensor_view<const value_t<const X&>, D>(as_view(elements)),
                    tensor_view<const value_t<const Tests&>, D>(as_view(test_elements)),
                    as_view(out), invert);
}
template <stream_like S, tensor_like X, tensor_like Tests>
[[nodiscard]] auto isin(const S& stream, const X& elements, const Tests& test_elements,
                        bool assume_unique = false, bool invert = false) {
  auto out = empty<bool>(stream, as_view(elements).shape_of(), "isin");
  isin(stream, elements, test_elements, out, assume_unique, invert);
  return out;
}

/// out[.., c] = 1 where x[..] = c, else 0, in a new tensor of i64 with `num_classes` as its last
/// dimension; -1: one more than the largest of x, which it waits for. x: i64. Raises
/// out_of_range for numbers outside [0, num_classes) where the host can read them, and
/// invalid_argument for an empty x without a number of classes. aten::one_hot(Tensor self, int
/// num_classes=-1)
template <stream_like S, tensor_like X>
[[nodiscard]] auto one_hot(const S& stream, const X& x, i64 num_classes = -1) {
  constexpr const char* op = "one_hot";
  using D = device_of<S>;
  same_device<S, X>();
  static_assert(std::is_same_v<value_t<const X&>, i64>, "flaggems: one_hot takes i64");
  const tensor_view<const i64, D> v(as_view(x));
  if (num_classes < -1 || (num_classes <= 0 && v.empty())) [[unlikely]]
    raise(errc::invalid_argument, op, "a positive number of classes", detail::text(num_classes));
  if (v.rank() == max_rank) [[unlikely]]
    detail::raise_rank(op, v.rank() + 1);
  i64 classes = num_classes;
  if (classes == -1) {
    const auto largest = amax(stream, v);
    const i64 last = detail::read_element(stream, largest.view());
    if (last < 0) [[unlikely]]
      raise(errc::out_of_range, op, "indices that are not negative", detail::text(last));
    if (last == kernels::highest<i64>()) [[unlikely]]
      raise(errc::invalid_argument, op, "indices below 2^63 - 1", detail::text(last));
    classes = last + 1;
  }
  detail::check_indices(op, stream, v, classes);
  shape sizes = v.shape_of();
  sizes.push_back(classes);
  auto out = empty<i64>(stream, sizes, op);
  if (out.empty() || detail::replaced<operators::one_hot>(op, stream, v, out.view())) return out;
  const detail::coordinate<D> place(sizes, v.rank());
  using same =
      detail::call<detail::to_bool, kernels::eq_fn, detail::leaf<i64, D>, detail::coordinate<D>>;
  detail::assign_node(op, stream, out.view(),
                      detail::as_type<i64, same>{same{{}, {{v.unsqueeze(-1)}, place}}});
  return out;
}

}  // namespace flaggems
