// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/copy/simt/rows.hpp>
#include <flaggems/kernel/family/copy/simt/transpose.hpp>

#include <flaggems/kernel/family/pointwise/tables/pointwise.hpp>

#include "rows.hpp"

namespace fk = flaggems::kernels;

FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_UNARY_ROW, FLAGGEMS_BINARY_ROW, FLAGGEMS_TERNARY_ROW)

// ---- expressions
// out = silu(x) * y, in f32 on bf16
using silu_of_x = fk::node<float, fk::silu_fn, fk::arg<flaggems::bf16, float>>;
using silu_times_y = fk::node<float, fk::mul_fn, silu_of_x, fk::arg<flaggems::bf16, float>>;
FLAGGEMS_INSTANCE(assign_bf16, fk::pointwise_strided<flaggems::bf16, silu_times_y>,
                  fk::strided_space, fk::target<flaggems::bf16>, silu_times_y)

using y = fk::arg<float, float>;
using choice = fk::node<float, fk::where_fn, fk::arg<bool, bool>, y, fk::literal<float>>;
FLAGGEMS_INSTANCE(where_f32, fk::pointwise_strided<float, choice>, fk::strided_space,
                  fk::target<float>, choice)

// ---- other types
using gelu_expr = fk::node<float, fk::gelu_none_fn, fk::flat_arg<flaggems::f16, float>>;
FLAGGEMS_INSTANCE(
    gelu_none_f16,
    fk::pointwise_vectors<flaggems::f16, gelu_expr, fk::operand_vectors::aligned, 1 << 20>,
    flaggems::i64, fk::global_ptr<flaggems::f16>, gelu_expr)

using sum_expr =
    fk::node<float, fk::add_fn, fk::flat_arg<flaggems::f16, float>, fk::flat_arg<float, float>>;
FLAGGEMS_INSTANCE(add_across,
                  fk::pointwise_vectors<float, sum_expr, fk::operand_vectors::misaligned, 1 << 20>,
                  flaggems::i64, fk::global_ptr<float>, sum_expr)

using pow_expr = fk::node<double, fk::pow_fn, fk::arg<double, double>, fk::arg<double, double>>;
FLAGGEMS_INSTANCE(pow_f64, fk::pointwise_strided<double, pow_expr>, fk::strided_space,
                  fk::target<double>, pow_expr)

// ---- copies, and what has no operand
using word = fk::arg<flaggems::u16, flaggems::u16>;
FLAGGEMS_INSTANCE(copy_u16, fk::pointwise_strided<flaggems::u16, word>, fk::strided_space,
                  fk::target<flaggems::u16>, word)

FLAGGEMS_INSTANCE(copy_u32, fk::transposed_vectors<flaggems::u32>, fk::transposed_space,
                  fk::global_ptr<flaggems::u32>, fk::global_ptr<const flaggems::u32>)
FLAGGEMS_INSTANCE(copy_u16_singles, fk::transposed_singles<flaggems::u16>, fk::transposed_space,
                  fk::global_ptr<flaggems::u16>, fk::global_ptr<const flaggems::u16>)
FLAGGEMS_INSTANCE(copy_u8, fk::transposed_shifted<flaggems::u8>, fk::transposed_space,
                  fk::global_ptr<flaggems::u8>, fk::global_ptr<const flaggems::u8>)

FLAGGEMS_INSTANCE(join_vectors, fk::join_rows<16>, fk::joined_space, fk::global_ptr<flaggems::u8>)
FLAGGEMS_INSTANCE(join_u16, fk::join_rows<2>, fk::joined_space, fk::global_ptr<flaggems::u8>)

using to_int = fk::cast<int, y>;
FLAGGEMS_INSTANCE(to_i32, fk::pointwise_strided<int, to_int>, fk::strided_space, fk::target<int>,
                  to_int)

using filled = fk::literal<float>;
FLAGGEMS_INSTANCE(fill_f32, fk::pointwise_strided<float, filled>, fk::strided_space,
                  fk::target<float>, filled)

using i64 = flaggems::i64;
using scaled = fk::node<i64, fk::mul_fn, fk::position<i64>, fk::literal<i64>>;
using sequence = fk::node<i64, fk::add_fn, scaled, fk::literal<i64>>;
FLAGGEMS_INSTANCE(arange_i64, fk::pointwise_strided<i64, sequence>, fk::strided_space,
                  fk::target<i64>, sequence)
