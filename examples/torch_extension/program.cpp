// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Loads the extension and calls its operators by name, as Python does:
//   torch.ops.load_library("libtorch_extension.so")
//   y = torch.ops.mine.swish_product(x, gate)
//   z = torch.ops.mine.soft_limit(y, 0.5)
// First: clang needs it in C++20, and libtorch 1.13 forgets it.
#include <ATen/core/ivalue.h>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>

#include <iostream>
#include <vector>

namespace {

at::Tensor call(const char* name, std::vector<c10::IValue> stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&stack);
  return stack.at(0).toTensor();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || dlopen(argv[1], RTLD_NOW) == nullptr) {
    std::cerr << "usage: torch_extension_program LIBRARY\n";
    return 2;
  }
  const at::Tensor x = at::randn({4, 6}).t(), gate = at::randn({6, 1});
  const at::Tensor y = call("mine::swish_product", {x, gate});
  const at::Tensor z = call("mine::soft_limit", {y, 0.5});
  std::cout << y << "\n" << z << "\n";
  const bool right = at::allclose(y, x * gate * at::sigmoid(gate), 1e-5, 1e-6) &&
                     at::allclose(z, 0.5 * at::tanh(y / 0.5), 1e-5, 1e-6);
  std::cout << (right ? "as ATen computes it\n" : "WRONG\n");
  return right ? 0 : 1;
}
