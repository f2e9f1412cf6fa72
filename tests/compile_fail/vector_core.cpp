// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// An operator on a chip of explicit local memory.
//
// expect: flaggems: kernels have no form for execution::vector_core yet
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/vendors/ascend.hpp>

using namespace flaggems;

void f(stream<ascend>& s, tensor<float, ascend>& x) { exp_(s, x); }
