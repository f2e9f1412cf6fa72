// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A tensor of the host without the header that defines it.
//
// without the umbrella
// bytes: 8192
// expect: -DABSENT: flaggems: a tensor needs the header of its device type, to_host
// flaggems/vendors
#include <flaggems/device/tensor.hpp>
#include <flaggems/vendors/simt.hpp>

#if !defined(ABSENT)
#include <flaggems/vendors/host.hpp>
#endif

auto f(const flaggems::stream<flaggems::simt32>& s,
       const flaggems::tensor<float, flaggems::simt32>& x) {
  return flaggems::to_host(s, x);
}
