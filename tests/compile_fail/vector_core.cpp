// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// An operator on a chip of explicit local memory.
//
// expect: flaggems: kernels have no form for execution::vector_core yet
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/vendors/host.hpp>

using namespace flaggems;

struct npu : host {
  struct capabilities : host::capabilities {
    static constexpr execution model = execution::vector_core;
  };
};

void f(stream<npu>& s, tensor<float, npu>& x) { exp_(s, x); }
