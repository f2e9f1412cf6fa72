// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernels/pointwise.hpp>

#include "entry.hpp"

namespace fk = flaggems::kernels;

// out = silu(x) * y, in f32 on bf16
using silu_of_x = fk::node<float, fk::silu_fn, fk::arg<flaggems::bf16, float>>;
using silu_and_mul = fk::node<float, fk::mul_fn, silu_of_x, fk::arg<flaggems::bf16, float>>;
FLAGGEMS_INSTANCE(silu_and_mul_bf16, fk::pointwise<flaggems::bf16, silu_and_mul>, fk::tiling,
                  fk::target<flaggems::bf16>, silu_and_mul)

using gelu_expr = fk::node<float, fk::gelu_none_fn, fk::arg<flaggems::f16, float>>;
FLAGGEMS_INSTANCE(gelu_f16, fk::pointwise<flaggems::f16, gelu_expr>, fk::tiling,
                  fk::target<flaggems::f16>, gelu_expr)

using pow_expr = fk::node<double, fk::pow_fn, fk::arg<double, double>, fk::arg<double, double>>;
FLAGGEMS_INSTANCE(pow_f64, fk::pointwise<double, pow_expr>, fk::tiling, fk::target<double>,
                  pow_expr)

using add_expr = fk::node<flaggems::i64, fk::add_fn, fk::arg<flaggems::i64, flaggems::i64>,
                          fk::position<flaggems::i64>>;
FLAGGEMS_INSTANCE(add_i64, fk::pointwise<flaggems::i64, add_expr>, fk::tiling,
                  fk::target<flaggems::i64>, add_expr)

using to_int = fk::cast<int, fk::arg<float, float>>;
FLAGGEMS_INSTANCE(to_i32, fk::pointwise<int, to_int>, fk::tiling, fk::target<int>, to_int)

using less = fk::node<bool, fk::lt_fn, fk::arg<float, float>, fk::arg<float, float>>;
FLAGGEMS_INSTANCE(lt_f32, fk::pointwise<bool, less>, fk::tiling, fk::target<bool>, less)

using flat_sum = fk::node<float, fk::add_fn, fk::flat_arg<float, float>, fk::literal<float>>;
FLAGGEMS_INSTANCE(flat_f32, fk::pointwise_flat<float, flat_sum>, flaggems::i64, bool,
                  flaggems::kernels::global_ptr<float>, flat_sum)
