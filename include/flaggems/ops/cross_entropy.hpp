// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/row/programs/cross_entropy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/dispatch/rows.hpp>
#include <flaggems/ops/plan/indices.hpp>
#include <flaggems/ops/plan/loss.hpp>
#include <flaggems/ops/plan/norm.hpp>

namespace flaggems {

namespace operators {
struct cross_entropy_loss;
}

/// How a loss is computed.
struct cross_entropy_options {
  reduction reduced = reduction::mean;
  i64 ignore_index = -100;     ///< rows of this class have no loss, and no weight in the mean
  double label_smoothing = 0;  ///< the share of a loss that is of all classes alike, in [0, 1]
};

namespace detail {

/// The dimension of classes of x: [C] or [N, C, ...].
template <class X>
int class_dim(const char* op, const X& x) {
  if (x.rank() == 0) [[unlikely]]
    raise(errc::invalid_argument, op, "an input [C] or [N, C, ...]", "one of no dimensions");
  return x.rank() == 1 ? 0 : 1;
}

template <class X, class Target>
constexpr bool check_loss_types() {
  using J = value_t<Target>;
  constexpr bool indices =
      std::is_same_v<J, i64> || std::is_same_v<J, i32> || std::is_same_v<J, u8>;
  constexpr bool right = kernels::is_floating<value_t<X>> && (indices || kernels::is_floating<J>);
  static_assert(right,
                "flaggems: cross_entropy_loss takes floating-point inputs, and targets that are "
                "class indices of i64, i32 or u8, or floating-point probabilities");
  return right;
}

/// out = the sum or mean of `rows` losses, contiguous, whose weights follow.
template <class C, class S, class T, class D>
void total_loss(const char* op, const S& stream, const C* losses, i64 rows,
                const tensor_view<T, D>& out, reduction reduced) {
  const kernels::row_space space{1, {1}, 1, rows};
  const auto list = [&](const C* first) { return kernels::row_arg<C>{first, {rows, 1}}; };
  launch_config config;
  config.op = op;
  config.work = work_of(1, rows, 4);
  const auto run = [&](const auto& program) {
    launch_rows(stream, config, space,
                row_operands_of(inputs(list(losses), list(losses + rows)), kernels::operands<>(),
                                kernels::operands<>(), kernels::operands<>(),
                                outputs(kernels::row_target<T>{out.data(), {}})),
                program);
  };
  if (reduced == reduction::mean)
    run(kernels::total_loss_program<C, true>());
  else
    run(kernels::total_loss_program<C, false>());
}

/// The loss of each row along `dim`; and its weight to `weights`, contiguous, unless that is null.
template <class C, class S, class X, class Target, class W, class Loss>
void losses_into(const char* op, const S& stream, const X& x, int dim, const Target& target,
                 const std::optional<W>& weight, const Loss& loss, C* weights,
                 const cross_entropy_options& options) {
  using D = device_of<S>;
  using Weight = typename W::value_type;
  constexpr bool is_soft = kernels::is_floating<typename Target::value_type>;
  const i64 classes = x.size(dim);
  const auto as_rows = [&](const auto& v) { return is_soft ? v : v.unsqueeze(dim); };
  const auto to = loss.unsqueeze(dim);
  row_plan plan(x.sizes(), dim);
  plan.add(x);
  plan.add(as_rows(target));
  plan.add(to);
  kernels::row_target<C> shares{nullptr, {}};
  const auto beside = [&] { return tensor_view<C, D>(weights, to.sizes()); };
  if (weights != nullptr) plan.add(beside());
  // A weight for each class, as if x had one for each element.
  kernels::row_arg<Weight> class_weights{nullptr, {}};
  const auto by_class = [&] {
    W v = *weight;
    while (v.rank() < x.rank() - dim) v = v.unsqueeze(-1);
    return v.expand(x.sizes());
  };
  if (weight) plan.add(by_class());
  const kernels::row_space space = plan.space();
  if (weights != nullptr) shares = plan.target(3, beside());
  if (weight) class_weights = plan.arg(weights != nullptr ? 4 : 3, by_class());
  launch_config config;
  config.op = op;
  config.work = work_of(space.rows, space.length, 32);
  const auto results = outputs(plan.target(2, to), shares);
  const auto params = inputs(class_weights);
  const auto smoothing = static_cast<C>(options.label_smoothing);
  if constexpr (is_soft) {
    launch_rows(stream, config, space,
                row_operands_of(inputs(plan.arg(0, x), plan.arg(1, target)), kernels::operands<>(),
                                params, kernels::operands<>(), results),
                kernels::soft_cross_entropy_program<C>{smoothing});
  } else {
    const kernels::class_weight<C, Weight> own{class_weights.data, weight ? weight->stride(0) : 0,
                                               classes, options.ignore_index};
    const auto numbers = inputs(plan.arg(1, as_rows(target)));
    const auto in = inputs(plan.arg(0, x));
    if (smoothing == 0)
      launch_rows(
          stream, config, space,
          row_operands_of(in, kernels::operands<>(), kernels::operands<>(), numbers, results),
          kernels::cross_entropy_program<C, Weight, false>{own, smoothing});
    else
      launch_rows(stream, config, space,
                  row_operands_of(in, kernels::operands<>(), params, numbers, results),
                  kernels::cross_entropy_program<C, Weight, true>{own, smoothing});
  }
}

template <class S, class X, class Target, class W, class Out>
void cross_entropy_into(const S& stream, const X& x, const Target& target,
                        const std::optional<W>& weight, const Out& out,
                        const cross_entropy_options& options) {
  constexpr const char* op = "cross_entropy_loss";
  constexpr bool is_soft = kernels::is_floating<typename Target::value_type>;
  using C = norm_compute<typename X::value_type, typename Out::value_type, typename W::value_type,
                         std::conditional_t<is_soft, typename Target::value_type, f32>>;
  const int dim = class_dim(op, x);
  const i64 classes = x.size(dim);
  const shape losses = without_dim(x.sizes(), dim, op);
  const shape wanted = is_soft ? shape(x.sizes()) : losses;
  if (!same_sizes(target.sizes(), wanted)) raise_other_sizes(op, wanted, target.sizes());
  if (weight && (weight->rank() != 1 || weight->size(0) != classes)) [[unlikely]]
    raise(errc::shape_mismatch, op, "a weight of sizes [" + text(classes) + "]",
          to_string(shape(weight->sizes())));
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) [[unlikely]]
    raise(errc::invalid_argument, op, "a label_smoothing in [0, 1]", text(options.label_smoothing));
  const bool is_total = loss_reduction(options.reduced).of(op) != reduction::none;
  check_output_sizes(op, is_total ? shape() : losses, out);
  check_separate(op, out, x, target, weight);
  if constexpr (!is_soft) check_indices(op, stream, target, classes, options.ignore_index);
  if (replaced<operators::cross_entropy_loss>(op, stream, x, target, weight, out, options)) return;

