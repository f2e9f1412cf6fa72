// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/reduce/simt/column_statistics.hpp>
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

// Of columns, in one pass: of a tensor, and of the states of its parts.
template <class Program, class T>
using of_columns = fk::simt_column_statistics<Program, fk::column_elements<Program, float, T>,
                                              fk::column_results<Program, T>, 256>;
template <class Program, class T>
using of_parts = fk::simt_column_statistics<Program, fk::column_parts<Program>,
                                            fk::column_results<Program, T>, 256>;
using column_variance = fk::column_variance<float, true>;
using column_logarithm = fk::column_log_sum_exp<float>;
using column_norm = fk::column_norm<float>;
FLAGGEMS_INSTANCE(column_var_bf16, of_columns<column_variance, bf16>, fk::reduction_plane,
                  fk::reduction_shares, column_variance,
                  fk::column_elements<column_variance, float, bf16>,
                  fk::column_results<column_variance, bf16>)
FLAGGEMS_INSTANCE(column_logsumexp_f32, of_columns<column_logarithm, float>, fk::reduction_plane,
                  fk::reduction_shares, column_logarithm,
                  fk::column_elements<column_logarithm, float, float>,
                  fk::column_results<column_logarithm, float>)
FLAGGEMS_INSTANCE(column_norm_parts_f32, of_parts<column_norm, float>, fk::reduction_plane,
                  fk::reduction_shares, column_norm, fk::column_parts<column_norm>,
                  fk::column_results<column_norm, float>)
