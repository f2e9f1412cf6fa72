// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/device-guide.md: operators on the device type of 03_device_type.hpp.
#include "03_device_type.hpp"
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/tensor/print.hpp>
#include <flaggems/vendors/host.hpp>

#include <cmath>
#include <cstdio>

// [main]
int main() {
  flaggems::stream<flaggems::host> host;
  flaggems::stream<toy> stream;
  const auto on_host = flaggems::from_values<float>(host, {1, 2, 3, 4, 5, 6}, {2, 3});

  const auto x = flaggems::from_host(stream, on_host);
  const auto p = flaggems::to_host(stream, flaggems::softmax(stream, x, -1));
  std::printf("%s\n", flaggems::to_string(p).c_str());

  const auto expected = flaggems::softmax(host, on_host, -1);
  for (i64 i = 0; i < p.numel(); ++i)
    if (!(std::fabs(p.data()[i] - expected.data()[i]) <= 1e-6f)) return 1;

  auto y = flaggems::relu(stream, x);                  // by the library
  flaggems::relu(stream, x.view().t(), y.view().t());  // by the portable kernel
  flaggems::check(flaggems::to_host(stream, y).data()[5] == 6, flaggems::errc::invalid_argument,
                  "relu", "6");
  return flaggems::memory_stats<toy>().allocation.current == 2 ? 0 : 1;  // x and y
}
// [/main]
