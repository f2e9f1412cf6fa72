// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/tables/arithmetic.hpp>

#include "rows.hpp"

namespace fk = flaggems::kernels;

FLAGGEMS_ARITHMETIC_TABLE(FLAGGEMS_UNARY_ROW, FLAGGEMS_BINARY_ROW, FLAGGEMS_BINARY_ROW_OF,
                          FLAGGEMS_TERNARY_ROW)

namespace flaggems::kernels {
using floor_div_f32 = node<float, div_rounded_fn<true>, arg<float, float>, arg<float, float>>;
using floor_div_i32 = node<i32, div_rounded_fn<true>, arg<i32, i32>, arg<i32, i32>>;
using add_alpha_f32 =
    node<float, add_scaled_fn, arg<float, float>, arg<float, float>, literal<float>>;
using sub_alpha_f32 =
    node<float, sub_scaled_fn, arg<float, float>, arg<float, float>, literal<float>>;
using clamp_f32 = node<float, clamp_optional_fn, arg<float, float>, literal<float>, literal<float>>;
}  // namespace flaggems::kernels

FLAGGEMS_INSTANCE(div_floor, fk::pointwise<float, fk::floor_div_f32>, fk::tiling, fk::target<float>,
                  fk::floor_div_f32)
FLAGGEMS_INSTANCE(div_floor_int, fk::pointwise<int, fk::floor_div_i32>, fk::tiling, fk::target<int>,
                  fk::floor_div_i32)
FLAGGEMS_INSTANCE(add_scaled, fk::pointwise<float, fk::add_alpha_f32>, fk::tiling,
                  fk::target<float>, fk::add_alpha_f32)
FLAGGEMS_INSTANCE(clamp, fk::pointwise<float, fk::clamp_f32>, fk::tiling, fk::target<float>,
                  fk::clamp_f32)
FLAGGEMS_INSTANCE(sub_scaled, fk::pointwise<float, fk::sub_alpha_f32>, fk::tiling,
                  fk::target<float>, fk::sub_alpha_f32)
