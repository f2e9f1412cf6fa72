// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// An extension of PyTorch: torch.ops.load_library of this library adds torch.ops.mine.
#include <flaggems/adapters/torch.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/vendors/host.hpp>

#include <torch/library.h>

// A formula on PyTorch's tensors, in one pass over them.
// [formula]
at::Tensor swish_product(const at::Tensor& x, const at::Tensor& gate) {
  const auto stream = flaggems::torch_stream();  // PyTorch's current one
  const auto a = flaggems::from_torch<const float>(stream, x);
  const auto b = flaggems::from_torch<const float>(stream, gate);
  return flaggems::to_torch(flaggems::evaluate(stream, a * b * flaggems::sigmoid(b)));
}

TORCH_LIBRARY(mine, library) {
  library.def("swish_product(Tensor x, Tensor gate) -> Tensor");
  library.impl("swish_product", c10::DispatchKey::CPU, TORCH_FN(swish_product));
}
// [/formula]
