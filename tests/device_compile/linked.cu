// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What nvcc compiles with the program: operators, a functor and lambdas, launched where there is no
// runtime compiler. Without a GPU it says so and ends well.
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/host.hpp>

#include <cmath>
#include <cstdio>

namespace fg = flaggems;

int main() {
  if (fg::cuda::device_count() == 0) {
    std::printf("no GPU: %s\n", fg::cuda::unavailable_reason().c_str());
    return 0;
  }
  using compiler = fg::detail::runtime_compiler<fg::detail::cuda_api>;
  const bool has_compiler = compiler::get().reason().empty();
  const fg::stream<fg::cuda> stream;
  const float scale = 3;
  const auto x = fg::arange<float>(stream, 0, 1024);
  // Two lambdas of one function: their types have the same name.
  // [lambda]
  const auto line = fg::evaluate(
      stream, fg::apply([scale] __device__(float v) -> float { return v * scale + 1; }, x));
  // [/lambda]
  const auto power = fg::evaluate(
      stream, fg::apply([scale] __device__(float v) -> float { return v * v - scale; }, x));
  const auto p = fg::softmax(stream, x, -1);
  const auto a = fg::to_host(stream, line), b = fg::to_host(stream, power);
  const auto q = fg::to_host(stream, p);
  int wrong = 0;
  double sum = 0;
  for (int k = 0; k < 1024; ++k) {
    const auto v = static_cast<float>(k);
    wrong += a.data()[k] != v * scale + 1 || b.data()[k] != v * v - scale ? 1 : 0;
    sum += static_cast<double>(q.data()[k]);
  }
  const bool good = wrong == 0 && std::fabs(sum - 1) < 1e-5;
  std::printf("linked kernels %s: %s\n", has_compiler ? "beside a compiler" : "without a compiler",
              good ? "right" : "WRONG");
  return good ? 0 : 1;
}
