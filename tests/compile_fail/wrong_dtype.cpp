// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
//
// expect: -DWRONG=1: flaggems: argument K has element type T, which this operator does not take
// expect: -DWRONG=1: argument<1, int>::is_one_of<
//
// expect: -DWRONG=2: tensor: T is an element type, not const
//
// expect: -DWRONG=3: flaggems: tensor: T is not an element type
//
// expect: -DWRONG=4: constraint
//
// expect: -DWRONG=5: conver
//
// expect: -DWRONG=6: flaggems: long long, char and their like are not element types: use
// flaggems::i64
#include <flaggems/device/checks.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/vendors/host.hpp>

using namespace flaggems;

template <stream_like S, tensor_like X>
void some_operator(const S&, const X&) {
  element_type_in<floating_types, 1, X>();
}

void f(stream<host>& s, tensor<float>& x, tensor<i32>& n, const tensor<float>& c) {
  some_operator(s, x);
#if WRONG == 1
  some_operator(s, n);
#elif WRONG == 2
  tensor<const float> t;
#elif WRONG == 3
  tensor<const char*> t;
#elif WRONG == 4
  constexpr dtype d = dtype_of<const char*>;
#elif WRONG == 5
  tensor_view<float> v = c;  // what is const is not written
#elif WRONG == 6
  auto y = from_values<long long>(s, {1, 2});
#endif
  static_cast<void>(n);
  static_cast<void>(c);
}
