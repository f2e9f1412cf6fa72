// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The ranges of numbers that are to be quantised: observed while a model is trained, or searched.
#pragma once

#include <flaggems/kernel/family/quantized/range.hpp>
#include <flaggems/ops/plan/rows.hpp>
#include <flaggems/ops/quantize.hpp>

#include <type_traits>
#include <utility>

namespace flaggems {
namespace operators {
struct choose_qparams_optimized;
struct fused_moving_avg_obs_fq_helper;
}  // namespace operators

/// The range of the first `numel` elements with the least error when they are rounded to
/// 2^bit_width steps, high and low in new tensors [1] of f32: a greedy search that takes a part
/// 1 / n_bins of the elements' own range off one end at a time, until 1 - ratio of it is left.
///
/// input of f32, any sizes and strides; its elements in row-major order. Raises invalid_argument.
/// aten::choose_qparams_optimized(Tensor input, int numel, int n_bins, float ratio, int bit_width)
template <stream_like S, tensor_like X>
[[nodiscard]] auto choose_qparams_optimized(const S& stream, const X& input, i64 numel, i64 n_bins,
                                            f64 ratio, i64 bit_width) {
  constexpr const char* op = "choose_qparams_optimized";
  using D = device_of<S>;
  same_device<S, X>();
  static_assert(std::is_same_v<value_t<const X&>, f32>, "flaggems: the elements are of f32");
  const tensor_view<const f32, D> x(as_view(input));
  if (numel < 1 || numel > x.numel()) [[unlikely]]
    raise(errc::invalid_argument, op, "1 <= numel <= " + detail::text(x.numel()),
          detail::text(numel));
  if (n_bins < 1 || bit_width < 1 || bit_width > 30) [[unlikely]]
    raise(errc::invalid_argument, op, "at least one part, and 1 to 30 bits",
          detail::text(n_bins) + " and " + detail::text(bit_width));
  std::pair out(empty<f32>(stream, {1}, op), empty<f32>(stream, {1}, op));
  if (detail::replaced<operators::choose_qparams_optimized>(
          op, stream, x, numel, n_bins, ratio, bit_width, out.first.view(), out.second.view()))
    return out;
  const auto search = [&](const tensor_view<const f32, D>& row) {
    row_plan plan(row.sizes(), 0);
    plan.add(row);
    const auto space = plan.space();
    launch_config config;
    config.op = op;
    config.tiles = 1;
    config.work = work_of(numel, n_bins, 2);
    const f32 kept = static_cast<f32>(static_cast<f64>(n_bins) * (1.0 - static_cast<f32>(ratio)));
    launch<kernels::best_range<f32>>(stream, config, space, plan.arg(0, row), out.first.data(),
                                     out.second.data(), n_bins, kept,
                                     static_cast<f32>((i64{1} << bit_width) - 1));
  };
  if (x.rank() == 1 || x.is_contiguous()) {
    const i64 step = x.rank() == 1 ? x.stride(0) : 1;
    search({detail::unchecked_t{}, x.data(), shape{numel}, {step}});
  } else {
    const auto rows = detail::copied<f32>(op, stream, x);
    search({detail::unchecked_t{}, rows.data(), shape{numel}, {1}});
  }
  return out;
}

namespace detail {

/// Raises unless x is a tensor of one element, which is read on the device; it without dimensions.
template <class X>
auto switch_of(const char* op, const char* what, const X& x) {
  if (x.numel() != 1) [[unlikely]]
    raise(errc::shape_mismatch, op, text(what) + " of one element", to_string(x.shape_of()));
  return x.as_strided({}, {});
}

/// running = the moving average of it and what is new, or that alone where it is infinite; as it is
/// unless the switch is 1.
template <class S, class On, class New, class Running>
void move_average(const char* op, const S& stream, const On& on, const New& fresh,
                  const Running& running, f32 by) {
  const auto moved = where(isinf(running), fresh, add(running, mul(sub(fresh, running), by)));
  assign(stream, running, where(eq(on, 1), moved, running), op);
}

}  // namespace detail

/// Follows the least and the greatest element by moving averages where observer_on is 1; where
/// fake_quant_on is 1, sets scale and zero_point by them, and rounds self to the steps of integers
/// in [quant_min, quant_max]. Gives self so rounded, or as it is, and where nothing was clamped, in
/// new tensors.
///
/// self of f32, bf16 or f16, not empty; observer_on, fake_quant_on of i64, one element;
/// running_min, running_max, scale of f32 and zero_point of i32: [1], or with per_row_fake_quant an
/// element for each index along ch_axis. An infinite average is replaced by the first value. With
/// symmetric_quant a range on both sides of 0 is made as wide on either. (ATen's CPU kernel has
/// rows along axis 0 alone, and resizes empty averages.) Raises invalid_argument, out_of_range,
/// shape_mismatch or overlap before anything is written.
/// aten::_fused_moving_avg_obs_fq_helper(Tensor self, Tensor observer_on, Tensor fake_quant_on,
/// Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float
/// averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool
/// symmetric_quant=False)
template <stream_like S, tensor_like X, tensor_like Observer, tensor_like Quant, tensor_like Least,
          tensor_like Greatest, tensor_like Scale, tensor_like Zero>
[[nodiscard]] auto fused_moving_avg_obs_fq_helper(
    const S& stream, const X& self, const Observer& observer_on, const Quant& fake_quant_on,
    Least&& running_min, Greatest&& running_max, Scale&& scale, Zero&& zero_point,
    f64 averaging_const, i64 quant_min, i64 quant_max, i64 ch_axis, bool per_row_fake_quant = false,
    bool symmetric_quant = false) {
  constexpr const char* op = "fused_moving_avg_obs_fq_helper";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Observer, Quant, Least, Greatest, Scale, Zero>();
  static_assert(std::is_same_v<T, f32> || std::is_same_v<T, bf16> || std::is_same_v<T, f16>,
                "flaggems: what is quantised is of f32, bf16 or f16");
  const tensor_view<const T, D> x(as_view(self));
  const auto observes = detail::switch_of(op, "observer_on", as_view(observer_on));
  const auto rounds = detail::switch_of(op, "fake_quant_on", as_view(fake_quant_on));
  const tensor_view<f32, D> low(as_view(running_min)), high(as_view(running_max)),
      step(as_view(scale));
  const tensor_view<i32, D> zero(as_view(zero_point));
  if (quant_min >= quant_max) [[unlikely]]
    raise(errc::invalid_argument, op, "quant_min < quant_max",
          detail::text(quant_min) + " and " + detail::text(quant_max));
  if (x.empty()) [[unlikely]]
    detail::raise_sizes(op, "at least one element", x.sizes());
  const int axis = normalize_dim(ch_axis, x.rank(), op);
  const i64 rows = per_row_fake_quant && x.rank() > 0 ? x.size(axis) : 1;
  for (const shape& got : {low.shape_of(), high.shape_of(), step.shape_of(), zero.shape_of()})
    if (got.numel() != rows || got.rank() > 1) [[unlikely]]
      raise(errc::shape_mismatch, op,
            "averages, scale and zero_point of sizes " + to_string(shape{rows}), to_string(got));
  detail::check_separate(op, low, x, high, step, zero, observes, rounds);
  detail::check_separate(op, high, x, step, zero, observes, rounds);
  detail::check_separate(op, step, x, zero, observes, rounds);
  detail::check_separate(op, zero, x, observes, rounds);
  std::pair out(empty_like(stream, self, memory_format::preserve_format),
                empty_like<bool>(stream, self, memory_format::preserve_format));
  if (detail::replaced<operators::fused_moving_avg_obs_fq_helper>(
          op, stream, x, observes, rounds, low, high, step, zero, averaging_const, quant_min,
          quant_max, axis, per_row_fake_quant, symmetric_quant, out.first.view(),
          out.second.view()))
    return out;

  auto least = empty<f32>(stream, {rows}, op), greatest = empty<f32>(stream, {rows}, op);
  shape others;
  for (int d = 0; d < x.rank(); ++d)
    if (!per_row_fake_quant || d != axis) others.push_back(d);
  const auto extremes = [&]<class Op, template <class> class Reducer>(const auto& to) {
    if (others.rank() == 0)  // each element is its own extreme
      assign(stream, to, cast<f32>(x.view({rows})), op);
    else
      detail::reduce_values<Op, Reducer, f32>(
          op, stream, cast<f32>(x), per_row_fake_quant ? to.view() : to.as_strided({}, {}), others,
          false, detail::reduction_result::extreme);
  };
  extremes.template operator()<operators::amin, kernels::min_of_all>(least.view());
  extremes.template operator()<operators::amax, kernels::max_of_all>(greatest.view());
  const auto vector = [&](const auto& v) { return v.view({rows}); };
  const f32 by = static_cast<f32>(averaging_const);
  detail::move_average(op, stream, observes, least, vector(low), by);
  detail::move_average(op, stream, observes, greatest, vector(high), by);

  const kernels::integer_steps steps{static_cast<f64>(quant_min), static_cast<f64>(quant_max),
                                     symmetric_quant ? 1 : 0};
  const auto from = cast<f64>(vector(low)), to = cast<f64>(vector(high));
  const auto is_on = eq(rounds, 1);
  assign(stream, vector(step),
         where(is_on, cast<f32>(apply(kernels::scale_of_range_fn{steps}, from, to)), vector(step)),
         op);
  assign(stream, vector(zero),
         where(is_on, cast<i32>(apply(kernels::zero_of_range_fn{steps}, from, to)), vector(zero)),
         op);

  const auto beside = [&](auto v) {
    if (!per_row_fake_quant || x.rank() == 0) return v.as_strided({}, {});
    for (int d = axis + 1; d < x.rank(); ++d) v = v.unsqueeze(-1);
    return v;
  };
  const auto scales = beside(vector(step));
  const auto zeros = beside(vector(zero));
  const auto whole = detail::quantized(x, scales, zeros);
  const auto first = static_cast<f32>(quant_min), last = static_cast<f32>(quant_max);
  assign(stream, out.second,
         logical_or(ne(rounds, 1), logical_and(ge(whole, first), le(whole, last))), op);
  const auto inside = minimum(maximum(whole, first), last);
  assign(stream, out.first, where(is_on, cast<T>(mul(sub(inside, cast<f32>(zeros)), scales)), x),
         op);
  return out;
}

}  // namespace flaggems
