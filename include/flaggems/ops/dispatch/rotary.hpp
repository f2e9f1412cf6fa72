// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How pairs are rotated: a pair or a vector of them per thread on SIMT devices, heads of tokens
// elsewhere.
#pragma once

#include <flaggems/kernel/family/row/simt/rotary.hpp>
#include <flaggems/kernel/family/row/vector/rotary.hpp>
#include <flaggems/ops/dispatch/pointwise.hpp>

namespace flaggems::detail {

/// All but the strides over the tokens.
template <class T, class D>
void set_rotary_operand(kernels::rotary_tensor<T>& x, const tensor_view<const T, D>& in,
                        const tensor_view<T, D>& out) {
  const auto last = static_cast<std::size_t>(in.rank() - 1);
  const auto read = in.strides(), written = out.strides();
  x.in = in.data();
  x.out = out.data();
  x.in_head = read[last - 1];
  x.in_step = read[last];
  x.out_head = written[last - 1];
  x.out_step = written[last];
}

/// The operands of a rotation.
template <class T, class W, class D>
struct rotary_operands {
  const tensor_view<const T, D>&q, &k;
  const tensor_view<const W, D>&cos, &sin;
  const tensor_view<T, D>&q_out, &k_out;
};

/// The form of a rotation. `interleaved`: a pair is two adjacent elements.
struct rotary_form {
  bool interleaved, in_place;
};

/// A rotation's parameters for a SIMT device; `fits` tells whether 32 bits suffice.
template <class T, class W>
struct rotary_plan {
  kernels::rotary_steps steps;
  kernels::rotary_tensors<T> both;
  kernels::rotary_angles<W> cos, sin;
  bool fits;

  /// `it`: the tokens, with the strides of q_out, k_out, q, k and the positions. A vector has
  /// `size` elements, a power of two.
  template <class D>
  rotary_plan(const iteration& it, const rotary_operands<T, W, D>& x, rotary_form form, int size) {
    const bool interleaved = form.interleaved, in_place = form.in_place;
    const i64 pairs = x.cos.size(1), head_dim = x.q.size(-1), q_heads = x.q.size(-2);
    const i64 heads = q_heads + x.k.size(-2);
    steps.q_heads = narrow(q_heads);
    steps.pairs = narrow(pairs);
    steps.pair = interleaved ? 2 : 1;
    steps.second = interleaved ? 1 : steps.pairs;
    steps.positions = narrow(x.cos.size(0));
    narrow(head_dim);
    steps.rank = it.rank();
    for (int d = 0; d < it.rank(); ++d) {
      steps.dimensions[d] = {divider_by(it.size(d)),
                             {{multiple(it.stride(2, d)), multiple(it.stride(0, d))},
                              {multiple(it.stride(3, d)), multiple(it.stride(1, d))}},
                             narrow(it.stride(4, d))};
    }
    both.at[0] = heads_of(x.q, x.q_out);
    both.at[1] = heads_of(x.k, x.k_out);
    const int angles = interleaved ? size / 2 : size;
    cos = angles_of(x.cos, angles);
    sin = angles_of(x.sin, angles);

    const i64 half = interleaved ? 2 * pairs : pairs, rest = in_place ? 0 : head_dim - 2 * pairs;
    const u64 width = static_cast<u64>(size);
    steps.vectorized = size > 1 && steps_are_one_ &&
                       ((odd_ | static_cast<u64>(half | rest)) & (width - 1)) == 0 &&
                       (ends_ & (width * sizeof(T) - 1)) == 0;
    const int shift = steps.vectorized ? __builtin_ctz(static_cast<unsigned>(size)) : 0;
    const i64 rotated = steps.vectorized ? half >> shift : pairs,
              per_head = rotated + (rest >> shift);
    const i64 all = work_of(it.numel(), heads, per_head);
    fits = all >> 31 == 0 && wide_ >> 32 == 0;
    steps.steps = static_cast<u32>(all);
    if (all == 0) return;
    steps.rotated = static_cast<u32>(rotated);
    steps.per_head = divider_by(per_head);
    steps.heads = divider_by(heads);
  }

