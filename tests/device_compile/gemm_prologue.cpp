// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/gemm/prologue.hpp>
#include <flaggems/kernel/family/pointwise/pointwise.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using gate = fk::node<float, fk::silu_fn, fk::aux_arg<flaggems::bf16, float>>;
using prologue =
    fk::gemm_prologue<fk::node<float, fk::mul_fn, gate, fk::aux_arg<flaggems::bf16, float>>>;
FLAGGEMS_INSTANCE(gemm_dot_prologue,
                  fk::gemm_dot<flaggems::bf16, flaggems::bf16, flaggems::bf16, float, fk::no_bias,
                               4, 3, fk::stepping::contiguous, prologue>,
                  fk::gemm_space, prologue, fk::gemm_arg<flaggems::bf16>,
                  fk::gemm_out<flaggems::bf16, float>, fk::no_bias)
FLAGGEMS_INSTANCE(
    gemm_panel_prologue,
    fk::gemm_panel<flaggems::bf16, flaggems::bf16, float, float, fk::no_bias, prologue>,
    fk::gemm_space, prologue, fk::gemm_arg<flaggems::bf16>, fk::gemm_out<float, float>, fk::no_bias)
