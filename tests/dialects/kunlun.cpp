// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems::kunlun over a simulated XRE: what is its own besides what every device type does
// (device/conformance.cpp).
#include <flaggems/device/tensor.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/kunlun.hpp>

#include <support/errors.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fg = flaggems;
using fg::i32;
using fg::i64;
using fg::kunlun;
using flaggems_test::contains;
using flaggems_test::error_of;

template <class F>
F* simulated(const char* name) {
  void* const library = dlopen(std::getenv("FLAGGEMS_KUNLUN_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<F*>(library != nullptr ? dlsym(library, name) : nullptr);
}
long live(const char* what) {
  return simulated<decltype(flaggems_sim_live)>("flaggems_sim_live")(what);
}
class kunlun_device : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(kunlun::device_count(), 2) << kunlun::unavailable_reason();
    kunlun::set_device(0);
  }
  void TearDown() override {
    fg::empty_cache<kunlun>(0);
    fg::empty_cache<kunlun>(1);
    for (const char* what : {"bytes", "streams", "events", "pinned"}) EXPECT_EQ(live(what), 0);
  }
};

TEST_F(kunlun_device, is_a_vector_core_with_properties) {
  static_assert(fg::execution_model<kunlun> == fg::execution::vector_core);
  const fg::device_properties p = kunlun::properties(1);
  EXPECT_EQ(p.name, "Kunlun XPU, model 300");
  EXPECT_EQ(p.arch, "xpu3");
  EXPECT_EQ(p.compute_units, 12);
  EXPECT_EQ(p.total_memory, i64{8} << 30);
  EXPECT_EQ(error_of([] { (void)kunlun::properties(2); }).code(), fg::errc::device_unavailable);
}

TEST_F(kunlun_device, fills_any_number_of_bytes) {
  const fg::stream<kunlun> s;
  for (const i64 n : {1, 3, 65536, 65537, 300001}) {
    auto x = fg::from_values<fg::u8>(s, std::vector<fg::u8>(static_cast<std::size_t>(n) + 1, 7),
                                     {n + 1});
    kunlun::fill(x.data(), 0x5a, n, s.handle());
    const auto there = fg::to_host(s, x);
    for (i64 k = 0; k < n; ++k) ASSERT_EQ(there.data()[k], 0x5a) << n << ' ' << k;
    EXPECT_EQ(there.data()[n], 7);
  }
}

// out[tile] = the cluster that strides to it, from `first` on.
int note_clusters(long clusters, int cores, int, long tiles, void** arguments) {
  if (clusters < 0) return 20;  // i32, pointer, i32
  if (cores != 64) return 1;
  const auto* const bytes = static_cast<const unsigned char*>(arguments[0]);
  i32 first = 0, factor = 0;
  i32* out = nullptr;
  std::memcpy(&first, bytes, 4);
  std::memcpy(&out, bytes + 8, 8);
  std::memcpy(&factor, bytes + 16, 4);
  for (i32 cluster = 0; cluster < clusters; ++cluster)
    for (long tile = cluster; tile < tiles; tile += clusters) out[tile] = first + factor * cluster;
  return 0;
}

TEST_F(kunlun_device, launches_have_clusters_and_arguments_at_offsets) {
  simulated<decltype(flaggems_sim_register)>("flaggems_sim_register")("note_clusters \xff",
                                                                      &note_clusters);
  const std::string code = "flaggems simulated image of kunlun\nnote_clusters \xff";
  fg::kunlun_kernel kernel(code.data(), static_cast<i64>(code.size()), "note_clusters");
  const fg::stream<kunlun> s;
  for (const i64 tiles : {i64{1}, i64{5}, i64{57}}) {
    auto out =
        fg::from_values<i32>(s, std::vector<i32>(static_cast<std::size_t>(tiles), -1), {tiles});
    kunlun::invoke(s.handle(), kernel, tiles, i32{100}, out.data(), i32{3});
    const auto there = fg::to_host(s, out);
    for (i64 k = 0; k < tiles; ++k) EXPECT_EQ(there.data()[k], 100 + 3 * (k % 12));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const fg::stream<kunlun> own;
      auto out = fg::from_values<i32>(own, std::vector<i32>(12, -1), {12});
      for (int k = 0; k < 10; ++k) kunlun::invoke(own.handle(), kernel, 12, k, out.data(), i32{2});
      EXPECT_EQ(fg::to_host(own, out).data()[11], 9 + 22);
    });
  for (std::thread& t : threads) t.join();
  auto out = fg::empty<i32>(s, {4});
  EXPECT_EQ(error_of([&] { kunlun::invoke(s.handle(), kernel, 0, 1, out.data(), 1); }).code(),
            fg::errc::invalid_argument);
  kernel.sum += 1;
  const fg::error e = error_of([&] { kunlun::invoke(s.handle(), kernel, 4, 1, out.data(), 1); });
  EXPECT_TRUE(contains(e, "xpu_launch_async, got NOXPUFUNC (708)")) << e.what();
}

TEST_F(kunlun_device, errors_are_named_and_exhaustion_has_its_code) {
  const fg::stream<kunlun> s;
  EXPECT_EQ(error_of([&] { (void)fg::empty<i32>(s, {i64{1} << 40}); }).code(),
            fg::errc::out_of_memory);
  i32 here[4] = {};
  const fg::error e =
      error_of([&] { kunlun::copy(here, here, 16, fg::copy_kind::host_to_device, s.handle()); });
  EXPECT_TRUE(contains(e, "success of xpu_memcpy_async, got INVALID_PARAM (-707)")) << e.what();
  fg::event<kunlun> from, to;
  from.record(s);
  to.record(s);
  EXPECT_EQ(error_of([&] { (void)elapsed_ms(from, to); }).code(), fg::errc::not_supported);
}

}  // namespace