 private:
  i32 narrow(i64 x) {
    wide_ |= static_cast<u64>(x) + 0x80000000u;
    return static_cast<i32>(x);
  }
  /// What has to be a multiple of a vector.
  i32 multiple(i64 x) {
    odd_ |= static_cast<u64>(x);
    return narrow(x);
  }
  kernels::rotary_heads<T> heads_of(const auto& in, const auto& out) {
    const auto last = static_cast<std::size_t>(in.rank() - 1);
    const i64 *const read = in.strides().data() + last, *const written =
                                                            out.strides().data() + last;
    ends_ |= reinterpret_cast<u64>(in.data()) | reinterpret_cast<u64>(out.data());
    steps_are_one_ = steps_are_one_ && read[0] == 1 && written[0] == 1;
    return {in.data(),       out.data(),        multiple(read[-1]), multiple(written[-1]),
            narrow(read[0]), narrow(written[0])};
  }
  kernels::rotary_angles<W> angles_of(const auto& x, int count) {
    const i64 row = x.stride(0), step = x.stride(1);
    const u64 bytes = static_cast<u64>(count) * sizeof(W);
    steps_are_one_ = steps_are_one_ && step == 1 && (row & (count - 1)) == 0 &&
                     (reinterpret_cast<u64>(x.data()) & (bytes - 1)) == 0;
    return {x.data(), narrow(row), narrow(step)};
  }

  u64 wide_ = 0, odd_ = 0, ends_ = 0;
  bool steps_are_one_ = true;
};

/// Rotates by the kernels that suit the device and the layouts. `it`: the tokens, with the strides
/// of q_out, k_out, q, k and the positions `id_data`, which are 0, 1, ... without any.
template <class S, class T, class W, class J, class D>
void launch_rotation(const char* op, const S& stream, const iteration& it,
                     const rotary_operands<T, W, D>& x, const J* id_data, rotary_form form) {
  launch_config config;
  config.op = op;
  config.tiles = it.numel() * (x.q.size(-2) + x.k.size(-2));
  config.work = work_of(config.tiles, x.q.size(-1), 16);
  using C = std::conditional_t<std::is_same_v<T, f64> || std::is_same_v<W, f64>, f64, f32>;
  if constexpr (has_simt<D>) {
    using kernel = kernels::rotary_vectors<T, W, J, C>;
    const rotary_plan<T, W> plan(it, x, form, kernel::size);
    if (plan.fits) {
      if (plan.steps.steps == 0) return;
      plan_steps<D>(config, plan.steps.steps);
      return launch<kernel>(stream, config, plan.steps, plan.both, plan.cos, plan.sin, id_data);
    }
  }
  kernels::rotary_space space;
  space.heads[0] = x.q.size(-2);
  space.heads[1] = x.k.size(-2);
  space.head_dim = x.q.size(-1);
  space.rank = it.rank();
  for (int d = 0; d < space.rank; ++d) space.sizes[d] = it.size(d);
  space.tokens = it.numel();
  space.pairs = x.cos.size(1);
  space.pair = form.interleaved ? 2 : 1;
  space.second = form.interleaved ? 1 : space.pairs;
  space.positions = x.cos.size(0);
  space.in_place = form.in_place;
  kernels::rotary_tensor<T> q_arg, k_arg;
  set_rotary_operand(q_arg, x.q, x.q_out);
  set_rotary_operand(k_arg, x.k, x.k_out);
  it.copy_strides(0, q_arg.out_strides);
  it.copy_strides(1, k_arg.out_strides);
  it.copy_strides(2, q_arg.in_strides);
  it.copy_strides(3, k_arg.in_strides);
  kernels::row_arg<J> id_arg;
  id_arg.data = id_data;
  it.copy_strides(4, id_arg.strides);
  const kernels::row_arg<W> cos_arg{x.cos.data(), {x.cos.stride(0), x.cos.stride(1)}};
  const kernels::row_arg<W> sin_arg{x.sin.data(), {x.sin.stride(0), x.sin.stride(1)}};
  config.threads = static_cast<int>(
      kernels::min_of(tuning<families::row, D>::threads, kernels::max_of(space.pairs, i64{32})));
  launch<kernels::rotary<T, W, J, C>>(stream, config, space, q_arg, k_arg, cos_arg, sin_arg,
                                      id_arg);
}

}  // namespace flaggems::detail
