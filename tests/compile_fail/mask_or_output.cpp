// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// One tensor behind value could be the mask or the output, whatever its element type is.
//
// expect: flaggems: one tensor behind value may be the mask or the output: give with_mask(mask)
//
// errors: 1
#include <flaggems/ops/attention.hpp>
#include <flaggems/vendors/host.hpp>

using namespace flaggems;

void f(stream<host>& s, tensor<float>& x) { scaled_dot_product_attention(s, x, x, x, x); }
