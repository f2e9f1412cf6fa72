// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems::ascend over a simulated ACL: all that a device does besides launches, for which its
// kernels have no form yet.
#include <flaggems/device/tensor.hpp>
#include <flaggems/device/transfer.hpp>
#include <flaggems/vendors/ascend.hpp>
#include <flaggems/vendors/host.hpp>

#include <support/errors.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

namespace {

namespace fg = flaggems;
using fg::ascend;
using fg::copy_kind;
using fg::i32;
using fg::i64;
using flaggems_test::error_of;

template <class F>
F* simulated(const char* name) {
  void* const library = dlopen(std::getenv("FLAGGEMS_ASCEND_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<F*>(library != nullptr ? dlsym(library, name) : nullptr);
}
long live(const char* what) {
  return simulated<decltype(flaggems_sim_live)>("flaggems_sim_live")(what);
}

class ascend_device : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(ascend::device_count(), 2) << ascend::unavailable_reason();
    ascend::set_device(0);
  }
  void TearDown() override {
    fg::empty_cache<ascend>(0);
    fg::empty_cache<ascend>(1);
    for (const char* what : {"bytes", "streams", "events", "pinned", "modules"})
      EXPECT_EQ(live(what), 0) << what;
  }
};

TEST_F(ascend_device, is_a_vector_core_with_properties) {
  static_assert(fg::execution_model<ascend> == fg::execution::vector_core);
  const fg::device_properties p = ascend::properties(1);
  EXPECT_EQ(p.arch, "Ascend910B3");
  EXPECT_EQ(p.total_memory, i64{8} << 30);
  EXPECT_EQ(ascend::current_device(), 0);
  EXPECT_EQ(error_of([] { (void)ascend::properties(2); }).code(), fg::errc::device_unavailable);
  int other = -1;
  std::thread([&] { other = ascend::current_device(); }).join();
  EXPECT_EQ(other, 0);  // a thread that has set none works on the first
}

TEST_F(ascend_device, copies_in_all_directions_are_in_the_order_of_a_stream) {
  for (const int device : {0, 1}) {
    const fg::stream<ascend> s(device);
    const auto x = fg::from_values<i32>(s, {1, 2, 3, 4}, {4});
    auto y = x.clone(s);
    {
      const fg::detail::on_device<ascend> scope(device);
      ascend::fill(y.data(), 0x11, 8, s.handle());
    }
    const auto there = fg::to_host(s, y);
    EXPECT_EQ(std::vector<i32>(there.data(), there.data() + 4),
              (std::vector<i32>{0x11111111, 0x11111111, 3, 4}));
  }
}

TEST_F(ascend_device, streams_wait_for_events) {
  const fg::stream<ascend> a, b;
  const auto x = fg::from_values<i32>(a, {7}, {1});
  auto y = fg::empty<i32>(b, {1});
  fg::event<ascend> never, begin, end;
  EXPECT_TRUE(never.query());  // ACL says that it is not complete
  never.synchronize();
  b.wait(never);
  begin.record(a);
  ascend::fill(x.clone(a).data(), 0, 4, a.handle());
  end.record(a);
  b.wait(end);
  ascend::copy(y.data(), x.data(), 4, copy_kind::device_to_device, b.handle());
  EXPECT_EQ(fg::to_host(b, y).data()[0], 7);
  end.synchronize();
  EXPECT_TRUE(end.query());
  EXPECT_GT(elapsed_ms(begin, end), 0);
  EXPECT_THROW((void)elapsed_ms(never, end), fg::error);
  while (!a.query()) std::this_thread::yield();
}

TEST_F(ascend_device, errors_have_acls_words_and_exhaustion_its_code) {
  const fg::stream<ascend> s;
  EXPECT_EQ(error_of([&] { (void)fg::empty<i32>(s, {i64{1} << 40}); }).code(),
            fg::errc::out_of_memory);
  i32 here[4] = {};
  const fg::error e =
      error_of([&] { ascend::copy(here, here, 16, copy_kind::host_to_device, s.handle()); });
  EXPECT_NE(
      std::string(e.what()).find("success of aclrtMemcpyAsync, got ACL result 107000: simulated"),
      std::string::npos)
      << e.what();
}

TEST_F(ascend_device, modules_are_loaded_or_refused) {
  const std::string image = "flaggems simulated image of ascend\nadd";
  void* const module = ascend::load_module(image.c_str(), static_cast<i64>(image.size()));
  EXPECT_THROW((void)ascend::find_function(module, "missing"), fg::error);
  ascend::unload_module(module);
  EXPECT_THROW((void)ascend::load_module("flaggems simulated image of hip\n", 32), fg::error);
}

TEST_F(ascend_device, pinned_memory_is_acls) {
  const fg::stream<ascend> s;
  fg::pinned<i32, ascend> in({3}), out({3});
  for (int k = 0; k < 3; ++k) in[k] = k + 1;
  auto x = fg::empty<i32>(s, {3});
  copy_async(s, x, in);
  copy_async(s, out, x);
  s.synchronize();
  EXPECT_EQ(out[2], 3);
}

}  // namespace
