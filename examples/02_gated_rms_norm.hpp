// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/tutorial.md: the host side of the example, an operator as users write it in a file of
// theirs.
#pragma once

// [host]
#include <flaggems/ops/rows.hpp>

#include "02_gated_rms_norm_program.hpp"

namespace mamba {

using flaggems::stream_like, flaggems::tensor_like;

/// out = y / sqrt(mean(y^2) + eps) * weight along the last dimension, of y = x * silu(gate).
///
/// x, gate, out [..., n], any strides; weight [n]; f32, bf16 or f16, computed in f32. `out` may be
/// x or gate. Raises invalid_argument, shape_mismatch or overlap before anything is written.
template <stream_like S, tensor_like X, tensor_like G, tensor_like W, tensor_like Out>
void gated_rms_norm(const S& stream, const X& x, const G& gate, const W& weight, Out&& out,
                    float eps = 1e-5F) {
  constexpr const char* op = "mamba::gated_rms_norm";
  // Wrong devices and wrong element types do not compile, and say so.
  flaggems::same_device<S, X, G, W, Out>();
  using floats = flaggems::type_list<flaggems::f32, flaggems::bf16, flaggems::f16>;
  flaggems::element_type_in<floats, 1, X>();
  flaggems::element_type_in<floats, 2, G>();
  flaggems::element_type_in<floats, 3, W>();
  flaggems::element_type_in<floats, 4, Out>();

  // Wrong values raise, before anything is written.
  const auto from = flaggems::as_view(x);
  const auto by = flaggems::as_view(gate);
  const auto factors = flaggems::as_view(weight);
  const auto to = flaggems::as_view(out);
  const int dim = from.rank() - 1;
  flaggems::check(dim >= 0, flaggems::errc::invalid_argument, op, "x of at least one dimension",
                  "a scalar");
  flaggems::check_same_sizes(op, from, by);
  flaggems::check_same_sizes(op, from, to);
  flaggems::check(factors.rank() == 1 && factors.size(0) == from.size(dim),
                  flaggems::errc::shape_mismatch, op, "a weight of the sizes [n] of a row",
                  "other sizes");
  flaggems::check_output(op, to, from, by);
  flaggems::check_disjoint_output(op, to, factors);

  // The operands as rows; the other dimensions are merged where all strides allow.
  const auto w = factors.expand(from.sizes());  // [n] -> [..., n], strides 0
  flaggems::row_plan plan(from.sizes(), dim);
  plan.add(from);
  plan.add(by);
  plan.add(w);
  plan.add(to);
  if (plan.empty()) return;
  flaggems::launch_config config;
  config.op = op;
  config.work = flaggems::work_of(from.numel(), 32);  // whether the host uses one thread or all
  const auto space = plan.space();                    // before the operands
  flaggems::launch_rows(
      stream, config, space,
      flaggems::row_operands_of(flaggems::row_inputs(plan.arg(0, from), plan.arg(1, by)),
                                flaggems::row_outputs(plan.target(3, to)),
                                flaggems::row_inputs(plan.arg(2, w))),  // parameters
      kernels::gated_rms_norm_program<float>{eps});
}

}  // namespace mamba
// [/host]
