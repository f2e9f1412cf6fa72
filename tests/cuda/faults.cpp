// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// One program, and every call of the driver that it makes failing in turn: the error names what
// failed, nothing is left, and the program works the next time.
#include <flaggems/device/graph.hpp>
#include <flaggems/device/transfer.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/softmax.hpp>

#include "fixture.hpp"

namespace {

using namespace flaggems_test;  // NOLINT(google-build-using-namespace)
using tensor = fg::tensor<f32, cuda>;

constexpr int unknown = 999, launch_failed = 719;

/// Streams, events, a graph, pinned memory and both devices.
std::vector<f32> program() {
  fg::pinned<f32, cuda> in({64}), out({64});
  for (i64 k = 0; k < 64; ++k) in[k] = 1;
  const fg::stream<cuda> s(0), side(0), there(1);
  tensor x = fg::empty<f32>(s, {64}), y;
  fg::copy_async(s, x, in);
  const auto p = fg::softmax(s, x, 0);  // 1/64
  fg::event<cuda> done;
  done.record(s);
  side.wait(done);
  fg::graph<cuda> g = fg::capture(side, [&] { y = fg::add(side, fg::add(side, p, 1), 2); });
  g.launch(side);
  const auto far = fg::to_device(there, y, side);
  const auto z = fg::add(there, far, fg::ones<f32>(there, {64}));
  fg::copy_async(there, out, z);
  there.synchronize();
  return {out.data(), out.data() + 64};
}
const std::vector<f32> expected(64, 4 + 1.0F / 64);

class cuda_faults : public cuda_driver {
 protected:
  void SetUp() override {
    cuda_driver::SetUp();
    EXPECT_EQ(program(), expected);  // its kernels are loaded
    expect_nothing_left();
  }
  void TearDown() override {
    cuda_driver::TearDown();
    expect_nothing_left();
  }
  static void expect_nothing_left() {
    expect_memory_given_back();
    for (const char* what : {"pinned", "streams", "events", "graphs"})
      EXPECT_EQ(live(what), 0) << what;
  }
};

// (Not among them: functions that give something back, as what they refuse stays with the driver,
// and those by which destructors make a device current.)
TEST_F(cuda_faults, each_call_in_turn) {
  for (const char* function :
       {"cuMemAlloc_v2", "cuMemHostAlloc", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
        "cuMemcpyPeerAsync", "cuStreamCreateWithPriority", "cuStreamSynchronize",
        "cuStreamWaitEvent", "cuEventCreate", "cuEventRecord", "cuLaunchKernelEx",
        "cuStreamIsCapturing", "cuStreamBeginCapture_v2", "cuGraphInstantiateWithFlags",
        "cuGraphLaunch"}) {
    SCOPED_TRACE(function);
    expect_nothing_left();
    const long before = calls(function);
    EXPECT_EQ(program(), expected);
    const long n = calls(function) - before;
    EXPECT_GT(n, 0);
    int raised = 0;
    for (int nth = 1; nth <= n; ++nth) {
      SCOPED_TRACE(nth);
      expect_nothing_left();
      fail(function, nth, unknown);
      try {
        EXPECT_EQ(program(), expected);  // it may do without, as for a query
      } catch (const fg::error& e) {
        raised += 1;
        EXPECT_EQ(e.code(), errc::driver_error) << e.what();
        EXPECT_TRUE(contains(e, function)) << e.what();
        EXPECT_TRUE(contains(e, "(999)")) << e.what();
      }
      fail("", 0, 0);
      expect_nothing_left();
      EXPECT_EQ(program(), expected);
    }
    EXPECT_GT(raised, 0);
  }
}

TEST_F(cuda_faults, memory_runs_out_anywhere) {
  const auto set_capacity = simulated<decltype(flaggems_sim_capacity)>("flaggems_sim_capacity");
  int failed = 0, worked = 0;
  for (long bytes = 0; bytes <= 4096; bytes += 256) {
    SCOPED_TRACE(bytes);
    fg::empty_cache<cuda>(0);
    fg::empty_cache<cuda>(1);
    set_capacity(bytes);
    try {
      EXPECT_EQ(program(), expected);
      worked += 1;
    } catch (const fg::error& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory) << e.what();
      failed += 1;
    }
    set_capacity(long{8} << 30);
    expect_nothing_left();
  }
  EXPECT_GT(failed, 2);
  EXPECT_GT(worked, 2);
}

// A launch that fails when its turn comes: from then on the real driver answers every call so.
TEST_F(cuda_faults, a_device_that_is_lost) {
  const long launches = calls("cuLaunchKernelEx");
  EXPECT_EQ(program(), expected);
  const long n = calls("cuLaunchKernelEx") - launches;
  for (int nth = 1; nth <= n; ++nth) {
    SCOPED_TRACE(nth);
    fail("cuLaunchKernelEx later", nth, launch_failed);
    const fg::error e = error_of([] { (void)program(); });
    EXPECT_EQ(e.code(), errc::driver_error);
    EXPECT_TRUE(contains(e, "CUDA_ERROR_LAUNCH_FAILED (719)")) << e.what();
    const fg::error again = error_of([] { (void)program(); });
    EXPECT_TRUE(contains(again, "CUDA_ERROR_LAUNCH_FAILED (719)")) << again.what();
    fail("", 0, 0);
    fg::empty_cache<cuda>(0);
    fg::empty_cache<cuda>(1);
    EXPECT_EQ(program(), expected);
  }
}

// A kernel that could not be loaded leaves nothing, and is loaded the next time.
TEST_F(cuda_faults, code_that_cannot_be_loaded) {
  const fg::stream<cuda> s;
  // (Of types that no other test fills with.)
  const auto expect_loads_again = [&](const char* function, auto value) {
    SCOPED_TRACE(function);
    const auto fill = [&] { (void)fg::full<decltype(value)>(s, {4}, value); };
    const long modules = live("modules");
    fail(function, 1, unknown);
    const fg::error e = error_of(fill);
    EXPECT_EQ(e.code(), errc::driver_error);
    EXPECT_TRUE(contains(e, function)) << e.what();
    EXPECT_EQ(live("modules"), modules);
    fill();
    EXPECT_EQ(live("modules"), modules + 1);
  };
  expect_loads_again("cuModuleLoadData", fg::u8{1});
  expect_loads_again("cuModuleGetFunction", fg::u16{1});
  expect_loads_again("cuFuncGetAttribute", fg::u32{1});
  expect_loads_again("cuFuncSetAttribute", fg::u64{1});
}

}  // namespace
