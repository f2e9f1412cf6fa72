// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems::opencl over a simulated driver of NVIDIA's manner, which takes PTX: what is its own
// besides what every device type does (device/conformance.cpp), and the PTX that a real one is
// given. tests/opencl has the other kind of drivers.
#include <flaggems/device/tensor.hpp>
#include <flaggems/device/transfer.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/ops/pointwise.hpp>

#include <dialects/operators.hpp>
#include <opencl/launches.hpp>
#include <support/errors.hpp>
#include <support/user_kernels.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fg = flaggems;
namespace fd = flaggems::detail;
using fg::f32;
using fg::i32;
using fg::i64;
using fg::opencl;
using flaggems_test::config_of;
using flaggems_test::contains;
using flaggems_test::error_of;
using flaggems_test::launch_many_words;
using flaggems_test::sines;

template <class F>
F* simulated(const char* name) {
  return flaggems_test::simulated_of<flaggems_test::opencl_simulation, F>(name);
}
void fail(const char* function, int nth, int result) {
  simulated<decltype(flaggems_sim_fail)>("flaggems_sim_fail")(function, nth, result);
}
class ptx_device : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(opencl::device_count(), 2) << opencl::unavailable_reason();
    opencl::set_device(0);
  }
  void TearDown() override { fail("", 0, 0); }
};

TEST_F(ptx_device, has_properties) {
  const fg::device_properties p = opencl::properties(1);
  EXPECT_EQ(p.name, "simulated NVIDIA GPU 1");
  EXPECT_EQ(p.arch, "compute_90");
  EXPECT_EQ(p.compute_units, 2);
  EXPECT_EQ(p.shared_memory_per_block, 48 * 1024 - 16);  // which the driver takes
}

TEST_F(ptx_device, operators_agree_with_the_host) {
  flaggems_test::operators_agree_with_the_host<opencl>();
}

// All of a block's local memory but what blocks exchange by: warps have shuffles, so that threads
// have no slots. One number more is in a workspace.
TEST_F(ptx_device, scratch_is_local_or_in_a_workspace) {
  const i64 most = (48 * 1024 - 16 - fg::kernels::exchange_bytes) / 8;
  flaggems_test::sum_in_scratch_of<opencl>({1000, most, most + 1, 3 * most});
}

// A kernel that may have fewer threads than a launch asks for would leave work undone.
TEST_F(ptx_device, more_threads_than_a_kernel_may_have_are_an_error) {
  const fg::stream<opencl> s;
  auto sum = fg::from_values<i64>(s, {7}, {1});
  flaggems_test::many_words<5> words{};
  fg::launch_config config = config_of("weighted_words", 1);
  config.threads = 1056;
  EXPECT_TRUE(contains(
      error_of([&] { fg::launch<flaggems_test::weighted_words>(s, config, words, sum.data()); }),
      "weighted_words: expected blocks of 1056 threads, got at most 1024"));
  EXPECT_EQ(fg::to_host(s, sum).data()[0], 7);
}

// By value up to most_argument_bytes, an address among them.
TEST_F(ptx_device, arguments_may_be_of_any_size) {
  launch_many_words<opencl, 1>(3);
  launch_many_words<opencl, fg::kernels::most_argument_bytes / 8 - 1>(3);
  launch_many_words<opencl, fg::kernels::most_argument_bytes / 8>(3);
  launch_many_words<opencl, 1000>(3);
}

// The simulated driver shuts all memory that it was not told of.
TEST_F(ptx_device, the_driver_is_told_of_memory_behind_pointers) {
  const fg::stream<opencl> s;
  std::vector<fg::tensor<i64, opencl>> all;
  for (int round = 0; round < 3; ++round) {
    all.push_back(fg::from_values<i64>(s, std::vector<i64>(std::size_t{1} << (18 + round), 40),
                                       {i64{1} << (18 + round)}));
    const auto address = reinterpret_cast<i64>(all.back().data());
    auto there = fg::from_values<i64>(s, std::vector<i64>{address}, {1});
    fg::launch<flaggems_test::add_by_pointer>(s, config_of("add_by_pointer", 1),
                                              reinterpret_cast<i64* const*>(there.data()));
    EXPECT_EQ(fg::to_host(s, all.back()).data()[0], 41);
  }
}

