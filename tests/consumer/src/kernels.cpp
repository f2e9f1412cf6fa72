// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Every operator whose kernels flaggems::compiled has: this object must have none of its own.
#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/topk.hpp>
#include <flaggems/vendors/host.hpp>

#include <cmath>
#include <cstdio>

namespace {

namespace fg = flaggems;

int failed = 0;

/// The elements of x sum up to `sum`.
template <class X>
void expect(const char* name, const X& x, double sum) {
  double total = 0;
  for (fg::i64 k = 0; k < x.numel(); ++k) total += static_cast<double>(x.data()[k]);
  if (std::fabs(total - sum) < 1e-4) return;
  std::printf("%s: %g, not %g\n", name, total, sum);
  ++failed;
}

}  // namespace

int main() {
  const fg::stream<fg::host> s;
  const auto x = fg::from_values<float>(s, {1, 2, 3, 4}, {2, 2});
  const auto one = fg::from_values<float>(s, {1, 1}, {2});
  const auto ones = fg::from_values<float>(s, {1, 1, 1, 1}, {2, 2});
  const auto q = fg::from_values<float>(s, {1, 1, 1, 1}, {1, 1, 2, 2});
  expect("add", fg::add(s, x, x), 20);
  expect("add of a number", fg::add(s, x, 1), 14);
  expect("sub", fg::sub(s, x, x), 0);
  expect("sub of a number", fg::sub(s, x, 1), 6);
  expect("mul", fg::mul(s, x, x), 30);
  expect("mul of a number", fg::mul(s, x, 2), 20);
  expect("div", fg::div(s, x, x), 4);
  expect("div of a number", fg::div(s, x, 2), 5);
  expect("exp", fg::exp(s, fg::sub(s, x, x)), 4);
  expect("relu", fg::relu(s, fg::sub(s, x, 2)), 3);
  expect("sigmoid", fg::sigmoid(s, fg::sub(s, x, x)), 2);
  expect("silu", fg::silu(s, fg::sub(s, x, x)), 0);
  expect("tanh", fg::tanh(s, fg::sub(s, x, x)), 0);
  expect("gelu", fg::gelu(s, fg::mul(s, x, 100)), 1000);
  expect("sum", fg::sum(s, x), 10);
  expect("mean", fg::mean(s, x, 0), 5);
  expect("amax", fg::amax(s, x, 1), 6);
  expect("amin", fg::amin(s, x, 1), 4);
  expect("softmax", fg::softmax(s, x, 1), 2);
  expect("log_softmax", fg::log_softmax(s, ones, 1), -4 * std::log(2.0));
  expect("layer_norm", fg::layer_norm(s, x, {2}, one, one), 4);
  expect("rms_norm", fg::rms_norm(s, ones, {2}, one), 4 / std::sqrt(1 + 1.1920929e-07));
  expect("mm", fg::mm(s, x, ones), 20);
  expect("bmm", fg::bmm(s, q.view().select(0, 0), q.view().select(0, 0)), 8);
  expect("linear", fg::linear(s, x, ones), 20);
  expect("linear with a bias", fg::linear(s, x, ones, fg::with_bias(one)), 24);
  expect("sort", fg::sort(s, x).values, 10);
  expect("argsort", fg::argsort(s, x), 2);
  expect("topk", fg::topk(s, x, 1).values, 6);
  expect("attention", fg::scaled_dot_product_attention(s, q, q, q), 4);
  expect("causal attention", fg::scaled_dot_product_attention(s, q, q, q, {.is_causal = true}), 4);
  expect("masked attention", fg::scaled_dot_product_attention(s, q, q, q, fg::with_mask(x)), 4);
  return failed;
}
