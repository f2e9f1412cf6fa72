// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a boxed call costs over the typed one: operators on so few elements that the call is all
// there is, into given memory and with a new result.
#include <support.hpp>

#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/device.hpp>

namespace flaggems_bench {

struct few {
  static constexpr auto lines() {
    using fg::bindings::line;
    return std::tuple(
        FLAGGEMS_BIND(fg::add, fg::floating_types,
                      line("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
                          .promotes()
                          .out("out")),
        FLAGGEMS_BIND_IN_PLACE(fg::exp, fg::floating_types,
                               line("exp(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_RESULT(
            fg::softmax, fg::floating_types,
            "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"));
  }
};

}  // namespace flaggems_bench

FLAGGEMS_REGISTRY_FAMILY(flaggems_bench::few, flaggems::host, float);
FLAGGEMS_REGISTRY(flaggems::host, flaggems_bench::few);

namespace flaggems_bench {
namespace {

using view = fg::any_view<fg::host>;
using boxed = fg::boxed<fg::host>;

struct operands {
  fg::tensor<f32> a = random<f32>({4, 8}), b = random<f32>({4, 8}, -1, 1, 2),
                  out = random<f32>({4, 8});
  view x{a}, y{b}, to{out};
  fg::any_tensor<fg::host> result;  // of calls that give a new one
};
double sum_of(const operands& o, i64 i) { return number(o.a.data()[i]) + number(o.b.data()[i]); }
double exp_of(const operands& o, i64 i) { return std::exp(number(o.a.data()[i])); }
double softmax_of(const operands& o, i64 i) {
  double sum = 0;
  for (i64 k = i / 8 * 8; k < i / 8 * 8 + 8; ++k) sum += std::exp(number(o.a.data()[k]));
  return std::exp(number(o.a.data()[i])) / sum;
}

/// `call` writes o.out or o.result.
template <class Call, class Reference>
void measure(benchmark::State& state, const Call& call, const Reference& reference) {
  operands o;
  for (auto _ : state) {
    call(o);
    benchmark::ClobberMemory();
  }
  if (o.result.numel() != 0) std::copy_n(o.result.as<f32>().data(), 32, o.out.data());
  check(
      state, o.out, [&](i64 i) { return reference(o, i); }, 32, tolerance<f32>);
}
const auto& at(const char* key) { return fg::registry<fg::host>::at(key); }

void add_into_typed(benchmark::State& state) {
  measure(
      state, [](operands& o) { fg::add(stream(), o.a, o.b, o.out, 1.0); }, sum_of);
}
void add_into_boxed(benchmark::State& state) {
  const auto& add = at("add.out");
  measure(
      state,
      [&](operands& o) {
        const boxed arguments[] = {o.x, o.y, 1.0, o.to};
        add.call(fg::ref(stream()), arguments, {});
      },
      sum_of);
}
void add_new_typed(benchmark::State& state) {
  measure(
      state, [](operands& o) { o.out = fg::add(stream(), o.a, o.b, 1.0); }, sum_of);
}
void add_new_boxed(benchmark::State& state) {
  const auto& add = at("add.Tensor");
  measure(
      state,
      [&](operands& o) {
        const boxed arguments[] = {o.x, o.y, 1.0};
        add.call(fg::ref(stream()), arguments, std::span(&o.result, 1));
      },
      sum_of);
}
void exp_into_typed(benchmark::State& state) {
  measure(
      state, [](operands& o) { fg::exp(stream(), o.a, o.out); }, exp_of);
}
void exp_into_boxed(benchmark::State& state) {
  const auto& exp = at("exp.out");
  measure(
      state,
      [&](operands& o) {
        const boxed arguments[] = {o.x, o.to};
        exp.call(fg::ref(stream()), arguments, {});
      },
      exp_of);
}
void softmax_into_typed(benchmark::State& state) {
  measure(
      state, [](operands& o) { fg::softmax(stream(), o.a, o.out, 1); }, softmax_of);
}
void softmax_into_boxed(benchmark::State& state) {
  const auto& softmax = at("softmax.int_out");
  measure(
      state,
      [&](operands& o) {
        const boxed arguments[] = {o.x, 1, std::nullopt, o.to};
        softmax.call(fg::ref(stream()), arguments, {});
      },
      softmax_of);
}
void softmax_into_boxed_with_defaults(benchmark::State& state) {
  const auto& softmax = at("softmax.int_out");
  measure(
      state,
      [&](operands& o) {
        const boxed arguments[] = {o.x, 1, {}, o.to};
        softmax.call(fg::ref(stream()), arguments, {});
      },
      softmax_of);
}
BENCHMARK(add_into_typed);
BENCHMARK(add_into_boxed);
BENCHMARK(add_new_typed);
BENCHMARK(add_new_boxed);
BENCHMARK(exp_into_typed);
BENCHMARK(exp_into_boxed);
BENCHMARK(softmax_into_typed);
BENCHMARK(softmax_into_boxed);
BENCHMARK(softmax_into_boxed_with_defaults);

void find(benchmark::State& state) {
  const std::string key = "softmax.int_out";
  const auto* found = fg::registry<fg::host>::find(key);
  for (auto _ : state) {
    found = fg::registry<fg::host>::find(key);
    benchmark::DoNotOptimize(found);
  }
  report(state, found != nullptr && found->schema().key() == key && !planted(), "another operator");
}
BENCHMARK(find);

}  // namespace
}  // namespace flaggems_bench
