// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// mdspans and ranges that cannot be views, and views that cannot be mdspans.
//
// expect: -DACCESSOR: flaggems: only an mdspan with default_accessor is a view
// expect: -DLAYOUT: flaggems: an mdspan's layout must be layout_right, layout_left or layout_stride
// expect: -DELEMENT: flaggems: the elements of this mdspan or range are not of one of our types
// expect: -DRANGE: flaggems: the elements of this mdspan or range are not of one of our types
// expect: -DRANK: flaggems: an mdspan of more than 8 dimensions
// expect: -DTEMPORARY: flaggems: from_span: a temporary range ends with the statement
// expect: -DTENSOR: flaggems: a temporary tensor ends with the statement, before its view
// expect: -DCONST: flaggems: to_mdspan: the mdspan's elements are of another type, or not const
// expect: -DTYPE: flaggems: to_mdspan: the mdspan's elements are of another type, or not const
// expect: -DDEVICE: flaggems: to_mdspan: the host cannot read the elements of this device
#include <support/mdspan.hpp>
#define FLAGGEMS_MDSPAN_NAMESPACE support::md
#include <flaggems/adapters/mdspan.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/simt.hpp>

#include <complex>
#include <vector>

using namespace flaggems;
namespace md = support::md;

template <class T>
struct logging_accessor : md::default_accessor<T> {};
struct tiled : md::layout_right {};
template <class T, std::size_t Rank = 2>
using matrix = md::mdspan<T, md::dextents<int, Rank>>;

void f(float* data, stream<host>& s) {
  using plain = matrix<float>;
  const plain m(data, plain::mapping_type(plain::extents_type(std::array{2, 2})));
  const auto v = from_mdspan(m);
#if defined(ACCESSOR)
  using other = md::mdspan<float, md::dextents<int, 2>, md::layout_right, logging_accessor<float>>;
  (void)from_mdspan(other(data, m.mapping()));
#elif defined(LAYOUT)
  using other = md::mdspan<float, md::dextents<int, 2>, tiled>;
  (void)to_mdspan<other>(v);
#elif defined(ELEMENT)
  std::complex<float> number;
  using other = md::mdspan<std::complex<float>, md::extents<int, 1>>;
  (void)from_mdspan(other(&number, other::mapping_type({})));
#elif defined(RANGE)
  std::vector<long long> numbers(3);
  (void)from_span(numbers);
#elif defined(RANK)
  using other = matrix<float, 9>;
  (void)from_mdspan(other(data, other::mapping_type({})));
#elif defined(TEMPORARY)
  (void)from_span(std::vector<float>(3));
#elif defined(TENSOR)
  (void)to_mdspan<plain>(ones(s, {2, 2}));
#elif defined(CONST)
  (void)to_mdspan<plain>(tensor_view<const float>(v));
#elif defined(TYPE)
  (void)to_mdspan<matrix<double>>(v);
#elif defined(DEVICE)
  (void)to_mdspan<plain>(tensor_view<float, simt32>(data, {2, 2}));
#else
  (void)to_mdspan<plain>(v);
  (void)to_mdspan<matrix<const float>>(v);
  auto x = ones(s, {2, 2});
  (void)to_mdspan<plain>(x);
#endif
}