TEST_F(ptx_device, any_function_may_fail) {
  for (const char* function :
       {"clCreateCommandQueueWithProperties", "clEnqueueSVMMemcpy", "clSetKernelArg",
        "clEnqueueNDRangeKernel", "clEnqueueMarkerWithWaitList", "clFinish"}) {
    SCOPED_TRACE(function);
    const auto work = [&] {
      const fg::stream<opencl> s;
      const std::vector<f32> values = sines(9);
      const auto x = fg::from_values<f32>(s, std::span<const f32>(values), {9});
      fg::event<opencl> done;
      const auto sum = fg::add(s, x, 1);
      done.record(s);
      done.synchronize();
      const auto y = fg::to_host(s, sum);
      s.synchronize();
      EXPECT_EQ(y.data()[0], 1);
    };
    work();
    fg::empty_cache<opencl>();
    fail(function, 1, -36);
    const fg::error e = error_of(work);
    EXPECT_EQ(e.code(), fg::errc::driver_error) << e.what();
    EXPECT_TRUE(contains(e, "CL_INVALID_COMMAND_QUEUE")) << e.what();
    fail("", 0, 0);
    work();
  }
}

TEST_F(ptx_device, a_kernel_that_fails_is_told_when_it_is_waited_for) {
  const fg::stream<opencl> s;
  auto x = fg::from_values<i32>(s, std::vector<i32>(64, 1), {64});
  fail("clEnqueueNDRangeKernel later", 1, 719);
  fg::launch<flaggems_test::add_one>(s, config_of("add_one", 1), x.data(), i64{64});
  const fg::error e = error_of([&] { s.synchronize(); });
  EXPECT_TRUE(contains(e, "clFinish, got CL_OUT_OF_RESOURCES")) << e.what();
}

TEST_F(ptx_device, exhausted_memory_is_named) { flaggems_test::exhaust_memory<opencl>(); }

TEST_F(ptx_device, takes_no_other_drivers_code) {
  for (const std::string& image : {std::string("BC\xC0\xDE\x35\x14"), std::string("no image"),
                                   std::string("\x03\x02\x23\x07\0\x01\x01\0", 8)}) {
    const fg::error e =
        error_of([&] { (void)opencl::load_module(image.data(), static_cast<i64>(image.size())); });
    EXPECT_TRUE(contains(e, "CL_INVALID_BINARY")) << e.what();
  }
  const std::string unknown = ".version 9.0\n.target sm_90\n";
  const fg::error e = error_of(
      [&] { (void)opencl::load_module(unknown.data(), static_cast<i64>(unknown.size())); });
  EXPECT_TRUE(contains(e, "CL_BUILD_PROGRAM_FAILURE (-11): ptxas fatal")) << e.what();
}

TEST(opencl_ptx, runs_on_the_capability_and_later_ones) {
  const auto runs = [](const char* device, const char* image) {
    return fd::opencl_ptx_api::runs(device, image);
  };
  EXPECT_TRUE(runs("compute_90", "compute_90"));
  EXPECT_TRUE(runs("compute_120", "compute_80"));
  EXPECT_FALSE(runs("compute_80", "compute_90"));
  EXPECT_FALSE(runs("compute_90", "sm_90"));
  EXPECT_FALSE(runs("compute_90", "compute_90a"));
  EXPECT_FALSE(runs("compute_90", "spir64"));
  EXPECT_EQ(fd::opencl_ptx_api::target_of(120), "compute_120");
}

TEST(opencl_ptx, says_how_many_threads_an_entry_allows) {
  const auto threads_of = &fd::opencl_ptx_api::threads_of;
  EXPECT_EQ(threads_of(")\n.maxntid 512, 1, 1\n{"), 512);
  EXPECT_EQ(threads_of(")\n.maxntid 64"), 64);
  EXPECT_EQ(threads_of(")\n{"), 0);
}

TEST(opencl_ptx, says_what_the_entrys_pointers_are_to) {
  const auto finished = [](std::string ptx) {
    const fd::text why = fd::opencl_ptx_api::finish(ptx);
    return why.empty() ? ptx : std::string(why.view());
  };
  const std::string before =
      ".visible .entry flaggems_entry(\n\t.param .align 8 .b8 flaggems_entry_param_0[16],\n";
  EXPECT_EQ(
      finished(before +
               "\t.param .u64 flaggems_entry_param_10,\n"
               "\t.param .u64 flaggems_entry_param_1,\n"
               "\t.param .u64 flaggems_entry_param_2\n)\n.maxntid 512, 1, 1" +
               std::string(2, '\0')),
      before +
          "\t.param .u64 flaggems_entry_param_10,\n"
          "\t.param .u64 .ptr .shared .align 16 flaggems_entry_param_1,\n"
          "\t.param .u64 .ptr .global .align 16 flaggems_entry_param_2\n)\n.maxntid 512, 1, 1");
  EXPECT_EQ(finished(before + ")"), "PTX without an entry's threads");
  EXPECT_EQ(finished(before + ")\n.maxntid 32, 1, 1"), "PTX without the parameters of an entry");
  EXPECT_EQ(finished(".visible .entry other(\n)"), ".visible .entry other(\n)");
}

}  // namespace
