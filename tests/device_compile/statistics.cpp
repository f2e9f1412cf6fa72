// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/row/programs/statistics.hpp>
#include <flaggems/kernel/family/row/simt/registers.hpp>
#include <flaggems/kernel/family/row/staged.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
template <class T, class... Out>
using numbers_of = fk::row_operands<fk::operands<fk::row_arg<T>>, fk::operands<>, fk::operands<>,
                                    fk::operands<>, fk::operands<fk::row_target<Out>...>>;
using variance = fk::variance_program<float, false>;
using variances = numbers_of<bf16, bf16, bf16>;
using log_sum_exp = fk::log_sum_exp_program<float>;
using logarithms = numbers_of<float, float>;

FLAGGEMS_INSTANCE(var_bf16, fk::register_row_program<variance, variances, 4, 1, true>,
                  fk::norm_space, fk::row_threads, variances, variance)
FLAGGEMS_INSTANCE(logsumexp_f32, fk::register_row_program<log_sum_exp, logarithms, 4, 1, true>,
                  fk::norm_space, fk::row_threads, logarithms, log_sum_exp)
FLAGGEMS_INSTANCE(logsumexp_staged_f32, fk::staged_row_program<log_sum_exp, logarithms>,
                  fk::norm_space, logarithms, log_sum_exp)
