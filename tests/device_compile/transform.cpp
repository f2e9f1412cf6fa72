// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/transform/fourier.hpp>
#include <flaggems/kernel/family/transform/hadamard.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16, flaggems::c64, flaggems::c128, flaggems::i32, flaggems::i64, flaggems::f64;
FLAGGEMS_INSTANCE(fft_fft_roots, fk::fourier_roots<float>, i64, fk::global_ptr<c64>)
FLAGGEMS_INSTANCE(fft_fft_f32, fk::fourier<float, float>, fk::row_space, i64, i64,
                  fk::row_arg<float>, fk::row_target<c64>, fk::global_ptr<const c64>, float)
FLAGGEMS_INSTANCE(fft_fft_c128, fk::fourier<c128, f64>, fk::row_space, i64, i64, fk::row_arg<c128>,
                  fk::row_target<c128>, fk::global_ptr<const c128>, f64)
FLAGGEMS_INSTANCE(hadamard_transform_12n_bf16, fk::hadamard_blocks<bf16, float>, fk::row_space, i32,
                  i64, fk::row_arg<float>, fk::row_target<bf16>, float)
