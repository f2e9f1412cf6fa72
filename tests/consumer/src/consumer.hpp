// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/version.hpp>

#include <cmath>
#include <cstdio>

namespace consumer {

using device = flaggems::host;

/// 0 when the library computes what it should.
inline int use() {
  std::printf("flaggems %d.%d.%d\n", FLAGGEMS_VERSION_MAJOR, FLAGGEMS_VERSION_MINOR,
              FLAGGEMS_VERSION_PATCH);
  const flaggems::stream<device> stream;
  const float in[4] = {0, 0, 1, 2};
  float out[4] = {};
  flaggems::softmax(stream, flaggems::tensor_view<const float, device>(in, {2, 2}),
                    flaggems::tensor_view<float, device>(out, {2, 2}), -1);
  const float low = 1 / (1 + std::exp(1.0f));
  const float expected[4] = {0.5f, 0.5f, low, 1 - low};
  for (int i = 0; i < 4; ++i)
    if (!(std::fabs(out[i] - expected[i]) < 1e-6f)) {
      std::printf("out[%d] is %g, not %g\n", i, double{out[i]}, double{expected[i]});
      return 1;
    }
  return 0;
}

/// A mistake that the library refuses with shape_mismatch.
inline void provoke() {
  const flaggems::stream<device> stream;
  const float in[4] = {};
  float out[4] = {};
  flaggems::softmax(stream, flaggems::tensor_view<const float, device>(in, {2, 2}),
                    flaggems::tensor_view<float, device>(out, {4}), -1);
}

/// 0 when the mistake arrives as an exception.
inline int refuse() {
#if FLAGGEMS_EXCEPTIONS
  try {
    provoke();
  } catch (const flaggems::error& failure) {
    std::printf("%s\n", failure.what());
    return failure.code() == flaggems::errc::shape_mismatch ? 0 : 1;
  }
#endif
  return 1;
}

/// The address of a piece of the library's state: one for the whole program.
inline const void* handler_slot() { return &flaggems::detail::error_handler_slot(); }

}  // namespace consumer
