// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems::level_zero over a simulated driver: what is its own besides what every device type does
// (device/conformance.cpp), and the SPIR-V that real drivers are given.
#include <flaggems/device/tensor.hpp>
#include <flaggems/device/transfer.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/ops/pointwise.hpp>

#include <dialects/operators.hpp>
#include <opencl/launches.hpp>
#include <support/errors.hpp>
#include <support/user_kernels.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace {

namespace fg = flaggems;
namespace fd = flaggems::detail;
using fg::f32;
using fg::i32;
using fg::i64;
using fg::level_zero;
using flaggems_test::config_of;
using flaggems_test::contains;
using flaggems_test::error_of;
using flaggems_test::launch_many_words;
using flaggems_test::sines;

template <class F>
F* simulated(const char* name) {
  return flaggems_test::simulated_of<flaggems_test::level_zero_simulation, F>(name);
}
void fail(const char* function, int nth, int result) {
  simulated<decltype(flaggems_sim_fail)>("flaggems_sim_fail")(function, nth, result);
}

class level_zero_device : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(level_zero::device_count(), 2) << level_zero::unavailable_reason();
    level_zero::set_device(0);
    before_ = live();
  }
  void TearDown() override {
    fail("", 0, 0);
    fg::empty_cache<level_zero>(0);
    fg::empty_cache<level_zero>(1);
    EXPECT_TRUE(keeps_blocks_ || live() == before_) << live();
  }
  static long live() {
    return simulated<decltype(flaggems_sim_live)>("flaggems_sim_live")("bytes");
  }
  bool keeps_blocks_ = false;  // as the pool does with those of a stream that failed
  long before_ = 0;
};

TEST_F(level_zero_device, has_properties) {
  static_assert(fg::execution_model<level_zero> == fg::execution::simt);
  const fg::device_properties p = level_zero::properties(1);
  EXPECT_EQ(p.name, "simulated GPU 1");
  EXPECT_EQ(p.arch, "spirv64");
  EXPECT_EQ(p.compute_units, 2);
  EXPECT_EQ(p.total_memory, i64{8} << 30);
  EXPECT_EQ(error_of([] { (void)level_zero::properties(2); }).code(), fg::errc::device_unavailable);
  EXPECT_EQ(level_zero::error_text(0x70000001), "ZE_RESULT_ERROR_DEVICE_LOST (1879048193)");
}

TEST_F(level_zero_device, operators_agree_with_the_host) {
  flaggems_test::operators_agree_with_the_host<level_zero>();
}

TEST_F(level_zero_device, scratch_is_local_or_in_a_workspace) {
  flaggems_test::sum_in_scratch_of<level_zero>(
      {1000, 2 * level_zero::properties(0).shared_memory_per_block / 8});
}

// By value up to most_argument_bytes, an address among them, else in memory of the host, which is
// freed meanwhile where there are many.
TEST_F(level_zero_device, arguments_may_be_of_any_size) {
  launch_many_words<level_zero, fg::kernels::most_argument_bytes / 8 - 1>(3);
  launch_many_words<level_zero, fg::kernels::most_argument_bytes / 8>(3);
  launch_many_words<level_zero, 200>(600);
  EXPECT_LT(simulated<decltype(flaggems_sim_live)>("flaggems_sim_live")("pinned"), 100);
}

// A mark is given again only when no list refers to it any more.
TEST_F(level_zero_device, marks_outlive_the_events_that_lists_wait_for) {
  const fg::stream<level_zero> a, b;
  auto x = fg::from_values<i32>(a, std::vector<i32>(100, 1), {100});
  for (int round = 0; round < 300; ++round) {
    fg::event<level_zero> e;
    fg::launch<flaggems_test::add_one>(a, config_of("add_one", 1), x.data(), i64{100});
    e.record(a);
    b.wait(e);
    fg::launch<flaggems_test::add_one>(b, config_of("add_one", 1), x.data(), i64{100});
    e.record(b);
    a.wait(e);
  }
  EXPECT_EQ(fg::to_host(a, x).data()[99], 601);
  EXPECT_TRUE(a.query());
}

TEST_F(level_zero_device, the_clock_may_begin_again) {
  const fg::stream<level_zero> s;
  auto x = fg::from_values<i32>(s, std::vector<i32>(100, 1), {100});
  std::optional<fg::event<level_zero>> last;
  for (int round = 0; round < 40; ++round) {
    fg::event<level_zero> next;
    fg::launch<flaggems_test::add_one>(s, config_of("add_one", 1), x.data(), i64{100});
    next.record(s);
    if (last) {
      const double ms = elapsed_ms(*last, next);
      EXPECT_GT(ms, 0);
      EXPECT_LT(ms, 1);
    }
    last.emplace(std::move(next));
  }
}

