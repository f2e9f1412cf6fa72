// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Functors that throw, and functors that call operators, on the host.
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gemm_epilogue.hpp>
#include <flaggems/ops/gemm_prologue.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <support/ops.hpp>

#include <atomic>
#include <string>

namespace flaggems_test {
namespace {

using fg::bf16;
using fg::tensor;
using stream_type = fg::stream<host>;

/// Sets the threads of the pool, and sets them back.
class threads_guard {
 public:
  explicit threads_guard(int n) : before_(host::num_threads()) { host::set_num_threads(n); }
  ~threads_guard() { host::set_num_threads(before_); }
  threads_guard(const threads_guard&) = delete;
  threads_guard& operator=(const threads_guard&) = delete;

 private:
  int before_;
};

std::atomic<int> calls_left{0};
/// The identity, whose call number calls_left throws.
struct throws_once {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) x) const {
    if (calls_left.fetch_sub(1, std::memory_order_relaxed) == 1) throw 42;
    return x;
  }
};

/// Runs `f` with the first, and with later calls throwing; then it must be right without.
template <class F, class Check>
void expect_thrown(const char* what, const F& f, const Check& check) {
  for (const int threads : {1, 2, 3, 5}) {
    const threads_guard guard(threads);
    for (const int call : {1, 2, 3, 7, 20}) {
      SCOPED_TRACE(std::string(what) + ", " + std::to_string(threads) + " threads, call " +
                   std::to_string(call));
      const auto before = fg::memory_stats<host>().allocation.current;
      calls_left = call;
      EXPECT_THROW(f(), int);
      EXPECT_LE(calls_left, 0);
      EXPECT_EQ(fg::memory_stats<host>().allocation.current, before);
      calls_left = 0;
      f();
      check();
    }
  }
}

bool all_are(const tensor<float, host>& x, float value) {
  bool are = true;
  for (i64 i = 0; i < x.numel(); ++i) are = are && x.data()[i] == value;
  return are;
}

TEST(functor_faults, exceptions_of_functors_reach_the_caller) {
  const stream_type s;
  const i64 m = 256, n = 300, k = 310;
  const auto x = fg::ones(s, {m, k}), w = fg::ones(s, {n, k});
  auto product = fg::empty<float>(s, {m, n}), same = fg::empty<float>(s, {m, k}),
       sums = fg::empty<float>(s, {k});
  const auto functor = fg::apply(throws_once{}, x);
  expect_thrown(
      "evaluate", [&] { same = fg::evaluate(s, functor); }, [&] { EXPECT_TRUE(all_are(same, 1)); });
  expect_thrown(
      "sum", [&] { fg::sum(s, functor, sums, {0}); },
      [&] { EXPECT_TRUE(all_are(sums, static_cast<float>(m))); });
  expect_thrown(
      "prologue", [&] { fg::linear(s, functor, w, product); },
      [&] { EXPECT_TRUE(all_are(product, static_cast<float>(k))); });
  expect_thrown(
      "epilogue",
      [&] { fg::linear(s, x, w, product, fg::epilogue(fg::apply(throws_once{}, fg::product))); },
      [&] { EXPECT_TRUE(all_are(product, static_cast<float>(k))); });
}

// The same for a product in which many workers share what they pack, of a few rows.
TEST(functor_faults, workers_do_not_wait_for_one_that_threw) {
  const stream_type s;
  const i64 m = 512, n = 700, k = 600;
  const auto x = fg::ones(s, {m, k}), w = fg::ones(s, {n, k});
  auto product = fg::empty<float>(s, {m, n});
  const threads_guard guard(4);
  for (int call = 1; call <= 40; ++call) {
    calls_left = call;
    EXPECT_THROW(fg::linear(s, fg::apply(throws_once{}, x), w, product), int);
  }
  calls_left = 0;
  fg::linear(s, fg::apply(throws_once{}, x), w, product);
  EXPECT_TRUE(all_are(product, static_cast<float>(k)));
}

template <class T>
struct inner_operands {
  stream_type stream;
  tensor<T, host> x = fg::full<T>(stream, {40, 130}, 1), w = fg::full<T>(stream, {50, 130}, 1);
};
std::atomic<int> wrong{0};
/// The identity; calls operators that take memory of their thread: reductions, products of bf16
/// (tiles) and f32, in blocks and with an expression in them.
struct identity_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) x) const {
    return x;
  }
};
FLAGGEMS_NOINLINE void call_operators() {
  const inner_operands<float> f;
  const inner_operands<bf16> b;
  const stream_type& s = f.stream;
  const auto sum = fg::sum(s, f.x, {0});
  const auto rows = fg::softmax(s, f.x, 0);
  const auto product = fg::linear(s, f.x, f.w);
  const auto narrow = fg::linear(s, b.x, b.w);
  const auto small = fg::linear(s, fg::apply(identity_fn{}, f.x), f.w);
  for (i64 i = 0; i < sum.numel(); ++i) wrong += sum.data()[i] != 40;
  for (i64 i = 0; i < rows.numel(); ++i) wrong += rows.data()[i] != 1.0F / 40;
  for (i64 i = 0; i < product.numel(); ++i)
    wrong += product.data()[i] != 130 || small.data()[i] != 130 ||
             static_cast<float>(narrow.data()[i]) != static_cast<float>(bf16(130.0F));
}
/// The identity, which calls operators now and then.
struct calls_operators {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) x) const {
    if (calls_left.fetch_add(1, std::memory_order_relaxed) % 64 == 0) call_operators();
    return x;
  }
};

template <class T>
void check_nested(int threads) {
  SCOPED_TRACE(std::to_string(threads) + " threads");
  const threads_guard guard(threads);
  const stream_type s;
  const i64 m = 200, n = 160, k = 256;
  const auto x = fg::full<T>(s, {m, k}, 1), w = fg::full<T>(s, {n, k}, 1);
  const auto functor = fg::apply(calls_operators{}, x);
  const auto expect = [&](const char* what, const auto& got, float value) {
    int bad = 0;
    for (i64 i = 0; i < got.numel(); ++i) bad += static_cast<float>(got.data()[i]) != value;
    EXPECT_EQ(bad, 0) << what;
    EXPECT_EQ(wrong.exchange(0), 0) << what;
  };
  expect("evaluate", fg::evaluate(s, functor), 1);
  expect("sum of rows", fg::sum(s, functor, {1}), static_cast<float>(k));
  expect("sum of columns", fg::sum(s, functor, {0}), static_cast<float>(m));
  auto product = fg::empty<T>(s, {m, n});
  fg::linear(s, functor, w, product);
  expect("prologue", product, static_cast<float>(k));
  fg::fill_(s, product, 0);
  fg::linear(s, x, w, product, fg::epilogue(fg::apply(calls_operators{}, fg::product)));
  expect("epilogue", product, static_cast<float>(k));
}

TEST(functor_faults, operators_called_by_functors_have_memory_of_their_own) {
  at_every_level<host>([] {
    for (const int threads : {1, 2, 4}) {
      check_nested<float>(threads);
      check_nested<bf16>(threads);
    }
  });
}

}  // namespace
}  // namespace flaggems_test
