// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems::mlu over a simulated CNDrv: what is its own besides what every device type does
// (device/conformance.cpp).
#include <flaggems/device/tensor.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/mlu.hpp>

#include <support/errors.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace {

namespace fg = flaggems;
using fg::i32;
using fg::i64;
using fg::mlu;
using fg::mlu_task;
using flaggems_test::contains;
using flaggems_test::error_of;

template <class F>
F* simulated(const char* name) {
  void* const library = dlopen(std::getenv("FLAGGEMS_MLU_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<F*>(library != nullptr ? dlsym(library, name) : nullptr);
}
long live(const char* what) {
  return simulated<decltype(flaggems_sim_live)>("flaggems_sim_live")(what);
}
class mlu_device : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(mlu::device_count(), 2) << mlu::unavailable_reason();
    mlu::set_device(0);
  }
  void TearDown() override {
    fg::empty_cache<mlu>(0);
    fg::empty_cache<mlu>(1);
    for (const char* what : {"bytes", "events", "pinned", "modules"}) EXPECT_EQ(live(what), 0);
  }
};

TEST_F(mlu_device, is_a_vector_core_with_properties) {
  static_assert(fg::execution_model<mlu> == fg::execution::vector_core);
  const fg::device_properties p = mlu::properties(1);
  EXPECT_EQ(p.name, "simulated MLU 1");
  EXPECT_EQ(p.arch, "mtp_592");
  EXPECT_EQ(p.compute_units, 32);
  EXPECT_EQ(p.shared_memory_per_block, 384 * 1024);
  EXPECT_EQ(p.total_memory, i64{8} << 30);
  EXPECT_EQ(error_of([] { (void)mlu::properties(2); }).code(), fg::errc::device_unavailable);
  int other = -1;
  std::thread([&] { other = mlu::current_device(); }).join();
  EXPECT_EQ(other, 0);  // a thread that has set none works on the first
}

TEST_F(mlu_device, launches_take_multiples_of_their_tasks_cores) {
  static_assert(mlu::cores_for(1, mlu_task::block, 32) == 1);
  static_assert(mlu::cores_for(57, mlu_task::block, 32) == 32);
  static_assert(mlu::cores_for(3, mlu_task::union1, 32) == 4);
  static_assert(mlu::cores_for(57, mlu_task::union4, 40) == 32);
  static_assert(mlu::cores_for(1, mlu_task::union8, 32) == 32);
}

// Each core strides over the tiles; out[tile] = the core.
int note_cores(long tasks, int, int, long, void** arguments) {
  if (tasks < 0) return 2;
  i32* const out = *static_cast<i32**>(arguments[0]);
  const i64 tiles = *static_cast<i64*>(arguments[1]);
  for (i32 core = 0; core < tasks; ++core)
    for (i64 tile = core; tile < tiles; tile += tasks) out[tile] = core;
  return 0;
}

TEST_F(mlu_device, kernels_of_modules_run_in_the_order_of_their_queue) {
  simulated<decltype(flaggems_sim_register)>("flaggems_sim_register")("note_cores", &note_cores);
  const std::string image = "flaggems simulated image of mlu\nnote_cores";
  void* const module = mlu::load_module(image.c_str(), static_cast<i64>(image.size()));
  void* const kernel = mlu::find_function(module, "flaggems_entry");
  {
    const fg::stream<mlu> s;
    constexpr i64 tiles = 57;
    auto out = fg::from_values<i32>(s, std::vector<i32>(tiles, -1), {tiles});
    for (const auto& [task, cores] :
         {std::pair(mlu_task::block, 32), {mlu_task::union1, 32}, {mlu_task::union8, 32}}) {
      mlu::fill(out.data(), 0xff, tiles * 4, s.handle());
      mlu::invoke(s.handle(), kernel, tiles, task, out.data(), tiles);
      const auto there = fg::to_host(s, out);
      for (i64 k = 0; k < tiles; ++k) EXPECT_EQ(there.data()[k], k % cores);
    }
    EXPECT_EQ(error_of([&] {
                mlu::invoke(s.handle(), kernel, tiles, mlu_task::union16, out.data(), tiles);
              }).code(),
              fg::errc::invalid_argument);  // which takes 64 cores
    simulated<decltype(flaggems_sim_fail)>("flaggems_sim_fail")("cnInvokeKernel", 1, 719);
    EXPECT_TRUE(contains(
        error_of([&] { mlu::invoke(s.handle(), kernel, 1, mlu_task::block, out.data(), tiles); }),
        "cnInvokeKernel, got CN_RESULT (100200): simulated"));
  }
  EXPECT_TRUE(contains(error_of([&] { (void)mlu::find_function(module, "absent"); }), "(100301)"));
  mlu::unload_module(module);
  EXPECT_TRUE(contains(error_of([] { (void)mlu::load_module("nonsense", 9); }), "(100300)"));
}

TEST_F(mlu_device, errors_have_the_drivers_words_and_exhaustion_its_code) {
  const fg::stream<mlu> s;
  EXPECT_EQ(error_of([&] { (void)fg::empty<i32>(s, {i64{1} << 40}); }).code(),
            fg::errc::out_of_memory);
  i32 here[4] = {};
  const fg::error e =
      error_of([&] { mlu::copy(here, here, 16, fg::copy_kind::host_to_device, s.handle()); });
  EXPECT_TRUE(contains(e, "cnMemcpyHtoDAsync_V2, got CN_RESULT (100006): simulated")) << e.what();
}

}  // namespace
