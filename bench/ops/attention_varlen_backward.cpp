// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of attention of sequences of several lengths, with a window.
#include <support.hpp>

#include <flaggems/ops/attention_varlen_backward.hpp>

#include <vector>

namespace flaggems_bench {
namespace {

/// Sequences of as many positions as the first number and half of it in turn, sequences, heads,
/// head size, and the window before a position's own key, below 0: all.
template <class T>
void attention_varlen_backward(benchmark::State& state) {
  const i64 n = state.range(0), count = state.range(1), heads = state.range(2), e = state.range(3),
            left = state.range(4);
  std::vector<fg::i32> numbers{0};
  for (i64 s = 0; s < count; ++s)
    numbers.push_back(numbers.back() + static_cast<fg::i32>(s % 2 == 0 ? n : n / 2));
  const i64 rows = numbers.back();
  const auto starts = fg::from_values<fg::i32>(stream(), numbers);
  const auto q = random<T>({rows, heads, e}, -2, 2), k = random<T>({rows, heads, e}, -1, 1, 2),
             v = random<T>({rows, heads, e}, -1, 1, 3),
             grad = random<T>({rows, heads, e}, -1, 1, 4);
  const auto of = fg::flash_attention_forward(stream(), q, k, v, starts, starts, n, n,
                                              {.is_causal = true, .window_size_left = left});
  auto grad_q = fg::empty<T>(stream(), q.sizes()), grad_k = fg::empty<T>(stream(), q.sizes()),
       grad_v = fg::empty<T>(stream(), q.sizes());
  for (auto _ : state)
    fg::flash_attention_backward(stream(), grad, q, k, v, of.out, of.softmax_logsumexp, starts,
                                 starts, n, n, grad_q, grad_k, grad_v,
                                 {.is_causal = true, .window_size_left = left});
  state.SetBytesProcessed(state.iterations() * 8 * q.bytes());
  // The gradient of a value: the sum over the positions that see it of weights and gradients.
  const auto want = [&](i64 i) {
    const i64 d = i % e, head = i / e % heads, j = i / e / heads;
    i64 end = rows;
    for (const fg::i32 start : numbers)
      if (start > j) end = std::min<i64>(end, start);
    if (left >= 0) end = std::min(end, j + left + 1);
    double sum = 0;
    for (i64 p = j; p < end; ++p) {
      double score = 0;
      for (i64 c = 0; c < e; ++c)
        score += number(q.data()[(p * heads + head) * e + c]) *
                 number(k.data()[(j * heads + head) * e + c]);
      sum += std::exp(score / std::sqrt(static_cast<double>(e)) -
                      number(of.softmax_logsumexp.data()[head * rows + p])) *
             number(grad.data()[(p * heads + head) * e + d]);
    }
    return sum;
  };
  check(state, grad_v, want, n * e);
}
BENCHMARK(attention_varlen_backward<float>)->Args({256, 4, 4, 64, -1})->Args({512, 2, 4, 64, 64});

}  // namespace
}  // namespace flaggems_bench
