// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's blocked matrix product with workers and blocks of a test's choice.
#pragma once

#include <flaggems/ops/gemm.hpp>
#include <flaggems/vendors/host.hpp>

#include <cstdlib>
#include <thread>
#include <vector>

namespace flaggems_test {

/// Blocks far smaller than caches ask for.
inline flaggems::kernels::gemm_plan small_blocks(int workers, flaggems::i64 l1) {
  flaggems::kernels::gemm_plan plan{};
  plan.workers = workers;
  plan.l1 = l1;
  plan.a_bytes = plan.b_bytes = plan.b_most = 64 * 1024;
  return plan;
}

/// [m, n] = op(a) [m, k] * op(b) [k, n], transposed if ta or tb, by the kernel of level Isa.
template <class Isa, class A, class B, class Out, class C>
void run_workers(const A* a, const B* b, Out* out, C alpha, flaggems::i64 m, flaggems::i64 n,
                 flaggems::i64 k, bool ta, bool tb, flaggems::kernels::gemm_plan plan) {
  namespace fk = flaggems::kernels;
  using flaggems::i64;
  fk::gemm_space space{};
  space.batches = 1;
  space.m = m;
  space.n = n;
  space.k = k;
  const fk::gemm_arg<A> x{a, ta ? 1 : k, ta ? m : 1, {}};
  const fk::gemm_arg<B> y{b, tb ? k : 1, tb ? 1 : n, {}};
  const fk::gemm_out<Out, C> to{out, n, 1, {}, alpha};
  const i64 bytes = plan.workers * (plan.own_bytes() + plan.b_bytes) + 256;
  plan.memory =
      static_cast<unsigned char*>(std::aligned_alloc(128, static_cast<std::size_t>(bytes)));
  std::vector<flaggems::detail::meeting_point> points(static_cast<std::size_t>(plan.workers));
  const flaggems::detail::meeting where{points.data()};
  // They wait for each other: each has a thread.
  std::vector<std::thread> threads;
  for (i64 w = 0; w < plan.workers; ++w)
    threads.emplace_back([&, w] {
      fk::host_block<Isa> block(w, plan.workers, nullptr);
      fk::gemm_blocked<A, B, Out, C, fk::no_bias>::run(block, space, x, y, to, fk::no_bias{}, plan,
                                                       where);
    });
  for (std::thread& thread : threads) thread.join();
  std::free(plan.memory);
}

}  // namespace flaggems_test
