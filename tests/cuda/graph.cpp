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
    EXPECT_EQ(live("objects"), 0);
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
    EXPECT_TRUE(contains(e, "while a graph is captured the host waits for nothing")) << e.what();
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

// A graph that somebody else captures in a stream that the library was given.
class others_graph {
 public:
  explicit others_graph(void* stream, int mode = 0) : stream_(stream) {
    EXPECT_EQ(simulated<int(void*, int)>("cuStreamBeginCapture_v2")(stream, mode), 0);
  }
  int end() {
    void* graph = nullptr;
    const int result = simulated<int(void*, void**)>("cuStreamEndCapture")(stream_, &graph);
    if (result != 0) return result;
    EXPECT_EQ(simulated<int(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags")(
                  &executable_, graph, 0),
              0);
    simulated<int(void*)>("cuGraphDestroy")(graph);
    return 0;
  }
  void launch(void* stream) const {
    EXPECT_EQ(simulated<int(void*, void*)>("cuGraphLaunch")(executable_, stream), 0);
  }
  ~others_graph() {
    if (executable_ != nullptr) simulated<int(void*)>("cuGraphExecDestroy")(executable_);
  }
  others_graph(const others_graph&) = delete;
  others_graph& operator=(const others_graph&) = delete;

 private:
  void *stream_, *executable_ = nullptr;
};

// As PyTorch captures: in the mode that forbids other threads much, too.
TEST_F(cuda_graph, of_others_keeps_memory_while_it_may_be_launched) {
  const fg::stream<cuda> s, other;
  tensor x = fg::from_values<f32>(s, {1, 2}, {2}), y;
  const auto before = fg::memory_stats<cuda>();
  {
    others_graph g(s.handle());
    const void *first = nullptr, *second = nullptr;
    {
      const auto a = fg::mul(s, x, 3);  // launched for the first time
      first = a.data();
      y = fg::add(s, a, 1);
    }
    {
      const auto b = fg::add(s, x, 2);  // used again inside
      second = b.data();
      fg::add(s, y, b, y);
    }
    EXPECT_EQ(first, second);
    std::thread([&] {
      fg::empty_cache<cuda>();
      const fg::stream<cuda> own;
      expect_works(own);
      fg::empty_cache<cuda>();
    }).join();
    ASSERT_EQ(g.end(), 0);
    for (int round = 0; round < 3; ++round) {
      const f32 v = static_cast<f32>(round);
      put(s, x, {v, 2 * v});
      g.launch(s.handle());
      EXPECT_EQ(values_of(s, y), (std::vector<f32>{4 * v + 3, 8 * v + 3}));
      std::vector<tensor> many;
      for (int k = 0; k < 8; ++k) many.push_back(fg::add(k % 2 == 0 ? s : other, x, 5));
      for (const tensor& t : many) EXPECT_TRUE(t.data() != first && t.data() != y.data());
      many.clear();
      fg::empty_cache<cuda>();
    }
    const void* const kept = y.data();
    y = {};  // the graph writes it nevertheless
    const auto next = fg::add(other, x, 5);
    EXPECT_NE(next.data(), kept);
    g.launch(other.handle());
    EXPECT_EQ(values_of(other, next), (std::vector<f32>{7, 9}));
    EXPECT_EQ(live("objects"), 1);
  }  // the graph ends
  EXPECT_EQ(live("objects"), 0);
  fg::empty_cache<cuda>();
  const auto after = fg::memory_stats<cuda>();
  EXPECT_EQ(after.allocation.current, before.allocation.current);
  EXPECT_EQ(after.requested_bytes.current, before.requested_bytes.current);
  EXPECT_EQ(after.reserved_bytes.current, after.allocated_bytes.current);
  EXPECT_EQ(after.lost_bytes, before.lost_bytes);
}

// What it wrote is the caller's, and its memory serves others behind its launches only.
TEST_F(cuda_graph, of_others_may_end_before_its_launches_and_results) {
  const fg::stream<cuda> s, other;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  tensor y, z = fg::from_values<f32>(s, {0, 0}, {2});
  {
    others_graph g(s.handle(), 1);
    const auto between = fg::add(s, x, 1);
    y = fg::mul(s, between, 2);
    fg::add(s, between, y, z);
    ASSERT_EQ(g.end(), 0);
    g.launch(other.handle());
  }
  EXPECT_EQ(live("objects"), 1);  // nothing has run so far
  std::vector<tensor> filled;
  for (int k = 0; k < 4; ++k) filled.push_back(fg::from_values<f32>(s, {7, 7}));
  EXPECT_EQ(values_of(other, z), (std::vector<f32>{6, 9}));
  EXPECT_EQ(live("objects"), 0);
  for (int k = 0; k < 4; ++k) filled.push_back(fg::from_values<f32>(other, {8, 8}));
  EXPECT_EQ(values_of(other, y), (std::vector<f32>{4, 6}));
  for (int k = 0; k < 8; ++k)
    EXPECT_EQ(values_of(other, filled[static_cast<std::size_t>(k)]), times(2, k < 4 ? 7 : 8));
}

