// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// clang-format off
//
// expect: -DWRONG: flaggems: device type whose memory the host may not read lacks `template <> inline constexpr bool flaggems::host_accessible<...> = false`
// expect: -DREAD=1: flaggems: the host cannot read the elements of this device: to_host(stream, x) makes a copy that it can
// expect: -DREAD=2: flaggems: the host cannot read the elements of this device: to_host(stream, x) makes a copy that it can
// expect: -DREAD=3: flaggems: the host cannot read the elements of this device: to_host(stream, x) makes a copy that it can
// expect: -DREAD=4: flaggems: the host cannot read the elements of this device: to_host(stream, x) makes a copy that it can
//
// clang-format on
// errors: 1
#include <flaggems/device/tensor.hpp>
#include <support/mock_device.hpp>

struct far_away : support::mock_device {
  struct capabilities : mock_device::capabilities {
    static constexpr bool host_accessible = false;
  };
};
#ifndef WRONG
template <>
inline constexpr bool flaggems::host_accessible<far_away> = false;
#endif
static_assert(flaggems::check_device<far_away>());

float read(const flaggems::tensor_view<float, far_away>& v, flaggems::tensor<float, far_away>& x) {
#if READ == 1
  return v(0);
#elif READ == 2
  return v[0];
#elif READ == 3
  return x(0, 1);
#elif READ == 4
  x[0] = 1;
  return 0;
#else
  static_cast<void>(x);
  return static_cast<float>(v.numel());
#endif
}
