// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/tutorial.md: an operator with a kernel of its own. The gate of a mixture-of-experts layer:
// which k experts a token goes to, and with which weights.
#include <flaggems/ops/plan/rows.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/simt.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

#include "08_moe_gate.hpp"

namespace moe {

using flaggems::errc, flaggems::i64;

/// weights, experts = the k largest elements of softmax(logits) of each row, and where they are.
///
/// logits [..., n]; weights, experts [..., k], 1 <= k <= n; any strides. NaN comes first; of equal
/// elements the first. Raises out_of_range, shape_mismatch or overlap before anything is written.
template <flaggems::stream_like S, flaggems::tensor_like X, flaggems::tensor_like W,
          flaggems::tensor_like E>
void gate(const S& stream, const X& logits, i64 k, W&& weights, E&& experts,
          bool renormalize = true) {
  constexpr const char* op = "moe::gate";
  // Wrong devices and wrong element types do not compile, and say so.
  flaggems::same_device<S, X, i64, W, E>();
  using T = flaggems::value_t<const X&>;
  using C = flaggems::value_t<W>;
  using floats = flaggems::type_list<flaggems::f32, flaggems::bf16, flaggems::f16>;
  flaggems::element_type_in<floats, 1, X>();
  flaggems::element_type_in<flaggems::type_list<flaggems::f32>, 3, W>();
  flaggems::element_type_in<flaggems::type_list<i64>, 4, E>();

  // Wrong values raise, before anything is written.
  const auto x = flaggems::as_view(logits);
  const auto w = flaggems::as_view(weights);
  const auto e = flaggems::as_view(experts);
  flaggems::check(x.rank() > 0, errc::invalid_argument, op, "logits of at least one dimension",
                  "a scalar");
  const int last = x.rank() - 1;
  flaggems::check(k >= 1 && k <= x.size(last), errc::out_of_range, op,
                  "1 <= k <= the number of experts", "another k");
  flaggems::shape sizes(x.sizes());
  sizes[last] = k;
  flaggems::check(sizes == flaggems::shape(w.sizes()) && sizes == flaggems::shape(e.sizes()),
                  errc::shape_mismatch, op,
                  "weights and experts of the sizes of logits, the last k", "other sizes");
  flaggems::check_output(op, w, x);
  flaggems::check_output(op, e, x, w);

  // [launch]
  // The operands as rows; the other dimensions are merged where all strides allow.
  flaggems::row_plan plan(x.sizes(), last);
  plan.add(x);
  plan.add(w);
  plan.add(e);
  if (plan.empty()) return;
  const auto space = plan.space();
  flaggems::launch_config config;
  config.op = op;
  config.tiles = space.rows;              // a row is a tile: any number of blocks shares them out
  config.work = x.numel() * 8 * (k + 2);  // decides whether the host uses one thread or all
  config.scratch = flaggems::scratch_bytes<C>(space.length) + flaggems::scratch_bytes<C>(k);
  flaggems::launch<kernels::gate<T, C>>(stream, config, space, plan.arg(0, x), plan.target(1, w),
                                        plan.target(2, e), k, renormalize ? 1 : 0);
  // [/launch]
}

}  // namespace moe

using flaggems::i64;

/// The same by a loop, in double. The k largest of few elements: repeat, and cross out.
void reference(const std::vector<float>& logits, i64 rows, i64 n, i64 k, bool renormalize,
               std::vector<double>& weights, std::vector<i64>& experts) {
  for (i64 row = 0; row < rows; ++row) {
    std::vector<double> p(logits.begin() + row * n, logits.begin() + (row + 1) * n);
    double max = p[0], sum = 0, kept = 0;
    for (const double v : p) max = v > max ? v : max;
    for (double& v : p) sum += v = std::exp(v - max);
    for (i64 j = 0; j < k; ++j) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < p.size(); ++i)
        if (p[i] > p[best]) best = i;
      weights.push_back(p[best]);
      experts.push_back(static_cast<i64>(best));
      kept += p[best];
      p[best] = -1;
    }
    for (auto w = weights.end() - k; w != weights.end(); ++w) *w /= renormalize ? kept : sum;
  }
}

/// The operator on a device against the loop. True if they agree.
template <class Device>
bool test(i64 rows, i64 n, i64 k, bool renormalize) {
  std::vector<float> values(static_cast<std::size_t>(rows * n));
  unsigned state = 1;
  for (float& v : values) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 16) / 8192.0f - 4.0f;
  }
  flaggems::stream<Device> stream;
  const auto logits = flaggems::from_values<float>(stream, values, {rows, n});
  auto weights = flaggems::empty<float>(stream, {rows, k});
  auto experts = flaggems::empty<i64>(stream, {rows, k});
  moe::gate(stream, logits, k, weights, experts, renormalize);

  std::vector<double> expected_weights;
  std::vector<i64> expected_experts;
  reference(values, rows, n, k, renormalize, expected_weights, expected_experts);
  const auto w = flaggems::to_host(stream, weights);
  const auto e = flaggems::to_host(stream, experts);
  i64 wrong = 0;
  for (i64 i = 0; i < rows * k; ++i) {
    const double expected = expected_weights[static_cast<std::size_t>(i)];
    const double off = std::fabs(static_cast<double>(w.data()[i]) - expected);
    if (!(off <= 1e-6 * expected) || e.data()[i] != expected_experts[static_cast<std::size_t>(i)])
      ++wrong;
  }
  std::printf("%-6s %3lld rows of %4lld experts, top %lld: %s\n", Device::name,
              static_cast<long long>(rows), static_cast<long long>(n), static_cast<long long>(k),
              wrong == 0 ? "right" : "WRONG");
  return wrong == 0;
}

int main() {
  bool right = true;
  for (const i64 n : {2, 8, 60, 1000}) {
    right &= test<flaggems::host>(33, n, 2, true);
    right &= test<flaggems::simt32>(5, n, 2, true);
    right &= test<flaggems::simt64>(5, n, 2, false);
  }
  try {
    flaggems::stream<flaggems::host> stream;
    const auto logits = flaggems::from_values<float>(stream, {1, 2, 3});
    auto weights = flaggems::empty<float>(stream, {4});
    auto experts = flaggems::empty<i64>(stream, {4});
    moe::gate(stream, logits, 4, weights, experts);
    right = false;
  } catch (const flaggems::error& failure) {
    std::printf("refused: %s\n", failure.what());
  }
  return right ? 0 : 1;
}
