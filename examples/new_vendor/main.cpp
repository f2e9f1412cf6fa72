// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators on an accelerator that nobody has heard of (gxu.hpp), compared with the host.
#include "simulated_gxu.hpp"

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/host.hpp>

#include <cmath>
#include <cstdio>
#include <string>

namespace {

template <class X, class Y>
bool agree(const flaggems::stream<gxu>& stream, const char* what, const X& x, const Y& y) {
  const auto got = flaggems::to_host(stream, x);
  double worst = 0;
  for (flaggems::i64 k = 0; k < y.numel(); ++k)
    worst = std::fmax(
        worst, std::fabs(static_cast<double>(got.data()[k]) - static_cast<double>(y.data()[k])));
  std::printf("%-10s worst difference from the host %.1e\n", what, worst);
  return got.numel() == y.numel() && worst < 1e-4;
}

}  // namespace

int main() {
  if (gxu::device_count() == 0) {
    std::printf("no GXU: %s\n", std::string(gxu::unavailable_reason()).c_str());
    return 1;
  }
  std::printf("%d of %s\n", gxu::device_count(), std::string(gxu::properties(0).arch).c_str());

  // [main]
  flaggems::stream<gxu> stream;
  flaggems::stream<flaggems::host> host;
  const auto numbers = flaggems::arange<float>(host, 0, 57 * 64);
  const auto x = flaggems::sin(host, numbers.reshape({57, 64}));
  const auto on_gxu = flaggems::from_host(stream, x);

  bool good = agree(stream, "softmax", flaggems::softmax(stream, on_gxu, -1),
                    flaggems::softmax(host, x, -1));
  good &= agree(stream, "product", flaggems::mm(stream, on_gxu, on_gxu.view().t()),
                flaggems::mm(host, x, x.view().t()));

  // Each candidate for the work is reported: here as FLAGGEMS_LOG=dispatch prints it.
  static std::string report;
  flaggems::set_launch_hook([](const flaggems::launch_event& e) {
    if (e.device != gxu::name) return;
    report += std::string(e.op) + (e.tiles > 0 ? ": the portable kernel\n"
                                   : e.rejected.empty()
                                       ? ": the library\n"
                                       : ": rejected, " + std::string(e.rejected) + "\n");
  });
  good &= agree(stream, "relu", flaggems::relu(stream, on_gxu), flaggems::relu(host, x));
  good &= agree(stream, "relu of a transposed one", flaggems::relu(stream, on_gxu.view().t()),
                flaggems::relu(host, x.view().t()));
  flaggems::set_launch_hook(nullptr);
  std::printf("%s", report.c_str());
  // [/main]
  const std::string expected =
      "relu: the library\n"
      "relu: rejected, the library takes contiguous tensors of one size\n"
      "relu: the portable kernel\n";
  return good && report.find(expected) != report.npos ? 0 : 1;
}
