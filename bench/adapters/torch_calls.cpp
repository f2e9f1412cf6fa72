// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What calls cost on so few elements that the call is all there is, f32 [4, 8], one thread: ATen's
// operators, the registry's in their place, and typed ones over views. Nanoseconds, the best of 25
// times 4,000 calls. results/torch-calls-epyc.txt is its output.
#include <flaggems/adapters/torch_operators.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/device.hpp>
#include <flaggems/vendors/host.hpp>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/api/include/torch/version.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <vector>

namespace fg = flaggems;

namespace {

struct few {
  static constexpr auto lines() {
    using namespace flaggems;
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::add, floating_types, line("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor").promotes().out("out")),
        FLAGGEMS_BIND(flaggems::exp, floating_types, line("exp(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND(flaggems::softmax, floating_types, "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"),
        FLAGGEMS_BIND_RESULT(flaggems::sum, floating_types, line("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor").out("IntList_out")),
        FLAGGEMS_BIND(flaggems::mm, floating_types, "mm(Tensor self, Tensor mat2) -> Tensor"));
    // clang-format on
  }
};

template <class F>
double nanoseconds(const F& f) {
  using clock = std::chrono::steady_clock;
  constexpr int calls = 4000;
  double best = 1e9;
  for (int round = 0; round < 25; ++round) {
    const auto start = clock::now();
    for (int k = 0; k < calls; ++k) f();
    const std::chrono::duration<double, std::nano> took = clock::now() - start;
    best = std::min(best, took.count() / calls);
  }
  return best;
}

struct row {
  const char* name;
  std::function<at::Tensor()> theirs, typed;
};

}  // namespace

FLAGGEMS_REGISTRY_FAMILY(few, flaggems::host, float);
FLAGGEMS_REGISTRY(flaggems::host, few);

int main() {
  at::set_num_threads(1);
  const c10::InferenceMode without_autograd;
  const at::Tensor x = at::randn({4, 8}), y = at::randn({4, 8}), w = at::randn({8, 4});
  at::Tensor out = at::empty({4, 8});
  const auto s = fg::torch_stream();
  const auto view = [&](const at::Tensor& t) { return fg::from_torch<const float>(s, t); };
  const row rows[] = {
      {"add", [&] { return at::add(x, y); },
       [&] { return fg::to_torch(fg::add(s, view(x), view(y))); }},
      {"add out=", [&] { return at::add_out(out, x, y); },
       [&] {
         fg::add(s, view(x), view(y), fg::from_torch<float>(s, out));
         return out;
       }},
      {"exp", [&] { return at::exp(x); }, [&] { return fg::to_torch(fg::exp(s, view(x))); }},
      {"_softmax", [&] { return at::_softmax(x, 1, false); },
       [&] { return fg::to_torch(fg::softmax(s, view(x), 1)); }},
      {"sum", [&] { return at::sum(x, {1}); },
       [&] { return fg::to_torch(fg::sum(s, view(x), {1})); }},
      {"mm", [&] { return at::mm(x, w); },
       [&] { return fg::to_torch(fg::mm(s, view(x), view(w))); }}};

  std::printf("libtorch %s\n%-10s %8s %12s %8s\n", TORCH_VERSION, "operator", "ATen", "registered",
              "typed");
  int wrong = 0;
  for (const row& r : rows) {
    const at::Tensor expected = r.theirs().clone();
    const double theirs = nanoseconds(r.theirs);
    long ran = 0;
    double registered = 0;
    {
      const fg::torch_operators<fg::host> counted(fg::torch_operator_options{
          .log = [&](const fg::torch_call& c) { ran += c.left_because.empty() ? 1 : 0; }});
      wrong += at::allclose(r.theirs(), expected, 1e-5, 1e-6) ? 0 : 1;
    }
    {
      const fg::torch_operators<fg::host> ours;
      registered = nanoseconds(r.theirs);
    }
    wrong += ran >= 1 && at::allclose(r.typed(), expected, 1e-5, 1e-6) ? 0 : 1;
    std::printf("%-10s %8.0f %12.0f %8.0f\n", r.name, theirs, registered, nanoseconds(r.typed));
  }
  std::printf("view of a tensor %.0f, a new tensor for PyTorch %.0f\n", nanoseconds([&] {
                asm volatile("" ::"r"(view(x).data()) : "memory");
              }),
              nanoseconds([&] {
                static_cast<void>(fg::to_torch(fg::empty<float>(s, {4, 8})));
              }));
  if (wrong != 0) std::printf("%d WRONG\n", wrong);
  return wrong == 0 ? 0 : 1;
}
