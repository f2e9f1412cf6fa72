// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/pointwise.hpp>
#include <flaggems/kernel/family/reduce/reduce.hpp>
#include <flaggems/kernel/family/reduce/simt/columns.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;

using input = fk::arg<flaggems::bf16, float>;
using place = fk::position<flaggems::i64>;
using mean_sink = fk::value_sink<flaggems::bf16, float>;
using index_sink = fk::index_sink<flaggems::i64>;
using argmax = fk::index_of<float, true>;
using argmin = fk::index_of<float, false>;
using plane = fk::reduction_plane;
using any_space = fk::reduction_space;

#define FLAGGEMS_ALONG(fold, space, input, index, sink)                                            \
  fk::simt_reduce_inner<fold, space, input, index, sink, 256>, space, fk::reduction_shares, input, \
      index, sink, fk::partial_states<fold::state>
#define FLAGGEMS_SHORT(fold, index, sink)                                                          \
  fk::simt_reduce_short<fold, input, index, sink, 256>, plane, fk::reduction_shares, input, index, \
      sink
#define FLAGGEMS_ROWS(fold, sides, index, sink)                                                   \
  fk::simt_reduce_rows<fold, sides, input, index, sink, 256>, plane, fk::reduction_shares, input, \
      index, sink, fk::partial_states<fold::state>
#define FLAGGEMS_ACROSS(fold, space, input, index, sink)                                           \
  fk::simt_reduce_outer<fold, space, input, index, sink, 256>, space, fk::reduction_shares, input, \
      index, sink, fk::partial_states<fold::state>
FLAGGEMS_INSTANCE(mean_inner_bf16,
                  FLAGGEMS_ALONG(fk::sum_of<float>, plane, input, fk::no_index, mean_sink))
FLAGGEMS_INSTANCE(mean_rows_bf16,
                  FLAGGEMS_ROWS(fk::sum_of<float>, fk::row_sides::none, fk::no_index, mean_sink))
FLAGGEMS_INSTANCE(mean_sided_bf16, FLAGGEMS_ROWS(fk::sum_of<float>, fk::row_sides::elements,
                                                 fk::no_index, mean_sink))
FLAGGEMS_INSTANCE(mean_short_bf16, FLAGGEMS_SHORT(fk::sum_of<float>, fk::no_index, mean_sink))
FLAGGEMS_INSTANCE(mean_outer_bf16,
                  FLAGGEMS_ACROSS(fk::sum_of<float>, plane, input, fk::no_index, mean_sink))
FLAGGEMS_INSTANCE(mean_any_bf16,
                  FLAGGEMS_ACROSS(fk::sum_of<float>, any_space, input, fk::no_index, mean_sink))
FLAGGEMS_INSTANCE(argmax_inner_bf16, FLAGGEMS_ALONG(argmax, plane, input, place, index_sink))
FLAGGEMS_INSTANCE(argmax_rows_bf16, FLAGGEMS_ROWS(argmax, fk::row_sides::none, place, index_sink))
FLAGGEMS_INSTANCE(argmax_sided_bf16,
                  FLAGGEMS_ROWS(argmax, fk::row_sides::elements, place, index_sink))
FLAGGEMS_INSTANCE(argmax_short_bf16, FLAGGEMS_SHORT(argmax, place, index_sink))
FLAGGEMS_INSTANCE(argmax_any_bf16, FLAGGEMS_ALONG(argmax, any_space, input, place, index_sink))
FLAGGEMS_INSTANCE(argmin_outer_bf16, FLAGGEMS_ACROSS(argmin, plane, input, place, index_sink))

// The partial results of a cut reduction.
using parts = fk::arg<float, float>;
using parts_places = fk::arg<flaggems::i64, flaggems::i64>;
FLAGGEMS_INSTANCE(argmin_parts, FLAGGEMS_ACROSS(argmin, plane, parts, parts_places, index_sink))

// One instance of the other folds.
using truth = fk::arg<bool, bool>;
using float_sink = fk::value_sink<float, float>;
using bool_sink = fk::value_sink<bool, bool>;
#define FLAGGEMS_FOLD(fold, input, sink) FLAGGEMS_ALONG(fold, plane, input, fk::no_index, sink)
FLAGGEMS_INSTANCE(sum_f32, FLAGGEMS_FOLD(fk::sum_of<float>, input, float_sink))
FLAGGEMS_INSTANCE(prod_f32, FLAGGEMS_FOLD(fk::prod_of<float>, input, float_sink))
FLAGGEMS_INSTANCE(amax_f32, FLAGGEMS_FOLD(fk::max_of_all<float>, input, float_sink))
FLAGGEMS_INSTANCE(amin_f32, FLAGGEMS_FOLD(fk::min_of_all<float>, input, float_sink))
FLAGGEMS_INSTANCE(any_bool, FLAGGEMS_FOLD(fk::any_of, truth, bool_sink))
FLAGGEMS_INSTANCE(all_bool, FLAGGEMS_FOLD(fk::all_of, truth, bool_sink))
using difference = fk::node<float, fk::sub_fn, input, input>;
FLAGGEMS_INSTANCE(
    sum_cluster_bf16,
    fk::simt_reduce_cluster<fk::sum_of<float>, difference, fk::no_index, mean_sink, 256>, plane,
    difference, mean_sink)