  i64 rows = 1;
  for (const i64 n : losses) rows *= n;
  if (rows == 0 && !is_total) return;
  if (rows == 0 || classes == 0) {
    // The mean of no rows, or of none that counts: without classes all indices are ignored.
    const bool is_nan = options.reduced == reduction::mean && (rows == 0 || !is_soft);
    return fill(op, stream, out, is_nan ? std::numeric_limits<f64>::quiet_NaN() : 0.0);
  }
  if (!is_total)
    return losses_into<C>(op, stream, x, dim, target, weight, out, static_cast<C*>(nullptr),
                          options);
  auto kept = empty<C>(stream, {2, rows}, op);  // losses and their weights
  losses_into<C>(op, stream, x, dim, target, weight,
                 tensor_view<C, device_of<S>>(kept.data(), losses), kept.data() + rows, options);
  total_loss<C>(op, stream, kept.data(), rows, out, options.reduced);
}

}  // namespace detail

/// out = the cross entropy of logits x and targets: -weight[t] log(softmax(x)[t]) of each row of
/// classes, t its target; or of probabilities t, the sum of -t weight log(softmax(x)).
///
/// Shapes: x [C] or [N, C, ...]; target: class indices of x's sizes without C, or probabilities of
/// x's sizes; weight [C], or std::nullopt; out: [] or, where nothing is reduced, x's sizes without
/// C. The mean is over the weights of the targets, for probabilities over the rows; of no rows it
/// is NaN. One pass over x; 16-bit floats compute in f32. `out` shares no memory with an input.
/// Raises out_of_range, where the host can read them, for indices outside [0, C) other than
/// ignore_index; other devices give NaN for those. Raises invalid_argument, shape_mismatch or
/// overlap. All before anything is written. aten::cross_entropy_loss(Tensor self, Tensor target,
/// Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100, float label_smoothing=0.0)
template <stream_like S, tensor_like X, tensor_like Target, optional_tensor W, tensor_like Out>
void cross_entropy_loss(const S& stream, const X& x, const Target& target, const W& weight,
                        Out&& out, const cross_entropy_options& options = {}) {
  same_device<S, X, Target, W, Out>();
  if constexpr (detail::check_loss_types<const X&, const Target&>() &&
                detail::check_norm_types<Out, X, W>()) {
    using D = device_of<S>;
    using Weight = typename detail::optional_element<W, f32>::type;
    detail::cross_entropy_into(stream, as_view(x),
                               tensor_view<const value_t<const Target&>, D>(as_view(target)),
                               detail::optional_view<Weight, D>(weight), as_view(out), options);
  }
}

/// The cross entropy in a new tensor of x's dtype.
template <stream_like S, tensor_like X, tensor_like Target, optional_tensor W = std::nullopt_t>
[[nodiscard]] auto cross_entropy_loss(const S& stream, const X& x, const Target& target,
                                      const W& weight = std::nullopt,
                                      const cross_entropy_options& options = {}) {
  constexpr const char* op = "cross_entropy_loss";
  const auto from = as_view(x);
  const shape losses = without_dim(from.sizes(), detail::class_dim(op, from), op);
  auto out =
      empty<value_t<const X&>>(stream, options.reduced == reduction::none ? losses : shape(), op);
  cross_entropy_loss(stream, x, target, weight, out, options);
  return out;
}

}  // namespace flaggems
