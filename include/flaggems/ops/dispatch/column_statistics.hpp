// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Statistics of columns in one pass, on SIMT devices.
#pragma once

#include <flaggems/kernel/family/reduce/simt/column_statistics.hpp>
#include <flaggems/ops/dispatch/simt_reduce.hpp>

namespace flaggems::detail {

template <class Program, class S, class Source, class Results>
void launch_columns(const char* op, const S& stream, kernels::reduction_plane& space,
                    column_options options, const Program& program, const Source& source,
                    Results results, pool_block<device_of<S>>* parts) {
  using state = typename Program::state;
  using shares_type = simt_shares<tuning<families::reduce, device_of<S>>>;
  constexpr int threads = int{shares_type::threads};
  const shares_type shares = shares_type::outer(space, options);
  launch_config config;
  config.op = op;
  config.tiles = shares.tiles;
  config.work = work_of(space.outputs, space.inner, space.steps, 8);
  config.threads = threads;
  config.scratch = scratch_bytes<state>(threads * (options.width > 1 ? options.width + 1 : 1));
  if (space.parts > 1) {
    const i64 columns = work_of(space.outputs, space.inner);
    *parts = pool_block<device_of<S>>(work_of(columns, space.parts, i64{sizeof(state)}),
                                      ref(stream), op);
    results.partial = {static_cast<state*>(parts->data()), space.inner, columns, 1};
  }
  launch<kernels::simt_column_statistics<Program, Source, Results, threads>>(
      stream, config, space, shares.of_threads, program, source, results);
}

/// Runs `program`, whose results are numbers of x's columns along dims, in one pass over x. Returns
/// false, having launched nothing, on devices without a kernel for that, and where x is not a plane
/// whose rows are reduced. There are elements, and all checks have passed. `out`: the results, or
/// null.
template <class C, class Program, class S, class T, class D, class... O>
bool launch_column_statistics([[maybe_unused]] const char* op, [[maybe_unused]] const S& stream,
                              [[maybe_unused]] const tensor_view<const T, D>& x,
                              [[maybe_unused]] int_list dims, [[maybe_unused]] bool keepdim,
                              [[maybe_unused]] const Program& program,
                              [[maybe_unused]] const tensor_view<O, D>*... out) {
  if constexpr (has_vectors<D>) {
    return false;
  } else {
    const reduced_dims reduced(op, x.shape_of(), dims, keepdim);
    const memory_layout input = layout_of(x);
    reduction_plan plan(reduced);
    shape none;
    while (none.rank() < reduced.out.rank()) none.push_back(0);
    const auto add = [&](const auto* to) {
      plan.add_output(to != nullptr ? int_list(to->strides()) : int_list(none));
    };
    (add(out), ...);  // the first is there, and the plan's first operand
    plan.add_input(input);
    reduction_layout layout(plan);
    if (layout.lanes_reduced || layout.space.kept_rank > 1 || layout.space.reduced_rank > 1)
      return false;
    const simt_plane plane(layout);
    constexpr int outputs = sizeof...(O);
    const auto strides_of = [&](int operand, auto* data) {
      i64 s[max_rank] = {};
      plane.copy_strides(operand, s);
      return kernels::column_data<std::remove_pointer_t<decltype(data)>>{data, s[0], s[1], s[2]};
    };
    using results = kernels::column_results<Program, O...>;
    int next = 0;
    const results to{{{{strides_of(next++, out != nullptr ? out->data() : nullptr)}...}}, {}};
    const auto from = strides_of(outputs, x.data());
    constexpr i64 width = kernels::vec_size<T>;
    const bool has_vector_columns = from.column == 1 && from.kept % width == 0 &&
                                    from.step % width == 0 && plane.space.inner % width == 0 &&
                                    reinterpret_cast<u64>(x.data()) % 16 == 0;
    kernels::reduction_plane space = plane.space;
    pool_block<D> parts;
    launch_columns(op, stream, space, {.width = has_vector_columns ? width : 1, .may_cut = true},
                   program, kernels::column_elements<Program, C, T>{from}, to, &parts);
    if (space.parts == 1) return true;
    using state = typename Program::state;
    const i64 columns = work_of(space.outputs, space.inner);
    const kernels::column_parts<Program> states{
        {static_cast<const state*>(parts.data()), space.inner, columns, 1}};
    kernels::reduction_plane combined = space_of_parts(space, false);
    launch_columns(op, stream, combined, {.width = 1, .may_cut = false}, program, states, to,
                   nullptr);
    return true;
  }
}

}  // namespace flaggems::detail
