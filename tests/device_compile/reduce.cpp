// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernels/pointwise.hpp>
#include <flaggems/kernels/reduce.hpp>

#include <flaggems/kernels/entry.hpp>

namespace fk = flaggems::kernels;

using input = fk::arg<flaggems::bf16, float>;
using place = fk::position<flaggems::i64>;
using rows = fk::flat_arg<flaggems::bf16, float>;
using mean_sink = fk::value_sink<flaggems::bf16, float>;
using index_sink = fk::index_sink<flaggems::i64>;
using argmax = fk::index_of<float, true>;
using argmin = fk::index_of<float, false>;
FLAGGEMS_INSTANCE(mean_inner_bf16,
                  fk::reduce_inner<fk::sum_of<float>, input, fk::no_index, mean_sink>,
                  fk::reduction_space, input, fk::no_index, mean_sink)
FLAGGEMS_INSTANCE(mean_outer_bf16,
                  fk::reduce_outer<fk::sum_of<float>, input, fk::no_index, mean_sink>,
                  fk::reduction_space, input, fk::no_index, mean_sink)
FLAGGEMS_INSTANCE(argmax_rows_bf16, fk::reduce_rows<argmax, rows, index_sink>, flaggems::i64,
                  flaggems::i64, rows, index_sink)
FLAGGEMS_INSTANCE(argmax_inner_bf16, fk::reduce_inner<argmax, input, place, index_sink>,
                  fk::reduction_space, input, place, index_sink)
FLAGGEMS_INSTANCE(argmin_outer_bf16, fk::reduce_outer<argmin, input, place, index_sink>,
                  fk::reduction_space, input, place, index_sink)

// One instance of the other folds.
using truth = fk::arg<bool, bool>;
using float_sink = fk::value_sink<float, float>;
using bool_sink = fk::value_sink<bool, bool>;
#define FLAGGEMS_FOLD(fold, input, sink) \
  fk::reduce_inner<fold, input, fk::no_index, sink>, fk::reduction_space, input, fk::no_index, sink
FLAGGEMS_INSTANCE(sum_f32, FLAGGEMS_FOLD(fk::sum_of<float>, input, float_sink))
FLAGGEMS_INSTANCE(prod_f32, FLAGGEMS_FOLD(fk::prod_of<float>, input, float_sink))
FLAGGEMS_INSTANCE(amax_f32, FLAGGEMS_FOLD(fk::max_of_all<float>, input, float_sink))
FLAGGEMS_INSTANCE(amin_f32, FLAGGEMS_FOLD(fk::min_of_all<float>, input, float_sink))
FLAGGEMS_INSTANCE(any_bool, FLAGGEMS_FOLD(fk::any_of, truth, bool_sink))
FLAGGEMS_INSTANCE(all_bool, FLAGGEMS_FOLD(fk::all_of, truth, bool_sink))
#undef FLAGGEMS_FOLD
