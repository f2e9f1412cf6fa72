// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/block/simt/entry.hpp>
#include "../../examples/08_moe_gate.hpp"

namespace k = flaggems::kernels;
using flaggems::bf16, flaggems::f32, flaggems::i32, flaggems::i64;

FLAGGEMS_INSTANCE(moe_gate_f32, moe::kernels::gate<f32, f32>, k::row_space, k::row_arg<f32>,
                  k::row_target<f32>, k::row_target<i64>, i64, i32)
FLAGGEMS_INSTANCE(moe_gate_bf16, moe::kernels::gate<bf16, f32>, k::row_space, k::row_arg<bf16>,
                  k::row_target<f32>, k::row_target<i64>, i64, i32)
