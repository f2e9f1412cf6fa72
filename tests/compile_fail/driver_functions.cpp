// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A driver of CUDA's kind without a function that every device type needs.
//
// clang-format off
//
// expect: -DWITHOUT=create_plain_stream: flaggems: Api::functions lacks `create_stream` or `create_plain_stream`
// expect: -DWITHOUT=copy_any: flaggems: Api::functions lacks `copy_any`, `copy_now`, or `copy_to_device`, `copy_to_host` and `copy_on_device`
// clang-format on
#include <flaggems/vendors/maca.hpp>

#ifndef WITHOUT
#define WITHOUT error_name
#endif

struct chip_api : flaggems::detail::maca_api {
  static constexpr flaggems::detail::driver_functions functions = [] {
    flaggems::detail::driver_functions f = maca_api::functions;
    f.WITHOUT.name = nullptr;
    return f;
  }();
};
struct chip : flaggems::driver_device<chip_api>, flaggems::detail::simt_policies<64> {};

int main() { return chip::device_count(); }
