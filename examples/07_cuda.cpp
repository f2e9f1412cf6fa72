// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/use.md: the same operators, a formula and a kernel of one's own on an NVIDIA GPU. Built by
// any compiler, without a toolkit; where there is no GPU, it says why and ends well.
#include <flaggems/device/graph.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/host.hpp>

#include <cmath>
#include <cstdio>

#include "07_cuda.hpp"

namespace {

/// The same program on any device: the largest difference between two ways to one result.
template <class Device>
double run() {
  // [program]
  flaggems::stream<Device> stream;
  auto x = flaggems::arange<float>(stream, 0, 1024);
  auto y =
      flaggems::evaluate(stream, flaggems::silu(x) * 2 + 1);  // one kernel, made of the formula
  auto z = flaggems::evaluate(stream, flaggems::apply(swish2{}, x));  // a functor of one's own
  auto p = flaggems::softmax(stream, y, -1);
  // [/program]
  auto total = flaggems::zeros<float>(stream, {1024});
  if constexpr (flaggems::device_graphs<Device>) {
    // [graph]
    auto step = flaggems::capture(stream, [&] {    // called once, and nothing runs yet
      auto part = flaggems::mul(stream, y, 0.25);  // memory of the graph's
      flaggems::add_(stream, total, part);
    });
    for (int k = 0; k < 4; ++k) step.launch(stream);  // all of it each time, by one launch
    // [/graph]
  } else {
    flaggems::add_(stream, total, y);
  }
  const auto t = flaggems::to_host(stream, total);
  const auto a = flaggems::to_host(stream, y);
  const auto b = flaggems::to_host(stream, z);
  const auto q = flaggems::to_host(stream, p);
  double worst = 0, sum = 0;
  for (flaggems::i64 k = 0; k < a.numel(); ++k) {
    worst = std::fmax(worst, std::fabs(double(a.data()[k]) - double(b.data()[k])));
    worst = std::fmax(worst, std::fabs(double(a.data()[k]) - double(t.data()[k])));
    sum += double(q.data()[k]);
  }
  return std::fmax(worst, std::fabs(sum - 1));
}

}  // namespace

int main() {
  double worst = run<flaggems::host>();
  // [there]
  if (flaggems::cuda::device_count() == 0)
    std::printf("no GPU: %s\n", flaggems::cuda::unavailable_reason().c_str());
  else
    worst = std::fmax(worst, run<flaggems::cuda>());
  // [/there]
  std::printf("largest difference: %g\n", worst);
  return worst < 1e-3 ? 0 : 1;
}
