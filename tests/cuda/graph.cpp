// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Graphs over the simulated driver, whose captures follow the real one's rules.
#include <flaggems/device/graph.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/softmax.hpp>

#include <thread>

#include "fixture.hpp"

namespace {

using namespace flaggems_test;  // NOLINT(google-build-using-namespace)
using tensor = fg::tensor<f32, cuda>;

class cuda_graph : public cuda_driver {
 protected:
  void TearDown() override {
    cuda_driver::TearDown();
    EXPECT_EQ(live("graphs"), 0);
  }
  static std::vector<f32> times(i64 n, f32 value) {
    return std::vector<f32>(static_cast<std::size_t>(n), value);
  }
  static void put(const fg::stream<cuda>& s, tensor& x, const std::vector<f32>& values) {
    fg::copy_(s, x, fg::from_values<f32>(s, std::span<const f32>(values)));
  }
};

TEST_F(cuda_graph, does_the_work_again_at_each_launch) {
  const fg::stream<cuda> s;
  tensor x = fg::from_values<f32>(s, {1, 2, 3}, {3}), y;
  {
    fg::graph<cuda> g = fg::capture(s, [&] {
      const auto between = fg::add(s, x, 1);  // its memory is the graph's
      y = fg::add(s, between, between);
    });
    EXPECT_TRUE(g);
    g.launch(s);
    EXPECT_EQ(values_of(s, y), (std::vector<f32>{4, 6, 8}));
    put(s, x, {10, 20, 30});
    g.launch(s);
    g.launch(s);
    EXPECT_EQ(values_of(s, y), (std::vector<f32>{22, 42, 62}));
  }
  EXPECT_EQ(values_of(s, y), (std::vector<f32>{22, 42, 62}));
}

// Kernels of no earlier test: they are compiled and loaded while the stream is captured.
TEST_F(cuda_graph, first_launches_and_allocations_are_no_obstacle) {
  const fg::stream<cuda> s;
  const tensor x = fg::from_values<f32>(s, {1, 2, 3, 4}, {4});
  tensor y;
  fg::empty_cache<cuda>();
  const long modules = live("modules"), allocations = calls("cuMemAlloc_v2");
  fg::graph<cuda> g = fg::capture(s, [&] { y = fg::mul(s, fg::softmax(s, x, 0), x); });
  EXPECT_GT(live("modules"), modules);
  EXPECT_GT(calls("cuMemAlloc_v2"), allocations);
  g.launch(s);
  EXPECT_NEAR(values_of(s, y)[3], 2.575657F, 1e-4F);
}

TEST_F(cuda_graph, memory_is_used_again_inside_and_not_outside) {
  const fg::stream<cuda> s, other;
  const tensor x = fg::from_values<f32>(s, {1, 2, 3, 4}, {4});
  tensor y;
  const void *first = nullptr, *second = nullptr;
  fg::graph<cuda> g = fg::capture(s, [&] {
    {
      const auto a = fg::add(s, x, 1);
      first = a.data();
    }
    const auto b = fg::add(s, x, 2);
    second = b.data();
    y = fg::add(s, b, 1);
  });
  EXPECT_EQ(first, second);
  for (const auto* stream : {&s, &other}) {
    std::vector<tensor> many;
    for (int k = 0; k < 8; ++k) {
      many.push_back(fg::add(*stream, x, 5));
      EXPECT_NE(many.back().data(), first);
    }
    fg::empty_cache<cuda>();
  }
  g.launch(other);
  EXPECT_EQ(values_of(other, y), (std::vector<f32>{4, 5, 6, 7}));
  const auto before = fg::memory_stats<cuda>();
  g = {};
  fg::empty_cache<cuda>();
  EXPECT_LT(fg::memory_stats<cuda>().reserved_bytes.current, before.reserved_bytes.current);
  EXPECT_EQ(values_of(s, y), (std::vector<f32>{4, 5, 6, 7}));
}

// What a graph reads from before its capture, and what it wrote, may end during or after it.
TEST_F(cuda_graph, tensors_may_end_before_it) {
  const fg::stream<cuda> s;
  tensor y = fg::from_values<f32>(s, {0, 0}, {2});
  fg::graph<cuda> g;
  {
    tensor x = fg::from_values<f32>(s, {1, 2}, {2});
    g = fg::capture(s, [&] {
      x = fg::add(s, x, 1);  // what x had ends here
      fg::add(s, x, x, y);
    });
  }
  std::vector<tensor> others;
  for (int k = 0; k < 6; ++k) others.push_back(fg::from_values<f32>(s, {9, 9}, {2}));
  for (int k = 0; k < 3; ++k) g.launch(s);
  EXPECT_EQ(values_of(s, y), (std::vector<f32>{4, 6}));
  for (const tensor& t : others) EXPECT_EQ(values_of(s, t), times(2, 9));
}

// The memory serves others only behind the launches.
TEST_F(cuda_graph, may_end_before_its_launches_are_done) {
  const fg::stream<cuda> s, other;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  tensor y = fg::from_values<f32>(s, {0, 0}, {2});
  for (const bool ends_stream : {false, true}) {
    fg::stream<cuda> launches;
    fg::graph<cuda> g = fg::capture(s, [&] {
      const auto between = fg::add(s, x, 1);
      fg::add(s, between, 1, y);
    });
    g.launch(launches);
    if (ends_stream) launches = fg::stream<cuda>();
    g = {};
    std::vector<tensor> filled;
    for (int k = 0; k < 4; ++k) filled.push_back(fg::from_values<f32>(k < 2 ? s : other, {7, 7}));
    EXPECT_EQ(values_of(launches, y), (std::vector<f32>{3, 4}));
    for (const tensor& t : filled) EXPECT_EQ(values_of(other, t), times(2, 7));
  }
}

// What was written, too, when both have ended: it waits for the launch, and for what reads it.
TEST_F(cuda_graph, what_it_wrote_waits_for_both_streams) {
  const fg::stream<cuda> s, launches;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  for (const bool graph_first : {false, true}) {
    fg::empty_cache<cuda>();
    tensor y, z = fg::from_values<f32>(s, {0, 0});
    fg::graph<cuda> g = fg::capture(s, [&] { y = fg::add(s, x, 1); });
    g.launch(launches);
    fg::event<cuda> done;
    done.record(launches);
    s.wait(done);
    fg::add(s, y, 1, z);  // is still to come
    if (graph_first) g = {};
    y = {};
    g = {};
    const auto filled = fg::from_values<f32>(launches, {7, 7});
    EXPECT_EQ(values_of(s, z), (std::vector<f32>{3, 4}));
    EXPECT_EQ(values_of(launches, filled), times(2, 7));
  }
}

TEST_F(cuda_graph, other_streams_join_by_events) {
  const fg::stream<cuda> s, side;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  tensor y;
  fg::event<cuda> forked, joined;
  fg::graph<cuda> g = fg::capture(s, [&] {
    forked.record(s);
    side.wait(forked);
    auto a = fg::add(side, x, 10);  // memory of the graph, in the order of `side`
    joined.record(side);
    const auto b = fg::add(s, x, 1);
    s.wait(joined);
    a.record_stream(s);
    y = fg::add(s, a, b);
  });
  g.launch(s);
  EXPECT_EQ(values_of(s, y), (std::vector<f32>{13, 15}));
  EXPECT_EQ(values_of(side, fg::add(side, x, 1)), (std::vector<f32>{2, 3}));

  const fg::error e = error_of([&] {
    (void)fg::capture(s, [&] {
      forked.record(s);
      side.wait(forked);
      y = fg::add(side, x, 10);
    });
  });
  EXPECT_TRUE(contains(e, "UNJOINED")) << e.what();
  expect_works(s);
  expect_works(side);
}

// Each is refused with words that say why; the capture is over, nothing is left, the stream works.
TEST_F(cuda_graph, what_waits_is_refused) {
  const fg::stream<cuda> s, other;
  tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  fg::event<cuda> mark;
  const auto expect_refused = [&](auto&& f) {
    const long bytes = live("bytes");
    const fg::error e = error_of([&] {
      (void)fg::capture(s, [&] {
        const auto y = fg::add(s, x, 1);
        f();
      });
    });
    EXPECT_EQ(e.code(), errc::driver_error);
    EXPECT_TRUE(contains(e, "a graph is being captured, which takes no waiting")) << e.what();
    EXPECT_FALSE(cuda::is_capturing(s.handle()));
    expect_works(s);
    EXPECT_EQ(live("bytes"), bytes);
  };
  expect_works(s);
  expect_refused([&] { s.synchronize(); });
  expect_refused([&] { (void)s.query(); });
  expect_refused([&] { (void)fg::to_host(s, x); });
  expect_refused([&] { (void)fg::from_values<f32>(s, {1}, {1}); });
  expect_refused([&] {
    mark.record(s);
    mark.synchronize();
  });
  // The error was dropped: the capture is void nevertheless.
  expect_refused([&] { (void)error_of([&] { s.synchronize(); }); });
}

// Waiting for a stream or an event that is not captured, by this thread or another, is no harm.
TEST_F(cuda_graph, other_streams_may_be_waited_for) {
  const fg::stream<cuda> s, other;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  tensor y, z;
  fg::event<cuda> mark;
  fg::graph<cuda> g = fg::capture(s, [&] {
    y = fg::add(s, x, 1);
    z = fg::add(other, x, 5);
    mark.record(other);
    EXPECT_EQ(values_of(other, z), (std::vector<f32>{6, 7}));
    mark.synchronize();
    EXPECT_TRUE(mark.query() && other.query());
  });
  g.launch(s);
  EXPECT_EQ(values_of(s, y), (std::vector<f32>{2, 3}));
}

// As PyTorch captures: in the mode that forbids other threads much, too.
TEST_F(cuda_graph, in_a_capture_of_somebody_else_memory_is_the_callers) {
  const fg::stream<cuda> s;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  tensor y = fg::empty<f32>(s, {2});
  const auto begin = simulated<int(void*, int)>("cuStreamBeginCapture_v2");
  const auto end = simulated<int(void*, void**)>("cuStreamEndCapture");
  ASSERT_EQ(begin(s.handle(), 0), 0);
  fg::mul(s, x, 3, y);  // launched for the first time
  const fg::error e = error_of([&] { (void)fg::mul(s, x, 3); });
  EXPECT_EQ(e.code(), errc::not_supported);
  EXPECT_TRUE(contains(e, "flaggems::capture")) << e.what();
  std::thread([&] {
    fg::empty_cache<cuda>();
    const fg::stream<cuda> own;
    expect_works(own);
    fg::empty_cache<cuda>();
  }).join();
  void *graph = nullptr, *executable = nullptr;
  ASSERT_EQ(end(s.handle(), &graph), 0);
  ASSERT_EQ(simulated<int(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags")(
                &executable, graph, 0),
            0);
  EXPECT_EQ(simulated<int(void*, void*)>("cuGraphLaunch")(executable, s.handle()), 0);
  EXPECT_EQ(values_of(s, y), (std::vector<f32>{3, 6}));
  simulated<int(void*)>("cuGraphExecDestroy")(executable);
  simulated<int(void*)>("cuGraphDestroy")(graph);
}

TEST_F(cuda_graph, the_default_stream_cannot_be_captured) {
  const fg::stream_ref<cuda> s;
  const fg::error e = error_of([&] { (void)fg::capture(s, [] {}); });
  EXPECT_TRUE(contains(e, "not the default stream")) << e.what();
}

TEST_F(cuda_graph, a_stream_is_captured_once_at_a_time) {
  const fg::stream<cuda> s;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  tensor y;
  fg::graph<cuda> g = fg::capture(s, [&] {
    const fg::error e = error_of([&] { (void)fg::capture(s, [] {}); });
    EXPECT_EQ(e.code(), errc::invalid_argument) << e.what();
    y = fg::add(s, x, 1);
  });
  g.launch(s);
  EXPECT_EQ(values_of(s, y), (std::vector<f32>{2, 3}));
}

TEST_F(cuda_graph, an_error_in_the_function_ends_the_capture) {
  const fg::stream<cuda> s;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  const fg::error e = error_of([&] {
    (void)fg::capture(s, [&] {
      const auto y = fg::add(s, x, 1);
      (void)fg::add(s, y, fg::empty<f32>(s, {3}));
    });
  });
  EXPECT_EQ(e.code(), errc::shape_mismatch);
  expect_works(s);
}

TEST_F(cuda_graph, any_function_may_fail) {
  const fg::stream<cuda> s, before;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  expect_works(s);
  for (const char* function :
       {"cuStreamIsCapturing", "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuMemAlloc_v2",
        "cuGraphInstantiateWithFlags", "cuLaunchKernelEx", "cuGraphLaunch"}) {
    SCOPED_TRACE(function);
    fg::empty_cache<cuda>();
    const long bytes = live("bytes");
    fail(function, 1, 999);
    const fg::error e = error_of([&] {
      fg::graph<cuda> g = fg::capture(s, [&] { (void)fg::add(s, x, 1); });
      g.launch(s);
    });
    EXPECT_EQ(e.code(), errc::driver_error) << e.what();
    EXPECT_TRUE(contains(e, function)) << e.what();
    fail("", 0, 0);
    if (cuda::is_capturing(s.handle())) cuda::abandon_capture(s.handle());  // it "did nothing"
    fg::empty_cache<cuda>();
    EXPECT_EQ(live("bytes"), bytes);
    EXPECT_EQ(live("graphs"), 0);
    expect_works(s);
  }
}

TEST_F(cuda_graph, exhausted_memory_empties_the_cache_of_others) {
  const fg::stream<cuda> s, other;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  tensor y;
  expect_works(other);  // leaves blocks behind
  { const auto big = fg::add(other, fg::empty<f32>(other, {1 << 20}), 1); }
  const long waits = calls("cuStreamSynchronize");
  fail("cuMemAlloc_v2", 1, 2);
  fg::graph<cuda> g = fg::capture(s, [&] {
    const auto big = fg::empty<f32>(s, {1 << 20});
    y = fg::add(s, x, 1);
  });
  EXPECT_GT(calls("cuStreamSynchronize"), waits + 1);
  g.launch(s);
  EXPECT_EQ(values_of(s, y), (std::vector<f32>{2, 3}));
  const fg::error e =
      error_of([&] { (void)fg::capture(s, [&] { (void)fg::empty<f32>(s, {i64{1} << 40}); }); });
  EXPECT_EQ(e.code(), errc::out_of_memory) << e.what();
  expect_works(s);
}

TEST_F(cuda_graph, belongs_to_its_device_and_to_nobody_when_it_was_moved) {
  const fg::stream<cuda> s(0), t(1);
  fg::graph<cuda> none;
  EXPECT_FALSE(none);
  EXPECT_EQ(error_of([&] { none.launch(s); }).code(), errc::invalid_argument);
  fg::graph<cuda> g = fg::capture(t, [] {});
  EXPECT_EQ(g.device_index(), 1);
  EXPECT_EQ(error_of([&] { g.launch(s); }).code(), errc::device_mismatch);
  none = std::move(g);
  none.launch(t);
  EXPECT_EQ(error_of([&] { g.launch(t); }).code(), errc::invalid_argument);
}

// Others allocate, free and wait meanwhile; nobody asks anything of the captured streams.
TEST_F(cuda_graph, threads_capture_and_work_at_once) {
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([k] {
      const fg::stream<cuda> s;
      const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
      for (int r = 0; r < 10; ++r) {
        if (k % 2 == 0) {
          tensor y;
          fg::graph<cuda> g = fg::capture(s, [&] {
            for (int n = 0; n < 5; ++n) y = fg::add(s, fg::add(s, x, 1), 1);
          });
          g.launch(s);
          EXPECT_EQ(values_of(s, y), (std::vector<f32>{3, 4}));
        } else {
          EXPECT_EQ(values_of(s, fg::add(s, fg::add(s, x, 1), 1)), (std::vector<f32>{3, 4}));
          fg::empty_cache<cuda>();
        }
      }
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
