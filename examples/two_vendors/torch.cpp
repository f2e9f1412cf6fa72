// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's row: tensors of its CPU, without autograd. CMakeLists.txt says whether there is
// libtorch.
#include "calls.hpp"

#if TWO_VENDORS_HAVE_TORCH
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/version.h>

void print_torch() {
  const c10::InferenceMode without_autograd;
  const auto add = [](at::Tensor x) { return nanoseconds([&] { at::add_out(x, x, x); }); };
  at::Tensor y = at::ones({4});
  call_costs{"PyTorch " TORCH_VERSION ", CPU", add(at::zeros({4})), add(at::zeros({1000})),
             nanoseconds([&] { at::silu_out(y, y); })}
      .print();
}
#else
void print_torch() {
  std::printf("%-24snone: libtorch was not found when this was built\n", "PyTorch");
}
#endif
