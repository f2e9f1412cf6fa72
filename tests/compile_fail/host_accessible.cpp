// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// clang-format off
//
// expect: -DWRONG: flaggems: device type whose memory the host may not read lacks `template <> inline constexpr bool flaggems::host_accessible<...> = false`
// expect: -DREAD: constraint
// clang-format on
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

float read(const flaggems::tensor_view<float, far_away>& v) {
#ifdef READ
  return v(0);
#else
  return static_cast<float>(v.numel());
#endif
}
