// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/use.md: operators of models, and PyTorch's names.
#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/embedding.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/topk.hpp>
#include <flaggems/tensor/print.hpp>
#include <flaggems/vendors/host.hpp>

#include <cmath>
#include <iostream>

/// True if the block's probabilities are those of a loop.
bool block() {
  // [block]
  flaggems::stream<flaggems::host> stream;
  const auto x = flaggems::from_values<float>(stream, {3, 0, 4, 0, 1, 2, 2, 0}, {2, 4});
  const auto w = flaggems::from_values<float>(stream, {1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 1}, {3, 4});
  const auto b = flaggems::from_values<float>(stream, {0, 0.5f, -1});
  const auto scale = flaggems::ones(stream, {4});

  const auto h = flaggems::rms_norm(stream, x, {4}, scale);  // [2, 4]
  const auto logits = flaggems::linear(stream, h, w, b);     // h w^T + b, [2, 3]
  const auto p = flaggems::softmax(stream, logits, -1);
  const auto best = flaggems::topk(stream, p, 2);  // best.values, best.indices: [2, 2]

  auto out = flaggems::empty<float>(stream, {2, 3});  // the same into memory that one has:
  flaggems::linear(stream, h, w, out);                // the fourth argument is the output,
  flaggems::linear(stream, h, w, b, out);             // with a bias the fifth
  flaggems::softmax(stream, out, out, -1);            // exactly in place
  // [/block]
  std::cout << p << '\n' << best.values << '\n' << best.indices << '\n';
  bool right = best.indices(0, 0) == 0 && best.indices(1, 0) == 1;
  for (int row = 0; row < 2; ++row) {
    double squares = 0, e[3], sum = 0;
    for (int k = 0; k < 4; ++k) squares += std::pow(x(row, k), 2);
    for (int j = 0; j < 3; ++j) {
      double y = b(j);
      for (int k = 0; k < 4; ++k) y += x(row, k) / std::sqrt(squares / 4) * w(j, k);
      sum += e[j] = std::exp(y);
    }
    for (int j = 0; j < 3; ++j)
      right &= std::fabs(p(row, j) - e[j] / sum) < 1e-6 && out(row, j) == p(row, j);
  }
  return right;
}

/// True if a few of the results are what PyTorch gives.
bool names() {
  flaggems::stream<flaggems::host> stream;
  const auto x = flaggems::from_values<float>(stream, {3, 0, 4, 0, 1, 2, 2, 0}, {2, 4});
  const auto w = flaggems::from_values<float>(stream, {1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 1}, {3, 4});
  const auto b = flaggems::from_values<float>(stream, {0, 0.5f, -1});
  const auto batch = flaggems::ones(stream, {5, 2, 4});
  const auto batch2 = flaggems::ones(stream, {5, 4, 3});
  const auto ids = flaggems::from_values<flaggems::i64>(stream, {2, 0});
  auto y = flaggems::clone(stream, x);
  // clang-format off
  // [pytorch]
  auto zeros = flaggems::zeros(stream, {4});                // torch.zeros(4): sizes stand in braces
  auto range = flaggems::arange(stream, 4);                 // torch.arange(4): of i64
  auto half = flaggems::to<flaggems::bf16>(stream, x);      // x.to(torch.bfloat16)
  auto copied = flaggems::contiguous(stream, x.t());        // x.t().contiguous()
  auto cloned = flaggems::clone(stream, x);                 // x.clone()
  auto row = x.select(0, 1);                                // x[1]: a view
  auto even = x.slice(1, 0, 4, 2);                          // x[:, 0:4:2]: a view
  auto product = flaggems::mm(stream, x, w.t());            // torch.matmul(x, w.t()), rank 2
  auto products = flaggems::bmm(stream, batch, batch2);     // torch.matmul(batch, batch2), rank 3
  auto projected = flaggems::linear(stream, x, w);          // F.linear(x, w): x of any rank
  auto affine = flaggems::linear(stream, x, w, flaggems::with_bias(b));  // F.linear(x, w, b)
  auto looked_up = flaggems::embedding(stream, w, ids);     // F.embedding(ids, w): the table first
  auto largest = flaggems::amax(stream, x, 1);              // x.max(1).values
  auto where = flaggems::argmax(stream, x, 1);              // x.max(1).indices
  auto mean = flaggems::mean(stream, x, {0, 1}, true);      // x.mean((0, 1), keepdim=True)
  auto item = flaggems::sum(stream, x)();                   // x.sum().item(), on the host
  auto joined = flaggems::cat(stream, {x.view(), x.view()}, 0);  // torch.cat((x, x))
  auto scaled = flaggems::add(stream, x, y, 0.5);           // torch.add(x, y, alpha=0.5)
  auto positive = flaggems::clamp(stream, x, 0, std::nullopt);  // x.clamp(min=0)
  flaggems::mul_(stream, y, 2);                             // y *= 2
  flaggems::copy_(stream, y, x);                            // y.copy_(x)
  auto fused = flaggems::evaluate(stream, flaggems::gelu(x) * 2 + y);  // torch.compile's one kernel
  // [/pytorch]
  // clang-format on
  std::cout << zeros << range << half << copied << cloned << row << even << product << affine
            << looked_up << largest << where << mean << joined << scaled << positive << fused
            << '\n';
  return item == 12 && largest(0) == 4 && where(0) == 2 && products(4, 1, 2) == 4 &&
         projected(1, 1) == product(1, 1) && scaled(0, 0) == 4.5f && looked_up(0, 3) == 1;
}

int main() { return block() && names() ? 0 : 1; }
