// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands on another device than the stream. What the letters stand for is in the condition, which
// compilers print.
//
//
// expect: -DWRONG=1: flaggems: stream is on device A but argument K is on device B
// expect: -DWRONG=1: stream_on<flaggems::host>::and_argument_on<2, support::mock_device>
//
// expect: -DWRONG=2: flaggems: stream is on device A but argument K is on device B
//
// expect: -DWRONG=3: flaggems: stream is on device A but argument K is on device B
//
// expect: -DWRONG=4: flaggems: to_host takes a stream of the device that the tensor is on
//
// expect: -DWRONG=5: constraint
#include <flaggems/device/checks.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/tensor/any_view.hpp>
#include <flaggems/vendors/host.hpp>
#include <support/mock_device.hpp>

using support::mock_device;

template <flaggems::stream_like S, class... X>
void some_operator(const S& stream, const X&... x) {
  flaggems::same_device(stream, x...);
}

void f(flaggems::stream<flaggems::host>& s, flaggems::tensor_view<float> x,
       flaggems::tensor<float, mock_device>& t, flaggems::any_view<mock_device> any) {
  some_operator(s, x, 1, 2.0);
#if WRONG == 1
  some_operator(s, x, t.view());
#elif WRONG == 2
  some_operator(s, t);
#elif WRONG == 3
  some_operator(s, any);
#elif WRONG == 4
  static_cast<void>(flaggems::to_host(s, t));
#elif WRONG == 5
  some_operator(1, x);  // no stream at all
#endif
  static_cast<void>(t);
  static_cast<void>(any);
}