TEST_F(level_zero_device, any_function_may_fail) {
  keeps_blocks_ = true;
  for (const char* function :
       {"zeCommandListCreateImmediate", "zeMemAllocDevice", "zeCommandListAppendMemoryCopy",
        "zeKernelSetArgumentValue", "zeCommandListAppendLaunchKernel", "zeCommandListAppendBarrier",
        "zeCommandListAppendWriteGlobalTimestamp", "zeEventHostSynchronize"}) {
    SCOPED_TRACE(function);
    const auto work = [&] {
      const fg::stream<level_zero> s;
      const std::vector<f32> values = sines(9);
      const auto x = fg::from_values<f32>(s, std::span<const f32>(values), {9});
      const auto y = fg::to_host(s, fg::add(s, x, 1));
      s.synchronize();
      EXPECT_EQ(y.data()[0], 1);
    };
    work();
    fg::empty_cache<level_zero>();
    fail(function, 1, 719);
    const fg::error e = error_of(work);
    EXPECT_EQ(e.code(), fg::errc::driver_error) << e.what();
    EXPECT_TRUE(contains(e, "ZE_RESULT_ERROR_DEVICE_LOST")) << e.what();
    fail("", 0, 0);
    work();
  }
}

TEST_F(level_zero_device, a_kernel_that_fails_is_told_when_it_is_waited_for) {
  keeps_blocks_ = true;
  const fg::stream<level_zero> s;
  auto x = fg::from_values<i32>(s, std::vector<i32>(64, 1), {64});
  fail("zeCommandListAppendLaunchKernel later", 1, 719);
  fg::launch<flaggems_test::add_one>(s, config_of("add_one", 1), x.data(), i64{64});
  const fg::error e = error_of([&] { s.synchronize(); });
  EXPECT_TRUE(contains(e, "zeEventHostSynchronize, got ZE_RESULT_ERROR_DEVICE_LOST")) << e.what();
}

TEST_F(level_zero_device, exhausted_memory_is_named) {
  flaggems_test::exhaust_memory<level_zero>();
}

TEST_F(level_zero_device, modules_good_and_bad) {
  const std::string nonsense = "no image";
  const fg::error refused = error_of(
      [&] { (void)level_zero::load_module(nonsense.data(), static_cast<i64>(nonsense.size())); });
  EXPECT_TRUE(contains(refused, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"));
  EXPECT_TRUE(contains(refused, "simulated: no code")) << refused.what();
  const std::string image = "flaggems simulated image of level_zero\nadd";
  const auto module = level_zero::load_module(image.data(), static_cast<i64>(image.size()));
  EXPECT_TRUE(contains(error_of([&] { (void)level_zero::find_function(module, "absent"); }),
                       "ZE_RESULT_ERROR_INVALID_KERNEL_NAME"));
  level_zero::unload_module(module);
}

TEST_F(level_zero_device, threads_share_a_stream_and_its_events) {
  const fg::stream<level_zero> shared;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      auto x = fg::from_values<i32>(shared, std::vector<i32>(64, 1), {64});
      for (int k = 0; k < 10; ++k) {
        fg::event<level_zero> e;
        fg::launch<flaggems_test::add_one>(shared, config_of("add_one", 1), x.data(), i64{64});
        e.record(shared);
        (void)shared.query();
        e.synchronize();
      }
      EXPECT_EQ(fg::to_host(shared, x).data()[63], 11);
    });
  for (std::thread& t : threads) t.join();
}

TEST_F(level_zero_device, kernels_become_spirv) {
  using compiler = fd::runtime_compiler<fd::level_zero_api>;
  if (compiler::get().version().empty()) GTEST_SKIP() << compiler::get().reason();
  constexpr auto& instance = fd::instance_of<flaggems_test::sum_in_scratch, i64*, i64, i64>;
  const std::string image = compiler::get().image_of("test", instance, fd::level_zero_api::target);
  ASSERT_GT(image.size(), 20U);
  EXPECT_EQ(image.substr(0, 4), "\x03\x02\x23\x07");  // SPIR-V's first word
  EXPECT_NE(image.find("flaggems_entry"), std::string::npos);
  const fg::error refused = error_of([] {
    (void)compiler::get().compile("test", "nothing known", fd::kernel_texts::embedded(),
                                  "int x = absent;\n", fd::level_zero_api::target);
  });
  EXPECT_TRUE(contains(refused, "undeclared identifier 'absent'")) << refused.what();
}

}  // namespace