TEST_F(cuda_graph, of_others_are_captured_side_by_side) {
  const fg::stream<cuda> s, t, side;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  s.synchronize();
  tensor y, z;
  fg::event<cuda> forked, joined;
  others_graph g(s.handle(), 2), h(t.handle(), 2);
  for (int k = 0; k < 3; ++k) {
    const auto a = fg::add(s, x, static_cast<f32>(k));
    const auto b = fg::mul(t, x, static_cast<f32>(k));
    EXPECT_NE(a.data(), b.data());
    y = fg::add(s, a, 1);
    z = fg::add(t, b, 1);
  }
  forked.record(s);
  side.wait(forked);  // it joins the first
  auto c = fg::mul(side, y, 10);
  joined.record(side);
  s.wait(joined);
  c.record_stream(s);
  y = fg::add(s, c, 1);
  c = {};
  EXPECT_EQ(live("objects"), 2);
  ASSERT_EQ(g.end(), 0);
  z = fg::add(t, z, 1);  // the other goes on
  ASSERT_EQ(h.end(), 0);
  for (int k = 0; k < 2; ++k) {
    g.launch(side.handle());
    h.launch(s.handle());
    EXPECT_EQ(values_of(side, y), (std::vector<f32>{41, 51}));
    EXPECT_EQ(values_of(s, z), (std::vector<f32>{4, 6}));
  }
}

TEST_F(cuda_graph, of_others_may_be_given_up) {
  const fg::stream<cuda> s;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  expect_works(s);
  {  // Never launched.
    others_graph g(s.handle());
    const auto y = fg::add(s, x, 1);
    EXPECT_EQ(g.end(), 0);
  }
  {  // It becomes invalid.
    others_graph g(s.handle());
    const auto y = fg::add(s, x, 1);
    EXPECT_EQ(error_of([&] { s.synchronize(); }).code(), errc::driver_error);
    const fg::error e = error_of([&] { (void)fg::add(s, y, 1); });
    EXPECT_EQ(e.code(), errc::driver_error);
    EXPECT_TRUE(contains(e, "CAPTURE_INVALIDATED")) << e.what();
    fg::empty_cache<cuda>();
    EXPECT_NE(g.end(), 0);
  }
  EXPECT_EQ(live("objects"), 0);
  expect_works(s);
}

TEST_F(cuda_graph, of_others_meets_exhausted_memory) {
  const fg::stream<cuda> s, other;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  tensor y;
  { const auto big = fg::add(other, fg::empty<f32>(other, {1 << 20}), 1); }
  s.synchronize();
  others_graph g(s.handle());
  const long freed = calls("cuMemFree_v2");
  fail("cuMemAlloc_v2", 1, 2);
  y = fg::add(s, x, 1);
  EXPECT_GT(calls("cuMemFree_v2"), freed);
  const fg::error e = error_of([&] { (void)fg::empty<f32>(s, {i64{1} << 40}); });
  EXPECT_EQ(e.code(), errc::out_of_memory) << e.what();
  y = fg::add(s, y, 1);
  ASSERT_EQ(g.end(), 0);
  g.launch(s.handle());
  EXPECT_EQ(values_of(s, y), (std::vector<f32>{3, 4}));
}

// Streams of the library, and others, of which it is not told.
TEST_F(cuda_graph, of_others_may_outlive_its_stream) {
  const fg::stream<cuda> launches;
  const tensor x = fg::from_values<f32>(launches, {1, 2}, {2});
  launches.synchronize();
  const i64 lost = fg::memory_stats<cuda>().lost_bytes;
  for (const bool is_own : {true, false}) {
    fg::stream<cuda> own;
    void* handle = own.handle();
    if (!is_own) {
      ASSERT_EQ(simulated<int(void**, unsigned, int)>("cuStreamCreateWithPriority")(&handle, 1, 0),
                0);
    }
    const fg::stream_ref<cuda> s(static_cast<cuda::stream_handle>(handle), 0);
    tensor z = fg::from_values<f32>(launches, {0, 0}, {2});
    {
      others_graph g(handle);
      {
        const auto between = fg::add(s, x, 1);
        fg::mul(s, between, 2, z);
      }
      ASSERT_EQ(g.end(), 0);
      if (is_own)
        own = fg::stream<cuda>();
      else
        simulated<int(void*)>("cuStreamDestroy_v2")(handle);
      g.launch(launches.handle());
      EXPECT_EQ(values_of(launches, z), (std::vector<f32>{4, 6}));
    }
    std::vector<tensor> many;
    for (int k = 0; k < 4; ++k) many.push_back(fg::add(launches, x, 5));
    for (const tensor& t : many) EXPECT_EQ(values_of(launches, t), (std::vector<f32>{6, 7}));
  }
  fg::empty_cache<cuda>();
  EXPECT_EQ(fg::memory_stats<cuda>().lost_bytes, lost);
}

TEST_F(cuda_graph, of_others_may_fail_to_take_memory_along) {
  const fg::stream<cuda> s;
  const tensor x = fg::from_values<f32>(s, {1, 2}, {2});
  expect_works(s);
  for (const char* function :
       {"cuStreamGetCaptureInfo_v2", "cuUserObjectCreate", "cuGraphRetainUserObject"})
    for (int nth = 1; nth <= (function[2] == 'S' ? 2 : 1); ++nth) {
      SCOPED_TRACE(function);
      tensor y;
      others_graph g(s.handle());
      fail(function, nth, 999);
      const fg::error e = error_of([&] { (void)fg::add(s, x, 1); });
      EXPECT_EQ(e.code(), errc::driver_error) << e.what();
      EXPECT_TRUE(contains(e, function)) << e.what();
      EXPECT_EQ(live("objects"), 0);
      y = fg::add(s, x, 1);
      EXPECT_EQ(live("objects"), 1);
      ASSERT_EQ(g.end(), 0);
      g.launch(s.handle());
      EXPECT_EQ(values_of(s, y), (std::vector<f32>{2, 3}));
    }
}

TEST_F(cuda_graph, the_default_stream_cannot_be_captured) {
  const fg::stream_ref<cuda> s;
  const fg::error e = error_of([&] { (void)fg::capture(s, [] {}); });
  EXPECT_TRUE(contains(e, "the default stream takes no part")) << e.what();
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
