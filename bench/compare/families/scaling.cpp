// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// One to all processors, twice as many threads as processors, and two streams at once.
#include "../compare.hpp"

#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/softmax.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace compare {

const char* const family_name = "scaling";

namespace {

struct work {
  fg::tensor<float> a, b, c;
  explicit work(session& s, const fg::shape& sizes)
      : a(s.random<float>(sizes)), b(s.random<float>(sizes)), c(s.random<float>(sizes)) {}
  [[nodiscard]] double bytes() const { return static_cast<double>(a.bytes()); }
};

void rows(session& s) {
  const i64 n = s.options.quick ? 8 << 20 : 16 << 20, side = s.options.quick ? 1024 : 2048;
  work w(s, {n}), m(s, {side, side}), r(s, {n / 1024, 1024});
  s.measure({"add",
             text({n}),
             {"add", {of(w.a), of(w.b)}, {of(w.c)}, {}},
             [&] { fg::add(s.stream, w.a, w.b, w.c); },
             3 * w.bytes(),
             0,
             roof::triad});
  s.measure({"softmax",
             text({n / 1024, 1024}),
             {"softmax", {of(r.a)}, {of(r.c)}, {-1}},
             [&] { fg::softmax(s.stream, r.a, r.c, -1); },
             2 * r.bytes(),
             0,
             roof::copy});
  s.measure({"mm",
             text({side, side, side}),
             {"mm", {of(m.a), of(m.b)}, {of(m.c)}, {}},
             [&] { fg::mm(s.stream, m.a, m.b, m.c); },
             3 * m.bytes(),
             2.0 * static_cast<double>(side * side * side),
             roof::f32,
             2e-5,
             30});
}

/// Calls a second of `hosts` threads of the program, each with a stream and buffers of its own.
template <class F>
std::vector<double> rates(session& s, int hosts, const fg::shape& sizes, double seconds, F f) {
  std::vector<work> all;
  for (int i = 0; i < hosts; ++i) all.emplace_back(s, sizes);
  std::vector<double> result(static_cast<std::size_t>(hosts));
  std::atomic<int> ready{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < hosts; ++i)
    threads.emplace_back([&, i] {
      const fg::stream<fg::host> stream;
      work& w = all[static_cast<std::size_t>(i)];
      f(stream, w);
      ++ready;
      while (ready < hosts) std::this_thread::yield();
      const auto now = [] { return std::chrono::steady_clock::now(); };
      const auto start = now();
      i64 calls = 0;
      for (; !stop; ++calls) f(stream, w);
      result[static_cast<std::size_t>(i)] =
          static_cast<double>(calls) / std::chrono::duration<double>(now() - start).count();
    });
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& t : threads) t.join();
  return result;
}

template <class F>
void streams(session& s, const char* op, const fg::shape& sizes, F f) {
  const double time = s.options.quick ? 0.2 : 1;
  const auto alone = rates(s, 1, sizes, time, f), both = rates(s, 2, sizes, time, f);
  std::printf(
      "{\"streams\": \"%s\", \"shape\": \"%s\", \"threads\": %d, \"alone\": %.5g, "
      "\"first\": %.5g, \"second\": %.5g}\n",
      op, text(sizes).c_str(), fg::host::num_threads(), alone[0], both[0], both[1]);
  std::fflush(stdout);
}

}  // namespace

/// Chooses the numbers of threads itself, whatever was asked for.
void family(session& s) {
  static bool done = false;
  if (std::exchange(done, true)) return;
  const int processors = fg::detail::usable_processors();
  std::vector<int> counts;
  for (int n = 1; n < processors; n *= 2) counts.push_back(n);
  counts.push_back(processors);
  counts.push_back(2 * processors);
  for (const int n : counts) {
    use_threads(n);
    options o = s.options;
    o.threads = n, o.wall = true;
    session one(o);
    rows(one);
    s.add_errors(one.errors());
  }
  use_threads(processors);
  const auto add = [](auto& stream, work& w) { fg::add(stream, w.a, w.b, w.c); };
  const auto mm = [](auto& stream, work& w) { fg::mm(stream, w.a, w.b, w.c); };
  streams(s, "add", {1 << 18}, add);
  streams(s, "add", {1 << 24}, add);  // beyond the caches
  streams(s, "mm", {512, 512}, mm);
  streams(s, "mm", {1024, 1024}, mm);
}

}  // namespace compare
