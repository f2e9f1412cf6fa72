// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The dimensions of a reduction, kept and reduced, and their traversal.
#pragma once

#include <flaggems/kernel/family/reduce/reduce.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/expr.hpp>

namespace flaggems::detail {

/// Which dimensions are reduced, and the sizes of the result.
struct reduced_dims {
  u32 folded = 0;  // a bit for each dimension
  shape in, out;   // out: with or without the reduced dimensions, as keepdim says
  i64 count = 1;   // elements reduced to one

  reduced_dims(const char* op, const shape& sizes, int_list dims, bool keepdim) : in(sizes) {
    (void)checked_numel(sizes, op);  // operands may broadcast to more than any tensor has
    folded = normalize_dims(dims, sizes.rank(), op);
    for (int d = 0; d < sizes.rank(); ++d) {
      if (folds(d)) count *= sizes[d];
      if (!folds(d))
        out.push_back(sizes[d]);
      else if (keepdim)
        out.push_back(1);
    }
  }
  [[nodiscard]] bool folds(int d) const { return (folded >> d & 1u) != 0; }
};

/// What a reduction asks beside its operands. `needs_elements`: of nothing there is no result.
struct reduction_options {
  bool keepdim, needs_elements;
};

/// Checks a reduction of any tensors.
FLAGGEMS_NOINLINE_ONCE reduced_dims check_reduction(const char* op, const memory_layout& out,
                                                    layout_list in, int_list dims,
                                                    reduction_options options) {
  const reduced_dims plan(op, broadcast_of(op, in), dims, options.keepdim);
  if (!same_sizes(out.sizes, plan.out)) [[unlikely]]
    raise_output_sizes(op, plan.out, out.sizes);
  if (options.needs_elements && plan.count == 0) [[unlikely]]
    raise(errc::invalid_argument, op, "at least one element to reduce",
          "sizes " + to_string(plan.in));
  check_writable(op, out);
  for (const memory_layout& x : in)
    if (!is_position(x)) check_no_overlap(op, out, x);
  return plan;
}

/// Both halves of a reduction's iteration space, filled operand by operand. Operand 0 is the
/// output.
class reduction_plan {
 public:
  const reduced_dims& dims;
  iteration kept, reduced;

  explicit reduction_plan(const reduced_dims& d) : reduction_plan(d, halves(d, d.in)) {}

  void add_output(int_list strides) {
    shape own = dims.in;
    const bool all = dims.out.rank() == dims.in.rank();
    int next = 0;
    for (int d = 0; d < own.rank(); ++d) {
      const bool folds = dims.folds(d);
      own[d] = folds ? 0 : strides[next];
      if (all || !folds) ++next;
    }
    add(own);
  }
  void add_input(const memory_layout& x) {
    if (is_position(x)) return add(contiguous_strides(dims.in));
    shape own = dims.in;
    const int missing = own.rank() - x.sizes.size();
    for (int d = 0; d < own.rank(); ++d)
      own[d] = d < missing || x.sizes[d - missing] == 1 ? 0 : x.strides[d - missing];
    add(own);
  }
  /// The index of an element: along the reduced dimension, or in row-major order over all.
  void add_place() {
    shape places = dims.in;
    i64 stride = 1;
    for (int d = places.rank() - 1; d >= 0; --d) {
      places[d] = dims.folds(d) ? stride : 0;
      if (dims.folds(d)) stride *= dims.in[d];
    }
    add(places);
  }

 private:
  /// Splits a list of all dimensions into the kept and the reduced ones.
  struct halves {
    shape kept, reduced;
    halves(const reduced_dims& dims, const shape& all) {
      for (int d = 0; d < all.rank(); ++d) (dims.folds(d) ? reduced : kept).push_back(all[d]);
    }
  };
  reduction_plan(const reduced_dims& d, const halves& sizes)
      : dims(d), kept(sizes.kept), reduced(sizes.reduced), sizes_(sizes) {}
  /// An operand with these strides, 0 where it is broadcast.
  void add(const shape& strides) {
    const halves own(dims, strides);
    kept.add(sizes_.kept, own.kept);
    reduced.add(sizes_.reduced, own.reduced);
  }

  halves sizes_;
};

/// Everything but the types of a reduction's launch: the space, before it is cut.
struct reduction_layout {
  kernels::reduction_space space{};
  iteration all{std::span<const i64>()};
  i64 elements;
  bool lanes_reduced;

  FLAGGEMS_ONCE explicit reduction_layout(reduction_plan& plan) : elements(plan.dims.in.numel()) {
    iteration &k = plan.kept, &r = plan.reduced;
    k.collapse();
    r.collapse();
    const auto least = [](const iteration& it) {
      const i64 s = it.rank() > 0 ? it.stride(1, it.rank() - 1) : 0;
      return s < 0 ? -s : s;
    };
    lanes_reduced =
        k.rank() == 0 || (r.rank() > 0 && least(r) != 0 && (least(k) == 0 || least(r) <= least(k)));
    if (r.rank() == 0) lanes_reduced = k.rank() == 0;
    const int kept_outer = k.rank() - (!lanes_reduced && k.rank() > 0 ? 1 : 0);
    const int reduced_outer = r.rank() - (lanes_reduced && r.rank() > 0 ? 1 : 0);
    space.kept_rank = kept_outer;
    space.reduced_rank = reduced_outer;
    space.outputs = space.steps = space.parts = space.inner = 1;
    for (int d = 0; d < kept_outer; ++d) {
      space.kept_sizes[d] = k.size(d);
      space.outputs *= k.size(d);
      all.append(k, d);
    }
    for (int d = 0; d < reduced_outer; ++d) {
      space.reduced_sizes[d] = r.size(d);
      space.steps *= r.size(d);
      all.append(r, d);
    }
    const iteration& lanes = lanes_reduced ? r : k;
    if (lanes.rank() > 0) {
      space.inner = lanes.size(lanes.rank() - 1);
      all.append(lanes, lanes.rank() - 1);
    }
  }

  /// Into what workers with vectors take.
  template <class Device>
  void cut() {
    using numbers = tuning<families::reduce, Device>;
    space.chunk = lanes_reduced ? kernels::reduced_chunk : numbers::columns;
    if (space.chunk > space.inner) space.chunk = space.inner;
    space.chunks = kernels::ceil_div(space.inner, space.chunk);
    (lanes_reduced ? space.steps : space.outputs) *= space.chunks;
    // Few results of many elements: cut the folding, by a rule that knows no thread count, so that
    // the same input gives the same bits on any number of threads.
    if (lanes_reduced && space.outputs < numbers::few_results &&
        elements / space.outputs >= 4 * kernels::reduced_chunk)
      space.parts = kernels::min_of(space.steps, numbers::parts);
  }
};

FLAGGEMS_NOINLINE_ONCE reduction_layout plan_reduction(const reduced_dims& dims,
                                                       const memory_layout& out, layout_list in,
                                                       bool indexed) {
  reduction_plan plan(dims);
  plan.add_output(out.strides);
  for (const memory_layout& x : in) plan.add_input(x);
  if (indexed) plan.add_place();
  return reduction_layout(plan);
}

/// The reduced dimensions, in order.
inline shape folded_dims(const reduced_dims& dims) {
  shape list;
  for (int d = 0; d < dims.in.rank(); ++d)
    if (dims.folds(d)) list.push_back(d);
  return list;
}

}  // namespace flaggems::detail
