// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A device is a type: memory of one does not become memory of another.
//
//
// expect: -DWRONG=1: conver
//
// expect: -DWRONG=2: conver
//
// expect: -DWRONG=3: support::mock_device>'
//
// expect: -DWRONG=4: flaggems: from_host takes a tensor in the host's memory
#include <flaggems/device/tensor.hpp>
#include <flaggems/vendors/host.hpp>
#include <support/mock_device.hpp>

using support::mock_device;

void f(flaggems::tensor<float>& on_host, flaggems::tensor<float, mock_device>& on_mock,
       flaggems::stream<mock_device>& s) {
  flaggems::tensor_view<float> a = on_host;
  flaggems::tensor_view<float, mock_device> b = on_mock;
  flaggems::stream_ref<mock_device> r = s;
#if WRONG == 1
  flaggems::tensor_view<float, mock_device> c = on_host;
  static_cast<void>(c);
#elif WRONG == 2
  flaggems::stream_ref<flaggems::host> c = s;
  static_cast<void>(c);
#elif WRONG == 3
  on_host = static_cast<flaggems::tensor<float, mock_device>&&>(on_mock);
#elif WRONG == 4
  static_cast<void>(flaggems::from_host(s, on_mock));
#endif
  static_cast<void>(a);
  static_cast<void>(b);
  static_cast<void>(r);
}
