// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/gemm/epilogue.hpp>
#include <flaggems/kernel/family/pointwise/pointwise.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using scaled = fk::node<float, fk::mul_fn, fk::product_value<float>, fk::aux_arg<float, float>>;
using epilogue = fk::gemm_epilogue<fk::node<float, fk::silu_fn, scaled>>;
FLAGGEMS_INSTANCE(gemm_dot_epilogue,
                  fk::gemm_dot<flaggems::bf16, flaggems::bf16, flaggems::bf16, float, epilogue, 4,
                               3, fk::stepping::contiguous>,
                  fk::gemm_space, fk::gemm_arg<flaggems::bf16>, fk::gemm_arg<flaggems::bf16>,
                  fk::gemm_out<flaggems::bf16, float>, epilogue)
FLAGGEMS_INSTANCE(gemm_panel_epilogue,
                  fk::gemm_panel<signed char, signed char, float, unsigned int, epilogue>,
                  fk::gemm_space, fk::gemm_arg<signed char>, fk::gemm_arg<signed char>,
                  fk::gemm_out<float, unsigned int>, epilogue)
using halves = fk::node<float, fk::mul_fn, fk::product_half<float, 0>, fk::product_half<float, 1>>;
using pairs = fk::gemm_epilogue<fk::stored_value<flaggems::bf16, halves>>;
FLAGGEMS_INSTANCE(gemm_pairs_f32, fk::gemm_pairs<float, float, pairs>, fk::gemm_space,
                  fk::gemm_out<float, float>, pairs, fk::global_ptr<const float>)
