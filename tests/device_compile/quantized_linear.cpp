// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/quantized/linear.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using bytes = fk::global_ptr<const flaggems::u8>;
FLAGGEMS_INSTANCE(quantized_linear_q4_1,
                  fk::quantized_linear<fk::q4_1, float, float, 1, 4, fk::stepping::contiguous>,
                  fk::gemm_space, fk::gemm_arg<float>, bytes, fk::gemm_out<float, float>)
FLAGGEMS_INSTANCE(
    quantized_linear_q4_0,
    fk::quantized_linear<fk::q4_0, float, flaggems::bf16, 8, 1, fk::stepping::contiguous>,
    fk::gemm_space, fk::gemm_arg<float>, bytes, fk::gemm_out<flaggems::bf16, float>)
FLAGGEMS_INSTANCE(quantized_linear_q8_0,
                  fk::quantized_linear<fk::q8_0, flaggems::f16, float, 1, 4, fk::stepping::strided>,
                  fk::gemm_space, fk::gemm_arg<flaggems::f16>, bytes, fk::gemm_out<float, float>)
FLAGGEMS_INSTANCE(quantized_embedding_q4_1,
                  fk::quantized_rows<fk::q4_1, fk::row_index<flaggems::i64>, float>, fk::row_space,
                  bytes, flaggems::i64, fk::row_index<flaggems::i64>, fk::row_target<float>)
FLAGGEMS_INSTANCE(dequantize_q8_0, fk::quantized_rows<fk::q8_0, fk::own_row, flaggems::f16>,
                  fk::row_space, bytes, flaggems::i64, fk::own_row, fk::row_target<flaggems::f16>)
FLAGGEMS_INSTANCE(rounded_activations_f16, fk::rounded_activations<flaggems::f16>, fk::row_space,
                  fk::row_arg<flaggems::f16>, fk::row_target<float>)
