// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/tables/complex.hpp>
#include <flaggems/kernel/family/pointwise/tables/trigonometric.hpp>

#include "rows.hpp"

namespace fk = flaggems::kernels;
using flaggems::c128;
using flaggems::c64;

FLAGGEMS_COMPLEX_TABLE(FLAGGEMS_BINARY_ROW)

// out = sqrt(x / y) * conj(exp(x)), and its size
template <class C>
using read = fk::arg<C, C>;
template <class C>
using root = fk::node<C, fk::sqrt_fn, fk::node<C, fk::div_fn, read<C>, read<C>>>;
using formula = fk::node<c64, fk::mul_fn, root<c64>, fk::node<c64, fk::exp_fn, read<c64>>>;
FLAGGEMS_INSTANCE(formula_c64, fk::pointwise_strided<c64, formula>, fk::strided_space,
                  fk::target<c64>, formula)
using size_of_formula = fk::node<float, fk::abs_fn, formula>;
FLAGGEMS_INSTANCE(size_c64, fk::pointwise_strided<float, size_of_formula>, fk::strided_space,
                  fk::target<float>, size_of_formula)
FLAGGEMS_INSTANCE(root_c128, fk::pointwise_strided<c128, root<c128>>, fk::strided_space,
                  fk::target<c128>, root<c128>)

using angle = fk::node<float, fk::angle_fn, fk::flat_arg<c64, c64>>;
FLAGGEMS_INSTANCE(angle_c64,
                  fk::pointwise_vectors<float, angle, fk::operand_vectors::misaligned, 1 << 20>,
                  flaggems::i64, fk::global_ptr<float>, angle)
using same = fk::node<bool, fk::eq_fn, fk::flat_arg<c128, c128>, fk::literal<c128>>;
FLAGGEMS_INSTANCE(same_c128,
                  fk::pointwise_vectors<bool, same, fk::operand_vectors::aligned, 1 << 20>,
                  flaggems::i64, fk::global_ptr<bool>, same)
using widened = fk::cast<c128, fk::flat_arg<float, float>>;
FLAGGEMS_INSTANCE(widened_c128,
                  fk::pointwise_vectors<c128, widened, fk::operand_vectors::aligned, 1 << 20>,
                  flaggems::i64, fk::global_ptr<c128>, widened)
